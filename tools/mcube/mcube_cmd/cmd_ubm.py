# SPDX-License-Identifier: GPL-2.0
"""mcube ubm: share the page cache among loops, other and sequential references."""

import os
import re
import time

from . import actions, picture, policy, tracefs, ubm, ubm_report
from .term import Failure, print_json

HELP = "UBM: loops of references stay in the page cache, sequential references leave it first"
EXAMPLE = """examples:
  mcube ubm on
  mcube ubm                             partitions, gains and runs of each cgroup
  mcube ubm watch --interval 1          the same, again and again
  mcube ubm watch --cgroup /batch --seconds 60 --plot ubm.png
  mcube ubm off
"""
# Options that belong to some actions only.
BELONG = {"interval": ("watch",), "seconds": ("watch",), "plot": ("watch",),
          "cgroup": ("status", "watch")}
BUFFER = 4096           # KiB of each CPU for events
READS = 256             # reads of the buffers between two looks at the clock
TICK = 0.05             # seconds between two looks into buffers that were almost empty
NOTE = re.compile(r"\s([\d.]+): mcube_ubm_note: (.*)")
PAIR = re.compile(r"(\w+)=(\S+)")


def arguments(parser):
    """Options."""
    parser.add_argument("action", nargs="?", choices=["on", "off", "status", "watch"],
                        default="status")
    parser.add_argument("--cgroup", metavar="PATH", help="status, watch: this cgroup only")
    actions.add_watch(parser, "references with their classes, sizes and gains")
    parser.add_argument("--json", action="store_true", help="print JSON")


def check_options(args):
    """Refuse options of another action, and values that make no sense."""
    actions.check_belong(args, "ubm", BELONG)
    actions.check_seconds(args, "interval", "seconds")
    if args.plot:
        picture.check(args.plot, "ubm.png")


def switch(args):
    """mcube ubm on, off."""
    ubm.need()
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


class Seen:
    """References with their classes, as UBM notes them."""

    def __init__(self):
        self.references = {}    # number of the cgroup: references
        self.first = None       # time stamp of the first event

    def line(self, text):
        """A line of the trace."""
        if not (m := NOTE.search(text)):
            return
        words, stamp = dict(PAIR.findall(m[2])), float(m[1])
        if self.first is None:
            self.first = stamp
        self.references.setdefault(int(words["memcg"]), []).append(
            (stamp - self.first, tuple(int(words[k]) for k in ("major", "minor", "ino")),
             int(words["first"]), int(words["nr"]), words["class"]))


def wait(seconds, instance, seen):
    """Take events until it is time for the next look."""
    if not instance:
        time.sleep(seconds)
        return
    end = time.monotonic() + seconds
    while True:
        lines = 0
        for line in instance.lines(READS):
            seen.line(line)
            lines += 1
        left = end - time.monotonic()
        if left <= 0:
            return
        if lines < READS:
            time.sleep(min(left, TICK))


def observe(args, instance, seen, samples):
    """Look again and again, until time is up or Ctrl-C."""
    before, start = None, time.monotonic()
    live = not args.json and not args.plot
    try:
        while True:
            now = time.monotonic() - start
            data = ubm.status(args.cgroup)
            if data["domains"] is None:
                raise ubm.why_hidden()
            samples.append((now, data["domains"]))
            if live:
                print("\x1b[H\x1b[J" if os.isatty(1) else "", end="")
                print(time.strftime("%H:%M:%S"))
                ubm_report.show_status(data, before)
                print(flush=True)
            before = {d["memcg"]: d for d in data["domains"]}
            if args.seconds and now >= args.seconds:
                return
            wait(args.interval or 2, instance, seen)
    except KeyboardInterrupt:
        pass


def picture_of(args, samples, seen):
    """Draw the domain with most references."""
    last = samples[-1][1]
    if not last:
        raise Failure("UBM has seen no cgroup in this time",
                      "watch while a program reads more files than its memory holds")
    memcg = last[0]["memcg"]
    ubm_report.draw(samples, seen.references.get(memcg, []), memcg,
                    f"cgroup {last[0]['cgroup']}", args.plot)


def watch(args):
    """mcube ubm watch."""
    samples, seen = [], Seen()
    if args.plot:
        with tracefs.Instance("ubm", BUFFER) as instance:
            instance.enable(ubm.EVENT)
            instance.but(os.getpid())
            instance.begin()
            observe(args, instance, seen, samples)
            # Events come no more, so the rest of them ends.
            instance.stop()
            for line in instance.lines():
                seen.line(line)
            lost = instance.lost()
        picture_of(args, samples, seen)
        if lost:
            print(f"warning: {lost:,} events were lost; give a shorter --interval")
    else:
        observe(args, None, seen, samples)
    if args.json:
        print_json([{"seconds": at, "domains": domains} for at, domains in samples])
    elif args.plot:
        print(f"picture: {args.plot}")
    return 0


def run(args):
    """mcube ubm."""
    check_options(args)
    if args.action in ("on", "off"):
        return switch(args)
    ubm.need()
    if args.action == "watch":
        return watch(args)
    data = ubm.status(args.cgroup)
    if args.json:
        print_json(data)
    else:
        ubm_report.show_status(data, None, ubm.why_hidden())
    return 0
