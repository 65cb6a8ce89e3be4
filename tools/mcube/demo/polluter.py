# SPDX-License-Identifier: GPL-2.0
"""Scene of ROCS: a program whose streamed arrays push its own working set out of the cache.

ROCS samples the cache misses of the program, finds the pages that are used once, and tries
how many of them to move to a small part of the cache. The picture shows the program's time
for an iteration from its start on, by what ROCS does.
"""

import statistics

import lab  # first: it makes the other packages importable
import guests
from lib import ui
from lib.modelled import Model
from mcube_cmd.term import print_table
from qemu import LOGS
from rocs import guest as figures
from rocs import loads

NAME = "rocs"
TITLE = "ROCS: a program that pollutes the cache for itself"
MODEL = "small"
VARIANTS = ("rocs",)
LOAD, HELD, MOST = "art", 30, 4000
# Iterations before ROCS is switched on, and the first of them, which are left out.
BEFORE, FIRST = 40, 6
COLORS = {"off": "#4477aa", "profile": "#ddaa33", "search": "#bbbbbb", "hold": "#228833"}


def machine(_variant):
    """Options of a guest."""
    pages = LOGS / f"demo-{NAME}-{VARIANTS[0]}" / "pages"
    return {"smp": 2, "mem": "1G", "model": Model(MODEL, pages=pages), "icount": True,
            "programs": figures.PROGRAMS}


def prepare(root):
    """Put files into a guest."""
    guests.install_command(root)
    guests.module(root, "rocs")
    root.file(ui.ROOT / "tools/mcube/guest/rocs.sh", "/guest/rocs.sh")
    root.file(lab.guest_tool("rocsload"), "/guest/rocsload")


def script(_variant):
    """Shell text."""
    settings = "; ".join(f"echo {v} > $ROCS/{k}" for k, v in loads.BRIEF.items())
    load = f"--report {loads.iterations(LOAD, MODEL)} {LOAD}"
    return f""". /guest/rocs.sh
begin
insmod /lib/modules/mcube_rocs.ko
{settings}
begin_load {load}
wait_lines {BEFORE}
echo "    # mcube rocs on --alloc --pid \\$(pidof rocsload)"
mcube rocs on --alloc --pid $pid
follow /results/rocs {HELD} {MOST}
end_load /results/rocs.load
"""


def report(results):
    """Table, sentence, picture."""
    held = figures.read_held(results["rocs"].results / "rocs")
    load = figures.read_load(results["rocs"].results / "rocs.load")
    rows = [{"policy": "off"} | figures.total(load.lines[FIRST:BEFORE])._asdict()
            | {"lines": BEFORE - FIRST}]
    kept = held.lines_in("hold")
    rows.append({"policy": "rocs"} | figures.total(kept)._asdict() | {"lines": len(kept)})
    off, on = ({k: r[k] / r["lines"] for k in ("cycles", "llc_misses")} for r in rows)
    gain, cut = 1 - on["cycles"] / off["cycles"], 1 - on["llc_misses"] / off["llc_misses"]
    print(f"\nload '{LOAD}'; machine '{MODEL}', all figures simulated, means of an iteration\n")
    print_table(["policy", "10^3 cycles", "LLC misses"],
                [[r["policy"], f"{x['cycles'] / 1e3:,.0f}", f"{x['llc_misses']:,.0f}"]
                 for r, x in zip(rows, (off, on))], lead="  ")
    print(f"\n  ROCS moved {held.target['mapped']} of {held.target['stack']} pages that it had "
          f"samples of to a small part of the cache:\n  the program misses {cut:.0%} less "
          f"often, and needs {gain:.0%} less time.")
    return {"parameters": {"load": LOAD, "machine": MODEL, "settings": loads.BRIEF},
            "rows": rows, "summary": {"time_gain": gain, "misses_cut": cut},
            "pictures": [draw(load, held)]}


def draw(load, held):
    """The program's time for an iteration, by what ROCS does at that time."""
    plt = lab.pyplot()
    fig, ax = plt.subplots(figsize=(9, 3), layout="constrained")
    cycles = [x.cycles / 1e3 for x in load.lines]
    ax.plot(cycles, lw=0.6, color="#999999")
    at = 0
    for state, lines in [("off", load.lines[:held.before]), *held.states]:
        if lines:
            span = range(at, at + len(lines))
            ax.plot(span, cycles[at:at + len(lines)], ".", ms=3,
                    color=COLORS.get(state, "#cc6677"))
            ax.annotate(state, (at, 0.97 * statistics.fmean(cycles[at:at + len(lines)])),
                        fontsize="x-small", va="top")
        at += len(lines)
    ax.set_ylim(bottom=0)
    ax.set_xlabel("iteration")
    ax.set_ylabel("10^3 cycles (simulated)")
    return str(lab.picture(fig, f"demo-{NAME}"))
