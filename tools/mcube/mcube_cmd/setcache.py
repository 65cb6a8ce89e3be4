# SPDX-License-Identifier: GPL-2.0
"""What the kernel says of page sets: files in sysfs, and a table in debugfs for root."""

import mmap

from . import debugfs, host, policy
from .term import Failure

MODULE = "mcube_setcache"
FOLDER = f"{policy.SYSFS}/setcache"
DEBUG = "/sys/kernel/debug/mcube/setcache"
POLICIES = ("lru", "lfu", "nrlfu", "s3fifo")
MODES = ("random", "all")
NUMA = ("interleave", "hash-home", "message")
QUANTILES = (0, 5, 25, 50, 75, 95, 100)
HOTTEST = 8
PAGES_OF_MIB = (1 << 20) // mmap.PAGESIZE


def need():
    """Refuse to go on without page sets."""
    policy.need_kernel()
    if policy.current("setcache/mode") is None:
        raise Failure("page sets are not there: their module is not loaded",
                      "'mcube setcache on' loads it and switches page sets on")


def why_hidden():
    """Why debugfs cannot be read, and what to do."""
    return debugfs.why_hidden(DEBUG, "the single sets")


def ratio(part, whole):
    """part / whole; None if whole is 0."""
    return part / whole if whole else None


def sets():
    """A row of numbers for each set; None if they are hidden."""
    rows = debugfs.table(f"{DEBUG}/sets")
    return None if rows is None else [{k: int(v) for k, v in r.items()} for r in rows]


def since(rows, before):
    """Rows with what came in since an earlier look; all of it if the number of sets changed."""
    if not before or len(before) != len(rows):
        return rows
    return [r | {k: r[k] - old[k] for k in ("fills", "again")} for r, old in zip(rows, before)]


def quantiles(values):
    """{percent: value} of sorted values."""
    return {q: values[round((len(values) - 1) * q / 100)] for q in QUANTILES}


def nodes(rows):
    """A row for each node that has sets: its number, sets, pages, pages that lie elsewhere."""
    out = {}
    for r in rows or ():
        node = out.setdefault(r["node"], {"node": r["node"], "sets": 0, "resident": 0, "away": 0})
        node["sets"] += 1
        node["resident"] += r["resident"]
        node["away"] += r["away"]
    return [out[n] for n in sorted(out)]


def pressure(rows, before=None):
    """How evenly sets are in demand, since an earlier look or since the sets exist."""
    if not rows:
        return None
    new = since(rows, before)
    fills = sum(r["fills"] for r in new)
    again = sum(r["again"] for r in new)
    return {"sets": len(rows), **{k: sum(r[k] for r in rows)
                                  for k in ("resident", "filling", "pinned")},
            "fills": fills, "again": again, "again_share": ratio(again, fills),
            "fills_of_a_set": {"mean": fills / len(new),
                               **{f"p{q}": v for q, v in quantiles(
                                   sorted(r["fills"] for r in new)).items()}},
            "hottest": sorted(new, key=lambda r: (-r["fills"], r["set"]))[:HOTTEST]}


def hit_ratio(counters, before=None):
    """Share of the pages of reads that were in sets, since an earlier look or of all time."""
    hits, fills, later = (counters.get(k, 0) - (before or {}).get(k, 0)
                          for k in ("hits", "fills", "async"))
    # A page that was filled while nobody waited is a hit when its reader comes back.
    hits = max(0, hits - later)
    return ratio(hits, hits + fills)


def look():
    """(everything as one dictionary, rows of single sets or None)."""
    names = policy.settings("setcache")
    counters, rows = policy.counters("setcache"), sets()
    out = {name: policy.current(f"setcache/{name}") for name in names}
    out["size_mib"] = host.number(f"{FOLDER}/size_mib", 0)
    # The size that was written comes later, from free memory, after memory was short.
    out["pool_mib"] = counters.get("pages", 0) // PAGES_OF_MIB
    return out | {"counters": counters, "hit_ratio": hit_ratio(counters),
                  "pressure": pressure(rows), "nodes": nodes(rows)}, rows
