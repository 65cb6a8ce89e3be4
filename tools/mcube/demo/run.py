#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""The demo: the patched kernel in QEMU, real programs, policies on and off.

Each part is a file. A part boots a machine of its own, so that it has fresh memory
whatever ran before. It switches policies through sysfs, runs programs of this
system, and shows side by side what changed. A part is a module with

    NAME                   its name on the command line and in files
    TITLE                  one line
    machine()              options of qemu.Guest
    prepare(root)          put files into the guest
    script()               shell text for the guest
    report(result)         print tables; return {"parameters", "rows",
                           "summary", "pictures"}

A part that needs more than one machine has play(kernel) in place of the last four
functions; it returns the same as report().

Text goes to the terminal, numbers go to build/results/demo.json, and pictures go to
build/results/demo-*.png.
"""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "bench"))

# pylint: disable=wrong-import-position
import lab  # noqa: E402
from lab import Failure  # noqa: E402
from lib import ui  # noqa: E402
import placement  # noqa: E402
import pollution  # noqa: E402
import programs  # noqa: E402
from qemu import Guest, image  # noqa: E402

PARTS = [placement, pollution, programs]


def play(part, kernel):
    """Run a part; returns its result."""
    if hasattr(part, "play"):
        return part.play(kernel)
    guest = Guest(kernel, echo=True, **part.machine())
    part.prepare(guest.root)
    result = guest.run(part.script(), f"demo-{part.NAME}", 600)
    if not result.ok:
        raise Failure(f"{part.NAME}: {result.why()}", f"console: {result.console}")
    if result.boot_seconds:
        ui.say(f"booted in {result.boot_seconds:.1f} s, "
               f"{result.seconds:.0f} s in the guest in all")
    return part.report(result)


def run():
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", nargs="*", help="parts to show (default: all): "
                        + ", ".join(p.NAME for p in PARTS))
    parser.add_argument("--kernel", type=Path, help="patched bzImage (default: build/test)")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    args = parser.parse_args()
    if unknown := set(args.part) - {p.NAME for p in PARTS}:
        raise Failure(f"no part '{unknown.pop()}'", "see --help")
    lab.begin(args)
    parts = [p for p in PARTS if not args.part or p.NAME in args.part]
    steps = ui.Steps("demo", [p.TITLE for p in parts])
    results = {}
    for part in parts:
        steps(part.TITLE)
        results[part.NAME] = play(part, args.kernel or image())
    path = lab.save("demo", {n: r["parameters"] for n, r in results.items()},
                    [row | {"part": n} for n, r in results.items() for row in r["rows"]],
                    {n: r["summary"] for n, r in results.items()})
    print("\npictures: " + "\n          ".join(
        p for r in results.values() for p in r["pictures"]))
    print(f"numbers:  {path}")
    lab.finish(path, steps, args)
    return 0


if __name__ == "__main__":
    ui.main(run)
