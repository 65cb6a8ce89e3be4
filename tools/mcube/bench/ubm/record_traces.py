#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Record the traces of real programs that lie in tools/testing/mcube/traces/, again.

    tools/mcube/bench/ubm/record_traces.py                all traces
    tools/mcube/bench/ubm/record_traces.py rg cscope      these

Each program runs in a guest under `mcube record`, on a kernel without a limit of memory, so
that the references are those of the program, whatever the policy. Faults map no pages
around. The data are made by data.py from the kernel source.
"""

import argparse
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

# pylint: disable=wrong-import-position
import lab  # noqa: E402,F401  # first: it makes the other packages importable
from lib import ui  # noqa: E402
from lib.source import pinned  # noqa: E402
from mcube_cmd import trace  # noqa: E402
from ubm import data, guest  # noqa: E402

TRACES = ui.ROOT / "tools/testing/mcube/traces"
# Program: (Debian package, what it does).
WHAT = {
    "cscope": ("cscope", "queries for symbols; each reads the whole database"),
    "cpp": ("gcc-12", "the preprocessor on 12 files of lib/, which share headers, in rounds"),
    "join": ("sqlite3", "a table is scanned, and its rows are looked up by an index, in rounds"),
    "index": ("id-utils", "queries of an index of words, then grep over the files found"),
    "rg": ("ripgrep", "searches of a tree for one word after the other"),
}
README = """Traces of page-cache references of real programs
================================================
Recorded by this project with `mcube record --exact-faults --on /data` in a QEMU guest, on
ext4 without a limit of memory; tools/mcube/bench/ubm/record_traces.py makes them again and
writes this file. Documentation/admin-guide/mm/mcube/recording.rst defines the form.

Data: {data}; cscope's database and the index
of mkid over them; files of lib/ with their headers; a made-up SQLite database. The
commands are the functions of tools/mcube/guest/ubm.sh; the number is that of rounds.

"""


def version(package):
    """Version of a Debian package."""
    got = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", package], text=True,
                         capture_output=True, check=False)
    return got.stdout.strip() or "unknown"


def describe(folder):
    """Write the README of a folder of traces."""
    rows = []
    for name, (package, what) in WHAT.items():
        path = folder / f"{name}.trace.gz"
        if path.is_file():
            got = trace.read(path)
            rows.append((name, f"{what}\n    {got.header['program']}; {package} "
                         f"{version(package)}; kernel {got.header['kernel']}\n    "
                         f"{len(got.files)} files, {sum(got.reach())} pages, {got.pages()} "
                         f"references in {len(got.id)} ranges, {got.header['lost']} events lost"))
    text = README.format(data="mm/ and block/ of Linux " + pinned()["VERSION"].partition("-")[0])
    (folder / "README").write_text(
        text + "".join(f"{name}.trace.gz\n    {about}\n" for name, about in rows), "utf-8")


def arguments():
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", nargs="*", metavar="PROGRAM",
                        help=f"of {', '.join(guest.ROUNDS)} (default: all)")
    parser.add_argument("--kernel", help="bzImage (default: build/test)")
    parser.add_argument("--output", type=Path, default=TRACES, help="folder (default: %(default)s)")
    args = parser.parse_args()
    if unknown := set(args.program) - set(guest.ROUNDS):
        raise ui.Failure(f"there is no program {', '.join(unknown)}",
                         f"choose from {', '.join(guest.ROUNDS)}")
    return args


def run():
    """Record."""
    args = arguments()
    chosen = args.program or list(guest.ROUNDS)
    steps = ui.Steps("record traces", ["disk", "record"])
    ui.sh(ui.ROOT / "tools/mcube/dev/deps.sh", "bench", quiet=False)
    steps("disk")
    vm = guest.make(f"{data.disk()},snapshot=on", args.kernel, smp=2, mem="1G")
    guest.with_command(vm)
    steps("record")
    lines = ["begin"]
    for name in chosen:
        lines += ["echo 3 > /proc/sys/vm/drop_caches",
                  f"mcube record -o /results/{name}.trace.gz --on /data --paths --exact-faults "
                  f"-- /guest/ubm.sh {name} {guest.ROUNDS[name][1]}"]
    result = guest.run(vm, "record", lines, 1500)
    print(result.output)
    args.output.mkdir(parents=True, exist_ok=True)
    for name in chosen:
        shutil.copyfile(result.results / f"{name}.trace.gz", args.output / f"{name}.trace.gz")
    describe(args.output)
    steps.done(f"written: {args.output}")
    return 0


if __name__ == "__main__":
    ui.main(run)
