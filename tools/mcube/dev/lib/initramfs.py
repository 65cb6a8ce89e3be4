# SPDX-License-Identifier: GPL-2.0
"""A guest's root file system, as an uncompressed cpio archive.

busybox provides the shell and the small tools. Programs of the host come with the
shared libraries that ldd names. The caller says where files and whole directories
go. The archive is written directly, so nothing is copied on disk and nothing needs
root. It stays uncompressed, because unpacking it in the emulator would take longer
than reading it.
"""

import os
import re
import shutil
import stat
import subprocess
from pathlib import Path

from .ui import Failure

INIT = """#!/bin/sh
# Mounts the file systems that programs expect, runs /guest/run with its output on a
# separate channel, sends /results back as a tar file, and powers off. /guest/run runs
# in bash, because busybox's shell would prefer its own tools to the host's programs.
export PATH=/usr/bin:/usr/sbin HOME=/root TERM=linux LC_ALL=C
mount -t proc none /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev 2>/dev/null
mkdir -p /dev/pts /dev/shm /dev/hugepages /tmp /run /var/tmp /root /results
mount -t devpts -o ptmxmode=666 pts /dev/pts
mount -t tmpfs -o size=90% shm /dev/shm
mount -t tmpfs -o size=90% tmp /tmp
mount -t debugfs debug /sys/kernel/debug
mount -t tracefs trace /sys/kernel/tracing 2>/dev/null
mount -t cgroup2 cgroup /sys/fs/cgroup 2>/dev/null
mount -t hugetlbfs huge /dev/hugepages 2>/dev/null
ln -sf /proc/self/fd /dev/fd
ln -sf /proc/self/fd/0 /dev/stdin
ln -sf /proc/self/fd/1 /dev/stdout
ln -sf /proc/self/fd/2 /dev/stderr
ln -sf /proc/mounts /etc/mtab
hostname mcube
ifconfig lo 127.0.0.1 up 2>/dev/null
echo 0 > /proc/sys/kernel/printk_ratelimit
read up rest < /proc/uptime
echo "mcube-guest: up after $up s"
if [ -f /guest/interactive ]; then
	echo "Type 'poweroff -f' or Ctrl-A X to leave; /sys/kernel/mm/mcube is the control directory."
	setsid cttyhack sh
	poweroff -f
fi
out=/dev/null results=/dev/null
for port in /sys/class/virtio-ports/*; do
	case $(cat "$port/name") in
	out) out=/dev/${port##*/} ;;
	results) results=/dev/${port##*/} ;;
	esac
done
cd /guest
# A guest that hangs is asked where its tasks are.
{ read -r ask </dev/ttyS0 && echo t >/proc/sysrq-trigger; } &
{ . /guest/env; bash /guest/run 2>&1 </dev/null; echo $? >/run/status; } | cat >"$out"
echo "mcube-guest: exit $(cat /run/status)"
cp /run/status /results/.status
tar -C /results -cf "$results" .
sync
echo "mcube-guest: done"
poweroff -f
"""

# Parts of the standard library that no program in a guest needs.
PYTHON_LEAVES = {"__pycache__", "test", "tests", "idlelib", "tkinter", "lib2to3", "ensurepip",
                 "pydoc_data", "turtledemo", "distutils", "dist-packages"}
PYTHON_MODULES = ("_tkinter", "_dbm", "nis.", "_test", "_xxtest")


class Initramfs:
    """Collects files and writes them as a newc archive."""

    def __init__(self, programs=()):
        self.entries = {}
        for d in ("dev", "proc", "sys", "etc", "guest", "usr/bin", "usr/sbin",
                  "usr/lib", "usr/lib64", "usr/share"):
            self.directory(d)
        for link, target in (("bin", "usr/bin"), ("sbin", "usr/sbin"),
                             ("lib", "usr/lib"), ("lib64", "usr/lib64")):
            self.entries[link] = (stat.S_IFLNK | 0o777, target.encode())
        self.entries["dev/console"] = (stat.S_IFCHR | 0o600, b"")
        self.entries["dev/null"] = (stat.S_IFCHR | 0o666, b"")
        self.text("etc/passwd", "root:x:0:0:root:/root:/bin/sh\n"
                                "nobody:x:65534:65534:nobody:/:/bin/sh\n")
        self.text("etc/group", "root:x:0:\nnogroup:x:65534:\n")
        self.text("init", INIT, 0o755)
        self.busybox()
        for name in programs:
            self.program(name)

    def directory(self, path):
        """A directory and the directories above it."""
        path = path.strip("/")
        while path and path not in self.entries:
            self.entries[path] = (stat.S_IFDIR | 0o755, b"")
            path = os.path.dirname(path)

    def place(self, path):
        """Guest path with the merged-/usr links resolved."""
        path = os.path.normpath(str(path)).strip("/")
        top, _, rest = path.partition("/")
        if rest and top in ("bin", "sbin", "lib", "lib64"):
            path = f"usr/{path}"
        self.directory(os.path.dirname(path))
        return path

    def text(self, path, content, mode=0o644):
        """A file made from a string."""
        self.entries[self.place(path)] = (stat.S_IFREG | mode, content.encode())

    def file(self, host, guest):
        """A file of the host."""
        host = Path(host)
        if not host.is_file():
            raise Failure(f"the guest needs {host}, which is not there")
        mode = 0o755 if os.access(host, os.X_OK) else 0o644
        self.entries[self.place(guest)] = (stat.S_IFREG | mode, host.read_bytes())

    def tree(self, host, guest):
        """A directory of the host with its content, and the libraries of its programs."""
        host = Path(host)
        if not host.is_dir():
            raise Failure(f"the guest needs {host}/, which is not there")
        self.directory(str(guest))
        for d, dirs, files in os.walk(host):
            rel = os.path.relpath(d, host)
            for name in dirs:
                self.directory(os.path.join(guest, rel, name).replace("/./", "/"))
            for name in files:
                src, dst = Path(d, name), os.path.join(guest, rel, name)
                if src.is_symlink():
                    self.entries[self.place(dst)] = (stat.S_IFLNK | 0o777,
                                                     os.readlink(src).encode())
                else:
                    self.file(src, dst)
                    if os.access(src, os.X_OK):
                        self.libraries(src)

    def busybox(self):
        """busybox and a link for each of its tools."""
        path = shutil.which("busybox")
        if not path:
            raise Failure("no busybox", "run 'make deps'")
        self.file(path, "usr/bin/busybox")
        tools = subprocess.run([path, "--list"], text=True, capture_output=True,
                               check=True).stdout.split()
        for tool in tools:
            if tool != "busybox":
                self.entries[f"usr/bin/{tool}"] = (stat.S_IFLNK | 0o777, b"busybox")

    def libraries(self, host):
        """Shared libraries of a program, at their own paths."""
        with open(host, "rb") as f:
            if f.read(4) != b"\x7fELF":
                return
        got = subprocess.run(["ldd", str(host)], text=True, capture_output=True,
                             check=False).stdout
        for lib in re.findall(r"(?:=> )?(/\S+) \(0x", got):
            if self.place(lib) not in self.entries:
                self.file(os.path.realpath(lib), lib)

    def program(self, name, guest=None):
        """A program of the host, by name or path, with its libraries."""
        path = name if os.path.isfile(name) else \
            shutil.which(name, path=os.environ["PATH"] + ":/usr/sbin:/sbin")
        if not path:
            raise Failure(f"the guest needs the program '{name}', which is not installed",
                          "run 'make deps', or install its Debian package")
        guest = guest or f"usr/bin/{os.path.basename(name)}"
        self.file(os.path.realpath(path), guest)
        self.libraries(os.path.realpath(path))

    def python(self):
        """The host's Debian python3 with its standard library, compiled.

        Compiled files lie in the place of the sources. The guest then neither compiles
        sources nor compares time stamps, which the archive does not have.
        """
        python = "/usr/bin/python3"
        if not os.path.exists(python):
            raise Failure(f"the guest needs {python}, which is not there", "run 'make deps'")
        self.program(python, "usr/bin/python3")
        host = Path(subprocess.run(
            [python, "-c", "import sysconfig; print(sysconfig.get_path('stdlib'))"], text=True,
            capture_output=True, check=True).stdout.strip())
        for d, dirs, files in os.walk(host):
            dirs[:] = [x for x in dirs if x not in PYTHON_LEAVES]
            for name in files:
                src, dst = Path(d, name), os.path.join(d, name)
                cached = list(Path(d, "__pycache__").glob(f"{src.stem}.cpython-*[0-9].pyc"))
                if name.endswith(".py") and cached:
                    self.file(cached[0], f"{dst}c")
                elif name.endswith((".py", ".so")) and not name.startswith(PYTHON_MODULES):
                    self.file(src, dst)
                    self.libraries(src)

    def write(self, path):
        """Write the archive."""
        with open(path, "wb") as f:
            for i, (name, (mode, data)) in enumerate(sorted(self.entries.items())):
                major, minor = 0, 0
                if stat.S_ISCHR(mode):
                    major, minor = (5, 1) if name.endswith("console") else (1, 3)
                self.record(f, i + 1, name, mode, data, major, minor)
            self.record(f, 0, "TRAILER!!!", 0, b"", 0, 0)

    @staticmethod
    def record(f, ino, name, mode, data, major, minor):
        """Write a member of the archive."""
        fields = (ino, mode, 0, 0, 1, 0, len(data), 0, 0, major, minor, len(name) + 1, 0)
        f.write(b"070701" + b"".join(b"%08x" % x for x in fields))
        f.write(name.encode() + b"\0" + b"\0" * (-(110 + len(name) + 1) % 4))
        f.write(data + b"\0" * (-len(data) % 4))
