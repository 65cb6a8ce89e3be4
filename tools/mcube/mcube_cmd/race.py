# SPDX-License-Identifier: GPL-2.0
"""One program against others: run them pinned, count, clean up.

    victim       perf stat ... sh -c ONCE          on its CPU, to its end
    co-runners   perf stat ... setsid sh -c LOOP   on their CPUs, until the victim ends

Each program has a session of its own, so that its process group can be killed
with nothing left behind, and Ctrl-C reaches this process alone, which then cleans
up. The loop of a co-runner has another session than perf, because perf writes its
counts after the loop has ended. Waiting is by pidfd, because polling would blur
times.

The shell writes a program's status to a file, because perf's own status is no evidence:
perf stat returns 0 if the program ends before perf waits for it (skip_signal() in
tools/perf/builtin-stat.c), and if a signal kills the program.
"""

import os
import select
import signal
import subprocess
import time

from . import perf
from .term import Failure

# Arguments: command, file for its status.
ONCE = 'sh -c "$0"; echo $? > "$1"'
# Arguments: command, file for the status of a run that fails, file that gets a byte for
# each completed run, file for the number of the process group, process that the loop
# ends with.
LOOP = """echo $$ > "$3"
while kill -0 "$4"; do sh -c "$0" || { echo $? > "$1"; exit; }; printf . >> "$2"; done"""
SETTLE = 0.5            # seconds that co-runners get before the victim starts
PATIENCE = 10           # seconds that perf gets to write its counts


class Child:
    """A process on a CPU, with its errors in a file.

    The process writes the status of its command to another file.
    """

    def __init__(self, argv, cpu, log, status):
        self.log, self.status = log, status
        status.unlink(missing_ok=True)
        with open(log, "wb") as f:
            # pylint: disable=consider-using-with,subprocess-popen-preexec-fn
            self.process = subprocess.Popen(
                argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=f,
                start_new_session=True, preexec_fn=lambda: os.sched_setaffinity(0, {cpu}))
        self.pidfd = os.pidfd_open(self.process.pid)

    def ended(self, seconds=0):
        """Has the process ended? Wait for at most so many seconds."""
        ready, _, _ = select.select([self.pidfd], [], [], seconds)
        return bool(ready)

    def end(self):
        """Kill the process and its group; safe to call twice."""
        if self.pidfd is None:
            return
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        os.close(self.pidfd)
        self.pidfd = None

    def said(self):
        """The last lines that it wrote to stderr."""
        text = self.log.read_text("utf-8", "replace").strip()
        return "\n".join(text.splitlines()[-5:])

    def check(self, name):
        """Raise a Failure unless the command, which has ended, succeeded."""
        text = self.status.read_text("utf-8").strip() if self.status.is_file() else ""
        if text != "0":
            how = (f"failed with status {text}" if text else "has no status: what ran it "
                   f"ended with status {self.process.wait()}")
            raise Failure(f"{name} {how}\n{self.said()}".strip(), "run it by itself first")


class CoRunner:
    """A program that starts again whenever it ends."""

    def __init__(self, command, cpu, events, folder, n):
        self.command, self.events = command, events
        self.count, self.group, self.counts = (folder / f"{what}{n}"
                                               for what in ("done", "group", "perf"))
        self.count.write_bytes(b"")
        self.group.unlink(missing_ok=True)
        status = folder / f"status{n}"
        loop = ["sh", "-c", LOOP, command, str(status), str(self.count), str(self.group),
                str(os.getpid())]
        meter = [*perf.command(events, self.counts), "--", "setsid"] if events else []
        self.child = Child(meter + loop, cpu, folder / f"log{n}", status)
        self.before = 0

    def completed(self):
        """How often the command has ended."""
        return self.count.stat().st_size

    def begin(self):
        """Count completed runs from now on."""
        self.check()
        self.before = self.completed()

    def result(self):
        """Stop the co-runner; runs completed since begin(), and perf's counts of its whole life."""
        completed = self.completed() - self.before
        self.check()
        self.stop()
        self.child.ended(PATIENCE)
        text = self.counts.read_text("utf-8", "replace") if self.events else ""
        return completed, perf.parse(text, self.events)

    def check(self):
        """Raise a Failure if the loop no longer runs."""
        if self.child.ended():
            self.child.check(f"the co-runner '{self.command}'")

    def stop(self):
        """Kill the loop and what it runs; perf then writes its counts."""
        try:
            os.killpg(int(self.group.read_text("utf-8")), signal.SIGKILL)
        except (OSError, ValueError):
            pass        # the loop has not written its group yet, or has ended

    def end(self):
        """Kill the loop, and perf."""
        self.stop()
        self.child.end()


def end_by_signals():
    """Let signals that ask to end be like Ctrl-C: tidy up first."""
    def interrupt(*_):
        raise KeyboardInterrupt

    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, interrupt)


def finish(children):
    """Kill children, also if Ctrl-C comes meanwhile."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        for child in children:
            child.end()
    finally:
        signal.signal(signal.SIGINT, before)


def await_victim(victim, others):
    """Wait until the victim ends, or a co-runner fails."""
    fds = [victim.pidfd] + [o.child.pidfd for o in others]
    while not victim.ended():
        select.select(fds, [], [])
        for o in others:
            if not victim.ended():
                o.check()


def run(victim, others, cpus, roles, folder):
    """Run the victim once, against co-runners if there are any.

    Returns {"seconds", "counts": {role: n}, "others": [{"completed", "counts"}]}.
    """
    events = list(roles.values())
    output, status = folder / "perf", folder / "status"
    output.unlink(missing_ok=True)
    argv = ["sh", "-c", ONCE, victim, str(status)]
    children = []
    try:
        paced = [e for r, e in roles.items() if r in ("cycles", "instructions")]
        mates = []
        for i, command in enumerate(others):
            mates.append(CoRunner(command, cpus[1 + i], paced, folder, i))
            children.append(mates[-1])
        if mates:
            time.sleep(SETTLE)
        for m in mates:
            m.begin()
        start = time.monotonic()
        child = Child([*perf.command(events, output), "--", *argv] if events else argv, cpus[0],
                      folder / "log", status)
        children.append(child)
        await_victim(child, mates)
        seconds = time.monotonic() - start
        results = [m.result() for m in mates]
    finally:
        finish(children)
    child.check(f"the victim '{victim}'")
    text = output.read_text("utf-8", "replace") if output.is_file() else ""
    got = perf.parse(text, events)
    if lost := [e for e in events if got[e] is None]:
        raise Failure(f"perf did not count {', '.join(lost)}\n{child.said()}".strip(),
                      "see 'mcube check'; name other events by --events")
    by_event = {e: r for r, e in roles.items()}
    return {"seconds": seconds, "counts": {r: got[e] for r, e in roles.items()},
            "others": [{"completed": done,
                        "counts": {by_event[e]: n for e, n in counts.items() if n is not None}}
                       for done, counts in results]}
