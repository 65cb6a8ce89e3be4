# SPDX-License-Identifier: GPL-2.0
"""Limits of guests follow the guest's own clock and its output."""

import tempfile
import unittest
from pathlib import Path

from lib.patience import MOST, Clock, Patience


class Fake:
    """A process whose threads wait for CPUs as a test says."""

    def __init__(self, folder, threads=2):
        self.folder, self.time, self.waits = Path(folder), 100.0, [0.0] * threads
        self.write()
        self.clock = Clock(7, folder, lambda: self.time)

    def write(self):
        """Write the files of the scheduler."""
        for i, wait in enumerate(self.waits):
            path = self.folder / f"7/task/{i}/schedstat"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"5000 {round(wait * 1e9)} 3\n", "ascii")

    def passes(self, seconds, waiting=0.0, thread=1):
        """Time passes; a thread waits for a share of it."""
        for _ in range(round(seconds / 0.5)):
            self.time += 0.5
            self.waits[thread] += 0.5 * waiting
            self.write()
            self.clock()


class PatienceTest(unittest.TestCase):
    """The clock, and the limit by it."""

    def setUp(self):
        """A process."""
        # pylint: disable=consider-using-with
        self.tmp = tempfile.TemporaryDirectory()
        self.addCleanup(self.tmp.cleanup)
        self.fake = Fake(self.tmp.name)

    def test_idle_process_ages(self):
        """A process that sleeps has the time of the wall clock."""
        self.fake.passes(60)
        self.assertAlmostEqual(self.fake.clock(), 60)

    def test_starved_process_does_not_age(self):
        """Waiting for a CPU is no time of the process."""
        self.fake.passes(60, waiting=5 / 6)
        self.assertAlmostEqual(self.fake.clock(), 10)

    def test_stalled_machine(self):
        """A minute in which the caller did not run either is no minute of the process."""
        self.fake.time += 60
        self.assertLessEqual(self.fake.clock(), MOST)

    def test_new_thread(self):
        """What a thread waited before it was seen does not count."""
        self.fake.waits.append(50.0)
        self.fake.passes(10)
        self.assertAlmostEqual(self.fake.clock(), 10)

    def test_limit_starts_anew_with_output(self):
        """Output is progress."""
        limit = Patience(self.fake.clock, 30)
        for _ in range(5):
            self.fake.passes(20)
            self.assertFalse(limit.ask())
            limit.progress()
        self.fake.passes(31)
        self.assertTrue(limit.ask())

    def test_busy_host_is_no_hang(self):
        """With a sixth of a core the limit comes after six times as long, not before."""
        limit = Patience(self.fake.clock, 30)
        self.fake.passes(150, waiting=5 / 6)
        self.assertFalse(limit.ask())
        self.fake.passes(60, waiting=5 / 6)
        self.assertTrue(limit.ask())

    def test_asks_once_and_waits_for_the_answer(self):
        """At the limit the process is asked once, and ended later."""
        limit = Patience(self.fake.clock, 30)
        self.fake.passes(31)
        self.assertTrue(limit.ask())
        self.assertFalse(limit.ask())
        self.assertFalse(limit.over())
        self.fake.passes(Patience.ANSWER + 1)
        self.assertTrue(limit.over())


if __name__ == "__main__":
    unittest.main()
