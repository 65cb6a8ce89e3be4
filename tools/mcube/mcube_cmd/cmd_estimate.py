# SPDX-License-Identifier: GPL-2.0
"""mcube estimate: what placement would save on this machine, measured, without an mcube kernel.

The colors of each cache are verified first. Where they hold, working sets are timed with their
pages spread evenly over the colors, at random, and as the running kernel places them, and a
stream beside a working set runs through all colors and through one. Each figure is the median
of the repeats, with the least and the largest of them.
"""

from . import corun_report, machine, map_verify, picture, probe
from .term import Failure, output, plural, print_table, size

HELP = "measure what placement by color would save on this machine, on any kernel"
EXAMPLE = """examples:
  mcube estimate                      about a minute; nothing is changed
  mcube estimate --repeat 5 --png estimate.png
  mcube estimate --json
"""
LABEL = "measured on this machine"
PLACED = ("even", "random", "kernel")
STREAMS = ("alone", "all", "one")
BANKS = "unknown: banks; two cores in banks of their own are not compared"


def arguments(parser):
    """Options."""
    parser.add_argument("--repeat", metavar="N", type=int, default=3,
                        help="how often to measure all of it (default 3)")
    parser.add_argument("--cache", metavar="LEVEL:SIZE:WAYS", action="append", default=[],
                        help="a cache as it is, instead of what CPUID says")
    parser.add_argument("--png", metavar="FILE", help="draw the result")
    parser.add_argument("--json", action="store_true", help="print JSON")


def merged(rows, names):
    """Each name's spread over the repeats, of the medians that mcube-probe printed."""
    out = {}
    for name in names:
        if all(name in row for row in rows):
            out[name] = corun_report.spread([row[name][1] for row in rows])
    return out


def level_result(cache, checked, repeats):
    """What one level's repeats say together."""
    masks = checked["masks"] if checked["verdict"] == "holds" else None
    if low := checked.get("below_2m"):
        masks = low["masks"] if low["verdict"] == "holds" else None
    out = {"level": cache.level, "bytes": cache.bytes, "verdict": checked["verdict"],
           "confidence": checked["confidence"], "why": checked["why"], "masks": masks or []}
    if cache.level > 2 and not masks:
        # Without colors that hold nothing can be compared, and a large cache takes minutes.
        return out
    masks = [int(m, 16) for m in masks or []]
    words = ["estimate", *map_verify.words(cache, masks)[1:]]
    if not masks:
        words.remove("-f")
    runs = [probe.run(words, f"L{cache.level}, {n} of {repeats}") for n in range(1, repeats + 1)]
    ratios = [f"{name}/even" for name in PLACED[1:]]
    out |= {"unit": runs[0]["unit"], "memory": runs[0]["memory"], "colors": runs[0]["colors"]}
    out["sizes"] = [{"share": rows[0]["share"], "bytes": rows[0]["bytes"],
                     **merged(rows, [*PLACED, *ratios])}
                    for rows in zip(*(run["sizes"] for run in runs))]
    rows = [run["stream"] for run in runs]
    out["stream"] = {"bytes": rows[0]["bytes"],
                     **merged(rows, [*STREAMS, *(f"{name}/alone" for name in STREAMS[1:])])}
    return out


def collect(args):
    """All levels."""
    every = map_verify.given_caches(args.cache) or map_verify.caches()
    checked = map_verify.verify(every)
    info = machine.cpuinfo()
    out = {"label": LABEL, "cpu": info.get("model name", "unknown"),
           "hypervisor": machine.hypervisor(), "repeats": args.repeat, "levels": [],
           "banks": {"verdict": "unknown", "why": BANKS}}
    for cache, level in zip(every, checked["levels"]):
        out["levels"].append(level_result(cache, level, args.repeat))
    out["sentence"] = sentence(out["levels"])
    return out


def gain(row):
    """What even placement saves of the time, as the kernel places it; None if it is not known.

    The least over the repeats has to be above 0, or the spread is all there is.
    """
    ratio = row.get("kernel/even") or row.get("random/even")
    if not ratio:
        return None
    return 1 - 1 / ratio["median"] if ratio["min"] > 1.01 else 0


def cost(level, name):
    """What a stream adds to the time of a load beside it, in words."""
    ratio = level["stream"].get(f"{name}/alone")
    return f"{max(ratio['median'] - 1, 0):.0%}" if ratio else None


def sentence(levels):
    """The one sentence that a user needs."""
    parts = []
    for level in levels:
        name = f"L{level['level']}"
        if "sizes" not in level:
            parts.append(f"what colors of {name} would save is unknown ({level['why']})")
            continue
        known = [(gain(row), row["bytes"]) for row in level["sizes"] if gain(row) is not None]
        best = max(known, default=(0, 0))
        if not level["masks"]:
            parts.append(f"colors of {name} are of no use ({level['why']})" if level["verdict"]
                         == "does not hold" else f"what colors of {name} would save is unknown "
                         f"({level['why']})")
        elif best[0] > 0:
            parts.append(f"a program of {size(best[1])} gains {best[0]:.0%} by even colors of "
                         f"{name}")
        else:
            parts.append(f"even colors of {name} save nothing that stands out of the spread")
        if every := cost(level, "all"):
            one = cost(level, "one")
            parts.append(f"a stream beside {size(level['stream']['bytes'])} in {name} costs "
                         f"{every}" + (f", in one color {one}" if one else ""))
    return "on this machine " + "; ".join(parts)


def cell(row, name):
    """A figure with its spread, as text."""
    if name not in row:
        return "-"
    x = row[name]
    return f"{x['median']:.3g} ({x['min']:.3g}-{x['max']:.3g})"


def show(data):
    """For people."""
    under = f" under {data['hypervisor']}" if data["hypervisor"] else ""
    print(f"{LABEL}: {data['cpu']}{under}; medians of {plural(data['repeats'], 'repeat')}, "
          "least and largest behind them")
    for level in data["levels"]:
        print(f"\nL{level['level']}, {size(level['bytes'])}: colors "
              f"{map_verify.UNKNOWN[level['verdict']]}: {level['why']}")
        if "sizes" not in level:
            continue
        unit = level["unit"]
        print_table(["working set", *(f"{n}, {unit}" for n in PLACED), "random/even",
                     "kernel/even"],
                    [[f"{size(r['bytes'])} ({r['share']:.2g})", *(cell(r, n) for n in (
                        *PLACED, "random/even", "kernel/even"))] for r in level["sizes"]],
                    lead="  ")
        stream = level["stream"]
        print_table([f"{size(stream['bytes'])} beside a stream", f"{unit}", "to alone"],
                    [[{"alone": "alone", "all": "through all colors",
                       "one": "through one color"}[n], cell(stream, n),
                      cell(stream, f"{n}/alone")] for n in STREAMS if n in stream], lead="  ")
    print(f"\n{BANKS}\n{data['sentence']}")


def draw(data, path):
    """Cost by size of the working set, a panel for each level that was measured."""
    plt = picture.pyplot()
    levels = [x for x in data["levels"] if "sizes" in x]
    figure, axes = plt.subplots(1, len(levels), figsize=(5 * len(levels), 3.5), squeeze=False)
    for axis, level in zip(axes[0], levels):
        at = [row["bytes"] / level["bytes"] for row in level["sizes"]]
        for name in PLACED:
            if not all(name in row for row in level["sizes"]):
                continue
            mid = [row[name]["median"] for row in level["sizes"]]
            around = [[m - row[name]["min"] for m, row in zip(mid, level["sizes"])],
                      [row[name]["max"] - m for m, row in zip(mid, level["sizes"])]]
            axis.errorbar(at, mid, yerr=around, marker="o", capsize=3, label={
                "even": "evenly over colors", "random": "at random",
                "kernel": "as this kernel places"}[name])
        axis.set(xlabel=f"working set, share of L{level['level']} ({size(level['bytes'])})",
                 ylabel=f"{level['unit']} for a load", ylim=(0, None),
                 title=f"L{level['level']}, {LABEL}")
        axis.legend(frameon=False)
    picture.save(plt, figure, path)


def run(args):
    """mcube estimate."""
    if args.repeat < 1:
        raise Failure(f"--repeat {args.repeat} measures nothing", "give 1 or more")
    if machine.emulated() and not args.cache:
        raise Failure("the CPU is emulated: its time means nothing",
                      "run it on the machine itself")
    if args.png:
        picture.check(args.png, "estimate.png")
    data = collect(args)
    if args.png and any("sizes" in x for x in data["levels"]):
        draw(data, args.png)
        data["picture"] = args.png
    return output(args, data, show, data.get("picture"))
