# SPDX-License-Identifier: GPL-2.0
"""bench-rocs, part phases: a load whose phases have different polluters.

In each phase of the load "phases" one array is looked up at random and the other one is
streamed; in the next phase the two arrays have changed places. So the pages that were right to
move in one phase are the wrong ones in the next. The load runs through several phases, with all
policies off and under ROCS, whose profiles and searches are part of its time.

work       what ROCS does in a phase until it holds: share of the phase
hold gain  share of the cycles that it saves while it holds
gain       share of the cycles of the whole phase that it saves
"""

import functools

from mcube_cmd.term import print_table
from . import guest, loads

TITLE = "a load that changes its phase"
PHASES = 4
# Lines of the report in a phase under ROCS, and with all policies off, where each line costs
# the same; the first phase with the policies off has to fill the cache.
LONG, SHORT = 1200, 12
# Iterations of a line.
EACH = 50


def script(machine):
    """Lines of the script of a guest."""
    options = f"--kib {guest.kib(machine)} --report {EACH}"
    words = " ".join(f"{k}={v}" for k, v in loads.BRIEF.items())
    lines = PHASES * LONG
    return ["policy off",
            f"fixed /results/off.load --rounds {PHASES * SHORT * EACH} "
            f"--phase {SHORT * EACH} {options} phases",
            f"policy rocs search=coarse {words}",
            f"held /results/rocs {lines} {lines} --phase {LONG * EACH} {options} phases",
            "policy off"]


def run_guest(args, machine):
    """Run a guest."""
    guest.boot(f"phases-{machine}", script(machine),
               {"machine": machine, "load": "phases", "kernel": args.kernel,
                "settings": loads.BRIEF}, timeout=args.timeout)


def guests(args):
    """Jobs: one for each machine."""
    return [functools.partial(run_guest, args, m) for m in args.machine]


def states_by_line(held):
    """The number of the first line under ROCS, and [(state, Counts)] from that line on."""
    first = next(i for i, (s, _) in enumerate(held.states) if s != "start")
    skipped = held.before + sum(len(lines) for _, lines in held.states[:first])
    return skipped, [(s, x) for s, lines in held.states[first:] for x in lines]


def row(machine, n, lines, off, stats):
    """The row of a phase; its first state may be what the phase before left."""
    cycles = sum(x.cycles for _, x in lines) / len(lines)
    # The last time of holding of the phase: an earlier one is that of the phase before.
    last = max((i for i, (s, _) in enumerate(lines) if s != "hold"), default=-1) + 1
    kept = [x.cycles for _, x in lines[last:]]
    return {"part": "phases", "machine": machine, "phase": n, "lines": len(lines),
            "found": bool(kept), "work": last / len(lines),
            "gain": 1 - cycles / off.cycles,
            "hold_gain": 1 - sum(kept) / len(kept) / off.cycles if kept else None,
            "changes": stats["phases"]}


def rows_of(name, options):
    """A row for each phase that was seen whole, or from when ROCS came."""
    folder = guest.folder_of(name)
    off = guest.read_load(folder / "off.load").lines[SHORT:]
    t = guest.total(off)
    off = guest.Counts(*(x / len(off) for x in t))
    held = guest.read_held(folder / "rocs")
    skipped, lines = states_by_line(held)
    rows = []
    for n in range(PHASES):
        mine = lines[max(0, n * LONG - skipped):(n + 1) * LONG - skipped]
        if len(mine) > LONG // 2:
            rows.append(row(options["machine"], n, mine, off, held.stats))
    return rows


def show(rows):
    """Print the table."""
    print(f"\n{TITLE}: simulated; {rows[0]['changes']} changes of phase were found\n")
    print_table(["machine", "phase", "work", "hold gain", "gain"],
                [[r["machine"], str(r["phase"]), f"{r['work']:.0%}",
                  "-" if r["hold_gain"] is None else f"{r['hold_gain']:.1%}",
                  f"{r['gain']:.1%}"] for r in rows], lead="  ")


def summarize(rows):
    """Keys of the summary."""
    held = [r["hold_gain"] for r in rows if r["hold_gain"] is not None]
    out = {"phases_found": rows[0]["changes"], "phases_held": len(held),
           "phases_gain_mean": sum(r["gain"] for r in rows) / len(rows)}
    if held:
        out["phases_hold_gain_min"] = min(held)
    return out
