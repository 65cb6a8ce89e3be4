# SPDX-License-Identifier: GPL-2.0
"""Address maps that were published, by processor and memory: hypotheses, never in force.

A map is a file NAME.conf in maps/ beside this package or in /etc/mcube/maps/:

    [map]
    title = one line
    source = where it was published
    [match]                     the processors: all lines have to hold
    vendor = GenuineIntel       as in /proc/cpuinfo
    family = 6                  numbers, one of which it has to be; also stepping, cores
    model = 0x3a 0x3c
    [memory]                    what the banks hold for
    type = DDR3
    channels = 2                in use
    dimms = 1                   on each channel
    ranks = 2                   of each DIMM
    banks = 8                   of each rank
    [functions]
    bank = 0x44000 0x88000      as map/bank_map takes it
    line = 0x40                 further masks, of bits below the page alone
    line_channels = 3           channels that take turns line by line
    slice = 0x1b5f575440        of the last-level cache
    offset = 0x20000000         the functions are of the physical address minus this
    top = 28                    the source looked at no address bit above this one

A line may be repeated to be longer.
"""

from pathlib import Path

from . import addrmap, dimms, host, machine, sections
from .term import Failure, plural

FOLDERS = (Path(__file__).resolve().parents[1] / "maps", Path("/etc/mcube/maps"))
NAMES = {"map": {"title", "source"},
         "match": {"vendor", "family", "model", "stepping", "cores"},
         "memory": {"type", "channels", "dimms", "ranks", "banks"},
         "functions": {"bank", "line", "line_channels", "slice", "offset", "top"}}
FIELDS = {"family": "cpu family", "model": "model", "stepping": "stepping", "cores": "cpu cores"}
ADVICE = "write it as the files beside it are written"


class Known:
    """One map, read from its file."""

    def __init__(self, path):
        self.path, self.name = path, path.stem
        self.section = {s: {} for s in NAMES}
        for into, key, value in sections.read(path, NAMES, "make it a text file", ADVICE):
            if key not in NAMES[into]:
                raise Failure(f"{path}: there is no '{key}' in [{into}]", ADVICE)
            self.section[into][key] = f"{self.section[into].get(key, '')} {value}".strip()
        for into, key in (("map", "title"), ("map", "source"), ("match", "vendor")):
            if key not in self.section[into]:
                raise Failure(f"{path}: {key} is missing in [{into}]", ADVICE)
        self.title, self.source = (self.section["map"][k] for k in ("title", "source"))
        functions = self.section["functions"]
        self.bank = addrmap.Dim(functions["bank"]) if "bank" in functions else None
        self.slice = addrmap.Dim(functions["slice"]) if "slice" in functions else None
        self.line = self.numbers("functions", "line")
        self.offset = self.number("functions", "offset", 0)
        self.top = self.number("functions", "top", None)
        self.check()

    def numbers(self, into, key):
        """A line of numbers."""
        text = self.section[into].get(key, "")
        try:
            return [int(x, 0) for x in text.split()]
        except ValueError as e:
            raise Failure(f"{self.path}: '{text}' is no list of numbers", ADVICE) from e

    def number(self, into, key, default):
        """A line of one number."""
        found = self.numbers(into, key)
        if len(found) > 1:
            raise Failure(f"{self.path}: {key} is one number", ADVICE)
        return found[0] if found else default

    def check(self):
        """Refuse what contradicts itself."""
        dims = [d for d in (self.bank, self.slice) if d]
        if not dims:
            raise Failure(f"{self.path}: neither bank nor slice", ADVICE)
        if self.top is not None and max(d.top_bit() for d in dims) > self.top:
            raise Failure(f"{self.path}: a mask has a bit above {self.top}", ADVICE)
        if any(m >> addrmap.PAGE_SHIFT for m in self.line):
            raise Failure(f"{self.path}: a mask of 'line' has a bit of the frame", ADVICE)
        if not self.bank:
            return
        want = 1
        for key in ("channels", "dimms", "ranks", "banks"):
            want *= self.number("memory", key, 0)
        got = self.bank.nr * self.number("functions", "line_channels", 1) << len(self.line)
        if got != want:
            raise Failure(f"{self.path}: the functions have {got} banks, the memory {want}",
                          ADVICE)

    def for_cpu(self, info):
        """Is it for a processor, described by the fields of /proc/cpuinfo?"""
        if self.section["match"]["vendor"] != info.get("vendor_id"):
            return False
        return all(info.get(FIELDS[k]) in [str(x) for x in self.numbers("match", k)]
                   for k in FIELDS if k in self.section["match"])

    def for_memory(self, found):
        """Is it for the modules that the firmware tells? None if that is not known."""
        if not self.bank:
            return True
        if not found:
            return None
        if self.section["memory"].get("type") != found[0]["type"]:
            return False
        if self.number("memory", "channels", 0) * self.number("memory", "dimms", 0) != len(found):
            return False
        ranks = {m["ranks"] for m in found}
        return None if 0 in ranks else ranks == {self.number("memory", "ranks", 0)}

    def as_json(self, info, found):
        """For JSON output."""
        return {"name": self.name, "title": self.title, "source": self.source,
                "cpu": self.for_cpu(info), "memory": self.for_memory(found),
                **self.section["functions"]}


def known():
    """All maps by name, those of the administrator last."""
    return {name: Known(path) for name, path in sections.files(*FOLDERS).items()}


def hypotheses():
    """Maps that may be those of this machine, the likelier first.

    A caller has to confirm one by measuring, with all of its values, before it uses it.
    """
    info, found = machine.cpuinfo(), dimms.modules()
    fit = [k for k in known().values() if k.for_cpu(info) and k.for_memory(found) is not False]
    return sorted(fit, key=lambda k: k.for_memory(found) is None)


def survey():
    """What 'mcube map known' says, as a dictionary."""
    info, found = machine.cpuinfo(), dimms.modules()
    return {"cpu": {k: info.get(k) for k in ("vendor_id", *FIELDS.values(), "model name")},
            "modules": found, "hypervisor": machine.hypervisor(),
            "maps": [k.as_json(info, found) for k in known().values()]}


def show(data):
    """For people."""
    fits = [m for m in data["maps"] if m["cpu"] and m["memory"] is not False]
    print(f"cpu: {data['cpu']['model name'] or '?'}")
    if data["modules"]:
        for m in data["modules"]:
            ranks = f", {plural(m['ranks'], 'rank')}" if m["ranks"] else ""
            print(f"module: {m['type']}, {m['mebi']} MiB{ranks}, {m['slot'] or 'slot not named'}")
    else:
        print("modules: not known"
              + ("" if host.is_root() else " to this user: run it by sudo"))
    if data["hypervisor"]:
        print(f"note: under a hypervisor ({data['hypervisor']}) these maps are of the host's "
              "addresses")
    print()
    for m in data["maps"]:
        how = "of other processors"
        if m["cpu"]:
            how = {True: "FITS", None: "fits the processor; the memory is not known",
                   False: "of other memory"}[m["memory"]]
        print(f"{m['name']}: {how}\n  {m['title']}")
        for key in ("bank", "line", "line_channels", "slice", "offset", "top"):
            if key in m and m in fits:
                print(f"  {key:13} {m[key]}")
        if m in fits:
            print(f"  source        {m['source']}")
    print("\nnone is in force: 'mcube map probe' has to confirm a map on this machine"
          if fits else "\nnone is for this machine: 'mcube map probe' starts from nothing")
