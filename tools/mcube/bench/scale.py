#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""How often CPUs take locks from each other, per page.

A lock that all CPUs take for each page makes them wait for each other. Two cores
of a host do not show that. The kernel's LOCK_STAT does: it counts for each lock how
often the lock was acquired by another CPU than the last time (a "bounce"). On a guest
with eight CPUs a process on each CPU allocates and frees pages, see
tools/mcube/guest/lockload.c:

    fault         touch anonymous memory
    free          unmap anonymous memory that the same CPU touched
    remote-fault  touch anonymous memory, after the CPUs freed pages of each other
    remote-free   unmap anonymous memory that another CPU touched
    stream        read a file, all files together larger than memory (ext4)
    files         open, read and close small files, again and again

Each variant has machines of its own, with the same kernel:

    stock       nothing switched on: the locks are those of the unpatched kernel
    store       the mcube allocator on
    srm         SRM-buffer on as well, vm_hop=0
    hop         SRM-buffer on as well, vm_hop=1: anonymous pages hop over the colors

UBM decides about memory cgroups that reclaim. So for it the processes read in a memory cgroup
that has half as much memory as one round of the files ("cgroup-stream", "cgroup-files"):

    classic, mglru          UBM off, on the classic lists and on MGLRU
    ubm, ubm-mglru          UBM on

The kernel is build/lockstat, the patched kernel with LOCK_STAT. All figures are counts
per 1000 pages, the median over rounds:

    memory      bounces of the locks that pages pass on their way: those of the page
                allocator and of mcube, the LRU lists and the page cache
    allocator   the locks of the page allocator and of mcube alone
    acquired    acquisitions of the same locks as in "allocator", with or without a bounce

Locks by which the processes keep in step (scheduler, futexes, timers) do not count.
Ratios are to stock, or to the same lists without UBM. Those of the summary are those of
"memory", of the worst variant. The ratios of
"allocator" are in the summary too; they say little where the page allocator takes
zone->lock once for thousands of pages. --before FILE prints the figures of another
commit beside, from its scale.json.
"""

import json
import statistics
from pathlib import Path

import lab  # first: it makes the other packages importable
import guests
import kbuild
from lab import ALLOC, Failure
from lib import ui
from mcube_cmd.term import print_table
from qemu import Guest, image

SRM = "/sys/kernel/mm/mcube/srm"
UBM = "/sys/kernel/mm/mcube/ubm"
LRU_GEN = "/sys/kernel/mm/lru_gen/enabled"
ON = f"{lab.SET_MAP}echo 1 > {ALLOC}/enabled\n"
VARIANTS = {
    "stock": "",
    "store": ON,
    "srm": f"{ON}echo 0 > {SRM}/vm_hop\necho 1 > {SRM}/enabled\n",
    "hop": f"{ON}echo 1 > {SRM}/vm_hop\necho 1 > {SRM}/enabled\n",
}
PROGRAMS = ("local", "remote", "stream")
CGROUP_VARIANTS = {
    "classic": f"echo n > {LRU_GEN}\n",
    "ubm": f"echo n > {LRU_GEN}\necho 1 > {UBM}/enabled\n",
    "mglru": f"echo y > {LRU_GEN}\n",
    "ubm-mglru": f"echo y > {LRU_GEN}\necho 1 > {UBM}/enabled\n",
}
CGROUP_PROGRAMS = ("stream", "files")
# What a variant is compared with, if not with stock.
BASES = {"ubm": "classic", "ubm-mglru": "mglru"}
# Names of the classes of locks: the argument of spin_lock_init().
ALLOCATOR = {"&zone->lock", "&pcp->lock", "&c[i].lock", "&mz->lock", "selector_lock",
             "request_lock"}
MEMORY = ALLOCATOR | {"&lruvec->lru_lock", "&xa->xa_lock", "&u->lock"}
SUMS = {"memory": (MEMORY, 0), "allocator": (ALLOCATOR, 0), "acquired": (ALLOCATOR, 1)}
# Key of the summary: limit, and the parts that the worst ratio is taken from.
TARGETS = {
    "fault_bounces_vs_stock": (1.5, ("fault", "remote-fault")),
    "free_bounces_vs_stock": (1.5, ("free", "remote-free")),
    "stream_bounces_vs_stock": (2.0, ("stream",)),
    "ubm_stream_bounces_vs_stock": (1.1, ("cgroup-stream",)),
    "ubm_files_bounces_vs_stock": (1.1, ("cgroup-files",)),
}


def counters(output):
    """{part: [(pages, {class: (bounces, acquisitions)}) of each round]}."""
    rounds, now = {}, None
    for line in output.splitlines():
        words = line.split()
        if words[:1] == ["part"]:
            now = {}
            rounds.setdefault(words[1], []).append((int(words[3]), now))
        elif now is not None and ":" in line:
            name, _, rest = line.strip().rpartition(":")
            values = rest.split()
            if len(values) == 12:
                # Locks of a class that are initialized in several places are numbered.
                name = name.partition("#")[0]
                old = now.get(name, (0, 0))
                now[name] = old[0] + int(values[6]), old[1] + int(values[7])
    return rounds


def in_cgroup(pages):
    """Lines that put the shell into a memory cgroup of so many pages."""
    return f"""cd /sys/fs/cgroup
echo +memory > cgroup.subtree_control
mkdir load
echo {pages * 4}K > load/memory.max
echo $$ > load/cgroup.procs
"""


def boot(variant, program, args):
    """Run lockload in a machine; returns ({part: rounds}, {counter of mcube: value})."""
    title = f"bench-scale-{variant}-{program}"
    cgroup = variant in CGROUP_VARIANTS
    pages = {"stream": args.stream_pages, "files": args.file_pages}.get(program, args.pages)
    disk = guests.disk(title)
    # On a busy host the interrupts by which the kernel tests the timer may come too late.
    guest = Guest(args.kernel or image("lockstat"), smp=args.cpus, multi=True, drives=[disk],
                  mem=args.stream_mem if program in CGROUP_PROGRAMS else args.mem,
                  append="nowatchdog no_timer_check")
    guest.root.file(lab.guest_tool("lockload"), "/guest/lockload")
    result = guest.run(f"""set -e
mkdir /mnt
mount -t ext4 -o noatime,noinit_itable,commit=300 /dev/vda /mnt
{(VARIANTS | CGROUP_VARIANTS)[variant]}
{in_cgroup(pages * args.cpus // 2) if cgroup else ""}
/guest/lockload -n {pages} -r {args.rounds} -s {args.step} {program} /mnt
for d in alloc srm ubm; do
    grep . {ALLOC}/../$d/stats/* | sed "s|.*/|stat $d.|; s|:| |"
done
""", title, 1800)
    disk.unlink()
    result.need(title)
    stats = {w[1]: int(w[2]) for w in map(str.split, result.output.splitlines())
             if w[:1] == ["stat"]}
    found = counters(result.output)
    if any(len(r) != args.rounds + 1 for r in found.values()) or not found:
        raise Failure(f"{title}: rounds are missing in the guest's output")
    if cgroup and (variant in BASES) != (stats.get("ubm.lruvecs", 0) > 0):
        raise Failure(f"{title}: UBM did not decide about the cgroup, or did while it was off",
                      "see its counters in the guest's output")
    return found, stats


def per_mille(rounds, classes, which):
    """Counts of classes of locks per 1000 pages; the first round warms up."""
    return [1000 * sum(v[which] for c, v in found.items() if c in classes) / pages
            for pages, found in rounds[1:]]


def row_of(variant, part, rounds, stats):
    """Figures of a part of a variant."""
    row = {"variant": variant, "part": part}
    for name, (classes, which) in SUMS.items():
        values = per_mille(rounds, classes, which)
        row[name] = round(statistics.median(values), 3)
        row[f"{name}_spread"] = round(max(values) - min(values), 3)
    names = sorted({c for _, found in rounds for c in found})
    for key, which in (("bounces", 0), ("acquisitions", 1)):
        row[key] = {c: v for c in names
                    if (v := round(statistics.median(per_mille(rounds, {c}, which)), 3))}
    return row | {"stats": stats}


def measure(args, step):
    """All rows; the machines run one after the other, so that their CPUs run in parallel."""
    rows = []
    for variant in args.variants:
        step(variant)
        cgroup = variant in CGROUP_VARIANTS
        for program in CGROUP_PROGRAMS if cgroup else PROGRAMS:
            if program not in args.programs:
                continue
            found, stats = boot(variant, program, args)
            for part, rounds in found.items():
                name = ("cgroup-" if cgroup else "remote-" if program == "remote" else "") + part
                rows.append(row_of(variant, name, rounds, stats))
    by_name = {(r["variant"], r["part"]): r for r in rows}
    for row in rows:
        for name in ("memory", "allocator"):
            base = by_name.get((BASES.get(row["variant"], "stock"), row["part"]), {}).get(name)
            row[f"{name}_vs_stock"] = round(row[name] / base, 4) if base else None
    return rows


def summarize(rows):
    """({key: ratio}, {key: what it stands for}) of the worst variant and part."""
    summary, where = {}, {}
    for key, (_, parts) in TARGETS.items():
        for name in ("memory", "allocator"):
            mine = [(r[f"{name}_vs_stock"], f"{r['variant']}, {r['part']}") for r in rows
                    if r["part"] in parts and r["variant"] != "stock"
                    and r[f"{name}_vs_stock"] is not None]
            if mine:
                full = key if name == "memory" else key.replace("_bounces", "_allocator_bounces")
                summary[full], where[full] = max(mine)
    return summary, where


def show(rows, before):
    """Print the table; before holds the rows of another commit or nothing."""
    old = {(r["variant"], r["part"]): r for r in before}
    head = ["part", "variant", "memory", "allocator", "acquired"]
    if before:
        head += ["before: memory", "allocator", "acquired"]
    body = []
    for row in sorted(rows, key=lambda r: [p for _, ps in TARGETS.values() for p in ps].index(
            r["part"])):
        cells = [row["part"], row["variant"]]
        for each in (row, old.get((row["variant"], row["part"])))[:2 if before else 1]:
            cells += ["-"] * 3 if each is None else [
                f"{each['memory']:.1f} {each['memory_vs_stock'] or 0:.2f}",
                f"{each['allocator']:.2f}", f"{each['acquired']:.0f}"]
        body.append(cells)
    print("\nbounces per 1000 pages (times stock), and acquisitions; median over rounds\n")
    print_table(head, body)


def draw(rows):
    """Draw the bounces of each part as stacked bars."""
    plt = lab.pyplot()
    parts = list(dict.fromkeys(r["part"] for r in rows))
    fig, axes = plt.subplots(1, len(parts), figsize=(2.2 * len(parts) + 1, 3.4), squeeze=False)
    for ax, part in zip(axes[0], parts):
        mine = [r for r in rows if r["part"] == part]
        names = [r["variant"] for r in mine]
        rest = [r["memory"] - r["allocator"] for r in mine]
        ax.bar(names, rest, color="#bbbbbb", label="LRU lists, page cache")
        ax.bar(names, [r["allocator"] for r in mine], bottom=rest, color="#4477aa",
               label="page allocator, mcube")
        ax.set_title(part)
        ax.tick_params(axis="x", rotation=45)
    axes[0][0].set_ylabel("bounces per 1000 pages")
    axes[0][0].legend(fontsize="x-small")
    fig.tight_layout()
    return lab.picture(fig, "scale")


def arguments():
    """Command line."""
    parser = ui.parser(__doc__)
    parser.add_argument("--cpus", type=int, default=8, help="CPUs of the guest")
    parser.add_argument("--rounds", type=int, default=2, help="counted rounds")
    parser.add_argument("--pages", type=int, default=8192,
                        help="pages that a process maps in a round")
    parser.add_argument("--step", type=int, default=8,
                        help="pages that a process touches before it waits for the others")
    parser.add_argument("--mem", default="1G", help="memory of the guest, anonymous memory")
    parser.add_argument("--stream-mem", default="1G", help="memory of the guest, streams")
    parser.add_argument("--stream-pages", type=int, default=32768,
                        help="pages that a process reads in a round")
    parser.add_argument("--file-pages", type=int, default=4096,
                        help="pages of the small files that a process reads in a round")
    every = list(VARIANTS | CGROUP_VARIANTS)
    parser.add_argument("--variants", nargs="+", default=every, choices=every)
    every = list(dict.fromkeys(PROGRAMS + CGROUP_PROGRAMS))
    parser.add_argument("--programs", nargs="+", default=every, choices=every)
    parser.add_argument("--kernel", type=Path,
                        help="patched bzImage with LOCK_STAT (default: build/lockstat)")
    parser.add_argument("--before", type=Path, help="scale.json of another commit")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    args = parser.parse_args()
    if args.rounds < 1 or args.cpus < 2:
        raise Failure("at least 1 round and 2 CPUs")
    return args


def run():
    """Command line."""
    args = arguments()
    lab.begin(args)
    before = json.loads(args.before.read_text("utf-8")) if args.before else {"rows": []}
    lab.guest_tool("lockload")
    if not args.kernel:
        kbuild.build("lockstat", ("bzImage",))
    steps = ui.Steps("bench-scale", [*args.variants, "report"])
    rows = measure(args, steps)
    steps("report")
    summary, where = summarize(rows)
    show(rows, before["rows"])
    print()
    for key, (limit, _) in TARGETS.items():
        if key not in summary:
            print(f"{key} was not measured, target {limit}")
        else:
            old = before.get("summary", {}).get(key)
            print(f"{key} {summary[key]:.4f} ({where[key]}), target {limit}: "
                  f"{lab.verdict(summary[key], limit)}"
                  + (f"; before: {old:.4f}" if old is not None else ""))
    png = draw(rows)
    path = lab.save("scale", {
        "kind": "counts (LOCK_STAT)", "qemu": lab.qemu_version(),
        "color_map": lab.COLOR_MAP, "bank_map": lab.BANK_MAP,
        "before": before.get("parameters", {}).get("commit", "none"),
        **{k: getattr(args, k) for k in ("cpus", "rounds", "pages", "step", "mem",
                                         "stream_mem", "stream_pages", "file_pages")}},
        rows, summary | {"where": where})
    print(f"\nwritten: {path}\n         {png}\n         {lab.RESULTS / 'report.md'}")
    lab.finish(path, steps, args)
    return 0


if __name__ == "__main__":
    ui.main(run)
