# SPDX-License-Identifier: GPL-2.0
"""Options of subcommands with actions, such as mcube ubm on, off, status, watch."""

import os
import time

from .term import Failure


def check_belong(args, command, belong, action=None):
    """Refuse options of another action; belong: {option: actions}, advice names the last.

    action: what the options make of args.action, if they do.
    """
    action = action or args.action
    for option, actions in belong.items():
        value = getattr(args, option)
        if value is None or value is False or value == []:
            continue
        if action not in actions:
            name = option.replace("_", "-")
            raise Failure(f"--{name} does not belong to '{action}'",
                          f"write 'mcube {command} {actions[-1]} --{name} ...'")


def check_seconds(args, *options):
    """Refuse times that are not above 0."""
    for option in options:
        value = getattr(args, option)
        if value is not None and value <= 0:
            raise Failure(f"--{option} {value:g} is no time", "give seconds above 0")


def begin_look():
    """The head of one of many looks, on a terminal in the place of the one before."""
    print("\x1b[H\x1b[J" if os.isatty(1) else "", end="")
    print(time.strftime("%H:%M:%S"))


def add_watch(parser, drawn):
    """Options of the action watch; drawn: what its picture has."""
    parser.add_argument("--interval", metavar="SECONDS", type=float,
                        help="watch: between two looks (default: 2)")
    parser.add_argument("--seconds", metavar="N", type=float,
                        help="watch: end after so many seconds")
    parser.add_argument("--plot", metavar="FILE", help=f"watch: at the end, draw {drawn} into a "
                        ".png file")


def observe(args, look):
    """Look again and again, until time is up or Ctrl-C.

    look(seconds since the first look) returns a function that prints what was seen, which is
    called if people watch.
    """
    start = time.monotonic()
    try:
        while True:
            now = time.monotonic() - start
            show = look(now)
            if not args.json and not args.plot:
                begin_look()
                show()
                print(flush=True)
            if args.seconds and now >= args.seconds:
                return
            time.sleep(args.interval or 2)
    except KeyboardInterrupt:
        pass
