# SPDX-License-Identifier: GPL-2.0
"""Memory modules as the firmware describes them: type 17 of SMBIOS, which root may read.

Serial numbers, asset tags and manufacturers stay out.
"""

import re
import struct

from . import host

TABLE = "/sys/firmware/dmi/tables/DMI"
MODULE = 17
TYPES = {0x12: "DDR", 0x13: "DDR2", 0x18: "DDR3", 0x1a: "DDR4", 0x1b: "LPDDR", 0x1c: "LPDDR2",
         0x1d: "LPDDR3", 0x1e: "LPDDR4", 0x22: "DDR5", 0x23: "LPDDR5"}


def structures(data):
    """(type, formatted part, strings) of each structure of an SMBIOS table."""
    at = 0
    while at + 4 <= len(data):
        kind, length = data[at], data[at + 1]
        end = data.find(b"\0\0", at + length)
        if length < 4 or end < 0:
            return
        text = data[at + length:end].decode("latin-1").split("\0")
        yield kind, data[at:at + length], text
        at = end + 2


def number(part, at, form):
    """A number of a structure; 0 where the structure is too short for it."""
    size = struct.calcsize(form)
    return struct.unpack_from(form, part, at)[0] if at + size <= len(part) else 0


def string(part, at, text):
    """A string of a structure, of letters, digits and few signs."""
    i = number(part, at, "<B")
    found = text[i - 1] if 0 < i <= len(text) else ""
    return re.sub(r"[^\w .:#/-]", "", found).strip()[:40]


def modules():
    """Modules that are there, as dictionaries; None if the table cannot be read.

    Numbers that the firmware does not tell are 0.
    """
    try:
        data = host.at(TABLE).read_bytes()
    except OSError:
        return None
    out = []
    for kind, part, text in structures(data):
        size = number(part, 0x0c, "<H")
        if kind != MODULE or not size:
            continue
        if size == 0x7fff:
            mebi = number(part, 0x1c, "<I") & 0x7fffffff
        elif size == 0xffff:
            mebi = 0
        else:
            mebi = (size & 0x7fff) >> (10 if size & 0x8000 else 0)
        out.append({"slot": string(part, 0x10, text), "bank": string(part, 0x11, text),
                    "type": TYPES.get(number(part, 0x12, "<B"), "?"), "mebi": mebi,
                    "ranks": number(part, 0x1b, "<B") & 15,
                    "mega_transfers": number(part, 0x20, "<H") or number(part, 0x15, "<H")})
    return out
