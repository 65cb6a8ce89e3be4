# SPDX-License-Identifier: GPL-2.0
"""An instance of the kernel's event tracing: events, filters, and a stream of lines.

An instance has buffers of its own below /sys/kernel/tracing/instances, so that other users
of tracing neither see nor lose anything. Its name has the number of the process that made
it, so that an instance whose maker died can be found and removed.
"""

import errno
import os
import re

from . import host
from .term import Failure

FOLDER = "/sys/kernel/tracing"
PREFIX = "mcube-"


def need():
    """Refuse to go on where events cannot be traced."""
    if not host.is_root():
        raise Failure("only root may trace events", "run it by sudo")
    if not host.at(f"{FOLDER}/instances").is_dir():
        raise Failure(f"{FOLDER}/instances is not there",
                      "mount -t tracefs tracefs /sys/kernel/tracing; the kernel needs "
                      "CONFIG_EVENT_TRACING, and lockdown also hides it")


def present(event):
    """Has the kernel an event, such as filemap/mm_filemap_fault?"""
    return host.at(f"{FOLDER}/events/{event}").is_dir()


def make(path):
    """Make the directory of an instance; the kernel fills it."""
    os.mkdir(host.at(path))


def remove(path):
    """Remove the directory of an instance."""
    os.rmdir(host.at(path))


def sweep():
    """Remove instances of this command whose process is gone."""
    for name in host.names(f"{FOLDER}/instances"):
        m = re.fullmatch(rf"{PREFIX}\w+-(\d+)", name)
        if m and not os.path.isdir(f"/proc/{m[1]}"):
            try:
                remove(f"{FOLDER}/instances/{name}")
            except OSError:
                pass        # a process that the dead maker left behind may still read it


class Instance:
    """An instance from its making to its removal; use it in a with statement."""

    def __init__(self, purpose, buffer_kib):
        need()
        sweep()
        self.path = f"{FOLDER}/instances/{PREFIX}{purpose}-{os.getpid()}"
        self.fd, self.rest = None, ""
        try:
            make(self.path)
        except OSError as e:
            raise Failure(f"{self.path} cannot be made: {os.strerror(e.errno)}",
                          "free memory, or see whether a security module forbids it") from e
        try:
            self.set("tracing_on", "0")
            self.set("buffer_size_kb", str(buffer_kib))
            # CPUs have clocks of their own by default, which puts events out of order.
            self.set("trace_clock", "global")
            # If the buffer is full, new events are dropped and counted.
            self.set("options/overwrite", "0")
        except Failure:
            self.close()
            raise

    def set(self, file, text):
        """Write a file of the instance."""
        try:
            host.write(f"{self.path}/{file}", text)
        except OSError as e:
            advice = "give a smaller --buffer" if e.errno == errno.ENOMEM else \
                "see whether the kernel has this event or option"
            raise Failure(f"{self.path}/{file}: the kernel refused '{text[:60]}' "
                          f"({os.strerror(e.errno)})", advice) from e

    def enable(self, event, wanted=""):
        """Switch an event on, with a filter on its fields."""
        if wanted:
            self.set(f"events/{event}/filter", wanted)
        self.set(f"events/{event}/enable", "1")

    def only(self, pids):
        """Trace these tasks and the tasks that they start."""
        self.set("options/event-fork", "1")
        self.set("set_event_pid", " ".join(map(str, pids)))

    def add_task(self, pid):
        """Trace one more task."""
        # Opening the file without truncating it keeps the tasks that are in it.
        fd = os.open(host.at(f"{self.path}/set_event_pid"), os.O_WRONLY)
        try:
            os.write(fd, f"{pid}\n".encode())
        finally:
            os.close(fd)

    def but(self, pid):
        """Trace all tasks but one."""
        self.set("set_event_notrace_pid", str(pid))

    def begin(self):
        """Trace from now on."""
        self.fd = os.open(host.at(f"{self.path}/trace_pipe"), os.O_RDONLY | os.O_NONBLOCK)
        self.set("tracing_on", "1")

    def stop(self):
        """Trace no more; what is in the buffers can still be read."""
        self.set("tracing_on", "0")

    def lines(self, most=None):
        """Whole lines that are in the buffers now, of at most so many reads."""
        while most is None or most > 0:
            most = most and most - 1
            try:
                data = os.read(self.fd, 1 << 16)
            except OSError as e:
                if e.errno in (errno.EAGAIN, errno.EINTR):
                    return
                raise Failure(f"{self.path}/trace_pipe cannot be read: {os.strerror(e.errno)}",
                              "try again") from e
            if not data:
                return
            *whole, self.rest = (self.rest + data.decode("utf-8", "replace")).split("\n")
            yield from whole

    def lost(self):
        """Events that found the buffers full."""
        n = 0
        for cpu in host.names(f"{self.path}/per_cpu"):
            text = host.read(f"{self.path}/per_cpu/{cpu}/stats", "")
            n += sum(int(x) for x in re.findall(
                r"^(?:overrun|commit overrun|dropped events): (\d+)", text, re.M))
        return n

    def close(self):
        """Remove the instance."""
        if self.fd is not None:
            os.close(self.fd)
            self.fd = None
        try:
            remove(self.path)
        except OSError:
            pass            # the next command of this kind removes it

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
