# SPDX-License-Identifier: GPL-2.0
"""bench-setcache: reads at random by the page cache, by direct I/O and from page sets.

places.py   file systems and devices of a guest
cost.py     instructions of a read
iops.py     reads per second of fio
locks.py    how often CPUs wait for locks, and take locks from each other
ratio.py    hit ratios of the kernel beside those of the user-space replay
"""

STORES = ("pagecache", "direct", "setcache")
OTHERS = STORES[:2]


def versus(row):
    """Ratios of page sets to the other stores that a row has."""
    return {f"vs_{s}": round(row["setcache"] / row[s], 4) for s in OTHERS if s in row}


def cells(row):
    """The ratios as cells of a table."""
    return [f"{row[f'vs_{s}']:.3f}" if f"vs_{s}" in row else "-" for s in OTHERS]
