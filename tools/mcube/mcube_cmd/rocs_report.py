# SPDX-License-Identifier: GPL-2.0
"""What mcube rocs shows: tables for people, and pictures."""

from . import picture
from .term import number, plural, print_table, size

BANDS = (0.9, 0.75, 0.5, 0.25, 0.0)     # miss rates
SHOWN = 20                              # mappings, those with most polluting pages
COUNTERS = {
    "samples": "counted in a profile", "dropped": "samples that found no room",
    "moved_in": "pages moved into the pollute partition",
    "moved_out": "pages moved out of the pollute partition",
    "refused": "pages that could not move", "split": "huge pages that were split",
    "targets": "processes that became targets", "windows": "windows of measurements",
    "searches": "searches that ended", "phases": "new phases of programs",
    "rollbacks": "searches whose gain did not last",
}


def percent(x, digits=1):
    """A share, or a dash."""
    return "-" if x is None else f"{x:.{digits}%}"


def decimal(x, digits=2):
    """A number, or a dash."""
    return "-" if x is None else f"{x:.{digits}f}"


def show_partition(p):
    """The pollute partition: its size, and what is in it."""
    cache = f"{size(p['cache_bytes'])} of the cache, " if p["cache_bytes"] else ""
    print(f"pollute partition: {p['colors']} of {p['of']} colors, {cache}"
          f"{p['frames']:,} frames of memory")
    words = []
    if p["target_pages"] is not None:
        words.append(f"{plural(p['target_pages'], 'page')} of targets were moved there")
    if p["free"] is not None:
        words.append(f"{plural(p['free'], 'frame')} free in containers")
    print(f"  {', '.join(words)}" if words else "", end="\n" if words else "")


def show_targets(targets):
    """Plans of the targets, then their last windows."""
    rows = [[t["pid"], t["comm"], t["why"], t["state"], f"{t['stack']:,}", t["step"] or "-",
             f"{t['mapped']:,}", percent(t["gain"]) if t["mapped"] else "-", t["searches"],
             t["rollbacks"]] for t in targets]
    print_table(["pid", "program", "why", "state", "stack", "step", "mapped", "gain", "searches",
                 "rollbacks"], rows, 4)
    print()
    rows = [[t["pid"], t["comm"], t["windows"], t["phases"], t["threads"], t["period"],
             decimal(t["ipc"]), decimal(t["mpki"]), percent(t["miss_rate"])] for t in targets]
    print_table(["pid", "program", "windows", "phases", "threads", "period", "IPC", "MPKI",
                 "miss rate"], rows, 2)


def show_status(data, before=None, hidden=None):
    """Everything for people; before: counters of the last view."""
    print(f"ROCS is {'on' if data['enabled'] else 'off'}: "
          + ", ".join(f"{k} {v or '-'}" for k, v in data["settings"].items()
                      if k in ("pids", "cgroup", "auto", "search", "reserve")))
    if data["partition"]:
        show_partition(data["partition"])
    print()
    if data["targets"]:
        show_targets(data["targets"])
    elif data["targets"] is None:
        print(f"note: {hidden}; {hidden.advice}")
    else:
        print("no targets" + (": choose processes by 'mcube rocs on --pid PID', --cgroup PATH or "
                              "--auto" if data["enabled"] else ""))
    print()
    head = ["counter", "", "value"] + (["since last"] if before else [])
    rows = [[k, COUNTERS.get(k, ""), f"{v:,}"]
            + ([f"{v - before.get(k, 0):+,}"] if before else [])
            for k, v in data["counters"].items()]
    if rows:
        print_table(head, rows, 2)


def polluting(stack):
    """Number of pages that are, or shall be, in the partition."""
    return sum(p["mapped"] for p in stack)


def bands(stack):
    """Rows: pages of the stack by miss rate."""
    upper = 2.0
    for lower in BANDS:
        some = [p for p in stack if lower <= p["rate"] < upper]
        name = f"{lower:.0%} and more" if upper > 1 else f"{lower:.0%} to {upper:.0%}"
        yield [name, f"{len(some):,}", number(sum(p["samples"] for p in some)),
               f"{polluting(some):,}"]
        upper = lower


def show_profile(data):
    """The miss-rate stack for people."""
    print(f"process {data['pid']} ({data['comm']}), state {data['state']}: "
          f"{plural(len(data['pages']), 'page')} in the stack, the first "
          f"{polluting(data['pages']):,} of them polluting\n")
    print_table(["miss rate", "pages", "samples", "polluting"], list(bands(data["pages"])))
    rows = sorted(data["regions"], key=lambda r: (-r["polluting"], -r["pages"]))
    body = [[r["name"] if len(r["name"]) < 45 else "..." + r["name"][-41:],
             "-" if r["start"] is None else f"{r['start']:x}", f"{r['pages']:,}",
             number(r["samples"]), percent(r["rate"]), f"{r['polluting']:,}"]
            for r in rows[:SHOWN]]
    print()
    print_table(["mapping", "start", "pages", "samples", "rate", "polluting"], body, 2)
    if len(rows) > SHOWN:
        print(f"and {len(rows) - SHOWN} smaller mappings; --json has all")
    print()
    if not data["search"]:
        print("no search yet")
        return
    body = [[f"{p['pages']:,}", f"{p['ipc']:.4f}", percent(p["relative"]),
             str(p["windows"]), "best" if p["best"] else ""] for p in data["search"]]
    print_table(["pages moved", "IPC", "of baseline", "windows", ""], body, 0)
    print(f"\nthe search took {plural(sum(p['windows'] for p in data['search']), 'window')}, and "
          f"moved {plural(data['moved'], 'page')} in and out")


def draw_rates(ax, stack):
    """Miss rate of each page in the order of addresses; polluting pages stand out."""
    ordered = sorted(stack, key=lambda p: p["address"])
    for mapped, color, name in ((False, "#4477aa", "other pages"),
                                (True, "#cc6677", "polluting pages")):
        points = [(i, 100 * p["rate"]) for i, p in enumerate(ordered) if p["mapped"] == mapped]
        if points:
            ax.plot(*zip(*points), ".", markersize=2, color=color, label=name)
    ax.set_ylim(0, 102)
    ax.set_xlabel("pages of the stack, in the order of their addresses")
    ax.set_ylabel("miss rate (%)")
    ax.legend(loc="lower right", markerscale=5)


def draw_search(ax, points):
    """Speed by the number of pages moved; the best point stands out."""
    ax.plot([p["pages"] for p in points], [p["ipc"] for p in points], ".-", color="#4477aa",
            label="measured")
    best = next(p for p in points if p["best"])
    ax.plot(best["pages"], best["ipc"], "*", markersize=14, color="#cc6677",
            label=f"best: {best['pages']:,} pages")
    ax.axhline(points[0]["ipc"], color="0.6", linewidth=0.8, linestyle="--", label="no page moved")
    ax.set_xlabel("pages moved, from the top of the stack")
    ax.set_ylabel("instructions per cycle")
    ax.legend()


def draw(data, path):
    """The profile, and the last search if there was one."""
    plt = picture.pyplot()
    rows = 2 if data["search"] else 1
    fig, axes = plt.subplots(rows, 1, figsize=(8, 3.2 * rows), squeeze=False,
                             layout="constrained")
    draw_rates(axes[0][0], data["pages"])
    if data["search"]:
        draw_search(axes[1][0], data["search"])
    fig.suptitle(f"{data['comm']} ({data['pid']}), {data['state']}: "
                 f"{polluting(data['pages']):,} of {len(data['pages']):,} pages are polluting")
    picture.save(plt, fig, path)
