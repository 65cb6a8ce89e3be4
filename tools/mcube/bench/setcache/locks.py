# SPDX-License-Identifier: GPL-2.0
"""bench-setcache, part locks: how often CPUs wait for locks, and take them from each other.

A kernel with LOCK_STAT counts while fio reads at random by a job on each CPU. CPUs of the
guest run in parallel as far as the host has cores, so waits are fewer than on hardware;
bounces, which are acquisitions by another CPU than the last one, say where CPUs meet. All
figures are per 1000 reads, of the locks of the page cache, the LRU lists, the page allocator and
page sets; locks of the device, the scheduler and fio count for all stores alike and are
left out.
"""

import functools

from lab import Failure  # first: it makes the other packages importable
from mcube_cmd.term import print_table
from qemu import Guest, image
from . import STORES
from .iops import READ_MIB, command, runs
from .places import PLACES, fill, setup

PAGES_OF_A_MIB = 256
PLACES_HERE = ("ext4", "null_blk")
# Names of the classes of locks: the argument of spin_lock_init().
SETS = {"&new->slot[i].lock"}
CLASSES = SETS | {"&zone->lock", "&pcp->lock", "&lruvec->lru_lock", "&xa->xa_lock",
                  "&lru->node[i].lock", "&(&n->list_lock)->rlock"}
# Column: place among the numbers of a line of /proc/lock_stat.
COLUMNS = {"waits": 1, "bounces": 6, "acquisitions": 7}
MARK = "lock_stat of "


def measure(args, out, place):
    """Boot a guest and run fio under LOCK_STAT; adds to out."""
    _, file, _ = PLACES[place]
    cpus = args.lock_jobs
    vm = Guest(args.lock_kernel or image("lockstat"), smp=cpus, mem="2G", multi=True,
               programs=["fio"], append="nowatchdog no_timer_check")
    fill(vm, place, "lockstat")
    title = f"bench-setcache-locks-{place}"
    script = f"""set -e
{setup(place, cpus)}
mkdir /sys/fs/cgroup/fio
echo 48M > /sys/fs/cgroup/fio/memory.max
[ -b {file} ] || dd if=/dev/zero of={file} bs=1M count=128 2>/dev/null
"""
    for run in runs([cpus]):
        # The last fio of a run is what is counted; another one warms up.
        head, _, last = command(file, *run, 1).rpartition("fio --name")
        end = f"\n echo '{MARK}{run[0]} {run[1]}'; grep : /proc/lock_stat )\n"
        script += f"{head}echo 0 > /proc/lock_stat; fio --name{last}".replace(" )\n", end)
    result = vm.run(script, title, 1500)
    result.need(title)
    out[place] = counters(result.output)
    if not SETS & set(out[place].get(("setcache", "miss"), ())):
        raise Failure(f"{title}: no lock {', '.join(SETS)} was counted",
                      "look how drivers/mcube/setcache initializes the locks of sets")


def counters(output):
    """{(store, read): {class: [numbers]}}."""
    found, now = {}, None
    for line in output.splitlines():
        if line.startswith(MARK):
            now = found.setdefault(tuple(line.removeprefix(MARK).split()), {})
        elif now is not None and ":" in line:
            name, _, rest = line.strip().rpartition(":")
            values = rest.split()
            if len(values) == 12:
                # Locks of a class that are initialized in several places are numbered.
                old = now.setdefault(name.partition("#")[0], [0.0] * 12)
                for i, value in enumerate(values):
                    old[i] += float(value)
    return found


def jobs(args, out):
    """A job for each place."""
    return [functools.partial(measure, args, out, p) for p in PLACES_HERE if p in args.places]


def rows_of(args, out):
    """A row for each place, read and store."""
    rows = []
    for place, found in out.items():
        for read in ("hit", "miss"):
            reads = READ_MIB["miss"] * PAGES_OF_A_MIB
            for store in STORES:
                if (store, read) not in found:
                    continue
                row = {"part": "locks", "place": place, "read": read, "store": store,
                       "jobs": args.lock_jobs}
                for name, column in COLUMNS.items():
                    per = {c: round(1000 * v[column] / reads, 2)
                           for c, v in found[store, read].items() if c in CLASSES}
                    row[name] = round(sum(per.values()), 2)
                    row[f"{name}_of_sets"] = round(sum(v for c, v in per.items()
                                                       if c in SETS), 2)
                    row[f"{name}_by_class"] = {c: v for c, v in per.items() if v}
                rows.append(row)
    return rows


def show(rows):
    """Print the table."""
    print("\nlocks per 1000 reads of 4 KiB (of those, locks of sets)\n")
    print_table(["place", "read", "store", "jobs", *COLUMNS],
                [[r["place"], r["read"], r["store"], r["jobs"],
                  *(f"{r[c]:.1f} ({r[f'{c}_of_sets']:.1f})" for c in COLUMNS)] for r in rows],
                3, lead="  ")


def summarize(rows):
    """Bounces of sets as a share of those of the page cache, the worst place."""
    out = {}
    for read in ("hit", "miss"):
        at = {(r["place"], r["store"]): r["bounces"] for r in rows if r["read"] == read}
        ratios = [v / at[p, "pagecache"] for (p, s), v in at.items()
                  if s == "setcache" and at.get((p, "pagecache"))]
        if ratios:
            out[f"{read}_bounces_vs_pagecache"] = max(ratios)
    return out
