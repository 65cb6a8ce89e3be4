# SPDX-License-Identifier: GPL-2.0
"""mcube map verify, and probe --colors: what timing says of the color map, level by level.

For each level the map in force is tested where it is that level's, else the masks that the
caches' description gives. mcube-probe times the pages; this module chooses what to test, and says
what was found in words that claim no more.
"""

import os
import re

from . import addrmap, machine, perf, probe
from .term import Failure, output, size

HUGE = 21       # address bits below this one are the host's wherever 2 MiB pages back a guest
UNKNOWN = {"holds": "holds", "does not hold": "DOES NOT HOLD", "unknown": "cannot be known"}


def given_caches(texts):
    """Caches as --cache LEVEL:SIZE:WAYS describes them."""
    out = []
    for text in texts:
        m = re.fullmatch(r"([23]):(\d+)([KM]?):(\d+)(?::(\d+))?", text)
        number = int(m[2]) << {"": 0, "K": 10, "M": 20}[m[3]] if m else 0
        line, ways = (int(m[5] or 64), int(m[4])) if m else (0, 0)
        if not number or not ways or not line or number % (ways * line):
            raise Failure(f"'{text}' describes no cache", "write LEVEL:SIZE:WAYS, such as 2:2M:16")
        out.append(machine.Cache(int(m[1]), "Unified", line, 1, ways, number // ways // line))
    return sorted(out, key=lambda c: c.level)


def caches():
    """The caches of this machine: the modelled ones where a model has them."""
    if model := perf.model():
        sets, ways, line = (int(model.get(n) or 0) for n in ("llc_sets", "llc_ways", "line"))
        return [machine.Cache(3, "Unified", line, 1, ways, sets)] if sets * ways * line else []
    return machine.caches()[0]


def level_of(found, every):
    """The cache that the map in force is for, or None."""
    if not found or found.color.nr == 1:
        return None
    if found.level == "L2":
        return next((c for c in every if c.level == 2), None)
    whole = found.color_bytes * found.color.nr
    return next((c for c in every if c.bytes == whole), every[-1])


def hypothesis(cache, found, every):
    """(masks or None, where they are from or why there are none)."""
    if level_of(found, every) is cache:
        if found.color.tables:
            return None, "the color map in force has a table, which is not timed"
        return found.color.masks, "the map in force"
    masks, why = machine.index_masks(cache)
    return masks, why or "the description of the cache"


def words(cache, masks=None):
    """Arguments of mcube-probe for a cache."""
    # The CPU whose caches were described.
    cpu = 0 if 0 in os.sched_getaffinity(0) else min(os.sched_getaffinity(0))
    out = ["color", "-l", cache.level, "-b", cache.bytes, "-L", cache.line, "-c", cpu]
    # Time stamps of an emulator mean nothing; its model has a clock.
    out += ["-t", "model", "-d", 8] if perf.model() else []
    return out + (["-m", ",".join(map(hex, masks))] if masks else ["-f"])


def nothing(cache, why):
    """A level of which there is nothing to time."""
    return {"level": cache.level, "bytes": cache.bytes, "verdict": "unknown", "confidence": 0,
            "why": why, "masks": []}


def timed(cache, masks, what):
    """mcube-probe's result; where it cannot run here, the reason as an unknown level."""
    try:
        got = probe.run(words(cache, masks), what)
    except Failure as e:
        if not probe.there():
            raise
        got = nothing(cache, str(e))
    return {**got, "bytes": cache.bytes}


def verify_level(cache, found, every):
    """What timing says of the masks of one level."""
    masks, origin = hypothesis(cache, found, every)
    if masks is None:
        return nothing(cache, origin)
    masks = [m >> addrmap.PAGE_SHIFT << addrmap.PAGE_SHIFT for m in masks]
    out = timed(cache, masks, f"L{cache.level}")
    out["of"] = origin
    low = [m for m in masks if m < 1 << HUGE]
    if out["verdict"] != "holds" and low and len(low) < len(masks):
        out["below_2m"] = timed(cache, low, f"L{cache.level}, bits below 2 MiB")
    return out


def verify(given=()):
    """What timing says of every level: {"levels": [...], "hypervisor": name or None, ...}."""
    every = list(given) or caches()
    if not every:
        raise Failure("neither CPUID nor sysfs describes any L2 or L3",
                      "describe it: mcube map verify --cache 2:SIZE:WAYS")
    found = addrmap.Map.of_kernel()
    return {"levels": [verify_level(c, found, every) for c in every],
            "banks": {"verdict": "unknown", "why": "banks are not timed by this command"},
            "hypervisor": machine.hypervisor()}


def find(given=()):
    """Masks that timing alone finds, level by level."""
    every = list(given) or caches()
    return {"levels": [timed(c, None, f"L{c.level}") for c in every],
            "hypervisor": machine.hypervisor()}


def share(got):
    """Confidence in words."""
    return f"confidence {min(got['confidence'], .9999):.2%}" if got["confidence"] else ""


def masks_text(masks):
    """Masks as they are written to the map."""
    return " ".join(masks) if masks else "none"


def figures(got):
    """What a load costs, as a sentence; '' without figures."""
    load, unit = got.get("load", {}), got.get("unit", "ns")
    if "same" not in load or "even" not in load:
        return ""
    low, mid, high = load["same"]
    text = (f"a load costs {mid:.3g} {unit} ({low:.3g} to {high:.3g}) among pages of one color, "
            f"{load['even'][1]:.3g} among as many of all colors")
    if "beyond" in load:
        text += f", {load['beyond'][1]:.3g} in twice the cache"
    return text


def reason(got, hypervisor):
    """What may be behind a map that does not hold."""
    if got["verdict"] != "does not hold":
        return ""
    if hypervisor and "one color do not compete" in got["why"]:
        return ("the host backs this memory by pages too small for these bits, or the cache "
                "chooses its sets in another way: here these colors mean nothing")
    return "colors by these masks are an illusion; try 'mcube map probe --colors'"


def lines_of(got, hypervisor):
    """One level for people: the first line, then those that are indented."""
    colors = f", {got['colors']} colors by {got['of']}" if got.get("of") and got.get("colors") \
        else ""
    sure = share(got)
    yield (f"L{got['level']}, {size(got['bytes'])}{colors}: {UNKNOWN[got['verdict']]}"
           + (f" ({sure})" if sure else ""))
    yield got["why"]
    for text in (figures(got), reason(got, hypervisor)):
        if text:
            yield text
    wrong = [m for m, v in zip(got["masks"], got.get("mask_verdicts", []))
             if v["verdict"] == "does not hold"]
    if wrong:
        yield f"no part of the index: {masks_text(wrong)}"
    if low := got.get("below_2m"):
        yield (f"its masks below 2 MiB, {masks_text(low['masks'])}: {UNKNOWN[low['verdict']]}"
               + (f" ({share(low)})" if low["confidence"] else ""))


def show(data, finding):
    """For people."""
    for got in data["levels"]:
        first, *rest = lines_of(got, data["hypervisor"])
        if finding and got["verdict"] == "holds":
            first = (f"L{got['level']}, {size(got['bytes'])}: {got['colors']} colors by "
                     f"{masks_text(got['masks'])} ({share(got)})")
        print(first)
        for line in rest:
            print(f"  {line}")
    if banks := data.get("banks"):
        print(f"banks: {UNKNOWN[banks['verdict']]}\n  {banks['why']}")
    if finding and (good := [g for g in data["levels"] if g["verdict"] == "holds"]):
        print("to use the last of these: mcube map set --color "
              f"\"{masks_text(good[-1]['masks'])}\"")


def arguments(parser):
    """Options of both actions."""
    parser.add_argument("--cache", metavar="LEVEL:SIZE:WAYS", action="append", default=[],
                        help="verify, probe: a cache as it is, instead of what CPUID says")


def run(args, finding):
    """The actions verify and probe --colors: exit status 1 if a map does not hold."""
    given = given_caches(args.cache)
    data = find(given) if finding else verify(given)
    output(args, data, lambda d: show(d, finding))
    return int(any(g["verdict"] == "does not hold" for g in data["levels"]) and not finding)
