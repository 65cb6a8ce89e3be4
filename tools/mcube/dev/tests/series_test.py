# SPDX-License-Identifier: GPL-2.0
"""Kconfig files, Makefiles and MAINTAINERS as they are at a commit of the series."""

import unittest

from lib.cut import cut_kconfig, cut_makefile, insert_maintainers
from lib.ui import Failure

TAB = " " * 8
KCONFIG = """\
# SPDX-License-Identifier: GPL-2.0
# The menu.
menuconfig CUBE
        bool "cube"
        help
          Without ALLOC it does nothing.

if CUBE

# Where pages lie.
config ALLOC
        bool "alloc"
        depends on CUBE
        depends on SPARSEMEM && MIGRATION
        select BINS
        help
          See TESTS.

config BINS
        bool

# The tests of all
# that is built.
config TESTS
        bool "tests" if !KUNIT_ALL_TESTS
        depends on ALLOC
        default BINS

source "drivers/cube/Kconfig"

endif # CUBE
""".replace(TAB, "\t")

MAKEFILE = """\
# SPDX-License-Identifier: GPL-2.0

# core first
obj-$(CONFIG_CUBE) += core.o map/ sysfs.o

# allocator
obj-$(CONFIG_ALLOC) += bins.o table.o \\
        entry.o alloc/
cube_mod-y := fill.o batch.o
obj-$(CONFIG_MOD) += cube_mod.o

# tests
obj-$(CONFIG_TESTS) += tests/map-kunit.o
ifdef CONFIG_ALLOC
obj-$(CONFIG_TESTS) += tests/bins-kunit.o
endif
""".replace(TAB, "\t")

MAINTAINERS = """\
List of maintainers
===================

        M: mail

3C59X DRIVER
M:        A <a@example.org>

MCT DRIVER
M:        B <b@example.org>

NETWORK
M:        C <c@example.org>

THE REST
M:        D <d@example.org>
""".replace(TAB, "\t")


class Kconfig(unittest.TestCase):
    """cut_kconfig()"""

    def test_whole(self):
        """A file without missing symbols stays unchanged, blank lines included."""
        text = KCONFIG.replace("\nconfig BINS", "\n\n\nconfig BINS")
        self.assertEqual(cut_kconfig(text, set()), text)

    def test_root_alone(self):
        """The first commit has no blocks, no comments of blocks, and no empty if."""
        got = cut_kconfig(KCONFIG, {"ALLOC", "BINS", "TESTS"}, {"drivers/cube/Kconfig"})
        self.assertEqual(got, KCONFIG[:KCONFIG.index("\nif CUBE")])

    def test_block_and_comment(self):
        """A block leaves with the comment above it; its neighbours stay."""
        got = cut_kconfig(KCONFIG, {"TESTS"})
        begin, end = KCONFIG.index("# The tests"), KCONFIG.index("source")
        self.assertEqual(got, KCONFIG[:begin] + KCONFIG[end:])

    def test_lines_that_name_a_missing_symbol(self):
        """Lines with select, default and depends on leave; help text stays."""
        got = cut_kconfig(KCONFIG, {"BINS"})
        self.assertNotIn("BINS", got)
        self.assertIn("\tdepends on ALLOC\n", got)
        got = cut_kconfig(KCONFIG, {"ALLOC"})
        self.assertNotIn("depends on ALLOC", got)
        self.assertIn("Without ALLOC", got)
        self.assertIn("\tdefault BINS\n", got)

    def test_symbol_is_a_whole_word(self):
        """A symbol whose name only begins like a missing symbol stays."""
        self.assertIn("KUNIT_ALL_TESTS", cut_kconfig(KCONFIG, {"KUNIT_ALL"}))
        text = "config A\n\tbool\n\tdepends on B_C\n"
        self.assertEqual(cut_kconfig(text, {"B"}), text)


class Makefile(unittest.TestCase):
    """cut_makefile()"""

    def test_whole(self):
        """A Makefile without later objects stays unchanged."""
        self.assertEqual(cut_makefile(MAKEFILE, "mm/cube", {"mm/other/bins.c"}), MAKEFILE)

    def test_objects_of_a_continued_line(self):
        """Objects of C and assembler files leave, and the remaining objects move up."""
        got = cut_makefile(MAKEFILE, "mm/cube", {"mm/cube/table.c", "mm/cube/entry.S"})
        self.assertEqual(got, MAKEFILE.replace("bins.o table.o \\\n\tentry.o alloc/",
                                               "bins.o alloc/"))

    def test_directories(self):
        """A directory comes with its Makefile."""
        got = cut_makefile(MAKEFILE, "mm/cube", {"mm/cube/map/Makefile", "mm/cube/alloc/x.c"})
        self.assertEqual(got, MAKEFILE.replace("core.o map/ sysfs.o", "core.o sysfs.o"))

    def test_statements_and_blocks_vanish(self):
        """An empty statement leaves with its conditional and its comment."""
        later = {f"mm/cube/{n}" for n in ("bins.c", "table.c", "entry.S", "alloc/Makefile",
                                          "tests/map-kunit.c", "tests/bins-kunit.c")}
        got = cut_makefile(MAKEFILE, "mm/cube", later)
        begin, end = MAKEFILE.index("obj-$(CONFIG_ALLOC)"), MAKEFILE.index("cube_mod-y")
        self.assertEqual(got, MAKEFILE[:begin] + MAKEFILE[end:MAKEFILE.index("\n# tests")])

    def test_conditional_with_content_stays(self):
        """Only the object of the later file leaves the tests."""
        got = cut_makefile(MAKEFILE, "mm/cube", {"mm/cube/tests/map-kunit.c"})
        self.assertIn("# tests\nifdef CONFIG_ALLOC\nobj-$(CONFIG_TESTS) += tests/bins", got)

    def test_modules(self):
        """Parts of a module leave; the module, which has no source, stays."""
        got = cut_makefile(MAKEFILE, "mm/cube", {"mm/cube/batch.c"})
        self.assertEqual(got, MAKEFILE.replace("fill.o batch.o", "fill.o"))

    def test_licence_stays(self):
        """The licence stays even if nothing else stays."""
        text = "# SPDX-License-Identifier: GPL-2.0\nobj-y += a.o\n"
        self.assertEqual(cut_makefile(text, "mm/cube", {"mm/cube/a.c"}), text[:text.index("obj")])

    def test_long_lines_wrap(self):
        """The rest of a long statement stays within 100 columns and loses no object."""
        names = [f"object_number_{i}.o" for i in range(20)]
        text = "obj-y += " + " \\\n\t".join(names) + "\n"
        got = cut_makefile(text, "mm/cube", {"mm/cube/object_number_0.c"})
        self.assertEqual(got.replace("\\", "").split(), ["obj-y", "+=", *names[1:]])
        rows = got.splitlines()
        self.assertGreater(len(rows), 2)
        self.assertTrue(all(len(x.expandtabs()) <= 100 for x in rows))
        self.assertEqual([x.endswith(" \\") for x in rows], [True] * (len(rows) - 1) + [False])


class Maintainers(unittest.TestCase):
    """insert_maintainers()"""

    def test_sorted_place(self):
        """The entry goes between its neighbours, without the comments of the file."""
        got = insert_maintainers(MAINTAINERS, "# a comment\nMCUBE\nM:\tF <f@example.org>\n")
        self.assertEqual(got, MAINTAINERS.replace(
            "NETWORK", "MCUBE\nM:\tF <f@example.org>\n\nNETWORK"))

    def test_before_the_rest(self):
        """THE REST stays last."""
        got = insert_maintainers(MAINTAINERS, "ZRAM\nM:\tF <f@example.org>\n")
        self.assertEqual(got, MAINTAINERS.replace(
            "THE REST", "ZRAM\nM:\tF <f@example.org>\n\nTHE REST"))

    def test_after_all(self):
        """The entry goes to the end of a list without THE REST."""
        text = MAINTAINERS[:MAINTAINERS.index("\nTHE REST")]
        got = insert_maintainers(text, "ZRAM\nM:\tF <f@example.org>\n")
        self.assertEqual(got, text + "\nZRAM\nM:\tF <f@example.org>\n")

    def test_no_list(self):
        """A file without sections is an error."""
        self.assertRaises(Failure, insert_maintainers, "words\n", "MCUBE\nM:\tF\n")
