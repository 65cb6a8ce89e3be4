# SPDX-License-Identifier: GPL-2.0
"""Arguments in, exit status out: 0 done, 1 failed or something missing, 2 usage."""

import argparse
import os
import sys

from . import (cmd_apply, cmd_check, cmd_corun, cmd_estimate, cmd_map, cmd_pages, cmd_record,
               cmd_replay, cmd_report, cmd_rocs, cmd_setcache, cmd_status, cmd_ubm)
from .term import Failure

# The kernel whose interface the command knows.
VERSION = "mcube for Linux 6.12"
COMMANDS = {
    "check": (cmd_check.HELP, cmd_check.EXAMPLE, cmd_check.arguments, cmd_check.run),
    "status": (cmd_status.HELP, cmd_status.EXAMPLE, cmd_status.arguments, cmd_status.run),
    "apply": (cmd_apply.APPLY, cmd_apply.APPLY_EXAMPLE, cmd_apply.apply_arguments,
              cmd_apply.apply),
    "off": (cmd_apply.OFF, cmd_apply.OFF_EXAMPLE, cmd_apply.off_arguments, cmd_apply.off),
    "map": (cmd_map.HELP, cmd_map.EXAMPLE, cmd_map.arguments, cmd_map.run),
    "pages": (cmd_pages.HELP, cmd_pages.EXAMPLE, cmd_pages.arguments, cmd_pages.run),
    "rocs": (cmd_rocs.HELP, cmd_rocs.EXAMPLE, cmd_rocs.arguments, cmd_rocs.run),
    "ubm": (cmd_ubm.HELP, cmd_ubm.EXAMPLE, cmd_ubm.arguments, cmd_ubm.run),
    "setcache": (cmd_setcache.HELP, cmd_setcache.EXAMPLE, cmd_setcache.arguments,
                 cmd_setcache.run),
    "record": (cmd_record.HELP, cmd_record.EXAMPLE, cmd_record.arguments, cmd_record.run),
    "replay": (cmd_replay.HELP, cmd_replay.EXAMPLE, cmd_replay.arguments, cmd_replay.run),
    "estimate": (cmd_estimate.HELP, cmd_estimate.EXAMPLE, cmd_estimate.arguments,
                 cmd_estimate.run),
    "report": (cmd_report.HELP, cmd_report.EXAMPLE, cmd_report.arguments, cmd_report.run),
    "corun": (cmd_corun.HELP, cmd_corun.EXAMPLE, cmd_corun.arguments, cmd_corun.run),
}


def parser():
    """The whole command line."""
    top = argparse.ArgumentParser(
        prog="mcube", description="Look at, switch and measure page placement by cache color "
        "and DRAM bank.", epilog="Start with 'mcube check'. See mcube(8).")
    top.add_argument("--version", action="version", version=VERSION)
    sub = top.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, (text, example, add, run) in COMMANDS.items():
        one = sub.add_parser(name, help=text, description=f"{text[0].upper()}{text[1:]}.",
                             epilog=example,
                             formatter_class=argparse.RawDescriptionHelpFormatter)
        add(one)
        one.set_defaults(run=run)
    return top


def main(argv=None):
    """Run a command line; its exit status."""
    args = parser().parse_args(argv)
    try:
        status = args.run(args)
        sys.stdout.flush()
        return status
    except Failure as e:
        sys.stdout.flush()
        print(f"mcube {args.command}: error: {e}", file=sys.stderr)
        if e.advice:
            print(f"what to do: {e.advice}", file=sys.stderr)
        return 1
    except BrokenPipeError:
        # The reader closed the pipe. At exit nothing must be left to flush.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 1
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
