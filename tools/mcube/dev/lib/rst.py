# SPDX-License-Identifier: GPL-2.0
"""Tables of reStructuredText, for the figures of the documentation."""

from mcube_cmd.term import aligned


def number(item):
    """A number in its shortest form; text unchanged."""
    if isinstance(item, float):
        return f"{item:.4g}" if abs(item) < 1000 else f"{item:.0f}"
    return str(item)


def table(rows, columns):
    """A list of dicts as an RST simple table; columns are {heading: key or function}."""
    get = [(lambda r, k=k: r.get(k, "")) if isinstance(k, str) else k for k in columns.values()]
    text, width = aligned([columns] + [[number(g(r)) or "-" for g in get] for r in rows],
                          len(columns), " ")
    rule = " ".join("=" * w for w in width)
    return "\n".join([rule, text[0], rule, *text[1:], rule])


def pairs(items):
    """Names and values as a definition-like table."""
    return table([{"k": k, "v": v} for k, v in items.items()], {"name": "k", "value": "v"})


def plain(items):
    """The items that fit into a cell."""
    return {k: v for k, v in items.items() if isinstance(v, (str, int, float, bool))
            and len(str(v)) < 60}
