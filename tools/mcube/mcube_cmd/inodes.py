# SPDX-License-Identifier: GPL-2.0
"""Sizes and paths of files that are known by device and inode number.

The kernel has no call for this, so the mounted file systems are walked. A file that was
deleted meanwhile is not found.
"""

import os
import re

from . import host


def mounts():
    """{(major, minor): [mount point]} of the file systems that are mounted here."""
    out = {}
    for line in host.read("/proc/self/mountinfo", "").splitlines():
        fields = line.split()
        major, minor = map(int, fields[2].split(":"))
        point = re.sub(r"\\([0-7]{3})", lambda m: chr(int(m[1], 8)), fields[4])
        out.setdefault((major, minor), []).append(point)
    return out


def walk(top, wanted, found, page):
    """Look for inodes below a mount point, without entering other file systems."""
    try:
        device = os.lstat(top).st_dev
    except OSError:
        return
    folders = [top]
    while folders and wanted:
        try:
            entries = list(os.scandir(folders.pop()))
        except OSError:
            continue
        for entry in entries:
            try:
                if entry.inode() in wanted and entry.is_file(follow_symlinks=False):
                    state = entry.stat(follow_symlinks=False)
                    if state.st_dev == device:
                        wanted.discard(entry.inode())
                        found[entry.inode()] = (-(-state.st_size // page), entry.path)
                elif entry.is_dir(follow_symlinks=False) and \
                        entry.stat(follow_symlinks=False).st_dev == device:
                    folders.append(entry.path)
            except OSError:
                continue


def look_up(files, page):
    """{(major, minor, ino): (pages, path)} of those files that are found."""
    out, points = {}, mounts()
    for device in {f[:2] for f in files}:
        wanted, found = {f[2] for f in files if f[:2] == device}, {}
        for top in points.get(device, ()):
            walk(top, wanted, found, page)
        out |= {(*device, ino): known for ino, known in found.items()}
    # A block device that is read itself has the inode number of its node in the kernel's
    # own file system, which cannot be walked.
    return out
