#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The upstream mm kselftests on three kernels, side by side.

A fixed list of tests runs on three kernels: the unpatched kernel, the patched kernel with
the mcube allocator off, and the patched kernel with the allocator on. The guests are equal
and have two nodes. The result of a test is its exit status and the number of its cases that
passed, failed and were skipped. The allocator is right if a row has the same result three
times. Some of the tests depend on time: a row that differs is run again, and counts as
"varies" if all three kernels have given a common result. The guests run side by side, so
that a slow host slows all three down. The script prints a table and writes
build/results/mm-selftests.json.
"""

import concurrent.futures
import json
import re
import subprocess

import kbuild
from lib import ktap, ui
from lib.source import TREE
from lib.ui import BUILD, Failure, Steps, say
from mcube_cmd.term import print_table
from qemu import Guest, image

# Name: command in the directory of the mm selftests. The list leaves out khugepaged,
# which does not compile in 6.12.117, and tests that need modules, 32-bit programs or
# more memory than the guest has.
TESTS = {
    "compaction": "compaction_test", "cow": "cow", "droppable": "droppable",
    "gup basic": "gup_test -u", "gup fast": "gup_test -a",
    "gup dump": "gup_test -ct -F 0x1 0 19 0x1000", "gup longterm": "gup_longterm",
    "hugepage mmap": "hugepage-mmap", "hugepage shm": "hugepage-shm",
    "hugepage mremap": "hugepage-mremap", "hugepage vmemmap": "hugepage-vmemmap",
    "hugetlb madvise": "hugetlb-madvise", "hugetlb dio": "hugetlb_dio",
    "hugetlb fault after madv": "hugetlb_fault_after_madv",
    "hugetlb soft offline": "hugetlb-soft-offline",
    "ksm merge time": "ksm_tests -H -s 20", "ksm pages": "ksm_tests -M -p 10",
    "ksm unmerge": "ksm_tests -U", "ksm zero": "ksm_tests -Z -p 10 -z 1",
    "ksm numa on": "ksm_tests -N -m 1", "ksm numa off": "ksm_tests -N -m 0",
    "ksm functional": "ksm_functional_tests",
    "madv populate": "madv_populate", "map fixed noreplace": "map_fixed_noreplace",
    "map hugetlb": "map_hugetlb", "map populate": "map_populate",
    "mdwe": "mdwe_test", "memfd secret": "memfd_secret", "migration": "migration",
    "mkdirty": "mkdirty", "mlock random": "mlock-random-test", "mlock2": "mlock2-tests",
    "mrelease": "mrelease_test", "mremap": "mremap_test", "mremap dontunmap":
    "mremap_dontunmap", "mseal": "mseal_test", "on fault limit": "on-fault-limit",
    "pagemap ioctl": "pagemap_ioctl", "soft dirty": "soft-dirty",
    "split huge page": "split_huge_page_test", "thuge-gen": "thuge-gen",
    "transhuge stress": "transhuge-stress -d 5", "uffd unit": "uffd-unit-tests",
    "uffd stress anon": "uffd-stress anon 20 4", "uffd stress shmem":
    "uffd-stress shmem 20 4",
}
MAP = "/sys/kernel/mm/mcube"
SETUP_ON = f"""
echo '0x1000 0x2000 0x4000 0x8000 0x10000' > {MAP}/map/color_map
echo '0x24000 0x48000 0x90000 0x2000' > {MAP}/map/bank_map
echo 1 > {MAP}/alloc/enabled
[ "$(cat {MAP}/alloc/enabled)" = 1 ] || {{ echo "the mcube allocator is not on"; exit 9; }}
"""
VARIANTS = {"unpatched": ("base", ""), "store off": ("test", ""),
            "store on": ("test", SETUP_ON)}


def build():
    """Build the tests once, by the kernel's own Makefile of the selftests."""
    log = BUILD / "mm-selftests.log"
    log.unlink(missing_ok=True)
    out = BUILD / "test"
    kbuild.kmake(TREE, out, "headers", log=log)
    with open(log, "a", encoding="utf-8") as f:
        # -k: make builds the other tests if an upstream test does not compile.
        subprocess.run(["make", "-C", str(TREE / "tools/testing/selftests"),
                        f"O={out}", "TARGETS=mm", "-k", f"-j{ui.JOBS}"], stdout=f,
                       stderr=f, check=False, env=kbuild.environment())
    # The Makefile of the tests leaves these files beside the sources in spite of O=.
    for name in ("local_config.h", "local_config.mk"):
        (TREE / "tools/testing/selftests/mm" / name).unlink(missing_ok=True)
    folder = out / "kselftest/mm"
    have = {p.name for p in folder.iterdir()} if folder.is_dir() else set()
    lacking = sorted({c.split()[0] for c in TESTS.values()} - have)
    if lacking:
        raise Failure(f"mm selftests not built: {' '.join(lacking)}",
                      f"the log is {log}")
    return folder


def script(tests, setup, limit):
    """Script of the guest: runs each test with a time limit and keeps its output."""
    lines = [setup, "cd /mm; mount -o remount,size=50% /tmp",
             "echo 128 > /proc/sys/vm/nr_hugepages",
             "echo 1 > /proc/sys/vm/overcommit_memory",
             "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled",
             "ulimit -l unlimited; ulimit -n 4096"]
    for i, command in enumerate(tests.values()):
        lines.append(f"timeout -k 5 {limit} ./{command} >/results/{i}.log 2>&1 </dev/null")
        lines.append(f"echo \"{i} $?\" >> /results/status; echo 'done {i} {command}'")
        lines.append("echo 128 > /proc/sys/vm/nr_hugepages")
    if setup:
        lines.append(f"grep -H . {MAP}/alloc/stats/* > /results/stats")
        lines.append(f"echo 0 > {MAP}/alloc/enabled")
    return "\n".join(lines) + "\n"


def outcome(status, text):
    """A word for the exit status, and the counts of cases."""
    word = {0: "pass", 4: "skip", 124: "timeout", 137: "timeout"}.get(status, "fail")
    cases = ktap.parse(text) if re.search(r"^\s*(not )?ok \d", text, re.M) else []
    count = [sum(s == k for _, s in cases) for k in ("ok", "not ok", "skip")]
    return word + (f" {count[0]}/{count[1]}/{count[2]}" if cases else "")


def variant(name, folder, args, tests):
    """Run a guest; ({test: outcome}, state of the console)."""
    flavor, setup = VARIANTS[name]
    guest = Guest(image(flavor), smp=4, mem="3G", nodes=2, programs=["timeout"],
                  allow=r"Memory failure|soft offline|hwpoison|MCE: Killing uffd-unit")
    for program in sorted({c.split()[0] for c in tests.values()}):
        guest.root.program(str(folder / program), f"mm/{program}")
    slug = "mm-selftests-" + name.replace(" ", "-")
    result = guest.run(script(tests, setup, args.limit), slug,
                       timeout=60 + args.limit * len(tests))
    file = result.results / "status"
    rows = dict(line.split() for line in
                (file.read_text("utf-8").splitlines() if file.is_file() else []))
    out = {}
    for i, test in enumerate(tests):
        log = result.results / f"{i}.log"
        text = log.read_text("utf-8", "replace") if log.is_file() else ""
        out[test] = outcome(int(rows[str(i)]), text) if str(i) in rows else "no result"
    if not result.ok:
        say(f"{name}: {result.why()}; console: {result.console}")
    return out, "clean" if result.ok else result.why()


def variants(folder, args, tests):
    """Run all guests at once; [(kernel, ({test: outcome}, state of the console))]."""
    with concurrent.futures.ThreadPoolExecutor(len(VARIANTS)) as pool:
        return list(zip(VARIANTS, pool.map(
            lambda name: variant(name, folder, args, tests), VARIANTS)))


def common(got, test):
    """Results that every kernel has given."""
    return set.intersection(*(set(got[v][test]) for v in VARIANTS))


def run():
    """Command line."""
    parser = ui.parser(__doc__)
    parser.add_argument("--limit", type=int, default=120, help="seconds for each test")
    parser.add_argument("--again", type=int, default=3,
                        help="how often a row that differs is run again")
    parser.add_argument("--only", help="expression on test names")
    args = parser.parse_args()
    tests = {k: v for k, v in TESTS.items() if not args.only or re.search(args.only, k)}
    steps = Steps("mm-selftests", ["build the tests", "three guests", "again", "compare"])
    steps("build the tests")
    folder = build()
    got, consoles = {}, {}
    steps("three guests")
    for name, (first, consoles[name]) in variants(folder, args, tests):
        got[name] = {test: [result] for test, result in first.items()}
    steps("again")
    for _ in range(args.again):
        again = {t: c for t, c in tests.items() if not common(got, t)}
        for name, (more, console) in variants(folder, args, again) if again else ():
            consoles[name] = console if consoles[name] == "clean" else consoles[name]
            for test, result in more.items():
                got[name][test].append(result)
    steps("compare")
    print("pass/fail/skip word, then cases ok/not ok/skipped where the test has them\n")
    rows, differ = [], 0
    for test, command in tests.items():
        cells = {v: ", ".join(dict.fromkeys(got[v][test])) for v in VARIANTS}
        same = "yes" if len(set(cells.values())) == 1 else \
            "varies" if common(got, test) else "NO"
        differ += same == "NO"
        rows.append({"test": test, "command": command, "same": same} | cells)
    print_table(["test", *VARIANTS, "same"],
                [[r["test"], *(r[v] for v in VARIANTS), r["same"]] for r in rows]
                + [["console", *(consoles[v][:23] for v in VARIANTS), ""]], len(VARIANTS) + 2)
    summary = {"tests": len(rows), "differ": differ,
               "splats": sum(c != "clean" for c in consoles.values())}
    ui.write_if_changed(BUILD / "results/mm-selftests.json", json.dumps(
        {"parameters": {"smp": 4, "mem": "3G", "nodes": 2, "limit_s": args.limit},
         "rows": rows, "summary": summary}, indent=1).encode())
    steps.done(f"{len(rows)} tests, {differ} with a different result")
    return 1 if differ or summary["splats"] else 0


if __name__ == "__main__":
    ui.main(run)
