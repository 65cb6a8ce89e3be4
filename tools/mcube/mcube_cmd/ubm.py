# SPDX-License-Identifier: GPL-2.0
"""What the kernel says of UBM, and that in words: files in sysfs, and debugfs for root.

A lruvec has the lists of a cgroup on a node. UBM holds some of its pages; the rest is on the
kernel's lists. Numbers are pages; those of events are sums that fade.
"""

import mmap

from . import debugfs, picture, policy
from .term import Failure, print_table

DEBUG = "/sys/kernel/debug/mcube/ubm"
# Columns of the kernel's table, beside the path of the cgroup.
NUMBERS = ("memcg", "node", "held", "rest", "wanted", "left", "age", "missed", "again", "kept",
           "failed", "back", "trial")
SUMS = ("held", "rest", "wanted", "missed", "again", "kept", "failed", "back", "trial")
COUNTERS = {
    "held": "pages that were held",
    "given": "of these, pages that were given up",
    "back": "pages that came back soon enough to be held",
    "lruvecs": "lists that UBM began to decide about",
    "no_memory": "times that it did not begin, for want of memory",
}
COLORS = {"held": "#4477aa", "rest": "#ddaa33"}


def need():
    """Refuse to go on without UBM."""
    policy.need_kernel()
    if policy.current("ubm/enabled") is None:
        raise Failure("this kernel has no UBM", "build it with CONFIG_MCUBE_UBM=y")


def why_hidden():
    """Why debugfs cannot be read, and what to do."""
    return debugfs.why_hidden(DEBUG, "what UBM holds")


def lruvecs(cgroup=None):
    """A row for each lruvec, or for each of a cgroup; None if they are hidden."""
    rows = debugfs.table(f"{DEBUG}/lruvecs")
    if rows is None:
        return None
    rows = [{"cgroup": debugfs.unescape(r["cgroup"])} | {k: int(r[k]) for k in NUMBERS}
            for r in rows]
    rows.sort(key=lambda r: -r["held"] - r["rest"])
    if cgroup is None:
        return rows
    path = "/" + cgroup.removeprefix("/sys/fs/cgroup").strip("/")
    found = [r for r in rows if r["cgroup"] == path]
    if not found:
        names = ", ".join(dict.fromkeys(r["cgroup"] for r in rows))
        raise Failure(f"UBM decides about no cgroup {path}",
                      f"choose from: {names or 'none yet'}; UBM begins with a cgroup when that "
                      "first reclaims for its own limit")
    return found


def sentence(c):
    """What UBM does for a cgroup; the kernel's own bounds, see mm/mcube/ubm/held.c."""
    whole = c["held"] + c["rest"]
    holds = f"holds {mib(c['held'])} of {mib(whole)} MiB"
    if c["trial"]:
        return f"{holds}, and tries whether the lists as without UBM are better"
    if c["wanted"] * 2 > whole:
        if c["held"] * 50 <= whole:
            return "holds nothing: the lists as without UBM" if mib(c["held"]) == "0" else \
                f"{holds}: the lists as without UBM, but for these"
        return f"{holds}, and gives up pages: the rest is to have {mib(c['wanted'])} MiB"
    if c["rest"] > c["wanted"] + whole / 8:
        return f"{holds}, and will hold more: the rest is to have {mib(c['wanted'])} MiB"
    holds += f", the rest is {mib(c['rest'])} MiB"
    looked = c["kept"] + c["failed"]
    if not looked:
        return f"{holds}: whether that pays is not known yet"
    if c["kept"] >= 4 * c["failed"] and c["again"] * 16 <= c["missed"]:
        return f"{holds}: a loop, or much like one"
    return f"{holds}: of held pages {c['kept'] / looked:.0%} were used in time"


def cgroups(rows):
    """A row for each cgroup: its sums over all nodes, and a sentence."""
    out = {}
    for row in rows:
        c = out.setdefault(row["memcg"], {"cgroup": row["cgroup"]} | dict.fromkeys(SUMS, 0))
        for key in SUMS:
            c[key] += row[key]
    return [c | {"says": sentence(c)} for c in out.values()]


def status(cgroup=None):
    """Everything as one dictionary."""
    rows = lruvecs(cgroup)
    return {"enabled": policy.current("ubm/enabled") == "1", "counters": policy.counters("ubm"),
            "lruvecs": rows, "cgroups": None if rows is None else cgroups(rows)}


def mib(pages):
    """Pages as MiB."""
    x = pages * mmap.PAGESIZE / (1 << 20)
    return f"{x:.0f}" if x >= 10 or x < 0.05 else f"{x:.1f}"


def show(data, hidden=None):
    """Everything for people."""
    print(f"UBM is {'on' if data['enabled'] else 'off'}\n")
    if data["lruvecs"] is None:
        print(f"note: {hidden}; {hidden.advice}")
    elif not data["lruvecs"]:
        print("no cgroup yet: UBM begins with a cgroup when that first reclaims for its own limit"
              if data["enabled"] else "no cgroup: 'mcube ubm on' switches UBM on")
    else:
        for c in data["cgroups"]:
            print(f"{c['cgroup']} {c['says']}")
        print()
        keys = ("missed", "again", "kept", "failed")
        print_table(["cgroup", "node", "MiB held", "rest", "wanted", *keys],
                    [[r["cgroup"], r["node"], *(mib(r[k]) for k in ("held", "rest", "wanted")),
                      *(f"{r[k]:,}" for k in keys)] for r in data["lruvecs"]])
        print("\nPages, lately: missed came in, again: of the rest, used again; kept: held, and "
              "used in\ntime; failed: held for longer than the rest keeps pages, for nothing.")
    if data["counters"]:
        print()
        print_table(["counter", "value", "meaning"],
                    [[k, f"{v:,}", COUNTERS.get(k, "")] for k, v in data["counters"].items()], 3)


def draw(samples, path):
    """Pages held and of the rest over time, of the largest cgroup of [(seconds, cgroups)]."""
    if not samples or not samples[-1][1]:
        raise Failure("UBM has decided about no cgroup in this time",
                      "watch while a program reads more files than its cgroup may have in memory")
    name = samples[-1][1][0]["cgroup"]
    mine = [(at, c) for at, found in samples for c in found if c["cgroup"] == name]
    times = [at for at, _ in mine]
    plt = picture.pyplot()
    fig, ax = plt.subplots(figsize=(9, 4), layout="constrained")
    ax.stackplot(times, *([c[k] for _, c in mine] for k in COLORS), colors=COLORS.values(),
                 labels=COLORS)
    ax.plot(times, [c["held"] + c["rest"] - c["wanted"] for _, c in mine], "k--",
            label="what is to be held")
    ax.set_xlabel("seconds")
    ax.set_ylabel("pages of files")
    ax.legend(loc="upper left", ncols=3)
    fig.suptitle(f"cgroup {name}")
    picture.save(plt, fig, path)
