# SPDX-License-Identifier: GPL-2.0
"""Files of /sys, /proc and /dev, and what the kernel's log says of a write.

MCUBE_ROOT, for the tests, is put in front of every such path.
"""

import errno
import os
from pathlib import Path

from .term import Failure


def at(path):
    """The real path of a file of /sys, /proc or /dev."""
    return Path(os.environ.get("MCUBE_ROOT", "") + str(path))


def read(path, default=None):
    """Text of a file without white space at its ends; default if it cannot be read."""
    try:
        return at(path).read_text("utf-8", "replace").strip()
    except OSError:
        return default


def number(path, default=None):
    """A file's one number."""
    text = read(path)
    try:
        return int(text, 0)
    except (TypeError, ValueError):
        return default


def names(path):
    """Names in a directory, sorted; none if there is no such directory."""
    try:
        return sorted(os.listdir(at(path)))
    except OSError:
        return []


def write(path, text):
    """One write of a whole value, as sysfs wants it."""
    fd = os.open(at(path), os.O_WRONLY | os.O_TRUNC)
    try:
        os.write(fd, text.encode() + b"\n")
    finally:
        os.close(fd)


def check_file(path, kinds, example):
    """Refuse a file that could not be written, before the work."""
    path = Path(path)
    if not path.name.endswith(kinds):
        raise Failure(f"{path} is no {kinds[0]} file", f"name a file such as {example}")
    if not path.parent.is_dir() or not os.access(path.parent, os.W_OK) or path.is_dir():
        raise Failure(f"{path} cannot be written",
                      f"name a {kinds[0]} file in a directory that you may write to")


def cpu_list(text):
    """'0-2,5' as [0, 1, 2, 5]."""
    out = []
    for part in filter(None, (text or "").split(",")):
        first, _, last = part.partition("-")
        try:
            out += range(int(first), int(last or first) + 1)
        except ValueError as e:
            raise Failure(f"'{text}' is no list of CPUs", "write for example 0,1 or 0-3") from e
    return out


def is_root():
    """Does this process run as root?"""
    return os.geteuid() == 0


def log_texts(fd):
    """Lines that a descriptor of /dev/kmsg still has, without time stamps."""
    while True:
        try:
            record = os.read(fd, 8192)
        except OSError as e:
            if e.errno == errno.EPIPE:      # records were lost; go on with the next
                continue
            return
        if not record:
            return
        for line in record.decode("utf-8", "replace").splitlines():
            yield line.partition(";")[2]


class KernelLog:
    """Lines that mcube writes to the kernel's log after this object is made."""

    def __init__(self):
        self.fd = None
        try:
            self.fd = os.open(at("/dev/kmsg"), os.O_RDONLY | os.O_NONBLOCK)
            os.lseek(self.fd, 0, os.SEEK_END)
        except OSError:
            self.close()

    def lines(self):
        """Lines written since then, without time stamps; [] if the log may not be read."""
        if self.fd is None:
            return []
        return [text.removeprefix("mcube: ") for text in log_texts(self.fd)
                if text.startswith("mcube: ")]

    def close(self):
        """Close the log."""
        if self.fd is not None:
            os.close(self.fd)
            self.fd = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
