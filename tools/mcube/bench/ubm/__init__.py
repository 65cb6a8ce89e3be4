# SPDX-License-Identifier: GPL-2.0
"""bench-ubm-kernel: real programs under limits of memory, and traces of these programs.

    data            what the programs read, as a disk image
    guest           guests with the programs in them
    record_traces   makes the shipped traces again
    live            device reads and time of the programs, by policy
    prediction      the kernel's hit ratios beside those of the user-space replay
"""
