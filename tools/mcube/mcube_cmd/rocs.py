# SPDX-License-Identifier: GPL-2.0
"""What the kernel says of ROCS: files in sysfs, and files in debugfs that only root reads.

Each file in debugfs begins with a line that names its columns.
"""

import bisect
import re

from . import addrmap, debugfs, host, machine, policy
from .term import Failure

MODULE = "mcube_rocs"
FOLDER = f"{policy.SYSFS}/rocs"
DEBUG = "/sys/kernel/debug/mcube/rocs"
RATE_ONE, GAIN_ONE, SCORE_ONE = 1 << 16, 1 << 10, 1 << 30
TRIES = 5           # a new profile may take the place of the old one between two files


def need():
    """Refuse to go on without ROCS."""
    policy.need_kernel()
    if policy.current("rocs/enabled") is None:
        raise Failure("ROCS is not there: its module is not loaded",
                      "'mcube rocs on' loads it and switches it on")


def table(name):
    """Rows of a file in debugfs as dictionaries; None if it cannot be read."""
    return debugfs.table(f"{DEBUG}/{name}")


def why_hidden():
    """Why debugfs cannot be read, and what to do."""
    return debugfs.why_hidden(DEBUG, "the targets of ROCS")


def ratio(a, b, times=1):
    """a / b; None if b is 0."""
    return a * times / b if b else None


def target(row):
    """A target, with ratios of its last window."""
    n = {k: int(v) for k, v in row.items() if re.fullmatch(r"-?\d+", v) and k != "comm"}
    return {"pid": n["pid"], "comm": debugfs.unescape(row["comm"]), "why": row["why"],
            "state": row["state"], "stack": n["stack"], "step": n["step"] or None,
            "moved": n["moved"], "mapped": n["mapped"], "in": n["in"],
            "gain": n["gain_1024"] / GAIN_ONE,
            "searches": n["searches"], "rollbacks": n["rollbacks"], "phases": n["phases"],
            "windows": n["windows"], "threads": n["threads"], "period": n["period"],
            "ipc": ratio(n["instructions"], n["cycles"]),
            "mpki": ratio(n["misses"], n["instructions"], 1000),
            "miss_rate": ratio(n["misses"], n["refs"])}


def targets():
    """All targets; None if they are hidden."""
    rows = table("targets")
    return None if rows is None else [target(r) for r in rows]


def partition(found):
    """The pollute partition: colors, and free frames of these colors; None if not known."""
    at = f"{policy.SYSFS}/alloc/stats"
    colors = host.number(f"{at}/reserved_colors")
    m = addrmap.Map.of_kernel()
    if colors is None or not m:
        return None
    pages = machine.memory_pages() * colors // m.color.nr
    return {"colors": colors, "of": m.color.nr, "cache_bytes": colors * m.color_bytes,
            "frames": pages, "free": host.number(f"{at}/reserved_free"),
            "target_pages": sum(t["in"] for t in found) if found is not None else None}


def status():
    """Everything as one dictionary."""
    found = targets()
    events = f"{FOLDER}/events"
    settings = policy.settings("rocs")
    return {"enabled": settings.pop("enabled", "0") == "1", "settings": settings,
            "events": {n: host.read(f"{events}/{n}", "?") for n in host.names(events)},
            "counters": policy.counters("rocs"), "partition": partition(found),
            "targets": found}


def pages(pid):
    """The miss-rate stack of a process, the highest rate first."""
    return [{"address": int(r["address"], 16), "samples": int(r["samples"]),
             "rate": int(r["rate_65536"]) / RATE_ONE, "mapped": r["mapped"] == "1"}
            for r in table("profile") or [] if int(r["pid"]) == pid]


def search(pid):
    """Points of a process's last search: pages, IPC, IPC over the baseline, windows, the best."""
    rows = [r for r in table("search") or [] if int(r["pid"]) == pid]
    scores = [int(r["score_1073741824"]) for r in rows]
    return [{"pages": int(r["index"]), "ipc": score / SCORE_ONE,
             "relative": ratio(score, scores[0]), "windows": int(r["times"]),
             "best": r["best"] == "1"} for r, score in zip(rows, scores)]


def mappings(pid):
    """[(start, end, name)] of a process; [] if it has ended or may not be looked at."""
    out = []
    for line in (host.read(f"/proc/{pid}/maps") or "").splitlines():
        if m := re.match(r"([0-9a-f]+)-([0-9a-f]+) \S+ \S+ \S+ \d+\s*(.*)", line):
            out.append((int(m[1], 16), int(m[2], 16), m[3] or "[anonymous]"))
    return out


def regions(stack, mapped):
    """A row for each mapping that has pages of the stack, in the order of addresses."""
    starts = [start for start, _, _ in mapped]
    rows = {}
    for page in sorted(stack, key=lambda p: p["address"]):
        i = bisect.bisect(starts, page["address"]) - 1
        start, end, name = mapped[i] if i >= 0 else (0, 0, "")
        if page["address"] >= end:
            start, name = None, "not mapped any more"
        rows.setdefault((start, name), []).append(page)
    return [{"start": start, "name": name, "pages": len(some),
             "samples": sum(p["samples"] for p in some),
             "rate": sum(p["rate"] for p in some) / len(some),
             "polluting": sum(p["mapped"] for p in some)}
            for (start, name), some in rows.items()]


def choose(pid):
    """The target whose profile is wanted; None for the one target that has a profile."""
    found = targets()
    if found is None:
        raise why_hidden()
    chosen = [t for t in found if pid in (None, t["pid"])]
    if not chosen:
        raise Failure("ROCS has no target" if pid is None else f"process {pid} is no target",
                      "see 'mcube rocs status'; 'mcube rocs on --pid PID' makes a process a target")
    if pid is None and len(chosen) > 1:
        chosen = [t for t in chosen if t["stack"]] or chosen
    if len(chosen) > 1:
        raise Failure(f"ROCS has {len(chosen)} targets with a profile" if chosen[0]["stack"] else
                      f"ROCS has {len(chosen)} targets, and none has a profile yet",
                      f"choose by --pid: {', '.join(str(t['pid']) for t in chosen)}")
    return chosen[0]


def profile(pid):
    """The profile of a process as one dictionary."""
    for _ in range(TRIES):
        one = choose(pid)
        stack = pages(one["pid"])
        if len(stack) == one["stack"]:
            break
    if not stack:
        raise Failure(f"process {one['pid']} ({one['comm']}) has no profile yet: its state is "
                      f"'{one['state']}'", "wait for the state 'search': 'mcube rocs status "
                      "--watch 2'; a process is profiled when its miss rate is above rocs/min_rate")
    return {**one, "pages": stack, "search": search(one["pid"]),
            "regions": regions(stack, mappings(one["pid"]))}
