# SPDX-License-Identifier: GPL-2.0
"""bench-setcache: reads at random by the page cache, by direct I/O and from page sets.

places.py   file systems and devices of a guest
cost.py     instructions of a read
iops.py     reads per second of fio
locks.py    how often CPUs wait for locks, and take locks from each other
ratio.py    hit ratios of the kernel beside those of the user-space replay
"""
