# SPDX-License-Identifier: GPL-2.0
"""mcube setcache: on, off, what it shows and draws."""

import errno
import re
import subprocess
import tempfile
from pathlib import Path
from unittest import mock

import fake
from mcube_cmd import policy, setcache, setcache_report

HEAD = "set resident filling pinned fills again node away\n"
SETS = HEAD + "0 16 1 2 40 10 0 0\n1 16 0 0 20 0 1 0\n2 12 0 0 12 0 0 16\n3 16 0 1 48 20 1 1\n"


class Setcache(fake.Case):
    """A made-up kernel with the module loaded."""

    def setUp(self):
        """Its files."""
        super().setUp()
        self.root.setcache()

    def seen(self, text=SETS):
        """The file in debugfs."""
        self.root.put(f"{setcache.DEBUG}/sets", text)

    def without_module(self):
        """The module is not loaded."""
        self.make(mcube=True)

    def mode(self):
        """The mode in force."""
        return policy.current("setcache/mode")

    def test_switch(self):
        """On, on already, another size while on, off, off already."""
        status, out, _ = self.mcube_says("setcache", "on", "--size", "1G", "--policy", "lru")
        self.assertEqual((status, self.mode(), self.value("setcache/size_mib")),
                         (0, "random", "1024"))
        self.assertIn("setcache/size_mib: 64 -> 1024", out)
        self.assertIn("POSIX_FADV_RANDOM", out)
        self.assertEqual([f for f, _ in self.root.written],
                         ["setcache/policy", "setcache/size_mib", "setcache/mode"])
        self.assertIn("on already", self.mcube_says("setcache", "on")[1])
        data = self.json("setcache", "on", "--mode", "all")
        self.assertEqual((data["mode"], data["module_loaded"], data["changed"]),
                         ("all", False, [{"file": "setcache/mode", "before": "random",
                                          "after": "all"}]))
        self.mcube_says("setcache", "on", "--size", "512M")
        self.assertEqual((self.mode(), self.value("setcache/size_mib")), ("all", "512"))
        self.assertEqual(self.json("setcache", "off"),
                         {"was_on": True})
        self.assertEqual(self.mode(), "off")
        self.assertIn("off already", self.mcube_says("setcache", "off")[1])

    def test_profile(self):
        """By apply and off as well, whatever the mode was."""
        self.assertIn("setcache/mode: off -> random", self.mcube_says("apply", "setcache")[1])
        self.mcube_says("setcache", "on", "--mode", "all")
        self.mcube_says("off")
        self.assertEqual(self.mode(), "off")

    def test_refused(self):
        """A refused write undoes the others, and the message has what is allowed."""
        err = self.refused("setcache", "on", "--policy", "lfu", "--size", "4G")
        self.assertIn("expected 1 to 2048 MiB", err)
        self.assertIn("all settings are as before", err)
        self.assertEqual((self.mode(), policy.current("setcache/policy")), ("off", "s3fifo"))
        self.root.errors["setcache/mode"] = errno.ENOMEM
        self.assertIn("by --size", self.mcube_says("setcache", "on")[2])

    def test_module(self):
        """The module is loaded by on; without it, the other actions say how to load it."""
        self.without_module()
        self.assertIn("'mcube setcache on' loads it", self.refused("setcache"))
        self.assertIn("off already", self.mcube_says("setcache", "off")[1])

        def modprobe(argv, **_):
            self.assertEqual(argv, ["modprobe", "mcube_setcache"])
            self.root.setcache()
            return subprocess.CompletedProcess(argv, 0, "", "")
        with mock.patch("subprocess.run", modprobe):
            data = self.json("setcache", "on")
        self.assertTrue(data["module_loaded"])
        self.without_module()
        with mock.patch("subprocess.run", lambda argv, **_: subprocess.CompletedProcess(
                argv, 1, "", "modprobe: FATAL: Module mcube_setcache not found")):
            err = self.mcube_says("setcache", "on")[2]
        self.assertIn("not found", err)
        self.assertIn("CONFIG_MCUBE_SETCACHE=m", err)
        self.make(mcube=False)
        self.assertIn("mcube check", self.mcube_says("setcache", "on")[2])

    def test_numbers(self):
        """Hit ratio and pressure; no division by zero."""
        self.seen()
        data = self.json("setcache")
        p = data["pressure"]
        self.assertEqual((data["mode"], data["policy"], data["size_mib"], data["hit_ratio"]),
                         ("off", "s3fifo", 64, 0.75))
        self.assertEqual((p["sets"], p["resident"], p["filling"], p["pinned"], p["fills"],
                          p["again"], p["again_share"]), (4, 60, 1, 3, 120, 30, 0.25))
        self.assertEqual((p["fills_of_a_set"]["mean"], p["fills_of_a_set"]["p0"],
                          p["fills_of_a_set"]["p100"], [r["set"] for r in p["hottest"]]),
                         (30, 12, 48, [3, 0, 1, 2]))
        for name in ("hits", "fills"):
            self.root.put(f"{fake.SYSFS}/setcache/stats/{name}", "0\n")
        self.seen(HEAD + "0 0 0 0 0 0 0 0\n")
        data = self.json("setcache")
        self.assertEqual((data["hit_ratio"], data["pressure"]["again_share"]), (None, None))
        self.seen(HEAD)
        self.assertIsNone(self.json("setcache")["pressure"])

    def test_text(self):
        """Tables and bars within 100 columns."""
        self.seen()
        self.mcube_says("setcache", "on")
        out = self.done("setcache")
        self.assertLessEqual(max(map(len, out.splitlines())), 100)
        for text in ("mode random, policy s3fifo, numa interleave", "hit ratio: 75.0%",
                     "1 fills in flight", "(25.0%)", "bypassed"):
            self.assertIn(text, out)
        self.assertRegex(out, r"\n +3 +16 +0 +1 +48 +20\n")
        self.assertRegex(out, r"\n +0 +2 +28 +16\n +1 +2 +32 +1\n")
        self.assertIn("size 64 MiB\n", out)
        # Memory was short, or somebody has dropped the caches.
        self.root.put(f"{fake.SYSFS}/setcache/stats/pages", "256\n")
        self.assertIn("size 1 of 64 MiB, growing\n", self.mcube_says("setcache")[1])
        # A machine with one node needs no such table.
        self.seen(HEAD + "0 16 0 0 9 0 0 0\n")
        self.assertNotIn("on other nodes", self.mcube_says("setcache")[1])

    def test_numa(self):
        """The use of nodes is set before the mode, and shown."""
        data = self.json("setcache", "on", "--numa", "message")
        self.assertEqual([c["file"] for c in data["changed"]], ["setcache/numa", "setcache/mode"])
        self.seen()
        self.assertIn("numa message", self.mcube_says("setcache")[1])
        data = self.json("setcache")
        self.assertEqual((data["numa"], data["nodes"][1]), (
            "message", {"node": 1, "sets": 2, "resident": 32, "away": 1}))
        status, _, err = self.mcube_says("setcache", "on", "--numa", "hash")
        self.assertEqual(status, 2)
        self.assertIn("hash-home", err)

    def test_histogram(self):
        """Each value is in one bin; a single value has one bin."""
        bins = setcache_report.histogram([40, 20, 12, 48])
        self.assertEqual(sum(n for _, _, n in bins), 4)
        self.assertEqual((bins[0], bins[-1][0] <= 48 <= bins[-1][1]), ((12, 16, 1), True))
        self.assertEqual(setcache_report.histogram([5, 5]), [(5, 5, 2)])

    def test_hidden(self):
        """Without debugfs: a note in the status, a failure in watch."""
        self.assertIn("mount -t debugfs", self.done("setcache"))
        self.assertIn("mount -t debugfs", self.refused("setcache", "watch", "--seconds", "0.01"))
        with mock.patch("mcube_cmd.host.is_root", lambda: False):
            self.assertIn("only root may see", self.mcube_says("setcache")[1])

    def test_watch(self):
        """Views one after the other, with what came in since the last view."""
        self.seen()

        def sleep(_):
            self.seen(SETS.replace("3 16 0 1 48 20", "3 16 0 1 58 20"))
            self.root.put(f"{fake.SYSFS}/setcache/stats/hits", "3590\n")
            self.root.put(f"{fake.SYSFS}/setcache/stats/fills", "1010\n")
        with mock.patch("time.sleep", sleep), mock.patch("time.monotonic", iter(
                (0.0, 0.0, 2.0)).__next__):
            out = self.done("setcache", "watch", "--seconds", "2")
        self.assertIn("90.0% since the last look (45 hits/s, 5 fills/s)", out)
        self.assertIn("came in since the last look: 10 pages", out)
        self.assertRegex(out, r"hits +3,590 +\+90")

    def test_resized(self):
        """After the number of sets changed, fills count from the beginning."""
        rows = [{"set": 0, "fills": 5, "again": 1}]
        self.assertEqual(setcache.since(rows, rows * 2), rows)
        self.assertEqual(setcache.since(rows, rows)[0]["fills"], 0)

    def test_watch_json(self):
        """Samples."""
        self.seen()
        data = self.json("setcache", "watch", "--seconds", "0.01", "--interval", "0.01")
        self.assertEqual(data[0]["pressure"]["fills"], 120)

    def test_plot(self):
        """A picture, or a message about matplotlib; a failure where there is nothing to draw."""
        self.seen()
        with tempfile.TemporaryDirectory() as tmp:
            path = Path(tmp, "setcache.png")
            argv = ("setcache", "watch", "--seconds", "0.02", "--interval", "0.01", "--plot",
                    str(path))
            status, out, err = self.mcube_says(*argv)
            if not self.drew(path, status, out, err):
                return
            self.seen(HEAD)
            self.assertIn("nothing to draw", self.mcube_says(*argv)[2])
        with mock.patch.dict("sys.modules", {"matplotlib": None}):
            self.assertIn("python3-matplotlib", self.mcube_says(*argv)[2])

    def test_options(self):
        """Options of other actions, and values that make no sense."""
        for argv, says in ((("off", "--size", "1G"), "mcube setcache on --size"),
                           (("on", "--seconds", "1"), "mcube setcache watch --seconds"),
                           (("watch", "--interval", "0"), "above 0"),
                           (("on", "--size", "1T"), "512M or 2G"),
                           (("watch", "--plot", "x.jpg"), "setcache.png")):
            self.assertIn(says, self.refused("setcache", *argv))

    def test_names(self):
        """Columns, counters and words are those of the kernel."""
        path = fake.TOOLS.parents[1] / "drivers/mcube/setcache"
        if not path.exists():
            self.skipTest("the kernel's source is not here")
        self.assertIn(HEAD.strip(), (path / "debugfs.c").read_text("utf-8"))
        text = (path / "sysfs.c").read_text("utf-8")
        self.assertEqual(re.findall(r"^(?:STAT|MCUBE_NUMBER_ATTR)\((\w+),", text, re.M),
                         list(fake.SETCACHE_STATS))
        self.assertEqual(list(setcache_report.COUNTERS), list(fake.SETCACHE_STATS))
        for name in (*setcache.MODES, *setcache.POLICIES):
            self.assertIn(f'"{name}"', text)
