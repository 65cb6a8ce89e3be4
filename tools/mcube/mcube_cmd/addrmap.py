# SPDX-License-Identifier: GPL-2.0
"""Color and bank of a page frame, by the map that the kernel has in force.

A dimension (color or bank) is a list of XOR masks and of tables. The parity of the
address under mask i is bit i of the value. Entry (pfn >> shift) % length of a table
counts in units of the number of values that masks and tables before it have:

    value = parities + sum of table[(pfn >> shift) % len] * unit

This module computes the value from the text in sysfs and shares no code with the kernel.
"""

import re

from . import host
from .term import Failure, bar

MAP = "/sys/kernel/mm/mcube/map"
PAGE_SHIFT = 12
LOW_BITS = 12           # of a frame number, looked up at once
MAX_VALUES = 256


def parity(x):
    """1 if an odd number of bits is set."""
    return x.bit_count() & 1


def bits_as_mask(text):
    """How to write a list of address bits, as other tools print it; '' for other text."""
    words = re.split(r"[\s,]+", text)
    if not all(re.fullmatch(r"[0-9]{1,2}", w) and int(w) < 52 for w in words):
        return ""
    mask = sum(1 << b for b in sorted(set(map(int, words))))
    return f"the parity of bits {', '.join(words)} is one mask, {mask:#x}; "


class Dim:
    """How one property of a page follows from its address."""

    def __init__(self, text):
        self.text = " ".join(re.sub(r"\s*,\s*(?=0x|table)", " ", text, flags=re.I).split())
        self.masks, self.tables = [], []
        if not self.text:
            raise Failure("an empty address map", "write masks, a table or 'none'")
        for word in [] if self.text == "none" else self.text.split():
            try:
                self.add(word)
            except ValueError as e:
                raise Failure(f"'{word}' is no part of an address map", bits_as_mask(self.text)
                              + "write \"0x1000 0x2000\", \"table:SHIFT:v,v,v\", both, or "
                              "\"none\"; several masks and tables are separated by spaces"
                              ) from e
        self.check(text)
        self.nr = 1 << len(self.masks)
        self.units = []
        for _, table in self.tables:
            self.units.append(self.nr)
            self.nr *= max(table) + 1
        if self.nr > MAX_VALUES:
            raise Failure(f"'{text}': {self.nr} values", f"a map has at most {MAX_VALUES}")
        frames = [m >> PAGE_SHIFT for m in self.masks]
        self.low = [self.parities(frames, low) for low in range(1 << LOW_BITS)]
        self.frames, self.high = frames, {}

    def check(self, text):
        """Refuse masks that depend on each other, as the kernel does."""
        basis = []
        for mask in self.masks:
            rest = mask >> PAGE_SHIFT
            for b in basis:
                rest = min(rest, rest ^ b)
            if not rest:
                raise Failure(f"'{text}': mask {mask:#x} says nothing that the masks before it do "
                              "not say, so some values never occur",
                              "give each function of address bits from 12 up once")
            basis.append(rest)
        for _, table in self.tables:
            if len(set(table)) != max(table) + 1 or len(set(table)) == 1:
                raise Failure(f"'{text}': a table has two values or more, and uses every value "
                              "from 0 to its largest", "leave no number out")

    def add(self, word):
        """Take in one word of the text."""
        if word.startswith("table:"):
            _, shift, values = word.split(":")
            self.tables.append((int(shift), [int(v) for v in values.split(",")]))
            return
        if not word.lower().startswith("0x"):
            raise ValueError(word)
        self.masks.append(int(word, 16))

    @staticmethod
    def parities(masks, pfn):
        """The bits that the masks give."""
        return sum(parity(pfn & m) << i for i, m in enumerate(masks))

    def value(self, pfn):
        """Color or bank of a frame."""
        top = pfn >> LOW_BITS
        high = self.high.get(top)
        if high is None:
            high = self.high[top] = self.parities(self.frames, top << LOW_BITS)
        out = self.low[pfn & (1 << LOW_BITS) - 1] ^ high
        for (shift, table), unit in zip(self.tables, self.units):
            out += table[(pfn >> shift) % len(table)] * unit
        return out

    def values(self, pfns):
        """Colors or banks of frames."""
        return [self.value(pfn) for pfn in pfns]

    def counts(self, pfns):
        """How many of the frames have each value."""
        out = [0] * self.nr
        for pfn in pfns:
            out[self.value(pfn)] += 1
        return out

    def steps(self, pfn):
        """Steps that give the value: [(mask or table as text, what it gives)]."""
        out = [(f"{m:#x}", parity((pfn << PAGE_SHIFT) & m)) for m in self.masks]
        for shift, table in self.tables:
            i = (pfn >> shift) % len(table)
            out.append((f"table entry {i}", table[i]))
        return out

    def top_bit(self):
        """Highest address bit that any mask looks at; -1 without masks."""
        return max(self.masks, default=0).bit_length() - 1

    def plain_bits(self):
        """Address bits, if each mask is a single bit; else None."""
        if self.tables or any(m.bit_count() != 1 for m in self.masks):
            return None
        return sorted(m.bit_length() - 1 for m in self.masks)


LEVELS = {"L2": "of L2 alone", "last": "of the last-level cache", "given": "as root wrote them"}


class Map:
    """Color and bank dimension, and where they come from."""

    def __init__(self, color, bank, source="given", color_bytes=0, level="given"):
        self.color, self.bank = Dim(color), Dim(bank)
        self.source, self.color_bytes, self.level = source, color_bytes, level

    @classmethod
    def of_kernel(cls):
        """The map in force; None without an mcube kernel."""
        color, bank = host.read(f"{MAP}/color_map"), host.read(f"{MAP}/bank_map")
        if color is None or bank is None:
            return None
        return cls(color, bank, host.read(f"{MAP}/source", "?"),
                   host.number(f"{MAP}/color_bytes", 0),
                   host.read(f"{MAP}/level", "?"))

    @classmethod
    def of_args(cls, args):
        """The kernel's map, or parts of it as given on the command line."""
        found = cls.of_kernel()
        if args.color_map is None and args.bank_map is None:
            if found is None and not host.names("/sys/kernel"):
                raise Failure("/sys is not mounted, so the address map cannot be seen",
                              "mount -t sysfs sysfs /sys, or give the map by --color-map and "
                              "--bank-map")
            if found is None:
                raise Failure(f"this kernel has no address map ({MAP} is not there)",
                              "boot an mcube kernel (see 'mcube check'), or give the map by "
                              "--color-map and --bank-map")
            return found
        return cls(args.color_map or (found.color.text if found else "none"),
                   args.bank_map or (found.bank.text if found else "none"))

    def dims(self):
        """[(name, dimension)]."""
        return [("color", self.color), ("bank", self.bank)]

    def as_json(self):
        """For JSON output."""
        return {"colors": self.color.nr, "banks": self.bank.nr, "color_map": self.color.text,
                "bank_map": self.bank.text, "color_bytes": self.color_bytes,
                "source": self.source, "level": self.level}


def arguments(parser):
    """Options of subcommands that work on a map."""
    parser.add_argument("--color-map", metavar="MAP", help="use this map instead of the kernel's, "
                        "for example \"0x1000 0x2000\"")
    parser.add_argument("--bank-map", metavar="MAP", help="use this bank map instead of the "
                        "kernel's")


def run_lengths(frames):
    """Lengths of the runs of consecutive frames, upward or downward."""
    out = []
    last = step = None
    for pfn in frames:
        if last is not None and pfn - last in (1, -1) and step in (None, pfn - last):
            step = pfn - last
            out[-1] += 1
        else:
            step = None
            out.append(1)
        last = pfn
    return out


def grid(found, pfns):
    """How many frames have each pair: rows are banks, columns colors."""
    out = [[0] * found.color.nr for _ in range(found.bank.nr)]
    for pfn in pfns:
        out[found.bank.value(pfn)][found.color.value(pfn)] += 1
    return out


def heat(dim, pfns):
    """One character per value of a dimension."""
    return bar(dim.values(pfns), dim.nr)
