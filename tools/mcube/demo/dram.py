# SPDX-License-Identifier: GPL-2.0
"""Scene of the M3 allocator: two threads that stream through arrays meet in DRAM banks.

The program initializes one large array after the other; then two threads work on their
halves of three arrays. With the page allocator's frames the threads are powers of two
apart, so they use the same bank again and again, each with a row of its own.
"""

import lab  # first: it makes the other packages importable
import guests
from lib.modelled import Model
from mcube_cmd.term import print_table
from scenes import OFF, ON, bars, show

NAME = "m3"
TITLE = "M3: two threads stream through arrays, and meet in DRAM banks"
MODEL = "sliced"
VARIANTS = ("off", "m3")
LOAD = "/guest/memload -t 2 -m 12 -l triad"
EVENTS = {"cycles": "cycles", "dram_accesses": "accesses to DRAM",
          "row_conflicts": "row conflicts"}


def machine(_variant):
    """Options of a guest."""
    return {"smp": 2, "mem": "1G", "icount": True,
            "model": Model(MODEL, {"cpu.misses": 10})}


def prepare(root):
    """Put files into a guest."""
    guests.install_command(root)
    root.file(lab.guest_tool("memload"), "/guest/memload")


def script(variant):
    """Shell text."""
    lines = ["echo never > /sys/kernel/mm/transparent_hugepage/enabled"]
    if variant != "off":
        lines.append(show(f"mcube apply {variant}"))
    return "\n".join([*lines, show(LOAD) + " | tee /results/figures"]) + "\n"


def report(results):
    """Table, sentence, picture."""
    rows = []
    for variant, result in results.items():
        found = dict(x.split() for x in
                     (result.results / "figures").read_text("utf-8").splitlines())
        rows.append({"policy": variant} | {e: int(found[e]) for e in EVENTS})
    off, on = rows
    gain = 1 - on["cycles"] / off["cycles"]
    print(f"\n{LOAD.split('/')[-1]}; machine '{MODEL}', all figures simulated\n")
    print_table(["policy", *EVENTS.values()],
                [[r["policy"], *(f"{r[e]:,}" for e in EVENTS)] for r in rows], lead="  ")
    cut = 1 - on["row_conflicts"] / off["row_conflicts"]
    print(f"\n  With M3 the threads close each other's rows {cut:.0%} less often, and need "
          f"{gain:.0%} less time.")
    return {"parameters": {"load": LOAD, "machine": MODEL}, "rows": rows,
            "summary": {"time_gain": gain, "conflicts_cut": cut},
            "pictures": [bars("m3", {
                f"{EVENTS[e]} (simulated)": {"off": (off[e], OFF), "m3": (on[e], ON)}
                for e in ("cycles", "row_conflicts")})]}
