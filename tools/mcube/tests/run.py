#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Run the tests of the mcube command and print TAP.

    run.py [NAME...]     all *_test.py, or tests whose names contain a NAME
"""

import sys
import unittest
from pathlib import Path


def each(suite):
    """All single tests of a suite."""
    for item in suite:
        if isinstance(item, unittest.TestSuite):
            yield from each(item)
        else:
            yield item


def title(test):
    """What a test shows, in its own words."""
    text = test.shortDescription() or test.id()
    return f"{test.id().split('.')[0].removesuffix('_test')}: {text}".rstrip(".")


def main():
    """Command line."""
    here = str(Path(__file__).resolve().parent)
    found = unittest.TestLoader().discover(here, pattern="*_test.py")
    tests = [t for t in each(found)
             if not sys.argv[1:] or any(a in t.id() for a in sys.argv[1:])]
    print(f"TAP version 13\n1..{len(tests)}")
    failed = 0
    for n, test in enumerate(tests, 1):
        result = unittest.TestResult()
        test.run(result)
        bad = result.failures + result.errors + [(t, "") for t in result.unexpectedSuccesses]
        failed += bool(bad)
        skip = f" # SKIP {result.skipped[0][1]}" if result.skipped else ""
        print(f"{'not ok' if bad else 'ok'} {n} {title(test)}{skip}", flush=True)
        for _, trace in bad:
            print("\n".join(f"# {line}" for line in trace.splitlines()))
    return 1 if failed or not tests else 0


if __name__ == "__main__":
    sys.exit(main())
