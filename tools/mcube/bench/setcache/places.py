# SPDX-License-Identifier: GPL-2.0
"""bench-setcache: where the files lie in a guest.

Requests to these devices are complete when they have been submitted, so figures hold the
work of the kernel alone: no time of a device, no interrupt, no task that sleeps. A RAM
disk (brd) keeps data and copies them; null_blk keeps none, and has the queues of the block
layer that a drive has.
"""

import guests  # after lab, which makes it importable
from lab import Failure
from lib.ui import BUILD

DISK_MIB = 512
BRD = f"insmod /lib/modules/brd.ko rd_nr=1 rd_size={DISK_MIB << 10} max_part=1\n"
NULL_BLK = ("insmod /lib/modules/configfs.ko\n"
            "insmod /lib/modules/null_blk.ko nr_devices=1 gb=1 bs=4096 queue_mode=2 irqmode=0 "
            "submit_queues={cpus}\n")
MOUNT = "mkdir /mnt\nmount -t {kind} -o noatime /dev/ram0 /mnt\n"
# Name of a place: (commands, file, programs).
PLACES = {
    "ext4": (f"{BRD}mke2fs -q -t ext4 -F -E nodiscard,lazy_itable_init=0 /dev/ram0\n"
             + MOUNT.format(kind="ext4"), "/mnt/file", ("mke2fs",)),
    "xfs": (f"{BRD}mkfs.xfs -q -f -K /dev/ram0\n" + MOUNT.format(kind="xfs"), "/mnt/file",
            ("mkfs.xfs",)),
    "brd": (BRD, "/dev/ram0", ()),
    "null_blk": (NULL_BLK, "/dev/nullb0", ()),
}
# Places whose device copies a page.
COPIES = ("ext4", "xfs", "brd")


def setup(place, cpus=1):
    """Commands that make a place."""
    return PLACES[place][0].replace("{cpus}", str(cpus)) + (
        "insmod /lib/modules/mcube_setcache.ko\n"
        "echo +memory > /sys/fs/cgroup/cgroup.subtree_control\n")


def fill(vm, place, flavor="test"):
    """Put what a place needs into a guest."""
    for name in ("drivers/block/brd", "drivers/block/null_blk/null_blk", "fs/configfs/configfs"):
        path = BUILD / flavor / f"{name}.ko"
        if not path.is_file():
            raise Failure(f"{path} is missing", "run 'make build'")
        vm.root.file(path, f"/lib/modules/{path.name}")
    guests.module(vm.root, "setcache", flavor)
    for program in PLACES[place][2]:
        vm.root.program(program)
