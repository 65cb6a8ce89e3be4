# SPDX-License-Identifier: GPL-2.0
"""mcube rocs: on whole or not at all; what it shows."""

import errno
import json
import subprocess
from pathlib import Path
from unittest import mock

import events_test
import fake
from mcube_cmd import policy, rocs

HEAD = ("pid why state windows stack mapped in gain_1024 searches rollbacks phases period threads "
        "cycles instructions refs misses step moved comm\n")
TARGETS = HEAD + (
    "4242 pid hold 60 640 512 500 128 1 0 0 1000 2 1000000 500000 4000 1000 20 1400 my\\040art\n"
    "4343 auto watch 5 0 0 0 0 0 0 0 0 1 0 0 0 0 0 0 42\n")
PROFILE = "pid address samples rate_65536 mapped\n" + "".join(
    f"4242 {0x400000 + 4096 * i:#x} {100 - i} {65536 - 700 * i} {int(i < 40)}\n"
    for i in range(80)) + "4242 0x900000 9 0 0\n"
SEARCH = ("pid index score_1073741824 times best\n4242 0 536870912 1 0\n4242 160 538624000 2 0\n"
          "4242 512 614400000 2 1\n4242 640 615424000 2 0\n")


class Rocs(fake.Case):
    """A made-up machine on which the module is loaded."""

    def setUp(self):
        """The modelled machine, with two processes."""
        super().setUp()
        self.root.rocs()
        events_test.pmu(self.root, "mcube_sim", 9, event="config:0-7")
        for pid in (4242, 4343):
            self.root.put(f"/proc/{pid}/comm", "x\n")

    def seen(self):
        """Targets, a profile and a search in debugfs."""
        for name, text in (("targets", TARGETS), ("profile", PROFILE), ("search", SEARCH)):
            self.root.put(f"{rocs.DEBUG}/{name}", text)
        self.root.put("/proc/4242/maps", "00400000-00600000 rw-p 00000000 00:00 0     [heap]\n")
        self.root.put("/proc/meminfo", "MemTotal:        1048576 kB\n")
        for name, value in (("reserved_colors", 2), ("reserved_free", 777)):
            self.root.put(f"{fake.SYSFS}/alloc/stats/{name}", f"{value}\n")

    def on(self, *argv):
        """Run mcube rocs on; its JSON."""
        out = self.done("rocs", "on", "--json", *argv)
        return json.loads(out)


class On(Rocs):
    """Switching on and off."""

    def test_on(self):
        """Events, targets, allocator, then the switch; again, nothing is written."""
        data = self.on("--pid", "4242", "--pid", "4343", "--alloc")
        self.assertEqual((data["events"], data["has_targets"]), ("model", True))
        self.assertEqual([f for f, _ in self.root.written][-3:],
                         ["rocs/pids", "alloc/enabled", "rocs/enabled"])
        self.assertEqual(self.value("rocs/pids"), "4242 4343")
        self.assertEqual(self.value("rocs/events/misses"),
                         "type=9 config=0x7 config1=0x0 config2=0x0 precise=0")
        self.root.written.clear()
        self.assertIn("on already", self.mcube_says("rocs", "on")[1])
        self.assertEqual(self.root.written, [])

    def test_choice(self):
        """Each choice replaces the choice before; without options it stays."""
        self.on("--pid", "4242", "--auto", "--alloc")
        self.on()
        self.assertEqual((self.value("rocs/pids"), self.value("rocs/auto")), ("4242", "1"))
        self.root.put("/sys/fs/cgroup/batch/cgroup.procs", "")
        for path in ("/sys/fs/cgroup/batch", "/batch"):
            self.on("--cgroup", path)
            self.assertEqual((self.value("rocs/cgroup"), self.value("rocs/pids"),
                              self.value("rocs/auto")), ("/batch", "", "0"))
        self.assertIn("there is no cgroup /nosuch",
                      self.mcube_says("rocs", "on", "--cgroup", "/nosuch")[2])
        self.assertIn("there is no process 1111",
                      self.mcube_says("rocs", "on", "--pid", "1111")[2])

    def test_no_target(self):
        """On without a target says how to choose one."""
        self.assertIn("no process is a target yet", self.mcube_says("rocs", "on", "--alloc")[1])

    def test_allocator_off(self):
        """Without --alloc the allocator stays off, and nothing is written."""
        status, _, err = self.mcube_says("rocs", "on", "--auto")
        self.assertEqual((status, self.root.written), (1, []))
        self.assertIn("add --alloc", err)

    def test_no_event(self):
        """A machine without the event: everything is as before, and the event is named."""
        before = self.value("rocs/events/refs")
        self.root.no_event = "sample_hit"
        err = self.refused("rocs", "on", "--auto", "--alloc")
        self.assertIn("rocs/events/sample_hit", err)
        self.assertIn("all settings are as before", err)
        self.assertRegex(err, r"what to do: .*--events")
        self.assertEqual((self.value("alloc/enabled"), self.value("rocs/enabled"),
                          self.value("rocs/auto"), self.value("rocs/events/refs")),
                         ("0", "0", "0", before))

    def test_one_color(self):
        """A map without colors: the message leads to the map."""
        self.root.put(f"{fake.SYSFS}/map/nr_colors", "1\n")
        err = self.mcube_says("rocs", "on", "--alloc")[2]
        self.assertIn("one color", err)
        self.assertIn("mcube map", err)

    def test_other_events(self):
        """Events cannot change while ROCS is on."""
        self.on("--alloc")
        err = self.mcube_says("rocs", "on", "--events", "intel")[2]
        self.assertIn("is on with other events", err)
        self.mcube_says("rocs", "off")
        self.assertEqual(self.on("--events", "intel")["events"], "intel")

    def test_off(self):
        """Off, off already, and off by mcube off in the right order."""
        self.on("--auto", "--alloc")
        self.assertIn("have left the pollute partition", self.mcube_says("rocs", "off")[1])
        self.assertIn("off already", self.mcube_says("rocs", "off")[1])
        self.assertEqual(self.value("alloc/enabled"), "1")
        self.on()
        self.root.written.clear()
        self.mcube_says("off")
        self.assertEqual(self.root.written, [("rocs/enabled", "0"), ("alloc/enabled", "0")])

    def test_profile_file(self):
        """The profile rocs lies on top of m3, and has all files of the directory."""
        self.on("--alloc")
        self.mcube_says("rocs", "off")
        status, _, err = self.mcube_says("apply", "rocs")
        self.assertEqual((status, err), (0, ""))
        self.assertIn("profile in force: rocs\n", self.mcube_says("status")[1])
        self.assertTrue(all(policy.allowed(f"rocs/{n}") for n in fake.ROCS))

    def test_modprobe(self):
        """The module is loaded when it is not there; each failure has its next step."""
        self.make(mcube=True)
        events_test.pmu(self.root, "mcube_sim", 9, event="config:0-7")
        argv = ("rocs", "on", "--alloc", "--auto")

        def modprobe(words, **_):
            """The kernel loads the module."""
            self.assertEqual(words, ["modprobe", "mcube_rocs"])
            self.root.rocs()
            return subprocess.CompletedProcess(words, 0, "", "")

        for config, says in (("m", "modules_install"), ("n", "CONFIG_MCUBE_ROCS=m")):
            failed = subprocess.CompletedProcess([], 1, "", "modprobe: FATAL: Module not found")
            with mock.patch("subprocess.run", return_value=failed), \
                    mock.patch("mcube_cmd.machine.config", return_value=config):
                status, _, err = self.mcube_says(*argv)
            self.assertEqual((status, self.root.written), (1, []))
            self.assertIn("Module not found", err)
            self.assertIn(says, err)
        with mock.patch("subprocess.run", side_effect=FileNotFoundError):
            self.assertIn("there is no modprobe", self.mcube_says(*argv)[2])
        with mock.patch("subprocess.run", modprobe):
            self.assertEqual(self.mcube_says(*argv)[0], 0)
        self.assertEqual(self.value("rocs/enabled"), "1")

    def test_not_loaded(self):
        """Looking without the module says how to load it; off is nothing to do."""
        self.make(mcube=True)
        for action in ("status", "profile"):
            self.assertIn("'mcube rocs on' loads it", self.refused("rocs", action))
        self.assertIn("off already", self.mcube_says("rocs", "off")[1])
        self.assertRegex(self.mcube_says("apply", "--list")[1], r"rocs +not loaded")

    def test_user(self):
        """A normal user is told to use sudo before anything is tried."""
        with mock.patch("mcube_cmd.host.is_root", lambda: False):
            status, _, err = self.mcube_says("rocs", "on", "--alloc")
        self.assertEqual((status, self.root.written), (1, []))
        self.assertIn("sudo", err)

    def test_options(self):
        """Options of other actions are refused with the action that they belong to."""
        for argv, says in ((("off", "--auto"), "mcube rocs on --auto"),
                           (("on", "--plot", "x.png"), "mcube rocs profile --plot"),
                           (("status", "--pid", "1"), "mcube rocs on --pid"),
                           (("profile", "--pid", "1", "--pid", "2"), "one --pid"),
                           (("status", "--watch", "0"), "above 0")):
            self.assertIn(says, self.refused("rocs", *argv))

    def test_refused(self):
        """Another refusal keeps the general advice."""
        self.root.errors = {"rocs/enabled": errno.EIO}
        status, _, err = self.mcube_says("rocs", "on", "--alloc")
        self.assertEqual((status, self.value("alloc/enabled")), (1, "0"))
        self.assertIn("mcube status", err)


class Status(Rocs):
    """mcube rocs status."""

    def test_numbers(self):
        """Ratios of the last window; no division by zero."""
        self.seen()
        data = self.json("rocs")
        art, other = data["targets"]
        self.assertEqual((art["comm"], art["gain"], art["ipc"], art["mpki"], art["miss_rate"]),
                         ("my art", 0.125, 0.5, 2.0, 0.25))
        self.assertEqual((art["step"], other["step"], other["ipc"], other["comm"]),
                         (20, None, None, "42"))
        self.assertEqual(data["partition"], {
            "colors": 2, "of": 32, "cache_bytes": 131072, "frames": 16384, "free": 777,
            "target_pages": 500})
        self.assertEqual((data["enabled"], data["counters"]["moved_in"]), (False, 700))

    def test_text(self):
        """A line for each target, all lines within 100 columns."""
        self.seen()
        out = self.done("rocs")
        self.assertLessEqual(max(map(len, out.splitlines())), 100)
        self.assertRegex(out, r"4242 +my art +pid +hold +640 +20 +512 +12.5% +1 +0\n")
        self.assertRegex(out, r"4242 +my art +60 +0 +2 +1000 +0.50 +2.00 +25.0%\n")
        self.assertRegex(out, r"4343 +42 +auto +watch +0 +- +0 +- +0 +0\n")
        self.assertIn("pollute partition: 2 of 32 colors, 128 KiB of the cache, 16,384 frames of "
                      "memory\n  500 pages of targets were moved there, 777 frames free in", out)
        self.assertRegex(out, r"moved_in +pages moved into the pollute partition +700\n")

    def test_hidden(self):
        """Without debugfs, counters are shown and a note names the reason."""
        out = self.done("rocs")
        self.assertIn("mount -t debugfs", out)
        self.assertRegex(out, r"samples +counted in a profile +5,000")
        with mock.patch("mcube_cmd.host.is_root", lambda: False):
            self.assertIn("only root", self.mcube_says("rocs")[1])
        self.assertIsNone(self.json("rocs")["targets"])

    def test_no_targets(self):
        """On without targets says how to choose one."""
        self.root.put(f"{rocs.DEBUG}/targets", HEAD)
        self.assertIn("no targets\n", self.mcube_says("rocs")[1])
        self.on("--alloc")
        self.assertIn("no targets: choose", self.mcube_says("rocs")[1])

    def test_watch(self):
        """Each view shows what has changed; Ctrl-C ends it well."""
        self.seen()
        views = []

        def sleep(seconds):
            """Time passes: 50 pages move."""
            views.append(seconds)
            if len(views) == 2:
                raise KeyboardInterrupt
            self.root.put(f"{fake.SYSFS}/rocs/stats/moved_in", "750\n")

        with mock.patch("time.sleep", sleep):
            status, out, _ = self.mcube_says("rocs", "status", "--watch", "0.5")
        self.assertEqual((status, views), (0, [0.5, 0.5]))
        self.assertRegex(out, r"moved_in .* 750 +\+50\n")
        self.assertEqual(out.count("pollute partition: "), 2)


class Profile(Rocs):
    """mcube rocs profile."""

    def test_numbers(self):
        """Pages, mappings, and the search with its best point."""
        self.seen()
        data = self.json("rocs", "profile")
        self.assertEqual((data["pid"], len(data["pages"])), (4242, 81))
        self.assertEqual((data["pages"][0]["rate"], data["pages"][0]["mapped"]), (1.0, True))
        self.assertEqual([(r["name"], r["pages"], r["polluting"]) for r in data["regions"]],
                         [("[heap]", 80, 40), ("not mapped any more", 1, 0)])
        # The kernel tells the best point: scores of different times cannot be compared.
        self.assertEqual([p["pages"] for p in data["search"] if p["best"]], [512])
        self.assertEqual(data["search"][0]["relative"], 1.0)
        self.assertEqual([p["windows"] for p in data["search"]], [1, 2, 2, 2])

    def test_new_profile(self):
        """A profile that is replaced after its target was read is read again with its target."""
        self.seen()
        new = TARGETS.replace("hold 60 640", "hold 61 81")
        real = rocs.pages

        def pages(pid):
            found = real(pid)
            self.root.put(f"{rocs.DEBUG}/targets", new)
            return found

        with mock.patch.object(rocs, "pages", pages):
            data = rocs.profile(4242)
        self.assertEqual((data["stack"], len(data["pages"]), data["windows"]), (81, 81, 61))

    def test_text(self):
        """Bands of the miss rate hold all pages; the best point is marked."""
        self.seen()
        out = self.done("rocs", "profile", "--pid", "4242")
        self.assertIn("process 4242 (my art), state hold: 81 pages in the stack, the first 40", out)
        self.assertRegex(out, r"90% and more +10 +\S+ +10\n")
        self.assertRegex(out, r"0% to 25% +\d+ +\S+ +0\n")
        self.assertRegex(out, r"512 +0.5722 +114.4% +2 +best\n")
        self.assertRegex(out, r"\[heap\] +400000 +80 ")

    def test_which(self):
        """No target, no profile yet, another process, hidden: each says what to do."""
        err = self.mcube_says("rocs", "profile")[2]
        self.assertIn("mount -t debugfs", err)
        self.root.put(f"{rocs.DEBUG}/targets", HEAD)
        self.assertIn("ROCS has no target", self.mcube_says("rocs", "profile")[2])
        self.seen()
        self.assertIn("process 7 is no target",
                      self.mcube_says("rocs", "profile", "--pid", "7")[2])
        err = self.mcube_says("rocs", "profile", "--pid", "4343")[2]
        self.assertIn("its state is 'watch'", err)
        self.root.put(f"{rocs.DEBUG}/targets", TARGETS.replace("watch 5 0", "watch 5 9"))
        err = self.mcube_says("rocs", "profile")[2]
        self.assertIn("choose by --pid: 4242, 4343", err)

    def test_picture(self):
        """--plot draws, or names the package that is missing."""
        self.seen()
        path = f"{self.root.path}/rocs.png"
        for search in (SEARCH, SEARCH.splitlines()[0] + "\n"):
            self.root.put(f"{rocs.DEBUG}/search", search)
            Path(path).unlink(missing_ok=True)
            status, out, err = self.mcube_says("rocs", "profile", "--plot", path)
            if status:
                self.assertIn("install python3-matplotlib", err)
                continue
            self.assertIn(f"picture: {path}", out)
            with open(path, "rb") as f:
                self.assertEqual(f.read(4), b"\x89PNG")

    def test_picture_name(self):
        """A picture has to be a .png file."""
        self.seen()
        err = self.refused("rocs", "profile", "--plot", "x.jpg")
        self.assertRegex(err, r"is no .png file|python3-matplotlib")
