# SPDX-License-Identifier: GPL-2.0
"""Sections of the results about machines at hand: are maps verified rightly, what is measured."""

import textwrap

from .rst import pairs, table


def verify(data):
    """bench-verify."""
    columns = ("guest", "level", "masks", "backing", "pages", "true", "right", "wrong",
               "unknown")
    rows = {}
    for r in data["rows"]:
        row = rows.setdefault(tuple(r[c] for c in columns[:6]),
                              {c: r[c] for c in columns[:6]} | dict.fromkeys(columns[6:], 0))
        for c in columns[6:]:
            row[c] += r[c]
    return ("``mcube map verify`` in guests of modelled machines (simulated), which the host backs "
            "by shuffled\npages of the size \"backing\"; \"pages\" are those that the guest's "
            "kernel gives the probe. A verdict is\nright if it says of the map what is true of "
            "it in "
            "such a guest. In those with 4 KiB pages a fifth of\nthe timings is disturbed.",
            table(list(rows.values()), {c: c for c in columns}),
            pairs(data["summary"]))


def estimate(data):
    """bench-estimate."""
    found, sizes = data["parameters"], [r for r in data["rows"] if r["part"] == "sizes"]
    streams = [r for r in data["rows"] if r["part"] == "stream"]
    return (textwrap.fill(f"Measured, not simulated, on {found['machine']}: nanoseconds for a "
                          f"load, the median of {found['repeats']} repeats, in parentheses the "
                          "least and the largest. \"even\" is left out where colors do not hold.",
                          96),
            textwrap.fill(f"{found['sentence'][0].upper()}{found['sentence'][1:]}.", 96),
            table(sizes, {n: n for n in ("level", "working set", "share", "even", "random",
                                         "kernel", "random/even", "kernel/even")}),
            table(streams, {n: n for n in ("level", "working set", "stream", "load",
                                           "to alone")}),
            pairs({k: v for k, v in found.items() if k not in ("sentence", "machine")}))
