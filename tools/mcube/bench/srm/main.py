# SPDX-License-Identifier: GPL-2.0
"""bench-srm, main part: victims beside programs that read files.

Each machine, file system and repetition has a guest. The file program reads its files
once, uncounted, so that the page cache holds them as the policy places them. Then the
program runs again and again beside each victim and begins anew for each victim. A victim
thus meets the same part of the program's work with the policies off and on, and runs for a
good part of it. Each repetition begins at another point.

extra misses    misses of the victim beside the program, minus its misses alone with all
                policies off
cut             share of the extra misses that the policy avoids
slowdown        modelled cycles of the victim, over its cycles alone with all policies off
time gain       share of the victim's cycles beside the program that the policy saves
file side       modelled cycles of one pass of the program, alone, after another such pass:
                srm over off, minus one
"""

import functools
import itertools
import statistics

import lab  # first: it makes the other packages importable
from lib.modelled import Model
from mcube_cmd.term import print_table
from . import guest

TITLE = "victims beside programs that read files"
# Victims of tools/mcube/guest/victims/: the numerical kernels of the tables, and kernels with
# strides and random places.
NUMERIC = ("sort", "fft", "spmm", "lu")
STRIDED = ("rank", "mg", "fft3")
POLICIES = {"off": "off", "srm": 256}
# Fewer extra misses than this share of the victim's references to the last level, or than
# the spread of the repetitions, say nothing.
LEAST = 0.05
# Share of the victims' extra misses that the paper avoids, in percent (its Figures 10 to 13).
PAPER_CUTS = (34, 85)


def script(args, model, i):
    """Lines of the script of the guest of repetition i."""
    victims, kib = args.victims, guest.kib(model)
    lines = [f"WORK={args.work}"]
    lines += [f"/guest/victims -c -k {min(kib, 768)} {v} || exit 1" for v in victims]
    for policy, setting in POLICIES.items():
        lines.append(f"policy {setting}")
        lines += [f"victim {v} {kib} /results/{policy}.{v}.{i}" for v in victims]
        lines += [f"victim {v} {guest.kib(model, s)} /results/{policy}.{v}-{s}.{i}"
                  for s in args.alone for v in victims]
        for p in args.programs:
            base = f"/results/{policy}.{p}"
            lines += [f"stats {base}.before", f"refill {p}", f"stats {base}.after"]
            lines += [f"cost {p} {base}.cost"] if not i else []
            lines += guest.beside(p, victims, kib, base, i)
            lines += [f"echo {policy} {p}, done"]
    return lines


def options_of(args, model, fs):
    """Options of a guest, which the report reads."""
    return {"machine": model.description["name"], "fs": fs, "victims": args.victims,
            "programs": args.programs, "repeat": args.repeat, "kib": guest.kib(model),
            "work": args.work, "alone": args.alone, "shift_pages": lab.SHIFT_PAGES}


def run_guest(args, model, fs, part="main", more=None):
    """Run a guest for each repetition; returns the name of the figures."""
    name = f"{part}-{model.description['name']}-{fs}"
    guest.boot_each(name, functools.partial(script, args, model),
                    options_of(args, model, fs) | (more or {}),
                    fs=fs, kernel=args.kernel, model=model, icount=True)
    return name


def rows_of(name, options):
    """Rows of a guest."""
    folder, repeat = guest.folder_of(name), options["repeat"]
    get = lambda what: guest.repeated(folder, what, repeat)  # noqa: E731
    rows = []
    for p in options["programs"]:
        side = {k: guest.counts(folder / f"{k}.{p}.cost") for k in POLICIES}
        pages = guest.pages(folder, f"srm.{p}")
        for v in options["victims"]:
            rows.append(pair(get, v, p) | {
                "machine": options["machine"], "fs": options["fs"],
                "file_side_loss": side["srm"]["cycles"] / side["off"]["cycles"] - 1,
                "file_side": side, "pages": pages})
    return rows


def alone_of(name, options):
    """Rows of a guest's victims alone: working sets of several shares of the last level."""
    rows = []
    for v in options["victims"]:
        for share in (.75, *options.get("alone", [])):
            what = v if share == .75 else f"{v}-{share}"
            run = {k: guest.repeated(guest.folder_of(name), f"{k}.{what}", options["repeat"])
                   for k in POLICIES}
            cycles, refs, misses = ({k: run[k][e]["median"] for k in POLICIES}
                                    for e in ("cycles", "llc_refs", "llc_misses"))
            off = run["off"]["cycles"]
            rows.append({"part": "alone", "machine": options["machine"], "fs": options["fs"],
                         "victim": v, "share": share, "cycles": cycles, "refs": refs,
                         "misses": misses, "loss": cycles["srm"] / cycles["off"] - 1,
                         "spread_off": off["max"] / off["min"] - 1})
    return rows


def pair(get, victim, program):
    """The figures of a victim beside a program."""
    alone = {k: get(f"{k}.{victim}") for k in POLICIES}
    beside = {k: get(f"{k}.{program}.{victim}") for k in POLICIES}
    base = alone["off"]
    extra = {k: beside[k]["llc_misses"]["median"] - base["llc_misses"]["median"]
             for k in POLICIES}
    wide = max(x["llc_misses"]["max"] - x["llc_misses"]["min"]
               for x in (beside["off"], base))
    return {"part": "main", "victim": victim, "program": program,
            "extra_off": extra["off"], "extra_srm": extra["srm"],
            "cut": 1 - extra["srm"] / extra["off"] if extra["off"] else 0.0,
            "counts": extra["off"] >= max(LEAST * base["llc_refs"]["median"], wide),
            "slowdown_off": beside["off"]["cycles"]["median"] / base["cycles"]["median"],
            "slowdown_srm": beside["srm"]["cycles"]["median"] / base["cycles"]["median"],
            "time_gain": 1 - beside["srm"]["cycles"]["median"]
            / beside["off"]["cycles"]["median"],
            "alone": alone, "beside": beside}


def summarize(rows):
    """Figures over all pairs."""
    said = [r for r in rows if r["counts"]]
    out = {"pairs": len(rows), "pairs_left_out": len(rows) - len(said)}
    if said:
        out |= {"extra_miss_cut_mean": statistics.fmean(r["cut"] for r in said),
                "extra_miss_cut_min": min(r["cut"] for r in said),
                "time_gain_mean": statistics.fmean(r["time_gain"] for r in said),
                "time_gain_max": max(r["time_gain"] for r in said),
                "time_gain_min": min(r["time_gain"] for r in said)}
    # All pairs count here: a victim that gets slower may have few extra misses.
    out["time_gain_min_of_all"] = min(r["time_gain"] for r in rows)
    out["alone_loss_max"] = max(r["alone"]["srm"]["cycles"]["median"]
                                / r["alone"]["off"]["cycles"]["median"] - 1 for r in rows)
    out["file_side_loss_max"] = max(r["file_side_loss"] for r in rows)
    for key in ("machine", "fs", "program", "victim"):
        for value in dict.fromkeys(r[key] for r in said):
            out[f"{value}_extra_miss_cut_mean"] = statistics.fmean(
                r["cut"] for r in said if r[key] == value)
    return out


def show(rows):
    """Print a table for each machine and file system."""
    for machine, fs in dict.fromkeys((r["machine"], r["fs"]) for r in rows):
        mine = [r for r in rows if (r["machine"], r["fs"]) == (machine, fs)]
        print(f"\n{machine}, {fs}: simulated; extra LLC misses and slowdown of the victim, "
              "off and with SRM-buffer\n")
        body = [[r["victim"], r["program"], f"{r['alone']['off']['llc_refs']['median']:,.0f}",
                 f"{r['extra_off']:,.0f}", f"{r['extra_srm']:,.0f}",
                 f"{r['cut']:.0%}" + ("" if r["counts"] else " *"),
                 f"{r['slowdown_off']:.3f}", f"{r['slowdown_srm']:.3f}", f"{r['time_gain']:.1%}",
                 f"{spread(r):.1%}"] for r in mine]
        print_table(
            ["victim", "program", "LLC refs", "extra off", "srm", "cut", "slowdown", "srm",
             "time gain", "spread"], body, lead="  ")
        if left := sum(not r["counts"] for r in mine):
            print(f"  * {left} pairs are not in the means: too few extra misses, or fewer than "
                  "the spread")
        body = []
        for p in dict.fromkeys(r["program"] for r in mine):
            r = next(x for x in mine if x["program"] == p)
            body.append([p, *(f"{r['file_side'][k]['cycles'] / 1e6:.1f}"
                              for k in POLICIES), f"{r['file_side_loss']:+.1%}",
                         *(f"{r['file_side'][k][e]:,}" for e in ("llc_refs", "llc_misses")
                           for k in POLICIES),
                         f"{r['pages']['placed']:,}", f"{r['pages']['missed']:,}",
                         f"{r['pages']['uncovered']:,}"])
        print("\n  the programs: 10^6 cycles of a pass alone, LLC references and misses, pages\n")
        print_table(
            ["program", "off", "srm", "loss", "refs off", "srm", "misses off", "srm", "placed",
             "missed", "uncovered"], body, lead="  ")


def spread(row):
    """Largest spread of the victim's cycles beside the program."""
    return max((x["cycles"]["max"] - x["cycles"]["min"]) / x["cycles"]["median"]
               for x in row["beside"].values())


def guests(args):
    """Jobs: one for each machine and file system."""
    return [lambda m=m, f=f: run_guest(args, Model(m), f)
            for m, f in itertools.product(args.machine, args.fs)]


def draw(rows, name="srm"):
    """Draw the misses avoided by program, beside the paper's, and the slowdowns by pair."""
    if not rows:
        return None
    plt = lab.pyplot()
    panels = list(dict.fromkeys((r["machine"], r["fs"]) for r in rows))
    fig, axes = plt.subplots(len(panels), 2, figsize=(14, 2.4 * len(panels)), squeeze=False,
                             width_ratios=(1, 2))
    for (left, right), panel in zip(axes, panels):
        mine = [r for r in rows if (r["machine"], r["fs"]) == panel]
        draw_cuts(left, mine)
        for j, policy in enumerate(POLICIES):
            right.bar([i + 0.4 * j for i in range(len(mine))],
                      [100 * (r[f"slowdown_{policy}"] - 1) for r in mine], 0.4, label=policy,
                      color=("#4477aa", "#228833")[j])
        right.set_xticks([i + 0.2 for i in range(len(mine))],
                         [f"{r['victim']}\n{r['program']}" for r in mine], fontsize=5)
        for ax, what in ((left, "extra misses avoided, %"), (right, "victim slower, %")):
            ax.set_title(f"{panel[0]}, {panel[1]} (simulated)", fontsize=9)
            ax.set_ylabel(what, fontsize=8)
    axes[0][0].legend(fontsize=6, loc="lower left")
    axes[0][1].legend(fontsize=8)
    fig.tight_layout()
    return lab.picture(fig, name)


def draw_cuts(ax, rows):
    """Draw a machine and file system: a bar per program, a dot per victim."""
    programs = list(dict.fromkeys(r["program"] for r in rows))
    cuts = {p: [100 * r["cut"] for r in rows if r["program"] == p and r["counts"]]
            for p in programs}
    ax.axhspan(*PAPER_CUTS, color="#ccbb44", alpha=0.3,
               label="paper: {} to {} %".format(*PAPER_CUTS))
    ax.bar(programs, [statistics.fmean(c) if c else 0 for c in cuts.values()],
           color="#228833", label="mean of the victims")
    for i, each in enumerate(cuts.values()):
        # A victim whose extra misses grow by more than 20 % is drawn at the edge.
        ax.plot([i] * len(each), [max(c, -20) for c in each], "k.", ms=3)
    ax.set_ylim(-25, 105)
    ax.tick_params(axis="x", labelsize=6)
