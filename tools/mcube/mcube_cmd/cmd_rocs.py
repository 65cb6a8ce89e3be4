# SPDX-License-Identifier: GPL-2.0
"""mcube rocs: find pages that pollute the cache, and move them to few cache colors."""

import errno
import time

from . import actions, events, host, module, picture, policy, rocs, rocs_report
from .term import Failure, output, print_json

HELP = "ROCS: pages of programs that pollute the cache move to few cache colors"
EXAMPLE = """examples:
  mcube rocs on --auto --alloc          all busy processes
  mcube rocs on --pid $(pidof -s art) --pid 4242
  mcube rocs on --cgroup /batch --events ./mycpu.conf
  mcube rocs                            what it does; root sees the targets
  mcube rocs status --watch 2
  mcube rocs profile --pid 4242 --plot profile.png
  mcube rocs off
"""
CGROUPS = "/sys/fs/cgroup"
# Options that belong to some actions only.
BELONG = {"pid": ("profile", "on"), "cgroup": ("on",), "auto": ("on",), "events": ("on",),
          "alloc": ("on",), "watch": ("status",), "plot": ("profile",)}


def arguments(parser):
    """Options."""
    parser.add_argument("action", nargs="?", choices=["on", "off", "status", "profile"],
                        default="status")
    parser.add_argument("--pid", metavar="PID", type=int, action="append", default=[],
                        help="on: a process whose pages move; repeatable.  profile: whose profile")
    parser.add_argument("--cgroup", metavar="PATH", help="on: busy processes of this cgroup, a "
                        f"path below {CGROUPS}")
    parser.add_argument("--auto", action="store_true", help="on: all busy processes")
    parser.add_argument("--events", metavar="NAME|FILE", help="on: which events of the PMU "
                        "(default: those for this machine)")
    parser.add_argument("--alloc", action="store_true", help="on: switch the mcube allocator on "
                        "as well")
    parser.add_argument("--watch", metavar="SECONDS", type=float, help="status: again and again, "
                        "until Ctrl-C")
    parser.add_argument("--plot", metavar="FILE", help="profile: draw it into a .png file")
    parser.add_argument("--json", action="store_true", help="print JSON")


def check_options(args):
    """Refuse options of another action."""
    actions.check_belong(args, "rocs", BELONG)
    if args.action == "profile" and len(args.pid) > 1:
        raise Failure("a profile is that of one process", "give one --pid")
    actions.check_seconds(args, "watch")


def need_allocator(args):
    """[(file, value)] that switch the allocator on."""
    value = policy.current("alloc/enabled")
    if value is None:
        raise Failure("this kernel has no mcube allocator, which ROCS uses",
                      "build it with CONFIG_MCUBE_ALLOC=y")
    if value != "1" and not args.alloc:
        raise Failure("the mcube allocator is off, and ROCS uses it",
                      "add --alloc to switch it on")
    return [("alloc/enabled", "1")] if value != "1" else []


def chosen_cgroup(path):
    """A cgroup as the kernel names it: a path below the mount of cgroup2."""
    inside = path.removeprefix(CGROUPS) or "/"
    if host.names(CGROUPS) and not host.at(f"{CGROUPS}/{inside}").is_dir():
        raise Failure(f"there is no cgroup {inside}", f"name a directory below {CGROUPS}")
    return inside


def choice(args):
    """[(file, value)] that choose the targets; [] leaves the choice as it is."""
    if not args.pid and args.cgroup is None and not args.auto:
        return []
    for pid in args.pid:
        if not host.at(f"/proc/{pid}").is_dir():
            raise Failure(f"there is no process {pid}", "see 'ps -e'")
    return [("rocs/pids", " ".join(map(str, args.pid))),
            ("rocs/cgroup", chosen_cgroup(args.cgroup) if args.cgroup is not None else ""),
            ("rocs/auto", str(int(args.auto)))]


def described(chosen):
    """[(file, value)] that describe the events."""
    pairs = [(f"rocs/events/{n}", t) for n, t in chosen.texts().items()]
    changed = [(f, v) for f, v in pairs if policy.current(f) != v]
    if changed and policy.current("rocs/enabled") == "1":
        raise Failure(f"ROCS is on with other events than those of '{chosen.name}'",
                      "'mcube rocs off' first, then 'mcube rocs on' with these events")
    return changed


def better_advice(failure, chosen):
    """A better next step, where the kernel refused to switch ROCS on."""
    number = getattr(failure.__cause__, "errno", None)
    if number == errno.ENXIO:
        failure.advice = (f"the events are those of {chosen.path}; take others by --events NAME|"
                          f"FILE ({', '.join(events.known())}); a virtual machine needs a PMU "
                          "that samples, or the modelled machine")
    elif number == errno.EOPNOTSUPP:
        failure.advice = "'mcube map' tells how to set the colors"


def switch_on(args):
    """mcube rocs on."""
    policy.need_kernel()
    if why := policy.why_not_writable():
        raise Failure(f"ROCS cannot be switched: {why}", "run it by sudo, on the host")
    alloc = need_allocator(args)
    chosen = events.choose(args.events)
    texts = chosen.texts()
    targets = choice(args)
    fresh = module.load(rocs.MODULE)
    targets = [(f, v) for f, v in targets if policy.current(f) != v]
    switch = [("rocs/enabled", "1")] if policy.current("rocs/enabled") != "1" else []
    try:
        changed = policy.write_all(described(chosen) + targets + alloc + switch)
    except Failure as e:
        better_advice(e, chosen)
        raise
    has_targets = any(policy.current(f"rocs/{n}") not in ("", "0", None)
                      for n in ("pids", "cgroup", "auto"))
    if args.json:
        print_json({"events": chosen.name, "descriptions": texts, "module_loaded": fresh,
                    "changed": policy.as_json(changed),
                    "has_targets": has_targets})
        return 0
    print(f"events: {chosen.name} ({chosen.title})")
    policy.show(c for c in changed if not c[0].startswith("rocs/events/"))
    print("ROCS is on; 'mcube rocs' shows what it does, 'mcube rocs off' undoes it."
          if changed else "ROCS is on already, with these settings")
    if not has_targets:
        print("note: no process is a target yet: 'mcube rocs on --pid PID', --cgroup PATH or "
              "--auto")
    return 0


def switch_off(args):
    """mcube rocs off."""
    policy.need_kernel()
    was_on = policy.current("rocs/enabled") == "1"
    if was_on:
        policy.write("rocs/enabled", "0")
    return output(args, {"was_on": was_on}, lambda _: print(
        "ROCS is off: pages of targets have left the pollute partition" if was_on else
        "ROCS is off already"))


def show_status(args, before=None):
    """One view; its counters."""
    data = rocs.status()
    output(args, data, lambda d: rocs_report.show_status(d, before, rocs.why_hidden()))
    return data["counters"]


def watch(args):
    """mcube rocs status --watch."""
    before = None
    try:
        while True:
            if not args.json:
                actions.begin_look()
            before = show_status(args, before)
            print(flush=True)
            time.sleep(args.watch)
    except KeyboardInterrupt:
        return 0


def show_profile(args):
    """mcube rocs profile."""
    if args.plot:
        picture.check(args.plot, "rocs.png")
    data = rocs.profile(args.pid[0] if args.pid else None)
    if args.plot:
        rocs_report.draw(data, args.plot)
    return output(args, data, rocs_report.show_profile, args.plot)


def run(args):
    """mcube rocs."""
    check_options(args)
    if args.action == "on":
        return switch_on(args)
    if args.action == "off":
        return switch_off(args)
    rocs.need()
    if args.action == "profile":
        return show_profile(args)
    if args.watch:
        return watch(args)
    show_status(args)
    return 0
