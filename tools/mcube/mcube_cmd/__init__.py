# SPDX-License-Identifier: GPL-2.0
"""The mcube command: look at, switch and measure page placement.

One module per subcommand on top of a few that know one thing each:

    cli        arguments, errors, exit status
     +- cmd_check  cmd_status  cmd_apply  cmd_map  cmd_pages  cmd_corun
         |           |            |          |        |          |
         +- machine  +-- policy --+          |        |          +- perf, race
         |  (caches, |   (profiles, counters)|        |
         |  CPUs)    |                       |        |
         +-----------+------- addrmap -------+--------+- pagemap
                 (color and bank of a frame)
    cmd_record  cmd_replay      references of the page cache
         |           |
         +-----------+- refs, trace, tracefs, inodes, cgroup, replay
    cmd_rocs  cmd_ubm  cmd_setcache     what the kernel shows of them: module, debugfs
    cmd_map  cmd_estimate     timing: map_verify, probe (mcube-probe, in C)
    cmd_map    known, dimms (published maps), paper, offsets (Figure 4 of the M3 paper)
    cmd_report                  all of it as one file: report, loads
    host       files of /sys and /proc, the kernel's log
    term       tables, heat lines, errors with advice

Only the standard library is needed, and matplotlib for pictures.
"""
