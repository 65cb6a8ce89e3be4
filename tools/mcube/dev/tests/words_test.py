# SPDX-License-Identifier: GPL-2.0
"""The check finds old words in their old meaning, and nothing else."""

import unittest
from unittest import mock

from lib import words


def found(line, path="mm/mcube/srm/place.c"):
    """Findings in a file of one line."""
    return words.findings({path: line + "\n"})


class WordsTest(unittest.TestCase):
    """Words, their scope, and exempt lines."""

    def test_old_words(self):
        """The check finds old words and names; a finding has the line and the new word."""
        self.assertEqual(words.findings({"README": "x\nThe palette.\n"}),
                         ["README:2: 'palette' is now 'color selector'"])
        for line in ("deals a color", "/* Dealing */", "was dealt", "mcube_rescan()", "remap.h",
                     "mcube_remap(x)", "the key is dry", "s->nr_dry++", "loose frames",
                     "fill_loose()", "The store is off", r'"off\nthe store"',
                     "region_order=1", "alloc/seed",
                     "mcube.seed=paper", "mcube_seed_names", "mcube_run_left(r)", "MCUBE_SCAN_MAX",
                     "mcube_pick_count()", "mcube_recent_pop", "mcube_count_all()", "mcube_shape",
                     "struct mcube_place p", "mcube_regions_init()"):
            with self.subTest(line=line):
                self.assertTrue(found(line))

    def test_others(self):
        """Words of the kernel, and words that contain an old word, are no findings."""
        for line in ("a good deal of", "a great deal", "deal with it", "ideal", "mremap(2)",
                     "ioremap(x)", "remap_pfn_range()", "--dry-run", "dry_run(args)", "restore it",
                     "looser", "random seed", "mcube_runtime", "placement", "mcube_placement",
                     "mcube_counter", "a region of memory", "runs on CPU 0"):
            with self.subTest(line=line):
                self.assertEqual(found(line), [])

    def test_scope(self):
        """A word that is old in one folder is allowed elsewhere."""
        self.assertTrue(found("see turns.c", "tools/mcube/model/replay.c"))
        self.assertEqual(found("see turns.c", "tools/mcube/demo/run.py"), [])
        self.assertEqual(found("palette", "MAINTAINERS"), [])

    def test_file_names(self):
        """The name of a file counts."""
        self.assertEqual(found("", "mm/mcube/rescan.c"),
                         ["mm/mcube/rescan.c: 'rescan' is now 'reuse'"])

    def test_exempt(self):
        """A line about the past may stay."""
        path, past = "Documentation/mm/mcube/design.rst", "the palette, as it was named"
        self.assertTrue(found(past, path))
        with mock.patch.object(words, "EXEMPT", (("Documentation/", "as it was named"),)):
            self.assertEqual(found(past, path), [])
            self.assertTrue(found("the palette", path))
            self.assertTrue(found(past, "README"))
