# SPDX-License-Identifier: GPL-2.0
"""A made-up /sys, /proc and /dev for the tests of the mcube command.

Root is a directory that MCUBE_ROOT points to. With mcube=True it has the
interface, and writes to it obey the rules of mm/mcube/{map,alloc}/sysfs.c and
drivers/mcube/{rocs,setcache}/sysfs.c: the value is checked, a refusal has its error number and its
line in the log.
"""

import contextlib
import errno
import io
import json
import os
import re
import struct
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

# pylint: disable=wrong-import-position
from mcube_cmd import cli, host, picture  # noqa: E402
from mcube_cmd.term import Failure  # noqa: E402

TOOLS = Path(__file__).resolve().parents[1]
SYSFS = "/sys/kernel/mm/mcube"
COLORS = "0x1000 0x2000 0x4000 0x8000 0x10000"
BANKS = "0x24000 0x48000 0x90000 0x120000"
STATS = {"containers": 2, "free_pages": 100, "served": 600, "hopped": 150, "colored": 200,
         "fallback": 200, "uncovered": 1000, "taken": 5, "released": 2, "broken_up": 1}
ROCS = {"enabled": "0", "reserve": "1", "pids": "", "cgroup": "", "auto": "0",
        "search": "linear [coarse]", "steps": "32", "min_rate": "25"}
ROCS_EVENTS = ("cycles", "instructions", "refs", "misses", "sample_hit", "sample_miss")
ROCS_STATS = {"samples": 5000, "dropped": 2, "moved_in": 700, "moved_out": 100, "refused": 3,
              "split": 0, "targets": 2, "windows": 90, "searches": 1, "phases": 0, "rollbacks": 0}
SETCACHE = {"mode": "[off] random all", "policy": "lru lfu nrlfu [s3fifo]",
            "numa": "[interleave] hash-home message", "size_mib": "64"}
SETCACHE_STATS = {"hits": 3500, "fills": 1000, "bypassed": 7, "waits": 2, "full": 0, "nowait": 0,
                  "async": 500, "doomed": 1, "killed": 40, "errors": 0, "reclaimed": 0, "remote": 5,
                  "messages": 4, "bundles": 2, "fallbacks": 0, "pages": 16384}
# CPUID leaf 4 of a Xeon E5-2690 v4: caches, with a hashed L3 of 14 slices among them.
XEON = ((0x1c004121, 0x01c0003f, 0x3f, 0), (0x1c004122, 0x01c0003f, 0x3f, 0),
        (0x1c004143, 0x01c0003f, 0x1ff, 0), (0x1c03c163, 0x04c0003f, 0x6fff, 6))


class Root:
    """The directory, and the kernel behind it."""

    def __init__(self, path, mcube=True):
        self.path = Path(path)
        self.errors = {}        # file: errno that any write to the file gets
        self.written = []       # (file, value) of accepted writes
        self.no_event = ""      # name of an event that the machine does not have
        self.memory_mib = 4096  # for page sets, half of the memory at most
        self.put("/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n")
        self.put("/proc/cpuinfo", "processor\t: 0\nmodel name\t: Made-up CPU\nflags\t\t: fpu\n\n")
        self.put("/proc/self/uid_map", "         0          0 4294967295\n")
        self.put("/proc/zoneinfo", "Node 0, zone    DMA32\n        spanned  262144\n"
                 "  start_pfn:           0\nNode 1, zone   Normal\n        spanned  262144\n"
                 "  start_pfn:           262144\n")
        self.put("/dev/kmsg", "")
        if mcube:
            for name, value in {"map/color_map": COLORS, "map/bank_map": BANKS,
                                "map/nr_colors": "32", "map/nr_banks": "16",
                                "map/color_bytes": "65536", "map/source":
                                "color=cpuid bank=sysfs", "map/level": "last",
                                "alloc/enabled": "0",
                                "alloc/fill_order": "[shuffle] paper even auto",
                                "alloc/container_order": "10",
                                "alloc/container_banks": "16",
                                "alloc/cover_order": "9",
                                "alloc/cluster_order": "0",
                                "alloc/fill_auto": "even cluster_order=5: a container has 32 "
                                "colors; neighbouring pages share rows or take "
                                "turns in banks"}.items():
                self.put(f"{SYSFS}/{name}", value + "\n")
            for name, value in STATS.items():
                self.put(f"{SYSFS}/alloc/stats/{name}", f"{value}\n")

    def put(self, name, content):
        """A file."""
        path = Path(f"{self.path}{name}")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())

    def rocs(self):
        """The files of the loaded module mcube_rocs."""
        for name, value in ROCS.items():
            self.put(f"{SYSFS}/rocs/{name}", value + "\n")
        for name in ROCS_EVENTS:
            self.put(f"{SYSFS}/rocs/events/{name}", "none\n")
        for name, value in ROCS_STATS.items():
            self.put(f"{SYSFS}/rocs/stats/{name}", f"{value}\n")

    def setcache(self):
        """The files of the loaded module mcube_setcache."""
        for name, value in SETCACHE.items():
            self.put(f"{SYSFS}/setcache/{name}", value + "\n")
        for name, value in SETCACHE_STATS.items():
            self.put(f"{SYSFS}/setcache/stats/{name}", f"{value}\n")

    def drop(self, name):
        """Remove a file."""
        Path(f"{self.path}{name}").unlink()

    def cpuid(self, leaves):
        """/dev/cpu/0/cpuid with {(leaf, subleaf): registers}."""
        self.put("/dev/cpu/0/cpuid", b"")
        with open(f"{self.path}/dev/cpu/0/cpuid", "r+b") as f:
            for (leaf, sub), registers in leaves.items():
                f.seek(leaf | sub << 32)
                f.write(struct.pack("<4I", *registers))

    def refuse(self, number, line):
        """Refuse a write as the kernel does, with a line in the log."""
        with open(f"{self.path}/dev/kmsg", "a", encoding="utf-8") as f:
            f.write(f"4,1,1,-;mcube: {line}\n")
        raise OSError(number, os.strerror(number))

    def write_rocs(self, file, text):
        """Refuse what ROCS refuses."""
        if file.startswith("rocs/events/"):
            if host.read(f"{SYSFS}/rocs/enabled") == "1":
                self.refuse(errno.EBUSY, f"{file}: first write 0 to rocs/enabled")
            if not re.fullmatch(r"none|type=\d+( \w+=\w+)*", text):
                self.refuse(errno.EINVAL, f"{file}: expected type=N config=N config1=N "
                            "config2=N precise=0..3, or none")
        if file == "rocs/enabled" and text == "1":
            if self.no_event:
                self.refuse(errno.ENXIO, "rocs/enabled: this machine does not have the event of "
                            f"rocs/events/{self.no_event} (error -2): write the description of "
                            "another event there")
            if host.read(f"{SYSFS}/alloc/enabled") == "0":
                self.refuse(errno.ENODEV, "rocs/enabled: first write 1 to alloc/enabled")
            if host.read(f"{SYSFS}/map/nr_colors") == "1":
                self.refuse(errno.EOPNOTSUPP, "rocs/enabled: the address map has one color")

    def write_setcache(self, file, text):
        """Refuse what page sets refuse; what the file shows then."""
        if file == "setcache/size_mib":
            if not 1 <= int(text) <= self.memory_mib // 2:
                self.refuse(errno.ERANGE, f"{file}: expected 1 to {self.memory_mib // 2} MiB, "
                            "half of the memory")
            return text
        words = re.sub(r"[\[\]]", "", SETCACHE[file.removeprefix("setcache/")]).split()
        if text not in words:
            self.refuse(errno.EINVAL, f"{file}: expected {', '.join(words)}")
        return " ".join(f"[{w}]" if w == text else w for w in words)

    def write(self, path, text):
        """host.write(), followed by the kernel."""
        file = str(path).removeprefix(f"{SYSFS}/")
        if not host.at(path).exists():
            raise FileNotFoundError(errno.ENOENT, "no such file", path)
        if file in self.errors:
            raise OSError(self.errors[file], os.strerror(self.errors[file]))
        on = host.read(f"{SYSFS}/alloc/enabled") == "1"
        if file == "alloc/enabled" and text not in ("0", "1"):
            self.refuse(errno.ERANGE, "alloc/enabled: expected 0 or 1")
        if file == "alloc/fill_order":
            if text not in ("shuffle", "paper", "even", "auto"):
                self.refuse(errno.EINVAL, "alloc/fill_order: expected shuffle, paper, even or auto")
            text = re.sub(rf"\b{text}\b", f"[{text}]", "shuffle paper even auto")
        if file == "alloc/container_order":
            if on:
                self.refuse(errno.EBUSY, "alloc/container_order: first write 0 to alloc/enabled")
            if text not in ("9", "10"):
                self.refuse(errno.ERANGE, "alloc/container_order: expected 9 to 10")
        if file.startswith("map/"):
            if on:
                self.refuse(errno.EBUSY, f"{file}: the map is in use, turn off what uses it first")
            if not re.fullmatch(r"none|(0x\w*[1-9a-fA-F]\w* ?)+", text):
                self.refuse(errno.EINVAL, f"{file}: a mask is hexadecimal and starts with 0x")
            source = host.read(f"{SYSFS}/map/source")
            self.put(f"{SYSFS}/map/source",
                     re.sub(rf"{file[4:-4]}=\w+", f"{file[4:-4]}=sysfs", source) + "\n")
        if file.startswith("rocs/"):
            self.write_rocs(file, text)
        if file.startswith("setcache/"):
            text = self.write_setcache(file, text)
        if (file, text) == ("alloc/enabled", "0") and host.at(f"{SYSFS}/rocs/enabled").exists():
            self.put(f"{SYSFS}/rocs/enabled", "0\n")
        self.put(path, text + "\n")
        self.written.append((file, text))


class Case(unittest.TestCase):
    """A test with a made-up machine, which it may change as it likes."""

    mcube = True

    def setUp(self):
        """Make it."""
        self.make(self.mcube)

    def make(self, mcube):
        """The machine of this test from now on."""
        folder = self.enterContext(tempfile.TemporaryDirectory(prefix="mcube-test-"))
        self.root = Root(folder, mcube)
        for patch in (mock.patch.dict(os.environ, {"MCUBE_ROOT": folder,
                                                   "MCUBE_PROBE": "/nowhere"}),
                      mock.patch.object(host, "write", self.root.write),
                      mock.patch.object(host, "is_root", lambda: True)):
            self.enterContext(patch)

    def mcube_says(self, *argv):
        """Run the command; (exit status, output, errors)."""
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                status = cli.main(list(argv))
            except SystemExit as e:
                status = e.code
        return status, out.getvalue(), err.getvalue()

    def done(self, *argv):
        """Output of a command that has to succeed and to say nothing of errors."""
        status, out, err = self.mcube_says(*argv)
        self.assertEqual((status, err), (0, ""), argv)
        return out

    def json(self, *argv):
        """What a command prints with --json."""
        return json.loads(self.mcube_says(*argv, "--json")[1])

    def refused(self, *argv):
        """Errors of a command that has to fail and to say what to do."""
        status, _, err = self.mcube_says(*argv)
        self.assertEqual((status, "what to do: " in err), (1, True), (argv, err))
        return err

    def drew(self, path, status, out, err):
        """Check the picture of a command, or its message where there is no matplotlib."""
        try:
            picture.pyplot()
        except Failure:
            self.assertIn("install python3-matplotlib", err)
            return False
        self.assertEqual((status, err), (0, ""))
        self.assertIn(f"picture: {path}", out)
        self.assertEqual(path.read_bytes()[:4], b"\x89PNG")
        return True

    def value(self, file):
        """Content of a sysfs file."""
        return host.read(f"{SYSFS}/{file}")
