#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Replacement policies side by side on traces of page references; needs no kernel.

    make bench-ubm TRACES=DIR       public traces of DIR, and the recorded ones
    make bench-ubm                  only the traces that this project recorded

DIR has NAME.trace.gz with an id per line. multi1, multi2 and multi3, the traces of the UBM
paper, are run at the sizes of the paper. All other traces are run at shares of their distinct
pages. Ids of public traces count as page indices of a single file: the layout is
reconstructed. So two controls stand beside: ids renumbered at random, and order shuffled.

Engines of the replay (build/replay/mcube-replay --help lists them): ubm-mglru and ubm-classic are
what the kernel has, its own unit on models of its lists; mglru and classic are these lists
alone, and bip-* a trivial rival on them. ubm-paper is the policy of the paper.

Figures without a suffix are those of the kernel's worse lists. Harm is counted against the same
lists without UBM, on all traces: also on generated ones (ubm_traces.py), which are there to find
harm.
"""

import argparse
import json
import statistics
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import lab  # first: it makes the other packages importable
import ubm_traces
from lab import Failure
from lib import ui
from mcube_cmd.term import print_table

ENGINES = ("lru", "arc", "lirs", "ubm-paper", "classic", "bip-classic", "ubm-classic", "mglru",
           "bip-mglru", "ubm-mglru", "opt")
# Suffix of summary keys: UBM, the same lists without it, the rival on them.
OURS = {f"_{lists}": (f"ubm-{lists}", lists, f"bip-{lists}") for lists in ("classic", "mglru")}
PAPER = ("multi1", "multi2", "multi3")
SIZES = (200, 400, 600, 800, 1000, 1200, 1400, 1600, 1800, 2000, 2200, 2600, 3000)
SHARES = ("5%", "10%", "20%", "40%", "70%")
CONTROLS = ("ids", "order")
GENERATED = "generated"
RECORDED = ui.ROOT / "tools/testing/mcube/traces"
# The gains of LIRS on the traces of the paper.
TARGETS = {"gain_multi1": 0.224, "gain_multi2": 0.412, "gain_multi3": 0.432,
           "p2_vs_best_min": 0.95}
HARM = 0.02
COLORS = {"lru": "#000000", "mglru": "#bbbbbb", "ubm-paper": "#aa3377", "arc": "#ccbb44",
          "lirs": "#66ccee", "ubm-classic": "#ee6677", "ubm-mglru": "#228833", "opt": "#4477aa"}


def replay(program, path, shuffle, seed):
    """Run a trace through all engines; rows with the gain over LRU."""
    name = path.name.removesuffix(".trace.gz")
    generated = path.parent.name.startswith(GENERATED)
    sizes = SIZES if name in PAPER else ubm_traces.SIZES if generated else SHARES
    argv = [program, "--json", "--engines", ",".join(ENGINES), "--seed", seed,
            "--sizes", ",".join(map(str, sizes))]
    got = json.loads(ui.sh(*argv, *(("--shuffle", shuffle) if shuffle else ()), path))
    lru = {r["size"]: r["hits"] for r in got["rows"] if r["engine"] == "lru"}
    kind = "recorded" if got["has_files"] else GENERATED if generated else "public"
    return [{"trace": name if kind == "public" else f"{name}, {kind}",
             "kind": kind, "control": shuffle,
             "references": got["references"], "pages": got["pages"]} | r
            | {"gain": r["hits"] / lru[r["size"]] - 1 if lru[r["size"]] else None}
            for r in got["rows"]]


def traces(folder):
    """Files of the traces to run."""
    public = sorted(folder.glob("*.trace.gz")) if folder else []
    if not public:
        print(f"    there are no public traces in {folder}" if folder
              else "    there are no public traces: give their folder by TRACES=DIR")
    recorded = sorted(RECORDED.glob("*.trace.gz"))
    if not public + recorded:
        raise Failure("there are no traces", "make bench-ubm TRACES=DIR")
    return public + recorded


def mine(rows, **where):
    """Rows with these values."""
    return [r for r in rows if all(r[k] == v for k, v in where.items())]


def gains(rows):
    """The gains of rows, where LRU had hits."""
    return [r["gain"] for r in rows if r["gain"] is not None]


def worst_harm(rows, engine, base):
    """(the largest share of the hits of the same lists that an engine loses, trace, size)."""
    hits = {(r["trace"], r["size"]): r["hits"] for r in mine(rows, engine=base)}
    return max([(0.0, "no trace", 0), *(
        (1 - r["hits"] / hits[r["trace"], r["size"]], r["trace"], r["size"])
        for r in mine(rows, engine=engine) if hits[r["trace"], r["size"]])])


def versus_best(rows, engine):
    """The least ratio of P2's hits to those of the better of ARC and LIRS; None without P2."""
    hits = {(r["size"], r["engine"]): r["hits"] for r in mine(rows, trace="P2")}
    return min((hits[size, engine] / max(hits[size, "arc"], hits[size, "lirs"])
                for size in {size for size, _ in hits}), default=None)


def covered(rows, engine):
    """Share of the way from LRU to OPT in hits, all sizes of a trace together; traces' mean."""
    shares = []
    for trace in dict.fromkeys(r["trace"] for r in rows):
        lru, own, opt = (sum(r["hits"] for r in mine(rows, trace=trace, engine=e))
                         for e in ("lru", engine, "opt"))
        if opt > lru:
            shares.append((own - lru) / (opt - lru))
    return statistics.fmean(shares) if shares else 0.0


def summary_of(rows, engine, base, rival):
    """Summary of an engine."""
    plain = mine(rows, control="")
    own = mine(plain, engine=engine)
    of_paper = {t: gains(mine(own, trace=t)) for t in PAPER}
    cells = [g for got in of_paper.values() for g in got]
    out = {f"gain_{t}": statistics.fmean(got) for t, got in of_paper.items() if got}
    if cells:
        out |= {"gain_mean": statistics.fmean(cells), "gain_max": max(cells),
                "rival_gain_mean": statistics.fmean(
                    g for t in PAPER for g in gains(mine(plain, trace=t, engine=rival)))}
    out["worst_harm"] = worst_harm(plain, engine, base)[0]
    if (got := versus_best(plain, engine)) is not None:
        out["p2_vs_best_min"] = got
    for control in CONTROLS:
        if got := gains(mine(rows, engine=engine, control=control)):
            out[f"control_{control}_gain_mean"] = statistics.fmean(got)
    for kind in ("public", "recorded"):
        if got := mine(plain, kind=kind):
            out[f"covered_{kind}"] = covered(got, engine)
    return {k: round(v, 5) for k, v in out.items()}


def summarize(rows):
    """Summary: for each key the worse of the kernel's two lists, then those of each."""
    each = {suffix: summary_of(rows, *names) for suffix, names in OURS.items()}
    worse = {k: (max if k in ("worst_harm", "rival_gain_mean") else min)(
        got[k] for got in each.values()) for k in next(iter(each.values()))}
    return worse | {k + suffix: v for suffix, got in each.items() for k, v in got.items()}


def percent(value):
    """A share in percent; a dash where LRU has no hits."""
    return "-" if value is None else f"{100 * value:.1f}"


def show_hits(rows, trace):
    """Print hit ratios of a trace by size."""
    own = mine(rows, trace=trace, control="")
    by = {(r["size"], r["engine"]): r["hit_ratio"] for r in own}
    print(f"\n  {trace}: {own[0]['references']} references, {own[0]['pages']} pages; hit "
          "ratios, %\n")
    print_table(["size", *ENGINES], [
        [size, *(percent(by[size, e]) for e in ENGINES)]
        for size in sorted({s for s, _ in by})], 0, "  ")


def show_shares(rows):
    """Print for each trace how much of the way from LRU to OPT each engine goes."""
    names = dict.fromkeys(r["trace"] for r in rows)
    print("\n  share of the way from LRU to OPT, all sizes together, %\n")
    print_table(["trace", *ENGINES], [
        [n, *(percent(covered(mine(rows, trace=n, control=""), e)) for e in ENGINES)]
        for n in names], 1, "  ")


def show(rows, summary):
    """Print all tables."""
    names = list(dict.fromkeys(r["trace"] for r in rows))
    for trace in names:
        show_hits(rows, trace)
    show_shares(rows)
    for control, title in zip(("", *CONTROLS), ("", ", control: ids renumbered",
                                                ", control: order shuffled")):
        some = [n for n in PAPER if mine(rows, trace=n, control=control)]
        if some:
            print(f"\n  mean gain over LRU at {len(SIZES)} sizes, %{title}\n")
            print_table(["trace", *ENGINES], [
                [n, *(percent(statistics.fmean(gains(mine(rows, trace=n, control=control,
                                                          engine=e)))) for e in ENGINES)]
                for n in some], 1, "  ")
    print()
    for suffix, (engine, base, _) in OURS.items():
        print(f"  {engine}:")
        for key, least in TARGETS.items():
            if (got := summary.get(key + suffix)) is not None:
                print(f"    {key} {got:.4f}, target {least}: {lab.verdict(least, got)}")
        harm, trace, size = worst_harm(mine(rows, control=""), engine, base)
        print(f"    worst_harm {harm:.4f} against {base}, target {HARM}: "
              f"{lab.verdict(harm, HARM)}; it is that of {trace}, {size} pages")


def draw(rows):
    """Hit ratios by size, a panel for each trace; returns the path."""
    plt = lab.pyplot()
    names = list(dict.fromkeys(r["trace"] for r in rows))
    wide = min(5, len(names))
    high = -(-len(names) // wide)
    fig, axes = plt.subplots(high, wide, figsize=(3.6 * wide, 2.7 * high), squeeze=False)
    for ax, name in zip(axes.flat, names):
        for engine, color in COLORS.items():
            own = sorted(mine(rows, trace=name, control="", engine=engine),
                         key=lambda r: r["size"])
            ax.plot([r["size"] for r in own], [100 * r["hit_ratio"] for r in own], ".-",
                    color=color, lw=1, ms=3, label=engine)
        ax.set_title(name, fontsize=8)
        ax.tick_params(labelsize=6)
    for ax in axes.flat[len(names):]:
        ax.axis("off")
    axes.flat[0].set_ylabel("hit ratio, %", fontsize=8)
    axes.flat[0].set_xlabel("pages of the cache", fontsize=8)
    axes.flat[0].legend(fontsize=6)
    fig.tight_layout()
    path = lab.picture(fig, "ubm")
    plt.close(fig)
    return path


def arguments():
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--traces", type=Path, metavar="DIR", help="folder of public traces")
    parser.add_argument("--seed", type=int, default=1, help="of the controls")
    parser.add_argument("--jobs", type=int, default=min(2, ui.JOBS), help="traces at a time")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    return parser.parse_args()


def run():
    """Command line."""
    args = arguments()
    lab.begin(args)
    ui.sh(ui.ROOT / "tools/mcube/dev/deps.sh", "bench", quiet=False)
    steps = ui.Steps("bench-ubm", ["build the replay", "run the traces", "report"])
    steps("build the replay")
    out = ui.BUILD / "replay"
    ui.sh("make", "-s", "-C", ui.ROOT / "tools/testing/mcube/replay", f"O={out}")
    steps("run the traces")
    paths = traces(args.traces)
    jobs = [(p, "") for p in paths]
    jobs += [(p, c) for p in paths for c in CONTROLS if p.name.split(".")[0] in PAPER]
    with (tempfile.TemporaryDirectory(prefix=GENERATED) as made,
          ThreadPoolExecutor(max(1, args.jobs)) as pool):
        jobs += [(p, "") for p in ubm_traces.write(Path(made))]
        done = pool.map(lambda j: replay(out / "mcube-replay", *j, args.seed), jobs)
        rows = [r for got in done for r in got]
    steps("report")
    summary = summarize(rows)
    show(rows, summary)
    png = draw(rows)
    path = lab.save("ubm", {
        "kind": "exact counts of a replay in user space",
        "traces": list(dict.fromkeys(r["trace"] for r in rows)),
        "sizes_of_multi": list(SIZES), "shares": list(SHARES), "seed": args.seed},
        rows, summary)
    print(f"\nwritten: {path}\n         {png}")
    lab.finish(path, steps, args)
    return 0


if __name__ == "__main__":
    ui.main(run)
