#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""The page sets of the set-associative page cache, in user space.

All figures are of the pure units of drivers/mcube/setcache/ on the cores of this machine;
no kernel runs. Parts:

    hits     hit ratios of the policies on skewed references (Zipf 0.99, as YCSB has
             them) and on traces, beside LRU, CLOCK, the generations of the kernel (MGLRU)
             and ARC of the same size
    scaling  threads that read random pages, beside the kernel's lib/xarray.c with a lock
             and two LRU lists: references per second, times, share of time in lock waits

    make bench-sets
    make bench-sets ARGS="--traces DIR --seconds 1"
    make bench-sets ARGS="--parts hits"
"""

import bisect
import itertools
import json
import os
import random
import statistics
import subprocess
from pathlib import Path

import lab  # first: it makes the other packages importable
from lab import Failure
from lib import ui
from lib.ui import BUILD, ROOT

TESTS = ROOT / "tools/testing/mcube"
ENGINES = ("lru", "clock", "mglru", "arc", "sa-lru", "sa-lfu", "sa-nrlfu", "sa-s3fifo")
SHARES = (1, 5, 10, 20, 40)
TRACES = {"sprite": (400, 800, 1600), "multi1": (600, 1400), "multi2": (600, 1400),
          "multi3": (600, 1400), "gli": (1000,), "ps": (1000,), "cpp": (100,), "cs": (500,)}
PAGES = 65536
# Name of a mix: pages of the file. Sets fill unevenly, so a file that is always hit has half
# as many pages as fit.
MIXES = {"hits": PAGES // 2, "half": 2 * PAGES, "misses": 20 * PAGES}


def arguments():
    """Command line."""
    parser = ui.parser(__doc__)
    parser.add_argument("--parts", nargs="+", default=list(PARTS), choices=list(PARTS))
    parser.add_argument("--traces", type=Path, default=ROOT.parent / "shared/traces",
                        help="folder of NAME.trace.gz (default: %(default)s)")
    parser.add_argument("--pages", type=int, default=100000, help="pages of the Zipf file")
    parser.add_argument("--references", type=int, default=1000000,
                        help="references of the Zipf file")
    parser.add_argument("--seconds", type=float, default=1, help="time of a scaling run")
    parser.add_argument("--placements", type=int, default=40,
                        help="placements of the pages of a trace in sets")
    parser.add_argument("--repeat", type=int, default=5, help="runs of a scaling row")
    parser.add_argument("--threads", type=int, nargs="+",
                        default=sorted({1, *range(2, (os.cpu_count() or 1) + 1)}))
    return parser.parse_args()


def zipf_trace(pages, references, shift=0):
    """A trace with skew 0.99; each `shift` references a seventh of the pages later."""
    path = BUILD / "replay" / f"zipf-{pages}-{references}-{shift}.trace"
    if not path.exists():
        rnd = random.Random(1)
        weights = list(itertools.accumulate(1 / (i + 1) ** 0.99 for i in range(pages)))
        ids = list(range(pages))
        rnd.shuffle(ids)
        lines = []
        for i in range(references):
            rank = bisect.bisect(weights, rnd.random() * weights[-1])
            rank += i // shift * (pages // 7) if shift else 0
            lines.append(f"{ids[rank % pages]}\n")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(lines), "ascii")
    return path


def replayed(name, path, sizes, placements):
    """Rows of a trace, a row for each size: means over placements of pages in sets."""
    found = {}
    for seed in range(1, placements + 1):
        got = subprocess.run([BUILD / "replay/mcube-replay", "--json", "--shuffle", "ids",
                              "--seed", str(seed), "--engines", ",".join(ENGINES),
                              "--sizes", ",".join(map(str, sizes)), path],
                             text=True, capture_output=True, check=False)
        if got.returncode:
            raise Failure(f"the replay of {path} failed: {got.stderr.strip()}")
        for each in json.loads(got.stdout)["rows"]:
            found.setdefault((each["size"], each["engine"]), []).append(each["hit_ratio"])
    return [{"part": "hits", "trace": name, "pages": size}
            | {e: round(100 * statistics.fmean(found[size, e]), 2) for e in ENGINES}
            for size in sizes]


def hits(args):
    """Rows of hit ratios, in percent."""
    ui.sh("make", "-s", "-C", TESTS / "replay", f"O={BUILD / 'replay'}")
    sizes = [args.pages * s // 100 for s in SHARES]
    moves = args.references // 10
    rows = replayed("zipf", zipf_trace(args.pages, args.references), sizes, 1)
    rows += replayed("zipf-moves", zipf_trace(args.pages, args.references, moves), sizes, 1)
    for name, some in TRACES.items():
        path = args.traces / f"{name}.trace.gz"
        if path.exists():
            rows += replayed(name, path, some, args.placements)
        else:
            print(f"{path} is missing; the trace is left out")
    print(f"\n{'hit ratio, %':12} {'pages':>7}" + "".join(f"{e:>10}" for e in ENGINES))
    for row in rows:
        print(f"{row['trace']:12} {row['pages']:7}" + "".join(f"{row[e]:10.2f}" for e in ENGINES))
    return rows


def scale(mix, threads, args):
    """Rows of both stores: of their runs, taken in turns, those with the median speed."""
    runs = {"pagecache": [], "setcache": []}
    for _ in range(args.repeat):
        for store, mine in runs.items():
            got = subprocess.run([BUILD / "setcache_scale/scale", store, str(threads),
                                  str(PAGES), str(MIXES[mix]), str(args.seconds)],
                                 text=True, capture_output=True, check=False)
            if got.returncode:
                raise Failure(f"scale failed: {got.stderr.strip()}")
            mine.append(json.loads(got.stdout))
    out = []
    for mine in runs.values():
        mine.sort(key=lambda r: r["ops_per_s"])
        out.append({"part": "scaling", "mix": mix} | mine[len(mine) // 2]
                   | {"ops_per_s_min": mine[0]["ops_per_s"],
                      "ops_per_s_max": mine[-1]["ops_per_s"]})
    return out


def scaling(args):
    """Rows of references per second."""
    ui.sh("make", "-s", "-C", TESTS / "setcache_scale", f"O={BUILD / 'setcache_scale'}")
    rows = []
    print(f"\n{'mix':8}{'threads':>8}{'store':>11}{'M ops/s':>9}{'hits':>7}{'p50 ns':>8}"
          f"{'p99 ns':>8}{'waits/op':>10}{'waiting':>9}")
    for mix, threads in itertools.product(MIXES, args.threads):
        for row in scale(mix, threads, args):
            rows.append(row)
            print(f"{mix:8}{threads:8}{row['store']:>11}{row['ops_per_s'] / 1e6:9.2f}"
                  f"{row['hit_ratio']:7.3f}{row['p50_ns']:8}{row['p99_ns']:8}"
                  f"{row['waits_per_op']:10.5f}{row['lock_wait_share']:9.4f}", flush=True)
    return rows


def summary_of(rows):
    """The figures that the issue asks for."""
    out = {}
    zipf = [r for r in rows if r.get("trace") == "zipf"]
    if zipf:
        gain = [(r["sa-s3fifo"] - r["sa-lru"], r["sa-nrlfu"] - r["sa-lru"]) for r in zipf]
        out["zipf_gain_kept_min"] = round(min(a / b for a, b in gain), 3)
    for r in rows:
        if r.get("trace") == "sprite" and r["pages"] == 800:
            out["sprite_800_below_lru"] = round(r["lru"] - r["sa-s3fifo"], 2)
    for mix in MIXES:
        mine = {(r["store"], r["threads"]): r for r in rows if r.get("mix") == mix}
        if not mine:
            continue
        most = max(threads for _, threads in mine)
        out[f"{mix}_vs_pagecache_{most}_threads"] = round(
            mine["setcache", most]["ops_per_s"] / mine["pagecache", most]["ops_per_s"], 3)
    return out


PARTS = {"hits": hits, "scaling": scaling}


def main():
    """Run the parts, print the tables, write the result."""
    args = arguments()
    ui.sh(ROOT / "tools/mcube/dev/deps.sh", "bench", quiet=False)
    rows = [row for part in args.parts for row in PARTS[part](args)]
    result = summary_of(rows)
    parameters = {"kind": "user-space cores", "cores": os.cpu_count(), "pages": PAGES,
                  "locks": "pthread mutexes", "zipf_pages": args.pages,
                  "zipf_references": args.references, "seconds": args.seconds,
                  "repeat": args.repeat, "placements": args.placements}
    path = lab.save("sets", parameters, rows, result)
    print("\n" + "\n".join(f"{k}: {v}" for k, v in result.items()) + f"\nwritten: {path}")


if __name__ == "__main__":
    ui.main(main)
