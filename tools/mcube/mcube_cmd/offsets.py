# SPDX-License-Identifier: GPL-2.0
"""Cost of a pair of accesses over the distance of their addresses: who measures it.

    Module    /dev/mcube_probe: uncached memory, by the kernel; needs root
    Core      mcube-probe offsets: flushed lines of huge pages, by a process

Each yields (offset, cycles), with less than was asked for where memory has holes or ends.
"""

import errno
import json
import os
import re
import subprocess

from . import host, module, perf, probe
from .term import Failure

DEVICE = "/dev/mcube_probe"
LINE = 64
FIELDS = ("first", "held_mib", "repeat", "tsc_khz", "cached", "uncached", "obeyed")


class Module:
    """The kernel module, with the device open so that all measurements see the same memory."""

    unit = "cycles of the time-stamp counter, uncached memory"

    def __init__(self, mebi):
        self.mebi, self.header, self.fd = mebi, {}, None
        module.load("mcube_probe", DEVICE)
        try:
            self.fd = os.open(host.at(DEVICE), os.O_RDWR | os.O_CLOEXEC)
        except OSError as e:
            raise refused(e) from e

    def measure(self, start, step, count):
        """Pairs from a distance on."""
        with host.KernelLog() as log:
            try:
                self.ask(f"mib={self.mebi} start={start} step={step} count={count}")
            except OSError as e:
                said = log.lines()
                raise Failure(f"{DEVICE}: {os.strerror(e.errno)}"
                              + (f"\nthe kernel says: {said[-1]}" if said else ""),
                              "ask for less memory by --mib") from e
        lines = self.lines()
        head = next(lines, "")
        self.header = {k: v for k, v in re.findall(r"(\w+)=(\S+)", head) if k in FIELDS}
        if self.header.get("obeyed") != "yes":
            raise Failure("this machine does not obey: uncached memory costs "
                          f"{self.header.get('uncached', '?')} cycles a pair, cached memory "
                          f"{self.header.get('cached', '?')}",
                          "a hypervisor or an emulator is below: measure on the host, or by "
                          "--core without the module")
        next(lines, "")
        for line in lines:
            offset, _, median = line.split()
            yield int(offset), float(median)

    def ask(self, plan):
        """Write what to measure."""
        os.write(self.fd, plan.encode())

    def lines(self):
        """Lines that the device has to say."""
        rest = ""
        while data := os.read(self.fd, 4096).decode():
            *whole, rest = (rest + data).split("\n")
            yield from whole

    def close(self):
        """The memory goes back."""
        if self.fd is not None:
            os.close(self.fd)
            self.fd = None


def refused(error):
    """The Failure for a device that cannot be opened."""
    advice = "measure by --core"
    if error.errno == errno.EBUSY:
        advice = "another process measures: wait for it"
    elif error.errno in (errno.EPERM, errno.EACCES):
        advice = f"kernel lockdown or a container forbids it; {advice}" if host.is_root() else \
            "run it by sudo"
    return Failure(f"{DEVICE}: {os.strerror(error.errno)}", advice)


class Core:
    """The program, which holds its memory from one measurement to the next."""

    unit = "cycles of the time-stamp counter, flushed lines"

    def __init__(self, mebi):
        self.header = {}
        words = ["offsets", "-M", str(mebi)]
        if perf.model():
            words += ["-t", "model"]
            self.unit = "cycles of the modelled machine"
        # pylint: disable=consider-using-with
        self.process = subprocess.Popen(
            [probe.program(), *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            text=True, start_new_session=True)

    def measure(self, start, step, count):
        """Pairs from a distance on."""
        try:
            self.process.stdin.write(f"{start} {step} {count}\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass            # what it says before it ends tells why
        for line in self.process.stdout:
            row = json.loads(line)
            if "error" in row:
                raise Failure(row["error"], row.get("next", ""))
            if "offset" in row:
                yield row["offset"], row["cycles"]
            elif "header" in row:
                self.header = row["header"]
            elif "result" in row:
                return
        raise Failure(f"mcube-probe ended with status {self.process.wait()}",
                      "run it by itself: mcube-probe offsets -M 64")

    def close(self):
        """End the program."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        try:
            self.process.stdin.close()
        except BrokenPipeError:
            pass


def save(path, unit, levels):
    """Write the pairs of all levels to a file."""
    pairs = {offset: cycles for level in levels for offset, cycles in level}
    try:
        with open(path, "w", encoding="utf-8") as f:
            f.write(json.dumps({"unit": unit}) + "\n")
            for offset in sorted(pairs):
                f.write(json.dumps({"offset": offset, "cycles": pairs[offset]}) + "\n")
    except OSError as e:
        raise Failure(f"{path}: cannot be written: {os.strerror(e.errno)}",
                      "name a file in a directory that you may write to") from e
