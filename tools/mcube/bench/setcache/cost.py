# SPDX-License-Identifier: GPL-2.0
"""bench-setcache, part cost: instructions of a read, all stores side by side in one boot.

A program in the guest (tools/mcube/guest/setcachecost.c) reads a page, 4 or 16 pages at a
time, or 32 pages by io_uring, in a random order: pages that are in the page cache, or in
sets; pages that are not, while the page cache is in a memory cgroup that is full, and while
all sets are full; and by O_DIRECT. Copying a page, by the kernel to the user or by the RAM
disk, counts as one instruction; a drive would copy by itself.
"""

import functools
import statistics

import icount  # first: it makes the other packages importable
import lab
from lab import Failure
from mcube_cmd.term import print_table
from . import STORES, cells, versus
from .places import COPIES, PLACES, fill, setup

READS = ("hit4k", "hit16k", "hit64k", "hitring", "miss4k", "miss16k", "miss64k", "missring")
# Key of the summary: reads, and what page sets are compared with.
RATIOS = {"hit_vs_pagecache": (("hit4k",), "pagecache"),
          "miss_vs_direct": (("miss4k",), "direct"),
          "miss_vs_pagecache": (("miss4k",), "pagecache"),
          "read64k_vs_pagecache": (("hit64k", "miss64k"), "pagecache"),
          "miss16k_vs_direct": (("miss16k",), "direct"),
          "miss64k_vs_direct": (("miss64k",), "direct"),
          "missring_vs_direct": (("missring",), "direct"),
          "missring_vs_pagecache": (("missring",), "pagecache")}
CGROUP = "/sys/fs/cgroup/cost"
LIMIT = "12M"


def measure(args, out, place):
    """Boot a guest and count; adds to out."""
    _, file, _ = PLACES[place]
    args.base = None
    out[place] = icount.boot(f"bench-setcache-cost-{place}", "setcachecost", "test", f"""
{setup(place)}
mkdir {CGROUP}
echo {LIMIT} > {CGROUP}/memory.max
echo 0 > /proc/sys/vm/dirty_writeback_centisecs
sleep 3
/guest/setcachecost -n {args.pages} -h {args.hot} -r {args.rounds} -c {CGROUP} {file}""",
                             args, prepare=lambda vm: fill(vm, place))
    found = out[place]
    wanted = {f"{s}.{r}" for s in STORES for r in READS
              if s != "direct" or r.startswith("miss")}
    if any(len(found.get(k, ())) != args.rounds for k in wanted):
        raise Failure(f"cost on {place}: rounds are missing in the guest's output")


def jobs(args, out):
    """A job for each place; the program is built before guests that run at the same time."""
    lab.guest_tool("setcachecost")
    return [functools.partial(measure, args, out, p) for p in args.places]


def copies(place, store, read, data):
    """Instructions of copies that the figures leave out."""
    by_device = read.startswith("miss") and place in COPIES
    return icount.beyond_one(data, "copy") * ((store != "direct") + by_device)


def rows_of(_, out):
    """A row for each place and read, with a column for each store."""
    rows = []
    for place, data in out.items():
        for read in READS:
            row = {"part": "cost", "place": place, "read": read}
            for store in STORES:
                found = [x / 1000 for x, in data.get(f"{store}.{read}", ())]
                if not found:
                    continue
                left_out = copies(place, store, read, data)
                row |= {store: round(statistics.median(found) - left_out, 1),
                        f"{store}_counted": round(statistics.median(found), 1),
                        f"{store}_spread": round(max(found) - min(found), 1)}
            rows.append(row | versus(row))
    return rows


def show(rows):
    """Print the table."""
    def cell(row, store):
        return f"{row[store]:.0f} ({row[f'{store}_spread']:.0f})" if store in row else "-"
    print("\ninstructions per page read, median (range over rounds)\n")
    print_table(["place", "read", "page cache", "O_DIRECT", "page sets", "/ page cache",
                 "/ O_DIRECT"],
                [[r["place"], r["read"], *(cell(r, s) for s in STORES),
                  *cells(r)]
                 for r in rows], 2, lead="  ")


def summarize(rows):
    """The worst ratio of each kind, and where it was found."""
    out, where = {}, {}
    for key, (reads, store) in RATIOS.items():
        worst, place, read = max((r[f"vs_{store}"], r["place"], r["read"])
                                 for r in rows if r["read"] in reads)
        out[key], where[key] = worst, f"{read} on {place}"
    return out, where


def draw(axes, rows):
    """Bars of each read and place; an axis for each read."""
    colors = dict(zip(STORES, ("#bbbbbb", "#ddaa33", "#4477aa")))
    names = {"pagecache": "page cache", "direct": "O_DIRECT", "setcache": "page sets"}
    for ax, read in zip(axes, READS):
        mine = [r for r in rows if r["read"] == read]
        for i, store in enumerate(STORES):
            at = [(x + 0.27 * (i - 1), r[store]) for x, r in enumerate(mine) if store in r]
            if at:
                ax.bar([x for x, _ in at], [y for _, y in at], 0.27, color=colors[store],
                       label=names[store])
        ax.set_xticks(range(len(mine)), [r["place"] for r in mine], fontsize="small")
        ax.set_title(read)
    axes[0].set_ylabel("instructions per page")
    axes[-2].legend(fontsize="small")
