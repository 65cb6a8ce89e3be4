#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""What reads at random cost by the page cache, by O_DIRECT and from page sets, in the kernel.

All figures are simulated: QEMU emulates the guests (TCG). The files lie on ext4 and XFS on a
RAM disk (brd), and on block devices (brd, null_blk). Parts:

    cost    instructions of a read of a page, of 16 and 64 KiB, and of 32 pages by io_uring, hits
            and misses; misses of the page cache are those of a full memory cgroup
    iops    reads per second of fio, a job; the clock counts instructions
    locks   lock waits, and locks that CPUs take from each other, per 1000 reads of fio
    ratio   hit ratios of the kernel beside those of the user-space replay, in points

    make bench-setcache
    make bench-setcache ARGS="--parts cost --places ext4"

Rows of parts that did not run stay in the result file as they are; "measured" has the
commit of each part.
"""

import json
from pathlib import Path

import lab  # first: it makes the other packages importable
import icount
import kbuild
from lab import Failure
from lib import ui
from lib.ui import ROOT
from qemu import CPU
from setcache import cost, iops, locks, places, ratio

PARTS = {"cost": cost, "iops": iops, "locks": locks, "ratio": ratio}
# Most that a figure may be; least for those in LEAST.
TARGETS = {"hit_vs_pagecache": 0.8, "miss_vs_direct": 0.75, "miss_vs_pagecache": 0.45,
           "read64k_vs_pagecache": 1.05, "miss16k_vs_direct": 1.3, "miss64k_vs_direct": 1.3,
           "ratio_gap_max": 1.0}
LEAST = {"iops_vs_direct": 0.95, "hit_iops_vs_pagecache": 1.0}


def arguments():
    """Command line."""
    parser = icount.parser(__doc__, 6)
    parser.set_defaults(pages=8192, mem="1G")
    parser.add_argument("--parts", nargs="+", default=list(PARTS), choices=list(PARTS))
    parser.add_argument("--places", nargs="+", default=list(places.PLACES),
                        choices=list(places.PLACES))
    parser.add_argument("--hot", type=int, default=2048, help="cost: pages that are hit")
    parser.add_argument("--fio-jobs", nargs="+", type=int, default=[1], metavar="N",
                        help="iops: jobs of fio (default: 1); the emulator may run several one "
                        "after the other, and then fio counts too many reads per second")
    parser.add_argument("--passes", type=int, default=8,
                        help="iops: passes of all jobs together (default: %(default)s)")
    parser.add_argument("--lock-jobs", type=int, default=8, help="locks: CPUs and jobs of fio")
    parser.add_argument("--lock-kernel", type=Path,
                        help="locks: bzImage with LOCK_STAT (default: build/lockstat)")
    parser.add_argument("--traces", type=Path, default=ROOT.parent / "shared/traces",
                        help="ratio: folder of NAME.trace.gz (default: %(default)s)")
    args = parser.parse_args()
    if args.hot > args.pages or args.hot % 16 or args.pages % 32:
        raise Failure("pages go by 32 and hot pages by 16, and hot pages are a part of the pages")
    return args


def standing(args):
    """(rows, commits) of the parts that do not run, from the result file."""
    path = lab.RESULTS / "setcache.json"
    if not path.is_file():
        return [], {}
    old = json.loads(path.read_text("utf-8"))
    return ([r for r in old["rows"] if r["part"] not in args.parts],
            {p: c for p, c in old["parameters"]["measured"].items() if p not in args.parts})


def summarize(rows):
    """({key: figure}, {key: where the worst was found}) of all parts."""
    summary, where = {}, {}
    for name, part in PARTS.items():
        mine = [r for r in rows if r["part"] == name]
        if not mine:
            continue
        got = part.summarize(mine)
        if isinstance(got, tuple):
            got, found = got
            where |= found
        summary |= {k: round(v, 4) for k, v in got.items()}
    return summary, where


def draw(rows):
    """A row of bars for the cost, and the reads per second below."""
    plt = lab.pyplot()
    fig = plt.figure(figsize=(14, 7), layout="constrained")
    grid = fig.add_gridspec(2, len(cost.READS))
    mine = {n: [r for r in rows if r["part"] == n] for n in ("cost", "iops")}
    if mine["cost"]:
        cost.draw([fig.add_subplot(grid[0, i]) for i in range(len(cost.READS))], mine["cost"])
    if mine["iops"]:
        iops.draw(fig.add_subplot(grid[1, :]), mine["iops"])
    return lab.picture(fig, "setcache")


def verdicts(summary, where):
    """Print each figure with its target, if it has one."""
    for key, value in summary.items():
        at = f" ({where[key]})" if key in where else ""
        if key in TARGETS:
            print(f"{key} {value:.4f}{at}, target {TARGETS[key]}: "
                  f"{lab.verdict(value, TARGETS[key])}")
        elif key in LEAST:
            print(f"{key} {value:.4f}{at}, target at least {LEAST[key]}: "
                  f"{lab.verdict(LEAST[key], value)}")
        else:
            print(f"{key} {value:.4f}{at}")


def run():
    """Command line."""
    args = arguments()
    lab.begin(args)
    ui.sh(ROOT / "tools/mcube/dev/deps.sh", "bench", quiet=False)
    if "locks" in args.parts and not args.lock_kernel:
        kbuild.build("lockstat")
    found = {p: {} for p in args.parts}
    jobs = [j for p in args.parts for j in PARTS[p].jobs(args, found[p])]
    steps = ui.Steps("bench-setcache", [f"{len(jobs)} guests, {args.jobs} at a time", "report"])
    steps(steps.names[0])
    lab.boot_all(jobs, args.jobs)
    steps("report")
    rows, measured = standing(args)
    for name in args.parts:
        mine = PARTS[name].rows_of(args, found[name])
        PARTS[name].show(mine)
        rows += mine
        measured[name] = lab.commit()
    rows.sort(key=lambda r: list(PARTS).index(r["part"]))
    summary, where = summarize(rows)
    png = draw(rows)
    path = lab.save("setcache", {
        "kind": "simulated (QEMU TCG)", "clock": "an instruction takes a nanosecond",
        "measured": measured, "cpu": CPU, "qemu": lab.qemu_version(), "pages": args.pages,
        "hot": args.hot, "rounds": args.rounds, "cgroup": cost.LIMIT, "fio_passes": args.passes,
        "lock_jobs": args.lock_jobs}, rows, summary | {"where": where})
    print()
    verdicts(summary, where)
    print(f"\nwritten: {path}\n         {png}")
    lab.finish(path, steps, args)
    return 0


if __name__ == "__main__":
    ui.main(run)
