# SPDX-License-Identifier: GPL-2.0
"""Demo part: what streaming through a file does to a neighbour's cache.

On a modelled machine of 1 MiB last-level cache one program uses 768 KiB again
and again, alone and beside another that streams through a file, by read() and
by a mapping. `mcube corun` runs them in the guest and counts with perf.
"""

import json

import lab  # first: it makes the other packages importable
import guests
from lab import Failure

NAME = "pollution"
TITLE = "streaming beside a working set, counted on a modelled machine"
MODEL = "small"
FILE_MIB = 24
REPEAT = 3
VICTIM = "/guest/pollute victim -k 768 -r 60"
STREAMS = {"read()": "/guest/pollute read /data/file", "mmap": "/guest/pollute mmap /data/file"}
COUNTS = {"llc_refs": "LLC references", "llc_misses": "LLC misses",
          "row_conflicts": "row conflicts"}


def machine():
    """Options of the guest."""
    return {"smp": 2, "mem": "1G", "model": MODEL, "icount": True, "programs": ["perf"],
            "drives": [guests.disk("demo-pollution", 64)]}


def prepare(root):
    """Files for the guest."""
    guests.install_command(root)
    root.file(lab.guest_tool("pollute"), "/guest/pollute")


def script():
    """What the guest does."""
    lines = ["set -e", "mkdir -p /data /results", "mount -t ext4 /dev/vda /data",
             f"head -c {FILE_MIB << 20} /dev/urandom > /data/file; sync"]
    for name, stream in STREAMS.items():
        lines += [f"echo \"    # mcube corun --victim '{VICTIM}' --with '{stream}'\"",
                  f"mcube corun --victim '{VICTIM}' --with '{stream}' --profile off "
                  f"--repeat {REPEAT} --json > /results/{name.strip('()')}.json"]
    return "\n".join(lines) + "\n"


def read(result):
    """{stream: corun's data}."""
    out = {}
    for name in STREAMS:
        path = result.results / f"{name.strip('()')}.json"
        if not path.is_file() or not path.stat().st_size:
            raise Failure(f"no figures for {name} streaming", f"console: {result.console}")
        out[name] = json.loads(path.read_text("utf-8"))
    return out


def rows_of(data):
    """One row per situation: the victim alone, beside each stream."""
    rows = []
    for name, corun in data.items():
        by_event = {e.split("/")[1]: role for role, e in corun["parameters"]["events"].items()}
        for row in corun["rows"]:
            if row["run"] == "alone" and rows:
                continue        # once is enough
            situation = "alone" if row["run"] == "alone" else f"with {name} streaming"
            rows.append({"situation": situation, "cycles": row["cost"]}
                        | {e: row["counts"][by_event[e]] for e in COUNTS if e in by_event})
    return rows


def report(result):
    """Table and picture."""
    data = read(result)
    rows = rows_of(data)
    alone = rows[0]
    summary = {}
    print(f"\nvictim: {VICTIM.split(' ', 1)[1]}; machine '{MODEL}', all figures simulated; "
          f"medians of {REPEAT} runs (min..max)\n")
    body = []
    for r in rows:
        slow = r["cycles"]["median"] / alone["cycles"]["median"]
        body.append([r["situation"], f"{r['cycles']['median'] / 1e6:.1f}", f"{slow:.2f}"]
                    + [f"{r[e]['median']:,.0f} ({r[e]['min']:,.0f}..{r[e]['max']:,.0f})"
                       for e in COUNTS if e in r])
        key = r["situation"].replace("with ", "").replace(" streaming", "").strip("()")
        summary |= {f"{key}_slowdown": slow, f"{key}_llc_misses": r["llc_misses"]["median"]}
    print("\n".join("  " + x for x in lab.table(
        ["victim", "10^6 cycles", "slowdown", *(t for e, t in COUNTS.items() if e in alone)],
        body)))
    return {"parameters": {"victim": VICTIM, "streams": STREAMS, "machine": MODEL,
                           "repeat": REPEAT, "file_mib": FILE_MIB,
                           "corun": data["read()"]["parameters"]},
            "rows": rows, "summary": summary, "pictures": [str(draw(rows))]}


def draw(rows):
    """Bars of misses and cycles."""
    plt = lab.pyplot()
    fig, axes = plt.subplots(1, 2, figsize=(8, 3))
    names = [r["situation"].replace("with ", "with\n") for r in rows]
    for ax, key, title in ((axes[0], "llc_misses", "the victim's LLC misses"),
                           (axes[1], "cycles", "its modelled cycles")):
        values = [r[key] for r in rows]
        height = [v["median"] for v in values]
        ax.bar(names, height, color=["#4477aa", "#cc6677", "#cc6677"], capsize=3,
               yerr=[[v["median"] - v["min"] for v in values],
                     [v["max"] - v["median"] for v in values]])
        ax.set_title(f"{title} (simulated)")
    path = lab.picture(fig, f"demo-{NAME}")
    plt.close(fig)
    return path
