# SPDX-License-Identifier: GPL-2.0
"""Sets of events: read, chosen by the machine, put into the words of the kernel."""

import re
from pathlib import Path
from unittest import mock

import fake
from mcube_cmd import events, perf
from mcube_cmd.term import Failure

INTEL = ("processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: {}\n"
         "model name\t: x\nflags\t\t: fpu\n\n")
AMD = INTEL.replace("GenuineIntel", "AuthenticAMD").replace("family\t: 6", "family\t: {}")
SET = """[events]
title = a set
[describe]
cycles = type=0 config=0
instructions = type=0 config=1
refs = type=0 config=2
misses = type=0 config=3
sample_hit = {}
sample_miss = none
"""


def pmu(root, name, kind, **formats):
    """A PMU in sysfs."""
    root.put(f"{perf.PMUS}/{name}/type", f"{kind}\n")
    for term, bits in formats.items():
        root.put(f"{perf.PMUS}/{name}/format/{term}", f"{bits}\n")


# Names of <asm/intel-family.h>.
MODELS = {"HASWELL": 0x3c, "HASWELL_X": 0x3f, "HASWELL_L": 0x45, "BROADWELL": 0x3d,
          "BROADWELL_X": 0x4f, "BROADWELL_D": 0x56, "SKYLAKE_L": 0x4e, "SKYLAKE": 0x5e,
          "SKYLAKE_X": 0x55, "KABYLAKE_L": 0x8e, "KABYLAKE": 0x9e, "COMETLAKE": 0xa5,
          "ICELAKE_X": 0x6a, "ICELAKE_D": 0x6c, "SAPPHIRERAPIDS_X": 0x8f,
          "EMERALDRAPIDS_X": 0xcf}


class Sets(fake.Case):
    """Files of sets."""

    def load(self, text):
        """A set of this text."""
        path = Path(self.root.path, "one.conf")
        path.write_text(text, "utf-8")
        return events.Events(path)

    def test_shipped(self):
        """Each shipped set has a title, a machine that it is for, and descriptions."""
        pmu(self.root, "cpu", 4)
        pmu(self.root, "ibs_op", 11, cnt_ctl="config:19")
        pmu(self.root, "mcube_sim", 9, event="config:0-7")
        self.assertLessEqual({"intel", "amd", "model"}, set(events.known()))
        for path in events.known().values():
            one = events.Events(path)
            self.assertTrue(one.title and one.section["match"], path)
            self.assertEqual(set(one.texts()), set(events.NAMES))
            self.assertNotEqual((one.texts()["sample_hit"], one.texts()["sample_miss"]),
                                ("none", "none"))

    def test_intel(self):
        """Skylake and Emerald Rapids by PEBS, Haswell with the same codes."""
        pmu(self.root, "cpu", 4)
        for model in (0x3c, 0x55, 0xcf):
            self.root.put("/proc/cpuinfo", INTEL.format(model))
            texts = events.choose().texts()
            self.assertEqual(texts["sample_miss"],
                             "type=4 config=0x20d1 config1=0x0 config2=0x0 precise=2")
            self.assertEqual(texts["sample_hit"],
                             "type=4 config=0x4d1 config1=0x0 config2=0x0 precise=2")

    def test_tables(self):
        """Processors whose events are known have known slices, but for these clients."""
        at = Path(__file__).resolve().parents[3] / "mm/mcube/map/cpuid.c"
        slices = {int(m, 16) for m in re.findall(r"\{ (0x\w+), \d+ \},", at.read_text("utf-8"))}
        match = events.Events(events.known()["intel"]).section["match"]["model"]
        sampled = {int(m, 16) for m in match.split()}
        self.assertEqual(sampled - slices, {0x66, 0x7d, 0x7e, 0x8c, 0x8d, 0xa7})
        # Sandy and Ivy Bridge, and Granite Rapids, whose events nobody has written down here.
        self.assertEqual(slices - sampled, {0x2a, 0x2d, 0x3a, 0x3e, 0xad, 0xae})
        at = at.parents[3] / "drivers/mcube/rocs/prefetch.c"
        names = re.findall(r"X86_MATCH_VFM\(INTEL_(\w+),", at.read_text("utf-8"))
        switched = {MODELS[n] for n in names}
        self.assertEqual(len(switched), len(names))
        self.assertLessEqual(switched, sampled & slices)
        # Not there: those with eDRAM, and mobile Comet Lake.
        self.assertEqual(sampled & slices - switched, {0x46, 0x47, 0xa6})

    def test_amd(self):
        """IBS: type and bits come from sysfs."""
        pmu(self.root, "cpu", 4)
        pmu(self.root, "ibs_op", 11, cnt_ctl="config:19", l3missonly="config:16")
        self.root.put("/proc/cpuinfo", AMD.format(25, 17))
        texts = events.choose().texts()
        self.assertEqual(texts["sample_hit"],
                         "type=11 config=0x80000 config1=0x0 config2=0x0 precise=0")
        self.assertEqual(texts["sample_miss"], "none")

    def test_model(self):
        """The modelled machine goes before the emulated CPU."""
        pmu(self.root, "cpu", 4)
        pmu(self.root, "ibs_op", 11, cnt_ctl="config:19")
        pmu(self.root, "mcube_sim", 9, event="config:0-7")
        self.root.put("/proc/cpuinfo", AMD.format(25, 17))
        one = events.choose()
        self.assertEqual(one.name, "model")
        self.assertEqual(one.texts()["refs"],
                         "type=9 config=0x6 config1=0x0 config2=0x0 precise=0")

    def test_none_fits(self):
        """No PMU, or an unknown processor: both messages say what to do."""
        self.root.put("/proc/cpuinfo", INTEL.format(0x55))
        with self.assertRaises(Failure) as caught:
            events.choose()
        self.assertIn("shows no PMU 'cpu'", str(caught.exception))
        self.assertIn("virtual machine", caught.exception.advice)
        pmu(self.root, "cpu", 4)
        self.root.put("/proc/cpuinfo", INTEL.format(0x9a))
        with self.assertRaises(Failure) as caught:
            events.choose()
        self.assertIn("vendor GenuineIntel, family 6, model 154", str(caught.exception))
        self.assertIn("--events FILE", caught.exception.advice)
        self.assertRegex(self.mcube_says("check")[1], r"note +sampling +'mcube rocs' cannot work")

    def test_asked(self):
        """By name, by file, and neither."""
        self.assertEqual(events.choose("intel").name, "intel")
        path = Path(self.root.path, "mine.conf")
        path.write_text(SET.format("type=4 config=0x1"), "utf-8")
        self.assertEqual(events.choose(str(path)).title, "a set")
        with self.assertRaises(Failure) as caught:
            events.choose("nosuch")
        self.assertIn("intel", caught.exception.advice)

    def test_administrator(self):
        """A set in /etc goes before a set of the same name."""
        folder = Path(self.root.path, "etc")
        folder.mkdir()
        (folder / "intel.conf").write_text(SET.format("type=4 config=0x1"), "utf-8")
        with mock.patch.object(events, "FOLDERS", (events.FOLDERS[0], folder)):
            self.assertEqual(events.choose("intel").title, "a set")

    def test_terms(self):
        """Bits go where the format says; a value that does not fit is refused."""
        pmu(self.root, "odd", 7, event="config:0-7,32-35", thresh="config1:4-5")
        one = self.load(SET.format("pmu=odd event=0xfab thresh=2 precise=1"))
        self.assertEqual(one.texts()["sample_hit"],
                         "type=7 config=0xf000000ab config1=0x20 config2=0x0 precise=1")
        for words in ("pmu=odd event=0x1000", "pmu=odd thresh=4", "pmu=odd color=1",
                      "pmu=nosuch event=1"):
            with self.assertRaises(Failure, msg=words):
                self.load(SET.format(words)).texts()

    def test_refused(self):
        """An error names the file and the line, or the event."""
        for text, says in (("a = b\n", "one.conf:1: "), ("[events]\nx\n", "one.conf:2: "),
                           (SET.format("none").replace("refs", "reefs"), "no event 'reefs'"),
                           (SET.format("none").replace("refs = type=0 config=2\n", ""),
                            "refs is not described")):
            with self.assertRaises(Failure) as caught:
                self.load(text)
            self.assertIn(says, str(caught.exception))
        for words in ("config=1", "type=x", "type=4 umask=1", "4"):
            with self.assertRaises(Failure, msg=words):
                self.load(SET.format(words)).texts()
