# SPDX-License-Identifier: GPL-2.0
"""Output to the terminal: errors with advice, tables, heat lines, JSON."""

import json

SHADES = " .:-=+*#%@"
EVEN = 4            # index of the shade that stands for an even share


class Failure(Exception):
    """An expected failure: what went wrong, then what to do about it."""

    def __init__(self, message, advice=""):
        super().__init__(message)
        self.advice = advice


def aligned(rows, left=1, gap="  "):
    """(lines, widths) of rows of cells; the first columns are text, the rest numbers."""
    cells = [[str(c) for c in r] for r in rows]
    width = [max(map(len, column)) for column in zip(*cells)]
    return [gap.join(c.ljust(w) if i < left else c.rjust(w)
                     for i, (c, w) in enumerate(zip(r, width))).rstrip() for r in cells], width


def print_table(head, rows, left=1, lead=""):
    """An aligned table under a rule, each line with the same lead."""
    lines, _ = aligned([head, *rows], left)
    for line in [lines[0], "-" * max(map(len, lines)), *lines[1:]]:
        print(lead + line)


def shade(count, share):
    """One character: how a count compares to the share that would be even."""
    if not count or not share:
        return SHADES[0]
    return SHADES[min(len(SHADES) - 1, max(1, round(count / share * EVEN)))]


def bar(values, nr):
    """One character for each of nr values: how much of its even share it got."""
    counts = [0] * nr
    for v in values:
        counts[v] += 1
    return "".join(shade(n, len(values) / nr) for n in counts)


def plural(n, word):
    """'1 page', '2 pages'."""
    return f"{n} {word}{'' if n == 1 else 's'}"


def size(n):
    """Bytes as KiB, MiB or GiB."""
    for unit, bits in (("GiB", 30), ("MiB", 20), ("KiB", 10)):
        if n >= 1 << bits:
            return f"{n / (1 << bits):.4g} {unit}"
    return f"{n} bytes"


def number(x):
    """A count with at most five digits."""
    for unit, power in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if abs(x) >= 10 * power:
            return f"{x / power:.5g}{unit}"
    return f"{x:.5g}"


def print_json(data):
    """A result for other programs."""
    print(json.dumps(data, indent=1))


def output(args, data, show, picture=None):
    """A result as JSON, or for people by show(data), with the file of its picture; returns 0."""
    if args.json:
        print_json(data)
    else:
        show(data)
        if picture:
            print(f"picture: {picture}")
    return 0
