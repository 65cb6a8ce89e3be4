# SPDX-License-Identifier: GPL-2.0
"""mcube-probe, the C core that times this machine: find or build it, run it, read its lines.

It is installed beside the command. In the source tree it is built when it is first needed.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from .term import Failure

HERE = Path(__file__).resolve().parents[1]
SOURCE = HERE / "probe"
INSTALLED = HERE.parents[1] / "lib/mcube/mcube-probe"
NEED = ("install a C compiler and make (apt install gcc make), or install the whole command: "
        "make -C tools/mcube install")


def folder():
    """Where it is built: beside all else that is built, or in the user's cache."""
    built = HERE.parents[1] / "build"
    if os.access(built if built.is_dir() else built.parent, os.W_OK):
        return built / "probe"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "mcube/probe"


def there():
    """The program if it need not be built, or None."""
    paths = [INSTALLED, folder() / "mcube-probe"]
    if given := os.environ.get("MCUBE_PROBE"):
        paths = [given]
    return next((str(p) for p in paths if os.access(p, os.X_OK)), None)


def program():
    """The program, built anew where its source is here and has changed."""
    found = there()
    if os.environ.get("MCUBE_PROBE") and not found:
        raise Failure("MCUBE_PROBE names no program", "unset it, or name mcube-probe")
    if (found and not found.startswith(str(folder()))) or not (SOURCE / "Makefile").is_file():
        if not found:
            raise Failure("mcube-probe, which times the machine, is not installed", NEED)
        return found
    if not (shutil.which("make") and shutil.which(os.environ.get("CC", "gcc"))):
        if found:
            return found
        raise Failure("mcube-probe, which times the machine, is not built", NEED)
    done = subprocess.run(["make", "-s", "-C", str(SOURCE), f"O={folder()}"],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        raise Failure(f"mcube-probe cannot be built:\n{done.stdout.strip()}", NEED)
    return str(folder() / "mcube-probe")


class Progress:
    """A line on the terminal that shows how far work is; none where nobody looks."""

    def __init__(self, what):
        self.what, self.shown = what, False

    def show(self, share, left=None):
        """At a share from 0 to 1, with so many seconds left."""
        if sys.stderr.isatty():
            self.shown = True
            rest = "" if left is None else f", {left:.0f} s left   "
            print(f"\r{self.what}: {share:4.0%}{rest}", end="", file=sys.stderr, flush=True)

    def close(self):
        """Remove the line."""
        if self.shown:
            print("\r" + " " * (len(self.what) + 26) + "\r", end="", file=sys.stderr, flush=True)


def run(words, what):
    """Run a subcommand; its result, or its error as a Failure.

    What ends this command ends the program too: it changes no setting, and the kernel takes
    its memory back.
    """
    progress, last = Progress(what), {}
    with subprocess.Popen([program(), *map(str, words)], stdout=subprocess.PIPE, text=True) as p:
        try:
            for line in p.stdout:
                last = json.loads(line)
                if "progress" in last:
                    progress.show(last["progress"], last["left_s"])
        except ValueError as e:
            raise Failure(f"mcube-probe printed what is no JSON: {line.strip()}",
                          "build it and the command from one tree") from e
        finally:
            progress.close()
            if p.poll() is None:
                p.terminate()
    if "error" in last:
        raise Failure(last["error"], last.get("next", ""))
    if "result" not in last:
        raise Failure(f"mcube-probe ended with status {p.returncode} and no result",
                      "run it by itself: " + " ".join([there() or "", *map(str, words)]))
    return last
