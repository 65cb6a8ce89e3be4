# SPDX-License-Identifier: GPL-2.0
"""Tests of 'mcube map probe --paper': where it zooms, what it says, who measures."""

import errno
import json
import os
import random
import stat
from pathlib import Path
from unittest import mock

import fake
from mcube_cmd import offsets, paper
from mcube_cmd.term import Failure

HEAD = "# first=0x400000 node=0 held_mib=128 repeat=500 tsc_khz=1 cached=8.00 uncached=600.00 " \
    "obeyed={}\noffset mean median\n"


class PaperMachine:
    """The machine of Figure 5: 3 channels, 8 banks each 12 KiB, 4 ranks each 3 MiB."""

    unit, header = "made-up cycles", {}

    def __init__(self, noise=5, missing=()):
        self.random, self.noise, self.missing = random.Random(1), noise, missing
        self.asked = []

    @staticmethod
    def place(at):
        """Channel, bank, rank, row of an address."""
        return (at // 64 % 3, at // 12288 % 8, at // (3 << 20) % 4), at // (96 << 10)

    def measure(self, start, step, count):
        """Costs as in the paper, 1170 and 1260 cycles, with noise and outliers."""
        self.asked.append((start, step, count))
        for offset in range(start, start + step * count, step):
            if any(a <= offset < b for a, b in self.missing):
                continue
            (one, row), (other, far) = self.place(0), self.place(offset)
            cost = 1260 if one == other and row != far else 1170
            cost += self.random.uniform(-self.noise, self.noise)
            rare = self.random.random() < 0.004
            yield offset, cost + rare * self.random.uniform(300, 5000)

    def close(self):
        """Nothing."""


class Scales(fake.Case):
    """What is measured, and what it shows."""

    def levels(self, machine, mebi=128):
        """Pairs and summary of a machine."""
        found = paper.measure(machine, mebi, lambda share: None)
        return found, paper.summarize(found, machine.unit, {})["scales"]

    def test_paper(self):
        """The shares of the paper's figure: a 96th of all pairs, and a third of a bank's."""
        machine = PaperMachine()
        found, scales = self.levels(machine)
        for s in scales:
            self.assertLess(abs(s["fast"] - 1170), 10)
            self.assertLess(abs(s["slow"] - 1260), 10)
        self.assertLess(abs(scales[0]["slow_share"] * 96 - 1), 0.35)
        self.assertGreater(scales[1]["slow_share"], 1 / 48)
        self.assertGreater(scales[3]["slow_share"], 0.25)
        # Each scale lies in the one above it.
        for wide, narrow in zip(found, found[1:]):
            self.assertGreaterEqual(narrow[0][0], wide[0][0] - 4096)
            self.assertLess(narrow[-1][0], wide[-1][0] + (64 << 10))
        # All remainders by 3 are there, though few pairs are.
        self.assertEqual({o // 64 % 3 for o, _ in found[0]}, {0, 1, 2})

    def test_one_group(self):
        """Costs that are one group are called that, whatever their spread."""
        for noise in (1, 40):
            machine = PaperMachine(noise)
            machine.place = lambda at: ((0,), 0)
            for s in self.levels(machine)[1]:
                self.assertIsNone(s["slow"])
                self.assertIsNone(s["slow_share"])

    def test_holes(self):
        """Memory with holes gives what there is, and too little is refused."""
        machine = PaperMachine(missing=[(8 << 20, 90 << 20)])
        found, _ = self.levels(machine)
        self.assertFalse([o for o, _ in found[0] if 8 << 20 <= o < 90 << 20])
        with self.assertRaises(Failure) as caught:
            self.levels(PaperMachine(missing=[(0, 128 << 20)]))
        self.assertIn("too few to draw", str(caught.exception))

    def test_small(self):
        """4 MiB are enough for the narrow scales."""
        machine = PaperMachine()
        self.levels(machine, 4)
        self.assertTrue(all(s + step * n <= (4 << 20) + 64 for s, step, n in machine.asked))


class Sources(fake.Case):
    """Module and program."""

    def setUp(self):
        """A place for files."""
        super().setUp()
        self.folder = Path(self.root.path)

    def module(self, text, error=None):
        """A module that says a text."""
        self.root.put(offsets.DEVICE, text)
        asked = []

        def ask(_, plan):
            asked.append(plan)
            if error:
                self.root.put("/dev/kmsg", "4,1,1,-;mcube: probe: mib: expected 4 to 8\n")
                raise OSError(error, os.strerror(error))

        with mock.patch.object(offsets.Module, "ask", ask):
            source = offsets.Module(128)
            self.addCleanup(source.close)
            return list(source.measure(64, 128, 2)), asked, source.header

    def test_module(self):
        """Lines of the device, of which the median counts."""
        pairs, asked, header = self.module(HEAD.format("yes") + "64 700.10 650.00\n192 1.00 2.50\n")
        self.assertEqual(pairs, [(64, 650.0), (192, 2.5)])
        self.assertEqual(asked, ["mib=128 start=64 step=128 count=2"])
        self.assertEqual(header["uncached"], "600.00")
        # A physical address of the machine is in the header alone, which is no secret of root.
        self.assertEqual(header["first"], "0x400000")

    def test_not_obeyed(self):
        """Uncached memory that is as fast as cached memory is refused."""
        with self.assertRaises(Failure) as caught:
            self.module(HEAD.format("no") + "64 9.00 9.00\n")
        self.assertIn("does not obey", str(caught.exception))

    def test_refused(self):
        """What the kernel refuses comes with what it says of it."""
        with self.assertRaises(Failure) as caught:
            self.module("", errno.ERANGE)
        self.assertIn("the kernel says: probe: mib: expected 4 to 8", str(caught.exception))
        for number, advice in ((errno.EBUSY, "wait"), (errno.EPERM, "lockdown")):
            self.assertIn(advice, offsets.refused(OSError(number, "x")).advice)
        with mock.patch("mcube_cmd.host.is_root", lambda: False):
            self.assertIn("sudo", offsets.refused(OSError(errno.EACCES, "x")).advice)
            self.root.drop(offsets.DEVICE)
            with self.assertRaises(Failure) as caught:
                offsets.Module(4)
            self.assertIn("sudo", caught.exception.advice)

    def program(self, text):
        """A program in the place of mcube-probe."""
        path = self.folder / "mcube-probe"
        path.write_text("#!/bin/sh\n" + text, "utf-8")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        self.enterContext(mock.patch("mcube_cmd.probe.program", lambda: str(path)))
        source = offsets.Core(4)
        self.addCleanup(source.close)
        return source

    def test_core(self):
        """Requests and pairs, twice from one program; its errors."""
        source = self.program("""echo '{"header": {"how": "hugetlb"}}'
while read -r start step count; do
    echo '{"progress": 0.5, "left_s": 1}'
    echo "{\\"offset\\": $start, \\"cycles\\": $step.5}"
    echo '{"result": "offsets"}'
done""")
        self.assertEqual(list(source.measure(64, 128, 1)), [(64, 128.5)])
        self.assertEqual(list(source.measure(0, 64, 1)), [(0, 64.5)])
        self.assertEqual(source.header, {"how": "hugetlb"})
        source = self.program("echo '{\"error\": \"no memory\", \"next\": \"less\"}'; exit 1")
        with self.assertRaises(Failure) as caught:
            list(source.measure(64, 128, 1))
        self.assertEqual((str(caught.exception), caught.exception.advice), ("no memory", "less"))
        with self.assertRaises(Failure) as caught:
            list(self.program("exit 3").measure(64, 128, 1))
        self.assertIn("status 3", str(caught.exception))

    def test_command(self):
        """Measured, saved, drawn, and said as JSON."""
        saved, png = self.folder / "pairs", self.folder / "paper.png"
        machine = PaperMachine()
        with mock.patch.object(paper, "choose", lambda args: machine):
            status, out, err = self.mcube_says("map", "probe", "--paper", str(png))
            if self.drew(png, status, out, err):
                self.assertIn("slow pairs 12", out)
            out = self.mcube_says("map", "probe", "--save", str(saved), "--json")[1]
        data, lines = json.loads(out), saved.read_text("utf-8").splitlines()
        self.assertEqual((data["unit"], json.loads(lines[0])), (machine.unit,
                                                                {"unit": machine.unit}))
        self.assertLess(abs(data["scales"][0]["slow"] - 1260), 10)
        self.assertEqual(json.loads(lines[1])["offset"], 64)

    def test_arguments(self):
        """Bad files and options are refused before anything is measured."""
        for argv in (("show", "--save", "x"), ("probe", "--save", "x", "--colors"),
                     ("probe", "--mib", "8"), ("verify", "--module")):
            self.refused("map", *argv)
        for argv in (("--paper", "x.txt"), ("--paper", "/x.png", "--module", "--core"),
                     ("--paper", "/x.png", "--mib", "6"), ("--paper", "/x.png", "--mib", "2048")):
            self.refused("map", "probe", *argv)
