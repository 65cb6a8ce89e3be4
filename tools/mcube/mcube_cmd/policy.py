# SPDX-License-Identifier: GPL-2.0
"""Policies: their files in sysfs, and profiles that are applied whole or not at all.

A profile is a file NAME.conf in profiles/ beside this package or in
/etc/mcube/profiles/:

    [profile]
    title = one line
    module = mcube_x            kernel module that makes the files, if it is a module
    wants = banks               what the address map has to know for a gain: colors, banks
    [apply]                     written in this order
    alloc/fill_order = auto
    alloc/enabled = 1
    [off]                       undoes [apply]; `mcube off` writes [off] of each profile
    alloc/enabled = 0
    [allowed]                   for error messages
    alloc/fill_order = shuffle, paper, even or auto

Files are relative to /sys/kernel/mm/mcube. A file may be written more than once.
A further system adds a profile of this form, and nothing to this module.
"""

import errno
import os
import re
from pathlib import Path

from . import host, machine, sections
from .term import Failure

SYSFS = "/sys/kernel/mm/mcube"
FOLDERS = (Path(__file__).resolve().parents[1] / "profiles", Path("/etc/mcube/profiles"))
SECTIONS = ("profile", "apply", "off", "allowed")
WORDS = {errno.EINVAL: "is no value that it takes", errno.ERANGE: "is out of range",
         errno.EBUSY: "cannot be set while it is in use", errno.ENOMEM: "needs more memory "
         "than there is"}


class Profile:
    """One profile, read from its file."""

    def __init__(self, path):
        self.path, self.name = path, path.stem
        self.section = {s: [] for s in SECTIONS}
        for into, key, value in sections.read(
                path, SECTIONS, "make it a text file that all users may read, or remove it",
                "write [profile], [apply], [off] or [allowed], then lines FILE = VALUE"):
            self.section[into].append((key, value))
        self.title = dict(self.section["profile"]).get("title", "")
        self.module = dict(self.section["profile"]).get("module")
        self.wants = dict(self.section["profile"]).get("wants", "").split()
        for key, _ in self.apply + self.off:
            if key.startswith("/") or ".." in key.split("/"):
                raise Failure(f"{path}: '{key}' is not below {SYSFS}",
                              "name files relative to it, such as alloc/enabled")

    @property
    def apply(self):
        """[(file, value)] to write."""
        return self.section["apply"]

    @property
    def off(self):
        """[(file, value)] that undo it."""
        return self.section["off"]

    def in_force(self):
        """Does every file have the value that applying would leave?"""
        return bool(self.apply) and all(same(current(f), v) for f, v in dict(self.apply).items())

    def part_of(self):
        """Names of the profiles in force that set all files of this profile, and more."""
        mine = dict(self.apply).items()
        return [p.name for p in profiles().values()
                if mine < dict(p.apply).items() and p.in_force()]

    def lacks(self):
        """What the profile wants and the address map in force does not know."""
        return [d for d in self.wants if host.number(f"{SYSFS}/map/nr_{d}", 1) < 2]

    def doubt(self):
        """A sentence on what the profile lacks; None if it lacks nothing."""
        if not (lacks := self.lacks()):
            return None
        return (f"the address map has no {' and no '.join(lacks)}, and without them {self.name} "
                "may lose more than it gains")

    def available(self):
        """Does this kernel have all files of the profile?"""
        return all(current(f) is not None for f, _ in self.apply)


def profiles():
    """All profiles by name, those of the administrator last."""
    return {name: Profile(path) for name, path in sections.files(*FOLDERS).items()}


def in_force():
    """Names of the profiles in force, without those that are part of another."""
    return [p.name for p in profiles().values() if p.in_force() and not p.part_of()]


def profile(name):
    """One profile."""
    known = profiles()
    if name not in known:
        raise Failure(f"there is no profile '{name}'",
                      f"choose from: {', '.join(known) or 'none'}; 'mcube apply --list' "
                      "describes them")
    return known[name]


def allowed(file):
    """What a file takes, for messages; '' if no profile says."""
    found = [v for p in profiles().values() for f, v in p.section["allowed"] if f == file]
    return found[0] if found else ""


def present():
    """Has the running kernel mcube?"""
    return host.at(SYSFS).is_dir()


def need_kernel():
    """Refuse to go on without an mcube kernel."""
    if not present() and not host.names("/sys/kernel"):
        raise Failure("/sys is not mounted, so no setting of this kernel can be seen",
                      "mount -t sysfs sysfs /sys")
    if not present():
        raise Failure(f"this kernel has no mcube: {SYSFS} is not there",
                      "boot an mcube kernel; 'mcube check' tells what is missing")


def current(file):
    """A file's value, of '[shuffle] paper' the word in brackets; None if there is no file."""
    text = host.read(f"{SYSFS}/{file}")
    m = re.search(r"\[([^\]]*)\]", text or "")
    return m[1] if m else text


def same(a, b):
    """Are two values the same to the kernel, which reads 0x1 as 1?"""
    try:
        return a == b or a is not None and int(a, 0) == int(b, 0)
    except ValueError:
        return a is not None and a.split() == b.replace(",", " ").split()


def refused(file, value, error, lines):
    """The Failure for a write that the kernel refused."""
    path = f"{SYSFS}/{file}"
    if error.errno in (errno.EACCES, errno.EPERM):
        if host.is_root():
            return Failure(f"{path} may not be written, although this is root",
                           "leave the container or user namespace, or have a security module "
                           "allow it")
        return Failure(f"{path} may only be written by root", "run it by sudo")
    if error.errno == errno.EROFS:
        return Failure(f"{path} cannot be written: /sys is mounted read-only",
                       "run it on the host, or in a container that may change the kernel "
                       "(docker run --privileged)")
    if error.errno == errno.ENOENT:
        return Failure(f"this kernel has no {path}", "see the options of CONFIG_MCUBE that it "
                       "was built with, and 'mcube check'")
    text = f"{path}: the kernel refused '{value}' ({os.strerror(error.errno)})"
    if error.errno in WORDS:
        text = f"{path}: '{value}' {WORDS[error.errno]}"
    limits = allowed(file)
    advice = f"allowed: {limits}; " if limits else ""
    if lines:
        text += f"\nthe kernel says: {lines[-1]}"
    else:
        advice += "the kernel's log may say more: dmesg | grep mcube; "
    if error.errno == errno.EBUSY:
        advice += "'mcube off' first, change it, then 'mcube apply' again"
    else:
        advice += f"it is still '{current(file)}'; see 'mcube status'"
    return Failure(text, advice)


def write(file, value):
    """Write one file, or raise a Failure with the cause and what to do."""
    with host.KernelLog() as log:
        try:
            host.write(f"{SYSFS}/{file}", value)
        except OSError as e:
            raise refused(file, value, e, log.lines()) from e


def write_all(pairs):
    """Write files in order; if one write is refused, undo the writes before it.

    Returns [(file, before, after)] of what changed.
    """
    before, done = {}, []
    try:
        for file, value in pairs:
            old = current(file)
            write(file, value)
            before.setdefault(file, old)
            done.append((file, old))
    except Failure as e:
        left = []
        for file, old in reversed(done):
            try:
                write(file, old)
            except Failure:
                left.append(file)
        if left:
            e.args = (f"{e}\nand {', '.join(left)} could not be set back",)
        elif done:
            e.args = (f"{e}\nall settings are as before",)
        raise
    return [(f, old, current(f)) for f, old in before.items() if old != current(f)]


def as_json(changed):
    """What write_all() or switch_off() changed, for JSON output."""
    return [{"file": f, "before": a, "after": b} for f, a, b in changed]


def show(changed):
    """The same for people."""
    for file, old, new in changed:
        print(f"{SYSFS}/{file}: {old or '-'} -> {new or '-'}")


def off_pairs():
    """[(file, value)] that switch everything off, of all profiles, each once.

    A file comes at its last place: the allocator goes off after the policies that use it.
    """
    out = {}
    for p in profiles().values():
        for file, value in p.off:
            if current(file) is not None:
                out.pop(file, None)
                out[file] = value
    return list(out.items())


def switch_off():
    """Switch all policies off; [(file, before, after)], and [Failure] of refused writes."""
    changed, failed = [], []
    for file, value in off_pairs():
        old = current(file)
        if same(old, value):
            continue
        try:
            write(file, value)
            changed.append((file, old, current(file)))
        except Failure as e:
            failed.append(e)
    return changed, failed


class Saved:
    """The policies as they are now, to be put back later."""

    def __init__(self):
        self.switches = dict(off_pairs())
        files = {f for p in profiles().values() for f, _ in p.apply + p.off}
        self.values = {f: current(f) for f in sorted(files) if current(f) is not None}

    def restore(self):
        """Restore files that differ: switch off, write the other files, then the switches."""
        if all(current(f) == v for f, v in self.values.items()):
            return
        switch_off()
        for file in sorted(self.values, key=lambda f: f in self.switches):
            if current(file) != self.values[file]:
                write(file, self.values[file])


def systems():
    """Names of the directories below sysfs that hold a policy."""
    return [n for n in host.names(SYSFS) if n != "map" and host.at(f"{SYSFS}/{n}").is_dir()]


def settings(system):
    """{file: value} of a system."""
    at = f"{SYSFS}/{system}"
    return {n: host.read(f"{at}/{n}", "?") for n in host.names(at)
            if host.at(f"{at}/{n}").is_file()}


def counters(system):
    """{counter: value} of a system; only those that this user may read."""
    at = f"{SYSFS}/{system}/stats"
    read = ((n, host.number(f"{at}/{n}")) for n in host.names(at))
    return {n: value for n, value in read if value is not None}


def why_not_writable():
    """A sentence on why this process cannot change policies; None if it can."""
    switch = f"{SYSFS}/alloc/enabled"
    if not host.is_root():
        return "not root"
    if os.access(host.at(switch), os.W_OK):
        return None
    if machine.in_user_namespace():
        return "root of a user namespace, not of the machine"
    return "/sys is read-only here, as in most containers"
