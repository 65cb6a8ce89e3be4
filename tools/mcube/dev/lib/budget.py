# SPDX-License-Identifier: GPL-2.0
"""Limits on the size of a patch, and on edits of existing kernel files.

A limit holds for the lines that a patch adds outside tests, tools and documentation. Edits
of existing kernel files count for a room: the room that the X-Mcube-Room header of the patch
names, or else the room of its X-Mcube-Config symbols, or else the room of its files. Edits
without a room count for 'none', which has the same limits.
"""

from .doors import ROOMS, room_of

PATCH_LINES = 900
ROOM_HUNKS, ROOM_LINES, ALL_LINES = 20, 120, 600
UNCOUNTED = ("tools/", "Documentation/", "mm/mcube/tests/")
NONE = "none"
# Symbols that are not named after their room.
SYMBOLS = {"MCUBE": "map"}


def edits(patch):
    """(hunks, added lines) in existing files."""
    rows = [x for diff in patch.diffs.values() for x in diff.splitlines()]
    return (sum(x.startswith("@@") for x in rows),
            sum(x.startswith("+") and not x.startswith("+++") for x in rows))


def room(patch, files):
    """The room that a patch's edits of existing files count for."""
    if named := patch.header("X-Mcube-Room"):
        return named
    for symbol in patch.config:
        words = symbol.lower().split("_")
        name = SYMBOLS.get(symbol) or next((w for w in words if w in ROOMS), None)
        if name:
            return name
    return next((r for r in map(room_of, files) if r), NONE)


def size(patch, files):
    """Lines that a patch adds where they count; files is {path: text} of the new files."""
    old = sum(x.startswith("+") and not x.startswith("+++")
              for path, diff in patch.diffs.items() if not path.startswith(UNCOUNTED)
              for x in diff.splitlines())
    return old + sum(text.count("\n") for path, text in files.items()
                     if not path.startswith(UNCOUNTED))


def sizes(patches, files_of):
    """([line to print], [finding]): lines added by each patch."""
    lines, wrong = [], []
    for patch in patches:
        n = size(patch, files_of(patch))
        lines.append(f"{n:5} lines added by {patch.name}")
        if n > PATCH_LINES:
            wrong.append(f"patches/{patch.name}: adds {n} lines outside tests, tools and "
                         f"documentation, the limit is {PATCH_LINES}")
    return lines, wrong


def rooms(patches, files_of):
    """([line to print], [finding]): edits of existing kernel files by room."""
    total, wrong = {}, []
    for patch in patches:
        hunks, added = edits(patch)
        if hunks:
            name = room(patch, files_of(patch))
            before = total.get(name, (0, 0))
            total[name] = before[0] + hunks, before[1] + added
    lines = [f"{name}: {h} hunks (budget {ROOM_HUNKS}), {n} added lines (budget {ROOM_LINES})"
             for name, (h, n) in total.items()]
    wrong += [f"room '{name}' is over its budget: {h} hunks, {n} added lines"
              for name, (h, n) in total.items() if h > ROOM_HUNKS or n > ROOM_LINES]
    wrong += [f"X-Mcube-Room names '{name}', which is no room"
              for name in total if name not in ROOMS and name != NONE]
    hunks, added = (sum(x) for x in zip(*total.values())) if total else (0, 0)
    lines.append(f"all: {hunks} hunks, {added} added lines (budget {ALL_LINES})")
    if added > ALL_LINES:
        wrong.append(f"over the budget of {ALL_LINES} added lines in existing files")
    return lines, wrong
