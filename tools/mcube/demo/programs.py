# SPDX-License-Identifier: GPL-2.0
"""Demo part: numerical programs beside real programs that read files.

Two guests run side by side on modelled machines with 1 MiB last-level cache, one guest
with the files on ext4 and one with the files on XFS. Four numerical programs with a
working set of 768 KiB run beside programs that read two trees of kernel source, or
handle the small files of a mail server, with all policies off and with SRM-buffer. This
is a short form of `make bench-srm`, which has all programs on both file systems, more
machines, and repetitions.
"""

from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import lab  # first: it makes the other packages importable
from lib import ui
from lib.modelled import Model
from srm import main

NAME = "programs"
TITLE = "numerical programs beside grep, tar, diff and a mail server's load"
MACHINE = "small"
# Million accesses of a victim; a quarter of the benchmark's default.
WORK = 4
VICTIMS = ["sort", "fft", "spmm", "lu"]
PROGRAMS = {"ext4": ["grep", "diff"], "xfs": ["tar", "fio-mail"]}


def play(kernel):
    """Boot the guests and show their figures."""
    ui.sh(ui.ROOT / "tools/mcube/dev/deps.sh", "bench", quiet=False)
    lab.guest_tool("victims")
    args = {fs: SimpleNamespace(victims=VICTIMS, programs=p, repeat=1, work=WORK, alone=[], fs=fs,
                                machine=MACHINE, kernel=kernel) for fs, p in PROGRAMS.items()}
    with ThreadPoolExecutor(min(len(args), ui.JOBS)) as pool:
        names = list(pool.map(
            lambda fs: main.run_guest(args[fs], Model(MACHINE), fs, "demo"), args))
    rows = [r for fs, name in zip(args, names) for r in main.rows_of(name, vars(args[fs]))]
    main.show(rows)
    summary = main.summarize(rows)
    if "extra_miss_cut_mean" in summary:
        print(f"\n  SRM-buffer cuts the misses that the programs add by "
              f"{summary['extra_miss_cut_mean']:.0%} on average, and the victims' cycles "
              f"beside the programs by {summary['time_gain_mean']:.0%}; paper: "
              "{} to {} % of the misses.".format(*main.PAPER_CUTS))
    return {"parameters": {"machine": Model(MACHINE).description, "victims": VICTIMS,
                           "programs": PROGRAMS, "repeat": 1, "work": WORK},
            "rows": rows, "summary": summary,
            "pictures": [str(main.draw(rows, f"demo-{NAME}"))]}
