#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""What a page fault and a free cost, in instructions.

Under QEMU's -icount shift=0 the guest's time stamp counter counts executed
instructions, one by one, whatever the host is busy with. A small program in
the guest (tools/mcube/guest/faultcost.c) faults and unmaps anonymous pages
and reads it. Four variants, each on a machine of its own with the same
command line:

    unpatched   the kernel without the series
    off         the series built in, the store never switched on
    on          the store on, seed=shuffle
    colored     the store on, the program under a color hint

A rep string instruction counts once per iteration there, and once in all on
hardware. The kernel clears a page by one of 4096 iterations, more than all
the rest, so that ratios would look better than they are: figures here have it
as one instruction; those "as counted" are in the JSON file (*_counted).

Whole rounds map, fault and unmap; "kept" rounds keep the page tables and free
by MADV_DONTNEED. Timer ticks come at a fixed number of instructions, so they
add the same share everywhere; the median over rounds is reported, with
minimum and spread. --verify runs each on a second machine and says by how much
the numbers differ: not at all, but for the random order of shuffled
containers.
"""

import argparse
import statistics
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import lab  # first: it makes tools/mcube/dev importable
import kbuild
import ui
from lab import ALLOC, Failure
from qemu import Guest, image

COLOR = 3
VARIANTS = {
    "unpatched": ("base", "", ""),
    "off": ("test", "", ""),
    "on": ("test", f"echo shuffle > {ALLOC}/seed; echo 1 > {ALLOC}/enabled", ""),
    "colored": ("test", f"echo shuffle > {ALLOC}/seed; echo 1 > {ALLOC}/enabled",
                f"-H color={COLOR}"),
}
TARGETS = {"off_ratio": 1.002, "on_ratio": 1.05}


def script(setup, options, args):
    """What the guest runs."""
    return f"""set -e
{lab.SET_MAP if setup else ""}
{setup or ":"}
sleep 3
/guest/faultcost -n {args.pages} -w {args.fresh} -r {args.rounds} {options}
[ ! -d {ALLOC}/stats ] || grep . {ALLOC}/stats/* | sed 's|.*/|stat |; s|:| |'
"""


def measure(name, args, again=""):
    """Boot one variant; {kind: [(fault, free)], stat: {...}}."""
    flavor, setup, options = VARIANTS[name]
    kernel = {"base": args.base, "test": args.kernel}[flavor] or image(flavor)
    guest = Guest(kernel, smp=1, mem=args.mem, icount=True,
                  append="nowatchdog random.trust_cpu=on")
    guest.root.file(lab.guest_tool("faultcost"), "/guest/faultcost")
    result = guest.run(script(setup, options, args), f"bench-alloc-{name}{again}", 600)
    if not result.ok:
        raise Failure(f"{name}: {result.why()}\n{result.output[-800:]}",
                      f"console: {result.console}")
    out = {"fresh": [], "steady": [], "kept": [], "loop": [], "rep": [], "stat": {}}
    for line in result.output.splitlines():
        word, *rest = line.split()
        if word in ("fresh", "steady", "kept"):
            out[word].append((int(rest[1]), int(rest[2])))
        elif word in ("loop", "rep"):
            out[word].append(int(rest[0]))
        elif word == "touch":
            out["touch"] = int(rest[0])
        elif word == "stat":
            out["stat"][rest[0]] = int(rest[1])
    if len(out["steady"]) != args.rounds or len(out["kept"]) != args.rounds:
        raise Failure(f"{name}: rounds are missing in the guest's output",
                      f"console: {result.console}")
    return out


def calibrate(data):
    """The counter against a loop of 1000000 instructions; what clearing a page adds."""
    got = min(data["loop"])
    if not 1_000_000 <= got <= 1_000_100:
        raise Failure(f"a loop of 1000000 instructions counts as {got}",
                      "the counter needs QEMU's -icount shift=0")
    rep = min(data["rep"])
    if rep < 512:
        raise Failure(f"a rep string instruction over a page counts as {rep}")
    return got, rep - got + 1_000_000 - 1


def reduce(data, args, rep):
    """Instructions per page: median, minimum, mean, spread of each part.

    rep is what the clearing of a page counts beyond one instruction.
    """
    row = {}
    for kind in ("fresh", "steady", "kept"):
        rounds = data[kind][:1] if kind == "fresh" else data[kind]
        for part, values in (("fault", [f for f, _ in rounds]),
                             ("free", [f for _, f in rounds]),
                             ("total", [a + b for a, b in rounds])):
            extra = 0 if part == "free" else rep
            per = [v / args.pages - extra for v in values]
            row[f"{kind}_{part}"] = round(statistics.median(per), 2)
            row[f"{kind}_{part}_counted"] = round(row[f"{kind}_{part}"] + extra, 2)
            row[f"{kind}_{part}_min"] = round(min(per), 2)
            row[f"{kind}_{part}_spread"] = round(max(per) - min(per), 2)
            row[f"{kind}_{part}_mean"] = round(statistics.fmean(per), 2)
    return row


def differ(one, two, args):
    """By how many instructions per page two runs' steady medians differ."""
    a, b = (statistics.median(x + y for x, y in d["steady"]) for d in (one, two))
    return abs(a - b) / args.pages


def show(rows):
    """The tables."""
    base = rows[0]
    print("\ninstructions per page, anonymous order-0 fault and free; median over rounds "
          "(times unpatched)")
    print("steady: map, fault, unmap again and again; kept: page tables stay\n")
    head = ["variant"] + [f"{k} {p}" for k in ("steady", "kept")
                          for p in ("fault", "free", "total")]
    body = []
    for r in rows:
        cells = [r["variant"]]
        for key in [f"{k}_{p}" for k in ("steady", "kept")
                    for p in ("fault", "free", "total")]:
            cells.append(f"{r[key]:.0f} {r[key] / base[key]:.3f}")
        body.append(cells)
    print("\n".join(lab.table(head, body)))
    print("\nsteady total over the rounds, and the first round of all:\n")
    print("\n".join(lab.table(
        ["variant", "minimum", "median", "mean", "max - min", "first round"],
        [[r["variant"]] + [f"{r[k]:.2f}" for k in (
            "steady_total_min", "steady_total", "steady_total_mean",
            "steady_total_spread", "fresh_total")] for r in rows])))


def draw(rows):
    """Bars: fault and free of each variant, stacked."""
    plt = lab.pyplot()
    fig, axes = plt.subplots(1, 2, figsize=(9, 3.4), sharey=True)
    names = [r["variant"] for r in rows]
    for ax, kind, title in zip(axes, ("steady", "kept"), (
            "map, fault, unmap", "page tables kept")):
        fault = [r[f"{kind}_fault"] for r in rows]
        free = [r[f"{kind}_free"] for r in rows]
        ax.bar(names, fault, color="#4477aa", label="fault")
        ax.bar(names, free, bottom=fault, color="#ddaa33", label="free")
        for i, r in enumerate(rows):
            total = r[f"{kind}_total"]
            ax.text(i, total, f"{total:.0f}\n×{total / rows[0][f'{kind}_total']:.3f}",
                    ha="center", va="bottom")
        ax.set_title(title)
        ax.margins(y=0.2)
    axes[0].set_ylabel("instructions per page")
    axes[0].legend(loc="upper left")
    path = lab.picture(fig, "alloc")
    plt.close(fig)
    return path


def run():
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=4096, help="pages per round")
    parser.add_argument("--rounds", type=int, default=32, help="rounds of each kind")
    parser.add_argument("--fresh", type=int, default=4, help="rounds before the steady ones")
    parser.add_argument("--mem", default="2G", help="memory of the guest")
    parser.add_argument("--kernel", type=Path, help="patched bzImage (default: build/test)")
    parser.add_argument("--base", type=Path, help="unpatched bzImage (default: build/base)")
    parser.add_argument("--verify", action="store_true",
                        help="run everything twice and compare to the instruction")
    parser.add_argument("--jobs", type=int, default=ui.JOBS, help="machines at a time")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    args = parser.parse_args()
    if args.json:
        human, sys.stdout = sys.stdout, sys.stderr
    lab.guest_tool("faultcost")
    if not args.base:
        kbuild.build("base", ("bzImage",))
    steps = ui.Steps("bench-alloc", ["measure", "verify", "report"] if args.verify
                     else ["measure", "report"])
    with ThreadPoolExecutor(max(1, args.jobs)) as pool:
        steps("measure")
        data = dict(zip(VARIANTS, pool.map(lambda n: measure(n, args), VARIANTS)))
        same = None
        if args.verify:
            steps("verify")
            twice = dict(zip(VARIANTS, pool.map(lambda n: measure(n, args, "-again"),
                                                VARIANTS)))
            same = {n: differ(data[n], twice[n], args) for n in VARIANTS}
    steps("report")
    loop, rep = calibrate(data["unpatched"])
    rows = [{"variant": n} | reduce(data[n], args, rep) | {"stats": data[n]["stat"]}
            for n in VARIANTS]
    summary = {f"{n}_ratio": round(r["steady_total"] / rows[0]["steady_total"], 5)
               for n, r in zip(VARIANTS, rows) if n != "unpatched"}
    for n, r in zip(VARIANTS, rows):
        if n != "unpatched":
            for kind in ("kept_total", "fresh_total", "steady_total_counted"):
                summary[f"{n}_{kind}_ratio"] = round(r[kind] / rows[0][kind], 5)
    parameters = {"kind": "instructions (simulated: QEMU TCG -icount shift=0)",
                  "pages": args.pages, "rounds": args.rounds, "fresh": args.fresh,
                  "mem": args.mem, "smp": 1, "color_map": lab.COLOR_MAP,
                  "bank_map": lab.BANK_MAP, "qemu": lab.qemu_version(),
                  "loop_of_1000000": loop, "rep_iterations_left_out": rep, "hint": f"color={COLOR}",
                  "second_run_differs_by": same}
    print(f"calibration: a loop of 1000000 instructions counts as {loop}; of the rep "
          f"instruction\nthat clears a page, {rep} iterations per page are left out")
    show(rows)
    if same is not None:
        print("\nsecond run, steady median, instructions per page off the first: " + ", ".join(
            f"{n} {d:.3f}" for n, d in same.items()))
    print()
    for key, limit in TARGETS.items():
        verdict = "met" if summary[key] <= limit else "MISSED"
        print(f"{key} {summary[key]:.4f}, target {limit}: {verdict}")
    print(f"colored_ratio {summary['colored_ratio']:.4f}")
    print("with every rep iteration counted: " + ", ".join(
        f"{n} {summary[f'{n}_steady_total_counted_ratio']:.4f}"
        for n in VARIANTS if n != "unpatched"))
    png = draw(rows)
    path = lab.save("alloc", parameters, rows, summary)
    print(f"\nwritten: {path}\n         {png}\n         {lab.RESULTS / 'report.md'}")
    if args.json:
        sys.stdout = human
        print(path.read_text("utf-8"), end="")
    steps.done()
    return 0


if __name__ == "__main__":
    ui.main(run)
