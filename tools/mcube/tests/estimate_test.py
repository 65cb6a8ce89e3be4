# SPDX-License-Identifier: GPL-2.0
"""mcube map verify, map probe --colors and estimate, on a made-up mcube-probe."""

import json
import os
from pathlib import Path
from unittest import mock

import fake
from mcube_cmd import machine, probe
from mcube_cmd.term import Failure

LOW = ["0x1000", "0x2000"]
LOAD = {"quantiles": [.2, .5, .8], "same": [49, 50, 51], "even": [7, 7.3, 7.5],
        "beyond": [80, 82, 90]}
HOLDS = {"result": "map", "level": 2, "unit": "ns", "verdict": "holds", "confidence": .99998,
         "why": "pages of one color compete for the cache, pages of other colors do not",
         "masks": LOW, "colors": 4, "load": LOAD,
         "mask_verdicts": [{"verdict": "holds", "competing": 0}] * 2}
NOT = {**HOLDS, "verdict": "does not hold",
       "why": "pages of one color do not compete for the cache"}
UNKNOWN = {**HOLDS, "verdict": "unknown", "confidence": 0, "masks": [],
           "why": "times are spread too wide"}


def estimate(gain):
    """mcube-probe's estimate, in which even pages save a share."""
    sizes = [{"share": s, "bytes": int(s * 2097152), "even": [7, 7.5, 8], "random": [9, 10, 11],
              "kernel": [9, 10, 11], "random/even": [1.1, 1.3, 1.5],
              "kernel/even": [.9, 1 / (1 - gain), 3]} for s in (.5, .75, 1.)]
    return {"result": "estimate", "unit": "ns", "memory": {}, "colors": 4, "sizes": sizes,
            "stream": {"bytes": 1048576, "alone": [6, 6, 6], "all": [6, 7, 8], "one": [6, 6, 6],
                       "all/alone": [1, 1.12, 1.3], "one/alone": [1, 1.01, 1.1]}}


class Timed(fake.Case):
    """A machine with an L2 of 4 colors, and an L3 whose index is not documented."""

    def setUp(self):
        """Caches as sysfs describes them."""
        super().setUp()
        for index, (level, sets, ways) in enumerate(((2, 256, 8), (3, 16384, 16))):
            at = f"/sys/devices/system/cpu/cpu0/cache/index{index}"
            for name, value in (("level", level), ("type", "Unified"), ("number_of_sets", sets),
                                ("ways_of_associativity", ways), ("coherency_line_size", 64),
                                ("physical_line_partition", 1)):
                self.root.put(f"{at}/{name}", f"{value}\n")
        self.root.put(f"{fake.SYSFS}/map/color_map", " ".join(LOW) + "\n")
        self.root.put(f"{fake.SYSFS}/map/color_bytes", f"{256 * 8 * 64 // 4}\n")
        self.root.put(f"{fake.SYSFS}/map/level", "L2\n")

    def says(self, answers, *argv):
        """(status, JSON, calls) of the command with mcube-probe's answers, in order."""
        calls, left = [], list(answers)

        def run(words, _):
            calls.append([str(w) for w in words])
            return left.pop(0)

        with mock.patch("mcube_cmd.probe.run", run), \
                mock.patch("mcube_cmd.probe.there", lambda: "/x"):
            status, out, err = self.mcube_says(*argv, "--json")
        self.assertEqual((err, left), ("", []))
        return status, json.loads(out), calls

    def text(self, answers, *argv):
        """What people read."""
        left = list(answers)
        with mock.patch("mcube_cmd.probe.run", lambda *_: left.pop(0)), \
                mock.patch("mcube_cmd.probe.there", lambda: "/x"):
            _, out, err = self.mcube_says(*argv)
        self.assertEqual(err, "")
        return out

    def test_verify(self):
        """The map in force is timed for its level; without a rule for a level it is unknown."""
        status, data, calls = self.says([HOLDS], "map", "verify")
        self.assertEqual((status, len(calls)), (0, 1))
        self.assertIn("0x1000,0x2000", calls[0])
        self.assertIn("131072", calls[0])
        self.assertEqual([x["verdict"] for x in data["levels"]], ["holds", "unknown"])
        self.assertIn("not documented", data["levels"][1]["why"])
        self.assertEqual(data["banks"]["verdict"], "unknown")
        out = self.text([HOLDS], "map", "verify")
        self.assertIn("4 colors by the map in force: holds (confidence 99.99%)", out)
        self.assertIn("costs 50 ns (49 to 51) among pages of one color, 7.3", out)
        self.assertNotIn("100", out)
        status, _, _ = self.says([NOT], "map", "verify")
        self.assertEqual(status, 1)
        self.assertIn("DOES NOT HOLD", self.text([NOT], "map", "verify"))
        self.assertEqual(self.says([UNKNOWN], "map", "verify")[0], 0)

    def test_guests(self):
        """A guest whose colors do not hold hears why that may be; bare metal does not."""
        self.assertNotIn("host", self.text([NOT], "map", "verify"))
        self.root.put("/proc/cpuinfo", "model name\t: x\nflags\t: fpu hypervisor\n\n")
        self.assertIn("the host backs this memory by pages too small",
                      self.text([NOT], "map", "verify"))

    def test_masks_above_2_mib(self):
        """A map that does not hold is tried without its masks above 2 MiB."""
        self.root.put(f"{fake.SYSFS}/map/color_map", "0x1000 0x400000\n")
        status, data, calls = self.says([NOT, HOLDS], "map", "verify")
        self.assertEqual(status, 1)
        self.assertIn("0x1000,0x400000", calls[0])
        self.assertEqual(calls[1][-1], "0x1000")
        self.assertEqual(data["levels"][0]["below_2m"]["verdict"], "holds")
        self.assertIn("below 2 MiB", self.text([NOT, HOLDS], "map", "verify"))

    def test_stock_kernel(self):
        """Without mcube the description of the cache gives the map."""
        self.make(mcube=False)
        Timed.setUp(self)
        for name in ("color_map", "bank_map"):
            self.root.drop(f"{fake.SYSFS}/map/{name}")
        _, data, calls = self.says([HOLDS], "map", "verify")
        self.assertEqual(calls[0][-1], "0x1000,0x2000")
        self.assertEqual(data["levels"][0]["of"], "the description of the cache")

    def test_rule(self):
        """Sapphire Rapids: 32 colors of its L2, and of a slice of its last level."""
        self.root.put("/proc/cpuinfo", "vendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t: 143\n")
        bits = [1 << b for b in range(12, 17)]
        for cache in (machine.Cache(2, "Unified", 64, 1, 16, 2048, False),
                      machine.Cache(3, "Unified", 64, 1, 15, 114688, True)):
            self.assertEqual(machine.index_masks(cache), (bits, ""))
        for cache in (machine.Cache(2, "Unified", 64, 1, 16, 2048, True),
                      machine.Cache(3, "Unified", 64, 1, 15, 100000, True),
                      machine.Cache(2, "Unified", 64, 1, 16, 64, False)):
            self.assertIsNone(machine.index_masks(cache)[0])

    def test_probe(self):
        """Masks that were found, with the command that writes them."""
        out = self.text([HOLDS, UNKNOWN], "map", "probe", "--colors")
        self.assertIn('mcube map set --color "0x1000 0x2000"', out)
        self.assertIn("L2, 16 MiB: cannot be known", out)
        status, _, calls = self.says([UNKNOWN, UNKNOWN], "map", "probe", "--colors")
        self.assertEqual((status, len(calls)), (0, 2))
        self.assertTrue(all("-f" in c for c in calls))
        for argv in (("map", "verify", "--colors"), ("map", "--cache", "2:1M:8"),
                     ("map", "verify", "--color", "0x1000"), ("map", "verify", "--cache", "4:1M:8"),
                     ("map", "verify", "--cache", "2:1M:7")):
            self.assertEqual(self.mcube_says(*argv)[0], 1, argv)

    def test_check(self):
        """mcube check in a guest says what was found: holds, does not, not known, not timed."""
        self.root.put("/proc/cpuinfo", "model name\t: x\nflags\t: fpu hypervisor\n\n")
        for answer, words in ((HOLDS, "4 colors of L2 hold"), (NOT, "do not hold here"),
                              (UNKNOWN, "is not known: times are spread")):
            self.assertIn(words, " ".join(self.text([answer], "check").split()))
        with mock.patch("mcube_cmd.probe.there", lambda: None):
            out = " ".join(self.mcube_says("check")[1].split())
        self.assertIn("whether they hold in this guest was not timed -> mcube map verify", out)

    def test_estimate(self):
        """The sentence has the gain, the stream's cost, and what is unknown; spread is shown."""
        answers = [HOLDS, *(estimate(g) for g in (.2, .25, .3))]
        status, data, calls = self.says(answers, "estimate")
        self.assertEqual((status, len(calls)), (0, 4))
        self.assertIn("-m", calls[1])
        self.assertIn("a program of 2 MiB gains 25% by even colors of L2; a stream beside 1 MiB in "
                      "L2 costs 12%, in one color 1%", data["sentence"])
        self.assertIn("colors of L3 would save is unknown", data["sentence"])
        self.assertEqual(data["label"], "measured on this machine")
        row = data["levels"][0]["sizes"][0]["kernel/even"]
        self.assertEqual([round(row[k], 3) for k in ("min", "median", "max")],
                         [1.25, 1.333, 1.429])
        self.assertIn("1.33 (1.25-1.43)", self.text(answers, "estimate"))

    def test_no_gain(self):
        """A repeat without a gain, or a map that does not hold: no gain is claimed."""
        _, data, _ = self.says([HOLDS, *(estimate(g) for g in (.2, 0, .3))], "estimate")
        self.assertIn("save nothing that stands out", data["sentence"])
        _, data, calls = self.says([NOT, estimate(.5)], "estimate", "--repeat", "1")
        self.assertNotIn("gains", data["sentence"])
        self.assertIn("of no use", data["sentence"])
        self.assertNotIn("-m", calls[1])
        self.assertNotIn("-f", calls[1])
        self.assertEqual(self.mcube_says("estimate", "--repeat", "0")[0], 1)

    def test_picture(self):
        """The picture has the variants that were measured."""
        path = Path(f"{self.root.path}/estimate.png")
        with mock.patch("mcube_cmd.probe.run",
                        lambda words, _: HOLDS if words[0] == "color" else estimate(.2)), \
                mock.patch("mcube_cmd.probe.there", lambda: "/x"):
            self.drew(path, *self.mcube_says("estimate", "--repeat", "1", "--png", str(path)))


class Program(fake.Case):
    """What mcube-probe prints, and what it is when it is not there."""

    def program(self, script):
        """A program in place of mcube-probe."""
        path = Path(f"{self.root.path}/probe")
        path.write_text(f"#!/bin/sh\n{script}\n", "utf-8")
        path.chmod(0o755)
        os.environ["MCUBE_PROBE"] = str(path)

    def test_lines(self):
        """Progress, then the result; an error has its next step; anything else is an error."""
        self.program('echo \'{"progress": 0.5, "left_s": 3}\'; echo \'{"result": "map", "x": 1}\'')
        self.assertEqual(probe.run(["color"], "L2")["x"], 1)
        for script, words, then in (
                ('echo \'{"error": "bad", "next": "do this"}\'; exit 1', "bad", "do this"),
                ("exit 3", "no result", "color"), ("echo hello", "no JSON", "one tree")):
            self.program(script)
            with self.assertRaisesRegex(Failure, words) as caught:
                probe.run(["color"], "L2")
            self.assertIn(then, caught.exception.advice)

    def test_not_there(self):
        """Without a compiler and without the program the next step is named."""
        with mock.patch.object(probe, "INSTALLED", Path("/nowhere")), \
                mock.patch.object(probe, "folder", lambda: Path("/nowhere")), \
                mock.patch("shutil.which", lambda _: None), \
                mock.patch.dict(os.environ):
            del os.environ["MCUBE_PROBE"]
            self.assertIsNone(probe.there())
            with self.assertRaises(Failure) as caught:
                probe.program()
        self.assertIn("apt install gcc make", caught.exception.advice)
