# SPDX-License-Identifier: GPL-2.0
"""mcube ubm: hold pages of files that come back soon."""

from . import actions, picture, policy, ubm
from .term import output, print_json

HELP = "UBM: pages of files that come back soon are held, so that loops find some of theirs"
EXAMPLE = """examples:
  mcube ubm on
  mcube ubm                             what is held for each cgroup
  mcube ubm watch --interval 1          the same, again and again
  mcube ubm watch --cgroup /batch --seconds 60 --plot ubm.png
  mcube ubm off
"""
# Options that belong to some actions only.
BELONG = {"interval": ("watch",), "seconds": ("watch",), "plot": ("watch",),
          "cgroup": ("status", "watch")}


def arguments(parser):
    """Options."""
    parser.add_argument("action", nargs="?", choices=["on", "off", "status", "watch"],
                        default="status")
    parser.add_argument("--cgroup", metavar="PATH", help="status, watch: this cgroup only")
    actions.add_watch(parser, "pages that are held")
    parser.add_argument("--json", action="store_true", help="print JSON")


def check_options(args):
    """Refuse options of another action, and values that make no sense."""
    actions.check_belong(args, "ubm", BELONG)
    actions.check_seconds(args, "interval", "seconds")
    if args.plot:
        picture.check(args.plot, "ubm.png")


def switch(args):
    """mcube ubm on, off."""
    wanted = "1" if args.action == "on" else "0"
    before = policy.current("ubm/enabled")
    if before != wanted:
        policy.write("ubm/enabled", wanted)
    if args.json:
        print_json({"enabled": wanted == "1", "was_on": before == "1"})
    elif before == wanted:
        print(f"UBM is {args.action} already")
    else:
        print(f"UBM is {args.action}" + ("; 'mcube ubm' shows what it does" if wanted == "1" else
                                         ": reclaim works as in the stock kernel"))
    return 0


def watch(args):
    """mcube ubm watch."""
    samples = []

    def look(now):
        data = ubm.status(args.cgroup)
        if data["lruvecs"] is None:
            raise ubm.why_hidden()
        samples.append((now, data))
        return lambda: ubm.show(data)

    actions.observe(args, look)
    if args.plot:
        ubm.draw([(at, data["cgroups"]) for at, data in samples], args.plot)
    return output(args, [{"seconds": at} | data for at, data in samples], lambda _: None,
                  args.plot)


def run(args):
    """mcube ubm."""
    check_options(args)
    ubm.need()
    if args.action in ("on", "off"):
        return switch(args)
    if args.action == "watch":
        return watch(args)
    data = ubm.status(args.cgroup)
    return output(args, data, lambda d: ubm.show(d, ubm.why_hidden()))
