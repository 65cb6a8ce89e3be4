# SPDX-License-Identifier: GPL-2.0
"""Figures 6 and 7 of the M3 paper: where the cores start, and what their reads count."""

import importlib
import random
import unittest

from lab import Failure  # first: it makes the other packages importable
from lib import modelled, ui
from mcube_cmd.addrmap import Dim

bench = importlib.import_module("m3-starts")


def stream(*argv):
    """Counts of mcube-model-streams on the machine of the tests."""
    out = ui.sh(modelled.build() / "mcube-model-streams", *argv)
    return {k: int(v) for k, v in (line.split() for line in out.splitlines())}


class StartsTest(unittest.TestCase):
    """The starts of the cores."""

    def test_regular(self):
        """Regular starts put all cores into one bank and one channel at each step."""
        bank = Dim(bench.bank_map())
        for seed in range(20):
            first = bench.starts("regular", random.Random(seed))
            self.assertEqual(first, [first[0] + i * bench.APART for i in range(bench.CORES)])
            for step in range(0, bench.APART // bench.PAGE, 97):
                banks = bank.values([a // bench.PAGE + step for a in first])
                self.assertEqual(len(set(banks)), 1)
                for line in (0, 31, 63):
                    channels = {((a + step * bench.PAGE) // 64 + line) % 3 for a in first}
                    self.assertEqual(len(channels), 1)

    def test_random(self):
        """Random starts: what one core reads, no other core reads."""
        for seed in range(50):
            drawn = sorted(bench.starts("random", random.Random(seed)))
            self.assertTrue(all(a % bench.PAGE == 0 for a in drawn))
            self.assertTrue(0 <= drawn[0] and drawn[-1] + bench.APART <= bench.MEMORY)
            self.assertTrue(all(b - a >= bench.APART for a, b in zip(drawn, drawn[1:])))


class StreamsTest(unittest.TestCase):
    """The program that gives physical addresses to the model."""

    conf = modelled.MACHINES / "small.conf"

    def test_counts(self):
        """Each line is missed once, and lines that two CPUs read are missed once."""
        self.assertEqual(stream(self.conf, 16, 0, 1 << 20)["llc_misses"], 2 * 16 * 64)
        self.assertEqual(stream(self.conf, 16, 0, 0)["llc_misses"], 16 * 64)

    def test_banks(self):
        """Two CPUs in step in one bank close each other's rows; a bank apart, nobody does."""
        same = stream("-w", self.conf, 1, 0, 1 << 20)
        # Bit 13 is the channel.
        apart = stream("-w", self.conf, 1, 0, (1 << 20) + 8192)
        self.assertGreater(same["row_conflicts"], 100)
        self.assertEqual(apart["row_conflicts"], 0)
        self.assertGreater(same["cycles"], apart["cycles"])

    def test_processor(self):
        """The prefetcher of the description is off, and waits for DRAM if it is on."""
        conf, pages = modelled.MACHINES / "x3650m2.conf", 24
        args = ("cpu.misses=10", pages, *(i * bench.APART for i in range(bench.CORES)))
        keys = [f"{k}={v}" for k, v in bench.PROCESSOR.items()]
        on, off = stream(conf, *keys, *args), stream(conf, *args)
        at_once = stream(conf, *keys, "prefetch.under_way=0", *args)
        self.assertLess(at_once["cycles"], on["cycles"])
        self.assertLess(on["cycles"], off["cycles"])
        self.assertEqual(on["dram_accesses"], bench.CORES * 64 * pages)
        # The description leaves the prefetcher off, whatever lines may be under way.
        self.assertEqual(off, stream(conf, "prefetch.under_way=0", *args))

    def test_bad_input(self):
        """Values out of range are refused with the range."""
        for argv, text in (((self.conf, 0, 0), "1 to 1048576"), ((self.conf, 1, 7), "4096"),
                           (("-i", "0", self.conf, 1, 0), "1..4096"),
                           ((self.conf, "llc.ways=0", 1, 0), "llc.ways")):
            with self.assertRaises(Failure) as caught:
                stream(*argv)
            self.assertIn(text, str(caught.exception))
