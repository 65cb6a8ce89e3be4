# SPDX-License-Identifier: GPL-2.0
"""Circles between source files: files that need each other can only be read together.

foo.c and foo.h count as one file, the unit foo. Unit a needs unit b if a file of a includes
a file of b, or if the object of a uses a symbol that the object of b defines. A finding
shows a circle as the chain of its units, each with what it needs of the next unit.
"""

import collections
import re
import subprocess

from .doors import included
from .ui import Failure

# The check looks for circles inside each of these folders.
AREAS = ("mm/mcube/", "drivers/mcube/", "tools/mcube/model/")
# A finding names at most so many symbols of each unit.
SHOWN = 3


def unit(path):
    """foo of foo.c, foo.h and foo.o."""
    return re.sub(r"\.[cho]$", "", path)


def area_of(path):
    """Folder in which a file's circles are looked for, or None."""
    return next((a for a in AREAS if path.startswith(a)), None)


def by_include(files):
    """{unit: {unit: {header}}} of includes between files, {path: text}."""
    out = collections.defaultdict(lambda: collections.defaultdict(set))
    for path, text in files.items():
        area = area_of(path)
        for target, _ in included(path, text, files) if area else ():
            if area_of(target) == area and unit(target) != unit(path):
                out[unit(path)][unit(target)].add(target.rpartition("/")[2])
    return out


def symbols(path):
    """(defined, used) global symbols of an object file."""
    got = subprocess.run(["gcc-nm", "-g", "-P", str(path)], text=True, check=False,
                         capture_output=True)
    if got.returncode:
        raise Failure(f"gcc-nm {path}: {got.stderr.strip()}")
    rows = [line.split()[:2] for line in got.stdout.splitlines()]
    return ({name for name, kind in rows if kind not in "Uwv"},
            {name for name, kind in rows if kind in "Uwv"})


def by_symbol(objects):
    """{unit: {unit: {symbol}}} of objects, {path of the source: (defined, used)}."""
    owner = {s: path for path, (defined, _) in objects.items() for s in defined}
    out = collections.defaultdict(lambda: collections.defaultdict(set))
    for path, (_, used) in objects.items():
        for s in used:
            other = owner.get(s, path)
            if unit(other) != unit(path) and area_of(path) == area_of(other):
                out[unit(path)][unit(other)].add(s)
    return out


def shortest(graph, start):
    """Shortest circle through a unit as a list of units, or None."""
    before, todo = {}, collections.deque([start])
    while todo:
        at = todo.popleft()
        for after in sorted(graph.get(at, ())):
            if after == start:
                chain = [at]
                while chain[-1] != start:
                    chain.append(before[chain[-1]])
                return chain[::-1]
            if after not in before:
                before[after] = at
                todo.append(after)
    return None


def told(graph, chain):
    """A circle as text: each unit, and what it needs of the next unit."""
    words = []
    for at, after in zip(chain, chain[1:] + chain[:1]):
        needs = sorted(graph[at][after])
        more = f" and {len(needs) - SHOWN} more" if len(needs) > SHOWN else ""
        words.append(f"{at} needs {', '.join(needs[:SHOWN])}{more} of {after}")
    return "; ".join(words)


def findings(graph):
    """The shortest circle through each unit that is in no circle before: [text]."""
    out, seen = [], set()
    chains = filter(None, (shortest(graph, u) for u in sorted(graph)))
    for chain in sorted(chains, key=len):
        if seen.isdisjoint(chain):
            out.append(told(graph, chain))
            seen.update(chain)
    return out
