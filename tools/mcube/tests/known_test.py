# SPDX-License-Identifier: GPL-2.0
"""Tests of the published maps and of the memory modules."""

import json
import struct
from pathlib import Path

import fake
from mcube_cmd import dimms, known
from mcube_cmd.term import Failure

HASWELL = "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 60\n" \
    "model name\t: Made-up CPU\nstepping\t: 3\ncpu cores\t: 4\nflags\t\t: fpu\n\n"


def module(slot, mebi, kind=0x18, ranks=2):
    """A structure of type 17 of SMBIOS 2.7."""
    part = bytearray(0x22)
    part[0:2] = 17, len(part)
    struct.pack_into("<H", part, 0x0c, mebi)
    part[0x10], part[0x11], part[0x12], part[0x1b] = 1, 2, kind, ranks
    struct.pack_into("<H", part, 0x15, 1600)
    return bytes(part) + slot.encode() + b"\0BANK 0\0SERIAL123\0\0"


def table(*parts):
    """A table that begins with another structure."""
    return bytes((0, 4, 0, 0)) + b"vendor\0\0" + b"".join(parts) + bytes((127, 4, 0, 0, 0, 0))


class Maps(fake.Case):
    """Files."""

    def test_files(self):
        """Each file is read, has a source, masks that a map takes, and as many banks as memory."""
        found = known.known()
        self.assertGreater(len(found), 12)
        for one in found.values():
            self.assertRegex(one.source, r"\b20[0-9]{2}\b", one.name)
            self.assertTrue(one.bank or one.slice, one.name)

    def test_paper(self):
        """The M3 paper's page frames: 3 to bank 1, 24 to bank 0 again, 768 to rank 1."""
        bank = known.known()["nehalem-ep-3ch"].bank
        self.assertEqual(bank.nr, 32)
        places = [bank.value(pfn) for pfn in (0, 1, 2, 3, 6, 21, 24, 768, 3071, 3072)]
        self.assertEqual(places[:3] + places[6:7] + places[9:], [places[0]] * 5)
        self.assertEqual(len(set(places)), 6)
        self.assertEqual(len({bank.value(pfn) for pfn in range(3072)}), 32)

    def test_bad_files(self):
        """Files that are refused, each for its reason."""
        good = "[map]\ntitle = t\nsource = s\n[match]\nvendor = x\n[memory]\ntype = DDR3\n" \
            "channels = 1\ndimms = 1\nranks = 1\nbanks = 2\n[functions]\nbank = 0x24000\n"
        path = Path(self.root.path) / "one.conf"
        path.write_text(good, "utf-8")
        self.assertEqual(known.Known(path).bank.nr, 2)
        for old, new, why in (
                ("source = s\n", "", "source is missing"), ("vendor = x\n", "", "vendor is"),
                ("bank = 0x24000", "bank = 0x40", "says nothing"),
                ("bank = 0x24000", "bank = 24000", "is no part of an address map"),
                ("bank = 0x24000\n", "", "neither bank nor slice"),
                ("banks = 2", "banks = 4", "2 banks, the memory 4"),
                ("bank = 0x24000", "bank = 0x24000\ntop = 16", "a bit above 16"),
                ("bank = 0x24000", "bank = 0x24000\nline = 0x1040", "bit of the frame"),
                ("bank = 0x24000", "bank = 0x24000\noffset = x", "no list of numbers"),
                ("bank = 0x24000", "bank = 0x24000\nwhat = 1", "there is no 'what'"),
                ("[map]", "[maps]", "is not understood")):
            path.write_text(good.replace(old, new), "utf-8")
            with self.assertRaises(Failure, msg=new) as caught:
                known.Known(path)
            self.assertIn(why, str(caught.exception))


class Machine(fake.Case):
    """Which maps fit."""

    def setUp(self):
        """A Haswell."""
        super().setUp()
        self.root.put("/proc/cpuinfo", HASWELL)

    def names(self):
        """Names of the maps that may be this machine's."""
        return [k.name for k in known.hypotheses()]

    def test_modules(self):
        """Modules as the firmware tells, without empty slots and serial numbers."""
        self.assertIsNone(dimms.modules())
        self.root.put(dimms.TABLE, table(module("DIMM_A1", 4096), module("DIMM_A2", 0),
                                         module("DIMM_B1", 8192, ranks=0)))
        found = dimms.modules()
        self.assertEqual([(m["slot"], m["mebi"], m["type"], m["ranks"]) for m in found],
                         [("DIMM_A1", 4096, "DDR3", 2), ("DIMM_B1", 8192, "DDR3", 0)])
        self.assertNotIn("SERIAL", str(found))
        for cut in range(len(table(module("DIMM_A1", 4096)))):
            self.root.put(dimms.TABLE, table(module("DIMM_A1", 4096))[:cut])
            self.assertLessEqual(len(dimms.modules()), 1)

    def test_fit(self):
        """Other processors and other memory are out; memory that is not known is not."""
        self.assertEqual(set(self.names()), {
            "intel-slices-4", "ivybridge-haswell-1ch", "ivybridge-haswell-1ch-2dimm",
            "ivybridge-haswell-2ch", "ivybridge-haswell-2ch-2dimm"})
        self.root.put(dimms.TABLE, table(*[module(f"D{i}", 4096) for i in range(2)]))
        self.assertEqual(set(self.names()), {"intel-slices-4", "ivybridge-haswell-1ch-2dimm",
                                             "ivybridge-haswell-2ch"})
        self.root.put(dimms.TABLE, table(module("D", 4096, ranks=1)))
        self.assertEqual(self.names(), ["intel-slices-4"])
        self.root.put("/proc/cpuinfo", HASWELL.replace("60", "61"))
        self.assertEqual(self.names(), [])

    def test_command(self):
        """'mcube map known' lists all, and says that none is in force."""
        out = self.done("map", "known")
        self.assertIn("ivybridge-haswell-2ch: fits the processor; the memory is not known", out)
        self.assertIn("skylake-2ch: of other processors", out)
        self.assertIn("has to confirm", out)
        status, out, _ = self.mcube_says("map", "known", "--json")
        rows = {m["name"]: m for m in json.loads(out)["maps"]}
        self.assertEqual((rows["skylake-2ch"]["cpu"], rows["intel-slices-4"]["memory"]),
                         (False, True))
