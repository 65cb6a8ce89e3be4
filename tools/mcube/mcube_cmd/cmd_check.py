# SPDX-License-Identifier: GPL-2.0
"""mcube check: what this kernel and machine can do, what is missing, what next.

Each finding is "ok", "note" (a limit to know of) or "missing" (placement cannot
be used before this is fixed). Every line has to be true on a stock kernel, in a
container, for a normal user and in a guest.
"""

import importlib.util
import os
import platform
import re
import textwrap

from . import (addrmap, cmd_map, events, host, machine, map_verify, pagemap, perf, policy,
               probe)
from .term import Failure, output, size

HELP = "what this kernel and machine can do, what is missing, what to do next"
EXAMPLE = """examples:
  mcube check
  mcube check --json
exit status: 0 ready to use, 1 something is missing
"""
GUIDE = "Documentation/admin-guide/mm/mcube/start.rst"


def arguments(parser):
    """Options."""
    parser.add_argument("--json", action="store_true", help="print JSON")


def item(name, state, text, then=""):
    """One finding."""
    return {"name": name, "state": state, "text": text, "next": then}


def kernel():
    """The mcube interface."""
    name = platform.release()
    if policy.present():
        systems = policy.systems()
        if systems:
            yield item("kernel", "ok", f"{name} has mcube: address map, {', '.join(systems)}")
        else:
            yield item("kernel", "missing", f"{name} has the address map but no policy",
                       "build it with CONFIG_MCUBE_ALLOC=y")
        return
    value = machine.config("MCUBE")
    if not host.names("/sys/kernel"):
        why = "/sys is not mounted, so there is nothing to see"
        then = "mount -t sysfs sysfs /sys"
    elif value == "y":
        why = "is built with CONFIG_MCUBE but /sys/kernel/mm/mcube is not there"
        then = "look for it in the kernel's log: dmesg | grep mcube"
    else:
        why = "has no mcube" + ("" if value is None else " (CONFIG_MCUBE is not set)")
        then = f"boot an mcube kernel ({GUIDE}); 'make demo' shows one in QEMU, changing nothing"
    yield item("kernel", "missing", f"{name} {why}", then)


def rights():
    """The user, and the container if there is one."""
    held = machine.container()
    if not host.is_root():
        yield item("user", "missing", "not root: apply, off, map set and pages need root, looking "
                   "at the rest does not", "run it by sudo")
    elif machine.in_user_namespace():
        yield item("user", "missing", "root of a user namespace only, which may change no kernel "
                   "setting", "run it as root of the machine")
    elif policy.present() and (why := policy.why_not_writable()):
        yield item("user", "missing", f"root, but settings cannot be written: {why}",
                   "run it on the host")
    else:
        yield item("user", "ok", "root")
    if held:
        yield item("container", "note", f"in a container ({held}): kernel, CPU and memory are the "
                   "host's, and a policy set here holds for all of it")
    visible = pagemap.own_frames_visible()
    if visible is None:
        yield item("pagemap", "note", "/proc/self/pagemap is not there: 'mcube pages' cannot work",
                   "build the kernel with CONFIG_PROC_PAGE_MONITOR")
    elif not visible:
        yield item("pagemap", "note", "page frame numbers are hidden from this user: 'mcube pages' "
                   "will not work", "it needs CAP_SYS_ADMIN: run it by sudo"
                   + (", on the host" if held else ""))
    else:
        yield item("pagemap", "ok", "page frame numbers can be read")


def hypervisor(counted, found):
    """Whether physical addresses are what they seem."""
    name = machine.hypervisor()
    if name is None:
        yield item("hypervisor", "ok", "none: physical addresses are the machine's")
    elif counted.kind == "model":
        yield item("hypervisor", "ok", f"{name} with a model of caches and DRAM: colors and banks "
                   "are those of the model, costs are modelled cycles")
    elif machine.emulated():
        yield item("hypervisor", "note", f"{name}: the CPU is emulated, there are no caches behind "
                   "it; placement can be looked at, its effect cannot be measured",
                   "for effects, run the emulator with the memory model")
    else:
        yield item("hypervisor", "note", f"{name}: colors and banks are those of the host's pages "
                   "that back this memory; 2 MiB pages keep address bits below 21")
        yield from in_guest(found)


def in_guest(found):
    """What timing says of the colors of L2 in this guest, and no more than that."""
    cache = next((c for c in map_verify.caches() if c.level == 2), None)
    if not cache:
        return
    got, then = None, "mcube map verify"
    if probe.there():
        try:
            got = map_verify.verify_level(cache, found, map_verify.caches())
        except Failure as e:
            then = e.advice
    if not got:
        yield item("colors", "note", "whether they hold in this guest was not timed", then)
    elif got["verdict"] == "holds":
        yield item("colors", "ok", f"timed: {got['colors']} colors of L2 hold "
                   f"({map_verify.share(got)}); {map_verify.figures(got)}")
    elif got["verdict"] == "does not hold":
        yield item("colors", "note", f"timed: colors of L2 do not hold here "
                   f"({map_verify.share(got)}): {got['why']}; {map_verify.figures(got)}",
                   "have the host back this guest by huge pages; then mcube map verify")
    else:
        yield item("colors", "note", f"timed: whether colors of L2 hold here is not known: "
                   f"{got['why']}", "mcube map verify, when the machine is quiet")


def describe(cache):
    """A cache in words."""
    text = f"{size(cache.bytes)}, {cache.ways or 'fully associative,'}"
    text += f" ways, {cache.sets} sets" if cache.ways else f" {cache.sets} sets"
    if cache.complex_index or cache.sliced:
        index = "spread over slices by a hash of the address"
    else:
        index = "indexed by address bits" if cache.complex_index is False else \
            "whether by a hash of the address is not known"
    return f"{text} of {cache.line} bytes, {index}"


def fit(every, found):
    """How the color map fits the caches: (state, sentence), or None if that cannot be told.

    The kernel's color map is for the cache whose size is nr_colors * color_bytes.
    """
    bits = found.color.plain_bits()
    whole = found.color_bytes * found.color.nr
    for cache in [c for c in every if c.bytes == whole] or reversed(every):
        if not bits or not cache.line or not cache.sets:
            continue
        sets = (1 << bits[-1] + 1) // cache.line
        alone = ": colors keep programs apart in L2 alone" \
            if cache.level < every[-1].level else ""
        if cache.sets == sets:
            return "note" if alone else "ok", (f"the color map is that of the {sets} sets of "
                                               f"L{cache.level}{alone}")
        if cache.sets % sets == 0:
            return "ok", (f"the color map takes L{cache.level} as {cache.sets // sets} slices of "
                          f"{sets} sets, or leaves index bits out")
        return "note", (f"the color map is for a multiple of {sets} sets, and L{cache.level} has "
                        f"{cache.sets}")
    return None


def modelled(model, found):
    """The modelled machine, and whether the map in force is its map."""
    yield item("model", "ok", f"machine '{model.get('name', '?')}': last-level cache of "
               f"{model.get('llc_sets', '?')} sets, {model.get('llc_ways', '?')} ways, "
               f"{model.get('colors', '?')} colors, {model.get('banks', '?')} banks")
    for name, dim in found.dims() if found else ():
        if (nr := model.get(f"{name}s")) and nr != str(dim.nr):
            yield item(f"{name} map", "note", f"the map in force has {dim.nr} {name}s, the "
                       f"modelled machine {nr}", f"mcube map set --{name} as its description says")


def caches(found):
    """Level 2 and 3, by CPUID where it can be read."""
    info = machine.cpuinfo()
    model = info.get("model name") or platform.machine()
    yield item("cpu", "ok", f"{model}, {machine.nodes()} memory node"
               + ("s, each zone with containers of its own" if machine.nodes() > 1 else ""))
    if model := perf.model():
        yield from modelled(model, found)
        return
    every, source = machine.caches()
    if not every:
        yield item("caches", "note", "neither CPUID nor sysfs describes any L2 or L3",
                   "give the color map by hand: mcube map set --color")
    if source != "cpuid" and re.fullmatch("x86_64|i.86", platform.machine()) \
            and not host.at("/dev/cpu/0/cpuid").exists():
        yield item("cpuid", "note", "/dev/cpu/0/cpuid is not there, so how a cache is indexed is "
                   "not known", "build the kernel with CONFIG_X86_CPUID"
                   if machine.config("X86_CPUID") == "n" else "modprobe cpuid")
    for cache in every:
        yield item(f"L{cache.level}", "ok", f"{describe(cache)} (by {source})")
    if every and found and found.color.nr > 1 and (fits := fit(every, found)):
        state, text = fits
        yield item("color map", state, text, "" if state == "ok" else
                   "see Documentation/mm/mcube/map.rst, 'Finding your masks'")


def maps(found):
    """Whether colors and banks are known, and plausible."""
    if found is None:
        return
    where = dict(w.split("=", 1) for w in found.source.split() if "=" in w)
    if found.color.nr == 1 and found.bank.nr == 1:
        yield item("address map", "missing", "neither colors nor banks are known",
                   "mcube map set --color \"0x1000 0x2000 ...\"; Documentation/mm/mcube/map.rst "
                   "tells how to find the masks; ubm and setcache need no map")
        return
    per = f" of {size(found.color_bytes)}" if found.color_bytes else ""
    color = f"{found.color.nr} colors{per} (from {where.get('color', '?')})" \
        if found.color.nr > 1 else "colors not known"
    bank = f"{found.bank.nr} banks (from {where.get('bank', '?')})" \
        if found.bank.nr > 1 else "banks not known"
    if found.color.nr > 1 and found.level in addrmap.LEVELS:
        color += f", {addrmap.LEVELS[found.level]}"
    then = "" if found.bank.nr > 1 else \
        "for M3, which may lose without banks: mcube map set --bank \"0x... 0x...\""
    yield item("address map", "ok" if found.bank.nr > 1 and found.color.nr > 1 else "note",
               f"{color}, {bank}", then)
    if found.level == "L2":
        yield item("policies", "note", "SRM-buffer and ROCS are about the last level and refuse "
                   "colors of L2; m3, UBM and page sets work",
                   "for them, write the masks of the last level: mcube map set --color")
    for line in cmd_map.doubts(found, machine.memory_end()):
        yield item("address map", "note", line, "check the masks: 'mcube map'")


def measuring(counted):
    """perf and what it can count."""
    if not perf.tool():
        yield item("perf", "note", "perf is not installed: 'mcube corun' has only time to go by",
                   "apt install linux-perf")
        return
    paranoid = host.number("/proc/sys/kernel/perf_event_paranoid")
    level = "" if paranoid is None else f", perf_event_paranoid {paranoid}"
    name = f"perf {perf.version() or ''}".strip()
    if counted.roles:
        yield item("perf", "ok", f"{name} counts {', '.join(counted.roles)}; {counted.note}"
                   f"{level}")
        if "misses" not in counted.roles:
            yield item("perf", "note", "misses of the last-level cache cannot be counted")
        return
    then = ""
    if paranoid is not None and paranoid > 2 and not host.is_root():
        then = "sysctl kernel.perf_event_paranoid=2, or run it by sudo"
    elif machine.hypervisor() and not machine.emulated():
        then = "have the hypervisor give this guest a virtual PMU"
    yield item("perf", "note", f"{name}: {counted.note}{level}; 'mcube corun' "
               + ("has nothing to go by but --events" if machine.emulated() else
                  "has only time to go by"), then)


def sampling():
    """Whether ROCS has descriptions of events for this machine."""
    try:
        found = events.choose()
        yield item("sampling", "ok", f"events for 'mcube rocs': {found.name}, {found.title}")
    except Failure as e:
        yield item("sampling", "note", f"'mcube rocs' cannot work: {e}", e.advice)


def surroundings():
    """Pages that no policy places, and what pictures need."""
    text = host.read("/sys/kernel/mm/transparent_hugepage/enabled", "")
    if "[always]" in text:
        yield item("huge pages", "note", "transparent huge pages are always on: no policy "
                   "places them, and they count as 'uncovered'",
                   "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled")
    elif text:
        word = "on request only" if "[madvise]" in text else "off"
        yield item("huge pages", "ok", f"transparent huge pages are {word}")
    else:
        yield item("huge pages", "ok", "this kernel has no transparent huge pages")
    if importlib.util.find_spec("matplotlib"):
        yield item("pictures", "ok", "matplotlib is there for --png and --plot")
    else:
        yield item("pictures", "note", "no matplotlib: --png and --plot will not work",
                   "apt install python3-matplotlib")


def following():
    """The next command where nothing is missing: M3 if it has what its gain rests on."""
    if forced := policy.in_force():
        return f"{forced[0]} is in force: mcube status"
    if policy.profile("m3").lacks():
        return "mcube apply --list, and choose by what the programs do"
    return "mcube apply m3"


def collect():
    """All findings in order."""
    found, counted = addrmap.Map.of_kernel(), perf.find()
    out = [*kernel(), *rights(), *hypervisor(counted, found), *caches(found), *maps(found),
           *measuring(counted), *sampling(), *surroundings()]
    missing = [i for i in out if i["state"] == "missing"]
    return {"usable": not missing, "items": out,
            "next": missing[0]["next"] if missing else following()}


def show(data):
    """For people."""
    wide = min(os.get_terminal_size().columns, 120) if os.isatty(1) else 100
    for i in data["items"]:
        lead = f"{i['state']:8}{i['name']:12}"
        for text in (i["text"], f"-> {i['next']}" if i["next"] else ""):
            for line in textwrap.wrap(text, wide - len(lead), break_long_words=False,
                                      break_on_hyphens=False):
                print(f"{lead}{line}")
                lead = " " * len(lead)
    missing = sum(i["state"] == "missing" for i in data["items"])
    print(f"\n{'ready to use' if data['usable'] else f'{missing} missing'}; next: {data['next']}")


def run(args):
    """mcube check."""
    data = collect()
    output(args, data, show)
    return 0 if data["usable"] else 1
