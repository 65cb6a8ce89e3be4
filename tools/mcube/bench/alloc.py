#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""What a page fault and a free cost, in instructions.

A small program in the guest (tools/mcube/guest/faultcost.c) faults and unmaps
anonymous pages. Each variant has a machine of its own (icount.py):

    unpatched   the kernel without the series
    off         the kernel with the series, the mcube allocator never switched on
    on          the mcube allocator on, fill_order=shuffle
    clusters    the same, and eight neighbouring pages stay together (cluster_order=3)
    auto        the mcube allocator on, fill_order=auto
    colored     the mcube allocator on, the program under a color hint

QEMU counts a rep string instruction once per iteration, hardware counts it once.
The kernel clears a page by a rep instruction with hundreds of iterations, so
ratios would look better than they are. The figures here count it as one
instruction; the JSON file also has the figures as counted (*_counted).

Whole rounds map, fault and unmap; "kept" rounds keep the page tables and free
by MADV_DONTNEED. Timer ticks come at a fixed number of instructions, so they
add the same share everywhere. The report has the median over rounds, with
minimum and spread. --verify runs each variant on a second machine and says by
how much the numbers differ. Only the random order of shuffled containers makes
a difference.
"""

import statistics

import icount  # first: it makes the other packages importable
import lab
from lab import Failure
from lib import ui
from mcube_cmd.term import print_table

COLOR = 3
VARIANTS = {
    "unpatched": ("base", "", ""),
    "off": ("test", "", ""),
    "on": ("test", icount.ON, ""),
    "clusters": ("test", f"echo 3 > {lab.ALLOC}/cluster_order; {icount.ON}", ""),
    "auto": ("test", icount.switch_on("auto"), ""),
    "colored": ("test", icount.ON, f"-H color={COLOR}"),
}
TARGETS = {"off_ratio": 1.002, "on_ratio": 1.05, "clusters_ratio": 1.05, "auto_ratio": 1.05}


def measure(name, args, again=""):
    """Boot a variant; returns {kind: [[round, fault, free], ...]}."""
    flavor, setup, options = VARIANTS[name]
    data = icount.boot(
        f"bench-alloc-{name}{again}", "faultcost", flavor,
        f"{setup}\nsleep 3\n"
        f"/guest/faultcost -n {args.pages} -w {args.fresh} -r {args.rounds} {options}", args)
    if any(len(data.get(kind, ())) != args.rounds for kind in ("steady", "kept")):
        raise Failure(f"{name}: rounds are missing in the guest's output")
    return data


def reduce(data, args, rep):
    """Instructions per page: median, minimum, mean, spread of each part.

    rep is the number of instructions that clearing a page counts beyond one.
    """
    row = {}
    for kind in ("fresh", "steady", "kept"):
        rounds = data[kind][:1] if kind == "fresh" else data[kind]
        for part, values, extra in (("fault", [f for _, f, _ in rounds], rep),
                                    ("free", [f for _, _, f in rounds], 0),
                                    ("total", [a + b for _, a, b in rounds], rep)):
            row |= icount.spread(f"{kind}_{part}", [v / args.pages for v in values], extra)
    return row


def differ(one, two, args):
    """Difference of the steady medians of two runs, in instructions per page."""
    a, b = (statistics.median(x + y for _, x, y in d["steady"]) for d in (one, two))
    return abs(a - b) / args.pages


def show(rows):
    """Print the tables."""
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
    print_table(head, body)
    print("\nsteady total over the rounds, and the first round of all:\n")
    print_table(
        ["variant", "minimum", "median", "mean", "max - min", "first round"],
        [[r["variant"]] + [f"{r[k]:.2f}" for k in (
            "steady_total_min", "steady_total", "steady_total_mean",
            "steady_total_spread", "fresh_total")] for r in rows])


def draw(rows):
    """Draw fault and free of each variant as stacked bars."""
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
    return lab.picture(fig, "alloc")


def run():
    """Command line."""
    parser = icount.parser(__doc__, 32)
    parser.add_argument("--fresh", type=int, default=4, help="rounds before the steady ones")
    args = parser.parse_args()
    steps = icount.begin("bench-alloc", "faultcost", args)
    data, twice = icount.collect(VARIANTS, lambda n, again: measure(n, args, again), args, steps)
    same = twice and {n: differ(data[n], twice[n], args) for n in VARIANTS}
    steps("report")
    rep = icount.beyond_one(data["unpatched"], "rep")
    rows = [{"variant": n} | reduce(data[n], args, rep) | {"stats": data[n]["stat"]}
            for n in VARIANTS]
    summary = {f"{n}_ratio": round(r["steady_total"] / rows[0]["steady_total"], 5)
               for n, r in zip(VARIANTS, rows) if n != "unpatched"}
    for n, r in zip(VARIANTS, rows):
        if n != "unpatched":
            for kind in ("kept_total", "fresh_total", "steady_total_counted"):
                summary[f"{n}_{kind}_ratio"] = round(r[kind] / rows[0][kind], 5)
    parameters = icount.parameters(args, data["unpatched"]) | {
        "fresh": args.fresh, "rep_iterations_left_out": rep, "hint": f"color={COLOR}",
        "second_run_differs_by": same}
    print(f"calibration: a loop of 1000000 instructions counts as "
          f"{parameters['loop_of_1000000']};\nthe figures leave out {rep} iterations per page "
          "of the rep instruction that clears it")
    show(rows)
    if same is not None:
        print("\ninstructions per page by which the steady median of the second run differs: "
              + ", ".join(f"{n} {d:.3f}" for n, d in same.items()))
    print()
    lab.verdicts(summary, TARGETS)
    print(f"colored_ratio {summary['colored_ratio']:.4f}")
    print("with every rep iteration counted: " + ", ".join(
        f"{n} {summary[f'{n}_steady_total_counted_ratio']:.4f}"
        for n in VARIANTS if n != "unpatched"))
    icount.finish("alloc", (parameters, rows, summary), draw(rows), steps, args)
    return 0


if __name__ == "__main__":
    ui.main(run)
