# SPDX-License-Identifier: GPL-2.0
"""bench-srm: where in the cache the misses lie that SRM-buffer leaves.

The guest samples the misses of a victim, alone and beside a program, with their physical
addresses. The report sorts the extra misses beside the program by where the lines lie. It
also has the misses of the program itself with the policy on: a line outside the reserved
colors does not belong to the page cache, so no policy for the page cache can save other
programs from it.

reserved        lines in a color that is reserved for files: the stream
struct pages    lines in other colors that hold the struct pages of reserved frames. A
                struct page has 64 bytes, and struct pages lie side by side. If the lowest
                bits of the frame number are the color, the struct pages of a color take
                one line in nr_colors, in pages of every color
elsewhere       the reader's own memory and the kernel memory for it: buffers, page
                tables, inodes, dentries

It needs machines whose color is the lowest bits of the frame number.
"""

import collections
import functools

from lab import Failure
from lib.modelled import Model
from mcube_cmd.term import print_table
from . import guest

TITLE = "where the remaining misses lie"
POLICIES = {"off": "off", "srm": "256"}
VICTIMS = ("sort", "lu")
PERIOD = 20
# Samples of the program itself: so few that perf's own writes hardly count.
OWN_PERIOD, OWN_SECONDS, OWN = 100, 0.3, "itself"
LINE, PAGE = 64, 4096
CLASSES = ("reserved", "struct pages", "elsewhere")
RATE = "/proc/sys/kernel/perf_event_max_sample_rate"


def script(programs, kib):
    """Lines of the script of a guest."""
    def record(options, command, name):
        return (f"perf record -q -o /tmp/where -e mcube_sim/llc_misses/ {options} -d "
                f"--phys-data -- {command} > /dev/null; "
                f"perf script -i /tmp/where -F phys_addr > /results/{name}")

    def sample(victim, name):
        return record(f"-c {PERIOD}", f"/guest/victims -k {kib} {victim}", f"{name}.{victim}")

    # The kernel must not drop samples: they would be missing in some class.
    lines = [f"echo 10000000 > {RATE}"]
    for policy, setting in POLICIES.items():
        lines += [f"policy {setting}"] + [sample(v, f"{policy}.alone") for v in VICTIMS]
        for p in programs:
            lines += [f"refill {p}", f"stream {p}", "sleep 0.1"]
            lines += [sample(v, f"{policy}.{p}") for v in VICTIMS]
            if policy == "srm":
                lines += [record(f"-C 1 -c {OWN_PERIOD}", f"sleep {OWN_SECONDS}",
                                 f"srm.{p}.{OWN}")]
            lines += ["quiet", f"echo where: {policy} {p}, done"]
    return lines


def colors_of(machine):
    """Number of colors if the color is the lowest bits of the frame number, else 0."""
    masks = Model(machine).description["color_map"].split()
    plain = [f"{PAGE << i:#x}" for i in range(len(masks))]
    return 1 << len(masks) if masks == plain else 0


def run_guest(args, machine):
    """Run a guest."""
    kib, fs = guest.kib(Model(machine)), args.fs[0]
    guest.boot(f"where-{machine}-{fs}", script(args.programs, kib),
               {"machine": machine, "fs": fs, "programs": args.programs},
               fs=fs, kernel=args.kernel, model=Model(machine), icount=True)


def guests(args):
    """Jobs: one for each machine, on the first of the file systems."""
    return [functools.partial(run_guest, args, m) for m in args.machine if colors_of(m)]


def classes(path, colors, period=PERIOD):
    """{class: misses} of a file of samples."""
    addresses = [int(x, 16) for x in path.read_text("utf-8").split()]
    if not addresses:
        raise Failure(f"{path}: no samples", "the guest's kernel needs CONFIG_MCUBE_SIM")
    reserved = colors // 16
    found = collections.Counter()
    for a in addresses:
        if a // PAGE % colors < reserved:
            found["reserved"] += period
        elif a % PAGE // LINE % colors < reserved:
            found["struct pages"] += period
        else:
            found["elsewhere"] += period
    return found


def rows_of(name, options):
    """Rows of a guest."""
    folder, colors = guest.folder_of(name), colors_of(options["machine"])
    rows = []
    for p in options["programs"]:
        for v in VICTIMS:
            for policy in POLICIES:
                beside = classes(folder / f"{policy}.{p}.{v}", colors)
                alone = classes(folder / f"{policy}.alone.{v}", colors)
                extra = {c: beside[c] - alone[c] for c in CLASSES}
                rows.append(row(options, p, v, policy, extra))
        own = classes(folder / f"srm.{p}.{OWN}", colors, OWN_PERIOD)
        rows.append(row(options, p, OWN, "srm", {c: own[c] for c in CLASSES}))
    return rows


def row(options, program, victim, policy, misses):
    """A row: {class: misses} of a victim beside a program under a policy."""
    return {"part": "where", "machine": options["machine"], "fs": options["fs"],
            "program": program, "victim": victim, "policy": policy,
            "extra": sum(misses.values())} | misses


def show(rows):
    """Print the table."""
    print(f"\nwhere: {TITLE}\nsimulated; extra LLC misses of a victim beside a program, one in "
          f"{PERIOD} sampled;\n'{OWN}': misses of the program in {OWN_SECONDS} s, one in "
          f"{OWN_PERIOD}\n")
    body = [[r["machine"], r["fs"], r["program"], r["victim"], r["policy"], f"{r['extra']:,}",
             *(f"{r[c]:,}" for c in CLASSES)] for r in rows]
    print_table(
        ["machine", "fs", "program", "victim", "policy", "extra misses", *CLASSES], body, lead="  ")


def summarize(rows):
    """Keys of the summary: shares of the remaining misses."""
    left = [r for r in rows if r["policy"] == "srm" and r["victim"] != OWN]
    total = sum(r["extra"] for r in left)
    out = {f"left_{c.replace(' ', '_')}_share": sum(r[c] for r in left) / total
           for c in CLASSES} if total > 0 else {}
    for r in rows:
        if r["victim"] == OWN:
            out[f"{r['program']}_own_not_reserved_share"] = 1 - r["reserved"] / r["extra"]
    return out
