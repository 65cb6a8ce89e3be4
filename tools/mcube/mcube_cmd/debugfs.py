# SPDX-License-Identifier: GPL-2.0
"""Tables that the kernel shows in debugfs, where only root reads.

The first line of a file names its columns.
"""

import re

from . import host
from .term import Failure


def unescape(word):
    r"""A word in which the kernel wrote blanks as \040."""
    return re.sub(r"\\([0-7]{3})", lambda m: chr(int(m[1], 8)), word)


def table(path):
    """Rows of a file as dictionaries; None if it cannot be read."""
    text = host.read(path)
    if text is None:
        return None
    head, *lines = text.splitlines() or [""]
    return [dict(zip(head.split(), line.split())) for line in lines]


def why_hidden(folder, what):
    """Why a folder cannot be read, and what to do; what is a part of the sentence."""
    if not host.is_root():
        return Failure(f"only root may see {what}", "run it by sudo")
    return Failure(f"{folder} cannot be read",
                   "mount -t debugfs debugfs /sys/kernel/debug; kernel lockdown also hides it")
