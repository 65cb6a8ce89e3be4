#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""What UBM saves real programs that read files under a limit of memory, in the kernel.

Each policy of reclaim has a guest of its own: the stock kernel's LRU and multi-generational
LRU, and UBM on each. Parts:

    live        cscope, the preprocessor of gcc, a join by SQLite, lid with grep, and ripgrep
                run live in a cgroup: pages that the device read, requests, time
    prediction  references that were recorded of these programs are replayed in the kernel
                and in user space: how far their hit ratios are apart, in points
    cost        instructions of reads, faults and reclaim in memory cgroups, UBM off and on

    make bench-ubm-kernel
    make bench-ubm-kernel ARGS="--quick"
    make bench-ubm-kernel ARGS="--programs rg cscope --repeat 3 --no-prediction"

A kernel without UBM gives the rows of the stock policies only. All times are those of the
emulator; the modelled times say what a device with slow requests would take.
"""

import argparse

import lab  # first: it makes the other packages importable
from lab import Failure
from lib import ui
from qemu import CPU
from ubm import cost, data, guest, live, prediction
from ubm.record_traces import TRACES

TARGETS = {"worst_loss": 0.02, "prediction_gap_max": 3.0, "cost_max": cost.COST}
LEAST = {"device_reads_cut_mean": 0.25, "device_reads_cut_max": 0.65}


def arguments():
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", nargs="+", default=list(live.NEEDS),
                        choices=list(live.NEEDS))
    parser.add_argument("--policies", nargs="+", default=list(live.POLICIES),
                        choices=list(live.POLICIES))
    parser.add_argument("--shares", nargs="+", type=float, default=list(live.SHARES),
                        metavar="SHARE", help="live: part of the files that fits in memory "
                        f"(default: {' '.join(map(str, live.SHARES))})")
    parser.add_argument("--prediction-shares", nargs="+", type=float, metavar="SHARE",
                        default=list(prediction.SHARES), help="prediction: the same (default: "
                        f"{' '.join(map(str, prediction.SHARES))})")
    parser.add_argument("--repeat", type=int, default=2, help="live: runs of each "
                        "(default: %(default)s)")
    parser.add_argument("--no-live", action="store_true", help="leave this part out")
    parser.add_argument("--no-prediction", action="store_true", help="leave this part out")
    parser.add_argument("--no-cost", action="store_true", help="leave this part out")
    parser.add_argument("--quick", action="store_true",
                        help="one run, one limit of memory, no cpp, two traces, no cost")
    parser.add_argument("--kernel", help="bzImage (default: build/test)")
    parser.add_argument("--jobs", type=int, default=min(2, ui.JOBS), help="guests at a time")
    parser.add_argument("--timeout", type=int, default=3600, help="seconds for a guest")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    args = parser.parse_args()
    if args.repeat < 1:
        raise Failure(f"--repeat {args.repeat} runs nothing", "give 1 or more")
    if not all(0 < s <= 2 for s in args.shares + args.prediction_shares):
        raise Failure("a share is not within 0 to 2", "give for example 0.5")
    if args.quick:
        args.repeat, args.shares, args.prediction_shares = 1, [0.6], [0.6]
        args.no_cost = True
        args.programs = [p for p in args.programs if p != "cpp"] or args.programs
    return args


def chosen_traces(args):
    """Traces to replay."""
    found = [TRACES / f"{p}.trace.gz" for p in args.programs]
    if missing := [p.name for p in found if not p.is_file()]:
        raise Failure(f"{TRACES} has no {', '.join(missing)}",
                      "record: tools/mcube/bench/ubm/record_traces.py")
    return found[:2] if args.quick else found


def run():
    """Command line."""
    args = arguments()
    lab.begin(args)
    ui.sh(ui.ROOT / "tools/mcube/dev/deps.sh", "bench", quiet=False)
    ran, replayed, counted = {}, {}, {}
    traces = [] if args.no_prediction else chosen_traces(args)
    if traces:
        prediction.build()
    disk = data.disk()
    jobs = [] if args.no_live else live.jobs(args, disk, ran)
    if traces:
        jobs += prediction.jobs(args, disk, traces, replayed)
    if not args.no_cost and set(args.policies) & set(live.STOCK):
        jobs += cost.jobs(args, counted)
    steps = ui.Steps("bench-ubm-kernel", [f"{len(jobs)} guests, {args.jobs} at a time", "report"])
    steps(steps.names[0])
    lab.boot_all(jobs, args.jobs)
    steps("report")
    rows = live.rows_of(args, ran)
    summary, png = {}, None
    if rows:
        live.show(rows)
        summary = live.summarize(rows)
        png = lab.picture(live.draw(lab.pyplot(), rows), "ubm-kernel")
    if replayed:
        replays = prediction.rows_of(traces, replayed)
        prediction.show(replays)
        summary |= prediction.summarize(replays)
    else:
        replays = []
    costs = cost.rows_of(counted) if counted else []
    if costs:
        cost.show(costs)
        summary |= cost.summarize(costs)
    path = lab.save("ubm-kernel", {
        "kind": "simulated", "qemu": lab.qemu_version(), "cpu": CPU, "repeat": args.repeat,
        "policies": list(ran), "rounds": {p: guest.ROUNDS[p][0] for p in args.programs},
        "needs_kib": {p: live.NEEDS[p] for p in args.programs},
        "seconds_per_request": live.DEVICES, "quick": args.quick}, rows + replays + costs,
        {k: round(v, 5) for k, v in summary.items()})
    print()
    lab.verdicts(summary, {k: v for k, v in TARGETS.items() if k in summary})
    for key, value in summary.items():
        if key not in TARGETS:
            least = LEAST.get(key)
            print(f"{key} {value:.4f}" + (f", target at least {least}: "
                                          f"{lab.verdict(least, value)}" if least else ""))
    if ran and "ubm" not in ran:
        print("this kernel has no UBM: no cut, no loss and no gap of UBM")
    print(f"\nwritten: {path}" + (f"\n         {png}" if png else ""))
    lab.finish(path, steps, args)
    return 0


if __name__ == "__main__":
    ui.main(run)
