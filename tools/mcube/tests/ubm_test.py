# SPDX-License-Identifier: GPL-2.0
"""mcube ubm: on, off, what it shows and draws."""

import json
import tempfile
from pathlib import Path
from unittest import mock

import fake
from mcube_cmd import cmd_ubm, tracefs, ubm

DOMAINS = (
    "memcg cgroup capacity references misses lru_misses loop other seq held_loops runs files "
    "mg_other_1048576 mg_loop_1048576 cutoff guard\n"
    "7 /batch 1000 20000 5000 8000 600 300 100 2 9 4 105 210 12 0\n"
    "9 /my\\040job 64 0 0 0 0 0 0 0 0 0 0 0 0 500\n")
RUNS = ("memcg major minor ino start end cursor period passes class held seen\n"
        "7 8 1 42 0 800 17 900 5 loop 600 3\n7 8 1 43 0 50 50 0 1 seq 0 99\n"
        "9 8 1 42 0 4 4 0 1 other 0 7\n")
CURVE = "memcg depth other all\n7 100 40 60\n"


def note(at, memcg, first, nr, what):
    """A line of the trace: pages that were noted."""
    return (f"x-1 [000] ..... {at}: mcube_ubm_note: memcg={memcg} major=8 minor=1 ino=42 "
            f"first={first} nr={nr} class={what}")


class Events:
    """An instance of tracing; in an endless instance all reads give lines until it stops."""

    def __init__(self, lines, endless=False):
        self.left, self.again, self.enabled = lines, lines if endless else [], []

    def lines(self, most=None):
        """The lines of so many reads."""
        if most is None and self.again:
            raise AssertionError("these lines have no end")
        got, self.left = self.left, self.again
        yield from got

    def enable(self, event):
        """Note it."""
        self.enabled.append(event)

    def stop(self):
        """No lines any more."""
        self.again = []

    def but(self, _):
        """Of all tasks but one."""

    def begin(self):
        """From now on."""

    def lost(self):
        """None."""
        return 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass


class Ubm(fake.Case):
    """A made-up kernel with UBM."""

    def setUp(self):
        """Its files."""
        super().setUp()
        for name, value in {"enabled": "0", "window": "16", "stats/proposed": "5",
                            "stats/held": "1234"}.items():
            self.root.put(f"{fake.SYSFS}/ubm/{name}", f"{value}\n")

    def seen(self):
        """Files in debugfs."""
        for name, text in (("domains", DOMAINS), ("runs", RUNS), ("curve", CURVE)):
            self.root.put(f"{ubm.DEBUG}/{name}", text)

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
        for name in ("enabled", "window", "stats/proposed", "stats/held"):
            self.root.drop(f"{fake.SYSFS}/ubm/{name}")
        for action in ("on", "off", "status", "watch"):
            status, _, err = self.mcube_says("ubm", action)
            self.assertEqual(status, 1)
            self.assertIn("CONFIG_MCUBE_UBM", err)
        self.make(mcube=False)
        self.assertIn("mcube check", self.mcube_says("ubm")[2])

    def test_numbers(self):
        """Ratios and gains; no division by zero."""
        self.seen()
        data = json.loads(self.mcube_says("ubm", "--json")[1])
        batch, job = data["domains"]
        self.assertEqual((batch["hit_ratio"], batch["lru_hit_ratio"], batch["gain_loop"]),
                         (0.75, 0.6, 210 / 2**20))
        self.assertEqual((job["cgroup"], job["hit_ratio"], job["guard"]), ("/my job", None, 500))
        self.assertEqual((data["enabled"], data["settings"], data["counters"]["held"],
                          len(data["runs"]), data["curve"][0]["all"]),
                         (False, {"window": "16"}, 1234, 3, 60))

    def test_text(self):
        """Tables and bars within 100 columns."""
        self.seen()
        status, out, _ = self.mcube_says("ubm")
        self.assertEqual(status, 0)
        self.assertLessEqual(max(map(len, out.splitlines())), 100)
        self.assertRegex(out, r"/batch +1,000 +600 +300 +100 +200 +100 +75.0% +60.0% +2 +ok\n")
        self.assertRegex(out, r"/my job +64 .* - +- +0 +waits\n")
        self.assertIn("[" + "#" * 24 + "o" * 12 + "." * 4 + "] /batch\n", out)
        self.assertRegex(out, r"8:1 +42 +0 +800 +loop +900 +5 +600 +3\n")

    def test_cgroup(self):
        """One cgroup with its runs; another name leads to the names there are."""
        self.seen()
        data = json.loads(self.mcube_says("ubm", "--cgroup", "/sys/fs/cgroup/batch", "--json")[1])
        self.assertEqual(([d["memcg"] for d in data["domains"]],
                          {r["memcg"] for r in data["runs"]}), ([7], {7}))
        err = self.mcube_says("ubm", "--cgroup", "/x")[2]
        self.assertIn("/batch, /my job", err)

    def test_hidden(self):
        """Without debugfs: a note in the status, a failure in watch."""
        status, out, _ = self.mcube_says("ubm")
        self.assertEqual(status, 0)
        self.assertIn("mount -t debugfs", out)
        status, _, err = self.mcube_says("ubm", "watch", "--seconds", "0.01")
        self.assertEqual(status, 1)
        self.assertIn("mount -t debugfs", err)
        with mock.patch("mcube_cmd.host.is_root", lambda: False):
            self.assertIn("only root may see partitions", self.mcube_says("ubm")[1])

    def test_watch(self):
        """Views one after the other, and hit ratios since the last view."""
        self.seen()
        looks = iter((DOMAINS, DOMAINS.replace("20000 5000 8000", "21000 5100 8900")))

        def sleep(_):
            self.root.put(f"{ubm.DEBUG}/domains", next(looks))
        with mock.patch("time.sleep", sleep), mock.patch("time.monotonic", iter(
                (0.0, 0.0, 1.0, 2.0)).__next__):
            status, out, _ = self.mcube_says("ubm", "watch", "--seconds", "2")
        self.assertEqual((status, out.count("] /batch")), (0, 3))
        self.assertRegex(out, r"75.0% +60.0%(.|\n)* -  +- .*(.|\n)*90.0% +10.0%")

    def test_watch_json(self):
        """Samples."""
        self.seen()
        data = json.loads(self.mcube_says("ubm", "watch", "--seconds", "0.01", "--interval",
                                          "0.01", "--json")[1])
        self.assertEqual(data[0]["domains"][0]["loop"], 600)

    def test_classes(self):
        """A reference has the class that it had when it was noted, whatever its run became."""
        seen = cmd_ubm.Seen()
        for line in (note(1.0, 7, 0, 2, "other"), "noise", note(2.5, 7, 2, 16, "seq"),
                     "x-1 [000] ..... 3.0: mcube_ubm_run: memcg=7 major=8 minor=1 ino=42 start=0 "
                     "end=100 cursor=4 period=9 class=loop held=0",
                     note(3.0, 9, 0, 4, "seq"), note(3.5, 7, 100, 1, "loop")):
            seen.line(line)
        self.assertEqual(seen.references, {
            7: [(0.0, (8, 1, 42), 0, 2, "other"), (1.5, (8, 1, 42), 2, 16, "seq"),
                (2.5, (8, 1, 42), 100, 1, "loop")],
            9: [(2.0, (8, 1, 42), 0, 4, "seq")]})

    def watched(self, instance, *argv):
        """Watch with an instance of tracing; what would be drawn."""
        with mock.patch.object(tracefs, "Instance", return_value=instance), \
                mock.patch("mcube_cmd.picture.check"), \
                mock.patch("mcube_cmd.ubm_report.draw") as draw:
            status, _, err = self.mcube_says("ubm", "watch", "--seconds", "0.01", "--interval",
                                             "0.01", "--plot", "ubm.png", *argv)
        self.assertEqual((status, err), (0, ""))
        return draw.call_args[0]

    def test_references_of_a_cgroup(self):
        """The picture of a cgroup has the references of the cgroup alone."""
        self.seen()
        for argv, memcg in (((), 7), (("--cgroup", "/my job"), 9)):
            instance = Events([note(1.0, 7, 0, 2, "seq"), note(2.0, 9, 5, 1, "loop")])
            drawn = self.watched(instance, *argv)
            self.assertEqual([r[2:] for r in drawn[1]],
                             [(0, 2, "seq")] if memcg == 7 else [(5, 1, "loop")])
            self.assertEqual(drawn[2], memcg)
            self.assertEqual(instance.enabled, ["mcube_ubm/mcube_ubm_note"])

    def test_events_without_end(self):
        """Events that come faster than they can be read do not keep a watch from ending."""
        self.seen()
        instance = Events([note(1.0, 7, 0, 2, "seq")], True)
        self.assertLess(0, len(self.watched(instance)[1]))

    def test_plot(self):
        """A picture of references, sizes and gains, or a message about matplotlib."""
        self.seen()
        instance = Events([note(i, 7, i, 1, c) for i, c in enumerate(ubm.CLASSES)])
        with tempfile.TemporaryDirectory() as tmp:
            path = Path(tmp, "ubm.png")
            argv = ("ubm", "watch", "--seconds", "0.01", "--interval", "0.01", "--plot", str(path))
            with mock.patch.object(tracefs, "Instance", return_value=instance):
                status, out, err = self.mcube_says(*argv)
            if not self.drew(path, status, out, err):
                return
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
        """The names of classes are those of the kernel."""
        path = fake.TOOLS.parents[1] / "mm/mcube/ubm/debugfs.c"
        if not path.exists():
            self.skipTest("the kernel's source is not here")
        text = path.read_text("utf-8")
        for name in ubm.CLASSES:
            self.assertIn(f'"{name}"', text)
