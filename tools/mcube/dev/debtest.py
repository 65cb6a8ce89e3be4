#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Install the packages of build/deb in a Debian of their release, and boot that in QEMU.

The machine is made by debootstrap: systemd, GRUB, the stock kernel. It boots again and
again by its own GRUB, and at each boot lib/debtest.sh runs one stage in it: install the
packages; the stock kernel is still the default; the service sets the policy at boot,
modules are built against the headers, BTF, the selftests; remove the packages. Needs root,
and no KVM: the machine is emulated, so this takes an hour or so and is no part of make test.
"""

import os
import re
import select
import shutil
import subprocess
import time
from pathlib import Path

from lib import debian, ui
from lib.patience import Clock, Patience
from lib.ui import BUILD, Failure, Steps, say

HERE = BUILD / "debtest"
STOCK = {"bookworm": "linux-image-cloud-amd64", "trixie": "linux-image-amd64"}
INCLUDE = """ca-certificates systemd-sysv udev dbus kmod grub-pc-bin grub2-common initramfs-tools
python3 gcc make libelf-dev bpftool procps"""
# The first grub.cfg; update-grub makes the next one.
GRUB_CFG = """linux {kernel} root=/dev/vda console=ttyS0 {append}
initrd {initrd}
boot
"""
# The kernel checks timers at boot, which an emulated CPU on a busy host may fail.
APPEND = "no_timer_check tsc=unstable panic=-1 systemd.show_status=0 net.ifnames=0"
DEFAULTS = f"""GRUB_DEFAULT=0
GRUB_TIMEOUT=0
GRUB_DISTRIBUTOR=Debian
GRUB_CMDLINE_LINUX="console=ttyS0 {APPEND}"
GRUB_TERMINAL=serial
GRUB_SERIAL_COMMAND=serial
"""
UNIT = """[Unit]
After=multi-user.target mcube.service
[Service]
Type=oneshot
ExecStart=/debtest.sh
StandardOutput=tty
StandardError=tty
TTYPath=/dev/ttyS0
TimeoutStartSec=infinity
[Install]
WantedBy=graphical.target
"""
GRUB_MODULES = ["biosdisk", "ext2", "normal", "configfile", "linux", "search", "serial",
                "terminal", "test", "echo", "loadenv", "gzio", "part_msdos", "reboot"]
LIMIT = 1200


def make_root(release):
    """A root folder of the release, packed; made once."""
    tar = HERE / f"{release}.tar"
    if tar.is_file():
        return tar
    root, main = HERE / "root", debian.mirrors()[0]
    shutil.rmtree(root, ignore_errors=True)
    packages = ",".join([*INCLUDE.split(), STOCK[release]])
    ui.sh("debootstrap", "--variant=minbase", f"--include={packages}", release, root, main)
    for path, text in {"etc/hostname": "debtest\n", "etc/fstab": "/dev/vda / ext4 defaults 0 1\n",
                       "etc/default/grub": DEFAULTS,
                       "etc/systemd/system/debtest.service": UNIT}.items():
        ui.write_if_changed(root / path, text.encode())
    inside = ["chroot", root, "/bin/sh", "-ec"]
    ui.sh(*inside, "systemctl enable debtest.service; systemctl set-default graphical.target; "
          "systemctl mask apt-daily.timer apt-daily-upgrade.timer fstrim.timer e2scrub_all.timer; "
          "systemctl mask dpkg-db-backup.timer man-db.timer getty@tty1.service; passwd -d root; "
          "mkdir -p /boot/grub; cp -r /usr/lib/grub/i386-pc /boot/grub; "
          "grub-editenv /boot/grub/grubenv create; "
          "grub-mkimage -O i386-pc -p '(hd0)/boot/grub' -o /core.img " + " ".join(GRUB_MODULES)
          + "; cat /usr/lib/grub/i386-pc/lnxboot.img /core.img >/grub.lnx; rm /core.img")
    # An initramfs of what this machine has is made faster, again and again.
    ui.sh("sed", "-i", "s/^COMPRESS=.*/COMPRESS=gzip/", root / "etc/initramfs-tools/initramfs.conf")
    kernel = next((root / "boot").glob("vmlinuz-*"))
    initrd = next((root / "boot").glob("initrd.img-*"))
    ui.write_if_changed(root / "boot/grub/grub.cfg", GRUB_CFG.format(
        kernel=f"/boot/{kernel.name}", initrd=f"/boot/{initrd.name}", append=APPEND).encode())
    ui.sh("chroot", root, "apt-get", "clean")
    ui.sh("tar", "-C", root, "-cf", f"{tar}.new", ".")
    Path(f"{tar}.new").rename(tar)
    shutil.rmtree(root)
    return tar


def make_disk(tar, debs, tests):
    """A disk with the root, the packages and the stages; its GRUB, which QEMU starts."""
    root, disk, grub = HERE / "root", HERE / "disk.img", HERE / "grub.lnx"
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir(parents=True)
    ui.sh("tar", "-C", root, "-xf", tar)
    (root / "debs").mkdir()
    for deb in debs:
        shutil.copy(deb, root / "debs")
    shutil.copy(Path(__file__).parent / "lib/debtest.sh", root / "debtest.sh")
    (root / "debtest.sh").chmod(0o755)
    (root / "debtest.tests").write_text(" ".join(tests), "utf-8")
    (root / "debtest.stage").write_text("install", "utf-8")
    shutil.copy(root / "grub.lnx", grub)
    disk.unlink(missing_ok=True)
    ui.sh("mke2fs", "-q", "-F", "-t", "ext4", "-d", root, disk, "5G")
    shutil.rmtree(root)
    return disk, grub


def lines(qemu, limit):
    """Lines of the console, until the machine ends or says nothing for too long."""
    os.set_blocking(qemu.stdout.fileno(), False)
    rest = b""
    while not limit.over():
        select.select([qemu.stdout], [], [], 0.5)
        data = qemu.stdout.read()
        if data == b"":
            return
        limit.ask()
        if data:
            limit.progress()
            *whole, rest = (rest + data).split(b"\n")
            for line in whole:
                yield line.decode("utf-8", "replace").rstrip()
    yield "##debtest: not ok the machine hangs: it said nothing for too long"


def follow(qemu, log):
    """Read the console to its end: ([what held], [what did not], did it come to its end?)."""
    good, bad, end = [], [], False
    for line in lines(qemu, Patience(Clock(qemu.pid), LIMIT)):
        log.write(line + "\n")
        log.flush()
        if m := re.search(r"##debtest: (ok|not ok|end|stage) ?(.*)", line):
            end |= m[1] == "end"
            {"ok": good, "not ok": bad}.get(m[1], []).append(m[2])
            say(f"{m[1]} {m[2]}")
        elif re.search(r"Kernel panic|BUG:|WARNING: CPU|Oops:", line):
            bad.append(line)
    return good, bad, end


def boot(disk, grub):
    """Boot until the stages are through."""
    argv = ["qemu-system-x86_64", "-nodefaults", "-display", "none", "-vga", "std",
            "-machine", "pc", "-cpu", "max,-erms", "-accel", "tcg,thread=single", "-smp", "2",
            "-m", "1536M", "-kernel", grub, "-serial", "stdio",
            "-drive", f"file={disk},format=raw,if=virtio,cache=unsafe"]
    with open(HERE / "console.log", "w", encoding="utf-8") as log, \
            subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT) as qemu:
        try:
            return follow(qemu, log)
        finally:
            qemu.kill()


def run():
    """Command line."""
    parser = ui.parser(__doc__)
    parser.add_argument("--release", choices=sorted(STOCK), default="bookworm")
    parser.add_argument("--debs", type=Path, default=BUILD / "deb", help="folder of the packages")
    parser.add_argument("--test", action="append", help="kselftest to run (default: two)")
    args = parser.parse_args()
    debs = sorted(p for p in args.debs.glob("*.deb") if "-dbg_" not in p.name)
    if len(debs) != 4:
        raise Failure(f"{args.debs} has {len(debs)} packages to install; expected an image, "
                      "headers, mcube, mcube-kselftests", "make deb CONFIG=debian12-cloud")
    steps = Steps("deb-test", ["debootstrap", "disk", "boots"])
    steps("debootstrap")
    tar = make_root(args.release)
    steps("disk")
    disk, grub = make_disk(tar, debs, args.test or ["map_input", "alloc_toggle"])
    steps("boots")
    start = time.monotonic()
    try:
        good, bad, end = boot(disk, grub)
    finally:
        disk.unlink()
    if not end:
        bad.append("the machine did not come to the end of its stages")
    for line in bad:
        print(f"not ok {line}")
    steps.done(f"{len(good)} passed, {len(bad)} failed, in {ui.clock(time.monotonic() - start)}; "
               f"console: {HERE}/console.log")
    return bool(bad)


if __name__ == "__main__":
    ui.main(run)
