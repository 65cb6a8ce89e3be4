# SPDX-License-Identifier: GPL-2.0
"""Circles between files, by include and by symbol, and the text of findings."""

import subprocess
import tempfile
import unittest
from pathlib import Path

from lib import circles
from lib.ui import Failure


def by_include(**headers):
    """Circles of files in mm/mcube/, each with the headers that it includes."""
    files = {f"mm/mcube/{name.replace('_', '.')}": "".join(f'#include "{h}.h"\n' for h in needs)
             for name, needs in headers.items()}
    return circles.findings(circles.by_include(files))


def by_symbol(objects):
    """Circles of objects, {path: (defined, used)}."""
    return circles.findings(circles.by_symbol(
        {f"{path}.c": (set(d.split()), set(u.split())) for path, (d, u) in objects.items()}))


class CirclesTest(unittest.TestCase):
    """The check finds circles, and finds nothing that only looks like a circle."""

    def test_headers(self):
        """Two headers that include each other."""
        self.assertEqual(by_include(a_h=["b"], b_h=["a"]),
                         ["mm/mcube/a needs b.h of mm/mcube/b; mm/mcube/b needs a.h of mm/mcube/a"])

    def test_source_and_header(self):
        """A source file and its header are one unit."""
        self.assertEqual(len(by_include(a_c=["a", "b"], a_h=[], b_c=["b", "a"], b_h=[])), 1)
        self.assertEqual(by_include(a_c=["a"], a_h=[], b_c=["a", "b"], b_h=["a"]), [])

    def test_long_way(self):
        """A circle of three files is one finding, each file with the next."""
        got = by_include(a_h=["b"], b_h=["c"], c_h=["a", "d"], d_h=[])
        self.assertEqual(len(got), 1)
        self.assertEqual(got[0].count(" needs "), 3)
        self.assertNotIn("mm/mcube/d", got[0])

    def test_two_circles(self):
        """Circles that share no file are separate findings."""
        self.assertEqual(len(by_include(a_h=["b"], b_h=["a"], c_h=["d"], d_h=["c"])), 2)

    def test_shared_header(self):
        """A header that all files include makes no circle."""
        self.assertEqual(by_include(a_c=["internal"], b_c=["internal"], internal_h=[]), [])

    def test_areas(self):
        """Files of different areas make no circle with each other."""
        self.assertEqual(by_symbol({"mm/mcube/a": ("a", "b"), "drivers/mcube/b": ("b", "a")}), [])

    def test_calls(self):
        """Two files that call each other; the finding names the functions."""
        got = by_symbol({"mm/mcube/srm/a": ("f g", "h printk"), "mm/mcube/srm/b": ("h", "f g")})
        self.assertEqual(got, ["mm/mcube/srm/a needs h of mm/mcube/srm/b; "
                               "mm/mcube/srm/b needs f, g of mm/mcube/srm/a"])

    def test_calls_one_way(self):
        """Calls in one direction, within a file, and of the kernel make no circle."""
        self.assertEqual(by_symbol({"mm/mcube/a": ("f", "g printk"), "mm/mcube/b": ("g", "g kfree"),
                                    "mm/mcube/c": ("h", "f g")}), [])

    def test_many_symbols(self):
        """A finding names the first of many symbols."""
        got = by_symbol({"mm/mcube/a": ("a b c d e", "f"), "mm/mcube/b": ("f", "a b c d e")})
        self.assertIn("needs a, b, c and 2 more of mm/mcube/a", got[0])

    def test_objects(self):
        """Symbols of real objects: calls and data count, static functions do not."""
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder) / "x.c"
            source.write_text("extern int there; int here; static int mine(void) { return 1; }\n"
                              "int other(void);\n"
                              "int own(void) { return mine() + other() + there; }\n", "utf-8")
            for options in ((), ("-flto",)):
                subprocess.run(["gcc", *options, "-c", "-o", source.with_suffix(".o"), source],
                               check=True)
                self.assertEqual(circles.symbols(source.with_suffix(".o")),
                                 ({"here", "own"}, {"there", "other"}))
            with self.assertRaises(Failure):
                circles.symbols(source)
