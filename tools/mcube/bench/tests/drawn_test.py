# SPDX-License-Identifier: GPL-2.0
"""Machines that are drawn from a seed."""

import importlib
import subprocess
import tempfile
import unittest
from pathlib import Path

import lab  # noqa: F401  first: it makes the other packages importable
from lib import modelled
from mcube_cmd.addrmap import Dim
from srm import drawn

bench = importlib.import_module("drawn")
SEEDS = (20261125, 1, 2)
EACH = 40


def parity(number):
    """1 if an odd number of bits is set."""
    return bin(number).count("1") & 1


class DrawnTest(unittest.TestCase):
    """The descriptions."""

    def setUp(self):
        """Draw machines."""
        self.models = [drawn.model(s, n) for s in SEEDS for n in range(EACH)]

    def test_again(self):
        """The same seed draws the same machines, another seed draws others."""
        again = [drawn.machine(s, n) for s in SEEDS for n in range(EACH)]
        self.assertEqual([(m.keys, fs) for m, fs in self.models], again)
        # Machines with one slice have few keys, and two may be equal.
        different = {str(keys | {"name": ""}) for keys, _ in again}
        self.assertGreater(len(different), len(again) * .9)

    def test_valid(self):
        """The model takes each description as a file."""
        tool = modelled.build() / "mcube-model-replay"
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "machine.conf"
            for model, _ in self.models:
                path.write_text(drawn.text(model.description), "ascii")
                got = subprocess.run([tool, path], input=" L 1000,8\n", text=True, check=False,
                                     capture_output=True)
                self.assertEqual(got.stderr, "")
                self.assertIn("data_llc_misses 1\n", got.stdout)
                self.assertEqual(modelled.read(path), {k: str(v) for k, v in
                                                       model.description.items()})

    def test_colors(self):
        """The address map has the colors that the last level has."""
        for model, _ in self.models:
            d = model.description
            sets = int(d["llc.size"].rstrip("K")) * 1024 // drawn.LINE // d["llc.ways"]
            self.assertEqual(Dim(d["color_map"]).nr, sets // (drawn.PAGE // drawn.LINE))
        for n in range(EACH):
            d = drawn.model(1, n, known=False)[0].description
            sets = int(d["llc.size"].rstrip("K")) * 1024 // drawn.LINE // d["llc.ways"]
            self.assertEqual(Dim(d["color_map"]).nr,
                             sets // d["llc.slices"] // (drawn.PAGE // drawn.LINE))

    def test_slices(self):
        """For each set, lines at random are spread evenly over all slices."""
        for n in range(EACH):
            d = drawn.model(1, n, known=False)[0].description
            masks = [int(m, 16) for m in d["llc.hash"].split() if m != "none"]
            low = 12 + len(d["color_map"].split())
            tops = [a << low for a in range(1 << 8)] + [a << 23 for a in range(1 << 8)]
            found = {sum(parity(t & m) << i for i, m in enumerate(masks)) for t in tops}
            found |= {a ^ b for a in found for b in found}
            found |= {a ^ b for a in found for b in found}
            self.assertEqual(len(found), d["llc.slices"])

    def test_variety(self):
        """Every value of every range occurs."""
        for key, values in (("llc.ways", drawn.WAYS), ("llc.slices", drawn.SLICES),
                            ("llc.policy", drawn.POLICIES), ("l2.ways", drawn.SECOND_WAYS),
                            ("l2.size", [f"{k}K" for k in drawn.SECOND])):
            self.assertEqual({m.description[key] for m, _ in self.models}, set(values))
        self.assertEqual({fs for _, fs in self.models}, set(drawn.FILE_SYSTEMS))

    def test_independent(self):
        """Masks of which some have XOR zero are refused."""
        self.assertTrue(drawn.independent([]))
        self.assertTrue(drawn.independent([1, 3, 7]))
        self.assertFalse(drawn.independent([5, 6, 3]))
        self.assertFalse(drawn.independent([0]))


def pair(machine, cut, file_side_loss, counts=True):
    """A row of a victim beside a program."""
    return {"machine": machine, "victim": "lu", "program": "grep", "cut": cut,
            "file_side_loss": file_side_loss, "counts": counts}


class SummaryTest(unittest.TestCase):
    """The keys of the result."""

    alone = [{"machine": m, "victim": "lu", "share": s, "loss": x}
             for m, s, x in (("a", .75, .002), ("a", 1.0, .02), ("b", .75, -.01))]

    def test_keys(self):
        """Pairs that do not count have a reader, but no cut."""
        pairs = [pair("a", .9, .01), pair("b", .5, -.02), pair("b", -.7, .04, False)]
        got = bench.summarize(pairs, self.alone)
        self.assertEqual((got["drawn_cut_mean"], got["drawn_cut_min"]), (.7, .5))
        self.assertEqual((got["drawn_alone_loss_max"], got["drawn_file_side_loss_max"]),
                         (.02, .04))
        self.assertEqual((got["machines"], got["pairs"], got["pairs_left_out"]), (2, 3, 1))

    def test_beyond(self):
        """What misses a goal is told, a reader once, and pairs that do not count are not."""
        pairs = [pair("a", .9, .01), pair("a", -.1, .05), pair("a", -.2, .05),
                 pair("b", -.7, .03, False)]
        lost, worse, slow = bench.beyond(pairs, self.alone)
        self.assertEqual([r["loss"] for r in lost], [.02])
        self.assertEqual([r["cut"] for r in worse], [-.2, -.1])
        self.assertEqual([(r["machine"], r["program"]) for r in slow], [("a", "grep")])

    def test_machines(self):
        """Each machine names its worst pair, victim alone and reader."""
        pairs = [pair("a", .9, .01), pair("a", .4, .01), pair("b", .1, .04, False)]
        guests = {m: {"machine": m, "fs": "xfs", "n": 0, "description": drawn.model(1, 0)[0]
                      .description} for m in "ab"}
        a, b = bench.by_machine(pairs, self.alone, guests)
        self.assertEqual((a["cut"], a["least"], a["alone_loss"]), (.65, .4, .02))
        self.assertEqual(a["alone_victim"], "lu 1")
        self.assertEqual((b["cut"], b["least"], b["file_side_loss"]), (None, None, .04))
