#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The tests that need a guest whose caches and DRAM are modelled.

The model is compared with pagemap, with a repeated run of itself, and with what is known of
access patterns. A guest runs the kselftests of the mcube_sim PMU, a second guest runs the
perf tool on that PMU, and a third guest runs the mcube command. All results are counts of the
model; none is a time. As a command:

    guests_model.py [model | patterns | selftests | perf | command]
"""

import argparse
from concurrent.futures import ThreadPoolExecutor

import guests
import guests_kselftest
from lib import ui
from lib.modelled import Model
from lib.ui import ROOT, say
from qemu import Guest, image

PERF = ROOT / "tools/testing/mcube/sim_perf.sh"


def model_guest(script, name, icount=False, keys=None):
    """Run a script with mcube-model on the small modelled machine, with changed keys."""
    guest = Guest(image(), smp=2, mem="1G", model=Model("small", keys), icount=icount)
    guest.root.file(guests.program("mcube-model"), "/guest/mcube-model")
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
                ui.reason(f"{a}; other runs: {', '.join(b)}")
    return out + [("model: three runs count the same", "ok" if same else "not ok"),
                  guests.verdict("model-check", check)]


def patterns():
    """What the model tells from the instructions and accesses of known patterns.

    With overlapping misses a pointer chase gains nothing and a stream does. With coherence,
    words of one line cost misses and words in lines of their own do not.
    """
    script = "".join(
        f"echo pattern {name}\n"
        f"/guest/mcube-model run -m -c {cpus} -p {name} -k 16384 -n {accesses}\n"
        for name, cpus, accesses in (("chase", 1, 200000), ("line", 1, 200000),
                                     ("share", 2, 400000), ("apart", 2, 400000)))
    result = model_guest(script, "model-patterns",
                         keys={"cpu.misses": "8", "coherence.latency": "60"})
    count, name = {}, None
    for word in map(str.split, result.output.splitlines()):
        if word[:1] == ["pattern"]:
            name = word[1]
        elif word[:1] == ["count"]:
            count[name, word[3]] = count.get((name, word[3]), 0) + int(word[4])

    def each(pattern, event, of):
        return count.get((pattern, event), 0) / (count.get((pattern, of)) or 1)

    chase, line = (each(p, "cycles", "llc_misses") for p in ("chase", "line"))
    share, apart = (each(p, "coherence_misses", "accesses") for p in ("share", "apart"))
    say(f"cycles for a miss: chase {chase:.0f}, line {line:.0f}; coherence misses for an "
        f"access: share {share:.2f}, apart {apart:.4f}")
    return [("model: a pointer chase gains nothing from overlap",
             "ok" if result.ok and chase > 120 else "not ok"),
            ("model: a stream gains from overlap",
             "ok" if result.ok and 0 < line < chase / 4 else "not ok"),
            ("model: false sharing costs coherence misses",
             "ok" if result.ok and share > 0.1 else "not ok"),
            ("model: lines of their own cost none",
             "ok" if result.ok and apart < 0.01 else "not ok"),
            guests.verdict("model-patterns", result)]


def perf():
    """Run Debian's perf on the PMU: counts and samples."""
    guest = Guest(image(), smp=2, mem="1G", model="small", programs=["perf"])
    result = guest.run(PERF, "perf-model", timeout=300)
    return guests.outcome("perf-model", result, "perf: ")


def command():
    """The mcube command on a machine that has a PMU."""
    return guests.command("command-model", smp=2, mem="1G", model="small")


PARTS = {"model": model, "patterns": patterns, "selftests": guests_kselftest.modelled,
         "perf": perf, "command": command}


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
