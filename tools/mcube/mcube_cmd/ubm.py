# SPDX-License-Identifier: GPL-2.0
"""What the kernel says of UBM: files in sysfs, and files in debugfs that only root reads."""

from . import debugfs, policy
from .term import Failure

FOLDER = f"{policy.SYSFS}/ubm"
DEBUG = "/sys/kernel/debug/mcube/ubm"
EVENT = "mcube_ubm/mcube_ubm_note"
GAIN_ONE = 1 << 20
CLASSES = ("loop", "other", "seq")
NUMBERS = ("memcg", "capacity", "references", "misses", "lru_misses", "loop", "other", "seq",
           "held_loops", "runs", "files", "cutoff", "guard")


def need():
    """Refuse to go on without UBM."""
    policy.need_kernel()
    if policy.current("ubm/enabled") is None:
        raise Failure("this kernel has no UBM", "build it with CONFIG_MCUBE_UBM=y")


def why_hidden():
    """Why debugfs cannot be read, and what to do."""
    return debugfs.why_hidden(DEBUG, "partitions and runs of UBM")


def ratio(misses, references):
    """Hit ratio; None without a reference."""
    return 1 - misses / references if references else None


def domain(row):
    """A domain, which is a memory cgroup."""
    out = {k: int(row[k]) for k in NUMBERS if k in row}
    out |= {"cgroup": debugfs.unescape(row["cgroup"]),
            "gain_other": int(row["mg_other_1048576"]) / GAIN_ONE,
            "gain_loop": int(row["mg_loop_1048576"]) / GAIN_ONE,
            "hit_ratio": ratio(out["misses"], out["references"]),
            "lru_hit_ratio": ratio(out["lru_misses"], out["references"])}
    return out


def domains(cgroup=None):
    """All domains, or that of a cgroup; None if they are hidden."""
    rows = debugfs.table(f"{DEBUG}/domains")
    if rows is None:
        return None
    found = sorted(map(domain, rows), key=lambda d: -d["references"])
    if cgroup is None:
        return found
    path = "/" + cgroup.removeprefix("/sys/fs/cgroup").strip("/")
    mine = [d for d in found if d["cgroup"] == path]
    if not mine:
        raise Failure(f"UBM knows no cgroup {path}",
                      f"choose from: {', '.join(d['cgroup'] for d in found) or 'none yet'}; a "
                      "cgroup is known from its first reclaim on")
    return mine


def runs(memcg=None):
    """Runs of files, those with most pages held first; None if they are hidden."""
    rows = debugfs.table(f"{DEBUG}/runs")
    if rows is None:
        return None
    found = [{k: v if k == "class" else int(v) for k, v in r.items()} for r in rows]
    return sorted((r for r in found if memcg is None or r["memcg"] == memcg),
                  key=lambda r: (-r["held"], r["start"] - r["end"]))


def curve(memcg=None):
    """Points of the hit curves; [] if they are hidden."""
    rows = [{k: int(v) for k, v in r.items()} for r in debugfs.table(f"{DEBUG}/curve") or []]
    return [r for r in rows if memcg is None or r["memcg"] == memcg]


def status(cgroup=None):
    """Everything as one dictionary."""
    settings = policy.settings("ubm")
    found = domains(cgroup)
    memcg = found[0]["memcg"] if cgroup is not None and found else None
    return {"enabled": settings.pop("enabled", "0") == "1", "settings": settings,
            "counters": policy.counters("ubm"), "domains": found, "runs": runs(memcg),
            "curve": curve(memcg)}
