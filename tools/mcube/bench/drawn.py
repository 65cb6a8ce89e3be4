#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""SRM-buffer on machines that nobody chose: descriptions drawn from a seed.

Sets, ways, slices, slice hash, replacement, second level and file system are drawn; the
ranges are in tools/mcube/bench/srm/drawn.py. The default seed is a date and was chosen
before any result. Each machine has a guest of its own, a boot for each repetition. Programs,
victims and figures are those of bench-srm: numerical kernels, three of them with strides or
random places, with a working set of three quarters of the last level beside programs that
read files, with all policies off and with SRM-buffer. The victims also run alone with other
working sets (--alone).

cut         share of a victim's extra misses that SRM-buffer avoids, 1 at most; pairs with
            fewer extra misses than bench-srm counts are left out
alone loss  share of cycles that a victim alone loses with SRM-buffer on
file side   share of cycles that a pass of the file program alone loses

    make bench-drawn
    make bench-drawn ARGS="--machines 2"
    make bench-drawn ARGS="--hash unknown"
    make bench-drawn ARGS="--programs grep --victims sort lu --machines 1"
    make bench-drawn ARGS="--again"

A guest whose figures are present, of the same kernel and with the same options, is not run
again; so an interrupted run goes on where it stopped (--fresh runs all). All figures are
simulated.
"""

import argparse
import json
import statistics

import lab  # first: it makes the other packages importable
from lab import Failure
from lib import ui
from mcube_cmd.term import print_table
from qemu import CPU, image
from srm import drawn, guest, main

SEED = 20261125
PART = "drawn"
VICTIMS = main.NUMERIC + main.STRIDED
FILE_PROGRAMS = ("grep", "tar", "diff", "fio-mail", "rg-mmap", "rg-read", "fio-mmap")
SHARES = (.25, .5, .95, 1.0)
LEAST = {"drawn_cut_mean": .80, "drawn_cut_min": 0}
LIMITS = {"drawn_alone_loss_max": .01, "drawn_file_side_loss_max": .03}


def arguments():
    """Command line."""
    parser = lab.parser(__doc__, min(2, ui.JOBS), again=True)
    parser.add_argument("--machines", type=int, default=10, help="how many (default: 10)")
    parser.add_argument("--first", type=int, default=0,
                        help="number of the first machine (default: 0)")
    parser.add_argument("--seed", type=int, default=SEED, help="(default: %(default)s)")
    parser.add_argument("--hash", choices=("known", "unknown"), default="known",
                        help="is the slice hash part of the kernel's color map? (default: "
                             "known)")
    parser.add_argument("--victims", nargs="+", default=list(VICTIMS), choices=VICTIMS)
    parser.add_argument("--programs", nargs="+", default=list(FILE_PROGRAMS),
                        choices=FILE_PROGRAMS)
    parser.add_argument("--alone", nargs="*", type=float, default=list(SHARES), metavar="SHARE",
                        help="working sets of victims alone, besides .75, as shares of the last "
                             "level (default: .25 .5 .95 1)")
    parser.add_argument("--repeat", type=int, default=1, help="boots of each machine (1)")
    parser.add_argument("--work", type=int, default=16,
                        help="least million accesses of a victim (default: %(default)s)")
    parser.add_argument("--fresh", action="store_true", help="run guests again, too")
    parser.add_argument("--list", action="store_true", help="print the machines, run nothing")
    parser.add_argument("--plot", action=argparse.BooleanOptionalAction, default=True,
                        help="draw build/results/drawn.png")
    args = parser.parse_args()
    for name, value, most in (("machines", args.machines, 1000), ("repeat", args.repeat, 100),
                              ("work", args.work, 4096)):
        if not 1 <= value <= most:
            raise Failure(f"--{name} {value} is not within 1..{most}")
    if not 0 <= args.first <= 1000:
        raise Failure(f"--first {args.first} is not within 0..1000")
    for share in args.alone:
        if not .05 <= share <= 2:
            raise Failure(f"--alone {share} is not within .05..2")
    args.alone = [s for s in args.alone if s != .75]
    return args


def numbers(args):
    """Numbers of the machines of this run."""
    return range(args.first, args.first + args.machines)


def present(args, model, fs, more):
    """Are the figures of this guest there, with the same options?"""
    folder = guest.folder_of(f"{PART}-{model.description['name']}-{fs}")
    path = folder / "options.json"
    wanted = json.loads(json.dumps(main.options_of(args, model, fs) | more))
    # The first boot writes the options; figures of the last boot come last.
    last = folder / f"srm.{args.programs[-1]}.{args.victims[-1]}.{args.repeat - 1}"
    return (path.is_file() and last.is_file()
            and json.loads(path.read_text("utf-8")) == wanted)


def jobs(args):
    """A job for each machine whose figures are missing."""
    out, common = [], {"kernel": lab.print_of(args.kernel or image())}
    for n in numbers(args):
        model, fs = drawn.model(args.seed, n, args.hash == "known")
        more = common | {"seed": args.seed, "n": n, "hash": args.hash,
                         "description": {k: str(v) for k, v in model.description.items()}}
        if args.fresh or not present(args, model, fs, more):
            out.append(lambda m=model, f=fs, x=more: main.run_guest(args, m, f, PART, x))
        else:
            ui.say(f"{model.description['name']}: figures are present")
    return out


def found(args):
    """Guests of these machines whose figures are present: {name: options}."""
    mine = {name: o for name, o in guest.found(PART).items()
            if o["seed"] == args.seed and o["n"] in numbers(args) and o["hash"] == args.hash
            and (guest.folder_of(name)
                 / f"srm.{o['programs'][-1]}.{o['victims'][-1]}.{o['repeat'] - 1}").is_file()}
    return dict(sorted(mine.items(), key=lambda x: x[1]["n"]))


def summarize(pairs, alone):
    """The keys of the result, and means of each machine, program and victim."""
    said = [r for r in pairs if r["counts"]]
    out = {"machines": len({r["machine"] for r in pairs}), "pairs": len(pairs),
           "pairs_left_out": len(pairs) - len(said)}
    if said:
        out |= {"drawn_cut_mean": statistics.fmean(r["cut"] for r in said),
                "drawn_cut_min": min(r["cut"] for r in said)}
    out |= {"drawn_alone_loss_max": max(r["loss"] for r in alone),
            "drawn_file_side_loss_max": max(r["file_side_loss"] for r in pairs)}
    for key in ("machine", "program", "victim"):
        for value in dict.fromkeys(r[key] for r in said):
            out[f"{value}_cut_mean"] = statistics.fmean(r["cut"] for r in said
                                                        if r[key] == value)
    return {k: round(v, 5) for k, v in out.items()}


def by_machine(pairs, alone, guests):
    """A row for each machine, with its worst figures and where they are."""
    out = []
    for o in guests.values():
        mine = [r for r in pairs if r["machine"] == o["machine"]]
        said = [r for r in mine if r["counts"]]
        worst = min(said, key=lambda r: r["cut"], default=None)
        lost = max((r for r in alone if r["machine"] == o["machine"]), key=lambda r: r["loss"])
        side = max(mine, key=lambda r: r["file_side_loss"])
        out.append({"part": "machine", "machine": o["machine"], "n": o["n"], "fs": o["fs"],
                    "description": drawn.short(o["description"]),
                    "cut": statistics.fmean(r["cut"] for r in said) if said else None,
                    "least": worst and worst["cut"],
                    "least_pair": worst and f"{worst['victim']} {worst['program']}",
                    "alone_loss": lost["loss"],
                    "alone_victim": f"{lost['victim']} {lost['share']:g}",
                    "file_side_loss": side["file_side_loss"], "reader": side["program"]})
    return out


def show(machines):
    """Print a row for each machine."""
    share = lambda x: "-" if x is None else f"{x:.1%}"  # noqa: E731
    print("\nsimulated; means over pairs, worst pair, worst victim alone (share of the last "
          "level), worst reader\n")
    print_table(["machine", "last level, second level", "fs", "cut", "least", "pair", "alone",
                 "victim", "file side", "reader"],
                [[str(r["n"]), r["description"], r["fs"], share(r["cut"]),
                  share(r["least"]), r["least_pair"] or "-", share(r["alone_loss"]),
                  r["alone_victim"], share(r["file_side_loss"]), r["reader"]]
                 for r in machines], left=2, lead="  ")


def beyond(pairs, alone):
    """What misses a goal: victims alone, pairs, and a row for each reader; the worst first."""
    lost = [r for r in alone if r["loss"] > LIMITS["drawn_alone_loss_max"]]
    worse = [r for r in pairs if r["counts"] and r["cut"] < LEAST["drawn_cut_min"]]
    slow = {(r["machine"], r["program"]): r for r in pairs
            if r["file_side_loss"] > LIMITS["drawn_file_side_loss_max"]}
    return (sorted(lost, key=lambda r: -r["loss"]), sorted(worse, key=lambda r: r["cut"]),
            sorted(slow.values(), key=lambda r: -r["file_side_loss"]))


def show_beyond(pairs, alone):
    """Print references and misses of what misses a goal, off and with SRM-buffer."""
    both = lambda x: [f"{x[k]:,.0f}" for k in main.POLICIES]  # noqa: E731
    of = lambda r, event: {k: r["file_side"][k][event] for k in main.POLICIES}  # noqa: E731
    lost, worse, slow = beyond(pairs, alone)
    heads = ["refs off", "srm", "misses off", "srm"]
    for title, names, rows in (
            ("victims alone", ["machine", "victim", "share", "loss", "boots", *heads],
             [[r["machine"], r["victim"], f"{r['share']:g}", f"{r['loss']:.1%}",
               f"{r['spread_off']:.1%}" if r["spread_off"] else "-",
               *both(r["refs"]), *both(r["misses"])] for r in lost]),
            ("pairs", ["machine", "victim", "program", "cut", "extra off", "srm"],
             [[r["machine"], r["victim"], r["program"], f"{r['cut']:.1%}",
               f"{r['extra_off']:,.0f}", f"{r['extra_srm']:,.0f}"] for r in worse]),
            ("readers", ["machine", "program", "loss", *heads],
             [[r["machine"], r["program"], f"{r['file_side_loss']:.1%}",
               *both(of(r, "llc_refs")), *both(of(r, "llc_misses"))] for r in slow])):
        if rows:
            print(f"\nsimulated; {title} beyond the goal: {len(rows)}\n")
            print_table(names, rows, left=2, lead="  ")


def draw(pairs, alone):
    """Draw cuts, losses alone and losses of readers, by machine."""
    plt = lab.pyplot()
    names = list(dict.fromkeys(r["machine"] for r in pairs))
    fig, axes = plt.subplots(3, 1, figsize=(1.0 + 0.9 * len(names), 8), sharex=True)
    panels = ((axes[0], [r for r in pairs if r["counts"]], "cut", "extra misses avoided, %", 80),
              (axes[1], alone, "loss", "victim alone slower, %", 1),
              (axes[2], pairs, "file_side_loss", "reader slower, %", 3))
    for ax, rows, key, what, line in panels:
        for i, name in enumerate(names):
            each = [100 * r[key] for r in rows if r["machine"] == name]
            ax.plot([i] * len(each), each, "o", ms=3, color="#4477aa", alpha=0.6)
            if each and key == "cut":
                ax.plot(i, statistics.fmean(each), "_", ms=18, mew=2, color="#228833")
        ax.axhline(line, color="#cc6677", linestyle="--", linewidth=1)
        ax.set_ylabel(what, fontsize=8)
    axes[0].set_title("machines drawn from a seed, simulated", fontsize=9)
    axes[2].set_xticks(range(len(names)),
                       [n.removesuffix("-sets").rpartition("-")[2] for n in names])
    axes[2].set_xlabel("machine")
    fig.tight_layout()
    return lab.picture(fig, "drawn")


def report(args):
    """Print the tables and write the result file."""
    guests = found(args)
    if not guests:
        raise Failure("there are no figures", "run the benchmark without --again")
    pairs = [r | {"cut": min(r["cut"], 1)}
             for name, o in guests.items() for r in main.rows_of(name, o)]
    alone = [r for name, o in guests.items() for r in main.alone_of(name, o)]
    machines = by_machine(pairs, alone, guests)
    show(machines)
    show_beyond(pairs, alone)
    summary = summarize(pairs, alone)
    print()
    for key, least in LEAST.items():
        if key in summary:
            met = "met" if summary[key] >= least else "MISSED"
            print(f"{key} {summary[key]:.4f}, at least {least}: {met}")
    lab.verdicts(summary, LIMITS)
    png = draw(pairs, alone) if args.plot else None
    path = lab.save("drawn", {
        "kind": "simulated", "seed": args.seed, "qemu": lab.qemu_version(), "cpu": CPU,
        "victims": args.victims, "programs": args.programs, "alone": args.alone,
        "repeat": args.repeat, "work": args.work, "guests": guests},
        machines + pairs + alone, summary)
    print(f"\nwritten: {path}" + (f"\n         {png}" if png else ""))
    return path


def run():
    """Command line."""
    args = arguments()
    if args.list:
        for n in numbers(args):
            model, fs = drawn.model(args.seed, n, args.hash == "known")
            print(f"{model.description['name']}: {drawn.short(model.description)}, {fs}")
        return 0
    return lab.serve("bench-drawn", args, lambda: jobs(args), ["victims"], lambda: report(args))


if __name__ == "__main__":
    ui.main(run)
