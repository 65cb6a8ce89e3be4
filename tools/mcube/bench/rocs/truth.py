# SPDX-License-Identifier: GPL-2.0
"""bench-rocs: the sampled profile against the model's counts of each page.

ROCS knows the pages of a process by virtual address, and the model by frame. The guest
wrote the frames of the load's arrays down while the profile was taken; pages do not move
in that time.

rank correlation    Spearman's, of the pages' miss rates, with mean ranks for equal rates
limit               the same of samples that are drawn at random by the true rate of each page:
                    an unbiased sampler with as many samples has no higher correlation
"""

import random

from . import guest

PAGE = 4096
PRESENT, FRAME = 1 << 63, (1 << 55) - 1
# Pages with fewer requests in the profile than this are left out: they have no rate to speak of.
LEAST_REFS = 64


def frames(path):
    """{virtual address: frame} of the load's arrays."""
    out, address = {}, 0
    for line in path.read_text("utf-8").splitlines():
        if line.startswith("0x"):
            address = int(line.split()[0], 16)
            continue
        entry = int(line, 16)
        if entry & PRESENT:
            out[address] = entry & FRAME
        address += PAGE
    return out


def ranks(values):
    """The rank of each value; equal values get the mean of their ranks."""
    order = sorted(range(len(values)), key=values.__getitem__)
    out, i = [0.0] * len(values), 0
    while i < len(order):
        j = i
        while j < len(order) and values[order[j]] == values[order[i]]:
            j += 1
        for k in order[i:j]:
            out[k] = (i + j - 1) / 2
        i = j
    return out


def spearman(a, b):
    """Rank correlation; 0 if all values of one side are equal."""
    a, b = ranks(a), ranks(b)
    mean = (len(a) - 1) / 2
    product = sum((x - mean) * (y - mean) for x, y in zip(a, b))
    squares = sum((x - mean) ** 2 for x in a) * sum((y - mean) ** 2 for y in b)
    return product / squares ** 0.5 if squares else 0.0


def sampled(page):
    """The miss rate of a page in the profile."""
    if "misses" in page:
        return int(page["misses"]) / max(1, int(page["samples"]))
    return int(page["rate_65536"]) / 65536


def pages(name, base, interval):
    """[(address, sampled rate, samples, true rate, requests, mapped)] of a profile."""
    true = guest.intervals(name)[interval]
    frame_of = frames(base.with_name(f"{base.name}.frames"))
    out = []
    for p in guest.table(base.with_name(f"{base.name}.profile")):
        address = int(p["address"], 16)
        refs, misses = true.get(frame_of.get(address), (0, 0))
        if refs:
            out.append((address, sampled(p), int(p["samples"]), misses / refs, refs,
                        int(p["mapped"])))
    return out


def drawn(rate, samples, rng):
    """The miss rate of samples that miss at random."""
    return sum(rng.random() < rate for _ in range(samples)) / max(1, samples)


def compare(found):
    """Summary of pages(): rank correlation and its limit, number of pages, samples of a page."""
    kept = [p for p in found if p[4] >= LEAST_REFS]
    true, rng = [p[3] for p in kept], random.Random(1)
    return {"rank_corr": spearman([p[1] for p in kept], true),
            "rank_corr_limit": spearman([drawn(p[3], p[2], rng) for p in kept], true),
            "pages": len(kept), "pages_left_out": len(found) - len(kept),
            "samples": sum(p[2] for p in kept)}
