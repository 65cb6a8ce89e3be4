# SPDX-License-Identifier: GPL-2.0
"""The report of all results present: build/results/report.md.

Each result file becomes a section with its summary, its parameters and its
pictures. The report is written anew whenever a result is saved, so that after
`make bench` it covers all results.
"""

import json


def flat(prefix, item):
    """Nested summary as (dotted name, number) pairs."""
    if isinstance(item, dict):
        return [x for k, v in item.items() for x in flat(f"{prefix}{k}.", v)]
    return [(prefix.rstrip("."), item)]


def number(item):
    """A number in at most four decimals, without trailing zeros."""
    return f"{item:.4f}".rstrip("0").rstrip(".") if isinstance(item, float) else str(item)


def write(results):
    """Write the report of a folder of results."""
    out = ["# mcube: results", ""]
    for path in sorted(results.glob("*.json")):
        data = json.loads(path.read_text("utf-8"))
        if "summary" not in data:       # the cases of make test and make check
            continue
        out += [f"## {path.stem}", "", "| summary | |", "|---|---:|"]
        out += [f"| {k} | {number(v)} |" for k, v in flat("", data["summary"])]
        out += ["", "Parameters:", ""]
        out += [f"- {k}: `{v}`" for k, v in flat("", data["parameters"])]
        out += [""] + [f"![{p.stem}]({p.name})" for p in sorted(results.glob(f"{path.stem}*"))
                       if p.suffix in (".png", ".svg")] + [""]
    (results / "report.md").write_text("\n".join(out), "utf-8")
