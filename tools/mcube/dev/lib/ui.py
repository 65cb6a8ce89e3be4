# SPDX-License-Identifier: GPL-2.0
"""Messages of the driver scripts: progress and errors.

Long work is a list of named steps. Each step prints its number, the time since
the start and the next step, so that a person can follow the work. An error says
what went wrong and what to do about it, without a traceback.
"""

import argparse
import collections
import fcntl
import os
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path

from mcube_cmd.term import Failure

ROOT = Path(__file__).resolve().parents[4]
BUILD = Path(os.environ.get("BUILD") or ROOT / "build").resolve()
JOBS = int(os.environ.get("JOBS") or os.cpu_count() or 1)
OWN_LOCKS = collections.defaultdict(threading.Lock)


def clock(seconds):
    """Elapsed time as m:ss."""
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"


def say(text):
    """One line of progress."""
    print(f"    {text}", flush=True)


REASONS = []


def reason(text):
    """Say why a test failed; make test says it again at its end."""
    say(text)
    REASONS.append(text)


class Steps:
    """Announces the steps of a job in order; the caller may leave steps out."""

    def __init__(self, job, names):
        self.job, self.names, self.start = job, list(names), time.monotonic()

    def __call__(self, name):
        """Announce a step."""
        i = self.names.index(name)
        after = f" (next: {self.names[i + 1]})" if i + 1 < len(self.names) else ""
        passed = clock(time.monotonic() - self.start)
        print(f"==> {self.job} [{i + 1}/{len(self.names)} {passed}] {name}{after}",
              flush=True)

    def done(self, text="done"):
        """Close the job."""
        passed = clock(time.monotonic() - self.start)
        print(f"==> {self.job} [{passed}] {text}", flush=True)


def parser(doc):
    """A command line whose help is the text of its script."""
    return argparse.ArgumentParser(description=doc,
                                   formatter_class=argparse.RawDescriptionHelpFormatter)


def sh(*argv, **kw):
    """Run a command; if it fails, raise Failure with the end of its output."""
    argv = [str(a) for a in argv]
    quiet = kw.pop("quiet", True)
    if quiet:
        kw.update(stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    kw.setdefault("text", True)
    done = subprocess.run(argv, check=False, **kw)
    if done.returncode:
        tail = "\n".join((done.stdout or "").splitlines()[-25:])
        raise Failure(f"'{' '.join(argv[:6])}' failed ({done.returncode})"
                      + (f":\n{tail}" if tail else ""))
    return done.stdout


def write_if_changed(path, data, mode=None):
    """Write bytes through a new file, only if they differ; True if written."""
    path = Path(path)
    if path.is_file() and not path.is_symlink() and path.read_bytes() == data:
        if mode is None or (path.stat().st_mode & 0o777) == mode:
            return False
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(f".{path.name}.new{os.getpid()}")
    new.write_bytes(data)
    new.chmod(0o644 if mode is None else mode)
    new.replace(path)
    return True


@contextmanager
def lock(name):
    """A lock per build directory and name; prints a line if it waits for another command.

    Threads of the same command wait for each other silently: guests that run side by side
    share a disk image, and wait until the first guest has made it.
    """
    BUILD.mkdir(parents=True, exist_ok=True)
    with OWN_LOCKS[name], open(BUILD / f".lock-{name}", "w", encoding="utf-8") as f:
        try:
            fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"waiting for another '{name}' in {BUILD}")
            fcntl.flock(f, fcntl.LOCK_EX)
        yield


def main(run):
    """Run a command's main function and turn Failure into a plain message."""
    try:
        sys.exit(run() or 0)
    except Failure as e:
        print(f"\nerror: {e}", file=sys.stderr)
        if e.advice:
            print(f"what to do: {e.advice}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        print("\ninterrupted", file=sys.stderr)
        sys.exit(130)
