# SPDX-License-Identifier: GPL-2.0
"""mcube ubm: on, off, what it shows and draws."""

import json
import tempfile
from pathlib import Path
from unittest import mock

import fake
from mcube_cmd import ubm

HEAD = "memcg cgroup node held rest wanted left age missed again kept failed back trial\n"
# A loop on two nodes, lists as without UBM, lists that are tried.
ROWS = ("7 /batch 0 20000 512 410 90000 21000 20480 3 19000 40 20000 0\n"
        "7 /batch 1 10720 256 200 9000 11000 10240 0 9000 0 9000 0\n"
        "9 /my\\040job 0 0 640 640 20 1073741823 600 300 0 0 0 0\n"
        "11 /tried 0 64 100 160 900 200 90 10 1 1 9 1\n")


class Ubm(fake.Case):
    """A made-up kernel with UBM."""

    def setUp(self):
        """Its files."""
        super().setUp()
        for name, value in {"enabled": "0", "stats/given": "5", "stats/held": "1234"}.items():
            self.root.put(f"{fake.SYSFS}/ubm/{name}", f"{value}\n")

    def lists(self, rows=ROWS):
        """The table in debugfs."""
        self.root.put(f"{ubm.DEBUG}/lruvecs", HEAD + rows)

    def test_switch(self):
        """On, on already, off; by apply and off as well."""
        self.assertIn("UBM is on", self.mcube_says("ubm", "on")[1])
        self.assertEqual(self.value("ubm/enabled"), "1")
        self.assertIn("on already", self.mcube_says("ubm", "on")[1])
        data = json.loads(self.mcube_says("ubm", "off", "--json")[1])
        self.assertEqual((data, self.value("ubm/enabled")), ({"enabled": False, "was_on": True},
                                                             "0"))
        self.assertIn("ubm/enabled: 0 -> 1", self.mcube_says("apply", "ubm")[1])
        self.mcube_says("off")
        self.assertEqual(self.value("ubm/enabled"), "0")

    def test_no_ubm(self):
        """A kernel without UBM, or without mcube: what to build, what to boot."""
        for name in ("enabled", "stats/given", "stats/held"):
            self.root.drop(f"{fake.SYSFS}/ubm/{name}")
        for action in ("on", "off", "status", "watch"):
            status, _, err = self.mcube_says("ubm", action)
            self.assertEqual(status, 1)
            self.assertIn("CONFIG_MCUBE_UBM", err)
        self.make(mcube=False)
        self.assertIn("mcube check", self.mcube_says("ubm")[2])

    def test_numbers(self):
        """A row for each lruvec, sums for each cgroup."""
        self.lists()
        data = json.loads(self.mcube_says("ubm", "--json")[1])
        self.assertEqual((data["enabled"], data["counters"]["held"], len(data["lruvecs"])),
                         (False, 1234, 4))
        self.assertEqual([(r["node"], r["held"], r["age"]) for r in data["lruvecs"][:2]],
                         [(0, 20000, 21000), (1, 10720, 11000)])
        batch = data["cgroups"][0]
        self.assertEqual((batch["cgroup"], batch["held"], batch["rest"], batch["kept"]),
                         ("/batch", 30720, 768, 28000))

    def test_text(self):
        """A sentence for each cgroup, and tables, within 100 columns."""
        self.lists()
        status, out, _ = self.mcube_says("ubm")
        self.assertEqual(status, 0)
        self.assertLessEqual(max(map(len, out.splitlines())), 100)
        self.assertIn("/batch holds 120 of 123 MiB, the rest is 3.0 MiB: a loop, or much like "
                      "one\n", out)
        self.assertIn("/my job holds nothing: the lists as without UBM\n", out)
        self.assertIn("/tried holds 0.2 of 0.6 MiB, and tries", out)
        self.assertRegex(out, r"/batch +1 +42 +1.0 +0.8 +10,240 +0 +9,000 +0\n")
        self.assertRegex(out, r"given +5 +of these, pages that were given up\n")

    def test_sentences(self):
        """No sentence says more than the numbers."""
        row = dict.fromkeys(ubm.SUMS, 0)
        for numbers, says in (
                ({"held": 900, "rest": 100, "wanted": 800}, "gives up pages"),
                ({"held": 100, "rest": 900, "wanted": 100}, "will hold more"),
                ({"held": 100, "rest": 9900, "wanted": 9900}, "without UBM, but for these"),
                ({"held": 900, "rest": 100, "wanted": 90}, "not known yet"),
                ({"held": 900, "rest": 100, "wanted": 90, "kept": 50, "failed": 50}, ": of held "
                 "pages 50% were used in time"),
                ({"held": 900, "rest": 100, "wanted": 90, "kept": 50, "again": 9, "missed": 9},
                 "100% were used")):
            self.assertIn(says, ubm.sentence(row | numbers))

    def test_cgroup(self):
        """One cgroup; another name leads to the names there are."""
        self.lists()
        data = json.loads(self.mcube_says("ubm", "--cgroup", "/sys/fs/cgroup/batch", "--json")[1])
        self.assertEqual(({r["memcg"] for r in data["lruvecs"]}, len(data["cgroups"])), ({7}, 1))
        err = self.mcube_says("ubm", "--cgroup", "/x")[2]
        self.assertIn("/batch, /my job", err)

    def test_nothing_yet(self):
        """No list: what has to happen first."""
        self.lists("")
        self.assertIn("'mcube ubm on'", self.mcube_says("ubm")[1])
        self.mcube_says("ubm", "on")
        self.assertIn("reclaims for its own limit", self.mcube_says("ubm")[1])

    def test_hidden(self):
        """Without debugfs: a note in the status, a failure in watch."""
        status, out, _ = self.mcube_says("ubm")
        self.assertEqual(status, 0)
        self.assertIn("mount -t debugfs", out)
        status, _, err = self.mcube_says("ubm", "watch", "--seconds", "0.01")
        self.assertEqual(status, 1)
        self.assertIn("mount -t debugfs", err)
        with mock.patch("mcube_cmd.host.is_root", lambda: False):
            self.assertIn("only root may see what UBM holds", self.mcube_says("ubm")[1])

    def test_watch(self):
        """Views one after the other; all of them as JSON."""
        self.lists()
        looks = iter((ROWS, "7 /batch 0 0 99 99 0 0 0 0 0 0 0 0\n"))
        with mock.patch("time.sleep", lambda _: self.lists(next(looks))), \
                mock.patch("time.monotonic", iter((0.0, 0.0, 1.0, 2.0)).__next__):
            status, out, _ = self.mcube_says("ubm", "watch", "--seconds", "2")
        self.assertEqual((status, out.count("a loop, or"), out.count("holds nothing")), (0, 2, 3))
        data = json.loads(self.mcube_says("ubm", "watch", "--seconds", "0.01", "--interval",
                                          "0.01", "--json")[1])
        self.assertEqual(data[0]["cgroups"][0]["rest"], 99)

    def test_plot(self):
        """A picture of what was held, or a message about matplotlib."""
        self.lists()
        with tempfile.TemporaryDirectory() as tmp:
            path = Path(tmp, "ubm.png")
            argv = ("ubm", "watch", "--seconds", "0.01", "--interval", "0.01", "--plot", str(path))
            if not self.drew(path, *self.mcube_says(*argv)):
                return
            self.lists("")
            self.assertIn("about no cgroup", self.mcube_says(*argv)[2])
        with mock.patch.dict("sys.modules", {"matplotlib": None}):
            self.assertIn("python3-matplotlib", self.mcube_says(*argv)[2])

    def test_options(self):
        """Options of other actions, and values that make no sense."""
        for argv, says in ((("on", "--seconds", "1"), "mcube ubm watch --seconds"),
                           (("off", "--cgroup", "/x"), "mcube ubm watch --cgroup"),
                           (("watch", "--interval", "0"), "above 0"),
                           (("watch", "--plot", "x.jpg"), "ubm.png")):
            status, _, err = self.mcube_says("ubm", *argv)
            self.assertEqual(status, 1)
            self.assertIn(says, err)

    def test_names(self):
        """Columns and counters are those of the kernel."""
        folder = fake.TOOLS.parents[1] / "mm/mcube/ubm"
        if not folder.exists():
            self.skipTest("the kernel's source is not here")
        self.assertIn(json.dumps(HEAD), (folder / "debugfs.c").read_text("utf-8"))
        self.assertEqual(set(HEAD.split()), {"cgroup", *ubm.NUMBERS})
        text = (folder / "sysfs.c").read_text("utf-8")
        for name in ubm.COUNTERS:
            self.assertIn(f"MCUBE_NUMBER_ATTR({name},", text)
        self.assertEqual(text.count("MCUBE_NUMBER_ATTR("), len(ubm.COUNTERS))
