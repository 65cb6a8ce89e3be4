#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""The demo: the patched kernel in QEMU, a scene for each policy.

A scene is a file; scenes.py says what is in it. Its guests run side by side, one with the
policy off and one with it on, on fresh memory. The commands in them are those of a user.

Text goes to the terminal, numbers go to build/results/demo.json, and pictures go to
build/results/demo-*.png.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "bench"))

# pylint: disable=wrong-import-position
import lab  # noqa: E402
from lab import Failure  # noqa: E402
from lib import ui  # noqa: E402
import dram  # noqa: E402
import loops  # noqa: E402
import polluter  # noqa: E402
from qemu import image  # noqa: E402
import randoms  # noqa: E402
import scenes  # noqa: E402
import stream  # noqa: E402

SCENES = [dram, stream, polluter, loops, randoms]


def run():
    """Command line."""
    parser = ui.parser(__doc__)
    parser.add_argument("scene", nargs="*", help="scenes to show (default: all): "
                        + ", ".join(p.NAME for p in SCENES))
    parser.add_argument("--kernel", type=Path, help="patched bzImage (default: build/test)")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    args = parser.parse_args()
    if unknown := set(args.scene) - {p.NAME for p in SCENES}:
        raise Failure(f"no scene '{unknown.pop()}'", "see --help")
    lab.begin(args)
    chosen = [p for p in SCENES if not args.scene or p.NAME in args.scene]
    steps = ui.Steps("demo", [p.TITLE for p in chosen])
    results = {}
    for part in chosen:
        steps(part.TITLE)
        results[part.NAME] = scenes.play(part, args.kernel or image())
    path = lab.save("demo", {n: r["parameters"] for n, r in results.items()},
                    [row | {"scene": n} for n, r in results.items() for row in r["rows"]],
                    {n: r["summary"] for n, r in results.items()})
    print("\npictures: " + "\n          ".join(
        p for r in results.values() for p in r["pictures"]))
    print(f"numbers:  {path}")
    lab.finish(path, steps, args)
    return 0


if __name__ == "__main__":
    ui.main(run)
