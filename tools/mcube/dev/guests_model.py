#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The tests that need a guest whose caches and DRAM are modelled.

One guest runs the kselftests of the mcube_sim PMU, another the real perf tool
on it. All results are counts of the model; none is a time. As a command:

    guests_model.py [selftests | perf]
"""

import argparse

import guests
import ktap
import ui
from qemu import Guest, image
from ui import ROOT

PERF = ROOT / "tools/testing/mcube/sim_perf.sh"


def selftests():
    """The kselftests that look at the PMU."""
    folder, names = guests.install_selftests()
    return guests.run_selftests(folder, [n for n in names if n in guests.MODELLED],
                                "kselftest-model", "modelled machine",
                                smp=2, mem="1G", model="small")


def perf():
    """Debian's perf counts and samples on the PMU."""
    guest = Guest(image(), smp=2, mem="1G", model="small", programs=["perf"])
    result = guest.run(PERF, "perf-model", timeout=300)
    return [(f"perf: {n}", s) for n, s in ktap.parse(result.output, "perf")] \
        + [guests.verdict("perf-model", result)]


def everything():
    """The stage of make test."""
    return selftests() + perf()


def run():
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="?", choices=["selftests", "perf"])
    args = parser.parse_args()
    return guests.report({"selftests": selftests, "perf": perf,
                          None: everything}[args.what]())


if __name__ == "__main__":
    ui.main(run)
