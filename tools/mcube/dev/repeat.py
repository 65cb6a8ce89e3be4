#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The stages of `make test` that boot guests, again and again.

A race, or a bound that is too tight, fails in one run of many. The script continues after a
failure and lists all failures at the end. build/repeat/NN/ has the console and the output of
every guest of run NN. build/results/repeat.json has

    parameters  times, stages, minutes
    rows        per run and stage: seconds, passed, failed, skipped, failures
    summary     runs, and how many of them failed
"""

import json
import shutil
import time

import guests
import guests_kselftest
import guests_model
import kbuild
from lib import ui
from lib.ui import BUILD, Failure, Steps, say
import qemu

# Name: (flavor of the kernel, function that takes the minutes of a stress).
STAGES = {
    "kunit": ("test", lambda minutes: guests.kunit()),
    "kselftest": ("test", lambda minutes: guests_kselftest.plain()),
    "model": ("test", lambda minutes: guests_model.everything()),
    "stress": ("debug", lambda minutes: guests.stress_short(
        minutes, guests_kselftest.debugged, lambda: guests_kselftest.fuzzed(minutes))),
}


def run_stage(stage, number, minutes, folder):
    """Run a stage once and keep its logs; returns the row of the results."""
    qemu.LOGS = folder / stage
    start = time.monotonic()
    try:
        results = STAGES[stage][1](minutes)
    except Failure as e:
        say(f"error: {e}")
        results = [(f"{stage}: {str(e).splitlines()[0]}", "not ok")]
    seconds = time.monotonic() - start
    failures = [name for name, state in results if state == "not ok"]
    for name in failures:
        say(f"not ok {name}")
    row = {"run": number, "stage": stage, "seconds": round(seconds, 1),
           **{word: sum(s == state for _, s in results) for word, state in
              (("passed", "ok"), ("failed", "not ok"), ("skipped", "skip"))},
           "failures": failures}
    say(f"{stage}: {row['passed']} of {len(results)} ok in {ui.clock(seconds)}")
    return row


def summary(rows):
    """Number of runs, and of runs in which a case failed."""
    return {"runs": len({r["run"] for r in rows}),
            "failed": len({r["run"] for r in rows if r["failed"]})}


def save(parameters, rows):
    """Write the results so far."""
    ui.write_if_changed(BUILD / "results/repeat.json", json.dumps(
        {"parameters": parameters, "rows": rows, "summary": summary(rows)},
        indent=1).encode())


def run():
    """Command line."""
    parser = ui.parser(__doc__)
    parser.add_argument("--times", type=int, default=10, help="runs in a row")
    parser.add_argument("--stages", default=",".join(STAGES), help="default: %(default)s")
    parser.add_argument("--minutes", type=float, default=0.5, help="of each stress")
    args = parser.parse_args()
    stages = args.stages.split(",")
    for stage in stages:
        if stage not in STAGES:
            raise Failure(f"there is no stage '{stage}'", f"choose from: {','.join(STAGES)}")
    if args.times < 1:
        raise Failure(f"{args.times} runs are none", "--times is at least 1")
    for flavor in sorted({STAGES[s][0] for s in stages}):
        kbuild.build(flavor)
    logs = BUILD / "repeat"
    shutil.rmtree(logs, ignore_errors=True)
    steps = Steps("repeat", [f"run {n}: {s}" for n in range(1, args.times + 1) for s in stages])
    rows = []
    for number in range(1, args.times + 1):
        folder = logs / f"{number:02}"
        folder.mkdir(parents=True)
        for stage in stages:
            steps(f"run {number}: {stage}")
            rows.append(run_stage(stage, number, args.minutes, folder))
            save({"times": args.times, "stages": stages, "minutes": args.minutes}, rows)
    bad = [r for r in rows if r["failed"]]
    for row in bad:
        for name in row["failures"]:
            say(f"run {row['run']}, {row['stage']}: {name}")
    total = summary(rows)
    steps.done(f"{total['runs']} runs, {total['failed']} failed; logs: {logs}")
    return 1 if bad else 0


if __name__ == "__main__":
    ui.main(run)
