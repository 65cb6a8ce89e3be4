#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The kselftests, each in a guest of its own where memory matters.

The free memory that a test finds, and the size of its pieces, depends on what ran since
boot. Each test therefore has a guest of its own, and cases that fill memory have guests
of their own too. Tests of input change no memory and share a guest. As a command:

    guests_kselftest.py [--nodes N] [--debug] [TEST ...]
    guests_kselftest.py --fuzz MINUTES [--nodes N]
    guests_kselftest.py --torture MINUTES [--nodes N]

Variables MCUBE_FUZZ_* and MCUBE_SETCACHE_* of the environment reach the guests, see
mcube_fuzz.c and setcache_torture.c.
"""

import fnmatch
import os
import re
import shutil
import subprocess
import time
from pathlib import Path

import guests
import kbuild
from lib import ktap, ui
from lib.source import TREE
from lib.ui import BUILD, Failure
from qemu import Guest, image, kibibytes

SELFTESTS = "tools/testing/selftests/mcube"
# These need a modelled machine; guests_model.py runs them.
MODELLED = ("sim_pmu", "sim_samples", "rocs_sim")
# perf works at the ticks of the guest's clock. On a busy host the guest has many ticks for few
# instructions, and its samples are those of the ticks. This test has a guest whose time is
# its instructions.
COUNTED = "sim_samples"
SHARED = ("alloc_boot", "map_input", "alloc_input", "srm_input", "ubm_input", "setcache_input",
          "rocs_input")
# On the debug kernel too, where UBSan and KASAN see what bad input does to memory.
DEBUGGED = ("map_input", "alloc_input", "srm_input", "ubm_input", "setcache_input",
            "rocs_input", "alloc_hint")
# Random sequences of writes: for a few seconds in every run, for long under stress.
FUZZER = "mcube_fuzz"
# In make test always the same sequences, so that a failure is due to what changed; runs for
# long have random sequences.
FUZZ_ENV = {"MCUBE_FUZZ_SEED": 1}
# Page sets and ROCS under load: under stress on the debug kernel, again and again, with these
# settings times the minutes that were asked for.
TORTURES = ("setcache_torture", "setcache_fsx", "setcache_dm", "setcache_faults",
            "setcache_async", "setcache_life", "setcache_numa", "rocs_move", "rocs_life",
            "rocs_pick", "rocs_module")
TORTURE_ENV = {"MCUBE_SETCACHE_READS": 2000, "MCUBE_SETCACHE_OPS": 400}
# The negative controls stay out.  They prove that the load finds a missing hook within 150 s, and
# the debug kernel has a tenth of the reads in that time.
CONTROLS = "setcache_control.*"
# Cases that get a guest of their own: EACH case of a test, or for each pattern the
# cases that match the pattern together. All other cases of a test share a guest. The
# first tests here take longest, and begin first, so that all cores are busy to the end.
EACH = "each"
OWN = {
    "setcache_torture": ("setcache_control.*",),
    "alloc_toggle": (),
    "alloc_hotplug": (),
    "srm_folios": ("*.aged_cache_with_two_lists", "*.aged_cache_with_generations",
                   "*.full_cache_with_two_lists", "*.full_cache_with_generations",
                   "*.memory_in_pieces"),
    "alloc_compaction": EACH,
    "alloc_pressure": EACH,
    "srm_large": ("*.pressure",),
    "srm_reclaim": ("*.classic.*", "*.mglru.*"),
    "srm_device": EACH,
    "srm_reserve": ("*.others_when_it_is_exhausted",),
}
# Memory of guests that need more than 512M. Contiguous allocations need room for huge
# pages of 1 GiB; hotplug needs blocks that can go offline; a hint needs free memory of
# its color; spares are a share of memory; both halves of a device stay on one node; and
# below 1G the free memory at the watermarks is less than a segment of each color, and no
# loop that is large to reclaim has room.
MEMORY = {"1node-alloc_compaction-contiguous_*": "4G", "?node-alloc_toggle": "1G",
          "?node-alloc_hotplug": "1G", "?node-alloc_placement": "1G",
          "?node-alloc_pressure-spares_*": "2G", "?node-srm_folios-aged_cache_*": "1G",
          "?node-mcube_fuzz": "1G", "1node-srm_device*": "1G",
          "2node-srm_device*": "2G", "?node-alloc_mobility": "2G",
          "?node-ubm_loop": "1G"}
# Only in ZONE_NORMAL does the page allocator look for a pageblock in all zones before it
# takes a piece of one. Larger machines have that zone; here it takes a machine with little
# memory below 4 GiB. The machine with two nodes does not have it, and tests the other path.
BELOW_4G = {"1node-alloc_mobility": "256M"}
DISKS = re.compile(r"(srm|ubm|setcache)_(?!input)|alloc_(toggle|mobility)|rocs_move|mcube_fuzz")
# These load the module mcube_rocs.
ROCS = re.compile(r"rocs_|mcube_fuzz")
# These load the module mcube_setcache.
SETCACHE = re.compile(r"setcache_|mcube_fuzz")
# These load the module mcube_probe.
PROBE = re.compile(r"probe_")
# These load other modules of the kernel.
MODULES = {
    "setcache_block": ("fs/configfs/configfs.ko", "drivers/block/null_blk/null_blk.ko"),
    **dict.fromkeys(("setcache_direct", "setcache_dm", "setcache_late"),
                    ("drivers/md/dm-mod.ko", "drivers/md/dm-flakey.ko", "drivers/md/dm-delay.ko")),
}

# A processor whose prefetchers ROCS knows. The emulator forgets what is written to the register.
CPUS = {"rocs_pick": "Haswell"}

# Machines with one node have nothing to show to these.
NODES = ("setcache_numa",)
# These take minutes, the longest first. make test runs each on a machine with so many nodes, all
# other tests on both machines; the command below runs these on both too.
ONCE = {"setcache_torture": 2, "ubm_life": 1, "ubm_harm": 1, "srm_large": 2, "rocs_life": 2,
        "ubm_loop": 2, "rocs_module": 1, "alloc_toggle": 1, "alloc_hotplug": 2, "rocs_move": 1,
        "srm_folios": 2, "srm_reclaim": 1, "setcache_faults": 2, "setcache_life": 1,
        "srm_lend": 2, "setcache_fsx": 1, "setcache_dm": 1, "rocs_pick": 1, "setcache_late": 2}
# And with so many rounds; make stress and the command run the number that each test gives.
ONCE_ENV = {"MCUBE_TOGGLES": 250, "MCUBE_ROCS_LOADS": 25, "MCUBE_SETCACHE_READS": 150000}

# On four nodes, all in one guest: these cases, with fewer reads than elsewhere.
FOUR = {"setcache_numa": "*", "setcache_torture": "*.no_stale_data"}
FOUR_ENV = {"MCUBE_SETCACHE_READS": 50000}

# Factor of the limits in a guest. The host finds a guest that hangs by the guest's own clock,
# which a busy host does not advance; in the guest the wall clock is all there is.
PATIENCE = 20

# The runner passes results through a script of perl, else through sed. The sed of busybox would
# keep the last results of a test that hangs. So this is the guest's perl, for that script alone.
PERL = """#!/bin/sh
exec busybox awk '{ print "# " $0; fflush() }'
"""


def install(out=BUILD / "test", folder=BUILD / "kselftest"):
    """Build and install the kselftests; returns the folder and their names."""
    if not (TREE / SELFTESTS / "Makefile").is_file():
        raise Failure(f"no {SELFTESTS}/Makefile in build/linux")
    log = BUILD / "kselftest.log"
    log.unlink(missing_ok=True)
    with ui.lock("kselftest"):
        kbuild.kmake(TREE, out, "headers", log=log)
        shutil.rmtree(folder, ignore_errors=True)
        with open(log, "a", encoding="utf-8") as f:
            got = subprocess.run(
                ["make", "-C", str(TREE / "tools/testing/selftests"), f"O={out}",
                 "TARGETS=mcube", "LDFLAGS=-static", f"INSTALL_PATH={folder}",
                 f"-j{ui.JOBS}", "install"], stdout=f, stderr=f, check=False,
                env=kbuild.environment())
    if got.returncode:
        tail = "\n".join(log.read_text("utf-8").splitlines()[-15:])
        raise Failure(f"the kselftests do not build:\n{tail}", f"the log is {log}")
    names = []
    if (folder / "kselftest-list.txt").is_file():
        names = (folder / "kselftest-list.txt").read_text("utf-8").split()
    mine = [n.split(":", 1)[1] for n in names if n.startswith("mcube:")]
    if not mine or len(mine) != len(names):
        raise Failure(f"kselftests installed: {names or 'none'}; expected mcube's",
                      f"look at {log}: a wrong TARGET is skipped without an error")
    return folder, mine


def cases_of(program):
    """Names of the cases of a test as in its results, in the order of running."""
    got = subprocess.run([program, "-l"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                         text=True, check=False).stdout
    out = []
    # A fixture is a block of three columns: its name, its variants, its tests.
    for block in re.split(r"^-+\n", got, flags=re.M)[1:]:
        rows = [(x[:20].strip(), x[21:46].strip(), x[47:].strip()) for x in block.splitlines()]
        if rows and len(rows[0][0]) == 20:
            raise Failure(f"the fixture {rows[0][0]}... may be cut: it has 20 letters or more",
                          "the list of the harness has room for 20: shorten the name")
        variants = [f"{v}." for _, v, _ in rows if v] or [""]
        out += [f"{rows[0][0]}.{v}{t}" for v in variants for _, _, t in rows if t]
    if not out:
        raise Failure(f"{program} -l lists no case:\n{got}")
    return out


# What a failed assertion of the harness says, without the marks of nested results.
WHY = re.compile(r"^[# ]*(\w+\.c:\d+:\w+:Expected .*|\w+: Test terminated .*)$", re.M)


def why(output):
    """What the first failed assertions say."""
    return WHY.findall(output)[:12]


class Job:
    """A guest: some tests, or some cases of a test."""

    def __init__(self, folder, name, cases, chosen=False, env=None):
        self.folder, self.name, self.env = folder, name, env or {}
        self.cases = cases              # {test: names}
        self.chosen = chosen            # run only these cases of the test
        self.limit = int(os.environ.get("KSELFTEST_TIMEOUT", "900"))

    def script(self):
        """The runner with these tests."""
        return f"cd /kselftest && ./run_kselftest.sh -o {self.limit * PATIENCE} " + \
            " ".join(f"-t mcube:{t}" for t in self.cases) + "\n"

    def environment(self):
        """Environment from which the runner takes the arguments of a test."""
        return {f"KSELFTEST_{t.upper()}_ARGS": " ".join(f"-r {c}" for c in cases)
                for t, cases in self.cases.items() if self.chosen}

    def run(self, name, label, env=None, flavor="test", **machine):
        """Boot, run, and compare the results with the cases that were to run."""
        drives = []
        if any(DISKS.match(t) for t in self.cases):
            drives = [guests.disk(name), guests.disk(name, "xfs")]
        cpu = next((c for t, c in CPUS.items() if t in self.cases), None)
        guest = Guest(image(flavor), programs=["timeout"], drives=drives, cpu=cpu, **machine)
        for item in ("run_kselftest.sh", "kselftest-list.txt", "mcube/settings",
                     *(f"mcube/{t}" for t in self.cases)):
            guest.root.file(self.folder / item, f"kselftest/{item}")
        guest.root.tree(self.folder / "kselftest", "kselftest/kselftest")
        guest.root.text("usr/bin/perl", PERL, 0o755)
        if any(ROCS.match(t) for t in self.cases):
            guests.module(guest.root, "rocs", flavor)
        if any(SETCACHE.match(t) for t in self.cases):
            guests.module(guest.root, "setcache", flavor)
        if any(PROBE.match(t) for t in self.cases):
            guests.module(guest.root, "probe", flavor)
        for path in (p for t in self.cases for p in MODULES.get(t, ())):
            guest.root.file(BUILD / flavor / path, f"lib/modules/{Path(path).name}")
        given = {k: v for k, v in os.environ.items()
                 if k.startswith(("MCUBE_FUZZ_", "MCUBE_SETCACHE_"))}
        result = guest.run(self.script(), name, timeout=self.limit,
                           env={"MCUBE_PATIENCE": PATIENCE, **self.environment(), **self.env,
                                **(env or {}), **given})
        for drive in drives:
            drive.unlink()
        out = ktap.parse(result.output, name)
        known = {n for n, _ in out}
        out += [(c, "not ok") for cases in self.cases.values() for c in cases if c not in known]
        out = [(f"{n} ({label})", s) for n, s in out]
        for test in self.cases:
            if not re.search(rf"^(not )?ok \d+ selftests: mcube: {test}\b", result.output, re.M):
                out.append((f"{name}: {test} gave no result", "not ok"))
        if any(s == "not ok" for _, s in out):
            # The next run of the guest replaces its files.
            for line in why(result.output):
                ui.reason(f"{name}: {line}")
        return out + [guests.verdict(name, result)]


def jobs(folder, names):
    """The guests for these tests."""
    cases = {n: cases_of(folder / "mcube" / n) for n in names}
    out = []
    for test in [*(n for n in OWN if n in names), *(n for n in names if n not in OWN)]:
        rest, patterns = cases[test], OWN.get(test, ())
        for pattern in rest if patterns == EACH else patterns:
            own = fnmatch.filter(rest, pattern)
            if not own:
                raise Failure(f"{test} has no case like {pattern}")
            name = pattern.removeprefix(f"{test}.").strip("*.").replace(".", "-")
            out.append(Job(folder, f"{test}-{name}", {test: own}, True))
            rest = [c for c in rest if c not in own]
        if rest and test not in SHARED:
            out.append(Job(folder, test, {test: rest}, bool(patterns),
                           FUZZ_ENV if test == FUZZER else None))
    # alloc_boot first: it reads the settings as the boot left them.
    shared = {t: cases[t] for t in SHARED if t in names}
    return out + ([Job(folder, "input", shared)] if shared else [])


def four_nodes(folder, names):
    """The guest with four nodes."""
    cases = {n: fnmatch.filter(cases_of(folder / "mcube" / n), FOUR[n]) for n in names if n in FOUR}
    if len(cases) < len(FOUR) or not all(cases.values()):
        raise Failure(f"cases for four nodes are missing: {cases}")
    return Job(folder, "setcache-nodes", cases, True, FOUR_ENV)


def on_nodes(job, nodes, debug=False):
    """Run a job on a machine with so many nodes."""
    name = f"{nodes}node-{job.name}"
    mem = next((m for p, m in MEMORY.items() if fnmatch.fnmatch(name, p)), "512M")
    if debug:
        # Shadow memory takes an eighth, red zones and quarantine take more.
        mem = f"{2 * kibibytes(mem) // 1024}M"
        return job.run(f"kselftest-debug-{name}", f"debug kernel, {nodes} node{'s' * (nodes > 1)}",
                       {"MCUBE_TOGGLES": 50}, flavor="debug", smp=4, mem=mem, nodes=nodes,
                       multi=True)
    return job.run(f"kselftest-{name}", f"{nodes} node{'s' * (nodes > 1)}", smp=4,
                   mem=mem, nodes=nodes, below_4g=BELOW_4G.get(name))


def plain_names(names):
    """The tests that need no modelled machine."""
    return [n for n in names if n not in MODELLED]


def machines(folder, names, nodes=(1, 2)):
    """[(guest, nodes)] of all tests that need no modelled machine."""
    return [(job, n) for job in jobs(folder, plain_names(names)) for n in nodes
            if n > 1 or job.name not in NODES]


def plain(nodes=(1, 2), chosen=(), debug=False):
    """All tests of a plain machine or those chosen."""
    folder, names = install()
    for name in chosen:
        if name not in names or name in MODELLED:
            raise Failure(f"there is no kselftest '{name}' for a plain machine",
                          f"choose from: {' '.join(plain_names(names))}")
    runs = [(j, n) for j in jobs(folder, chosen) for n in nodes] if chosen else \
        machines(folder, names, nodes)
    if not chosen and 4 not in nodes:
        runs.append((four_nodes(folder, names), 4))
    return guests.together(*(lambda j=j, n=n: on_nodes(j, n, debug) for j, n in runs))


def with_command():
    """The stage of make test: all guests of a plain machine, and the mcube command."""
    folder, names = install()
    order = list(ONCE)
    runs = []
    for job, nodes in machines(folder, names):
        test = next(iter(job.cases))
        if test in ONCE:
            job.env = ONCE_ENV
        if ONCE.get(test, nodes) == nodes:
            runs.append((order.index(test) if test in ONCE else len(order), job, nodes))
    runs.sort(key=lambda run: run[0])
    return guests.together(guests.command, *(lambda j=j, n=n: on_nodes(j, n) for _, j, n in runs),
                           lambda: on_nodes(four_nodes(folder, names), 4))


def modelled():
    """The tests of the PMU and of boot parameters, on a modelled machine."""
    folder, names = install()
    cases = {n: cases_of(folder / "mcube" / n) for n in names
             if n in MODELLED or n in ("alloc_boot", "rocs_input")}
    counted = {COUNTED: cases.pop(COUNTED)}
    machine = {"smp": 2, "mem": "1G", "model": "small"}
    return Job(folder, "model", cases).run("kselftest-model", "modelled machine", **machine) \
        + Job(folder, "model-counted", counted).run(
            "kselftest-model-counted", "modelled machine, counted time", icount=True, **machine)


def debugged():
    """The tests of bad input, on the debug kernel."""
    folder, names = install()
    cases = {n: cases_of(folder / "mcube" / n) for n in names if n in DEBUGGED}
    return Job(folder, "debug", cases).run("kselftest-debug", "debug kernel", flavor="debug",
                                           smp=2, mem="1G", multi=True)


def fuzzed(minutes, nodes=2, env=None):
    """Random sequences of writes on the debug kernel, where UBSan and KASAN watch."""
    folder, _ = install()
    job = Job(folder, FUZZER, {FUZZER: cases_of(folder / "mcube" / FUZZER)}, env=env)
    # The last sequence and the final account take longest on a busy host.
    job.limit += int(minutes * 60)
    return job.run(f"kselftest-debug-{nodes}node-fuzz",
                   f"debug kernel, {nodes} node{'s' * (nodes > 1)}",
                   {"MCUBE_FUZZ_SECONDS": int(minutes * 60)}, flavor="debug", smp=4, mem="1G",
                   nodes=nodes, multi=True)


def tortured(minutes, nodes=2):
    """Page sets and ROCS under load on the debug kernel: rounds that begin in the time."""
    folder, _ = install()
    tests = [Job(folder, t, {t: [c for c in cases_of(folder / "mcube" / t)
                                 if not fnmatch.fnmatch(c, CONTROLS)]}, True)
             for t in TORTURES if nodes > 1 or t not in NODES]
    end, out, seed = time.monotonic() + minutes * 60, [], 0
    while not seed or time.monotonic() < end:
        seed += 1
        for job in tests:
            job.limit = 3600
            job.env = {name: int(max(minutes, 1) * n) for name, n in TORTURE_ENV.items()} \
                | {"MCUBE_SETCACHE_SEED": seed}
            out += [(f"{n}, round {seed}", s) for n, s in on_nodes(job, nodes, debug=True)]
    return out


def run():
    """Command line."""
    parser = ui.parser(__doc__)
    parser.add_argument("test", nargs="*", help="default: all")
    parser.add_argument("--nodes", type=int, help="NUMA nodes (default: 1, and then 2)")
    parser.add_argument("--debug", action="store_true",
                        help="on the debug kernel, with twice the memory")
    parser.add_argument("--fuzz", type=float, metavar="MINUTES",
                        help="random sequences of writes on the debug kernel")
    parser.add_argument("--torture", type=float, metavar="MINUTES",
                        help="page sets and ROCS under load on the debug kernel")
    args = parser.parse_args()
    nodes = [args.nodes] if args.nodes else (1, 2)
    for minutes, function in ((args.fuzz, fuzzed), (args.torture, tortured)):
        if minutes:
            return guests.report(guests.together(*(lambda n=n: function(minutes, n)
                                                   for n in nodes)))
    return guests.report(plain(nodes, args.test, debug=args.debug))


if __name__ == "__main__":
    ui.main(run)
