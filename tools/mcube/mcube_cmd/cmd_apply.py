# SPDX-License-Identifier: GPL-2.0
"""mcube apply, mcube off: switch a policy on, switch all policies off."""

from . import addrmap, host, module, policy, sections
from .term import Failure, output, print_json, print_table

APPLY = "switch a policy on by the name of its profile"
OFF = "switch all policies off; every free page goes back to the stock allocator"
APPLY_EXAMPLE = """examples:
  mcube apply --list         the profiles
  mcube apply m3             pages spread over colors and banks; give the bank map first
  mcube apply m3 --dry-run   what would be written
  mcube apply --boot         what /etc/mcube/mcube.conf says, as mcube.service does
"""
CONF = "/etc/mcube/mcube.conf"
MAPS = {"color_map": "map/color_map", "bank_map": "map/bank_map"}
OFF_EXAMPLE = """example:
  mcube off
"""


def apply_arguments(parser):
    """Options of mcube apply."""
    parser.add_argument("profile", nargs="?", help="name of a profile")
    parser.add_argument("--list", action="store_true", help="list the profiles")
    parser.add_argument("--boot", action="store_true", help=f"apply what {CONF} says")
    parser.add_argument("--dry-run", action="store_true", help="show what would be written")
    parser.add_argument("--json", action="store_true", help="print JSON")


def off_arguments(parser):
    """Options of mcube off."""
    parser.add_argument("--dry-run", action="store_true", help="show what would be written")
    parser.add_argument("--json", action="store_true", help="print JSON")


def state(profile):
    """State of a profile, in a word or two."""
    if not policy.present():
        return "no mcube in this kernel" if host.names("/sys/kernel") else "/sys is not mounted"
    if not profile.available():
        return "not loaded" if profile.module else "not in this kernel"
    if profile.in_force():
        return "in force"
    lacks = profile.lacks()
    return f"needs {' and '.join(lacks)}" if lacks else "available"


def show_list(args):
    """All profiles."""
    found = policy.profiles().values()
    rows = [{"name": p.name, "state": state(p), "title": p.title, "apply": p.apply}
            for p in found]
    return output(args, rows, lambda _: print_table(
        ["profile", "state", "what it does"],
        [[r["name"], r["state"], r["title"]] for r in rows], 3))


def dry_run(args, pairs):
    """What would be written, in order."""
    rows = [{"file": f, "now": policy.current(f), "value": v} for f, v in pairs]
    if args.json:
        print_json({"write": rows})
    for r in [] if args.json else rows:
        print(f"{policy.SYSFS}/{r['file']}: would write '{r['value']}' (now "
              f"{'not there' if r['now'] is None else repr(r['now'])})")
    return 0


def show_changes(args, changed, nothing):
    """Print what was changed."""
    if args.json:
        print_json({"changed": policy.as_json(changed)})
    elif changed:
        policy.show(changed)
    else:
        print(nothing)


def asked():
    """([profile], [(file, value)] of the maps) that the file for the boot asks for."""
    found, maps = [], []
    for _, key, value in sections.read(
            host.at(CONF), ("boot",), "see mcube.conf in mcube(8)",
            "write [boot], then lines NAME = VALUE; a word before '=' and a value after it"):
        if key == "profile":
            found.append(policy.profile(value))
        elif key in MAPS:
            try:
                addrmap.Dim(value)
            except Failure as e:
                raise Failure(f"{CONF}: {key}: {e}", e.advice) from e
            maps.append((MAPS[key], value))
        else:
            raise Failure(f"{CONF}: '{key}' is not known",
                          f"write profile, {' or '.join(MAPS)}")
    return found, maps


def boot(args):
    """mcube apply --boot: all of it or, if something is refused, nothing."""
    if args.profile:
        raise Failure("--boot takes the profiles from the file", f"name them in {CONF}")
    policy.need_kernel()
    found, maps = asked()
    if args.dry_run:
        return dry_run(args, maps + [pair for p in found for pair in p.apply])
    # A map that is in force already is not written: the mcube allocator may be on by the
    # boot line, and the kernel changes no map then.
    maps = [(f, v) for f, v in maps if not policy.same(policy.current(f), v)]
    for p in found:
        if p.module:
            module.load(p.module)
    changed = policy.write_all(maps + [pair for p in found if not p.in_force()
                                       for pair in p.apply])
    show_changes(args, changed, f"nothing to change: {CONF} asks for "
                 + (", ".join(p.name for p in found) or "no profile"))
    for p in found:
        if not args.json and (doubt := p.doubt()):
            print(f"note: {doubt}")
    return 0


def apply(args):
    """mcube apply."""
    if args.boot:
        return boot(args)
    if args.list or not args.profile:
        if not args.list:
            raise Failure("no profile was named", "choose one from 'mcube apply --list'")
        return show_list(args)
    profile = policy.profile(args.profile)
    policy.need_kernel()
    if args.dry_run:
        return dry_run(args, profile.apply)
    if profile.module:
        module.load(profile.module)
    changed = [] if profile.in_force() else policy.write_all(profile.apply)
    whole = " and ".join(profile.part_of())
    show_changes(args, changed, f"{profile.name} is in force already" + (
        f", as a part of {whole}; for it alone, 'mcube off' first" if whole else ""))
    if changed and not args.json:
        print(f"{profile.name} is in force. Pages placed earlier stay where they are; "
              "'mcube off' undoes it.")
        if doubt := profile.doubt():
            print(f"note: {doubt}; after 'mcube off', "
                  + " and ".join(f"'mcube map set --{d[:-1]} MAP'" for d in profile.lacks())
                  + " tells it")
    return 0


def off(args):
    """mcube off."""
    policy.need_kernel()
    if args.dry_run:
        return dry_run(args, policy.off_pairs())
    changed, failed = policy.switch_off()
    show_changes(args, changed, "" if failed else "all policies are off already")
    if failed:
        raise failed[0]
    return 0
