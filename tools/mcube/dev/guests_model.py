#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The tests that need a guest whose caches and DRAM are modelled.

The model is compared with pagemap, and with a repeated run of itself. A guest runs the
kselftests of the mcube_sim PMU, a second guest runs the perf tool on that PMU, and a third
guest runs the mcube command. All results are counts of the model; none is a time. As a
command:

    guests_model.py [model | selftests | perf | command]
"""

import argparse
from concurrent.futures import ThreadPoolExecutor

import guests
import guests_kselftest
from lib import ktap, ui
from lib.ui import BUILD, ROOT, say
from qemu import Guest, image

PERF = ROOT / "tools/testing/mcube/sim_perf.sh"


def model_guest(script, name, icount=False):
    """Run a script with mcube-model on the small modelled machine."""
    out = BUILD / "guest-tools"
    ui.sh("make", "-s", "-C", ROOT / "tools/mcube/guest", f"O={out}", out / "mcube-model")
    guest = Guest(image(), smp=2, mem="1G", model="small", icount=icount)
    guest.root.file(out / "mcube-model", "/guest/mcube-model")
    return guest.run(script, name, timeout=600)


def model():
    """Compare the model with pagemap, and three equal runs of it with each other."""
    check = model_guest("/guest/mcube-model check -c 2\n", "model-check")
    say(check.output.strip().replace("\n", "\n      "))
    out = [("model: physical addresses are pagemap's", "ok" if check.ok else "not ok")]
    count = ("/guest/mcube-model run -m -c 2 -n 300000 -k 2048 -p halt -r 2 "
             "-s llc_misses:100 >/results/out; grep -v seconds /results/out\n")
    with ThreadPoolExecutor(2) as pool:
        runs = list(pool.map(lambda i: model_guest(count, f"model-count-{i}", icount=True),
                             range(3)))
    same = all(r.ok and r.output == runs[0].output for r in runs) and "llc_misses" in \
        runs[0].output
    if not same:
        for a, b in zip(runs[0].output.splitlines(), zip(*(
                r.output.splitlines() for r in runs[1:]))):
            if set(b) != {a}:
                say(f"{a}; other runs: {', '.join(b)}")
    return out + [("model: three runs count the same", "ok" if same else "not ok"),
                  guests.verdict("model-check", check)]


def perf():
    """Run Debian's perf on the PMU: counts and samples."""
    guest = Guest(image(), smp=2, mem="1G", model="small", programs=["perf"])
    result = guest.run(PERF, "perf-model", timeout=300)
    return [(f"perf: {n}", s) for n, s in ktap.parse(result.output, "perf")] \
        + [guests.verdict("perf-model", result)]


def command():
    """The mcube command on a machine that has a PMU."""
    return guests.command("command-model", smp=2, mem="1G", model="small")


PARTS = {"model": model, "selftests": guests_kselftest.modelled, "perf": perf, "command": command}


def everything():
    """The stage of make test."""
    return guests.together(*PARTS.values())


def run():
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="?", choices=list(PARTS))
    args = parser.parse_args()
    return guests.report(PARTS[args.what]() if args.what else everything())


if __name__ == "__main__":
    ui.main(run)
