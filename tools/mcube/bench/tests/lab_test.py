# SPDX-License-Identifier: GPL-2.0
"""What the benchmarks share: guests are run, and then the report is made."""

import contextlib
import io
import tempfile
import unittest
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import lab
from lab import Failure


class ServeTest(unittest.TestCase):
    """lab.serve()."""

    def serve(self, again=False, json=False, broken=False):
        """What was done, in order, and what standard output got."""
        done, out = [], io.StringIO()

        def job():
            if broken:
                raise Failure("a guest")
            done.append("guest")

        def report():
            done.append("report")
            return path

        with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
            path = Path(folder) / "result.json"
            path.write_text("{}", "utf-8")
            for name, what in (("ui.sh", lambda *a, **k: done.append("deps")),
                               ("guest_tool", done.append)):
                stack.enter_context(mock.patch(f"lab.{name}", what))
            stack.enter_context(mock.patch("sys.stdout", out))
            stack.enter_context(mock.patch("sys.__stdout__", out))
            stack.enter_context(mock.patch("sys.stderr", io.StringIO()))
            args = SimpleNamespace(again=again, json=json, jobs=1)
            try:
                self.assertEqual(lab.serve("x", args, lambda: [job, job], ["a", "b"], report), 0)
            except Failure:
                done.append("failed")
        return done, out.getvalue()

    def test_order(self):
        """Packages, guest programs, guests, report."""
        self.assertEqual(self.serve()[0], ["deps", "a", "b", "guest", "guest", "report"])

    def test_again(self):
        """With --again there is no guest and no guest program, but a report."""
        self.assertEqual(self.serve(again=True)[0], ["deps", "report"])

    def test_json(self):
        """With --json standard output is the result alone."""
        self.assertEqual(self.serve(json=True)[1], "{}")

    def test_failure(self):
        """A guest that fails leaves no report."""
        self.assertEqual(self.serve(broken=True)[0], ["deps", "a", "b", "failed"])
