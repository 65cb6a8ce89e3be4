#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Run the unit tests of a folder and print TAP.

    run.py [-C FOLDER] [NAME...]    all *_test.py there, or tests whose names contain a NAME

The default folder is the folder of this script. Tests may import modules that lie beside
their folder.
"""

import argparse
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
    """First line of a test's docstring, after the name of its file."""
    text = test.shortDescription() or test.id()
    return f"{test.id().split('.')[0].removesuffix('_test')}: {text}".rstrip(".")


def main():
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-C", dest="folder", type=Path, default=Path(__file__).parent)
    parser.add_argument("names", nargs="*", metavar="NAME")
    args = parser.parse_args()
    folder = args.folder.resolve()
    sys.path.insert(0, str(folder.parent))
    found = unittest.TestLoader().discover(str(folder), pattern="*_test.py")
    tests = [t for t in each(found)
             if not args.names or any(a in t.id() for a in args.names)]
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
