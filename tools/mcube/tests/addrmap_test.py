# SPDX-License-Identifier: GPL-2.0
"""The address map as the command works it out."""

import errno
import random
import re
import unittest

import fake
from mcube_cmd import addrmap
from mcube_cmd.addrmap import Dim
from mcube_cmd.term import Failure

# From mm/mcube/tests/map-cases.h: text, number of values.
GOOD = (("none", 1), ("0x1000", 2), ("0x1000,0x2000,0x4000", 8), ("table:0:0,1,2", 3),
        ("\t0x4000 , 0x2000\t0x1000\n", 8), ("0x44000,0x88000,table:0:0,1,2", 12),
        ("table:2:2,1,0,2,1,0 0x44000", 6), ("0X1000 table:0:0,0,1,1", 4),
        ("0x1000,table:0:0,1,2 table:8:0,1", 12))
# The M3 paper's machine, see tools/testing/mcube/map_cover_test.c.
PAPER = ("table:0:" + ",".join(f"{i // 3}" for i in range(24)) + " table:8:"
         + ",".join(f"{i // 3}" for i in range(12)))
BAD = ("", "color", "4096", "0x", "0x1000 0xg", "table:0", "table:x:0,1", "none none",
       "0x1000;0x2000", "0x1000 0x1000", "0x1000 0x1040", "0x3000 0x6000 0x5000",
       "table:0:0,2", "table:0:1,1", "table:0:0,0", "table:0:0,1 table:1:",
       "table:0:0,1,2 0x1000 0x2000 0x4000 0x8000 0x10000 0x20000 0x40000")


def slowly(text, pfn):
    """Color or bank by the definition, address bit by address bit."""
    masks = [int(w, 16) for w in text.replace(",", " ").split() if w.startswith("0x")]
    value = 0
    for i, mask in enumerate(masks):
        bits = [pfn >> b - 12 & 1 for b in range(12, 64) if mask >> b & 1]
        value |= sum(bits) % 2 << i
    unit = 2 ** len(masks)
    for shift, entries in re.findall(r"table:(\d+):([\d,]+)", text):
        entries = [int(x) for x in entries.split(",")]
        value += entries[pfn // 2 ** int(shift) % len(entries)] * unit
        unit *= max(entries) + 1
    return value


class Values(unittest.TestCase):
    """What text means."""

    def test_number_of_values(self):
        """Every form of text has the number of values that the kernel finds."""
        for text, nr in GOOD:
            self.assertEqual(Dim(text).nr, nr, text)

    def test_refused(self):
        """Text that is no map is refused with an example of a map."""
        for text in BAD:
            with self.assertRaises(Failure, msg=text) as caught:
                Dim(text)
            self.assertTrue(caught.exception.advice)

    def test_definition(self):
        """Values of random frames are those of the definition."""
        numbers = random.Random(1)
        for text in (fake.COLORS, fake.BANKS, "0x2040 0x8000000044000", "table:3:0,1,2",
                     "0x44000 0x88000 table:0:0,1,2", PAPER,
                     f"0x100000000 table:0:0,1,2 {PAPER}"):
            dim = Dim(text)
            frames = [numbers.getrandbits(numbers.choice((8, 20, 40))) for _ in range(2000)]
            self.assertEqual(dim.values(frames), [slowly(text, p) for p in frames], text)
            self.assertEqual(dim.counts(frames), [dim.values(frames).count(v)
                                                  for v in range(dim.nr)])

    def test_paper(self):
        """The M3 paper's machine: three frames in a bank, 8 banks, then 31 times again."""
        dim = Dim(PAPER)
        self.assertEqual(dim.nr, 32)
        for pfn in range(8192):
            self.assertEqual(dim.value(pfn), pfn // 3 % 8 + 8 * (pfn // 768 % 4))

    def test_steps(self):
        """The steps shown for an address add up to its value."""
        dim = Dim("0x24000 0x48000 table:1:2,0,1")
        for pfn in range(0, 4096, 37):
            steps = [bit for _, bit in dim.steps(pfn)]
            self.assertEqual(steps[0] + 2 * steps[1] + 4 * steps[2], dim.value(pfn))

    def test_grid(self):
        """The grid of colors and banks counts every frame once, where it belongs."""
        found = addrmap.Map(fake.COLORS, fake.BANKS)
        frames = list(range(5000, 9000, 3))
        grid = addrmap.grid(found, frames)
        self.assertEqual(sum(map(sum, grid)), len(frames))
        self.assertEqual([sum(row) for row in grid], found.bank.counts(frames))
        self.assertEqual([sum(col) for col in zip(*grid)], found.color.counts(frames))

    def test_runs(self):
        """Runs of neighbouring frames go up or down, and end where the direction changes."""
        self.assertEqual(addrmap.run_lengths([1, 2, 3, 2, 9, 8, 7, 7, 20]), [3, 1, 3, 1, 1])
        self.assertEqual(addrmap.run_lengths([]), [])

    def test_heat(self):
        """Frames of all colors give an even line, frames of one color do not."""
        dim = Dim(fake.COLORS)
        self.assertEqual(addrmap.heat(dim, range(320)), "=" * 32)
        self.assertEqual(addrmap.heat(dim, [32 * i for i in range(50)]), "@" + " " * 31)


class Command(fake.Case):
    """mcube map."""

    def test_show(self):
        """The map in force, mask by mask."""
        out = self.done("map")
        for text in ("source: color=cpuid bank=sysfs", "32 colors of 64 KiB", "16 banks",
                     "bit 3 = parity of address bits 17, 20   0x120000"):
            self.assertIn(text, out)
        self.assertNotIn("note:", out)

    def test_doubt(self):
        """A mask beyond the end of memory is pointed out."""
        self.root.put(f"{fake.SYSFS}/map/bank_map", "0x24000 0x100002000\n")
        self.assertIn("address bit 32, and memory ends at 0x80000000",
                      self.mcube_says("map")[1])

    def test_cover(self):
        """Containers that do not have all banks are pointed out, if the map is in force."""
        text = "of 16 banks, a container of order 10 has at least: "
        self.assertNotIn(text, self.mcube_says("map")[1])
        for banks, order in (("8", "12"), ("8", "unknown"), ("unknown", "unknown")):
            self.root.put(f"{fake.SYSFS}/alloc/container_banks", f"{banks}\n")
            self.root.put(f"{fake.SYSFS}/alloc/cover_order", f"{order}\n")
            self.assertIn(f"{text}{banks}; order from which on each has all: {order}",
                          self.mcube_says("map")[1])
        self.assertNotIn(text, self.mcube_says("map", "--bank-map", "0x1000")[1])

    def test_explain(self):
        """Color, bank and node of an address."""
        out = self.done("map", "--explain", "0x402a5678", "--explain", "4096")
        self.assertIn("address 0x402a5678: frame 0x402a5, node 1", out)
        self.assertIn("color 5 of 32   (0x1000: 1, 0x2000: 0, 0x4000: 1", out)
        self.assertIn("bank 12 of 16", out)
        self.assertIn("address 0x1000: frame 0x1, node 0", out)
        for text in ("x", "-4096", "0x10000000000000"):
            self.assertIn("is no physical address", self.refused("map", f"--explain={text}"))

    def test_given(self):
        """A map can be tried out without the kernel."""
        self.make(mcube=False)
        out = self.done("map", "--color-map", "0x1000", "--explain", "0x1000")
        self.assertIn("color 1 of 2", out)
        self.assertIn("bank: not distinguished", out)
        self.assertIn("--color-map", self.refused("map"))

    def test_set(self):
        """A map is written as given; of two maps, both or none."""
        status, out, _ = self.mcube_says("map", "set", "--color", "0x1000 0x2000")
        self.assertEqual((status, self.value("map/color_map")), (0, "0x1000 0x2000"))
        self.assertIn(f"{fake.COLORS} -> 0x1000 0x2000", out)
        status, _, err = self.mcube_says("map", "set", "--color", "none", "--bank", "4096")
        self.assertEqual((status, self.value("map/color_map")), (1, "0x1000 0x2000"))
        self.assertIn("'4096' is no part of an address map", err)

    def test_set_half(self):
        """Of two maps the good one is not written either: its source would become sysfs."""
        self.root.written.clear()
        for bad in ("4096", "0x1000 0xg", "7 14"):
            for good in (("--color", "none", "--bank", bad), ("--color", bad, "--bank", "none")):
                self.assertEqual(self.mcube_says("map", "set", *good)[0], 1)
        self.assertEqual(self.root.written, [])

    def test_set_back(self):
        """A map that only the kernel refuses: the other is set back, and counts as root's."""
        self.root.errors = {"map/bank_map": errno.ENOMEM}
        err = self.mcube_says("map", "set", "--color", "none", "--bank", "0x24000")[2]
        self.assertEqual(self.value("map/color_map"), fake.COLORS)
        self.assertIn("count as root's: color=sysfs bank=sysfs, which was color=cpuid", err)
        self.assertNotIn("all settings are as before", err)

    def test_bits(self):
        """A list of bits, as other tools print it, is refused with the mask that is meant."""
        for text in ("7 14", "7,14", "14, 7"):
            self.assertIn("is one mask, 0x4080", self.mcube_says("map", "set", "--bank", text)[2])
        self.assertNotIn("is one mask", self.mcube_says("map", "set", "--bank", "4096")[2])

    def test_set_in_use(self):
        """While the mcube allocator is on, the message says to switch it off first."""
        self.root.put(f"{fake.SYSFS}/alloc/enabled", "1\n")
        err = self.refused("map", "set", "--bank", "none")
        for text in ("cannot be set while it is in use", "turn off what uses it first",
                     "'mcube off' first"):
            self.assertIn(text, err)
