# SPDX-License-Identifier: GPL-2.0
"""bench-ubm-kernel, part cost: instructions of reads with UBM off and on.

A program in the guest (tools/mcube/guest/ubmcost.c) reads files in a memory cgroup, on ext4:

    small   in 16 MiB, with a cached file of 4 MiB; streams are reclaimed
    large   in 64 MiB, with a cached file of 16 MiB; the same
    roomy   without a limit; nothing is reclaimed, and streams come in once

The files are holes, so that no device has a part: what UBM costs is largest against such
reads. Copying a page counts as one instruction, as on hardware.
"""

import functools
import statistics

import icount  # first: it makes the other packages importable
import guests
from lab import Failure
from mcube_cmd.term import print_table

KINDS = ("stream64k", "stream4k", "cached64k", "cached4k", "random4k")
# Cgroup: limit, pages of the cached file, pages of the stream.
CGROUPS = {"small": ("16M", 1024, 16384), "large": ("64M", 4096, 32768),
           "roomy": ("max", 4096, 32768)}
ROUNDS = 3
COST = 1.01
UBM = "/sys/kernel/mm/mcube/ubm"


def measure(args, out, cgroup, on):
    """Boot a guest and count; adds to out."""
    limit, pages, stream = CGROUPS[cgroup]
    title = f"bench-ubm-cost-{cgroup}-{'on' if on else 'off'}"
    disk = guests.disk(title, "ext4")
    args.base = None
    out[cgroup, on] = icount.boot(title, "ubmcost", "test", f"""
mkdir /mnt
mount -t ext4 -o noatime,noinit_itable,commit=300 /dev/vda /mnt
echo 0 > /proc/sys/vm/dirty_writeback_centisecs
[ {int(on)} = 0 ] || echo 1 > {UBM}/enabled
echo +memory > /sys/fs/cgroup/cgroup.subtree_control
mkdir /sys/fs/cgroup/cost
echo {limit} > /sys/fs/cgroup/cost/memory.max
sleep 3
echo $$ > /sys/fs/cgroup/cost/cgroup.procs
/guest/ubmcost -n {pages} -s {stream} -r {ROUNDS} /mnt
grep . {UBM}/stats/noted {UBM}/stats/proposed | sed 's|.*/|stat |; s|:| |'""",
                                  args, drives=[disk])
    disk.unlink()
    if any(len(out[cgroup, on].get(k, ())) != ROUNDS for k in KINDS):
        raise Failure(f"{title}: rounds are missing in the guest's output")


def jobs(args, out):
    """A job for each cgroup, with UBM off and on."""
    args.mem = "1G"
    return [functools.partial(measure, args, out, c, on) for c in CGROUPS for on in (False, True)]


def rows_of(out):
    """A row for each cgroup and kind of read."""
    rows = []
    for cgroup in CGROUPS:
        for kind in KINDS:
            row = {"part": "cost", "cgroup": cgroup, "read": kind}
            for name, on in (("off", False), ("on", True)):
                data = out[cgroup, on]
                copy = icount.beyond_one(data, "copy")
                per = [x / 1000 - copy for x, in data[kind]]
                row |= {name: round(statistics.median(per), 1),
                        f"{name}_spread": round(max(per) - min(per), 1)}
            rows.append(row | {"ratio": round(row["on"] / row["off"], 5)})
    return rows


def show(rows):
    """Print the table."""
    print("\ninstructions per page read, median (range over rounds)\n")
    print_table(["cgroup", "read", "UBM off", "UBM on", "on / off"],
                [[r["cgroup"], r["read"], f"{r['off']:.0f} ({r['off_spread']:.0f})",
                  f"{r['on']:.0f} ({r['on_spread']:.0f})", f"{r['ratio']:.4f}"] for r in rows], 2,
                lead="  ")


def summarize(rows):
    """Keys of the summary."""
    return {"cost_max": max(r["ratio"] for r in rows),
            "cost_mean": statistics.geometric_mean([r["ratio"] for r in rows]),
            "cost_roomy_max": max(r["ratio"] for r in rows if r["cgroup"] == "roomy")}
