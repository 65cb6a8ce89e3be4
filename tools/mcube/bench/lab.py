# SPDX-License-Identifier: GPL-2.0
"""Shared code of the demo and the benchmarks.

It builds the small guest programs, has an address map for guests (QEMU's CPUID
describes no real cache, so the map is set explicitly), and writes the two forms
of a result: a table of at most 100 columns, and build/results/NAME.json with
"parameters", "rows" and "summary"; the parameters name the commit. Draw pictures before
save(), because the report that save() writes shows them.
"""

import functools
import hashlib
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "dev"))

# pylint: disable=wrong-import-position
import guests  # noqa: E402
from lib import ui  # noqa: E402
from lib.ui import BUILD, ROOT, Failure  # noqa: E402
from mcube_cmd import picture as drawing  # noqa: E402
import report  # noqa: E402

RESULTS = BUILD / "results"
MAP = "/sys/kernel/mm/mcube/map"
ALLOC = "/sys/kernel/mm/mcube/alloc"
guest_tool = guests.program
# Pages that a file takes in repetition n before the loads begin: n times so many.
SHIFT_PAGES = 997

# 32 colors (2048 sets of 64 bytes) and 16 banks. As in a DDR4 controller, three bank
# functions mix a bank bit and a row bit; the fourth is a plain column-group bit.
COLOR_MAP = "0x1000 0x2000 0x4000 0x8000 0x10000"
BANK_MAP = "0x24000 0x48000 0x90000 0x2000"

SET_MAP = f"""
echo '{COLOR_MAP}' > {MAP}/color_map
echo '{BANK_MAP}' > {MAP}/bank_map
"""


def commit():
    """The commit that is measured, with a mark if files were changed since."""
    got = subprocess.run(["git", "-C", ROOT, "describe", "--always", "--dirty", "--abbrev=12"],
                         text=True, capture_output=True, check=False)
    return got.stdout.strip() or "unknown"


def save(name, parameters, rows, summary):
    """Write build/results/NAME.json."""
    path = RESULTS / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"parameters": {"commit": commit()} | parameters, "rows": rows,
                                "summary": summary}, indent=1) + "\n", "utf-8")
    report.write(RESULTS)
    return path


@functools.cache
def print_of(path):
    """A fingerprint of a kernel image or a program, by which earlier figures are its own."""
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()[:16]


def boot_all(jobs, most):
    """Run at most so many guests at a time; the first failure cancels the rest."""
    with ThreadPoolExecutor(max(1, most)) as pool:
        try:
            for done in as_completed([pool.submit(j) for j in jobs]):
                done.result()
        except Failure:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def collect(parts, found):
    """Rows, summary and guests of all parts whose figures are present; prints their tables."""
    rows, summary, guests = [], {}, {}
    for name, each in parts.items():
        mine = found(name)
        got = [r for which, options in mine.items() for r in each.rows_of(which, options)]
        if got:
            guests |= mine
            each.show(got)
            summary |= each.summarize(got)
            rows += got
    if not rows:
        raise Failure("there are no figures", "run the benchmark without --again")
    return rows, summary, guests


def parser(doc, jobs=ui.JOBS, again=False, flavor="test"):
    """A command line with the options that benchmarks which boot guests share."""
    out = ui.parser(doc)
    out.add_argument("--kernel", help=f"patched bzImage (default: build/{flavor})")
    out.add_argument("--jobs", type=int, default=jobs, help="guests at a time")
    out.add_argument("--json", action="store_true", help="print the result as JSON")
    if again:
        out.add_argument("--again", action="store_true",
                         help="boot no guests; report the figures of earlier runs")
    return out


def begin(args):
    """With --json the tables go to standard error; standard output is for the result."""
    if args.json:
        sys.stdout = sys.stderr


def finish(path, steps, args):
    """Close the job; with --json print the result that save() wrote."""
    steps.done()
    if args.json:
        sys.__stdout__.write(path.read_text("utf-8"))


def serve(name, args, jobs, tools, report):
    """Run the guests of jobs(), which need these guest programs, and report.

    With --again no guest is run. report() returns the path of the result.
    """
    begin(args)
    ui.sh(ROOT / "tools/mcube/dev/deps.sh", "bench", quiet=False)
    todo = [] if args.again else jobs()
    steps = ui.Steps(name, [f"{len(todo)} guests, {args.jobs} at a time", "report"])
    steps(steps.names[0])
    if todo:
        for tool in tools:
            guest_tool(tool)
    boot_all(todo, args.jobs)
    steps("report")
    finish(report(), steps, args)
    return 0


def verdict(value, limit):
    """Whether a figure keeps its upper limit, as a word."""
    return "met" if value <= limit else "MISSED"


def verdicts(summary, targets):
    """Print each target with its figure."""
    for key, limit in targets.items():
        print(f"{key} {summary[key]:.4f}, target {limit}: {verdict(summary[key], limit)}")


def shift(repetition):
    """Shell command that makes the boots of repetitions differ: a file takes other pages.

    Boots can be alike to the last bit otherwise.
    """
    return f"dd if=/dev/zero of=/tmp/shift bs=4096 count={repetition * SHIFT_PAGES}"


def picture(figure, name, kind=".png"):
    """Write build/results/NAME.png, or NAME.svg for the documentation, and close the figure.

    The same figures give the same SVG: it has no date, and its names do not change.
    """
    path = RESULTS / f"{name}{kind}"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.with_suffix({".png": ".svg", ".svg": ".png"}[kind]).unlink(missing_ok=True)
    about = {"Software": "mcube"} if kind == ".png" else {"Date": None}
    plt = pyplot()
    with plt.rc_context({"svg.hashsalt": "mcube", "svg.fonttype": "none"}):
        figure.savefig(path, dpi=110, bbox_inches="tight", metadata=about)
    plt.close(figure)
    return path


def pyplot():
    """matplotlib with a backend that draws into files."""
    try:
        return drawing.pyplot()
    except Failure as e:
        raise Failure(str(e), "run 'make deps', and let Debian's /usr/bin/python3 run "
                      "this") from e


def qemu_version():
    """First line of QEMU's version."""
    got = subprocess.run(["qemu-system-x86_64", "--version"], text=True,
                         capture_output=True, check=False).stdout
    return got.splitlines()[0] if got else "unknown"
