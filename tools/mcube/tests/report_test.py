# SPDX-License-Identifier: GPL-2.0
"""Tests of 'mcube report': steps, what is kept of them, and that all is as before."""

import json
import os
import platform
import signal
import stat
import subprocess
import sys
import tarfile
import time
from pathlib import Path
from unittest import mock

import fake
from mcube_cmd import cmd_report, loads, module, report

# In the place of the mcube command: refuses some, fails one, and prints where it was called.
COMMAND = """#!/bin/sh
case "$1 $2" in
check*) echo '{"usable": false, "at": "HOSTNAME"}'; exit 1 ;;
status*) echo broken >&2; exit 3 ;;
"map verify") echo 'mcube map: error: no L2' >&2; echo 'what to do: describe it' >&2; exit 1 ;;
estimate*) echo "usage: mcube [-h]" >&2; exit 2 ;;
"rocs on") echo 'mcube rocs: error: no PMU here' >&2; exit 1 ;;
"corun --victim") echo '{"summary": {}, "argv": "'"$*"'"}' | tr -d '\\n' ;;
*) echo '{"fine": 1}' ;;
esac
"""


class Steps(fake.Case):
    """One command."""

    def test_ends(self):
        """Ended, failed, not there."""
        got = report.run(["sh", "-c", "echo out; echo err >&2"])
        self.assertEqual((got["status"], got["out"], got["err"]), ("ok", "out\n", "err\n"))
        got = report.run(["sh", "-c", "exit 3"])
        self.assertEqual((got["status"], got["why"]), ("failed", "status 3"))
        got = report.run(["/nosuch/program"])
        self.assertEqual(got["status"], "refused")
        self.assertIn("No such file", got["why"])

    def test_stalled(self):
        """A step of which nothing is heard ends, with all of its processes; others do not."""
        pids = Path(self.root.path) / "pids"
        got = report.run(["sh", "-c", f"setsid sleep 4321 & echo $! > {pids}; wait"], stall=1)
        self.assertEqual(got["status"], "stalled")
        pid = int(pids.read_text("utf-8"))

        def state():
            return report.raw(f"/proc/{pid}/stat").rpartition(")")[2].split()[:1]

        # A kill takes its time; without one it would sleep for an hour.
        while state() not in ([], ["Z"]):
            time.sleep(0.05)
        # However short the limit, a step that gets on is not stalled.
        looks = iter(range(1 << 20))
        with mock.patch("mcube_cmd.report.sign_of_life", lambda *_: next(looks)):
            self.assertEqual(report.run(["sleep", "2"], stall=0)["status"], "ok")

    def test_sign_of_life(self):
        """What counts as getting on: output, a program that starts or ends, and bytes written."""
        with open(self.root.path / "out", "wb") as f:
            def sign():
                return report.sign_of_life(os.getpid())

            first = sign()
            f.write(b"x")
            f.flush()
            second = sign()
            self.assertNotEqual(first, second)
            with subprocess.Popen(["sleep", "4322"]) as child:
                self.assertNotEqual(sign()[0], second[0])
                child.kill()
            self.assertEqual(sign()[0], second[0])
            with open(self.root.path / "other", "wb") as other:
                other.write(b"y")
            self.assertGreater(sign()[1], second[1])

    def test_interrupted(self):
        """Ctrl-C ends the step, which can tidy up."""
        mark = Path(self.root.path) / "tidy"
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            self.addCleanup(signal.signal, number, signal.getsignal(number))
        looks = mock.Mock(side_effect=[1, 2, KeyboardInterrupt])
        program = "import sys, time\ntry:\n  time.sleep(4321)\nexcept KeyboardInterrupt:\n" \
            "  open(sys.argv[1], 'w').close()\n"
        with mock.patch("mcube_cmd.report.sign_of_life", looks):
            got = report.run(["env", "--default-signal=INT", sys.executable, "-c", program,
                              str(mark)])
        self.assertEqual(got["status"], "interrupted")
        self.assertTrue(mark.exists())

    def test_judge(self):
        """JSON is kept also at exit status 1; a refusal is told from a failure."""
        def said(out, err, status):
            got = {"status": "failed" if status else "ok", "seconds": 1.0,
                   "why": f"status {status}" if status else "",
                   "out": out, "err": err, "exit": status}
            return report.judge(got)
        self.assertEqual(said('{"a": 1}', "", 1)["data"], {"a": 1})
        self.assertEqual(said('{"a": 1}', "", 1)["status"], "ok")
        self.assertEqual(said('{"a": 1}', "", 2)["status"], "failed")
        got = said("", "mcube corun: error: no PMU\nhere\nwhat to do: buy one\n", 1)
        self.assertEqual((got["status"], got["why"], got["next"]),
                         ("refused", "no PMU\nhere", "buy one"))
        self.assertEqual(said("", "Traceback", 1)["status"], "failed")
        self.assertIn("no such subcommand", said("", "usage: mcube [-h]", 2)["why"])
        self.assertLessEqual(len(said("x" * 200000, "", 0)["output"]), report.KEPT)

    def test_counted(self):
        """Results of a kernel test, whose runner returns 0 although a test failed."""
        def step(text):
            return report.counted({"status": "ok", "why": "", "output": text})
        got = step("TAP version 13\n# ok 1 a\n# ok 2 b # SKIP no disk\nok 1 selftests: x\n")
        self.assertEqual((got["status"], got["results"]),
                         ("ok", {"passed": 2, "failed": 0, "skipped": 1}))
        self.assertEqual(step("# not ok 1 a\nok 1 selftests: x\n")["status"], "failed")
        self.assertEqual(step("nothing\n")["why"], "it gave no result")


class Privacy(fake.Case):
    """What stays out of the report."""

    def test_scrubber(self):
        """Names of the machine and of users, and paths."""
        def scrubbed(node, data, *more):
            with mock.patch.object(platform, "node", lambda: node):
                return report.scrub(data, *more)

        self.assertEqual(scrubbed("box7.example.org", {
            "rocs": {"pids": "4242", "cgroup": "/user.slice", "steps": "32"},
            "box7": ["at box7.example.org, /home/alice/x", 7, None],
            "b": "alice's /mnt/alices-disk/f; box7x, xbox7, 0x24000"},
            ["alice"], ["/mnt/alices-disk"]), {
                "rocs": {"steps": "32"}, "HOST": ["at HOST, /home/USER/x", 7, None],
                "b": "HOST's DIR/f; box7x, xbox7, 0x24000"})
        self.assertEqual(scrubbed("mcube", "mcube of root", ["root", None]), "mcube of root")

    def test_parameters(self):
        """Of the boot parameters, those that matter to placement."""
        self.root.put("/proc/cmdline", "root=UUID=12 ip=10.0.0.1 mcube.alloc=1 mitigations=off")
        self.root.put("/dev/kmsg", "6,1,1,-;mcube: map: 32 colors\n6,2,2,-;eth0: 00:11:22\n")
        data = cmd_report.describe()
        self.assertEqual(data["parameters"], ["mcube.alloc=1", "mitigations=off"])
        self.assertEqual(data["log"], ["mcube: map: 32 colors"])


class Report(fake.Case):
    """The whole."""

    def setUp(self):
        """A machine with a command that says something."""
        super().setUp()
        self.folder = Path(self.root.path) / "work"
        self.folder.mkdir()
        self.output = self.folder / "r.tar.gz"
        command = self.folder / "command"
        command.write_text(COMMAND.replace("HOSTNAME", platform.node()), "utf-8")
        command.chmod(command.stat().st_mode | stat.S_IXUSR)
        for patch in (mock.patch.object(cmd_report, "MCUBE", [str(command)]),
                      mock.patch.object(report, "ignore_signals", lambda: None),
                      mock.patch.object(signal, "signal", lambda *_: None),
                      mock.patch.object(module, "load", lambda name: False)):
            self.enterContext(patch)

    def report(self, *argv, tests="none"):
        """Run it; exit status, output, errors, report.json."""
        status, out, err = self.mcube_says(
            "report", "--quick", "--output", str(self.output), "--dir", str(self.folder),
            "--kselftests", tests, *argv)
        data = None
        if self.output.is_file():
            with tarfile.open(self.output) as tar:
                self.assertEqual(tar.getnames(), ["mcube-report/report.txt",
                                                  "mcube-report/report.json"])
                self.assertEqual({(m.uid, m.uname) for m in tar.getmembers()}, {(0, "")})
                data = json.load(tar.extractfile("mcube-report/report.json"))
                text = tar.extractfile("mcube-report/report.txt").read().decode()
                self.assertNotIn("Traceback", text)
        return status, out, err, data

    def test_whole(self):
        """What ran, what was refused and why, and nothing is left behind."""
        status, out, err, data = self.report()
        self.assertEqual((status, err), (0, ""))
        steps = {s["name"]: s for s in data["steps"]}
        self.assertEqual({n: s["status"] for n, s in steps.items()}, {
            "check": "ok", "status": "failed", "verify": "refused", "known maps": "ok",
            "estimate": "refused", "corun m3": "ok", "corun srm": "ok", "corun rocs": "refused",
            "corun ubm": "refused", "corun setcache": "ok"})
        self.assertEqual((steps["verify"]["why"], steps["verify"]["next"]),
                         ("no L2", "describe it"))
        self.assertFalse(steps["check"]["data"]["usable"])
        self.assertEqual(steps["corun rocs"]["why"], "no PMU here")
        self.assertIn("cgroup of version 2", steps["corun ubm"]["why"])
        self.assertEqual((data["not_run"], data["interrupted"], data["restored"]),
                         ([], False, "yes"))
        self.assertIn("DIR/", json.dumps(data))
        self.assertNotIn(str(self.folder), json.dumps(data))
        self.assertEqual(sorted(p.name for p in self.folder.iterdir()), ["command", "r.tar.gz"])
        self.assertIn("[10/10] corun setcache", out)

    def test_restores(self):
        """Settings are as before, whatever a step leaves, and a refusal is told."""
        self.mcube_says("apply", "m3-paper")
        judge = report.judge

        def spoil(got):
            self.root.put(f"{fake.SYSFS}/alloc/fill_order", "[shuffle] paper even auto\n")
            return judge(got)

        with mock.patch.object(report, "judge", spoil):
            self.assertEqual(self.report()[3]["restored"], "yes")
        self.assertEqual((self.value("alloc/enabled"), self.value("alloc/fill_order")),
                         ("1", "shuffle [paper] even auto"))
        self.root.errors["alloc/fill_order"] = 5
        with mock.patch.object(report, "judge", spoil):
            status, out, _, data = self.report()
        self.assertIn("alloc/fill_order", data["restored"])
        self.assertIn("not as before", out)

    def test_interrupted(self):
        """Ctrl-C writes what there is."""
        runs = []
        real = report.run

        def run(argv, **options):
            runs.append(argv)
            if len(runs) == 4:
                return {"status": "interrupted", "why": "by a signal", "seconds": 0.1, "out": "",
                        "err": "", "exit": -2}
            return real(argv, **options)

        with mock.patch.object(report, "run", run):
            status, _, _, data = self.report()
        self.assertEqual((status, data["interrupted"]), (130, True))
        self.assertEqual([s["status"] for s in data["steps"]][3:], ["interrupted"])
        self.assertEqual(data["not_run"][0], "estimate")
        self.assertEqual(len(data["not_run"]), 6)

    def test_hour(self):
        """What does not begin within the hour is recorded as not run."""
        with mock.patch.object(cmd_report, "HOUR", -1):
            data = self.report()[3]
        self.assertEqual({s["why"] for s in data["steps"]
                          if s["name"] not in ("corun rocs", "corun ubm")},
                         {"not run: an hour is over"})

    def test_kselftests(self):
        """Installed tests run one by one; the quick ones are those of input."""
        tests = self.folder / "tests"
        tests.mkdir()
        (tests / "kselftest-list.txt").write_text(
            "mcube:map_input\nmcube:alloc_toggle\nmcube:mcube_fuzz\n", "utf-8")
        runner = tests / "run_kselftest.sh"
        runner.write_text("#!/bin/sh\necho \"# ok 1 $2\"\n", "utf-8")
        runner.chmod(0o755)
        steps = self.report(tests=str(tests))[3]["steps"]
        self.assertEqual(steps[-1]["name"], "kselftest map_input")
        self.assertEqual(steps[-1]["results"]["passed"], 1)
        plan = cmd_report.Plan(False, self.folder, tests)
        self.assertEqual(plan.kselftests(), ["map_input", "alloc_toggle"])

    def test_refused(self):
        """Bad places are refused before anything runs."""
        for argv in (("--output", "/nosuch/r.tar.gz"), ("--output", "r.txt"),
                     ("--dir", "/nosuch"), ("--kselftests", "/nosuch")):
            self.refused("report", "--quick", *argv)
        with mock.patch("mcube_cmd.host.is_root", lambda: False):
            status, _, err, data = self.report()
        self.assertEqual((status, data), (1, None))
        self.assertIn("sudo", err)
        status, out, _ = self.mcube_says("report", "--list", "--kselftests", "none")
        self.assertEqual((status, len(out.split("\n"))), (0, 11))

    def test_without_mcube(self):
        """A kernel without mcube: the report says so, and has what can be had."""
        self.make(False)
        self.folder.mkdir(parents=True, exist_ok=True)
        with mock.patch.object(cmd_report, "MCUBE", ["true"]):
            data = self.report()[3]
        steps = {s["name"]: s for s in data["steps"]}
        self.assertEqual(steps["corun m3"]["status"], "refused")
        self.assertIn("no mcube", steps["corun m3"]["why"])
        self.assertFalse(data["machine"]["mcube"])

    def test_no_room(self):
        """Files that do not fit: their steps are refused, others run."""
        with mock.patch.object(cmd_report.shutil, "disk_usage", lambda _: mock.Mock(free=1 << 20)):
            steps = {s["name"]: s for s in self.report()[3]["steps"]}
        self.assertEqual((steps["corun m3"]["status"], steps["corun srm"]["status"]),
                         ("ok", "refused"))
        self.assertIn("--dir", steps["corun srm"]["next"])


class Loads(fake.Case):
    """The programs."""

    def test_ring(self):
        """A ring of lines comes back to its start after all of them, and not before."""
        lines = loads.ring(64)
        at, seen = 0, set()
        for _ in range(64 * 1024 // loads.LINE):
            seen.add(at)
            at = lines[at]
        self.assertEqual((at, len(seen), len(lines) * 8), (0, 1024, 65536))
        self.assertEqual({x * 8 % loads.LINE for x in seen}, {0})

    def test_each(self):
        """Each load ends without an error."""
        path = Path(self.root.path) / "file"
        path.write_bytes(os.urandom(1 << 20))
        cases = {"chase": (64, 3000, 1), "stream": (64, 2), "scan": (path,), "loop": (path, 2),
                 "reads": (path, 100)}
        for name, words in cases.items():
            got = report.run([sys.executable, "-B", loads.__file__, name, *map(str, words)])
            self.assertEqual((got["status"], got["err"]), ("ok", ""), name)
        self.assertEqual(set(loads.LOADS), set(cases))
