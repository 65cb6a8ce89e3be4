# SPDX-License-Identifier: GPL-2.0
"""What mcube ubm prints and draws."""

from . import picture
from .term import plural, print_table
from .ubm import CLASSES

BAR = 40
LETTER = {"loop": "#", "other": "o", "seq": "."}
COLORS = {"loop": "#4477aa", "other": "#ddaa33", "seq": "#cc6677"}
NAMES = {"loop": "loop", "other": "other", "seq": "sequential"}
SHOWN = 12


def percent(x):
    """A share, or a dash."""
    return "-" if x is None else f"{x:.1%}"


def gain(x):
    """Marginal gain: hits of a million references that one page more would bring."""
    return f"{x * 1e6:.0f}"


def bar(domain):
    """Partitions of a domain as characters."""
    whole = max(domain["capacity"], sum(domain[c] for c in CLASSES), 1)
    out = "".join(LETTER[c] * round(BAR * domain[c] / whole) for c in CLASSES)[:BAR]
    return out.ljust(BAR)


def show_domains(domains, before=None):
    """Sizes and gains; before: {memcg: domain} of the last view, for the ratios since."""
    rows = []
    for d in domains:
        old = (before or {}).get(d["memcg"], {})
        refs = d["references"] - old.get("references", 0)
        ratios = [1 - (d[k] - old.get(k, 0)) / refs if refs > 0 else None
                  for k in ("misses", "lru_misses")]
        rows.append([d["cgroup"], f"{d['capacity']:,}", *(f"{d[c]:,}" for c in CLASSES),
                     gain(d["gain_loop"]), gain(d["gain_other"]), *map(percent, ratios),
                     f"{d['held_loops']:,}", "waits" if d["guard"] else "ok"])
    print_table(["cgroup", "pages", "loop", "other", "seq", "gain loop", "other", "hits", "LRU's",
                 "held", "guard"], rows)
    print()
    for d in domains[:SHOWN]:
        print(f"[{bar(d)}] {d['cgroup']}")
    print(" " + "   ".join(f"{LETTER[c]} {NAMES[c]}" for c in CLASSES))


def show_runs(runs):
    """Runs that are held or long."""
    body = [[f"{r['major']}:{r['minor']}", r["ino"], f"{r['start']:,}", f"{r['end']:,}",
             r["class"], f"{r['period']:,}" if r["class"] == "loop" else "-", f"{r['passes']:,}",
             f"{r['held']:,}", f"{r['seen']:,}"] for r in runs[:SHOWN]]
    print_table(["device", "inode", "start", "end", "class", "period", "passes", "held", "seen"],
                body, 1)
    if len(runs) > SHOWN:
        print(f"and {plural(len(runs) - SHOWN, 'more run')}; --json has all")


def show_status(data, before=None, hidden=None):
    """Everything for people."""
    print(f"UBM is {'on' if data['enabled'] else 'off'}"
          + "".join(f", {k} {v}" for k, v in data["settings"].items()))
    print()
    if data["domains"] is None:
        print(f"note: {hidden}; {hidden.advice}")
    elif not data["domains"]:
        print("no cgroup yet: a cgroup is known from its first reclaim on"
              if data["enabled"] else "no cgroup: 'mcube ubm on' switches UBM on")
    else:
        show_domains(data["domains"], before)
        if data["runs"]:
            print()
            show_runs(data["runs"])
    if data["counters"]:
        print()
        print_table(["counter", "value"], [[k, f"{v:,}"] for k, v in data["counters"].items()], 1)


def stacked(ax, samples, memcg):
    """Partition sizes over time, as in Figure 10 of the paper."""
    times, sizes = [], {c: [] for c in CLASSES}
    for at, domains in samples:
        mine = [d for d in domains if d["memcg"] == memcg]
        if mine:
            times.append(at)
            for c in CLASSES:
                sizes[c].append(mine[0][c])
    ax.stackplot(times, *sizes.values(), colors=[COLORS[c] for c in CLASSES],
                 labels=[NAMES[c] for c in CLASSES])
    ax.set_xlabel("seconds")
    ax.set_ylabel("pages of the partitions")
    ax.legend(loc="upper left", ncols=len(CLASSES))


def gains(ax, samples, memcg):
    """Marginal gains over time."""
    mine = [(at, d) for at, domains in samples for d in domains if d["memcg"] == memcg]
    for key, c in (("gain_loop", "loop"), ("gain_other", "other")):
        ax.plot([at for at, _ in mine], [1e6 * d[key] for _, d in mine], color=COLORS[c],
                label=NAMES[c])
    ax.set_xlabel("seconds")
    ax.set_ylabel("marginal gain\n(hits per page and\nmillion references)")
    ax.legend(loc="upper left", ncols=2)


def space_time(ax, references):
    """Pages of files by time with their classes, as in Figure 7 of the paper."""
    ends, base, total = {}, {}, 0
    for _, file, first, nr, _ in references:
        ends[file] = max(ends.get(file, 0), first + nr)
    for file, end in ends.items():
        base[file] = total
        total += end
    for c in CLASSES:
        mine = [(at, base[f] + first, base[f] + first + nr)
                for at, f, first, nr, what in references if what == c]
        if mine:
            at, low, high = zip(*mine)
            ax.vlines(at, low, high, colors=COLORS[c], linewidth=1.2, label=NAMES[c])
    ax.set_xlabel("seconds")
    ax.set_ylabel("pages, file after file")
    ax.set_ylim(0, max(total, 1))
    if references:
        ax.legend(loc="upper left", ncols=4)


def draw(samples, references, memcg, title, path):
    """References with their classes, sizes and gains, one above the other."""
    plt = picture.pyplot()
    fig, axes = plt.subplots(3, 1, figsize=(9, 9), layout="constrained", sharex=True,
                             height_ratios=(2, 1.3, 1))
    space_time(axes[0], references)
    stacked(axes[1], samples, memcg)
    gains(axes[2], samples, memcg)
    fig.suptitle(title)
    picture.save(plt, fig, path)
