# SPDX-License-Identifier: GPL-2.0
"""mcube map probe --paper: Figure 4 of the M3 paper, of this machine.

Cost of a pair of accesses over the distance of their addresses, at four scales, each a part
of the one above it where most pairs are slow. Slow pairs meet in a bank: how often they
come, and in which distances, is how the memory controller interleaves.

The paper measures each line of 128 MiB. Here a scale has a few thousand pairs. Their step is
a prime number of lines, so that they fall on all remainders of each period.
"""

import bisect

from . import offsets, picture, probe
from .term import Failure, output, size

# Length in bytes of the scales (d), (c), (b), (a) of the figure, and steps in lines. Two steps
# where pairs are far apart: the period of a bank may be close to a multiple of one of them.
SCALES = ((128 << 20, (907, 1021)), (4 << 20, (31,)), (48 << 10, (1,)), (3 << 10, (1,)))
LEAST = 16              # pairs of a scale that are enough to draw


def arguments(parser):
    """Options of 'mcube map probe --paper'."""
    parser.add_argument("--paper", metavar="FILE", help="probe: draw the cost of a pair of "
                        "accesses over their distance, as Figure 4 of the M3 paper, into a .png "
                        "file")
    parser.add_argument("--module", action="store_true", help="--paper: measure by the kernel "
                        "module mcube_probe, in uncached memory")
    parser.add_argument("--core", action="store_true", help="--paper: measure by a process, with "
                        "lines flushed (default without the module)")
    parser.add_argument("--save", metavar="FILE", help="probe: write the pairs as lines of JSON, "
                        "with a picture or without")
    parser.add_argument("--mib", metavar="N", type=int, help="--paper: memory to measure in, a "
                        "multiple of 4 (default 128)")


def groups(pairs):
    """(cost of fast pairs, of slow pairs, slow offsets), by the widest gap between costs.

    The dearest 7 of 1000 pairs are left out: interrupts and refreshes. Slow pairs are None
    where the gap is no wider than the groups on both sides of it: the costs then are one
    group, and nothing may be read from them.
    """
    costs = sorted(c for _, c in pairs)
    middle = costs[len(costs) // 2]
    inner = costs[:len(costs) - len(costs) * 7 // 1000]
    few = max(4, len(inner) // 400)
    if len(inner) < LEAST:
        return middle, None, []
    gap, at = max((inner[i] - inner[i - 1], i) for i in range(few, len(inner) - few + 1)
                  if i < len(inner))
    fast, slow = inner[:at], inner[at:]
    if gap <= max(fast[len(fast) * 19 // 20] - fast[len(fast) // 20],
                  slow[len(slow) * 3 // 4] - slow[len(slow) // 4]):
        return middle, None, []
    return (fast[len(fast) // 2], slow[len(slow) // 2],
            [o for o, c in pairs if slow[0] <= c <= slow[-1] + gap])


def busiest(slow, start, length, part):
    """Start of the part of a range that has most slow pairs, a multiple of a page."""
    if not slow:
        return start
    slow = sorted(slow)
    best = max(slow, key=lambda o: (bisect.bisect_left(slow, o + part)
                                    - bisect.bisect_left(slow, o), -o))
    # A little before the first of them, so that the edge is seen.
    at = (best - part // 8) // offsets.LINE * offsets.LINE
    return max(start, min(at, start + length - part))


def measure(source, mebi, say):
    """[(offset, cycles)] of each scale, the widest first."""
    out, start, done = [], offsets.LINE, 0
    scales = [(min(span, mebi << 20), [x * offsets.LINE for x in steps]) for span, steps in SCALES]
    total = sum(span // step for span, steps in scales for step in steps)
    for span, steps in scales:
        if out:
            wide = min(scales[len(out) - 1][0], mebi << 20)
            start = busiest(groups(out[-1])[2], start, wide, span)
        pairs = {}
        for step in steps:
            for offset, cycles in source.measure(start, step, max(1, span // step)):
                pairs[offset] = cycles
                done += 1
                say(min(1, done / total))
        if len(pairs) < LEAST:
            raise Failure(f"{len(pairs)} pairs in {size(span)} from {start:#x} on: too few to draw",
                          "measure with more memory by --mib, after a fresh boot")
        out.append(sorted(pairs.items()))
    return out


def summarize(levels, unit, header):
    """What is seen, as a dictionary."""
    out = {"unit": unit, "header": header, "scales": []}
    for pairs in levels:
        fast, slow, at = groups(pairs)
        out["scales"].append({
            "from": pairs[0][0], "to": pairs[-1][0], "pairs": len(pairs), "fast": fast,
            "slow": slow, "slow_share": len(at) / len(pairs) if slow is not None else None})
    return out


def draw(levels, unit, path):
    """Figure 4: the narrowest scale on top, as in the paper."""
    plt = picture.pyplot()
    fig, axes = plt.subplots(len(levels), 1, figsize=(9, 2.1 * len(levels)), layout="constrained")
    for ax, pairs, name in zip(axes, reversed(levels), "abcd"):
        costs = sorted(c for _, c in pairs)
        ax.plot([o / 1024 for o, _ in pairs], [c for _, c in pairs], ".", ms=2, color="#4477aa")
        # A few interrupted pairs would flatten the rest.
        low, high = costs[0], costs[min(len(costs) - 1, len(costs) * 99 // 100)]
        ax.set_ylim(low - 0.1 * (high - low) - 1, high + 0.2 * (high - low) + 1)
        ax.set_title(f"({name})", loc="left", fontsize="medium")
        ax.set_ylabel("cycles a pair")
    axes[-1].set_xlabel(f"distance of the second line from the first, KiB; {unit}")
    picture.save(plt, fig, path)


def show(data):
    """For people."""
    for s in data["scales"]:
        what = "one group of costs: no bank can be read from it"
        if s["slow"] is not None:
            what = f"fast pairs {s['fast']:.0f}, slow pairs {s['slow']:.0f} cycles, " \
                f"{s['slow_share']:.1%} of the pairs are slow"
        print(f"{s['from']:#x} to {s['to']:#x}: {s['pairs']} pairs; {what}")


def choose(args):
    """Who measures."""
    return (offsets.Module if args.module else offsets.Core)(args.mib)


def run(args):
    """Measure, save, draw."""
    if args.module and args.core:
        raise Failure("--module and --core exclude each other", "give one of them")
    args.mib = 128 if args.mib is None else args.mib
    if args.mib < 4 or args.mib > 1024 or args.mib % 4:
        raise Failure(f"--mib {args.mib}: expected 4 to 1024, a multiple of 4",
                      "give such a number")
    if args.paper:
        picture.check(args.paper, "paper.png")
    source, progress = choose(args), probe.Progress("timing pairs of accesses")
    try:
        levels = measure(source, args.mib, progress.show)
    finally:
        progress.close()
        source.close()
    if args.save:
        offsets.save(args.save, source.unit, levels)
    if args.paper:
        draw(levels, source.unit, args.paper)
    data = summarize(levels, source.unit, source.header)
    return output(args, data | {"picture": args.paper}, show, args.paper)
