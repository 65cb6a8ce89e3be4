# SPDX-License-Identifier: GPL-2.0
"""bench-ubm-kernel, part prediction: hit ratios of the kernel and of the user-space replay.

`mcube replay` reads the recorded ranges in a guest, without readahead, so that each miss is
a miss of the policy. The user-space replay gets the same references, models of the kernel's
lists, and a cache of as many pages as the kernel's cache had on average when it was full.
prediction_gap_max is that of UBM, prediction_gap_stock_max that of the lists alone.
"""

import functools
import json
import re
import statistics
import subprocess
import tempfile
from pathlib import Path

from lab import Failure
from lib import ui
from mcube_cmd import trace
from mcube_cmd.term import print_table
from . import guest
from .live import NO_POLICY

# Policy of the kernel: engine of the replay.
ENGINES = {"lru": "classic", "mglru": "mglru", "ubm": "ubm-classic", "ubm-mglru": "ubm-mglru"}
# KiB of the process that replays, beside the page cache.
BESIDE = 1000
SHARES = (0.4, 0.7)
# Replays in the kernel, whose runs differ by some points where pages are few.
REPEAT = 3
# Secrets of UBM's hash, which the kernel draws at random, to predict for.
SECRETS = 9
REPLAY = ui.BUILD / "replay/mcube-replay"


def engines():
    """The user-space replay, and its engines."""
    ui.sh("make", "-s", "-C", ui.ROOT / "tools/testing/mcube/replay", f"O={REPLAY.parent}")
    text = ui.sh(REPLAY, "--help")
    return set(re.findall(r"^  (\S+) ", text.partition("engines:")[2], re.M))


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


def replay(path, engine, sizes, secret):
    """{pages: hit ratio} of an engine of the user-space replay."""
    with tempfile.NamedTemporaryFile("w+", suffix=".json") as f:
        got = subprocess.run([REPLAY, "--engines", engine, "--sizes", ",".join(map(str, sizes)),
                              "--secret", str(secret), "--json", path], stdout=f,
                             stderr=subprocess.PIPE, text=True, check=False)
        if got.returncode:
            raise Failure(f"{REPLAY.name} failed: {got.stderr.strip()}", "run it by itself")
        data = json.loads(Path(f.name).read_text("utf-8"))
    return {r["size"]: r["hit_ratio"] for r in data["rows"]}


def predicted(path, engine, sizes):
    """{pages: hit ratio}, means over secrets of UBM's hash; lists alone have no hash."""
    secrets = range(SECRETS if engine.startswith("ubm") else 1)
    found = [replay(path, engine, sizes, s * 0x9e3779b97f4a7c15 % 2**63) for s in secrets]
    return {size: statistics.fmean(f[size] for f in found) for size in sizes}


def rows_of(traces, out, known):
    """A row for each policy, trace and limit of memory."""
    rows = []
    for policy, by_name in out.items():
        engine = ENGINES[policy]
        for path in traces if engine in known else ():
            found = by_name[path.name.partition(".")[0]]
            ratios = predicted(path, engine, sorted({int(r["cache_pages"]) for r in found}))
            for memory in sorted({r["memory"] for r in found}):
                same = [r for r in found if r["memory"] == memory]
                mean = {k: statistics.fmean(r[k] for r in same)
                        for k in ("cache_pages", "hit_ratio", "device_pages")}
                expected = statistics.fmean(ratios[int(r["cache_pages"])] for r in same)
                rows.append({"part": "prediction", "policy": policy, "engine": engine,
                             "trace": path.name.partition(".")[0], "kib": memory >> 10,
                             "cache_pages": int(mean["cache_pages"]),
                             "kernel": mean["hit_ratio"], "predicted": expected,
                             "gap": 100 * (mean["hit_ratio"] - expected),
                             "device_pages": mean["device_pages"]})
    return rows


def show(rows):
    """Print the table."""
    print("\nhit ratios of the recorded references: the kernel's, and those of the replay\n")
    print_table(["policy", "trace", "memory", "cache pages", "kernel", "replay", "gap, points"],
                [[r["policy"], r["trace"], f"{r['kib']:,} KiB", f"{r['cache_pages']:,}",
                  f"{r['kernel']:.2%}", f"{r['predicted']:.2%}", f"{r['gap']:+.2f}"]
                 for r in rows], 2, lead="  ")


def summarize(rows):
    """Keys of the summary."""
    out = {}
    for key, ours in (("prediction_gap_max", True), ("prediction_gap_stock_max", False)):
        mine = [abs(r["gap"]) for r in rows if r["policy"].startswith("ubm") == ours]
        if mine:
            out[key] = max(mine)
    return out
