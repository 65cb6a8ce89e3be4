# SPDX-License-Identifier: GPL-2.0
"""Doors between the rooms of the kernel code: which room may include which headers.

A room is one system. Its files lie in mm/mcube/ROOM/ and drivers/mcube/ROOM/, its hooks in
include/linux/mcube_ROOM.h and include/trace/events/mcube_ROOM.h. Doors are one-way. A file
may include every header of its own room, and the public headers of the rooms that its room
may see. Code outside all rooms, such as mm/page_alloc.c and mm/mcube/sysfs.c, may include
the public headers of every room.
"""

import os
import re

# Room: (rooms that it may see, its public headers beside the hooks).
ROOMS = {
    "map": ((), ("map.h",)),
    "alloc": (("map",), ("policy.h", "recolor.h")),
    "srm": (("map", "alloc"), ()),
    "ubm": ((), ()),
    "setcache": ((), ()),
    "sim": ((), ("shm.h",)),        # shared with the QEMU plugin
    "rocs": (("map", "alloc"), ()),
    "probe": (("map",), ()),
}
# Tests may include everything.
TESTS = ("mm/mcube/tests/", "tools/testing/mcube/")
FOLDERS = re.compile(r"(?:mm|drivers)/mcube/([^/]+)/(.+)")
HOOKS = re.compile(r"include/(?:linux|trace/events)/mcube_([^/]+)\.h")
INCLUDE = re.compile(r'\s*#\s*include\s+(["<])([^">]+)[">]')


def room_of(path):
    """Room that a file belongs to, or None."""
    m = FOLDERS.match(path) or HOOKS.fullmatch(path)
    return m[1] if m and m[1] in ROOMS else None


def is_public(path):
    """May code outside its room include the file?"""
    if HOOKS.fullmatch(path):
        return True
    m = FOLDERS.match(path)
    return m[2] in ROOMS[m[1]][1]


def resolved(path, name, quoted, known):
    """The known file that an include means, or None."""
    places = [f"include/{name}", os.path.normpath(name)]
    if quoted:
        places.insert(0, os.path.normpath(os.path.join(os.path.dirname(path), name)))
    if hit := next((p for p in places if p in known), None):
        return hit
    # With -I in a Makefile the folder is unknown; the end of the path identifies the file.
    if name.startswith("..") or "/" not in name and not FOLDERS.match(path):
        return None
    return next((k for k in sorted(known) if room_of(k) and k.endswith(f"/{name}")), None)


def included(path, text, known):
    """[(known file, config symbols around the line)] that a C file includes."""
    out, around = [], []
    for line in text.splitlines():
        if m := INCLUDE.match(line):
            if hit := resolved(path, m[2], m[1] == '"', known):
                out.append((hit, {s for names in around for s in names}))
        elif m := re.match(r"\s*#\s*(if|endif)(.*)", line):
            if m[1] == "if":
                around.append(re.findall(r"CONFIG_(\w+)", m[2]))
            elif around:
                around.pop()
    return out


def why_shut(path, target):
    """Reason why a file may not include another file, or None."""
    mine, other = room_of(path), room_of(target)
    if not other or mine == other or path.startswith(TESTS):
        return None
    if mine and other not in ROOMS[mine][0]:
        return f"room '{mine}' may not see room '{other}'"
    if not is_public(target):
        return f"{os.path.basename(target)} is private to room '{other}'"
    return None


def findings(files):
    """Forbidden includes among files, {path: text}: [text]."""
    return [f"{path}: includes {target}, but {why}"
            for path, text in sorted(files.items()) if path.endswith((".c", ".h"))
            for target, _ in included(path, text, files)
            if (why := why_shut(path, target))]
