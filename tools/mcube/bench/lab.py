# SPDX-License-Identifier: GPL-2.0
"""What the demo and the benchmarks share.

Finding the built kernels, building the small guest programs, an address map
for guests (QEMU's CPUID describes no real cache, so one is set explicitly),
and the two forms of a result: a table of at most 100 columns and
build/results/NAME.json with "parameters", "rows" and "summary". Draw pictures
before save(): the report that it writes shows them.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "dev"))

# pylint: disable=wrong-import-position
import report  # noqa: E402
import ui  # noqa: E402
from ui import BUILD, ROOT, Failure  # noqa: E402

RESULTS = BUILD / "results"
WIDTH = 100
MAP = "/sys/kernel/mm/mcube/map"
ALLOC = "/sys/kernel/mm/mcube/alloc"

# 32 colors (2048 sets of 64 bytes) and 16 banks as a DDR4 controller mixes
# them: a bank bit and a row bit each, and one plain column-group bit.
COLOR_MAP = "0x1000 0x2000 0x4000 0x8000 0x10000"
BANK_MAP = "0x24000 0x48000 0x90000 0x2000"

SET_MAP = f"""
echo '{COLOR_MAP}' > {MAP}/color_map
echo '{BANK_MAP}' > {MAP}/bank_map
"""


def guest_tool(name):
    """Build one of tools/mcube/guest/ and return its path."""
    out = BUILD / "guest-tools"
    ui.sh("make", "-s", "-C", ROOT / "tools/mcube/guest", f"O={out}", out / name)
    return out / name


def masks(text):
    """XOR masks of a map file's text."""
    words = [] if text.strip() in ("", "none") else text.split()
    if any(not re.fullmatch(r"0x[0-9a-fA-F]+", w) for w in words):
        raise Failure(f"'{text.strip()}' is not a list of XOR masks")
    return [int(w, 16) for w in words]


def value(mask_list, pfn):
    """Color or bank of a frame: bit i is the parity of address & mask i."""
    return sum(((pfn << 12 & m).bit_count() & 1) << i for i, m in enumerate(mask_list))


def table(head, rows, left=1):
    """Lines of an aligned table; the first columns are text, the rest numbers."""
    cells = [[str(c) for c in r] for r in [head, *rows]]
    width = [max(len(r[i]) for r in cells) for i in range(len(head))]
    lines = ["  ".join(c.ljust(w) if i < left else c.rjust(w)
                       for i, (c, w) in enumerate(zip(r, width))).rstrip()
             for r in cells]
    return [lines[0], "-" * max(map(len, lines)), *lines[1:]]


def save(name, parameters, rows, summary):
    """Write build/results/NAME.json."""
    path = RESULTS / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"parameters": parameters, "rows": rows,
                                "summary": summary}, indent=1) + "\n", "utf-8")
    report.write(RESULTS)
    return path


def picture(figure, name):
    """Write build/results/NAME.png."""
    path = RESULTS / f"{name}.png"
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110, bbox_inches="tight", metadata={"Software": "mcube"})
    return path


def pyplot():
    """matplotlib, drawing into files."""
    try:
        import matplotlib  # pylint: disable=import-outside-toplevel
        matplotlib.use("Agg")
        from matplotlib import pyplot as plt  # pylint: disable=import-outside-toplevel
    except ImportError as e:
        raise Failure(f"no matplotlib for {sys.executable}",
                      "run 'make deps', and let Debian's /usr/bin/python3 run this") from e
    plt.rcParams.update({"font.size": 9, "axes.spines.top": False,
                         "axes.spines.right": False})
    return plt


def qemu_version():
    """First line of QEMU's version."""
    got = subprocess.run(["qemu-system-x86_64", "--version"], text=True,
                         capture_output=True, check=False).stdout
    return got.splitlines()[0] if got else "unknown"
