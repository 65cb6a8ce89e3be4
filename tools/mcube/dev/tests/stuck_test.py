# SPDX-License-Identifier: GPL-2.0
"""Tests of lib/stuck.py."""

import unittest

from lib.stuck import stuck

CONSOLE = """\
[   20.00] task:init            state:R  running task     stack:0     pid:1     tgid:1
[   20.00] Call Trace:
[   20.00]  <TASK>
[   20.00]  sched_show_task+0x11d/0x170
[   20.00]  show_state_filter+0x6b/0xc0
[   20.01] task:kworker/0:1     state:R  running task     stack:0     pid:9     tgid:9
[   20.01]  __schedule+0x2f4/0x1020
[   20.02] task:sh              state:S stack:0     pid:70    tgid:70
[   20.02]  __schedule+0x2f4/0x1020
[   20.02]  schedule+0x25/0xa0
[   20.02]  do_wait+0x5f/0x110
[   20.03] task:mcube_fuzz      state:R  running task     stack:0     pid:77    tgid:77
[   20.03]  __schedule+0x2f4/0x1020
[   20.03]  __cond_resched+0x45/0x60
[   20.03]  offline_pages+0x287/0x510
[   20.03]  memory_subsys_offline+0x8c/0x140
[   20.03]  device_offline+0xcf/0x100
[   20.03]  state_store+0x4a/0x90
[   20.03]  kernfs_fop_write_iter+0x126/0x1b0
[   20.04] task:dd              state:D stack:0     pid:78    tgid:78
[   20.04]  schedule+0x25/0xa0
[   20.04]  io_schedule+0x41/0x70
[   20.04]  folio_wait_bit_common+0x12f/0x320
"""


class StuckTest(unittest.TestCase):
    """Tasks that run or cannot be interrupted, and where they are."""

    def test_tasks(self):
        """Neither tasks that wait for work, nor the task that asked, nor usual tasks."""
        self.assertEqual(stuck(CONSOLE.splitlines()), [
            "mcube_fuzz R offline_pages < memory_subsys_offline < device_offline < state_store",
            "dd D io_schedule < folio_wait_bit_common"])

    def test_none(self):
        """A console without a list."""
        self.assertEqual(stuck(["[ 1.00] mcube-guest: up after 3.1 s"]), [])


if __name__ == "__main__":
    unittest.main()
