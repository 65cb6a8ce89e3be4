#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Power cuts: what is on the disk after a guest was killed, with page sets and without.

A guest writes to ext4 and xfs by operations that a seed gives, see setcache_power.c, and
says which of them fsync() has put on the disk. Soon after an operation that the seed gives
too, QEMU is killed: the guest's page cache is lost, and requests in flight are cut off. The
disk keeps each request that it has completed, so a missing flush is not found.

A second guest mounts the disks and looks for each operation that fsync() has put there. Then
the host checks the file systems. Each seed runs with mode=off and with mode=all; pages that
no later operation wrote have to be equal in both. As a command:

    guests_power.py [--minutes M] [--seed S]
"""

import re
import subprocess
import time

import guests
import guests_kselftest
from lib import ui
from lib.ui import say
from qemu import Guest, image

PROGRAM = "setcache_power"
MODES = ("off", "all")
SYSTEMS = {"ext4": ("/dev/vda", ("e2fsck", "-f", "-n")), "xfs": ("/dev/vdb", ("xfs_repair", "-n"))}
MOUNT = "".join(f"mkdir /{fs}; mount -t {fs} {dev} /{fs} || exit 9\n"
                for fs, (dev, _) in SYSTEMS.items()) + """
insmod /lib/modules/mcube_setcache.ko || exit 9
echo 1 > /sys/kernel/mm/mcube/setcache/size_mib
echo $MODE > /sys/kernel/mm/mcube/setcache/mode || exit 9
"""
# The writer on ext4 has the power cut.
WRITE = MOUNT + """
/setcache_power write /xfs $SEED 0 &
/setcache_power write /ext4 $SEED $CUT
exit 9
"""
CHECK = MOUNT + """
bad=0
check() {
    /setcache_power check /$1 $SEED $2 || bad=1
    /setcache_power list /$1 $SEED $3 $4 > /results/$1 || bad=1
}
check ext4 $EXT4
check xfs $XFS
umount /ext4 && umount /xfs || bad=8
exit $bad
"""
# As in setcache_power.c: operations that may follow the last one that was reported.
AHEAD = 64


class Machine:
    """The disks of a mode, and the guests that use them."""

    def __init__(self, folder, seed, mode):
        self.folder, self.seed, self.mode = folder, seed, mode
        self.name = f"power-{mode}"
        self.disks = {fs: guests.disk(self.name, fs) for fs in SYSTEMS}
        self.synced, self.pages = {}, {}

    def guest(self):
        """A guest with the program and the module."""
        guest = Guest(image(), smp=2, mem="512M", drives=list(self.disks.values()))
        guest.root.file(self.folder / "mcube" / PROGRAM, PROGRAM)
        guests.module(guest.root, "setcache")
        return guest

    def write(self, cut):
        """Write until the power is cut; [(case, state)]."""
        guest = self.guest()
        result = guest.run(WRITE, f"{self.name}-write", timeout=300,
                           env={"MODE": self.mode, "SEED": self.seed, "CUT": cut})
        for fs in SYSTEMS:
            found = re.findall(rf"^synced /{fs} (\d+)$", result.output, re.M)
            self.synced[fs] = int(found[-1]) if found else 0
        ok = guest.cut and result.status is None and not result.splats and \
            all(self.synced.values())
        if not ok:
            ui.reason(f"{self.name}: {result.why()}; console: {result.console}")
        return [(f"writes until the power is cut (mode {self.mode}, seed {self.seed})",
                 "ok" if ok else "not ok")]

    def check(self, bounds):
        """Look for what was written; bounds: {file system: (first, last)}."""
        result = self.guest().run(
            CHECK, f"{self.name}-check", timeout=300,
            env={"MODE": self.mode, "SEED": self.seed,
                 **{fs.upper(): f"{self.synced[fs]} {bounds[fs][0]} {bounds[fs][1]}"
                    for fs in SYSTEMS}})
        for line in re.findall(r"^# .*", result.output, re.M):
            say(f"{self.name}: {line[2:]}")
        out = [(f"what was synced is there (mode {self.mode}, seed {self.seed})",
                "ok" if result.ok else "not ok")]
        if not result.ok:
            ui.reason(f"{self.name}: {result.why()}; console: {result.console}")
        for fs, (_, command) in SYSTEMS.items():
            path = result.results / fs
            self.pages[fs] = path.read_text("utf-8").splitlines() if path.is_file() else []
            got = subprocess.run([f"/sbin/{command[0]}", *command[1:], self.disks[fs]],
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                 check=False)
            if got.returncode:
                ui.reason(f"{self.name}: {fs}: {got.stdout.strip()[-500:]}")
            out.append((f"{command[0]} finds nothing (mode {self.mode}, seed {self.seed})",
                        "not ok" if got.returncode else "ok"))
        return out


def cut_once(folder, seed):
    """A power cut with each mode."""
    machines = [Machine(folder, seed, mode) for mode in MODES]
    cut = 200 + seed * 7919 % 400
    out = guests.together(*(lambda m=m: m.write(cut) for m in machines))
    bounds = {fs: (min(m.synced[fs] for m in machines),
                   max(m.synced[fs] for m in machines) + AHEAD) for fs in SYSTEMS}
    out += guests.together(*(lambda m=m: m.check(bounds) for m in machines))
    for fs in SYSTEMS:
        lists = [m.pages[fs] for m in machines]
        say(f"{fs}: {len(lists[0])} pages compared, synced up to "
            f"{', '.join(str(m.synced[fs]) for m in machines)}")
        out.append((f"{fs} is the same with mode off and all (seed {seed})",
                    "ok" if lists[0] and lists[0] == lists[1] else "not ok"))
    for m in machines:
        for disk in m.disks.values():
            disk.unlink()
    return out


def power(minutes=0, seed=1):
    """A power cut with each mode, and more until so many minutes are over."""
    folder, _ = guests_kselftest.install()
    end, out = time.monotonic() + minutes * 60, []
    while not out or time.monotonic() < end:
        out += cut_once(folder, seed)
        seed += 1
    return out


def run():
    """Command line."""
    parser = ui.parser(__doc__)
    parser.add_argument("--minutes", type=float, default=0,
                        help="repeat for so long (default: once)")
    parser.add_argument("--seed", type=int, default=1, help="seed of the first power cut")
    args = parser.parse_args()
    return guests.report(power(args.minutes, args.seed))


if __name__ == "__main__":
    ui.main(run)
