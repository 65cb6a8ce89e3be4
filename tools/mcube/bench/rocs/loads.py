# SPDX-License-Identifier: GPL-2.0
"""bench-rocs, part loads: seven loads with the memory behaviour of the paper's programs.

A guest for each machine and load runs the load five times:

off         all policies off
hop         SRM-buffer's hopping over the colors that are not reserved: the gain of hopping
            alone
oracle      as hop, and the load itself places its streamed arrays in a reserved color
rocs        ROCS with search=coarse: watch, profile, search, hold
linear      ROCS with search=linear and the smallest step: every static choice

Figures are taken in the state hold and compared with off over the same number of iterations.

mpki cut    share of the misses per 1000 instructions that the policy avoids
time gain   share of the modelled cycles of an iteration that the policy saves
search gap  modelled cycles of an iteration in the state hold: how much more with the choice of
            search=coarse than with that of search=linear, the best of all static choices
one window  score of the best point of search=linear minus the score of the point that
            search=coarse holds, over the best; each is that of a window, relative to the
            baseline of its own search. The best of 65 windows has had luck, so this is more
            than what is lost.
overhead    modelled cycles of an iteration in the state profile over those in watch, minus one
rank corr   truth.py, of the profile before search=linear
limit       the rank correlation of an unbiased sampler with as many samples
polluters   share of the profiled pages that rocs keeps in the pollute partition
"""

import functools
import statistics

from lab import Failure
from mcube_cmd.term import print_table
from . import guest, truth

TITLE = "loads with the memory behaviour of the paper's programs"
# Iterations of a line of the report, for 1 MiB; those that depend on the size of the cache.
LINE = {"art": 2, "swim": 2, "mgrid": 2, "cg": 8, "twolf": 8, "vpr": 8, "mcf": 80}
SCALED = ("art", "swim", "mgrid")
WARM, LINES = 4, 16
# Most lines of the report under ROCS before the guest gives up.
MOST = {"coarse": 6000, "linear": 12000}
FIXED = ("off", "hop", "oracle")
SEARCH = {"rocs": "coarse", "linear": "linear"}
# The settings differ from the defaults because modelled cycles are few: a window has a quarter
# of the default, and a page moves as soon as it may. A profile has as many cycles as by default.
# A window with 6 % of the default has parts of iterations, and scores that vary by 3 %.
SETTINGS = {"window_kcycles": 240000, "tick_ms": 4, "profile_windows": 33, "settle_windows": 1,
            "pages_per_second": 1048576}
# For loads that do not last as long.
BRIEF = SETTINGS | {"window_kcycles": 60000, "profile_windows": 130}
# The profile that is compared with the truth is longer, but ends within its ten seconds, and has
# six times as many samples: rocs/sample_cost is three times what a sample costs on the model, so
# this budget is the 3 % that a profile may cost.
LINEAR = {"steps": 64, "profile_windows": 45, "budget": 90}
# The paper's Table 3 and Figures 8 and 9: means over its programs, best, and the one that
# gains nothing.
PAPER = {"mpki_cut_mean": 0.122, "time_gain_mean": 0.16, "time_gain_max": 0.34,
         "overhead_mean": 0.016, "overhead_max": 0.038, "search_gap_max": 0.021}
NO_GAIN = "mcf"


def iterations(load, machine):
    """Iterations of a line of the report."""
    n = LINE[load]
    return max(1, n * 1024 // guest.kib(machine)) if load in SCALED else n


def script(load, machine):
    """Lines of the script of a guest."""
    each = iterations(load, machine)
    options = f"--kib {guest.kib(machine)} --report {each} {load}"
    lines = []
    for policy in FIXED:
        oracle = "--oracle " if policy == "oracle" else ""
        lines += [f"policy {'off' if policy == 'off' else 'hop'}",
                  f"fixed /results/{policy}.load --rounds {each * (WARM + LINES)} "
                  f"{oracle}{options}"]
    for policy, kind in SEARCH.items():
        settings = SETTINGS | {"search": kind} | (LINEAR if kind == "linear" else {})
        words = " ".join(f"{k}={v}" for k, v in settings.items())
        lines += [f"policy rocs {words}",
                  f"held /results/{policy} {LINES + 2} {MOST[kind]} {options}"]
    return lines + ["policy off"]


def run_guest(args, machine, load):
    """Run a guest."""
    guest.boot(f"loads-{machine}-{load}", script(load, machine),
               {"machine": machine, "load": load, "kernel": args.kernel,
                "settings": SETTINGS | LINEAR}, timeout=args.timeout)


def guests(args):
    """Jobs: one for each machine and load."""
    return [functools.partial(run_guest, args, m, load)
            for m in args.machine for load in args.workloads]


def gains(off, on):
    """mpki cut and time gain of the same work."""
    # The work of an iteration is the same, its instructions are not: the kernel's are counted.
    return {"mpki_cut": 1 - on.mpki / off.mpki, "time_gain": 1 - on.cycles / off.cycles}


def mean_line(held, state):
    """Mean Counts of a line of the report in a state, times LINES."""
    for s, lines in reversed(held.states):
        if s == state and len(lines) > 1:
            t = guest.total(lines[1:])
            return guest.Counts(*(x * LINES / (len(lines) - 1) for x in t))
    raise Failure(f"ROCS was too short in the state '{state}'", "look at the files *.marks")


def settled(held):
    """mean_line() at the end: a plan that finds no better point does not hold, and watches."""
    return mean_line(held, "hold" if held.reached("hold") else "watch")


def window_gap(coarse, linear):
    """How far the held point of a search lies below the best point of all, by their windows."""
    points = {p.pages: p.score for p in coarse.points}
    held = int(coarse.target["mapped"])
    best = max(p.score for p in linear.points) / linear.points[0].score
    return (best - points[held] / points[0]) / best


def rows_of(name, options):
    """The row of a guest."""
    folder = guest.folder_of(name)
    loads = {p: guest.read_load(folder / f"{p}.load") for p in FIXED}
    if len({loads[p].end for p in FIXED}) > 1:
        raise Failure(f"{name}: the results of a load differ between policies",
                      "a page was lost or mixed up")
    counts = {p: guest.total(loads[p].lines[WARM:WARM + LINES]) for p in FIXED}
    held = {p: guest.read_held(folder / p) for p in SEARCH}
    off, coarse, linear = counts["off"], held["rocs"], held["linear"]
    counts["rocs"], best = settled(coarse), settled(linear)
    start = mean_line(linear, "start")
    profiled = mean_line(linear, "profile")
    searched = coarse.reached("search") and linear.reached("search")
    pages = truth.pages(name, folder / "linear", 3 if coarse.reached("profile") else 1)
    return [{"part": "loads", "machine": options["machine"], "load": options["load"],
             "counts": {p: c._asdict() | {"mpki": c.mpki} for p, c in counts.items()},
             "gains": {p: gains(off, c) for p, c in counts.items() if p != "off"},
             "search_gap": counts["rocs"].cycles / best.cycles - 1 if searched else None,
             "window_gap": window_gap(coarse, linear) if searched else None,
             "overhead": profiled.cycles / start.cycles - 1,
             "truth": truth.compare(pages), "profile": pages,
             "stack": int(coarse.target["stack"]), "mapped": int(coarse.target["mapped"]),
             "coarse": coarse.points, "linear": linear.points, "stats": coarse.stats,
             "windows": {p: sum(x.times for x in held[p].points) for p in SEARCH}}]


def show(rows):
    """Print a table for each machine."""
    for machine in dict.fromkeys(r["machine"] for r in rows):
        mine = [r for r in rows if r["machine"] == machine]
        print(f"\n{machine}: simulated; a negative gain is a loss\n")
        body = []
        for r in mine:
            g = r["gains"]
            body.append([r["load"], f"{r['counts']['off']['mpki']:.1f}",
                         f"{r['counts']['rocs']['mpki']:.1f}",
                         *(f"{g[p]['mpki_cut']:.1%}" for p in ("hop", "oracle", "rocs")),
                         *(f"{g[p]['time_gain']:.1%}" for p in ("hop", "oracle", "rocs"))])
        print_table(["load", "MPKI off", "rocs", "cut: hop", "oracle", "rocs", "gain: hop",
                     "oracle", "rocs"], body, lead="  ")
        print()
        body = [[r["load"], str(r["truth"]["pages"]), f"{r['truth']['rank_corr']:.3f}",
                 f"{r['truth']['rank_corr_limit']:.3f}",
                 f"{r['truth']['samples'] / max(1, r['truth']['pages']):.0f}",
                 f"{r['overhead']:.1%}", *("-" if r[k] is None else f"{r[k]:.1%}"
                                           for k in ("search_gap", "window_gap")),
                 *(str(r["windows"][p]) for p in SEARCH),
                 f"{r['mapped'] / max(1, r['stack']):.0%}"] for r in mine]
        print_table(["load", "pages", "rank corr", "limit", "samples each", "overhead",
                     "search gap", "one window", "windows", "linear", "polluters"], body, lead="  ")


def summarize(rows):
    """Keys of the summary; NO_GAIN counts in the means."""
    gain = {r["load"]: r["gains"]["rocs"]["time_gain"] for r in rows}
    gaps = [r["search_gap"] for r in rows if r["search_gap"] is not None]
    out = {"mpki_cut_mean": statistics.fmean(r["gains"]["rocs"]["mpki_cut"] for r in rows),
           "time_gain_mean": statistics.fmean(gain.values()),
           "time_gain_max": max(gain.values()),
           "overhead_mean": statistics.fmean(r["overhead"] for r in rows),
           "overhead_max": max(r["overhead"] for r in rows),
           "profile_rank_corr_min": min(r["truth"]["rank_corr"] for r in rows),
           "polluters_mean": statistics.fmean(r["mapped"] / max(1, r["stack"]) for r in rows),
           "hop_gain_mean": statistics.fmean(r["gains"]["hop"]["time_gain"] for r in rows),
           "oracle_gain_mean": statistics.fmean(r["gains"]["oracle"]["time_gain"]
                                                for r in rows)}
    if gaps:
        out["search_gap_max"] = max(gaps)
    if NO_GAIN in gain:
        out["no_gain_loss"] = max(0.0, -gain[NO_GAIN])
    return out
