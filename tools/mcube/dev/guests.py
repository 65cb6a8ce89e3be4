#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The tests that need a booted kernel: KUnit, the command, stress.

Each function boots the kernel of build/test or build/debug and returns a list of
(name, "ok" | "not ok" | "skip"). A splat on the console fails the run even if
every test says ok. As a command:

    guests.py boot | kunit | command | stress [--minutes M]

guests_kselftest.py, guests_power.py and guests_model.py run the other tests.
"""

import concurrent.futures
import os
import re
import shutil

from lib import ktap, ui
from lib.ui import BUILD, ROOT, Failure, say
from qemu import Guest, image

STRESS = ROOT / "tools/testing/mcube/stress.sh"
BOOT_LIMIT = 10.0
BOOTS = 3


def verdict(name, result):
    """The run as a case: no splat, no time-out, no crash."""
    if result.ok:
        say(f"{name}: {result.seconds:.0f} s")
        return (f"{name}: console clean", "ok")
    ui.reason(f"{name}: {result.why()}")
    for line in result.splats[:5]:
        ui.reason(f"  {line}")
    say(f"  console: {result.console}")
    return (f"{name}: {result.why()}", "not ok")


def comments(output):
    """The comments that follow failed results, twelve for a result at most."""
    found = re.findall(r"^(not ok .*\n(?:# .*\n){0,12})", output, re.M)
    return [line for block in found[:5] for line in block.splitlines()]


def outcome(name, result, lead=""):
    """The results that the script of a guest printed, named LEAD NAME, and the run as a case."""
    # The next run of the guest replaces its files.
    for line in comments(result.output):
        ui.reason(f"{name}: {line}")
    return [(lead + n, s) for n, s in ktap.parse(result.output, name)] + [verdict(name, result)]


def module(root, room, flavor="test"):
    """Put the module of a room into a guest, where its tests look for it."""
    root.file(BUILD / flavor / f"drivers/mcube/{room}/mcube_{room}.ko",
              f"lib/modules/mcube_{room}.ko")


def program(name):
    """Build a program of tools/mcube/guest/; returns its path.

    Guests begin side by side.  Without the lock a guest could take a program that is being
    linked for another guest.
    """
    out = BUILD / "guest-tools"
    with ui.lock("guest-tools"):
        ui.sh("make", "-s", "-C", ROOT / "tools/mcube/guest", f"O={out}", out / name)
    return out / name


def boot():
    """Boot to a shell in under ten seconds, the fastest of some boots on a busy host."""
    for _ in range(BOOTS):
        result = Guest(image()).run("true", "boot", timeout=120)
        took = result.boot_seconds or 1e9
        say(f"boot to a shell: {took:.1f} s (limit {BOOT_LIMIT:.0f} s)")
        if took < BOOT_LIMIT:
            break
    name = f"boot to a shell in under {BOOT_LIMIT:.0f} s"
    return [(name, "ok" if took < BOOT_LIMIT else "not ok"), verdict("boot", result)]


def kunit():
    """KUnit suites, built in and of the modules, parsed from the log of the kernel."""
    guest = Guest(image(), kunit=True, append="kunit.filter_glob=mcube*")
    rooms = ("rocs", "setcache", "probe")
    for room in rooms:
        module(guest.root, room)
    result = guest.run("".join(f"insmod /lib/modules/mcube_{room}.ko\n" for room in rooms),
                       "kunit", timeout=600)
    log = result.console.read_text("utf-8")
    at = log.find("KTAP version")
    results = ktap.parse(log[max(at, 0):] if at >= 0 else "", "KUnit")
    return results + [verdict("kunit", result)]


def together(*jobs):
    """Results of functions that boot guests, three at a time.

    A guest whose CPUs share a thread keeps one core busy for three quarters of the time
    and sleeps for the rest.
    """
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        return [r for out in pool.map(lambda job: job(), jobs) for r in out]


def install_command(root):
    """Put python and the mcube command, installed by `make install`, into a guest."""
    with ui.lock("installed"):
        installed = BUILD / "installed"
        shutil.rmtree(installed, ignore_errors=True)
        ui.sh("make", "-s", "-C", ROOT / "tools/mcube", "install", f"DESTDIR={installed}",
              "PREFIX=/usr")
        root.python()
        root.tree(installed / "usr", "usr")


def command(name="command", **machine):
    """The mcube command in a guest, with two nodes unless the caller says otherwise."""
    guest = Guest(image(), programs=["perf", "setpriv", "numactl"],
                  **(machine or {"smp": 4, "mem": "2G", "nodes": 2,
                                 "drives": [disk(name, mebi=128)]}))
    install_command(guest.root)
    for room in ("rocs", "setcache", "probe"):
        module(guest.root, room)
    result = guest.run(ROOT / "tools/mcube/tests/guest.sh", name, timeout=900)
    return outcome(name, result)


MAKE_FS = {"ext4": ("/sbin/mke2fs", "-q", "-t", "ext4", "-F"),
           "xfs": ("/sbin/mkfs.xfs", "-q", "-f")}


def disk(name, kind="ext4", mebi=512):
    """An image with an empty file system for a guest."""
    path = BUILD / f"guest/{name}.{kind}"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    with open(path, "wb") as f:
        f.truncate(mebi << 20)
    ui.sh(*MAKE_FS[kind], path)
    return path


def stress(minutes, nodes, mem, flavor="debug", smp=4):
    """Run the stress script on a kernel with checkers; a splat or a leak fails it."""
    if not STRESS.is_file():
        raise Failure(f"{STRESS} is missing")
    name = f"stress-{nodes}node-{mem}" + (f"-{flavor}" if flavor != "debug" else "")
    guest = Guest(image(flavor), smp=smp, mem=mem, nodes=nodes, multi=True,
                  programs=["stress-ng", "timeout", "numactl"], drives=[disk(name)],
                  allow=os.environ.get("STRESS_ALLOW"))
    guest.root.file(STRESS.with_name("stress_accounts.sh"), "mcube/stress_accounts.sh")
    for room in ("rocs", "setcache"):
        module(guest.root, room, flavor)
    result = guest.run(STRESS, name, timeout=minutes * 60 + 420,
                       env={"MINUTES": f"{minutes:g}", "NODES": nodes, "MEM": mem, "LIB": "/mcube",
                            # six sets of stressors in a short run
                            "SLICE": max(1, min(8, int(minutes * 10)))})
    tail = "\n      ".join(result.output.strip().splitlines()[-12:])
    say(f"{name}:\n      {tail}")
    if re.search(r"^\s*(?:not )?ok \d+", result.output, re.M):
        results = [(f"{n} ({name})", s) for n, s in ktap.parse(result.output, name)]
    else:
        results = []
    return results + [verdict(name, result)]


def stress_short(minutes, *others):
    """The smallest and the largest guest of the matrix, and other functions beside them.

    Two CPUs each: more would wait for each other on a host with two cores.
    """
    return together(*others, lambda: stress(minutes, 2, "4G", smp=2),
                    lambda: stress(minutes, 1, "512M", smp=2))


def stress_all(minutes):
    """The full matrix of make stress, and a run of the kernel that finds data races."""
    matrix = [(nodes, mem) for nodes in (1, 2) for mem in ("512M", "4G")]
    say(f"stress: {len(matrix) + 1} guests, three at a time, {minutes:g} minutes each")
    return together(*(lambda n=n, m=m: stress(minutes, n, m) for n, m in matrix),
                    lambda: stress(minutes, 2, "4G", "races"))


def report(results):
    """Print results; 1 if any failed."""
    for name, state in results:
        print(f"    {state:6} {name}")
    count = {s: sum(x == s for _, x in results) for s in ("ok", "not ok", "skip")}
    print(f"{count['ok']} passed, {count['not ok']} failed, {count['skip']} skipped")
    return 1 if count["not ok"] else 0


def run():
    """Command line."""
    parser = ui.parser(__doc__)
    parser.add_argument("what", choices=["boot", "kunit", "command", "stress"])
    parser.add_argument("--nodes", type=int, help="NUMA nodes (default: each in turn)")
    parser.add_argument("--mem", help="stress: one size only")
    parser.add_argument("--minutes", type=float, default=10, help="stress: per guest")
    args = parser.parse_args()
    if args.what == "boot":
        return report(boot())
    if args.what == "kunit":
        return report(kunit())
    if args.what == "command":
        return report(command())
    if args.nodes or args.mem:
        return report(stress(args.minutes, args.nodes or 1, args.mem or "4G"))
    return report(stress_all(args.minutes))


if __name__ == "__main__":
    ui.main(run)
