# SPDX-License-Identifier: GPL-2.0
"""Lines of a guest's console: which of them fail a run."""

import io
import unittest

import qemu
from lib.races import Races

WARNING = "[   22.49] WARNING: CPU: 3 PID: 0 at arch/x86/kernel/apic/ipi.c:70 {}+0x2a/0x30"


def splats(*lines):
    """Lines that fail the run."""
    guest, result = object.__new__(qemu.Guest), qemu.Result()
    guest.races, guest.allow = Races(), None
    for line in lines:
        guest.console_line(line, 0, io.StringIO(), result, lambda: 0)
    return result.splats


class ConsoleTest(unittest.TestCase):
    """What the kernel says."""

    def test_power_down(self):
        """A CPU may look for a stopped one behind 'Power down', not before; all else fails."""
        stopped = WARNING.format("native_smp_send_reschedule")
        down = "[   22.48] reboot: Power down"
        self.assertEqual(splats(down, stopped), [])
        self.assertEqual(splats(stopped, down), [stopped])
        other = WARNING.format("mcube_alloc_free")
        self.assertEqual(splats(down, other), [other])


if __name__ == "__main__":
    unittest.main()
