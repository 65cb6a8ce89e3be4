# SPDX-License-Identifier: GPL-2.0
"""mcube setcache: serve random reads from a set-associative page cache."""

import re

from . import actions, module, picture, policy, setcache, setcache_report
from .term import Failure, output, print_json

HELP = "page sets: random reads are served from small sets of pages instead of the page cache"
EXAMPLE = """examples:
  mcube setcache on --size 1G           files with POSIX_FADV_RANDOM take part
  mcube setcache on --mode all --policy nrlfu
  mcube setcache                        hit ratio, pressure on the sets, counters
  mcube setcache watch --interval 1     the same, again and again
  mcube setcache watch --seconds 60 --plot setcache.png
  mcube setcache on --size 2G           grows while reads go on
  mcube setcache on --numa message      nodes look up what is in their memory
  mcube setcache off
"""
# Options that belong to some actions only.
BELONG = {"mode": ("on",), "size": ("on",), "policy": ("on",), "numa": ("on",),
          "interval": ("watch",), "seconds": ("watch",), "plot": ("watch",)}


def arguments(parser):
    """Options."""
    parser.add_argument("action", nargs="?", choices=["on", "off", "status", "watch"],
                        default="status")
    parser.add_argument("--mode", choices=setcache.MODES, help="on: files that take part: those "
                        "with POSIX_FADV_RANDOM (the default), or all")
    parser.add_argument("--size", metavar="SIZE", help="on: memory for pages, in MiB, or with M "
                        "or G behind it (default: as it is)")
    parser.add_argument("--policy", choices=setcache.POLICIES,
                        help="on: which page of a set goes (default: as it is)")
    parser.add_argument("--numa", choices=setcache.NUMA, help="on: spread memory over the nodes, "
                        "or by the hash, or let nodes ask each other (default: as it is)")
    actions.add_watch(parser, "hit ratio, rates and pressure")
    parser.add_argument("--json", action="store_true", help="print JSON")


def check_options(args):
    """Refuse options of another action, and values that make no sense."""
    actions.check_belong(args, "setcache", BELONG)
    actions.check_seconds(args, "interval", "seconds")
    if args.plot:
        picture.check(args.plot, "setcache.png")


def mebibytes(text):
    """512, 512M or 2G as MiB."""
    m = re.fullmatch(r"(\d+)([MG]?)", text)
    if not m:
        raise Failure(f"--size {text} is no size", "write MiB, or for example 512M or 2G")
    return int(m[1]) << (10 if m[2] == "G" else 0)


def choice(args):
    """[(file, value)] that the options ask for; the mode comes last, when all is set."""
    now = policy.current("setcache/mode")
    mode = args.mode or (now if now in setcache.MODES else "random")
    size = str(mebibytes(args.size)) if args.size is not None else None
    pairs = [("setcache/policy", args.policy), ("setcache/numa", args.numa),
             ("setcache/size_mib", size), ("setcache/mode", mode)]
    return [(f, v) for f, v in pairs if v is not None and policy.current(f) != v]


def switch_on(args):
    """mcube setcache on."""
    policy.need_kernel()
    if args.size is not None:
        mebibytes(args.size)
    fresh = module.load(setcache.MODULE)
    try:
        changed = policy.write_all(choice(args))
    except Failure as e:
        if "setcache/mode" in str(e) and "memory" in str(e):
            e.advice = "give fewer MiB by --size, or free memory"
        raise
    if args.json:
        print_json({"module_loaded": fresh, "mode": policy.current("setcache/mode"),
                    "changed": policy.as_json(changed)})
        return 0
    policy.show(changed)
    print("page sets are on; 'mcube setcache' shows what they do, 'mcube setcache off' undoes it"
          if changed else "page sets are on already, with these settings")
    if policy.current("setcache/mode") == "random":
        print("note: a program takes part by posix_fadvise(..., POSIX_FADV_RANDOM); for all "
              "programs: --mode all")
    return 0


def switch_off(args):
    """mcube setcache off."""
    policy.need_kernel()
    was_on = policy.current("setcache/mode") not in (None, "off")
    if was_on:
        policy.write("setcache/mode", "off")
    return output(args, {"was_on": was_on}, lambda _: print(
        "page sets are off, and their memory is free" if was_on else "page sets are off already"))


def watch(args):
    """mcube setcache watch."""
    samples, seen = [], {"first": None, "last": None}

    def look(now):
        data, rows = setcache.look()
        if rows is None:
            raise setcache.why_hidden()
        before = seen["last"] and (now - seen["last"][0], *seen["last"][1:])
        seen.update(first=seen["first"] or rows, last=(now, data, rows))
        samples.append((now, data))
        return lambda: setcache_report.show_status(data, rows, before)

    actions.observe(args, look)
    if args.plot:
        if len(samples) < 2 or not seen["last"][2]:
            raise Failure("there is nothing to draw: page sets are off, or there was one look",
                          "'mcube setcache on', and more --seconds than --interval")
        setcache_report.draw(samples, setcache.since(seen["last"][2], seen["first"]), args.plot)
    return output(args, [{"seconds": at} | data for at, data in samples], lambda _: None,
                  args.plot)


def run(args):
    """mcube setcache."""
    check_options(args)
    if args.action == "on":
        return switch_on(args)
    if args.action == "off":
        return switch_off(args)
    setcache.need()
    if args.action == "watch":
        return watch(args)
    data, rows = setcache.look()
    return output(args, data, lambda d: setcache_report.show_status(
        d, rows, None, setcache.why_hidden()))
