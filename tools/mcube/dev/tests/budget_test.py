# SPDX-License-Identifier: GPL-2.0
"""Which lines count for a patch, and for which room."""

import unittest

from lib import budget


class MadeUp:
    """A patch without a file."""

    def __init__(self, room="", config=(), **diffs):
        self.name, self.config, self.room = "0001-x.patch", list(config), room
        self.diffs = {path.replace("__", "/") + ".c": "--- a\n+++ b\n" + "@@ -1 +1 @@\n-old\n"
                      + "+new\n" * n for path, n in diffs.items()}

    def header(self, key):
        """Value of a header."""
        return self.room if key == "X-Mcube-Room" else ""


def rooms(*patches):
    """Findings of the budgets of rooms."""
    return budget.rooms(patches, lambda p: {})[1]


class BudgetTest(unittest.TestCase):
    """Limits of patches and rooms."""

    def test_room(self):
        """A header names the room, else the config symbols, else the files."""
        for patch, files, room in (
                (MadeUp("srm", ["MCUBE_ALLOC"]), {}, "srm"),
                (MadeUp(config=["MCUBE_SIM_PMU"]), {}, "sim"),
                (MadeUp(config=["MCUBE"]), {}, "map"),
                (MadeUp(), {"README": "", "mm/mcube/ubm/held.c": ""}, "ubm"),
                (MadeUp(), {"include/linux/mcube_alloc.h": ""}, "alloc"),
                (MadeUp(config=["MCUBE_KUNIT_TEST"]), {}, budget.NONE)):
            self.assertEqual(budget.room(patch, files), room)

    def test_rooms(self):
        """Lines of all patches of a room are added up."""
        most = budget.ROOM_LINES
        self.assertEqual(rooms(MadeUp("srm", mm__a=most), MadeUp("alloc", mm__b=most)), [])
        self.assertEqual(len(rooms(MadeUp("srm", mm__a=most), MadeUp("srm", mm__b=1))), 1)
        hunks = {f"mm__f{i}": 1 for i in range(budget.ROOM_HUNKS + 1)}
        self.assertIn("21 hunks", rooms(MadeUp("srm", **hunks))[0])

    def test_all(self):
        """There is a limit over all rooms, and a room has to exist."""
        many = [MadeUp(r, mm__a=budget.ROOM_LINES) for r in ("map", "alloc", "srm", "ubm", "sim")]
        self.assertEqual(rooms(*many), [])
        self.assertIn("in existing files", rooms(*many, MadeUp("rocs", mm__b=1))[0])
        self.assertIn("no room", rooms(MadeUp("kitchen", mm__a=1))[0])

    def test_size(self):
        """Tests, tools and documentation do not count for the size of a patch."""
        patch = MadeUp(mm__a=10, tools__b=1000)
        new = {"mm/mcube/srm/a.c": "x\n" * 5, "mm/mcube/tests/a-kunit.c": "x\n" * 1000,
               "Documentation/x.rst": "x\n" * 1000}
        self.assertEqual(budget.size(patch, new), 15)
        lines, wrong = budget.sizes([patch], lambda p: {"mm/x.c": "x\n" * budget.PATCH_LINES})
        self.assertEqual((len(lines), len(wrong)), (1, 1))
