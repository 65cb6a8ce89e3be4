# SPDX-License-Identifier: GPL-2.0
"""Descriptions of perf events by which ROCS measures and samples programs.

A set of descriptions is a file NAME.conf in events/ beside this package or in
/etc/mcube/events/:

    [events]
    title = one line
    [match]                     the machines that it is for: all lines have to hold
    vendor = GenuineIntel       as in /proc/cpuinfo
    family = 6                  numbers, one of which it has to be
    model = 0x4e 0x5e
    pmu = cpu                   PMUs that have to be there
    [describe]
    refs = type=0 config=0x2    as files in rocs/events take it, or
    sample_hit = pmu=ibs_op cnt_ctl=1
    sample_miss = none

With pmu=NAME the other words are terms of that PMU, and the PMU's files in sysfs tell
its type and which bits a term has. A line may be repeated to be longer.
"""

import re
from pathlib import Path

from . import host, machine, perf, sections
from .term import Failure

FOLDERS = (Path(__file__).resolve().parents[1] / "events", Path("/etc/mcube/events"))
NAMES = ("cycles", "instructions", "refs", "misses", "sample_hit", "sample_miss")
SECTIONS = ("events", "match", "describe")
FIELDS = ("type", "config", "config1", "config2", "precise")


class Events:
    """One set of descriptions, read from its file."""

    def __init__(self, path):
        self.path, self.name = path, path.stem
        self.section = {s: {} for s in SECTIONS}
        for into, key, value in sections.read(
                path, SECTIONS, "name a text file, or the name of a "
                f"set: {', '.join(known()) or 'none'}",
                "write [events], [match] or [describe], then lines NAME = TEXT"):
            self.section[into][key] = f"{self.section[into].get(key, '')} {value}".strip()
        self.title = self.section["events"].get("title", "")
        self.check()

    def check(self):
        """Refuse names that the kernel does not know, and missing names."""
        given = self.section["describe"]
        if unknown := set(given) - set(NAMES):
            raise Failure(f"{self.path}: there is no event '{sorted(unknown)[0]}'",
                          f"describe {', '.join(NAMES)}")
        if missing := [n for n in NAMES if n not in given]:
            raise Failure(f"{self.path}: {missing[0]} is not described",
                          f"write a line '{missing[0]} = ...'; only one of sample_hit and "
                          "sample_miss may be none")

    def mismatch(self):
        """Why the set is not for this machine, in words; '' if it is."""
        info, match = machine.cpuinfo(), self.section["match"]
        if match.get("vendor", info.get("vendor_id")) != info.get("vendor_id"):
            return f"it is for {match['vendor']}"
        for key, field in (("family", "cpu family"), ("model", "model")):
            if key in match and info.get(field) not in [str(int(x, 0))
                                                        for x in match[key].split()]:
                return f"it is for other processors than {field.removeprefix('cpu ')} " \
                       f"{info.get(field, '?')}"
        there = host.names(perf.PMUS)
        absent = [p for p in match.get("pmu", "").split() if p not in there]
        return f"the kernel shows no PMU '{absent[0]}'" if absent else ""

    def texts(self):
        """{name: description as the kernel writes it}."""
        return {n: text(self.section["describe"][n], self.path) for n in NAMES}


def known():
    """Paths of all sets by name, those of the administrator last."""
    return sections.files(*FOLDERS)


def choose(asked=None):
    """The set that was asked for by name or file, or the set for this machine."""
    paths = known()
    if asked:
        if asked not in paths and not Path(asked).is_file():
            raise Failure(f"there is no set of events '{asked}', and no such file",
                          f"choose from: {', '.join(paths)}; or name a file of that form")
        return Events(paths.get(asked) or Path(asked))
    why = {}
    # A modelled machine has an emulated CPU, which says nothing: first sets for any vendor.
    for events in sorted(map(Events, paths.values()),
                         key=lambda e: "vendor" in e.section["match"]):
        why[events.name] = events.mismatch()
        if not why[events.name]:
            return events
    raise none_fits(why)


def none_fits(why):
    """The Failure where no set is for this machine."""
    info = machine.cpuinfo()
    near = [w for w in why.values() if w.startswith("the kernel shows no PMU")
            and perf.SIM not in w]
    if near:
        return Failure(f"no event can be sampled here: {near[0]}", "in a virtual machine, have the "
                       "hypervisor give the guest a PMU that samples, or use the host; in QEMU "
                       "without acceleration, use the modelled machine (--model)")
    cpu = (f"vendor {info.get('vendor_id', '?')}, family {info.get('cpu family', '?')}, "
           f"model {info.get('model', '?')}")
    return Failure(f"no set of events is for this processor ({cpu})",
                   f"write a set like those in {FOLDERS[0]}, with the numbers of your "
                   "processor's manual, and give it by --events FILE")


def spread(value, ranges):
    """Put the bits of a value where a format like 0-7,32-35 wants them; None if too many."""
    out = 0
    for part in ranges.split(","):
        first, _, last = part.partition("-")
        for bit in range(int(first), int(last or first) + 1):
            out |= (value & 1) << bit
            value >>= 1
    return None if value else out


def by_pmu(words, path):
    """Fields of a description by the terms of a PMU."""
    pmu = words.pop("pmu")
    at = f"{perf.PMUS}/{pmu}"
    kind = host.number(f"{at}/type")
    if kind is None:
        raise Failure(f"{path}: the kernel shows no PMU '{pmu}'", f"choose from: "
                      f"{', '.join(host.names(perf.PMUS)) or 'none'}")
    out = {"type": kind}
    for term, value in words.items():
        if term == "precise":
            out[term] = value
            continue
        m = re.fullmatch(r"(config[12]?):([\d,-]+)", host.read(f"{at}/format/{term}", ""))
        bits = spread(value, m[2]) if m else None
        if bits is None:
            terms = ", ".join(host.names(f"{at}/format")) or "none"
            raise Failure(f"{path}: PMU '{pmu}' has no term '{term}', or not with this value",
                          f"its terms are: {terms}")
        out[m[1]] = out.get(m[1], 0) | bits
    return out


def fields(description, path):
    """A description as {type, config, config1, config2, precise}; None for no event."""
    if description == "none":
        return None
    words = {}
    for word in description.split():
        key, _, value = word.partition("=")
        try:
            words[key] = value if key == "pmu" else int(value, 0)
        except ValueError as e:
            raise Failure(f"{path}: '{word}' is no word NAME=NUMBER",
                          "write for example type=4 config=0x20d1 precise=2, or none") from e
    if "pmu" in words:
        words = by_pmu(words, path)
    if "type" not in words or set(words) - set(FIELDS):
        raise Failure(f"{path}: '{description}' is no description of an event",
                      "write type=N config=N config1=N config2=N precise=N, or pmu=NAME TERM=N")
    return {f: words.get(f, 0) for f in FIELDS}


def text(description, path):
    """A description as the kernel writes it."""
    f = fields(description, path)
    if not f:
        return "none"
    return " ".join(f"{k}={f[k]:#x}" if k.startswith("config") else f"{k}={f[k]}" for k in FIELDS)
