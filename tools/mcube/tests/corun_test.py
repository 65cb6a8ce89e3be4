# SPDX-License-Identifier: GPL-2.0
"""mcube corun: real processes for running and cleaning up, made-up runs for figures."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from unittest import mock

import fake
from mcube_cmd import corun_report, perf, race
from mcube_cmd.term import Failure

MODEL = perf.Events("model", {"cycles": "mcube_sim/cycles/", "misses": "mcube_sim/llc_misses/"},
                    "modelled")


def made_up(policy, together, cycles, misses):
    """A run."""
    others = [{"completed": 3, "counts": {"cycles": 200, "instructions": 100}}] * together
    return {"policy": policy, "together": together, "round": 0, "cost": cycles,
            "counts": {"cycles": cycles, "misses": misses}, "others": others}


def alive(*commands):
    """The commands that some process runs now."""
    found = set()
    for p in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found.add(p.read_bytes().rstrip(b"\0").replace(b"\0", b" ").decode())
        except OSError:
            continue
    return [c for c in commands if c in found]


def nap(seconds):
    """A command that no other run of these tests has at the same time."""
    return f"sleep {seconds}.{os.getpid()}"


def left(*commands):
    """Commands that still run after a while; a kill takes its time."""
    end = time.monotonic() + 20
    while alive(*commands) and time.monotonic() < end:
        time.sleep(0.02)
    return alive(*commands)


class Figures(fake.Case):
    """Medians, slowdowns and cuts."""

    RUNS = [made_up("off", False, c, 100) for c in (1000, 1010, 5000)] + \
        [made_up("off", True, c, m) for c, m in ((2020, 1100), (2000, 900), (2100, 1100))] + \
        [made_up("m3", False, c, 200) for c in (1100, 1100, 1100)] + \
        [made_up("m3", True, c, 400) for c in (1300, 1320, 1650)]

    def test_figures(self):
        """Figures worked out by hand: 2020 / 1010, 1320 / 1100, 1000 and 200 extra misses."""
        d = corun_report.summarise(self.RUNS, ["off", "m3"], MODEL, [])
        off, m3 = d["summary"]["off"], d["summary"]["m3"]
        self.assertEqual((off["slowdown"], off["extra_misses"]), (2.0, 1000))
        self.assertAlmostEqual(m3["slowdown"], 1.2)
        self.assertAlmostEqual(m3["slowdown_cut"], 0.8)
        self.assertAlmostEqual(m3["extra_misses_cut"], 0.8)
        self.assertAlmostEqual(m3["alone_over_first"], 1100 / 1010)
        self.assertEqual(d["rows"][1]["cost"], {"median": 2020, "min": 2000, "max": 2100})
        self.assertEqual(d["rows"][1]["others"], [{"completed": 3, "instructions_per_cycle": 0.5}])

    def test_noise(self):
        """Ranges that overlap are pointed out, and other ranges are not."""
        notes = corun_report.summarise(self.RUNS, ["off", "m3"], MODEL, [])["notes"]
        self.assertEqual([n.split(":")[0] for n in notes], ["off"])

    def test_no_harm(self):
        """Where co-runners cost nothing there is nothing to cut."""
        runs = [made_up(p, t, 100, 0) for p in ("off", "m3") for t in (False, True)]
        d = corun_report.summarise(runs, ["off", "m3"], MODEL, [])
        self.assertNotIn("slowdown_cut", d["summary"]["m3"])
        self.assertNotIn("extra_misses_cut", d["summary"]["m3"])
        self.assertIn("one round only", d["notes"][-1])


class Race(fake.Case):
    """Running."""

    def setUp(self):
        """A folder and the CPUs that there are."""
        super().setUp()
        folder = self.enterContext(tempfile.TemporaryDirectory(prefix="mcube-test-"))
        self.folder = Path(folder)
        cpu = min(os.sched_getaffinity(0))
        self.cpus = [cpu, cpu, cpu]

    def run_once(self, victim, *others):
        """One run without perf."""
        return race.run(victim, list(others), self.cpus, {}, self.folder)

    def test_together(self):
        """Co-runners start again until the victim ends, and none is left."""
        # The victim waits for runs of the co-runner that ended, which its loop counts.
        mark = self.folder / "runs"
        count = f"grep -c x {mark}"
        got = self.run_once(f"from=$({count}); until [ $({count}) -ge $((from + 4)) ]; do "
                            "sleep 0.02; done", f"echo x >>{mark}; sleep 0.0501", nap(997))
        self.assertGreaterEqual(got["others"][0]["completed"], 2)
        self.assertEqual(got["others"][1]["completed"], 0)
        self.assertEqual(left(nap(997), "sleep 0.0501"), [])

    def test_pinned(self):
        """Programs run on the CPU that was chosen, and so do their children."""
        output = self.folder / "cpus"
        self.run_once(f"taskset -p $$ | grep -o '[^ ]*$' >{output}")
        self.assertEqual(int(output.read_text("utf-8"), 16), 1 << self.cpus[0])

    def test_victim_fails(self):
        """The message has the victim's status and its last lines."""
        with self.assertRaises(Failure) as caught:
            self.run_once("echo so it is >&2; exit 4", nap(996))
        self.assertIn("failed with status 4\nso it is", str(caught.exception))
        self.assertEqual(left(nap(996)), [])

    def test_co_runner_fails(self):
        """A co-runner that fails ends the run at once."""
        start = time.monotonic()
        with self.assertRaises(Failure) as caught:
            self.run_once(nap(300), "sleep 0.8; echo broken >&2; exit 3")
        self.assertIn("co-runner 'sleep 0.8; echo broken >&2; exit 3' failed with status 3",
                      str(caught.exception))
        self.assertIn("broken", str(caught.exception))
        self.assertLess(time.monotonic() - start, 250)
        self.assertEqual(left(nap(300)), [])

    def test_status_that_perf_lost(self):
        """Programs fail although perf returns 0, as perf does for a program that ends early."""
        forgetful = self.folder / "forgetful"
        forgetful.mkdir()
        tool = forgetful / "perf"
        tool.write_text("""#!/bin/sh
while [ "$1" != -- ]; do [ "$1" = -o ] && out=$2; shift; done
shift
"$@"
echo '1;;cycles;1;100.00;;' > "$out"
""", "utf-8")
        tool.chmod(0o755)
        path = {"PATH": f"{forgetful}:{os.environ['PATH']}"}
        with mock.patch.dict(os.environ, path):
            run = lambda *programs: race.run(  # noqa: E731
                programs[0], programs[1:], self.cpus, {"cycles": "cycles"}, self.folder)
            self.assertEqual(run("true")["counts"], {"cycles": 1})
            for programs, why in ((["exit 4"], "victim 'exit 4' failed with status 4"),
                                  (["kill -9 $$"], "failed with status 137"),
                                  ([nap(299), "exit 3"], "'exit 3' failed with status 3")):
                with self.assertRaises(Failure) as caught:
                    run(*programs)
                self.assertIn(why, str(caught.exception))
            tool.write_text("#!/bin/sh\necho no such event >&2\nexit 129\n", "utf-8")
            with self.assertRaises(Failure) as caught:
                run("true")
            self.assertIn("has no status: what ran it ended with status 129\nno such event",
                          str(caught.exception))

    def test_interrupted(self):
        """Ctrl-C and SIGTERM leave no process behind."""
        if not perf.tool():
            self.skipTest("perf is not installed")
        cpus = f"{self.cpus[0]},{self.cpus[0]}"
        for number in (signal.SIGINT, signal.SIGTERM):
            # A shell without job control lets what it puts in the background ignore SIGINT.
            with subprocess.Popen(
                    ["env", "--default-signal=INT", sys.executable,
                     str(fake.TOOLS / "mcube"), "corun", "--victim", nap(995),
                     "--with", nap(994), "--cpus", cpus, "--events", "page-faults"],
                    stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as p:
                while not alive(nap(995)) and p.poll() is None:
                    time.sleep(0.05)
                p.send_signal(number)
                try:
                    _, err = p.communicate(timeout=60)
                except subprocess.TimeoutExpired:
                    p.kill()
                    raise
            self.assertEqual((p.returncode, err), (130, "interrupted\n"))
            self.assertEqual(left(nap(995), nap(994)), [])


class Command(fake.Case):
    """Which variants run, and in which state they leave the policies."""

    def corun(self, *argv, events=MODEL):
        """Run with made-up runs; (exit status, JSON or None, errors, policies at each run)."""
        seen = []

        def one(_victim, others, *_):
            """A run whose cost is its number."""
            seen.append((self.value("alloc/enabled"), self.value("alloc/fill_order"), bool(others)))
            return {"seconds": 1.0, "counts": {r: 1000.0 + len(seen) for r in events.roles},
                    "others": [{"completed": 1, "counts": {}} for _ in others]}

        cpu = min(os.sched_getaffinity(0))
        with mock.patch("mcube_cmd.race.run", one), \
                mock.patch("mcube_cmd.perf.find", lambda: events), \
                mock.patch("mcube_cmd.perf.empty_model", lambda: seen.append("empty")):
            status, out, err = self.mcube_says(
                "corun", "--victim", "v", "--with", "w", "--cpus", f"{cpu},{cpu}", "--json", *argv)
        return status, json.loads(out) if out else None, err, seen

    def test_order(self):
        """Policies take turns within each round, and the policies from before come back."""
        self.mcube_says("apply", "m3-paper")
        status, d, _, seen = self.corun("--repeat", "2")
        self.assertEqual(status, 0)
        self.assertEqual(seen[::2], ["empty"] * 8)
        seen = seen[1::2]
        self.assertEqual([(on, both) for on, _, both in seen],
                         [("0", False), ("0", True), ("1", False), ("1", True)] * 2)
        self.assertEqual({order for on, order, _ in seen if on == "1"},
                         {"shuffle paper even [auto]"})
        self.assertEqual((self.value("alloc/enabled"), self.value("alloc/fill_order")),
                         ("1", "shuffle [paper] even auto"))
        self.assertEqual(list(d["summary"]), ["off", "m3"])

    def test_modelled(self):
        """In the emulator there are modelled cycles and never seconds."""
        _, d, _, _ = self.corun()
        self.assertNotIn("seconds", json.dumps(d["rows"] + d["runs"]))
        self.assertEqual(d["rows"][0]["cost"]["median"], d["runs"][4]["cost"])
        events = perf.Events("hardware", MODEL.roles, "")
        self.assertIn("seconds", self.corun(events=events)[1]["rows"][0])

    def test_time(self):
        """Without a PMU costs are seconds, with a note; an emulated CPU is refused."""
        events = perf.Events("time", {}, "no PMU")
        status, d, _, _ = self.corun(events=events)
        self.assertEqual((status, d["rows"][0]["cost"]["median"]), (0, 1.0))
        self.assertTrue(any("costs are seconds" in n for n in d["notes"]))
        with mock.patch("mcube_cmd.machine.emulated", lambda: True):
            status, _, err, _ = self.corun(events=events)
        self.assertEqual(status, 1)
        self.assertIn("CPU is emulated", err)

    def test_policies(self):
        """'off' for no profile, unknown names, kernels and users that cannot switch."""
        self.assertEqual(list(self.corun("--profile", "off")[1]["summary"]), ["off"])
        self.assertEqual(list(self.corun("--profile", "m3-paper", "--profile", "m3")[1]["summary"]),
                         ["off", "m3-paper", "m3"])
        self.assertIn("no profile 'x'", self.corun("--profile", "x")[2])
        self.assertEqual([n for n in self.corun()[1]["notes"] if "banks" in n], [])
        self.root.put(f"{fake.SYSFS}/map/nr_banks", "1\n")
        self.assertIn("without them m3 may lose", "\n".join(self.corun()[1]["notes"]))
        with mock.patch("mcube_cmd.host.is_root", lambda: False):
            self.assertIn("not root", self.corun("--profile", "m3")[2])
            self.assertEqual(list(self.corun()[1]["summary"]), ["as is"])
        self.make(mcube=False)
        self.assertEqual(self.corun("--profile", "m3")[0], 1)

    def test_failure_restores(self):
        """A run that fails leaves the policies as they were."""
        self.mcube_says("apply", "m3")
        cpu = min(os.sched_getaffinity(0))
        with mock.patch("mcube_cmd.perf.find", lambda: perf.Events("time", {}, "")):
            status, _, err = self.mcube_says("corun", "--victim", "exit 9", "--with", "true",
                                             "--cpus", f"{cpu},{cpu}")
        self.assertEqual((status, self.value("alloc/enabled")), (1, "1"))
        self.assertIn("failed with status 9", err)

    def test_picture(self):
        """A picture that could not be written is refused before the first run."""
        for path in ("x.txt", "/nosuch/x.pdf"):
            status, _, err, seen = self.corun("--png", path)
            self.assertEqual((status, seen), (1, []))
            self.assertIn(path, err)

    def test_arguments(self):
        """CPUs and numbers that are refused."""
        for argv in (("--cpus", "0"), ("--cpus", "9999,0"), ("--cpus", "x,y"), ("--repeat", "0"),
                     ("--before", "exit 6")):
            status, _, err, _ = self.corun(*argv)
            self.assertEqual(status, 1, argv)
            self.assertIn("what to do: ", err)
