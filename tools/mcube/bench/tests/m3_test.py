# SPDX-License-Identifier: GPL-2.0
"""M3 on modelled machines: groups of loads, and the program shapes."""

import unittest
from unittest import mock

import lab
from lab import Failure
from lib import ui
import m3


def row(load, threads, gain):
    """A row of the comparison."""
    return {"machine": "a", "memory": "fresh", "load": load, "threads": threads,
            "group": m3.group_of(load), "gain_auto": gain, "cut_auto": 0.0, "cost_stock": 0.0,
            "spread": 0.0}


def options(*argv):
    """Parsed options."""
    with mock.patch("sys.argv", ["m3.py", *argv]):
        return m3.options()


class GroupsTest(unittest.TestCase):
    """Which loads a key is about."""

    table = [row("copy", 1, -.02), row("serial read", 4, .3), row("alone sort 1", 1, -.04),
             row("canneal", 1, -.1), row("canneal", 4, .02), row("fluidanimate", 4, .05)]

    def test_keys(self):
        """Shapes are loads, but neither in lockstep nor single streams."""
        got = m3.summarize(self.table, ("auto",))
        self.assertEqual((got["time_gain_min"], got["time_gain_mean"]), (-.1, .05))
        self.assertEqual((got["lockstep_gain_mean"], got["shapes_gain_mean"]), (.3, -.01))
        self.assertEqual((got["single_stream_loss_max"], got["alone_loss_max"]), (.02, .04))

    def test_one_boot(self):
        """A setting with one boot is compared with the first boot of the page allocator."""
        run = lambda policy, repeat, time: {  # noqa: E731
            "machine": "a", "memory": "fresh", "load": "copy", "threads": 2, "policy": policy,
            "repeat": repeat, "time": time, "conflicts": .5, "llc_misses": 1, "banks": None,
            "dram_accesses": 1, "bank_waits": 1}
        rows = [run("stock", i, 100 + 10 * i) for i in range(3)] + [
            run("auto", i, 55) for i in range(3)] + [run("no rows", 0, 90), run("paper", 0, 50)]
        got, = m3.compare(rows, ("paper", "auto"))
        self.assertAlmostEqual(got["cost_stock"], .1)
        self.assertAlmostEqual(got["gain_paper"], .5)
        self.assertAlmostEqual(got["gain_auto"], .5)
        self.assertAlmostEqual(got["spread"], 20 / 110)

    def test_widest(self):
        """The combinations whose boots differ most come with each boot that was compared."""
        rows = [{"machine": "a", "memory": "fresh", "load": load, "threads": 2, "policy": policy,
                 "repeat": repeat, "time": 1, "conflicts": .5, "banks": 1, "channels": .5}
                for load in ("a", "b", "c", "d") for repeat in range(2)
                for policy in ("stock", "auto", "paper") if policy != "paper" or not repeat]
        table = [row(load, 2, 0) | {"spread": spread} for load, spread in
                 (("a", .2), ("b", .1), ("c", .4), ("d", .3))]
        got = m3.widest(rows, table)
        self.assertEqual([(r["load"], r["policy"], r["repeat"]) for r in got],
                         [(load, policy, i) for load in "cda" for policy in ("auto", "stock")
                          for i in range(2)])

    def test_kinds_of_loads(self):
        """Each load has a kind, and the rows of a kind are its means."""
        self.assertEqual([m3.group_of(x) for x in ("apart triad", "forked copy", "write", "random",
                                                   "stress-ng stream")],
                         ["apart", "forked", "side by side", "random", "real programs"])
        got = {r["group"]: r for r in m3.by_group(self.table, ("auto",))}
        self.assertEqual(list(got), ["side by side", "serial", "alone", "shapes"])
        self.assertAlmostEqual(got["shapes"]["gain_auto"], -.01)
        self.assertEqual((got["shapes"]["least"], got["shapes"]["most"]), (-.1, .05))

    def test_details(self):
        """Losses that the boots explain, gains without unsteady loads, means of the kinds."""
        table = [dict(r, spread=spread, cost_stock=cost) for r, spread, cost in
                 zip(self.table, (.5, .01, .4, .1, .3, .02), (0., .2, .5, .6, .1, .2))]
        got = m3.details(table, ("auto",))
        self.assertEqual([got[k] for k in ("combinations", "losing", "losing_beyond_spread",
                                           "loss_beyond_spread_max", "gain_beyond_cost")],
                         [5, 2, 1, .1, 1])
        # Without copy, sort and canneal with four threads.
        self.assertAlmostEqual(got["steady_gain_mean"], (.3 - .1 + .05) / 3)
        self.assertEqual(got["steady_gain_min"], -.1)
        self.assertAlmostEqual(got["shapes_cost_mean"], .3)
        self.assertAlmostEqual(got["canneal_cost_mean"], .35)
        self.assertEqual(got["alone_gain_mean"], -.04)
        self.assertEqual(m3.details(self.table[2:3], ("auto",)), {})

    def test_no_shapes(self):
        """Without shapes there is no key about them, but for the paper's."""
        keys = m3.summarize(self.table[:3], ("auto",))
        self.assertEqual([k for k in keys if "shapes" in k], ["paper_shapes_gain_mean"])

    def test_options(self):
        """Shapes are chosen by name, take part in a quick run, and have all threads."""
        quick = options("--quick")
        self.assertLessEqual(set(m3.SHAPES), set(quick.loads))
        self.assertEqual(options("--loads", "canneal").loads, ["canneal"])
        self.assertEqual(m3.threads_of(quick, "streamcluster"), [1, 4])
        self.assertEqual(m3.command(quick, "canneal", 4, 8 << 20),
                         "/guest/shapes -t 4 -r 1 canneal > /results/canneal.4")

    def test_in_step(self):
        """Loads in step have two threads at least, and alone have more than eight."""
        args = options()
        self.assertEqual(m3.threads_of(args, "apart copy"), [2, 4, 8, 16])
        self.assertEqual(m3.threads_of(args, "copy"), [1, 2, 4, 8])
        self.assertEqual(m3.command(args, "apart triad", 16, 8 << 20),
                         "/guest/memload -t 16 -m 12 -r 1 -l -f /results/apart-triad.16.frames "
                         "triad > /results/apart-triad.16")
        self.assertNotIn(".frames", m3.command(args, "forked copy", 2, 8 << 20))

    def test_script(self):
        """Orders may name the size of clusters; repetitions differ by what a file takes."""
        args = options("--loads", "copy", "--orders", "auto", "shuffle:5")
        lines = m3.script(args, "used", "shuffle:5", "patterns", 8 << 20, 2).splitlines()
        self.assertIn("dd if=/dev/zero of=/tmp/shift bs=4096 count=1994", lines)
        self.assertIn(f"echo 5 > {lab.ALLOC}/cluster_order", lines)
        self.assertIn(f"echo shuffle > {lab.ALLOC}/fill_order", lines)
        self.assertIn(f"echo 0 > {lab.ALLOC}/cluster_order",
                      m3.script(args, "used", "auto", "patterns", 8 << 20, 0).splitlines())
        self.assertNotIn("fill_order", m3.script(args, "used", "stock", "patterns", 8 << 20, 0))

    def test_parts(self):
        """Each load runs in one guest: of its own, or after the loads of its kind."""
        args = options()
        parts = {part: m3.loads_of(args, "used", part)
                 for part in ("alone", "serial", "patterns", "programs")}
        self.assertEqual(sorted(x for loads in parts.values() for x in loads), sorted(args.loads))
        self.assertEqual(parts["serial"], list(m3.LOCKSTEP))
        self.assertEqual(parts["patterns"], list(m3.PATTERNS))
        self.assertNotIn("canneal", m3.script(args, "used", "auto", "alone", 8 << 20, 0))
        for load in args.loads:
            self.assertEqual(m3.loads_of(args, "fresh", m3.part_of("fresh", load)), [load])

    def test_memories(self):
        """More than one memory: each has the keys that one memory has without a prefix."""
        used = [dict(r, memory="used", gain_auto=r["gain_auto"] - .2) for r in self.table]
        keys = m3.summarize(self.table + used, ("auto",))
        for memory, rows in ((self.table[0]["memory"], self.table), ("used", used)):
            for key, figure in m3.summarize(rows, ("auto",)).items():
                if not key.startswith(("paper", "a_")):
                    self.assertEqual(keys[f"{memory}_{key}"], figure)
        bound = {"alone_loss_max": .05}
        self.assertEqual(m3.bounds(bound, keys, self.table + used),
                         {"fresh_alone_loss_max": .05, "used_alone_loss_max": .05})
        self.assertEqual(m3.bounds(bound, keys, self.table), bound)


class ShapesTest(unittest.TestCase):
    """The program shapes, without a model."""

    def shapes(self, *argv):
        """Output of a run that counts nothing."""
        return ui.sh(lab.guest_tool("shapes"), "-c", "-m", 1, "-r", 3, *argv)

    def test_threads(self):
        """Each result is right, and the same with any number of threads."""
        for load in m3.SHAPES:
            got = {self.shapes("-t", n, load) for n in (1, 2, 3, 5)}
            self.assertEqual(len(got), 1)
            self.assertIn(f"{load}: right", got.pop())

    def test_bad_input(self):
        """Numbers out of range are refused with the range, and unknown loads with the loads."""
        for argv, text in ((("-t", 17, "canneal"), "1..16"), (("-m", "x", "canneal"), "1..1024"),
                           (("facesim",), " ".join(m3.SHAPES))):
            with self.assertRaises(Failure) as caught:
                self.shapes(*argv)
            self.assertIn(text, str(caught.exception))
