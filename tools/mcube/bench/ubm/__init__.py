# SPDX-License-Identifier: GPL-2.0
"""bench-ubm-kernel: real programs under limits of memory, and traces of these programs.

data.py           what the programs read, as a disk image
guest.py          guests with the programs in them
record_traces.py  records the traces of tools/testing/mcube/traces/ again
live.py           device reads and time of the programs, by policy
prediction.py     hit ratios of the kernel beside those of the user-space replay
"""
