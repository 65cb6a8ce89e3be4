# SPDX-License-Identifier: GPL-2.0
"""Traces that could hurt a policy which holds pages: the same at each run.

Readers that follow each other, scans of all kinds, working sets that move, garbage. Caches of
300 to 4000 pages are meant. All pages are of one file: the kernel's UBM does not ask which file a
page is of.
"""

import gzip
import itertools
import random

SIZES = (300, 600, 1200, 2000, 4000)


def followers(readers, apart, pages=20000):
    """Readers of all pages in order, each so many pages behind the one before."""
    return [t - i * apart for t in range(pages + apart * (readers - 1)) for i in range(readers)
            if 0 <= t - i * apart < pages]


def popular(rnd, pages, number):
    """References to pages, some of which are much more popular than others (Zipf, 0.8)."""
    order = rnd.sample(range(pages), pages)
    weights = list(itertools.accumulate((i + 1) ** -0.8 for i in range(pages)))
    return [order[i] for i in rnd.choices(range(pages), cum_weights=weights, k=number)]


def backup(rnd):
    """A database, and a backup that reads pages of its own for half of the time."""
    table = popular(rnd, 3000, 100000)
    for at, page in enumerate(table):
        yield page
        if 30000 < at < 80000:
            yield at + 5000


def hot_table(rnd):
    """A table is scanned again and again; some of its pages are in use all the time."""
    hot = rnd.sample(range(6000), 1500)
    for at in range(60000):
        yield at % 6000
        yield rnd.choice(hot)


def table_and_stream(rnd):
    """Random reads, most of them of 70 % of a table, beside a stream that is read once."""
    for at in range(60000):
        yield rnd.randrange(2800 if rnd.random() < 0.9 else 4000)
        yield 10000 + at


def make():
    """Name and references of each trace."""
    rnd = random.Random(1)
    out = {f"followers {k}, {apart} apart": followers(k, apart // max(1, k - 1))
           for k in (2, 3, 4, 5) for apart in (100, 400, 1000, 1800)}
    out["backup"] = list(backup(rnd))
    out["hot table"] = list(hot_table(rnd))
    out["table and stream"] = list(table_and_stream(rnd))
    out["moving sets"] = [1500 * turn + page // 2 for turn in range(10)
                          for page in popular(rnd, 3000, 20000)]
    out["garbage"] = [*range(10000, 30000), *(p // 2 for p in popular(rnd, 3000, 40000))]
    loop = range(3000)
    passes = range(14)
    out["reverse"] = [p if turn % 2 else 2999 - p for turn in passes for p in loop]
    out["stride"] = [p * 7 % 3000 for turn in passes for p in loop]
    out["two workers"] = [q for turn in passes for p in range(1500) for q in (p, 1500 + p)]
    out["loop of 2500"] = [*range(2500)] * 14
    out["loop of 6000"] = [*range(6000)] * 14
    out["correlated"] = [p for at in range(0, 30000, 8) for p in [*range(at, at + 8)] * 3]
    return out


def write(folder):
    """Write all traces; return their paths."""
    paths = []
    for name, references in make().items():
        paths.append(folder / f"{name.replace(' ', '-').replace(',', '')}.trace.gz")
        with gzip.open(paths[-1], "wt", compresslevel=1) as file:
            file.write("\n".join(map(str, references)) + "\n")
    return paths
