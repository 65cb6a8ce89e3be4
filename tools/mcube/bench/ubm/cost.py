# SPDX-License-Identifier: GPL-2.0
"""bench-ubm-kernel, part cost: instructions of the page cache with UBM off and on.

A program in the guest (tools/mcube/guest/ubmcost.c) reads, maps and reclaims files on ext4 in a
memory cgroup that reclaims, and starts processes in the cgroup beside it, which has no limit:

    small   16 MiB, with a cached file of 4 MiB
    large   64 MiB, with a cached file of 16 MiB

each on the classic lists and on MGLRU. The files are holes, so that no device has a part: what
UBM costs is largest against such reads. Copying a page for a reader counts as one instruction,
as on hardware; the pages that a fork clears and copies count in full.
"""

import functools
import statistics

import icount  # first: it makes the other packages importable
import guests
from lab import Failure
from mcube_cmd.term import print_table

# What is counted: is a page copied by it?
KINDS = {"stream64k": True, "stream4k": True, "random4k": True, "reclaim": False,
         "cached64k": True, "cached4k": True, "fault": False, "fork": False}
# Cgroup: limit, pages of the cached file, pages of the stream.
CGROUPS = {"small": ("16M", 1024, 16384), "large": ("64M", 4096, 49152)}
LISTS = {"classic": "n", "mglru": "y"}
ROUNDS = 3
COST = 1.01
UBM = "/sys/kernel/mm/mcube/ubm"


def measure(args, out, cgroup, lists, on):
    """Boot a guest and count; adds to out."""
    limit, pages, stream = CGROUPS[cgroup]
    title = f"bench-ubm-cost-{cgroup}-{lists}-{'on' if on else 'off'}"
    disk = guests.disk(title, "ext4")
    data = icount.boot(title, "ubmcost", "test", f"""
mkdir /mnt
mount -t ext4 -o noatime,noinit_itable,commit=300 /dev/vda /mnt
cp /guest/ubmcost /mnt/
echo 0 > /proc/sys/vm/dirty_writeback_centisecs
echo {LISTS[lists]} > /sys/kernel/mm/lru_gen/enabled
[ {int(on)} = 0 ] || echo 1 > {UBM}/enabled
cd /sys/fs/cgroup
echo +memory > cgroup.subtree_control
mkdir cost beside
echo {limit} > cost/memory.max
sleep 3
echo $$ > cost/cgroup.procs
/mnt/ubmcost -n {pages} -s {stream} -r {ROUNDS} /mnt cost beside
grep . {UBM}/stats/* | sed 's|.*/|stat |; s|:| |'""", args, drives=[disk])
    disk.unlink()
    if any(len(data.get(k, ())) != ROUNDS for k in KINDS):
        raise Failure(f"{title}: rounds are missing in the guest's output")
    if on != (data["stat"].get("lruvecs", 0) > 0):
        raise Failure(f"{title}: UBM did not decide about the cgroup, or did while it was off",
                      "see its counters in the guest's output")
    out[cgroup, lists, on] = data


def jobs(args, out):
    """A job for each cgroup and kind of lists, with UBM off and on."""
    args.mem, args.base = "1G", None
    return [functools.partial(measure, args, out, c, lists, on)
            for c in CGROUPS for lists in LISTS for on in (False, True)]


def rows_of(out):
    """A row for each cgroup, kind of lists, and what is counted."""
    rows = []
    for cgroup, lists in dict.fromkeys(key[:2] for key in out):
        for kind, copies in KINDS.items():
            row = {"part": "cost", "cgroup": cgroup, "lists": lists, "kind": kind}
            for name, on in (("off", False), ("on", True)):
                data = out[cgroup, lists, on]
                copy = icount.beyond_one(data, "copy") if copies else 0
                per = [x / 1000 - copy for x, in data[kind]]
                row |= {name: round(statistics.median(per), 1),
                        f"{name}_spread": round(max(per) - min(per), 1)}
            rows.append(row | {"ratio": round(row["on"] / row["off"], 5)})
    return rows


def show(rows):
    """Print the table."""
    print("\ninstructions per page, and of a fork with exec; median (range over rounds)\n")
    print_table(["cgroup", "lists", "counted", "UBM off", "UBM on", "on / off"],
                [[r["cgroup"], r["lists"], r["kind"], f"{r['off']:.0f} ({r['off_spread']:.0f})",
                  f"{r['on']:.0f} ({r['on_spread']:.0f})", f"{r['ratio']:.4f}"] for r in rows], 3,
                lead="  ")


def summarize(rows):
    """Keys of the summary."""
    return {"cost_max": max(r["ratio"] for r in rows),
            "cost_mean": statistics.geometric_mean([r["ratio"] for r in rows]),
            **{f"cost_{kind}_max": max(r["ratio"] for r in rows if r["kind"] == kind)
               for kind in KINDS}}
