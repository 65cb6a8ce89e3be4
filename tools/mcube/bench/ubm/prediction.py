# SPDX-License-Identifier: GPL-2.0
"""bench-ubm-kernel, part prediction: hit ratios of the kernel and of the user-space replay.

`mcube replay` reads the recorded ranges in a guest, without readahead, so that each miss is
a miss of the policy. The user-space replay gets the same references, models of the kernel's
lists, and a cache of as many pages as the kernel's cache had on average when it was full.
prediction_gap_max is that of UBM, prediction_gap_stock_max that of the lists alone. What a
trivial rival of UBM would hit stands beside it, as the replay says: the kernel has no such policy.
"""

import functools
import json
import statistics

from lab import Failure
from lib import ui
from mcube_cmd import trace
from mcube_cmd.term import print_table
from . import guest
from .live import NO_POLICY

# Policy of the kernel: (engine of the replay, its rival).
ENGINES = {"lru": ("classic", None), "mglru": ("mglru", None),
           "ubm": ("ubm-classic", "bip-classic"), "ubm-mglru": ("ubm-mglru", "bip-mglru")}
# The kernel holds nothing below so many pages, see mm/mcube/ubm/lruvec.c: then the lists alone
# predict what it does.
LEAST = 512
# KiB of the process that replays, beside the page cache.
BESIDE = 1000
SHARES = (0.4, 0.7)
# Replays in the kernel, whose runs differ by some points where pages are few.
REPEAT = 2
REPLAY = ui.BUILD / "replay/mcube-replay"


def build():
    """Build the user-space replay."""
    ui.sh("make", "-s", "-C", ui.ROOT / "tools/testing/mcube/replay", f"O={REPLAY.parent}")


def pages_of(path):
    """Pages that a trace refers to, as (pages of its files, page references)."""
    recorded = trace.read(path)
    return sum(recorded.reach()), recorded.pages()


def run_guest(args, disk, traces, out, policy):
    """Replay all traces under a policy."""
    lines = ["begin rw,noatime", f"policy {policy} || {{ echo '{NO_POLICY}'; exit 0; }}"]
    for path in traces:
        name, (pages, _) = path.name.partition(".")[0], pages_of(path)
        memory = " ".join(f"{BESIDE + int(s * pages * 4)}K" for s in args.prediction_shares)
        lines.append(f"mcube replay /guest/{path.name} --dir /data --memory {memory} "
                     f"--no-readahead --repeat {REPEAT} --json > /results/{name}.json")
    vm = guest.make(f"{disk},snapshot=on", args.kernel, counted=True)
    guest.with_command(vm)
    for path in traces:
        vm.root.file(path, f"/guest/{path.name}")
    result = guest.run(vm, f"prediction-{policy}", lines, args.timeout)
    if NO_POLICY in result.output:
        return
    out[policy] = {p.stem: json.loads(p.read_text("utf-8"))["rows"]
                   for p in sorted(result.results.glob("*.json"))}
    if len(out[policy]) != len(traces):
        raise Failure(f"{policy}: replays are missing", f"console: {result.console}")


def jobs(args, disk, traces, out):
    """A job for each policy that an engine predicts."""
    return [functools.partial(run_guest, args, disk, traces, out, p)
            for p in args.policies if p in ENGINES]


def predicted(path, engines, sizes):
    """{(engine, pages): hit ratio} of the user-space replay."""
    data = json.loads(ui.sh(REPLAY, "--json", "--engines", ",".join(engines),
                            "--sizes", ",".join(map(str, sizes)), path))
    return {(r["engine"], r["size"]): r["hit_ratio"] for r in data["rows"]}


def rows_of(traces, out):
    """A row for each policy, trace and limit of memory."""
    rows = []
    for policy, by_name in out.items():
        engine, rival = ENGINES[policy]
        alone = engine.removeprefix("ubm-")
        for path in traces:
            found = by_name[path.name.partition(".")[0]]
            ratios = predicted(path, [e for e in dict.fromkeys((engine, alone, rival)) if e],
                               sorted({int(r["cache_pages"]) for r in found}))
            for memory in sorted({r["memory"] for r in found}):
                same = [r for r in found if r["memory"] == memory]
                row = {"part": "prediction", "policy": policy, "engine": engine,
                       "trace": path.name.partition(".")[0], "kib": memory >> 10}
                for key, name in (("cache_pages", "cache_pages"), ("kernel", "hit_ratio"),
                                  ("device_pages", "device_pages")):
                    row[key] = statistics.fmean(r[name] for r in same)
                if row["cache_pages"] < LEAST:
                    row["engine"] = alone
                for key, name in (("predicted", row["engine"]), ("rival", rival)):
                    row[key] = statistics.fmean(
                        ratios[name, int(r["cache_pages"])] for r in same) if name else None
                rows.append(row | {"gap": 100 * (row["kernel"] - row["predicted"])})
    return rows


def show(rows):
    """Print the table."""
    print("\nhit ratios of the recorded references: the kernel's, those of the replay, and those "
          "of a rival\n")
    print_table(["policy", "trace", "memory", "cache pages", "kernel", "replay", "gap, points",
                 "rival"],
                [[r["policy"], r["trace"], f"{r['kib']:,} KiB", f"{r['cache_pages']:,.0f}",
                  f"{r['kernel']:.2%}", f"{r['predicted']:.2%}", f"{r['gap']:+.2f}",
                  "" if r["rival"] is None else f"{r['rival']:.2%}"]
                 for r in rows], 2, lead="  ")


def summarize(rows):
    """Keys of the summary."""
    out = {}
    for key, ours in (("prediction_gap_max", True), ("prediction_gap_stock_max", False)):
        mine = [abs(r["gap"]) for r in rows if r["policy"].startswith("ubm") == ours]
        if mine:
            out[key] = max(mine)
    return out
