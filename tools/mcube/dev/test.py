#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""`make test`, its quick tier `make check`, and `make test-debug`.

The script runs the stages in order, from the quickest to the slowest, and continues
after a failure, so that one run shows all failures. A stage whose input is missing
fails; the script never omits a stage silently. The last line has the counts, and
build/results/test.json has every case by name.
"""

import json
import os
import re
import subprocess
import time

import guests
import guests_kselftest
import guests_model
import guests_power
import kbuild
from lib import ktap, ui
from lib.source import BASE, TREE
from lib.ui import BUILD, ROOT, Failure, Steps, say
import lint
import offcheck

UNITS = ROOT / "tools/testing/mcube"
MODEL = ROOT / "tools/mcube/model/tests"
# Lines at the end of make test that say why tests failed.
REASONS = 40


def units(folder, out):
    """Units in user space, under ASan and UBSan."""
    if not (folder / "Makefile").is_file():
        raise Failure(f"{folder}/Makefile is missing")
    env = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
    got = subprocess.run(["make", "-C", str(folder), "check", f"O={BUILD / out}"],
                         text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                         check=False, env=env)
    # Each binary prints a TAP document; their plans must not be mixed.
    results = []
    for part in re.split(r"^(?:K?TAP version .*)$", got.stdout, flags=re.M):
        if re.search(r"^\s*(not )?ok \d", part, re.M):
            results += ktap.parse(part, out)
    if got.returncode and not any(s == "not ok" for _, s in results):
        tail = "\n      ".join(got.stdout.splitlines()[-15:])
        ui.reason(f"make check returned {got.returncode}:\n      {tail}")
        results.append((f"{out}: make check returned an error", "not ok"))
    return results or [(f"{out}: no result", "not ok")]


def python_units(folder, what):
    """Python's unittests in a folder."""
    got = subprocess.run(["/usr/bin/python3", str(ROOT / "tools/mcube/tests/run.py"), "-C",
                          str(ROOT / folder)], text=True, stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, check=False)
    results = ktap.parse(got.stdout, what)
    for name, state in results:
        print(f"    {state:6} {name}")
    for line in [x for x in got.stdout.splitlines() if x.startswith("# ")]:
        ui.reason(line)
    if got.returncode and not any(s == "not ok" for _, s in results):
        results.append((f"{what}: run.py returned {got.returncode}", "not ok"))
    return results


def lints():
    """All lint checks as cases."""
    return [(f"lint: {name}", "not ok" if found else "ok")
            for name, found in lint.run_checks()]


def command(name, *argv):
    """A script as a case: its exit status decides."""
    got = subprocess.run([str(ROOT / "tools/mcube/dev" / argv[0]), *argv[1:]], check=False)
    return [(name, "ok" if got.returncode == 0 else "not ok")]


def off_objects():
    """A case for each object that has to be unchanged."""
    names = offcheck.build_objects(lambda step: say(step))
    out = []
    for name in names:
        a, b = ((BUILD / f / name).read_bytes() for f in ("base", "off"))
        wrong = offcheck.compare(a, b)
        for line in wrong:
            ui.reason(f"{name}: {line}")
        out.append((f"off is identical: {name}", "not ok" if wrong else "ok"))
    offcheck.self_test((BUILD / "off" / names[0]).read_bytes())
    return out + [("off is identical: self-test catches a changed constant", "ok")]


def build(flavor):
    """The build of a kernel as a case."""
    kbuild.build(flavor)
    return [(f"the {flavor} kernel builds", "ok")]


def debug_stages(minutes):
    """The stages of make test-debug."""
    return [
        ("build the debug kernel", lambda: build("debug")),
        ("debug kernel: short stress in 4G and 512M, bad input, random writes",
         lambda: guests.stress_short(minutes, guests_kselftest.debugged,
                                     lambda: guests_kselftest.fuzzed(
                                         minutes, env=guests_kselftest.FUZZ_ENV))),
    ]


def stages(quick):
    """[(name, function)] in the order of running."""
    out = [("user-space units", lambda: units(UNITS, "units")),
           ("model", lambda: units(MODEL, "model-tests")),
           ("mcube command", lambda: python_units("tools/mcube/tests", "mcube command")),
           ("driver scripts", lambda: python_units("tools/mcube/dev/tests", "driver scripts")),
           ("benchmarks", lambda: python_units("tools/mcube/bench/tests", "benchmarks")),
           ("lint", lints)]
    if quick:
        return out
    return out + [
        ("overlay == tree", lambda: command("overlay == tree", "mtree.py", "check")),
        ("off is identical", off_objects),
        ("build the test kernel", lambda: build("test")),
        ("boot", guests.boot),
        ("KUnit", guests.kunit),
        ("kselftests, SMP and two NUMA nodes, mcube command", guests_kselftest.with_command),
        ("power cuts", guests_power.power),
        ("modelled machine", guests_model.everything),
    ]


def run():
    """Command line."""
    parser = ui.parser(__doc__)
    parser.add_argument("--quick", action="store_true",
                        help="only stages that need no kernel: units, command, lint")
    parser.add_argument("--debug", action="store_true", help="only those of the debug kernel")
    parser.add_argument("--minutes", type=float, default=0.5, help="of each short stress")
    args = parser.parse_args()
    if not TREE.is_dir() or not BASE.is_dir():
        raise Failure("there is no build/linux", "run 'make tree' first")
    todo = debug_stages(args.minutes) if args.debug else stages(args.quick)
    tier = "test-debug" if args.debug else "check" if args.quick else "test"
    steps = Steps(tier, [name for name, _ in todo])
    cases, times = [], {}
    for name, function in todo:
        steps(name)
        start = time.monotonic()
        try:
            results = function()
        except Failure as e:
            ui.reason(f"error: {e}")
            if e.advice:
                ui.reason(f"what to do: {e.advice}")
            results = [(f"{name}: {str(e).splitlines()[0]}", "not ok")]
        times[name] = round(time.monotonic() - start, 1)
        passed = sum(s == "ok" for _, s in results)
        say(f"{name}: {passed} of {len(results)} ok in {ui.clock(times[name])}")
        cases += [(name, case, state) for case, state in results]
    print("\n==> what failed or was skipped" if any(s != "ok" for _, _, s in cases)
          else "\n==> all passed")
    for name, case, state in cases:
        if state != "ok":
            print(f"    {state:6} [{name}] {case}")
    if ui.REASONS:
        print("\n==> what was said of failures, in the order of the run")
        for line in ui.REASONS[-REASONS:]:
            say(line)
    count = {s: sum(x == s for _, _, x in cases) for s in ("ok", "not ok", "skip")}
    ui.write_if_changed(BUILD / "results" / f"{tier}.json",
                        json.dumps({"seconds": times, "cases": [
                            {"stage": a, "name": b, "state": c} for a, b, c in cases]},
                            indent=1).encode())
    print(f"{count['ok']} passed, {count['not ok']} failed, {count['skip']} skipped",
          flush=True)
    return 1 if count["not ok"] else 0


if __name__ == "__main__":
    ui.main(run)
