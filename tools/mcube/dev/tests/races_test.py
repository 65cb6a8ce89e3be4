# SPDX-License-Identifier: GPL-2.0
"""Reports of data races: those about mcube are found, all others are passed over."""

import unittest

from lib.races import Races

RULE = "[   12.3] ==================================================="


def faults(*lines):
    """Headlines of faults on a console, and the lines that no report has."""
    races = Races()
    found, rest = [], []
    for line in lines:
        inside, fault = races.line(line)
        if fault:
            found.append(fault)
        if not inside:
            rest.append(line)
    return found, rest


class RacesTest(unittest.TestCase):
    """The parser of reports."""

    def test_static_function(self):
        """A race of a static function whose caller is a function of mcube."""
        found, rest = faults(RULE, "BUG: KCSAN: data-race in search / note", "",
                             " search+0x5d/0x1a0", " mcube_alloc_rmqueue+0x3a2/0x5c0", RULE)
        self.assertEqual(found, ["BUG: KCSAN: data-race in search / note"])
        self.assertEqual(rest, [RULE])

    def test_foreign(self):
        """A race of other parts of the kernel, by a task and on a machine named mcube."""
        found, rest = faults("BUG: KCSAN: data-race in tick / tock", " tick+0x1/0x2",
                             "CPU: 1 UID: 0 PID: 7 Comm: mcube_load Not tainted mcube", RULE,
                             "after")
        self.assertEqual((found, rest), ([], ["after"]))

    def test_two(self):
        """A report that ends is not part of the next report."""
        found, _ = faults("BUG: KCSAN: data-race in a / b", " mcube_a+0x1/0x2", RULE, RULE,
                          "BUG: KCSAN: data-race in c / d", " c+0x1/0x2", RULE)
        self.assertEqual(found, ["BUG: KCSAN: data-race in a / b"])


if __name__ == "__main__":
    unittest.main()
