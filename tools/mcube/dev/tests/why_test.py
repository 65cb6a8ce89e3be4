# SPDX-License-Identifier: GPL-2.0
"""What a failed kselftest says of itself."""

import unittest

import guests_kselftest

OUTPUT = """TAP version 13
# selftests: mcube: srm_segments
# #  RUN           srm_segments.hops ...
# # srm_segments.c:284:hops:20 of 20 rounds have each color once
# # srm_segments.c:286:hops:Expected 18 (18) <= full (3)
# # hops: Test failed
# # hops: Test terminated by timeout
# ok 2 srm_segments.other
"""


class WhyTest(unittest.TestCase):
    """Lines of the harness."""

    def test_lines(self):
        """Failed assertions and tests without an end are told, other lines are not."""
        self.assertEqual(guests_kselftest.why(OUTPUT),
                         ["srm_segments.c:286:hops:Expected 18 (18) <= full (3)",
                          "hops: Test terminated by timeout"])

    def test_few(self):
        """A test that fails in a loop does not fill the log."""
        self.assertEqual(len(guests_kselftest.why(OUTPUT * 100)), 12)


if __name__ == "__main__":
    unittest.main()
