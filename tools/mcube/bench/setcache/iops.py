# SPDX-License-Identifier: GPL-2.0
"""bench-setcache, part iops: reads per second of fio, all stores side by side in one boot.

The guest's clock counts instructions: an instruction takes a nanosecond, whichever of the
guest's CPUs executes it, so a figure nearly repeats exactly. Copying a page takes as many
instructions as QEMU counts, and fio's own instructions take their time too. Several jobs
are not comparable: the emulator may run them one after the other, each with a time of its
own, and fio then adds up too many reads per second.

Each job reads a part of the file of its own, each page once per pass in a random order. A
miss by the page cache is one in a memory cgroup that is full.
"""

import functools
import json

from lab import Failure  # first: it makes the other packages importable
from mcube_cmd.term import plural, print_table
from qemu import Guest, image
from . import STORES, cells, versus
from .places import PLACES, fill, setup

# What all jobs together read; for misses more than the cgroup holds.
READ_MIB = {"hit": 16, "miss": 64}
SETS_MIB = {"hit": 64, "miss": 2}
LIMIT_MIB = 48          # of the cgroup: fio needs 25 MiB beside the page cache
S = "/sys/kernel/mm/mcube/setcache"
FIO = ("fio --name=r --rw=randread --bs=4k --ioengine=psync --fadvise_hint=random "
       "--invalidate=0 --thread --group_reporting --randrepeat=1 --gtod_reduce=1 "
       "--clocksource=clock_gettime --output-format=json")


def runs(jobs):
    """[(store, read, jobs)] of a place."""
    return [(s, r, j) for j in jobs for s in STORES for r in ("hit", "miss")
            if (s, r) != ("direct", "hit")]


def command(file, store, read, jobs, passes):
    """Commands of a run."""
    part = READ_MIB[read] // jobs
    fio = (f"{FIO} --filename={file} --size={part}m --offset_increment={part}m "
           f"--numjobs={jobs} --direct={int(store == 'direct')} "
           f"--loops={passes * READ_MIB['miss'] // READ_MIB[read]}")
    name = f"{store}-{read}-{jobs}"
    lines = ["sync; echo 3 > /proc/sys/vm/drop_caches"]
    if store == "setcache":
        lines += [f"echo {SETS_MIB[read]} > {S}/size_mib", f"echo random > {S}/mode"]
    if (store, read) == ("pagecache", "miss"):
        lines += ["echo 0 > /sys/fs/cgroup/fio/cgroup.procs",
                  f"dd if={file} of=/dev/null bs=64k skip=1024 count=1024 2>/dev/null"]
    if read == "hit":
        # A block device that nobody has open would lose its pages before the run.
        lines.append(f"exec 3< {file}")
        lines.append(f"{FIO} --filename={file} --size={part}m --offset_increment={part}m "
                     f"--numjobs={jobs} --output=/dev/null")
    return "\n".join([f"( {lines[0]}", *lines[1:], f"{fio} --output=/results/{name}.json )",
                      f"grep -H . {S}/stats/hits {S}/stats/fills | sed 's|.*/|{name} |; s|:| |'",
                      f"echo off > {S}/mode", ""])


def measure(args, out, place):
    """Boot a guest and run fio; adds to out."""
    _, file, _ = PLACES[place]
    cpus = max(args.fio_jobs)
    vm = Guest(args.kernel or image(), smp=cpus, mem="1536M", icount=True, programs=["fio"],
               append="nowatchdog random.trust_cpu=on")
    fill(vm, place)
    title = f"bench-setcache-iops-{place}"
    result = vm.run(f"""set -e
{setup(place, cpus)}
mkdir /sys/fs/cgroup/fio
echo {LIMIT_MIB}M > /sys/fs/cgroup/fio/memory.max
echo 0 > /proc/sys/vm/dirty_writeback_centisecs
[ -b {file} ] || dd if=/dev/zero of={file} bs=1M count=128 2>/dev/null
""" + "".join(command(file, *run, args.passes) for run in runs(args.fio_jobs)), title, 1500)
    result.need(title)
    counted = {}
    for line in result.output.splitlines():
        name, _, rest = line.partition(" ")
        words = rest.split()
        if len(words) == 2 and words[0] in ("hits", "fills"):
            counted.setdefault(name, {})[words[0]] = int(words[1])
    out[place] = {p.stem: json.loads(p.read_text("utf-8"))
                  for p in result.results.glob("*.json")}, counted


def jobs(args, out):
    """A job for each place."""
    return [functools.partial(measure, args, out, p) for p in args.places]


def hit_ratios(place_runs, counted):
    """{run: hit ratio} of the runs from sets; counters go on from run to run."""
    out, before = {}, {"hits": 0, "fills": 0}
    for name in place_runs:
        now = counted[name]
        hits, fills = (now[k] - before[k] for k in ("hits", "fills"))
        out[name] = hits / (hits + fills) if hits + fills else None
        before = now
    return out


def rows_of(args, out):
    """A row for each place, read and number of jobs, with a column for each store."""
    rows = []
    for place, (found, counted) in out.items():
        names = ["-".join(map(str, r)) for r in runs(args.fio_jobs)]
        ratio = hit_ratios(names, counted)
        for read in ("hit", "miss"):
            for nr in args.fio_jobs:
                row = {"part": "iops", "place": place, "read": read, "jobs": nr}
                for store in STORES:
                    name = f"{store}-{read}-{nr}"
                    if name not in names:
                        continue
                    if name not in found:
                        raise Failure(f"fio on {place}: no result of {name}")
                    one = found[name]["jobs"][0]
                    if one["error"]:
                        raise Failure(f"fio on {place}: error {one['error']} of {name}")
                    row[store] = round(one["read"]["iops"], 1)
                    row[f"{store}_reads"] = one["read"]["total_ios"]
                    if store == "setcache":
                        row["hit_ratio"] = round(ratio[name], 4)
                rows.append(row | versus(row))
    return rows


def show(rows):
    """Print the table."""
    print("\nthousand reads of 4 KiB per second, fio psync, all jobs together\n")
    print_table(["place", "read", "jobs", "page cache", "O_DIRECT", "page sets", "/ page cache",
                 "/ O_DIRECT", "sets' hits"],
                [[r["place"], r["read"], r["jobs"],
                  *(f"{r[s] / 1000:.1f}" if s in r else "-" for s in STORES),
                  *cells(r),
                  f"{r['hit_ratio']:.1%}"] for r in rows], 2, lead="  ")


def summarize(rows):
    """The worst ratios, and where they were found."""
    out, where = {}, {}
    for key, read, store in (("iops_vs_direct", "miss", "direct"),
                             ("hit_iops_vs_pagecache", "hit", "pagecache"),
                             ("miss_iops_vs_pagecache", "miss", "pagecache")):
        out[key], place, nr = min((r[f"vs_{store}"], r["place"], r["jobs"])
                                  for r in rows if r["read"] == read)
        where[key] = f"{place}, {plural(nr, 'job')}"
    return out, where


def draw(ax, rows):
    """Ratios to O_DIRECT and to the page cache by number of jobs."""
    for i, place in enumerate(dict.fromkeys(r["place"] for r in rows)):
        for read, store, style in (("miss", "direct", "-o"), ("hit", "pagecache", "--s")):
            mine = [r for r in rows if (r["place"], r["read"]) == (place, read)]
            ax.plot([r["jobs"] for r in mine], [r[f"vs_{store}"] for r in mine], style,
                    color=f"C{i}", label=f"{place}: {read} / {store}")
    ax.axhline(1, color="0.7", linewidth=0.8)
    ax.set_ylim(bottom=0)
    ax.set_xlabel("jobs")
    ax.set_ylabel("reads per second of page sets,\ntimes those of the other")
    ax.legend(fontsize="x-small", ncols=2)
