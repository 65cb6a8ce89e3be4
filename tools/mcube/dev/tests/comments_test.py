# SPDX-License-Identifier: GPL-2.0
"""What a failed check of a guest's script says of itself."""

import unittest

import guests

OUTPUT = """TAP version 13
ok 1 corun: three programs
not ok 2 corun: the victim fails
# status 1, output:
#   perf did not count page-faults
ok 3 corun: the co-runner fails
# 1 of 3 failed
"""


class CommentsTest(unittest.TestCase):
    """Lines that begin with "# "."""

    def test_lines(self):
        """A failed result is told with its comments, other comments are not."""
        self.assertEqual(guests.comments(OUTPUT),
                         ["not ok 2 corun: the victim fails", "# status 1, output:",
                          "#   perf did not count page-faults"])

    def test_few(self):
        """A long output and a script that fails in each check do not fill the log."""
        self.assertEqual(len(guests.comments("not ok 1 a\n" + "# b\n" * 100)), 13)
        self.assertEqual(len(guests.comments(OUTPUT * 100)), 15)


if __name__ == "__main__":
    unittest.main()
