#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""What SRM-buffer saves a program while another program streams through files.

Victims with a working set of three quarters of the last-level cache run beside real
programs that read files, on modelled machines and on two file systems, with all
policies off and with SRM-buffer. Parts:

PARTS
    make bench-srm ARGS="--machine small --fs ext4 --repeat 1"
    make bench-srm ARGS="--part tl reuse"
    make bench-srm ARGS="--again"

Each guest of a run has one machine and one file system. The report covers all guests
whose figures are in build/guest/, including those of earlier runs. All figures but the
hit ratio are simulated; the machines are in tools/mcube/model/machines/.
"""

import functools
from types import SimpleNamespace

import lab  # first: it makes the other packages importable
from lab import Failure
from lib import ui
from lib.modelled import Model
from qemu import CPU
from srm import guest, hits, main, parts, where

TITLES = {
    "tl": "lengths of segments", "memory": "more files than the reserved colors hold",
    "random": "random reads of a big file",
    "greps": "one to three greps at once", "change": "files placed by grep, read by diff",
    "reuse": "a file that fits in the cache, read again and again",
    "database": "SQLite: a join beside the scan of a table",
}


def part(name):
    """A part of parts.py with the same functions as the parts that are modules."""
    return SimpleNamespace(
        TITLE=TITLES[name], guests=functools.partial(parts.guests, name),
        rows_of=functools.partial(parts.rows_of, name),
        show=functools.partial(parts.show, name, TITLES[name]),
        summarize=functools.partial(parts.summarize, name))


PARTS = {"main": main, **{n: part(n) for n in TITLES}, "hitratio": hits, "where": where}
MACHINES = ("small", "xeon5355", "sliced")
FILE_PROGRAMS = ("grep", "tar", "diff", "fio-mail", "rg-mmap", "rg-read", "fio-mmap")


def arguments():
    """Command line."""
    titles = "".join(f"    {n:10}{m.TITLE}\n"
                     for n, m in PARTS.items())
    parser = lab.parser(__doc__.replace("PARTS\n", titles + "\n"), min(2, ui.JOBS), again=True)
    parser.add_argument("--part", nargs="+", default=["main"], choices=[*PARTS, "all"],
                        help="what to run (default: main)")
    parser.add_argument("--machine", nargs="+", default=list(MACHINES))
    parser.add_argument("--fs", nargs="+", default=list(guest.IMAGE_MIB),
                        choices=list(guest.IMAGE_MIB))
    parser.add_argument("--victims", nargs="+", default=list(main.NUMERIC),
                        choices=main.NUMERIC + main.STRIDED, metavar="VICTIM",
                        help="(default: %(default)s); choose from: "
                             f"{', '.join(main.NUMERIC + main.STRIDED)}")
    parser.add_argument("--programs", nargs="+", default=list(FILE_PROGRAMS),
                        choices=FILE_PROGRAMS)
    parser.add_argument("--memory", nargs="+", default=list(hits.MEMORY),
                        choices=hits.MEMORY, help="hitratio: sizes of the guests")
    parser.add_argument("--repeat", type=int, default=2)
    parser.add_argument("--work", type=int, default=16,
                        help="least million accesses that a victim makes beside each "
                             "program (default: %(default)s)")
    parser.set_defaults(alone=[])
    args = parser.parse_args()
    if args.repeat < 1:
        raise Failure(f"--repeat {args.repeat} runs nothing", "give 1 or more")
    if not 1 <= args.work <= 4096:
        raise Failure(f"--work {args.work} is not within 1..4096", "the default is 16")
    if "all" in args.part:
        args.part = list(PARTS)
    return args


def report():
    """Print tables of all figures present and write the result file."""
    rows, summary, guests = lab.collect(PARTS, guest.found)
    png = main.draw([r for r in rows if r["part"] == "main"])
    path = lab.save("srm", {
        "kind": "simulated", "qemu": lab.qemu_version(), "guests": guests,
        "machines": {o["machine"]: Model(o["machine"]).description for o in guests.values()
                     if "machine" in o},
        "cpu": CPU, "trees": guest.PARTS,
        "big_mib": guest.BIG_MIB}, rows, {k: round(v, 5) for k, v in summary.items()})
    print(f"\nwritten: {path}" + (f"\n         {png}" if png else ""))
    return path


def run():
    """Command line."""
    args = arguments()
    return lab.serve("bench-srm", args, lambda: [j for p in args.part
                                                 for j in PARTS[p].guests(args)],
                     ["victims"], report)


if __name__ == "__main__":
    ui.main(run)
