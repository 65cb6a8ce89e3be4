# SPDX-License-Identifier: GPL-2.0
"""bench-rocs, part mixed: ROCS and SRM-buffer together.

A numerical load runs on CPU 1, grep reads two trees of files again and again on CPU 2, and a
process whose memory no cache holds runs on CPU 3. The load and that process are targets of
ROCS. The table has the load's modelled cycles of an iteration and its misses, with all policies
off, with SRM-buffer, with ROCS, and with both. Each policy begins with a page cache that it has
filled itself.

mixed gain  share of the load's modelled cycles that both together save
"""

import functools

from mcube_cmd.term import print_table
from srm import guest as files
from . import guest, loads

TITLE = "ROCS and SRM-buffer together, beside a file reader and a polluting process"
POLICIES = ("off", "srm", "rocs", "both")
LOAD = "art"
LINES = 24
MOST = 6000


def script(machine):
    """Lines of the script of a guest."""
    kib, each = guest.kib(machine), loads.iterations(LOAD, machine)
    options = f"--kib {kib} --report {each} {LOAD}"
    words = " ".join(f"{k}={v}" for k, v in loads.SETTINGS.items())
    lines = ["data"]
    for policy in POLICIES:
        run = (f"held /results/{policy} {LINES} {MOST} {options}" if policy in ("rocs", "both")
               else f"loaded /results/{policy}.load {LINES} {options}")
        lines += [f"policy {policy} {words}", f"others_begin {kib}", run, "others_end",
                  f"echo mixed: {policy} done"]
    return lines + ["policy off"]


def run_guest(args, machine):
    """Run a guest."""
    guest.boot(f"mixed-{machine}", script(machine),
               {"machine": machine, "load": LOAD, "kernel": args.kernel, "smp": 4,
                "settings": loads.SETTINGS}, timeout=args.timeout,
               drives=[f"{files.disk('ext4')},snapshot=on"])


def guests(args):
    """Jobs: one, on the first machine."""
    return [functools.partial(run_guest, args, args.machine[0])]


def rows_of(name, options):
    """A row for each policy."""
    folder, rows = guest.folder_of(name), []
    for policy in POLICIES:
        if policy in ("rocs", "both"):
            held = guest.read_held(folder / policy)
            state = "hold" if held.reached("hold") else "watch"
            lines = held.lines_in(state)
        else:
            state, lines = "off", guest.read_load(folder / f"{policy}.load").lines[4:]
        counts = guest.total(lines)
        rows.append({"part": "mixed", "machine": options["machine"], "policy": policy,
                     "state": state, "cycles": counts.cycles / len(lines),
                     "mpki": counts.mpki})
    return rows


def gain(rows, policy):
    """Share of the cycles with all policies off that a policy saves."""
    cycles = {r["policy"]: r["cycles"] for r in rows}
    return 1 - cycles[policy] / cycles["off"]


def show(rows):
    """Print the table."""
    print(f"\n{TITLE}: simulated; {LOAD}, a line of its report\n")
    print_table(["policy", "state", "10^6 cycles", "MPKI", "gain"],
                [[r["policy"], r["state"], f"{r['cycles'] / 1e6:.2f}", f"{r['mpki']:.1f}",
                  f"{gain(rows, r['policy']):.1%}"] for r in rows], lead="  ")


def summarize(rows):
    """Keys of the summary."""
    return {"mixed_gain": gain(rows, "both"), "mixed_gain_rocs": gain(rows, "rocs"),
            "mixed_gain_srm": gain(rows, "srm")}
