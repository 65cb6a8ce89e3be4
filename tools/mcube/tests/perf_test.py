# SPDX-License-Identifier: GPL-2.0
"""Parsing of what perf prints, and the choice of events."""

from unittest import mock

import fake
from mcube_cmd import perf

# Of perf 6.1, `perf stat -x ';' -o FILE`, on a machine without hardware counters.
SOFTWARE = """# started on Fri Nov 21 13:20:01 2026

<not supported>;;cycles;0;100.00;;
48;;page-faults;703293;100.00;68.250;K/sec
0.70;msec;task-clock;703293;100.00;0.689;CPUs utilized
<not counted>;;context-switches:u;0;0.00;;
"""
# A CPU with two kinds of cores; user mode only; a PMU of its own; a decimal comma.
OTHERS = """1200;;cpu_core/cycles/u;1000;60.00;;
<not counted>;;cpu_atom/instructions/;0;0.00;;
300;;cpu_atom/cycles/u;700;40.00;;
77;;LLC-load-misses:u;1000;100.00;7.70;of all LL-cache accesses
123456789012;;mcube_sim/llc_misses/;1000;100.00;;
5;;mcube_sim/llc_refs/;1000;100.00;;
0,70;msec;task-clock:u;703293;100,00;0,689;CPUs utilized
"""


class Parse(fake.Case):
    """perf stat -x;."""

    def test_software(self):
        """Counts, and None for events that were not counted or not asked for."""
        got = perf.parse(SOFTWARE, ["cycles", "page-faults", "task-clock", "context-switches",
                                    "faults"])
        self.assertEqual(got, {"cycles": None, "page-faults": 48, "task-clock": 0.7,
                               "context-switches": None, "faults": None})

    def test_others(self):
        """Two PMUs for one event add up; modifiers do not matter."""
        got = perf.parse(OTHERS, ["cycles", "instructions", "LLC-load-misses",
                                  "mcube_sim/llc_misses/", "mcube_sim/cycles/", "task-clock"])
        self.assertEqual(got, {"cycles": 1500, "instructions": None, "LLC-load-misses": 77,
                               "mcube_sim/llc_misses/": 123456789012, "mcube_sim/cycles/": None,
                               "task-clock": 0.7})

    def test_errors(self):
        """Messages instead of counts give nothing."""
        text = "event syntax error: 'nosuch'\n                     \\___ parser error\n"
        self.assertEqual(perf.parse(text, ["cycles"]), {"cycles": None})

    def test_modifiers(self):
        """Events with different modifiers differ; an event without modifier stands for any."""
        text = "100;;cycles:u;1;100;;\n50;;cycles:k;1;100;;\n"
        self.assertEqual(perf.parse(text, ["cycles:u", "cycles:k"]),
                         {"cycles:u": 100, "cycles:k": 50})
        self.assertEqual(perf.parse("7;;cycles:u;1;100;;\n", ["cycles"]), {"cycles": 7})

    def test_split(self):
        """Commas between slashes belong to the event."""
        self.assertEqual(perf.split("cycles,cpu/event=0x3c,umask=1/u,LLC-loads"),
                         ["cycles", "cpu/event=0x3c,umask=1/u", "LLC-loads"])
        self.assertEqual(perf.split(""), [])


class Find(fake.Case):
    """The best events of a machine."""

    def found(self, pmus, countable):
        """The events chosen where these PMUs are listed and these events count."""
        for p in pmus:
            self.root.put(f"{perf.PMUS}/{p}/type", "4\n")
        with mock.patch.object(perf, "tool", lambda: "/usr/bin/perf"), \
                mock.patch.object(perf, "try_events", lambda e: [x for x in e if x in countable]):
            return perf.find()

    def test_model(self):
        """The modelled machine comes before a CPU's counters."""
        every = {*perf.SIM_EVENTS.values(), "cycles", "instructions"}
        got = self.found(["cpu", "mcube_sim"], every)
        self.assertEqual((got.kind, got.cost, got.roles), ("model", "cycles", perf.SIM_EVENTS))

    def test_model_refuses(self):
        """A modelled PMU that does not count is passed over."""
        got = self.found(["cpu", "mcube_sim"], {"cycles", "instructions", "LLC-loads"})
        self.assertEqual((got.kind, got.roles), ("hardware", {"cycles": "cycles",
                                                              "instructions": "instructions"}))

    def test_last_level(self):
        """Misses are counted by the pair of kernel names that counts, never by half of a pair."""
        got = self.found(["cpu"], {"cycles", "LLC-loads", "cache-references", "cache-misses"})
        self.assertEqual(got.roles["misses"], "cache-misses")
        got = self.found(["cpu"], {"cycles", "LLC-loads", "LLC-load-misses", "cache-references",
                                   "cache-misses"})
        self.assertEqual(got.roles["misses"], "LLC-load-misses")

    def test_zen(self):
        """On Zen perf's own names are events of L2: fills by source are counted, or nothing."""
        self.root.put("/proc/cpuinfo", "vendor_id\t: AuthenticAMD\ncpu family\t: 25\n\n")
        generic = {"cycles", "LLC-loads", "LLC-load-misses", "cache-references", "cache-misses"}
        self.assertNotIn("misses", self.found(["cpu"], generic).roles)
        got = self.found(["cpu"], generic | set(perf.ZEN_EVENTS[0].values()))
        self.assertEqual(got.roles["misses"], "cpu/event=0x43,umask=0x5c/")

    def test_none(self):
        """Without PMU or perf only time is left, and the note has the reason."""
        got = self.found([], {"page-faults"})
        self.assertEqual((got.kind, got.roles, got.cost), ("time", {}, "seconds"))
        self.assertIn("shows no PMU", got.note)
        with mock.patch.object(perf, "tool", lambda: None):
            self.assertIn("not installed", perf.find().note)
