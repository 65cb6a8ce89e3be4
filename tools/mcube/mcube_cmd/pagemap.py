# SPDX-License-Identifier: GPL-2.0
"""Page frames of a running process, from /proc/PID/smaps and /proc/PID/pagemap.

smaps says which mappings have pages at all, so that reserved address space is
not walked; a mapping is read until as many pages were found as it holds.
"""

import array
import os
import re

from . import host, machine
from .term import Failure

PAGE = 4096
PRESENT, FILE_PAGE, FRAME = 1 << 63, 1 << 61, (1 << 55) - 1
CHUNK = 1 << 16         # pagemap entries read at once
KINDS = ("anon", "file")
KERNEL_THREAD = 0x00200000      # of the flags in /proc/PID/stat


class Mapping:
    """One mapping of a process and the frames of its pages, in virtual order."""

    def __init__(self, start, end, name):
        self.start, self.end, self.name = start, end, name
        self.resident = self.huge = 0           # KiB, as smaps has them
        self.frames = {kind: [] for kind in KINDS}

    def all(self, kinds=KINDS):
        """Frames of the kinds asked for."""
        return [pfn for kind in kinds for pfn in self.frames[kind]]


def own_frames_visible():
    """Does the kernel show this process frame numbers? None without pagemap."""
    probe = bytearray(b"x")
    try:
        with open(host.at("/proc/self/pagemap"), "rb", buffering=0) as f:
            f.seek(id(probe) // PAGE * 8)
            entry = int.from_bytes(f.read(8), "little")
    except OSError:
        return None
    return bool(entry & PRESENT and entry & FRAME)


def gone(pid):
    """The Failure for a process without memory: a kernel thread, or one that has ended."""
    stat = (host.read(f"/proc/{pid}/stat") or "").rpartition(")")[2].split()
    if len(stat) > 6 and int(stat[6]) & KERNEL_THREAD:
        return Failure(f"process {pid} is a kernel thread, which has no pages of its own",
                       "name a program: see 'ps -e'")
    return Failure(f"process {pid} has ended", "start it again")


def mappings(pid):
    """Mappings of a process that have pages."""
    try:
        text = host.at(f"/proc/{pid}/smaps").read_text("utf-8", "replace")
    except FileNotFoundError as e:
        raise Failure(f"there is no process {pid}", "see 'ps -e'") from e
    except ProcessLookupError as e:
        raise gone(pid) from e
    except PermissionError as e:
        raise Failure(f"process {pid} may not be looked at", machine.rights()) from e
    out = []
    for line in text.splitlines():
        if m := re.match(r"([0-9a-f]+)-([0-9a-f]+) \S+ \S+ \S+ \d+\s*(.*)", line):
            out.append(Mapping(int(m[1], 16), int(m[2], 16), m[3] or "[anonymous]"))
        elif m := re.match(r"Rss:\s+(\d+) kB", line):
            out[-1].resident = int(m[1])
        elif m := re.match(r"(?:Anon|Shmem|File)(?:Huge|Pmd)\w*:\s+(\d+) kB", line):
            out[-1].huge += int(m[1])
    # Addresses of [vsyscall] are beyond what pagemap covers.
    return [m for m in out if m.resident and m.start < 1 << 63]


def fill(mapping, pagemap):
    """Read a mapping's frames; True if frame numbers were hidden."""
    left = mapping.resident * 1024 // PAGE
    hidden = False
    at, end = mapping.start // PAGE, mapping.end // PAGE
    while at < end and left > 0:
        entries = array.array("Q")
        data = os.pread(pagemap, min(CHUNK, end - at) * 8, at * 8)
        entries.frombytes(data[:len(data) // 8 * 8])
        if not entries:
            break
        at += len(entries)
        for e in entries:
            if not e & PRESENT:
                continue
            left -= 1
            if e & FRAME:
                mapping.frames["file" if e & FILE_PAGE else "anon"].append(e & FRAME)
            else:
                hidden = True
    return hidden


def read(pid):
    """Mappings of a process with their frames."""
    out = mappings(pid)
    try:
        fd = os.open(host.at(f"/proc/{pid}/pagemap"), os.O_RDONLY)
    except FileNotFoundError as e:
        raise Failure("this kernel has no pagemap", "it needs CONFIG_PROC_PAGE_MONITOR") from e
    except ProcessLookupError as e:
        raise gone(pid) from e
    except PermissionError as e:
        raise Failure(f"the pages of process {pid} may not be looked at",
                      machine.rights()) from e
    try:
        hidden = [fill(m, fd) for m in out]
    finally:
        os.close(fd)
    if any(hidden) and not any(m.all() for m in out):
        raise Failure("the kernel hides page frame numbers from this user",
                      f"it needs CAP_SYS_ADMIN: {machine.rights()}")
    return out
