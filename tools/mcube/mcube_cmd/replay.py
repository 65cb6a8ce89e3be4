# SPDX-License-Identifier: GPL-2.0
"""Replay recorded references against real files, in a cgroup with little memory.

Files have the recorded sizes and hold blocks that no file system compresses or leaves out.
A child process enters the cgroup and reads the recorded ranges in order. Before each read
cachestat(2) says how many of the pages are cached, which disturbs nothing; these are the
hits. What the device really read comes from its statistics, so readahead shows as well.

Pages that are dirty, mapped or in use by another program are not replayed: a fault becomes
a read of its page, and a fault-around a read of its first page.
"""

import ctypes
import errno
import os
import resource
import struct
import time
from pathlib import Path
from stat import S_ISREG

from . import cgroup, host
from .term import Failure, size

SYS_CACHESTAT = 451     # the same number on all architectures
BLOCK = 1 << 20
PIECE = 64              # pages of a read(), at most
MOST_FILES = 65536
SPARE = 32              # files that this process has open beside those of the trace
SAMPLES = 50            # looks at the size of the page cache during a replay
FULL = 0.95             # of its largest size: the page cache is full
LRU_GEN = "/sys/kernel/mm/lru_gen/enabled"
UBM = "/sys/kernel/mm/mcube/ubm/enabled"
# Policy: (LRU_GEN, UBM)
POLICIES = {"lru": ("0", "0"), "mglru": ("7", "0"), "ubm": ("0", "1"), "ubm-mglru": ("7", "1")}


class Cachestat:
    """How many pages of a range of a file are cached."""

    def __init__(self):
        self.call = ctypes.CDLL(None, use_errno=True).syscall
        self.range, self.found = (ctypes.c_uint64 * 2)(), (ctypes.c_uint64 * 5)()
        self.works = True

    def cached(self, fd, first, nr, page):
        """Number of cached pages; None if the kernel cannot tell."""
        self.range[0], self.range[1] = first * page, nr * page
        if self.works and self.call(SYS_CACHESTAT, fd, ctypes.byref(self.range),
                                    ctypes.byref(self.found), 0):
            self.works = False
        return min(self.found[0], nr) if self.works else None


class Policies:
    """The policies of reclaim, set back when this object is closed."""

    def __init__(self):
        self.before = {f: host.read(f) for f in (LRU_GEN, UBM) if host.at(f).exists()}

    def available(self, name):
        """Has the kernel a policy?"""
        gen, ubm = POLICIES[name]
        return (gen == "0" or LRU_GEN in self.before) and (ubm == "0" or UBM in self.before)

    def set(self, name):
        """Switch to a policy."""
        for file, value in zip((LRU_GEN, UBM), POLICIES[name]):
            if file in self.before:
                try:
                    host.write(file, value)
                except OSError as e:
                    raise Failure(f"{file}: the kernel refused '{value}': "
                                  f"{os.strerror(e.errno)}", "see 'mcube status'") from e

    def close(self):
        """Write the values of the beginning."""
        for file, value in self.before.items():
            host.write(file, value)


def need_policy(policies, name):
    """Refuse a policy that the kernel does not have."""
    if not policies.available(name):
        what = "UBM" if POLICIES[name][1] == "1" and UBM not in policies.before else \
            "multi-generational LRU"
        raise Failure(f"this kernel has no {what}, which policy '{name}' needs",
                      "build it with CONFIG_" + ("MCUBE_UBM=y" if what == "UBM" else "LRU_GEN=y"))


def statistics(folder):
    """The file with the statistics of the device below a folder."""
    device = os.stat(folder).st_dev
    path = f"/sys/dev/block/{os.major(device)}:{os.minor(device)}/stat"
    if host.read(path) is None:
        raise Failure(f"{folder} is on no block device of its own",
                      "name a directory on ext4 or XFS, for example, by --dir; tmpfs, btrfs and "
                      "network file systems have no such device")
    return path


def sectors(path):
    """Sectors that a device has read."""
    return int(host.read(path).split()[2])


class Files:
    """The files of a trace in a directory.

    Root may name a directory that others may write to, such as /var/tmp. So files are made
    in a folder that nobody else may write to, are reached by a descriptor of this folder,
    and no link is followed.
    """

    def __init__(self, folder, trace, page):
        self.folder, self.page = Path(folder) / "mcube-replay", page
        self.pages = trace.reach()
        self.statistics = statistics(folder)
        self.fd = None

    def enter(self):
        """Make the folder, or take that of an earlier replay."""
        if self.fd is not None:
            return
        self.folder.mkdir(0o700, exist_ok=True)
        self.fd = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        state = os.fstat(self.fd)
        if state.st_uid != os.geteuid() or state.st_mode & 0o022:
            self.close()
            raise Failure(f"others may write to {self.folder}",
                          "remove it, or name another directory by --dir")

    def open(self, n, flags=os.O_RDONLY):
        """A descriptor of a file."""
        return os.open(str(n), flags | os.O_NOFOLLOW, 0o600, dir_fd=self.fd)

    def make(self):
        """Make the files that are not there in full; the number of bytes written."""
        block, wrote = os.urandom(BLOCK), 0
        try:
            self.enter()
            missing = [n for n, pages in enumerate(self.pages) if not self.whole(n, pages)]
            need = sum(self.pages[n] for n in missing) * self.page
            free = os.fstatvfs(self.fd)
            if need > free.f_bavail * free.f_frsize:
                raise Failure(f"{self.folder} has {size(free.f_bavail * free.f_frsize)} free, and "
                              f"the files need {size(need)}",
                              "name a directory on a larger file system by --dir")
            for n in missing:
                left = self.pages[n] * self.page
                wrote += left
                with open(self.open(n, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), "wb") as f:
                    while left:
                        left -= f.write(block[:min(left, BLOCK)])
        except OSError as e:
            raise Failure(f"{self.folder}: {os.strerror(e.errno)}",
                          "name a directory that you may write to by --dir, in which "
                          "mcube-replay is no link") from e
        os.sync()
        return wrote

    def whole(self, n, pages):
        """Is the file there, with all its blocks?"""
        try:
            state = os.stat(str(n), dir_fd=self.fd, follow_symlinks=False)
        except OSError:
            return False
        return S_ISREG(state.st_mode) and \
            state.st_size == pages * self.page <= state.st_blocks * 512

    def drop(self):
        """Drop the files from the page cache."""
        for n, _ in enumerate(self.pages):
            fd = self.open(n)
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(fd)

    def remove(self):
        """Remove the files."""
        if self.fd is None:
            return
        for n, _ in enumerate(self.pages):
            try:
                os.unlink(str(n), dir_fd=self.fd)
            except FileNotFoundError:
                pass
        self.close()
        try:
            self.folder.rmdir()
        except OSError:
            pass            # files of another trace are in it

    def close(self):
        """Leave the folder."""
        if self.fd is not None:
            os.close(self.fd)
            self.fd = None


def open_files():
    """How many files this process may keep open, after raising the limit."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, MOST_FILES)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    return max(1, most - SPARE)


def read_all(trace, files, readahead, sample):
    """Read the ranges in order: (hits, or -1 if not known, pages of the cache on average)."""
    fds, page = {}, files.page
    advice = os.POSIX_FADV_NORMAL if readahead else os.POSIX_FADV_RANDOM
    buffers = [bytearray(PIECE * page)]
    views = [[memoryview(buffers[0])[:n * page]] for n in range(PIECE + 1)]
    stat, hits, sizes = Cachestat(), 0, []
    ticks, most = max(1, len(trace.id) // SAMPLES), open_files()
    for i, (n, first, nr, kind) in enumerate(zip(trace.id, trace.first, trace.nr, trace.kind)):
        if i % ticks == 0:
            sizes.append(sample() // page)
        if kind == 97:          # 'a', no reference
            continue
        if kind == 109:         # 'm', of which one page was touched
            nr = 1
        fd = fds.get(n)
        # Programs open a file before they read it from its start again.
        if fd is not None and not first:
            os.close(fds.pop(n))
            fd = None
        if fd is None:
            if len(fds) >= most:
                os.close(fds.pop(next(iter(fds))))
            fd = fds[n] = files.open(n)
            os.posix_fadvise(fd, 0, 0, advice)
        while nr:
            part = nr if nr < PIECE else PIECE
            hits += stat.cached(fd, first, part, page) or 0
            if os.preadv(fd, views[part], first * page) != part * page:
                raise OSError(errno.EIO, "a file is shorter than the trace")
            first += part
            nr -= part
    # The cache was empty at first; later the reader's own memory grows a little.
    full = sizes[next(i for i, s in enumerate(sizes) if s >= FULL * max(sizes)):]
    return (hits if stat.works else -1), sum(full) // len(full)


def child(trace, files, readahead, group, pipe):
    """The process that reads; it reports hits, cache size and nanoseconds."""
    status = 1
    try:
        group.enter()
        start = time.monotonic_ns()
        hits, pages = read_all(trace, files, readahead, lambda: group.stat().get("file", 0))
        os.write(pipe, struct.pack("<qqq", hits, pages, time.monotonic_ns() - start))
        status = 0
    except OSError as e:
        os.write(2, f"mcube replay: {e}\n".encode())
    os._exit(status)


def once(trace, files, limit, readahead):
    """Replay once under a limit of memory in bytes; the figures."""
    files.drop()
    with cgroup.Cgroup(f"mcube-replay-{os.getpid()}", limit) as group:
        before = sectors(files.statistics)
        end, pipe = os.pipe()
        pid = os.fork()
        if pid == 0:
            child(trace, files, readahead, group, pipe)
        os.close(pipe)
        try:
            with os.fdopen(end, "rb") as f:
                data = f.read()
        finally:
            status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        if status or len(data) != 24:
            killed = "oom_kill 0" not in host.read(f"{group.path}/memory.events", "oom_kill 0")
            raise Failure(f"the process that reads ended with status {status}"
                          + (": its memory did not suffice" if killed else ""),
                          f"give more than {size(limit)} by --memory" if killed else
                          "see the message above, and the kernel's log")
        stat, device = group.stat(), (sectors(files.statistics) - before) * 512 // files.page
    hits, pages, nanoseconds = struct.unpack("<qqq", data)
    references = trace.pages()
    misses = references - hits if hits >= 0 else device
    return {"references": references, "hits": references - misses, "misses": misses,
            "hit_ratio": 1 - misses / references, "device_pages": device,
            "cache_pages": pages, "refaults": stat.get("workingset_refault_file", 0),
            "exact": hits >= 0, "seconds": nanoseconds / 1e9}
