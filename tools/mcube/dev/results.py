#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Write the figures of the documentation from the result files of the last runs.

    results.py          write Documentation/mm/mcube/results.rst, results-m3.rst, results-srm.rst,
                        results-rocs.rst, results-ubm.rst, results-setcache.rst
    results.py --check  say whether they differ from what would be written

Every table there comes from a file build/results/*.json, the picture of bench-m3 from m3.svg.
Each stands under the command that wrote the file; no figure is typed by hand. If a result file is
missing, or has no figures of a part of the benchmark, the section stays as it is
in the document, so a benchmark or a part can be renewed without running all.
"""

import functools
import json
import re
import statistics

from lib import ui
from lib.real import estimate, verify
from lib.rst import pairs, plain, table
from lib.ui import BUILD, ROOT, Failure, say

FOLDER = ROOT / "Documentation/mm/mcube"
HEAD = """.. SPDX-License-Identifier: GPL-2.0

{rule}
{title}
{rule}

``make results`` writes this file from the result files of the commands named here.
Each table says what kind of number it holds, and of which machine.  Instructions
are counted by QEMU (``-icount``).  Cycles and cache or DRAM events are those of a
modelled machine.  Seconds are those of the emulator's host.
"""


def alloc(data):
    """bench-alloc."""
    base = data["rows"][0]
    share = lambda key: lambda r: r[key] / base[key]  # noqa: E731
    return ("Instructions per page of anonymous memory, each page touched once and freed. The "
            "``rep`` that\nclears a page counts as one instruction, as on hardware, or once per "
            "iteration, as ``-icount``\ncounts it.",
            table(data["rows"], {
                "variant": "variant", "fault": "steady_fault", "free": "steady_free",
                "total": "steady_total", "times unpatched": share("steady_total"),
                "tables kept": share("kept_total"),
                "every iteration": share("steady_total_counted")}),
            pairs(plain(data["parameters"])))


def page_cache(data):
    """bench-file."""
    columns = ("fill", "drop", "stream", "stream_drop", "write", "truncate", "cached4k",
               "cached64k", "begin4k")
    both = lambda c: lambda r: f"{r[c]:.0f} {r['ratios'][c]:.3f}"  # noqa: E731
    return ("Instructions per page of a file that enters the page cache, is dropped, and is read "
            "there; beside\neach figure its ratio to the unpatched kernel. Zeroing and copying "
            "a page count as one instruction\neach.",
            table(data["rows"], {"file system": "fs", "variant": "variant"}
                  | {c.replace("_", " "): both(c) for c in columns}),
            pairs(plain({k: v for k, v in data["summary"].items() if k.count("_") == 2})),
            pairs(plain(data["parameters"])))


def scale(data):
    """bench-scale."""
    versus = lambda key: lambda r: f"{r[key]:.1f} {r[key + '_vs_stock']:.2f}"  # noqa: E731
    rows = sorted(data["rows"], key=lambda r: r["part"])
    return ("Acquisitions of a lock by another CPU than the last one (bounces) per 1000 pages, of "
            "a guest with eight\nCPUs, counted by LOCK_STAT; beside each figure its ratio to the "
            "kernel with nothing\nswitched on.  *memory*: all locks that a page passes; "
            "*allocator*: those of the page allocator and of mcube\nalone; *acquired*: all "
            "acquisitions of the latter.",
            table(rows, {"part": "part", "variant": "variant", "memory": versus("memory"),
                         "allocator": versus("allocator"),
                         "acquired": lambda r: f"{r['acquired']:.0f}"}),
            pairs(plain(data["summary"])), pairs(plain(data["parameters"])))


def irqsoff(data):
    """bench-irqsoff."""
    return ("The longest section with interrupts off while files and a device are read, by the "
            "irqsoff tracer.",
            table(data["rows"], {"memory": "memory", "load": "load", "variant": "variant",
                                 "instructions": "longest"}),
            pairs(plain(data["summary"])), pairs(plain(data["parameters"])))


def demo(data):
    """make demo: what the scenes show."""
    rows = [{"scene": scene, "name": key, "value": value}
            for scene, each in data["summary"].items() for key, value in plain(each).items()]
    return ["*gain* and *cut*: the share that is saved; *slowdown*: times the program alone. "
            "Cycles, misses and\nconflicts are simulated; requests and pages that the device "
            "reads are counted.",
            table(rows, {"scene": "scene", "figure": "name", "value": "value"})]


def model(data):
    """bench-model."""
    return ("``seconds_1e8``: wall-clock seconds for 10^8 modelled accesses; ``off_ratio``: CPU "
            "time of QEMU with\nthe plugin loaded and the model off, over that without a plugin; "
            "``cachegrind_rel_diff``: largest\ndifference of last-level misses from "
            "cachegrind's for the same programs.",
            pairs(plain(data["summary"])), pairs(plain(data["parameters"])))


def m3(data):
    """bench-m3: kinds of loads, and the numbers of threads of a load as one row."""
    orders, groups = data["parameters"]["orders"], {}
    kinds = [r for r in data["rows"] if r.get("part") == "group"]
    if not kinds:
        return None
    for r in data["rows"]:
        if r["part"] == "load":
            groups.setdefault((r["machine"], r["memory"], r["load"]), []).append(r)
    rows, mine = [], f"gain_{orders[-1]}"
    for (machine, memory, load), group in groups.items():
        keys = ("cost_stock", "conflicts_stock", f"conflicts_{orders[-1]}",
                *(f"gain_{o}" for o in orders))
        rows.append({"machine": machine, "memory": memory, "load": load,
                     "least": min(r[mine] for r in group), "most": max(r[mine] for r in group),
                     "spread": max(r["spread"] for r in group)}
                    | {k: statistics.fmean(r[k] for r in group) for k in keys})
    gains = {f"saved, {o}": f"gain_{o}" for o in orders} | {
        "least": "least", "most": "most", "spread": "spread"}
    percent = lambda keys: {h: lambda r, k=k: "-" if r[k] is None else f"{r[k]:.1%}"  # noqa: E731
                            for h, k in keys.items()}
    shares = {"conflicts": "conflicts_stock", orders[-1] + " ": f"conflicts_{orders[-1]}",
              "cost": "cost_stock"}
    return (".. kernel-figure:: results-m3.svg\n   :alt: time saved by kind of load, machine and "
            "fill order",
            "Time saved compared with the page allocator alone, means over the loads of a kind "
            f"and their numbers\nof threads; simulated.  *least*, *most*: of {orders[-1]}.  "
            "*spread*: of the times over the boots, the\nmedian.",
            table(kinds, {"loads": "group", "machine": "machine", "memory": "memory"}
                  | percent({"cost": "cost_stock"} | gains)),
            "Row conflicts per access to DRAM, and time saved compared with the page allocator "
            "alone; simulated,\nmedians of the boots and means over the numbers of threads. "
            "*alone*: programs whose working set is a\nshare of the last level.  *cost*: time "
            "that the page allocator's placement saves where DRAM opens and\ncloses rows at once. "
            f"*least*, *most*: of {orders[-1]}, over the numbers of threads. *spread*: the largest "
            "of the times\nof all settings over the boots.",
            table(rows, {"machine": "machine", "memory": "memory", "load": "load"}
                  | percent(shares | gains)),
            "The combinations whose boots differ most, simulated: millions of cycles, row "
            "conflicts per access, and\ndistinct banks and channels among the pages in use at "
            "one time, as shares of what is possible.",
            table([r for r in data["rows"] if r["part"] == "boot"], {
                "machine": "machine", "memory": "memory", "load": "load", "threads": "threads",
                "setting": "policy", "boot": "repeat",
                "Mcycles": lambda r: f"{r['time'] / 1e6:.1f}",
            } | percent({k: k for k in ("conflicts", "banks", "channels")})),
            pairs(plain(data["summary"])), pairs(plain(data["parameters"])))


def m3_starts(data):
    """bench-m3-starts."""
    whole = lambda key: lambda r: f"{r[key]:.0f}"  # noqa: E731
    share = lambda key: lambda r: f"{r[key]:.1%}"  # noqa: E731
    return ("Figures 6 and 7 of the M3 paper: four cores read memory in order, from starts 12 MiB "
            "apart\n(regular) and from random starts. Cycles of the slowest core for a page, "
            "simulated, means over\nthe runs; *+-*: twice the standard error of the gain; "
            "*conflicts*: row conflicts per access.",
            table(data["rows"], {
                "what changes": "changes", "regular": whole("regular"),
                "random": whole("random"), "gain": share("gain"),
                "+-": lambda r: f"{2 * r['error']:.1%}", "conflicts": share("regular_conflicts"),
                "random ": share("random_conflicts")}),
            pairs(plain(data["summary"])), pairs(plain(data["parameters"])))


def by_program(rows):
    """bench-srm's pairs: the victims beside one program as one row."""
    groups = {}
    for r in rows:
        groups.setdefault((r["machine"], r["fs"], r["program"]), []).append(r)
    out = []
    for (machine, fs, program), mine in groups.items():
        row = {"machine": machine, "fs": fs, "program": program}
        for key in ("extra_off", "extra_srm", "slowdown_off", "slowdown_srm", "time_gain"):
            row[key] = statistics.fmean(r[key] for r in mine)
        if said := [r["cut"] for r in mine if r["counts"]]:
            row |= {"cut": statistics.fmean(said), "least": min(said)}
        out.append(row)
    return out


def percent(key):
    """Function for a column: a share in percent."""
    return lambda r: f"{r[key]:.1%}" if key in r else ""


def whole(key):
    """Function for a column: a large number."""
    return lambda r: f"{r[key]:,.0f}" if key in r else ""


def pairs_table(rows):
    """The pairs of bench-srm, by program."""
    return table(by_program(rows), {
        "machine": "machine", "fs": "fs", "program": "program",
        "extra, off": whole("extra_off"), "srm": whole("extra_srm"),
        "cut": percent("cut"), "least": percent("least"),
        "slowdown, off": "slowdown_off", "srm ": "slowdown_srm",
        "time gain": percent("time_gain")})


# Part of bench-srm: (title, its keys of the summary). All other keys are those of the main part.
SRM_PARTS = {
    "tl": ("Lengths of segments", "tl_"),
    "memory": ("More files than the reserved colors hold", "memory_"),
    "random": ("Random reads of a big file", "random_"),
    "greps": ("Several greps at once", "greps_"),
    "change": ("Files placed by one program, read by another", "change_"),
    "reuse": ("A file that fits in the cache", "reuse_"),
    "database": ("A join beside the scan of a table", "database_"),
    "where": ("Where the remaining misses lie", r"left_|.*_own_not_reserved_share"),
    "hitratio": ("Hit ratio of the page cache", "hit_ratio_"),
}


def srm_table(part, rows):
    """The blocks of RST of a part of bench-srm that is not the main part."""
    pages = lambda key: lambda r: f"{r['pages'][key]:,}"  # noqa: E731
    if part == "where":
        return ["Extra misses of a victim by place, from samples: in the colors reserved for "
                "files, in the lines\nof the struct pages of those colors, elsewhere. *itself*: "
                "the program's own misses, for a while.",
                table(rows, {k: k for k in ("machine", "fs", "program", "victim", "policy")}
                      | {"extra misses": whole("extra")}
                      | {k: whole(k) for k in ("reserved", "struct pages", "elsewhere")})]
    if part == "hitratio":
        return ["Share of reads that the page cache served; not simulated.",
                table(rows, {"memory": "memory", "policy": "setting",
                             "hit ratio": percent("hit_ratio"), "least": percent("least"),
                             "most": percent("most"), "placed": pages("placed"),
                             "missed": pages("missed")})]
    return ["Means over victims; *loss*: added cost of a pass of the program.",
            table(rows, {"machine": "machine", "fs": "fs", "situation": "situation",
                         "extra misses": whole("extra"), "cut": percent("cut"),
                         "slowdown": "slowdown", "loss": percent("loss"),
                         "placed": pages("placed"), "missed": pages("missed")})]


def srm_part(part, data):
    """A part of bench-srm; None where the result file has other parts alone."""
    rows = [r for r in data["rows"] if r["part"] == part]
    keys = SRM_PARTS[part][1]
    return rows and [*srm_table(part, rows),
                     pairs({k: v for k, v in data["summary"].items() if re.match(keys, k)}),
                     pairs(plain(data["parameters"]))]


def srm(data):
    """The main part of bench-srm; None where the result file has other parts alone."""
    pages = lambda key: lambda r: f"{r['pages'][key]:,}"  # noqa: E731
    rows = [r for r in data["rows"] if r["part"] == "main"]
    programs = {(r["machine"], r["fs"], r["program"]): r for r in rows}.values()
    cost = lambda key: lambda r: f"{r['file_side'][key]['cycles'] / 1e6:.1f}"  # noqa: E731
    refs = lambda key: lambda r: f"{r['file_side'][key]['llc_refs']:,}"  # noqa: E731
    runs = sorted({f"``--repeat {g['repeat']} --work {g['work']}``"
                   for n, g in data["parameters"]["guests"].items() if n.startswith("main")})
    others = "|".join(keys for _, keys in SRM_PARTS.values())
    return rows and [
        pairs(plain({k: v for k, v in data["summary"].items() if not re.match(others, k)})),
        "Victims beside programs, means of the four victims. Extra misses: LLC misses "
        "beyond those of the\nvictim alone with all policies off. Slowdown: time over "
        "that of the victim alone. The cut is the\nmean of the pairs that count, and "
        "the least; each pair is in ``build/results/srm.json``.\n"
        f"Run with {', '.join(runs)}.",
        pairs_table(rows),
        "The programs themselves: a pass of the program alone, after another pass, in "
        "10\\ :sup:`6` cycles;\nits references to the last level; pages placed.",
        table(list(programs), {"machine": "machine", "fs": "fs", "program": "program",
                               "off": cost("off"), "srm": cost("srm"),
                               "loss": percent("file_side_loss"),
                               "LLC refs": refs("off"), "srm ": refs("srm"),
                               "placed": pages("placed"), "missed": pages("missed"),
                               "uncovered": pages("uncovered")}),
        pairs(plain(data["parameters"]))]


def drawn(data):
    """bench-drawn."""
    rows = {}
    for r in data["rows"]:
        rows.setdefault(r["part"], []).append(r)
    cut = lambda key: lambda r: "" if r[key] is None else f"{r[key]:.1%}"  # noqa: E731
    return ("Machines drawn from a seed, simulated: size and ways of the last level, and what "
            "SRM-buffer does\nthere. *cut*: mean of the pairs of a victim and a program; *least*: "
            "the worst pair; *alone*: most\nthat a victim alone loses, with its share of the last "
            "level; *file side*: most that a program alone\nloses.",
            table(rows["machine"], {
                "machine": "machine", "caches": "description", "fs": "fs", "cut": cut("cut"),
                "least": cut("least"), "pair": "least_pair", "alone": percent("alone_loss"),
                "victim": "alone_victim", "file side": percent("file_side_loss"),
                "reader": "reader"}),
            "Victims beside programs, means of the victims.", pairs_table(rows["main"]),
            pairs(plain(data["summary"])), pairs(plain(data["parameters"])))


# Keys of bench-rocs for which the paper has figures.
ROCS_PAPER = {"mpki_cut_mean": "fewer misses, mean", "time_gain_mean": "less time, mean",
              "time_gain_max": "less time, best", "overhead_mean": "overhead, mean",
              "overhead_max": "overhead, worst", "search_gap_max": "gap, worst"}


def rocs(data):
    """bench-rocs."""
    share = lambda r, *keys: functools.reduce(lambda x, k: x[k], keys, r)  # noqa: E731
    percent = lambda *keys: lambda r: f"{share(r, *keys):.1%}"  # noqa: E731
    rows = {p: [r for r in data["rows"] if r["part"] == p]
            for p in ("loads", "programs", "mixed", "phases")}
    out = ["Modelled machines, simulated. *hop*: memory hops over the colors that are not "
           "reserved, nothing\nelse. *oracle*: the load itself puts its streamed arrays into the "
           "reserved colors. Each against all\npolicies off."]
    gains = {f"{what} {policy}": percent("gains", policy, key)
             for what, key in (("fewer misses,", "mpki_cut"), ("less time,", "time_gain"))
             for policy in ("hop", "oracle", "rocs")}
    if rows["loads"]:
        out += ["``--part loads``: loads with the memory behaviour of the programs of the paper.",
                table(rows["loads"], {"machine": "machine", "load": "load"} | gains),
                "*pages*: of the profile; *rank corr*: of the sampled miss rates with the rates "
                "that the model counts;\n*limit*: that of an unbiased sampler with as many "
                "samples; *overhead*: of sampling;\n*gap*: cycles that the choice of the coarse "
                "search costs beyond that of the linear one;\n*window*: the same by scores of "
                "single windows; *polluters*: share of the pages that moved.",
                table(rows["loads"], {
                    "machine": "machine", "load": "load",
                    "pages": lambda r: share(r, "truth", "pages"),
                    "rank corr": lambda r: f"{share(r, 'truth', 'rank_corr'):.3f}",
                    "limit": lambda r: f"{share(r, 'truth', 'rank_corr_limit'):.3f}",
                    "overhead": percent("overhead"), "gap": percent("search_gap"),
                    "window": percent("window_gap"),
                    "polluters": lambda r: f"{r['mapped'] / r['stack']:.0%}"})]
        paper, linear = data["parameters"]["paper"], data["parameters"]["linear"]
        out += ["Beside the paper's Table 3 and Figures 8 and 9, which are of another machine and "
                "of the programs\nthemselves. Gains here are those from when ROCS holds, without "
                "profile and search; the paper's are of\nwhole runs. The profile of the columns "
                "*rank corr* and "
                f"*overhead* has ``budget`` {linear['budget']} and\n``profile_windows`` "
                f"{linear['profile_windows']}, six times the samples of the default.",
                table([{"what": what, "here": data["summary"][key], "paper": paper[key]}
                       for key, what in ROCS_PAPER.items() if key in data["summary"]],
                      {"what": "what", "here": percent("here"), "paper": percent("paper")})]
    if rows["programs"]:
        out += ["``--part programs``: programs of Debian packages, for an instruction. A program "
                "that misses less\nthan once in 1000 instructions is left alone.",
                table(rows["programs"], {
                    "program": "program", "MPKI off": lambda r: f"{r['mpki']:.2f}",
                    **{k: v for k, v in gains.items() if "oracle" not in k},
                    "held": lambda r: "yes" if r["held"] else "no"})]
    if rows["mixed"]:
        out += ["``--part mixed``: the load art beside grep, which reads files again and again, "
                "and beside a process\nthat no cache holds. *Mcycles*: of a line of the "
                "load's report.",
                table(rows["mixed"], {
                    "policy": "policy", "state": "state",
                    "Mcycles": lambda r: f"{r['cycles'] / 1e6:.2f}",
                    "MPKI": lambda r: f"{r['mpki']:.1f}"})]
    if rows["phases"]:
        out += ["``--part phases``: a load whose two arrays, one reused and one streamed, change "
                "places from phase\nto phase. *work*: share of the phase until ROCS holds; "
                "*hold*: gain from then on; *whole*: gain over\nall of the phase, with profile "
                "and search. The first phase begins without ROCS.",
                table(rows["phases"], {
                    "phase": "phase", "work": percent("work"),
                    "less time, hold": lambda r: "-" if r["hold_gain"] is None
                    else f"{r['hold_gain']:.1%}",
                    "less time, whole": percent("gain")})]
    return out + [pairs(plain(data["summary"])), pairs(plain(data["parameters"]))]


def ubm(data):
    """bench-ubm."""
    rows = [r for r in data["rows"] if not r["control"]]
    engines = list(dict.fromkeys(r["engine"] for r in rows))
    names = list(dict.fromkeys(r["trace"] for r in rows))
    paper = [n for n in names if n in ("multi1", "multi2", "multi3")]

    def cells(some, key, **head):
        """A row of a table: a figure of each engine."""
        return head | {r["engine"]: f"{100 * r[key]:.1f}" for r in some}

    def by_size(name):
        """Rows of a trace, by size."""
        own = [r for r in rows if r["trace"] == name]
        return [cells([r for r in own if r["size"] == size], "hit_ratio", trace=name, size=size)
                for size in dict.fromkeys(r["size"] for r in own)]

    def mean_gain(name, control):
        """Mean gains of a trace, a row."""
        own = [r for r in data["rows"] if r["trace"] == name and r["control"] == control]
        return {"trace": name, "control": control or "none"} | {
            e: f"{100 * statistics.fmean(r['gain'] for r in own if r['engine'] == e):.1f}"
            for e in engines}

    def least(name, lists):
        """The least share of the hits of these lists that UBM leaves."""
        own = {(r["engine"], r["size"]): r["hits"] for r in rows if r["trace"] == name}
        return min((f"{100 * own[f'ubm-{lists}', size] / hits:.1f}" for (e, size), hits
                    in own.items() if e == lists and hits), key=float, default="no hits")

    heads = {e: e for e in engines}
    out = ["Counts of a replay in user space; exact. *ubm-mglru* and *ubm-classic* are what the "
           "kernel has: its own\nunit on models of its lists, *mglru* and *classic*. *bip-* are "
           "these lists with a trivial rival,\nand *ubm-paper* is the policy of the paper. "
           "Figures without a suffix are those of the kernel's worse lists:",
           pairs(plain(data["summary"]))]
    if paper:
        controls = list(dict.fromkeys(r["control"] for r in data["rows"]))
        out += ["The traces of the UBM paper: mean gain over LRU of the 13 sizes, in percent. "
                "The files of these\ntraces are lost, and their ids are numbered by first touch. "
                "So the controls say how much of a gain\nrests on that layout: *ids* renumbers "
                "the pages at random, *order* shuffles the references.",
                table([mean_gain(n, c) for c in controls for n in paper],
                      {"trace": "trace", "control": "control"} | heads)]
    made = [n for n in names if n.endswith(", generated")]
    out += ["Hit ratios by size of the cache in pages, in percent.",
            table([row for n in names if n not in made for row in by_size(n)],
                  {"trace": "trace", "size": "size"} | heads),
            "Generated traces, which look for harm: the least share of the hits of the same lists "
            "without UBM\nthat is left, over all sizes, in percent.",
            table([{"trace": n.removesuffix(", generated"), "classic": least(n, "classic"),
                    "mglru": least(n, "mglru")} for n in made],
                  {k: k for k in ("trace", "classic", "mglru")}),
            pairs(plain(data["parameters"]))]
    return out


def ubm_kernel(data):
    """bench-ubm-kernel."""
    live, predicted, cost = ([r for r in data["rows"] if r["part"] == part]
                             for part in ("live", "prediction", "cost"))
    policies = list(dict.fromkeys(r["policy"] for r in live))

    def beside(rows, cell):
        """A row for a program and a limit, with a cell of each policy."""
        first = rows[0]
        return {"program": first["program"], "MiB": f"{first['kib'] / 1024:.1f}"} | {
            r["policy"]: cell(r) for r in rows}

    def by_limit(cell):
        """A table of all programs and limits."""
        keys = list(dict.fromkeys((r["program"], r["share"]) for r in live))
        rows = [beside([r for r in live if (r["program"], r["share"]) == k], cell) for k in keys]
        return table(rows, {n: n for n in ("program", "MiB", *policies)})

    def reads(row):
        """Pages with their range, and what UBM saves."""
        cut = f", {-100 * row['cut']:+.1f} %" if "cut" in row else ""
        return f"{row['pages']:.0f} ({row['pages_max'] - row['pages_min']:.0f}){cut}"

    out = ["Simulated: the kernel in QEMU, real programs in a memory cgroup. *ubm* and *ubm-mglru* "
           "are UBM on the\nclassic lists and on MGLRU.", pairs(plain(data["summary"])),
           "Pages that the device read: mean over limits of memory close to that of the first "
           "columns (range).\nThe percentage is the difference from the same lists without UBM.",
           by_limit(reads),
           "Requests to the device, mean.", by_limit(lambda r: f"{r['requests']:.0f}"),
           "Seconds, modelled: CPU time, and 5 ms for a request to the device.",
           by_limit(lambda r: f"{r['elapsed_disk']:.2f}")]
    if predicted:
        out += ["Hit ratios of recorded references, in percent: of the kernel, and of the replay "
                "in user space\non models of the kernel's lists, with as many pages as its cache "
                "had on average.  Readahead is off.\n*rival*: what bimodal insertion would hit on "
                "the same lists, by the replay.",
                table(predicted, {"policy": "policy", "trace": "trace",
                                  "pages": lambda r: f"{r['cache_pages']:.0f}",
                                  "kernel": lambda r: f"{100 * r['kernel']:.2f}",
                                  "replay": lambda r: f"{100 * r['predicted']:.2f}",
                                  "gap": lambda r: f"{r['gap']:+.2f}",
                                  "rival": lambda r: "" if r["rival"] is None
                                  else f"{100 * r['rival']:.2f}"})]
    if cost:
        out += ["Instructions of a page, and of a *fork* with exec in the cgroup beside, with UBM "
                "off and on; the copy\nof a page counts as one. Files are holes: no device has a "
                "part. *small* is a memory cgroup of 16 MiB,\n*large* of 64 MiB; both reclaim. "
                "Streams are read once, *random4k* comes back at random, *reclaim* is\nwhat "
                "memory.reclaim takes, *fault* maps cached pages.",
                table(cost, {"cgroup": "cgroup", "lists": "lists", "counted": "kind", "off": "off",
                             "on": "on", "on / off": lambda r: f"{r['ratio']:.4f}"})]
    return out + [pairs(plain(data["parameters"]))]


# Part of bench-setcache: (title, its keys of the summary).
SETCACHE_PARTS = {
    "cost": ("Instructions of a read", r"(hit|miss|miss16k|miss64k|missring|read64k)_vs_"),
    "iops": ("Reads per second", r".*iops_vs_"),
    "locks": ("Locks", r".*bounces_vs_"),
    "ratio": ("Hit ratios", "ratio_"),
}


def setcache_table(part, rows):
    """The blocks of RST of a part of bench-setcache."""
    stores = {"page cache": "pagecache", "O_DIRECT": "direct", "page sets": "setcache"}

    def cell(key, form):
        """A figure, or nothing where a store has none."""
        return lambda r: format(r[key], form) if key in r else ""

    versus = {"/ page cache": cell("vs_pagecache", ".3f"), "/ O_DIRECT": cell("vs_direct", ".3f")}
    if part == "cost":
        return ["Simulated: the kernel in QEMU.  The devices are *brd*, a RAM disk, and "
                "*null_blk*, which keeps no\ndata; ext4 and XFS lie on brd.  A request is complete "
                "when it has been submitted, so figures hold\nno time of a device and no "
                "interrupt.  Files are read with ``POSIX_FADV_RANDOM``.",
                "Instructions of a page read; copying a page counts as one.  *64k* reads 16 pages "
                "at a time,\n*ring* reads 32 pages by io_uring.  Misses by the page cache are "
                "those of a full memory cgroup.",
                table(rows, {"place": "place", "read": "read"} | {
                    k: cell(v, ".0f") for k, v in stores.items()} | versus)]
    if part == "iops":
        return ["Thousand reads of 4 KiB per second of fio (psync), in the places of the section "
                "before.  An instruction\ntakes a nanosecond.  *sets' hits* is the share of pages "
                "that sets had, in percent.",
                table(rows, {"place": "place", "read": "read", "jobs": "jobs"} | {
                    k: (lambda r, v=v: f"{r[v] / 1000:.1f}" if v in r else "")
                    for k, v in stores.items()} | versus | {
                        "sets' hits": lambda r: f"{100 * r['hit_ratio']:.1f}"})]
    if part == "locks":
        return ["Locks per 1000 reads of fio, by LOCK_STAT: waits, acquisitions by another CPU "
                "than the last one\n(bounces), and all acquisitions; in parentheses the locks of "
                "sets.  CPUs of the guest run in\nparallel as far as the host has cores, which "
                "are two.",
                table(rows, {k: k for k in ("place", "read", "store", "jobs")} | {
                    c: (lambda r, c=c: f"{r[c]:.1f} ({r[f'{c}_of_sets']:.1f})")
                    for c in ("waits", "bounces", "acquisitions")})]
    return ["Hit ratios of the same references, in percent: of the kernel, and of the replay "
            "in user space, means\nover placements of pages in sets.  *spread*: largest minus "
            "least of the kernel.",
            table(rows, {"trace": "trace", "pages": "pages", "policy": "policy",
                         "kernel": cell("kernel", ".2f"), "spread": cell("spread", ".2f"),
                         "replay": cell("replay", ".2f"),
                         "gap": cell("gap", "+.2f")})]


def setcache(part, data):
    """A part of bench-setcache; None where the result file does not have it."""
    rows = [r for r in data["rows"] if r["part"] == part]
    keys = SETCACHE_PARTS[part][1]
    worst = {k: v for k, v in data["summary"].items() if re.match(keys, k)}
    where = {k: v for k, v in data["summary"]["where"].items() if k in worst}
    return rows and [
        *setcache_table(part, rows), pairs(plain(worst)),
        *(["The place of each ratio, the worst one:", pairs(where)] if where else []),
        pairs(plain(data["parameters"]) | {"commit": data["parameters"]["measured"][part]})]


def selftests(data):
    """make mm-selftests."""
    return ("The upstream mm kselftests on three kernels: pass, fail or skip, and cases "
            "ok/not ok/skipped\nwhere the test has them. *off*, *on*: the mcube allocator. "
            "``varies``: raced against the clock, and\nhad the same result on all three kernels "
            "when run again.",
            table(data["rows"], {"test": "test", "unpatched": "unpatched", "off": "store off",
                                 "on": "store on", "same": "same"}),
            pairs(plain(data["summary"] | data["parameters"])))


def stages(data):
    """make test."""
    rows = []
    for name, seconds in data["seconds"].items():
        cases = [c["state"] for c in data["cases"] if c["stage"] == name]
        rows.append({"stage": name, "s": seconds} | {s: cases.count(s) for s in
                                                     ("ok", "not ok", "skip")})
    return ("Seconds on two cores, with the kernels built.",
            table(rows, {"stage": "stage", "seconds": "s", "passed": "ok", "failed": "not ok",
                         "skipped": "skip"}))


def bank_maps(data):
    """make bench-map."""
    return ("Simulated: the maps of modelled machines, found again by timing pairs of lines, or "
            "refused. Rows\nwithout *guest* run the model's DRAM alone. *s*: modelled seconds.",
            table(data["rows"], {
                "machine": "name", "banks": lambda r: r["banks"] or "-", "outcome": "outcome",
                "confidence": lambda r: f"{r['confidence']:.3f}", "pairs": "timed",
                "s": lambda r: f"{r['simulated_seconds']:.2f}" if r["simulated_seconds"] else ""}),
            pairs(plain(data["summary"] | data["parameters"])))


# Section, named by its result file and by the part of the file that has its figures, if not all:
# (title, command, function that gives blocks of RST)
SECTIONS = {
    "test": ("Tests", "make test", stages),
    "alloc": ("Cost of a fault and a free", "make bench-alloc", alloc),
    "file": ("Cost of the page cache", "make bench-file", page_cache),
    "scale": ("Locks that CPUs share", "make bench-scale", scale),
    "irqsoff": ("Sections with interrupts off", "make bench-irqsoff", irqsoff),
    "demo": ("The demo", "make demo", demo),
    "model": ("The modelled machine", "make bench-model", model),
    "map": ("Bank maps by timing", "make bench-map", bank_maps),
    "verify": ("Color maps in guests", "make bench-verify", verify),
    "estimate": ("Placement on a real machine", "make bench-estimate", estimate),
    "m3": ("M3 on modelled machines", "make bench-m3", m3),
    "m3-starts": ("M3's Figures 6 and 7", "make bench-m3-starts", m3_starts),
    "srm": ("SRM-buffer on modelled machines", "make bench-srm", srm),
    "drawn": ("SRM-buffer on drawn machines", "make bench-drawn", drawn),
    "rocs": ("ROCS on modelled machines", "make bench-rocs", rocs),
    "ubm": ("Policies on traces", "make bench-ubm TRACES=DIR", ubm),
    "ubm-kernel": ("Real programs in the kernel", "make bench-ubm-kernel", ubm_kernel),
    "mm-selftests": ("Upstream mm kselftests", "make mm-selftests", selftests),
} | {f"srm:{part}": (title, f'make bench-srm ARGS="--part {part}"',
                     functools.partial(srm_part, part))
     for part, (title, _) in SRM_PARTS.items()} | {
         f"setcache:{part}": (title, f'make bench-setcache ARGS="--parts {part}"',
                              functools.partial(setcache, part))
         for part, (title, _) in SETCACHE_PARTS.items()}


# Document: (title, sections)
DOCUMENTS = {
    "results.rst": ("Results", [s for s in SECTIONS
                                if not s.startswith(("m3", "srm", "drawn", "rocs", "ubm",
                                                     "setcache"))]),
    "results-m3.rst": ("Results of M3", ["m3", "m3-starts"]),
    "results-srm.rst": ("Results of SRM-buffer",
                        ["srm", *(f"srm:{part}" for part in SRM_PARTS), "drawn"]),
    "results-rocs.rst": ("Results of ROCS", ["rocs"]),
    "results-ubm.rst": ("Results of UBM", ["ubm-kernel", "ubm"]),
    "results-setcache.rst": ("Results of page sets",
                             [f"setcache:{part}" for part in SETCACHE_PARTS]),
}


def section(stem):
    """One section, or None where its result file or its part of the file is missing."""
    title, command, blocks = SECTIONS[stem]
    path = BUILD / f"results/{stem.partition(':')[0]}.json"
    body = path.is_file() and blocks(json.loads(path.read_text("utf-8")))
    if not body:
        return None
    body = "\n\n".join(body)
    return f"{title}\n{'=' * len(title)}\n\n``{command}``\n\n{body}\n"


def standing(text):
    """Sections of the present document: {title: text}."""
    parts = re.split(r"^(?=\S.*\n=+\n\n``make )", text, flags=re.M)
    return {p.split("\n", 1)[0]: p.rstrip() + "\n" for p in parts[1:]}


def render(path, title, stems):
    """A whole document, and which results were missing."""
    old = standing(path.read_text("utf-8")) if path.is_file() else {}
    out, missing = [HEAD.format(title=title, rule="=" * len(title))], []
    for stem in stems:
        title, command, _ = SECTIONS[stem]
        new = section(stem)
        if not new:
            missing.append(command)
            new = old.get(title)
        if new:
            out.append(new)
    return "\n".join(out), missing


def svg(path):
    """Text of an SVG, with its license and without blanks at the ends of lines."""
    text = re.sub(r" +$", "", path.read_text("utf-8"), flags=re.M)
    return text.replace("\n", "\n<!-- SPDX-License-Identifier: GPL-2.0 -->\n", 1)


def run():
    """Command line."""
    parser = ui.parser(__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; 1 if it differs")
    args = parser.parse_args()
    texts, without = {}, []
    for name, (title, stems) in DOCUMENTS.items():
        texts[FOLDER / name], missing = render(FOLDER / name, title, stems)
        without += missing
    picture = BUILD / "results/m3.svg"
    if SECTIONS["m3"][1] not in without and picture.is_file():
        texts[FOLDER / "results-m3.svg"] = svg(picture)
    for command in without:
        say(f"no result of '{command}': its section stays as it is")
    if len(without) == len(SECTIONS):
        raise Failure("there are no results", f"run one of: {', '.join(without)}")
    if args.check:
        return int(any(not p.is_file() or p.read_text("utf-8") != t for p, t in texts.items()))
    for path, text in texts.items():
        ui.write_if_changed(path, text.encode())
        say(f"written: {path}")
    return 0


if __name__ == "__main__":
    ui.main(run)
