# SPDX-License-Identifier: GPL-2.0
"""The own clock of a process on a busy host, for limits that find hangs.

A guest that gets a sixth of a core needs six times as long and does not hang. So the clock
stands still while a thread of the process waits for a CPU: the scheduler counts that time in
/proc/PID/task/TID/schedstat. A process that sleeps ages as the wall clock does, so a guest
whose tasks all wait for each other comes to its limit as well.
"""

import time
from pathlib import Path

# The caller asks a few times a second. After a longer pause the whole machine stood still.
MOST = 1.0


class Clock:
    """Seconds that a process had since this object was made."""

    def __init__(self, pid, proc="/proc", now=time.monotonic):
        self.tasks, self.now = Path(proc) / str(pid) / "task", now
        self.seconds, self.asked, self.waits = 0.0, now(), self.waited()

    def waited(self):
        """{thread: seconds that it waited for a CPU}; threads that end meanwhile are left out."""
        out = {}
        for path in self.tasks.glob("*/schedstat"):
            try:
                out[path.parent.name] = int(path.read_text("ascii").split()[1]) / 1e9
            except OSError:
                continue
        return out

    def __call__(self):
        """Seconds up to now."""
        now, waits = self.now(), self.waited()
        lost = max((w - self.waits[t] for t, w in waits.items() if t in self.waits), default=0)
        self.seconds += min(MOST, max(0, now - self.asked - lost))
        self.asked, self.waits = now, waits
        return self.seconds


class Patience:
    """A limit on the time without progress, by the clock of a process.

    At the limit the process is asked where it hangs, and gets some time for the answer.
    """

    ANSWER = 20

    def __init__(self, clock, limit):
        self.clock, self.limit = clock, limit
        self.last, self.since = 0.0, None

    def progress(self):
        """The process did something that it was started for."""
        self.last, self.since = self.clock(), None

    def ask(self):
        """True once at the limit: ask the process where it hangs."""
        if self.since is None and self.clock() - self.last > self.limit:
            self.since = self.clock()
            return True
        return False

    def over(self):
        """True when the time for the answer is over, too."""
        return self.since is not None and self.clock() - self.since > self.ANSWER
