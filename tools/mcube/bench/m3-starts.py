#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Figures 6 and 7 of the M3 paper: four cores in step, and from random starts.

The paper's Figure 6 has four cores that read memory in order, from physical addresses
12 MiB apart. In Figure 7 their starts are random. The paper says that the cores take 2052
and 1925 cycles, 6 % less. This benchmark runs both on the modelled machine of the paper: one of
its two sockets, with three channels that take turns line by line, four ranks of eight banks on
each channel, and rows of 4 KiB (sections 2.1 and 3.2), 96 banks that 12 MiB cover. There is no
guest and no allocator: mcube-model-streams gives the physical addresses to the model. The
prefetcher of the description is on.

regular     the starts lie 12 MiB apart, so at each step all cores are in the same bank of a
            channel; the first start is drawn in each run
random      each start is drawn, so that no core reads what another core reads
cycles      of the slowest core, for a page; the mean over the runs
gain        share of the regular cycles that random starts save, with twice its standard error

Each core reads the 12 MiB up to the next core's start, four instructions for a line, and all
begin at one time. Then nothing keeps them in step but the memory itself. The first row is the
result. The other rows change what they name:

OTHERS
All figures are simulated. The size of the gain depends on how the cores hide the time of
DRAM, which the other rows show.
"""

import math
import random
import statistics
from concurrent.futures import ThreadPoolExecutor

import lab  # first: it makes the other packages importable
from lab import Failure
from lib import modelled, ui
from lib.modelled import Model
from mcube_cmd.addrmap import Dim
from mcube_cmd.term import print_table

MACHINE, CORES = "x3650m2", 4
PAGE, APART = 4096, 12 << 20
MEMORY = 3 << 30
PLACES = ("regular", "random")
# Cycles of the paper's Figures 6 and 7.
PAPER = {"fig6_cycles": 2052, "fig7_cycles": 1925}
GAIN = (.03, .12)
# What the machine description leaves off; its comments say where this is published.
PROCESSOR = {"prefetch.kind": "stride"}
# Variant: (what it changes, keys of the machine, options of mcube-model-streams)
VARIANTS = {
    "processor": ("nothing", {}, ()),
    "no prefetcher": ("there is no prefetcher", {"prefetch.kind": "none"}, ()),
    "at once": ("prefetched lines are there at once", {"prefetch.under_way": 0}, ()),
    "near": ("the prefetcher fetches two lines ahead", {"prefetch.degree": 2}, ()),
    "far": ("the prefetcher fetches 16 lines ahead", {"prefetch.degree": 16}, ()),
    "pages": ("the channels take turns page by page", {"dram.granule": PAGE}, ()),
    "neither": ("page by page, and no prefetcher",
                {"dram.granule": PAGE, "prefetch.kind": "none"}, ()),
    "one miss": ("a core waits for each miss", {"cpu.misses": 1}, ()),
    "wait": ("the cores wait for each other after each page", {}, ("-w",)),
}


def starts(place, rng):
    """Draw the physical addresses at which the cores begin."""
    def draw(size):
        return rng.randrange((MEMORY - size) // PAGE) * PAGE

    if place == "regular":
        first = draw(CORES * APART)
        return [first + i * APART for i in range(CORES)]
    out = []
    while len(out) < CORES:
        new = draw(APART)
        if all(abs(new - old) >= APART for old in out):
            out.append(new)
    return out


def bank_map():
    """The bank of a page within a channel; lines of a page lie in all channels."""
    return Model(MACHINE).description["bank_map"]


def stream(tool, args, variant, addresses):
    """Run the cores once; returns the counts."""
    _, keys, options = VARIANTS[variant]
    model = Model(MACHINE, PROCESSOR | {"cpu.misses": args.misses} | keys)
    out = ui.sh(tool, *options, model.path, *(f"{k}={v}" for k, v in model.keys.items()),
                APART // PAGE, *addresses)
    return {k: int(v) for k, v in (line.split() for line in out.splitlines())}


def measure(args, tool, variant):
    """The row of a variant."""
    rng = random.Random(args.seed)
    draws = {p: [starts(p, rng) for _ in range(args.runs)] for p in PLACES}
    row = {"variant": variant, "changes": VARIANTS[variant][0], "runs": args.runs}
    error = 0
    with ThreadPoolExecutor(max(1, args.jobs)) as pool:
        for place, drawn in draws.items():
            got = list(pool.map(lambda a: stream(tool, args, variant, a), drawn))
            cycles = [g["cycles"] * PAGE / APART for g in got]
            row |= {place: statistics.fmean(cycles), f"{place}_each": [round(c) for c in cycles],
                    f"{place}_conflicts": sum(g["row_conflicts"] for g in got)
                    / sum(g["dram_accesses"] for g in got)}
            error += statistics.variance(cycles) / len(cycles) / row[place] ** 2
    row["gain"] = 1 - row["random"] / row["regular"]
    row["error"] = (1 - row["gain"]) * math.sqrt(error)
    ui.say(f"{variant}: {row['regular']:.0f} and {row['random']:.0f} cycles")
    return row


def summarize(rows):
    """The keys of the result, and the gain of each variant."""
    main = rows[0]
    out = {"fig6_cycles": round(main["regular"]), "fig7_cycles": round(main["random"]),
           "fig67_gain": round(main["gain"], 4), "fig67_gain_error": round(main["error"], 4),
           "paper_fig6_cycles": PAPER["fig6_cycles"], "paper_fig7_cycles": PAPER["fig7_cycles"],
           "paper_fig67_gain": round(1 - PAPER["fig7_cycles"] / PAPER["fig6_cycles"], 4)}
    return out | {f"gain_{r['variant'].replace(' ', '_')}": round(r["gain"], 4)
                  for r in rows[1:]}


def draw(rows, seed):
    """Draw banks by step for both figures, and the cycles of all runs."""
    plt = lab.pyplot()
    fig, axes = plt.subplots(1, 3, figsize=(14, 3.6), width_ratios=(2, 2, 1.6))
    bank = Dim(bank_map())
    rng = random.Random(seed)
    steps = range(64)
    for ax, place, name in zip(axes, PLACES, ("Figure 6: regular", "Figure 7: random starts")):
        for i, first in enumerate(starts(place, rng)):
            banks = bank.values([first // PAGE + s for s in steps])
            ax.plot(steps, banks, "os^D"[i], ms=7 - 1.5 * i, mfc="none", label=f"core {i}")
        ax.set_title(f"{name}, banks of one run")
        ax.set_xlabel("page")
        ax.set_ylabel("bank of a channel")
    axes[0].legend(fontsize=7, loc="upper left")
    main = rows[0]
    for place, color, key in zip(PLACES, ("#cc6677", "#4477aa"), PAPER):
        axes[2].hist(main[f"{place}_each"], bins=20, alpha=0.6, color=color,
                     label=f"{place}, mean {main[place]:.0f}")
        axes[2].axvline(PAPER[key], color=color, linestyle="--", linewidth=1,
                        label=f"paper: {PAPER[key]}")
    axes[2].set_title(f"{MACHINE}, simulated: {main['runs']} runs of each")
    axes[2].set_xlabel("cycles for a page")
    axes[2].legend(fontsize=7)
    fig.tight_layout()
    return lab.picture(fig, "m3-starts")


def show(rows):
    """Print the table."""
    print(f"\n{MACHINE}, simulated: {CORES} cores, cycles for a page; row conflicts per access\n")
    print_table(["what changes", "regular", "random", "gain", "+-", "conflicts", "random"],
                [[r["changes"], f"{r['regular']:.0f}", f"{r['random']:.0f}", f"{r['gain']:.1%}",
                  f"{2 * r['error']:.1%}",
                  *(f"{r[f'{p}_conflicts']:.1%}" for p in PLACES)] for r in rows], lead="  ")


def options():
    """Command line."""
    others = "".join(f"    {n:15}{what}\n" for n, (what, _, _) in list(VARIANTS.items())[1:])
    parser = ui.parser(__doc__.replace("OTHERS\n", others + "\n"))
    parser.add_argument("--runs", type=int, default=100, help="runs of each placement (100)")
    parser.add_argument("--seed", type=int, default=20261125, help="of the starts (20261125)")
    parser.add_argument("--misses", type=int, default=10,
                        help="misses that a core overlaps, as it has line fill buffers (10)")
    parser.add_argument("--jobs", type=int, default=ui.JOBS, help="runs at a time")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    args = parser.parse_args()
    if not 2 <= args.runs <= 10000:
        raise Failure(f"--runs {args.runs} is not within 2..10000", "the default is 100")
    if not 1 <= args.misses <= 32:
        raise Failure(f"--misses {args.misses} is not within 1..32", "the default is 10")
    return args


def run():
    """Command line."""
    args = options()
    lab.begin(args)
    steps = ui.Steps("bench-m3-starts", [*VARIANTS, "report"])
    tool = modelled.build() / "mcube-model-streams"
    rows = []
    for variant in VARIANTS:
        steps(variant)
        rows.append(measure(args, tool, variant))
    steps("report")
    show(rows)
    summary = summarize(rows)
    least, most = GAIN
    met = "met" if least <= summary["fig67_gain"] <= most else "MISSED"
    print(f"\nfig67_gain {summary['fig67_gain']:.4f}, the paper {summary['paper_fig67_gain']:.4f},"
          f" within a factor of two ({least} to {most}): {met}")
    png = draw(rows, args.seed)
    path = lab.save("m3-starts", {
        "kind": "simulated", "machine": MACHINE,
        "description": Model(MACHINE, PROCESSOR).description,
        "cores": CORES, "misses": args.misses, "apart": APART, "runs": args.runs,
        "seed": args.seed}, rows, summary)
    print(f"\nwritten: {path}\n         {png}")
    lab.finish(path, steps, args)
    return 0


if __name__ == "__main__":
    ui.main(run)
