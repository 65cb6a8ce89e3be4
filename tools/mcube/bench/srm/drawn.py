# SPDX-License-Identifier: GPL-2.0
"""bench-drawn: machine descriptions that nobody chose.

A machine is a set of keys over a base description, whose first level, latencies and DRAM it
keeps. Machine n of a seed is the same whatever the number of machines, so that a run with
more machines goes on where a shorter run ended.

Drawn are, each value with equal probability:

colors          16 to 128, a power of two: those of the machines in machines/
ways            8, 12, 16 or 20
slices          1, 2, 4 or 8; drawn anew with colors and ways until the last level has from
                1 to 8 MiB
hash            of the slice: a mask for each bit of its number, each address bit from a
                line's size up to the guest's memory. Masks that, above the set's bits, are
                not independent are drawn anew, since some slices would have no line of
                some sets
replacement     of the last level: LRU or SRRIP
second level    none, or 128 KiB to 1 MiB and a quarter of the last level at most, with 4, 8
                or 16 ways
file system     ext4 or XFS

The kernel's color map has the bits of the set and, if the kernel knows the hash, the bits of
the masks that name the page. The lines of two pages of one color then compete for the same
ways. Without the hash a color is a share of every slice, and pages of a color may lie in a
few slices or in all.
"""

import random

from lib.modelled import Model

BASE = "sliced"
PAGE, LINE = 4096, 64
# Guests have 2 GiB: addresses end at bit 30.
TOP = 31
COLORS = (16, 32, 64, 128)
WAYS = (8, 12, 16, 20)
SLICES = (1, 2, 4, 8)
SIZES = (1024, 8192)                    # KiB of the last level
SECOND = (0, 128, 256, 512, 1024)       # KiB
SECOND_WAYS = (4, 8, 16)
POLICIES = ("lru", "srrip")
FILE_SYSTEMS = ("ext4", "xfs")


def bits(number):
    """Bits of a power of two."""
    return number.bit_length() - 1


def independent(masks):
    """Is no XOR of some of the masks zero?"""
    basis = []
    for m in masks:
        for b in basis:
            m = min(m, m ^ b)
        if not m:
            return False
        basis.append(m)
    return True


def hash_of(rng, slices, low):
    """Masks of the slice; low is the lowest bit above those of the set."""
    while True:
        masks = [rng.getrandbits(TOP - bits(LINE)) << bits(LINE) for _ in range(bits(slices))]
        if independent([m >> low for m in masks]):
            return masks


def last_level(rng):
    """(colors, ways, slices, KiB) of a last level."""
    while True:
        colors, ways, slices = rng.choice(COLORS), rng.choice(WAYS), rng.choice(SLICES)
        kib = colors * (PAGE >> 10) * ways * slices
        if SIZES[0] <= kib <= SIZES[1]:
            return colors, ways, slices, kib


def machine(seed, n, known=True):
    """(keys, file system) of machine n of a seed; known: the kernel knows the slice hash."""
    rng = random.Random(f"{seed} {n}")
    colors, ways, slices, kib = last_level(rng)
    masks = hash_of(rng, slices, bits(PAGE) + bits(colors))
    second = rng.choice([k for k in SECOND if 4 * k <= kib])
    colored = [PAGE << i for i in range(bits(colors))] + [m & -PAGE for m in masks] * known
    name = f"drawn-{seed}-{n}" + ("" if known else "-sets")
    keys = {"name": name, "llc.size": f"{kib}K", "llc.ways": ways,
            "llc.slices": slices, "llc.hash": " ".join(f"{m:#x}" for m in masks) or "none",
            "llc.policy": rng.choice(POLICIES), "l2.size": f"{second}K",
            "l2.ways": rng.choice(SECOND_WAYS),
            "color_map": " ".join(f"{m:#x}" for m in colored)}
    return keys, rng.choice(FILE_SYSTEMS)


def model(seed, n, known=True):
    """(Model, file system) of machine n of a seed; known: the kernel knows the slice hash."""
    keys, fs = machine(seed, n, known)
    return Model(BASE, keys), fs


def text(description):
    """A description as a machine file."""
    return "".join(f"{k} = {v}\n" for k, v in description.items())


def short(description):
    """A description in a few words."""
    d = description
    second = "no L2" if d["l2.size"] == "0K" else f"L2 {d['l2.size']}/{d['l2.ways']}"
    return (f"{d['llc.size']}/{d['llc.ways']}, {1 << len(d['color_map'].split())} colors, "
            f"{d['llc.slices']} slices, {d['llc.policy']}, {second}")
