# SPDX-License-Identifier: GPL-2.0
"""Counting by `perf stat`, with the PMU that the machine has.

In order of preference: mcube_sim, the modelled machine's PMU in the emulator;
the CPU's counters; no PMU, where only time is left. Each set of events has the
same roles, so that results do not depend on the PMU:

    cost        slowdowns are ratios of costs
    misses      of the last-level cache

perf tries each event once: a PMU that is listed in sysfs may still refuse to
count, for example in virtual machines.
"""

import re
import shutil
import subprocess

from . import host, machine
from .term import Failure

PMUS = "/sys/bus/event_source/devices"
SIM = "mcube_sim"
SEPARATOR = ";"

SIM_EVENTS = {"cycles": f"{SIM}/cycles/", "instructions": f"{SIM}/instructions/",
              "references": f"{SIM}/llc_refs/", "misses": f"{SIM}/llc_misses/",
              "dram accesses": f"{SIM}/dram_accesses/",
              "row conflicts": f"{SIM}/row_conflicts/"}
CPU_EVENTS = {"cycles": "cycles", "instructions": "instructions"}
# The last-level cache by the kernel's two names for it; not every CPU has both.
LLC_EVENTS = ({"references": "LLC-loads", "misses": "LLC-load-misses"},
              {"references": "cache-references", "misses": "cache-misses"})
# On Zen these names are events of L2. Demand fills of the data cache by source are not: event
# 0x43, the L3 (0x02), other complexes (0x04, 0x10), memory (0x08, 0x40); see events/amd.conf.
ZEN_EVENTS = ({"references": "cpu/event=0x43,umask=0x5e/",
               "misses": "cpu/event=0x43,umask=0x5c/"},)
ZEN = (("AuthenticAMD", "HygonGenuine"), ("23", "24", "25", "26"))


def llc_events():
    """Pairs of events of the last-level cache, best first."""
    info = machine.cpuinfo()
    zen = info.get("vendor_id") in ZEN[0] and info.get("cpu family") in ZEN[1]
    return ZEN_EVENTS if zen else LLC_EVENTS


class Events:
    """Events that can be counted here, by role."""

    def __init__(self, kind, roles, note):
        self.kind, self.roles, self.note = kind, roles, note

    @property
    def cost(self):
        """The role that slowdowns are computed from."""
        return next(iter(self.roles), "seconds")


def tool():
    """Path of perf; None if it is not installed."""
    return shutil.which("perf")


def version():
    """perf's version; None if it prints none."""
    try:
        got = subprocess.run(["perf", "--version"], text=True, capture_output=True, check=False,
                             timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return None
    m = re.search(r"perf version (\S+)", got.stdout)
    return m[1] if m else None


def pmus():
    """PMUs that may count cycles: the modelled PMU, then the CPUs' PMUs."""
    found = host.names(PMUS)
    return [p for p in found if p == SIM] + [
        p for p in found if p == "cpu" or re.match(r"(cpu_|armv\d)", p)]


def model():
    """Description of the modelled machine: {name: text}; {} without a modelled machine."""
    at = f"{PMUS}/{SIM}/machine"
    return {n: host.read(f"{at}/{n}", "") for n in host.names(at)}


def empty_model():
    """Empty the modelled machine's caches and close its rows, for the next run."""
    try:
        host.write(f"{PMUS}/{SIM}/clear", "1")
    except OSError as e:
        raise Failure(f"the modelled machine's caches cannot be emptied: {e}",
                      "run it by sudo; are QEMU's plugin and this kernel of one version?") from e


def command(events, output):
    """Words to put in front of a program, or in front of '-p PID'."""
    return ["perf", "stat", "-x", SEPARATOR, "-o", str(output), "-e", ",".join(events)]


def same_event(printed, asked):
    """Is a printed name that of the requested event?

    perf adds modifiers ("cycles:u") and, on CPUs with two kinds of cores, the PMU
    ("cpu_core/cycles/", "cpu_atom/cycles/").
    """
    if printed == asked:
        return True
    name = re.sub(r":[a-zA-Z]+$", "", printed)
    if m := re.fullmatch(r"cpu_\w+/([^/]*)/[a-zA-Z]*", name):
        name = m[1]
    return name == re.sub(r":[a-zA-Z]+$", "", asked)


def parse(text, events):
    """{event: count} of `perf stat -x;`; None for events that were not counted.

    Counts of several PMUs for one event are added up.
    """
    out = dict.fromkeys(events)
    for line in text.splitlines():
        field = line.split(SEPARATOR)
        if line.startswith("#") or len(field) < 3:
            continue
        try:
            count = float(field[0].replace(",", "."))   # as some locales write it
        except ValueError:      # <not counted>, <not supported>
            continue
        # Exact names first: cycles:u and cycles:k are two events.
        for event in [e for e in events if e == field[2]] or \
                [e for e in events if same_event(field[2], e)][:1]:
            out[event] = (out[event] or 0) + count
    return out


def try_events(events):
    """The given events that perf can count here."""
    if not tool():
        return []
    got = subprocess.run(["perf", "stat", "-x", SEPARATOR, "-e", ",".join(events), "--", "true"],
                         text=True, capture_output=True, check=False)
    counts = parse(got.stderr, events)
    return [e for e in events if counts[e] is not None]


def split(text):
    """A list of events as perf takes it; commas between slashes belong to an event."""
    return [e for e in re.findall(r"(?:[^,/]|/[^/]*/)+", text) if e.strip()]


def find():
    """The best events that this machine has; roles is empty if the machine has no events."""
    if not tool():
        return Events("time", {}, "perf is not installed")
    if SIM in pmus():
        counted = try_events(list(SIM_EVENTS.values()))
        roles = {r: e for r, e in SIM_EVENTS.items() if e in counted}
        if "cycles" in roles:
            return Events("model", roles, "by mcube_sim, of the modelled machine")
    counted = try_events([*CPU_EVENTS.values(), *(e for s in llc_events() for e in s.values())])
    roles = {r: e for r, e in CPU_EVENTS.items() if e in counted}
    if "cycles" not in roles:
        why = "perf can count no cycles here"
        if not pmus():
            why += ": the kernel shows no PMU, as in most virtual machines"
        return Events("time", {}, why)
    for llc in llc_events():
        if all(e in counted for e in llc.values()):
            roles |= llc
            break
    return Events("hardware", roles, "by the CPU's PMU")
