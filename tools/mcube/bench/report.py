# SPDX-License-Identifier: GPL-2.0
"""One report of all results that are there: build/results/report.md.

Each result file becomes a section: what kind of number it holds, its summary,
its parameters, its pictures. It is written anew whenever a result is saved,
so that after `make bench` it covers them all.
"""

import json


def flat(prefix, item):
    """Nested summary as (dotted name, number) pairs."""
    if isinstance(item, dict):
        return [x for k, v in item.items() for x in flat(f"{prefix}{k}.", v)]
    return [(prefix.rstrip("."), item)]


def number(item):
    """A number as short as it may be."""
    return f"{item:.4f}".rstrip("0").rstrip(".") if isinstance(item, float) else str(item)


def write(results):
    """The report of a folder of results."""
    out = ["# mcube: results", ""]
    for path in sorted(results.glob("*.json")):
        data = json.loads(path.read_text("utf-8"))
        if "summary" not in data:       # the cases of make test and make check
            continue
        out += [f"## {path.stem}", "", "| summary | |", "|---|---:|"]
        out += [f"| {k} | {number(v)} |" for k, v in flat("", data["summary"])]
        out += ["", "Parameters:", ""]
        out += [f"- {k}: `{v}`" for k, v in flat("", data["parameters"])]
        out += [""] + [f"![{p.stem}]({p.name})"
                       for p in sorted(results.glob(f"{path.stem}*.png"))] + [""]
    (results / "report.md").write_text("\n".join(out), "utf-8")
