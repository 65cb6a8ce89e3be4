# SPDX-License-Identifier: GPL-2.0
"""Text files of [section] lines and NAME = VALUE lines: profiles, sets of events."""

import re

from .term import Failure


def files(*folders):
    """Paths of the files NAME.conf in folders by name, those of the last folder last."""
    return {path.stem: path for folder in folders for path in sorted(folder.glob("*.conf"))}


def read(path, names, unreadable, expected):
    """[(section, name, value)] of a file; the last two arguments are advice for errors."""
    out, into = [], None
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as e:
        raise Failure(f"{path}: cannot be read: {e}", unreadable) from e
    for n, line in enumerate(lines, 1):
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        if m := re.fullmatch(r"\[(\w+)\]", line):
            into = m[1] if m[1] in names else None
        key, equals, value = (x.strip() for x in line.partition("="))
        if into is None or not m and (not equals or not key or not value):
            raise Failure(f"{path}:{n}: '{line}' is not understood", expected)
        if not m:
            out.append((into, key, value))
    return out
