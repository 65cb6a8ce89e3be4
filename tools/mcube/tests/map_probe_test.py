# SPDX-License-Identifier: GPL-2.0
"""mcube map probe, on a made-up mcube-probe."""

import argparse
import copy
import json
from pathlib import Path
from unittest import mock

import fake
from mcube_cmd import cmd_map, map_probe
from mcube_cmd.term import Failure

MASKS = ["0x2000", "0x24000", "0x48000", "0x90000"]
KNOWN = {
    "result": "banks", "known": True, "why": None, "banks": 16, "masks": MASKS, "offset": 0,
    "modulus": 0, "turn": 0, "quotient_masks": [], "bank_map": " ".join(MASKS),
    "page_banks": 16, "within_pages": True, "row_bits": [17, 18], "column_bits": [6, 7],
    "hypothesis": "none", "lines": 1024, "sets": 16, "within": 1, "across": 0, "timed": 30460,
    "latency": {"unit": "ticks", "bimodal": True, "low": 172, "high": 284, "threshold": 228,
                "share": .068, "gap": 1, "confidence": .99},
    "verified": {"same": 400, "same_hold": 399, "other": 400, "other_hold": 400},
    "confidence": .9911, "holds": 1, "seen_bits": list(range(6, 30)), "clock": "tsc",
    "memory": {"how": "thp", "page": 1 << 21, "bytes": 1 << 30}}
REFUSED = {**KNOWN, "known": False, "why": "row-conflict timing is not bimodal", "sets": 0}


class MapProbe(fake.Case):
    """What it prints of a result, and what it refuses."""

    def probe(self, result, *argv):
        """Run the command on a result; status, output, errors and the words for mcube-probe."""
        words = []

        def run(given, _):
            words.extend(given)
            return copy.deepcopy(result)
        with mock.patch("mcube_cmd.probe.run", run):
            return (*self.mcube_says("map", "probe", *argv), words)

    def test_known(self):
        """The masks, how sure they are, and how the kernel is told."""
        status, out, _, words = self.probe(KNOWN)
        self.assertEqual(status, 0)
        self.assertEqual(words, ["banks"])
        for text in ("16 banks", "bits 14, 17", "399 of 400", "99.1%",
                     'mcube map set --bank "0x2000 0x24000 0x48000 0x90000"'):
            self.assertIn(text, out)

    def test_refused(self):
        """A refusal is an error that shows its figures; with JSON, too."""
        for argv in ((), ("--json",)):
            status, out, err, _ = self.probe(REFUSED, *argv)
            self.assertNotEqual(status, 0)
            self.assertIn("not bimodal", err)
            self.assertNotIn("map set", out)
            self.assertIn("172", out)
        self.assertFalse(json.loads(out)["known"])

    def test_what_the_kernel_cannot_say(self):
        """An offset has no form in the kernel: nothing to set, nothing to write."""
        found = {**KNOWN, "offset": 1 << 28, "bank_map": None}
        path = Path(self.root.path) / "map.conf"
        status, out, err, _ = self.probe(found, "--out", str(path))
        self.assertNotEqual(status, 0)
        self.assertIn("0x10000000", out)
        self.assertNotIn("map set", out)
        self.assertIn("nothing is written", err)
        self.assertFalse(path.exists())

    def test_out(self):
        """The file names the map; after a refusal there is none."""
        path = Path(self.root.path) / "map.conf"
        self.assertNotEqual(self.probe(REFUSED, "--out", str(path))[0], 0)
        self.assertFalse(path.exists())
        self.assertEqual(self.probe(KNOWN, "--out", str(path))[0], 0)
        self.assertIn("bank = 0x2000 0x24000 0x48000 0x90000\ntop = 29\n",
                      path.read_text("utf-8"))

    def test_options(self):
        """Options and hypotheses reach mcube-probe; other actions refuse them."""
        path = Path(self.root.path) / "functions"
        path.write_text("# DRAMA\n14 17\n(13)\n0x48000\n16, 19\n", "utf-8")
        words = self.probe(KNOWN, "--functions", str(path), "--hypothesis", "0x4000 table:0:0,1",
                           "--memory", "64", "--page", "4K", "--verify", "99", "--clock",
                           "model")[3]
        self.assertEqual(words, ["banks", "-M", "64", "-k", "4K", "-v", "99", "-t", "model", "-H",
                                 "0x4000 table:0:0,1", "-H", "0x24000 0x2000 0x48000 0x90000"])
        parser = argparse.ArgumentParser()
        cmd_map.arguments(parser)
        self.assertEqual({*vars(parser.parse_args([]))} - {"action", "json"}, {*cmd_map.BELONG})
        for argv in (("known", "--color", "0x1000"), ("verify", "--out", "x"),
                     ("show", "--seed", "0"), ("set", "--hypothesis", "0x1000"),
                     ("probe", "--colors", "--memory", "64"), ("probe", "--color-map", "0x1000"),
                     ("probe", "--paper", "x.png", "--page", "4K")):
            status, out, err = self.mcube_says("map", *argv)
            self.assertEqual((status, out), (1, ""), argv)
            self.assertIn("does not belong to", err)
        for text in ("", "# none", "14 99", "x", "0x"):
            path.write_text(text, "utf-8")
            with self.assertRaises(Failure):
                map_probe.functions(str(path))
