#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""What ROCS saves programs that evict their own reused pages.

Loads with the memory behaviour of the paper's programs, and real programs, run on modelled
machines with all policies off and under ROCS, in one guest. Parts:

PARTS
    make bench-rocs ARGS="--workloads art mcf"
    make bench-rocs ARGS="--part programs mixed"
    make bench-rocs ARGS="--again"

The report covers all guests whose figures are in build/guest/, including those of earlier
runs. All figures are simulated; the machines are in tools/mcube/model/machines/.
"""

import lab  # first: it makes the other packages importable
from lib import ui
from lib.modelled import Model, machines
from qemu import CPU
from rocs import guest, loads, mixed, phases, picture, programs

PARTS = {"loads": loads, "programs": programs, "mixed": mixed, "phases": phases}


def arguments():
    """Command line."""
    titles = "".join(f"    {n:10}{m.TITLE}\n" for n, m in PARTS.items())
    parser = lab.parser(__doc__.replace("PARTS\n", titles + "\n"), min(2, ui.JOBS), again=True)
    parser.add_argument("--part", nargs="+", default=list(PARTS), choices=list(PARTS),
                        help="what to run (default: all)")
    parser.add_argument("--machine", nargs="+", default=["small"], choices=machines())
    parser.add_argument("--workloads", nargs="+", default=list(loads.LINE),
                        choices=list(loads.LINE))
    parser.add_argument("--programs", nargs="+", default=list(programs.COMMANDS),
                        choices=list(programs.COMMANDS))
    parser.add_argument("--timeout", type=int, default=3600, help="seconds for a guest")
    return parser.parse_args()


def beside_the_paper(summary):
    """Print the summary beside the paper's figures."""
    print("\n  beside the paper (other machine, other programs)\n")
    for key, paper in loads.PAPER.items():
        if key in summary:
            print(f"  {key:16} {summary[key]:7.1%}   paper {paper:.1%}")


def report():
    """Print tables of all figures present and write the result file."""
    rows, summary, guests = lab.collect(PARTS, guest.found)
    beside_the_paper(summary)
    png = picture.draw([r for r in rows if r["part"] == "loads"])
    path = lab.save("rocs", {
        "kind": "simulated", "qemu": lab.qemu_version(), "guests": guests, "cpu": CPU,
        "machines": {o["machine"]: Model(o["machine"]).description for o in guests.values()},
        "paper": loads.PAPER, "linear": loads.LINEAR},
        rows, {k: round(v, 5) for k, v in summary.items()})
    print(f"\nwritten: {path}" + (f"\n         {png}" if png else ""))
    return path


def run():
    """Command line."""
    args = arguments()
    return lab.serve("bench-rocs", args, lambda: [j for p in args.part
                                                  for j in PARTS[p].guests(args)],
                     ["rocsload", "tally"], report)


if __name__ == "__main__":
    ui.main(run)
