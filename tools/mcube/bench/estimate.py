#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""What placement would save on the machine that runs this: not simulated.

It runs `mcube estimate` on this machine, without any guest, and keeps what it printed.

    make bench-estimate MACHINE="a cloud guest with ..."
    make bench-estimate ARGS="--repeat 5 --machine 'a cloud guest with ...'"
"""

import json
import os
import subprocess

import lab  # first: it makes the other packages importable
from lab import Failure
from lib import ui
from lib.ui import ROOT
from mcube_cmd.cmd_estimate import PLACED, cell

COLUMNS = (*PLACED, "random/even", "kernel/even")


def arguments():
    """Command line."""
    parser = ui.parser(__doc__)
    parser.add_argument("--machine", default=os.environ.get("MACHINE") or None,
                        help="words that name the machine (default: by what it says of itself)")
    parser.add_argument("--repeat", type=int, default=3)
    return parser.parse_args()


def rows_of(data):
    """A row for each working set, and one for each stream."""
    for level in data["levels"]:
        for row in level.get("sizes", ()):
            yield {"part": "sizes", "level": level["level"],
                   "working set": f"{row['bytes'] >> 10} KiB", "share": row["share"],
                   **{name: cell(row, name) for name in COLUMNS}}
        stream = level.get("stream", {})
        for name, text in (("alone", "none"), ("all", "all colors"), ("one", "one color")):
            if name in stream:
                yield {"part": "stream", "level": level["level"],
                       "working set": f"{stream['bytes'] >> 10} KiB", "stream": text,
                       "load": cell(stream, name), "to alone": cell(stream, f"{name}/alone")}


def main():
    """Run the command, print its text, write the result."""
    args = arguments()
    with ui.lock("estimate"):
        done = subprocess.run([ROOT / "tools/mcube/mcube", "estimate", "--json", "--repeat",
                               str(args.repeat)], stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise Failure("mcube estimate failed", "run it by itself: tools/mcube/mcube estimate")
    data = json.loads(done.stdout)
    machine = args.machine or data["cpu"] + (
        f", a guest under {data['hypervisor']}" if data["hypervisor"] else "")
    summary = {f"L{x['level']}_verdict": x["verdict"] for x in data["levels"]}
    path = lab.save("estimate", {
        "kind": "nanoseconds for a load, measured", "machine": machine,
        "repeats": data["repeats"], "banks": data["banks"]["why"], "sentence": data["sentence"],
        **{f"L{x['level']}": f"{x['bytes'] >> 10} KiB: {x['verdict']}, {x['why']}"
           for x in data["levels"]}}, list(rows_of(data)), summary)
    print(f"{machine}\n{data['sentence']}\nwritten: {path}")


if __name__ == "__main__":
    ui.main(main)
