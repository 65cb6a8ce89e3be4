# SPDX-License-Identifier: GPL-2.0
"""bench-setcache, part ratio: hit ratios of the kernel and of the user-space replay.

A program in the guest reads pages of a file in the order of a trace, and the counters of
page sets tell the hit ratio. The replay in user space has the same policies in the same
code. All figures are means over placements of the pages in sets, by other seeds each time.
The file is one hole, so that no device has a part.
"""

import array
import functools
import gzip
import json
import statistics
import subprocess
import tempfile

import lab  # first: it makes the other packages importable
import guests
from lab import Failure
from lib import ui
from mcube_cmd.term import print_table
from qemu import Guest, image
import sets

S = "/sys/kernel/mm/mcube/setcache"
POLICIES = ("lru", "lfu", "nrlfu", "s3fifo")
PAGES_OF_A_MIB = 256
# Trace: sizes in MiB. The Zipf trace is that of make bench-sets, with fewer references.
TRACES = {"zipf": (4, 20), "sprite": (3, 6)}
ZIPF = (20000, 200000)
# Placements of the replay, and of the kernel.
PLACEMENTS, IN_KERNEL = 10, 5
REPLAY = ui.BUILD / "replay/mcube-replay"


def path_of(args, name):
    """The trace; None if it is missing."""
    path = sets.zipf_trace(*ZIPF) if name == "zipf" else args.traces / f"{name}.trace.gz"
    return path if path.is_file() else None


def references(path):
    """Numbers of pages, numbered by first reference."""
    opened = gzip.open(path, "rt") if path.suffix == ".gz" else open(path, encoding="ascii")
    known = {}
    with opened as f:
        return array.array("I", (known.setdefault(w, len(known)) for w in f.read().split()
                                 if w != "*"))


def measure(args, out):
    """Boot a guest and read in the order of all traces; adds {(trace, MiB, policy): [ratio]}."""
    disk = guests.disk("bench-setcache-ratio")
    vm = Guest(args.kernel or image(), smp=1, mem="1G", drives=[disk])
    guests.module(vm.root, "setcache")
    vm.root.file(lab.guest_tool("setcacherefs"), "/guest/setcacherefs")
    script = "set -e\ninsmod /lib/modules/mcube_setcache.ko\nmkdir /mnt\n" \
        "mount -t ext4 -o noatime /dev/vda /mnt\n"
    with tempfile.TemporaryDirectory(prefix="mcube-") as tmp:
        for name, sizes in TRACES.items():
            if not (path := path_of(args, name)):
                continue
            numbers = f"{tmp}/{name}"
            with open(numbers, "wb") as f:
                references(path).tofile(f)
            vm.root.file(numbers, f"/guest/{name}")
            for size in sizes:
                for policy in IN_KERNEL * POLICIES:
                    script += (f"echo {policy} > {S}/policy; echo {size} > {S}/size_mib\n"
                               f"echo random > {S}/mode\n"
                               f"/guest/setcacherefs /mnt/file < /guest/{name}\n"
                               f"echo off > {S}/mode\n"
                               f"echo ratio {name} {size} {policy} $(cat {S}/stats/hits "
                               f"{S}/stats/fills)\n")
        result = vm.run(script, "bench-setcache-ratio", 1500)
    disk.unlink()
    result.need("bench-setcache-ratio")
    before = 0, 0
    for line in result.output.splitlines():
        if line.startswith("ratio "):
            _, name, size, policy, *now = line.split()
            hits, fills = (int(n) - b for n, b in zip(now, before))
            before = tuple(map(int, now))
            out.setdefault((name, int(size), policy), []).append(hits / (hits + fills))


def jobs(args, out):
    """One guest."""
    ui.sh("make", "-s", "-C", ui.ROOT / "tools/testing/mcube/replay", f"O={REPLAY.parent}")
    return [functools.partial(measure, args, out)]


def replayed(path, sizes):
    """{(pages, policy): mean hit ratio} of the replay."""
    found = {}
    for seed in range(1, PLACEMENTS + 1):
        got = subprocess.run([REPLAY, "--json", "--shuffle", "ids", "--seed", str(seed),
                              "--engines", ",".join(f"sa-{p}" for p in POLICIES),
                              "--sizes", ",".join(map(str, sizes)), path],
                             text=True, capture_output=True, check=False)
        if got.returncode:
            raise Failure(f"the replay of {path} failed: {got.stderr.strip()}")
        for row in json.loads(got.stdout)["rows"]:
            found.setdefault((row["size"], row["engine"].removeprefix("sa-")),
                             []).append(row["hit_ratio"])
    return {k: sum(v) / len(v) for k, v in found.items()}


def rows_of(args, out):
    """A row for each trace, size and policy."""
    rows = []
    for name, sizes in TRACES.items():
        if not any(n == name for n, _, _ in out):
            continue
        expected = replayed(path_of(args, name), [s * PAGES_OF_A_MIB for s in sizes])
        for size in sizes:
            for policy in POLICIES:
                found, user = out[name, size, policy], expected[size * PAGES_OF_A_MIB, policy]
                kernel = statistics.fmean(found)
                rows.append({"part": "ratio", "trace": name, "pages": size * PAGES_OF_A_MIB,
                             "policy": policy, "kernel": round(100 * kernel, 3),
                             "spread": round(100 * (max(found) - min(found)), 3),
                             "replay": round(100 * user, 3),
                             "gap": round(100 * (kernel - user), 3)})
    return rows


def show(rows):
    """Print the table."""
    print("\nhit ratios in percent: of the kernel, and of the replay in user space\n")
    print_table(["trace", "pages", "policy", "kernel", "spread", "replay", "gap, points"],
                [[r["trace"], r["pages"], r["policy"], f"{r['kernel']:.2f}",
                  f"{r['spread']:.2f}", f"{r['replay']:.2f}", f"{r['gap']:+.2f}"]
                 for r in rows], 1, lead="  ")


def summarize(rows):
    """The largest gap in points."""
    return {"ratio_gap_max": max(abs(r["gap"]) for r in rows)}
