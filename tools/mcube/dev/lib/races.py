# SPDX-License-Identifier: GPL-2.0
"""Reports of the kernel's detector of data races (KCSAN) on a console.

The detector instruments the whole kernel and reports races of every part of it. A report is a
fault of mcube if one of its stacks has a function of mcube; static functions have other names,
but one of their callers is a function whose name contains "mcube":

    ==================================================================
    BUG: KCSAN: data-race in mcube_alloc_free / search

    read to 0xffff88807dca32d0 of 8 bytes by task 122 on cpu 1:
     search+0x5d/0x1a0
     mcube_alloc_rmqueue+0x3a2/0x5c0
     ...
    ==================================================================
"""

import re

BEGIN = re.compile(r"BUG: KCSAN: ")
RULE = re.compile(r"={20,}")


class Races:
    """Takes the lines of a console one by one and keeps the reports about mcube."""

    def __init__(self):
        self.report = []

    def line(self, text):
        """Take a line; returns (True if a report has the line, headline of a fault or None)."""
        if BEGIN.search(text):
            self.report = [text]
        elif not self.report:
            return False, None
        elif not RULE.search(text):
            self.report.append(text)
        else:
            report, self.report = self.report, []
            # The machine's name and the command of the task are no functions.
            stacks = [x for x in report if "+0x" in x]
            return True, report[0].strip() if "mcube" in "".join(stacks) else None
        return True, None
