# SPDX-License-Identifier: GPL-2.0
"""Scene of SRM-buffer: what streaming through a file does to another program's cache.

On a modelled machine with 1 MiB last-level cache, a program uses 768 KiB again and
again. It runs alone and beside a second program that streams through a file, by
read() and by a mapping, with all policies off and with SRM-buffer. `mcube corun` runs
both programs in the guest and counts with perf.
"""

import json

import lab  # first: it makes the other packages importable
import guests
from lab import Failure
from mcube_cmd.term import print_table
from scenes import show

NAME = "srm"
TITLE = "SRM-buffer: a program's working set, beside a stream through a file"
MODEL = "small"
FILE_MIB = 24
REPEAT = 2
VARIANTS = ("off", "srm")
VICTIM = "/guest/pollute victim -k 768 -r 60"
STREAMS = {"read()": "/guest/pollute read /data/file", "mmap": "/guest/pollute mmap /data/file"}
COUNTS = {"llc_refs": "LLC references", "llc_misses": "LLC misses",
          "row_conflicts": "row conflicts"}


def machine(variant):
    """Options of a guest."""
    return {"smp": 2, "mem": "1G", "model": MODEL, "icount": True, "programs": ["perf"],
            "drives": [guests.disk(f"demo-srm-{variant}", mebi=64)]}


def prepare(root):
    """Put files into a guest."""
    guests.install_command(root)
    root.file(lab.guest_tool("pollute"), "/guest/pollute")


def script(variant):
    """Shell text."""
    lines = ["mkdir -p /data", "mount -t ext4 /dev/vda /data",
             f"head -c {FILE_MIB << 20} /dev/urandom > /data/file"]
    if variant != "off":
        lines.append(show(f"mcube apply {variant}"))
    # Cached pages keep their frames, so the file has to be read anew under this policy.
    lines += ["sync; echo 3 > /proc/sys/vm/drop_caches; cat /data/file > /dev/null"]
    for name, stream in STREAMS.items():
        lines.append(show(f"mcube corun --victim '{VICTIM}' --with '{stream}' --profile {variant} "
                          f"--repeat {REPEAT} --json") + f" > /results/{name.strip('()')}.json")
    return "\n".join(lines) + "\n"


def read(results):
    """{(policy, stream): data of mcube corun}."""
    out = {}
    for policy in VARIANTS:
        for name in STREAMS:
            path = results[policy].results / f"{name.strip('()')}.json"
            if not path.is_file() or not path.stat().st_size:
                raise Failure(f"no figures for {name} streaming, policy {policy}",
                              f"console: {results[policy].console}")
            out[policy, name] = json.loads(path.read_text("utf-8"))
    return out


def rows_of(data):
    """A row per policy and situation: the victim alone, and beside each stream."""
    rows = []
    for (policy, name), corun in data.items():
        by_event = {e.split("/")[1]: role for role, e in corun["parameters"]["events"].items()}
        for row in corun["rows"]:
            situation = "alone" if row["run"] == "alone" else f"with {name} streaming"
            if row["policy"] != policy or any(
                    (r["policy"], r["situation"]) == (policy, situation) for r in rows):
                continue        # the victim alone comes with each stream; one row is enough
            rows.append({"policy": policy, "situation": situation, "cycles": row["cost"]}
                        | {e: row["counts"][by_event[e]] for e in COUNTS if e in by_event})
    return rows


def median(rows, policy, situation, what):
    """A figure of a row."""
    return next(r[what]["median"] for r in rows
                if (r["policy"], r["situation"]) == (policy, situation))


def cut_key(stream):
    """Key of a cut in the summary."""
    return f"srm_{stream.strip('()')}_extra_miss_cut"


def summarize(rows):
    """Slowdowns and misses against the victim alone with all policies off.

    The cut is the share of the extra misses that SRM-buffer avoids. It compares, for each
    policy, the misses beside the stream with those of the victim alone.
    """
    out = {}
    alone = {what: median(rows, "off", "alone", what) for what in ("cycles", "llc_misses")}
    for r in rows:
        key = r["situation"].replace("with ", "").replace(" streaming", "").strip("()")
        key = key if r["policy"] == "off" else f"{r['policy']}_{key}"
        out |= {f"{key}_slowdown": r["cycles"]["median"] / alone["cycles"],
                f"{key}_llc_misses": r["llc_misses"]["median"]}
    for name in STREAMS:
        extra = {p: median(rows, p, f"with {name} streaming", "llc_misses")
                 - median(rows, p, "alone", "llc_misses") for p in VARIANTS}
        out[cut_key(name)] = 1 - extra["srm"] / extra["off"]
    return out


def report(results):
    """Print the table and draw the picture."""
    data = read(results)
    rows = rows_of(data)
    alone = rows[0]
    summary = summarize(rows)
    print(f"\nvictim: {VICTIM.split(' ', 1)[1]}; machine '{MODEL}', all figures simulated; "
          f"medians of {REPEAT} runs (min..max)\n")
    body = []
    for r in rows:
        slow = r["cycles"]["median"] / alone["cycles"]["median"]
        body.append([r["policy"], r["situation"], f"{r['cycles']['median'] / 1e6:.1f}",
                     f"{slow:.2f}"]
                    + [f"{r[e]['median']:,.0f} ({r[e]['min']:,.0f}..{r[e]['max']:,.0f})"
                       for e in COUNTS if e in r])
    print_table(
        ["policy", "victim", "10^6 cycles", "slowdown",
         *(t for e, t in COUNTS.items() if e in alone)], body, lead="  ")
    print("\n  SRM-buffer cuts the misses that the stream adds by "
          + ", by ".join(f"{summary[cut_key(n)]:.0%} ({n})" for n in STREAMS) + ".")
    return {"parameters": {"victim": VICTIM, "streams": STREAMS, "machine": MODEL,
                           "repeat": REPEAT, "file_mib": FILE_MIB,
                           "corun": data["off", "read()"]["parameters"]},
            "rows": rows, "summary": summary, "pictures": [str(draw(rows))]}


def draw(rows):
    """Draw misses and cycles as bars."""
    plt = lab.pyplot()
    fig, axes = plt.subplots(1, 2, figsize=(11, 3.2))
    names = [f"{r['policy']}:\n" + r["situation"].replace(" streaming", "") for r in rows]
    for ax, key, title in ((axes[0], "llc_misses", "the victim's LLC misses"),
                           (axes[1], "cycles", "the victim's modelled cycles")):
        values = [r[key] for r in rows]
        height = [v["median"] for v in values]
        ax.bar(names, height, capsize=3,
               color=["#4477aa" if r["policy"] == "off" else "#228833" for r in rows],
               yerr=[[v["median"] - v["min"] for v in values],
                     [v["max"] - v["median"] for v in values]])
        ax.tick_params(axis="x", labelsize=7)
        ax.set_title(f"{title} (simulated)")
    return lab.picture(fig, f"demo-{NAME}")
