# SPDX-License-Identifier: GPL-2.0
"""mcube report: what mcube does on this machine, as one file that can be sent.

Runs what the other commands offer, one after the other: check, verify, estimate, programs beside
each other with each policy off and on, and the kernel's tests where they are installed. All
settings are as before at the end.
"""

import contextlib
import os
import platform
import shlex
import shutil
import sys
import tempfile
import time
from pathlib import Path

from . import addrmap, cgroup, dimms, host, machine, module, perf, policy, race, report
from .term import Failure, print_json

HELP = "measure what mcube does here, and write one file that can be sent"
EXAMPLE = """examples:
  mcube report                            under an hour; writes mcube-report-DATE.tar.gz
  mcube report --quick --output /tmp/r.tar.gz
  mcube report --dir /mnt/ssd             files to read lie there, on ext4 or xfs
  mcube report --list                     the steps, and none of them is run
"""
HOUR = 3600.0
MCUBE = [sys.executable, sys.argv[0]]
# Steps by the mcube command itself.
COMMANDS = {"check": "check", "status": "status", "verify": "map verify",
            "known maps": "map known", "estimate": "estimate"}
KSELFTESTS = "/usr/lib/mcube/kselftests"
LOADS = Path(__file__).resolve().parent / "loads.py"
# Boot parameters that matter to placement; all others stay out of the report.
PARAMETERS = ("mcube.", "transparent_hugepage", "default_hugepagesz", "hugepagesz", "hugepages",
              "isolcpus", "nohz_full", "mitigations", "numa", "mem=", "kfence", "slub_", "lockdown")
GROUP = "mcube-report"
# Random writes to all files take as long as one lets them; they are for developers.
NO_TESTS = ("mcube_fuzz",)


def arguments(parser):
    """Options."""
    parser.add_argument("--output", metavar="FILE", help="a .tar.gz file (default: "
                        "mcube-report-DATE.tar.gz in the current directory)")
    parser.add_argument("--quick", action="store_true", help="small sizes, one round, and tests of "
                        "input alone: to try it out, the figures mean little")
    parser.add_argument("--dir", metavar="DIR", default="/var/tmp", help="where files to read are "
                        "made, and removed at the end (default /var/tmp)")
    parser.add_argument("--kselftests", metavar="DIR", help="installed kernel tests of mcube "
                        f"(default {KSELFTESTS}); 'none' for no tests")
    parser.add_argument("--list", action="store_true", help="print the steps and end")
    parser.add_argument("--json", action="store_true", help="print the report as JSON, too")


def load(*words):
    """Shell text that runs a load."""
    return shlex.join([sys.executable, "-B", str(LOADS), *map(str, words)])


class Plan:
    """The steps, and what they need."""

    def __init__(self, quick, folder, tests):
        self.quick, self.tests = quick, tests
        every = machine.caches()[0]
        self.llc = every[-1].bytes if every else 8 << 20
        self.loads = 200000 if quick else 20000000
        # Larger than the last-level cache, and small enough to be read in a second or two.
        self.file_mib = 16 if quick else max(256, min(2048, 4 * self.llc >> 20))
        self.files = [Path(folder) / "file-one", Path(folder) / "file-other"]

    def steps(self):
        """[(name, command, profile of a corun or None)], in order."""
        out = [(name, [*MCUBE, *words.split(), "--json"], None) for name, words in COMMANDS.items()]
        rounds = "1" if self.quick else "3"
        for profile, (victim, others) in self.coruns().items():
            words = ["corun", "--victim", victim, "--profile", profile, "--repeat", rounds]
            for other in others:
                words += ["--with", other]
            out.append((f"corun {profile}", [*MCUBE, *words, "--json"], profile))
        return out + [(f"kselftest {n}", [f"{self.tests}/run_kselftest.sh", "-t", f"mcube:{n}"],
                       None) for n in self.kselftests()]

    def coruns(self):
        """{profile: (victim, others)} of programs beside each other."""
        one, other = self.files
        kib = max(64, self.llc // 1024 * 3 // 5)
        stream = load("stream", max(4096, self.llc // 256), 20 if self.quick else 200)
        most = min(4, len(os.sched_getaffinity(0)))
        pages = 2000 if self.quick else 400000
        inside = f"echo 0 > {host.at(cgroup.FOLDER)}/{GROUP}/cgroup.procs; exec "
        return {
            "m3": (stream, [stream] * max(1, most - 1)),
            "srm": (load("chase", kib, self.loads), [load("scan", one)]),
            "rocs": (load("chase", kib // 2, self.loads, max(4, self.llc >> 20)),
                     [load("chase", kib // 4, self.loads // 10)]),
            "ubm": (inside + load("loop", one, 4 if self.quick else 10),
                    [inside + load("scan", other)]),
            "setcache": (load("reads", one, pages), [load("reads", other, pages)])}

    def kselftests(self):
        """Names of the tests that are installed."""
        text = ""
        with contextlib.suppress(OSError):
            text = (Path(self.tests or "") / "kselftest-list.txt").read_text("utf-8")
        names = [w.partition(":")[2] for w in text.split() if w.startswith("mcube:")]
        return [n for n in names if n not in NO_TESTS and (n.endswith("_input") or not self.quick)]


class Runner:
    """Runs a plan; its records are complete at any time."""

    def __init__(self, plan, say):
        self.plan, self.say, self.todo, self.steps = plan, say, plan.steps(), []
        self.loaded, self.begin = [], time.monotonic()

    def record(self, name, step):
        """Keep what a step gave."""
        self.steps.append({"name": name, **step})
        why = f": {step['why']}" if step["why"] else ""
        done, total = len(self.steps), len(self.todo)
        left = (time.monotonic() - self.begin) / done * (total - done)
        self.say(f"[{done}/{total}] {name}: {step['status']}{why}"
                 f" ({step['seconds']:.0f} s; about {left / 60:.0f} min left)")
        if step["status"] == "interrupted":
            raise KeyboardInterrupt

    def run(self):
        """All steps."""
        for name, argv, profile in self.todo:
            try:
                if time.monotonic() - self.begin > HOUR:
                    raise Failure("not run: an hour is over")
                with self.prepared(profile):
                    step = report.judge(report.run(argv))
            except Failure as e:
                step = {"status": "refused", "why": str(e), "seconds": 0.0, "next": e.advice}
            self.record(name, report.counted(step) if argv[-1].startswith("mcube:") else step)

    def prepared(self, profile):
        """A context in which a profile can be applied."""
        if not profile:
            return contextlib.nullcontext()
        policy.need_kernel()
        wanted = policy.profile(profile)
        if profile in ("srm", "ubm", "setcache") and not self.plan.files[-1].exists():
            make_files(self.plan)
        if wanted.module and module.load(wanted.module):
            self.loaded.append(wanted.module)
        if profile == "rocs":
            # It writes the descriptions of this machine's events, which stay.
            got = report.judge(report.run([*MCUBE, "rocs", "on", "--auto", "--alloc"]))
            if got["status"] != "ok":
                raise Failure(got["why"], got.get("next", ""))
            policy.switch_off()
        if profile == "ubm":
            # The loop is twice what fits.
            return cgroup.Cgroup(GROUP, max(32, self.plan.file_mib // 2) << 20)
        return contextlib.nullcontext()

    def tidy(self):
        """Modules that were loaded here go again."""
        for name in self.loaded:
            report.run(["modprobe", "-r", name])


def make_files(plan):
    """Make the files to read."""
    need, free = 2 * plan.file_mib << 20, shutil.disk_usage(plan.files[0].parent).free
    advice = "name another place by --dir"
    if free < 2 * need:
        raise Failure(f"{plan.file_mib * 2} MiB of files and as much free space need more than the "
                      f"{free >> 20} MiB that are free there", advice)
    block = os.urandom(1 << 20)
    try:
        for path in plan.files:
            with open(path, "wb") as f:
                for _ in range(plan.file_mib):
                    f.write(block)
                f.flush()
                os.fsync(f.fileno())
    except OSError as e:
        raise Failure(f"files cannot be made: {os.strerror(e.errno)}", advice) from e


def describe():
    """The machine, without names of it or of its users."""
    info = machine.cpuinfo()
    found = addrmap.Map.of_kernel()
    words = (host.read("/proc/cmdline") or "").split()
    return {
        "kernel": platform.release(), "mcube": policy.present(),
        "cpu": {k: info.get(k) for k in ("vendor_id", "cpu family", "model", "model name",
                                         "stepping", "microcode", "cpu cores")},
        "cpus": len(os.sched_getaffinity(0)), "nodes": machine.nodes(),
        "caches": [c.as_json() for c in machine.caches()[0]],
        "memory_mib": machine.memory_pages() >> 8, "modules": dimms.modules(),
        "hypervisor": machine.hypervisor(), "container": machine.container(),
        "perf": perf.version(), "python": platform.python_version(),
        "huge_pages": host.read("/sys/kernel/mm/transparent_hugepage/enabled"),
        "parameters": [w for w in words if w.startswith(PARAMETERS)],
        "map": found.as_json() if found else None,
        "settings": {s: policy.settings(s) for s in policy.systems()},
        "log": report.log_lines()}


def tests_of(args):
    """Where the kernel's tests are; None for none."""
    if args.kselftests == "none":
        return None
    if args.kselftests and not Path(args.kselftests, "run_kselftest.sh").is_file():
        raise Failure(f"{args.kselftests} has no run_kselftest.sh",
                      "name the directory of 'make kselftest-install', or 'none'")
    place = args.kselftests or KSELFTESTS
    return place if Path(place, "run_kselftest.sh").is_file() else None


def restore(saved):
    """Put the settings back; 'yes', or why not."""
    try:
        if saved:
            saved.restore()
    except Failure as e:
        return str(e)
    return "yes"


def run(args):
    """mcube report."""
    output = args.output or time.strftime("mcube-report-%Y%m%d-%H%M.tar.gz")
    tests = tests_of(args)
    if args.list:
        print("\n".join(name for name, *_ in Plan(args.quick, args.dir, tests).steps()))
        return 0
    host.check_file(output, (".tar.gz", ".tgz"), "report.tar.gz")
    if not os.path.isdir(args.dir) or not os.access(args.dir, os.W_OK):
        raise Failure(f"{args.dir} is no directory to write to", "name another one by --dir")
    if not host.is_root():
        raise Failure("only root may switch policies, which the report compares",
                      "run it by sudo")
    race.end_by_signals()

    def say(text):
        print(text, file=sys.stderr if args.json else sys.stdout, flush=True)

    before, interrupted = describe(), False
    saved = policy.Saved() if policy.present() and not policy.why_not_writable() else None
    folder = tempfile.mkdtemp(prefix="mcube-report-", dir=args.dir)
    runner = Runner(Plan(args.quick, folder, tests), say)
    try:
        runner.run()
    except KeyboardInterrupt:
        interrupted = True
    finally:
        # A second signal must not keep the settings from coming back.
        report.ignore_signals()
        restored = restore(saved)
        runner.tidy()
        shutil.rmtree(folder, ignore_errors=True)
    data = report.scrub({
        "quick": args.quick, "interrupted": interrupted, "restored": restored,
        "machine": before, "steps": runner.steps,
        "not_run": [name for name, *_ in runner.todo[len(runner.steps):]],
        "log": report.log_lines()},
        [os.environ.get(k) for k in ("SUDO_USER", "USER", "LOGNAME")],
        (folder, args.dir, LOADS.parents[1]))
    report.write(output, data)
    if args.json:
        print_json(data)
    if restored != "yes":
        say(f"settings are not as before: {restored}; see 'mcube status'")
    say(f"report: {output}; look at what it says before you send it: tar xzOf {output}")
    return 130 if interrupted else 0
