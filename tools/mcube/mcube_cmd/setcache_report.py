# SPDX-License-Identifier: GPL-2.0
"""What mcube setcache prints and draws."""

from . import picture
from .setcache import QUANTILES, hit_ratio, nodes, pressure, since
from .term import print_table

BINS = 8
BAR = 50
COLORS = {"hits": "#4477aa", "fills": "#cc6677", "bypassed": "0.7"}
COUNTERS = {
    "hits": "pages of reads that were in a set",
    "fills": "pages read from the device into a set",
    "bypassed": "reads that found their page in the page cache",
    "waits": "reads that waited for another task's fill",
    "full": "reads through the page cache: all places of the set in use",
    "nowait": "reads that may not wait, and were refused",
    "async": "pages filled while nobody waited; hits has them again",
    "doomed": "pages that changed while they were read",
    "killed": "pages that left their set, as the file changed",
    "errors": "pages that the device could not read",
    "reclaimed": "pages given back as memory was short",
    "remote": "pages of reads that were in a set on another node",
    "messages": "messages to workers of other nodes",
    "bundles": "times that a worker took what had come",
    "fallbacks": "pages looked up on another node without a message",
    "pages": "pages that the sets have now, with data or empty",
}


def percent(x):
    """A share, or a dash."""
    return "-" if x is None else f"{x:.1%}"


def histogram(values):
    """[(low, high, number of values)] in bins of equal width."""
    low, high = min(values), max(values)
    width = max(1, -(-(high - low + 1) // BINS))
    return [(at, at + width - 1, sum(at <= v < at + width for v in values))
            for at in range(low, high + 1, width)]


def show_histogram(values):
    """Bars: how many sets had so many fills."""
    bins = histogram(values)
    most = max(n for _, _, n in bins)
    names = [f"{low:,}" if low == high else f"{low:,} to {high:,}" for low, high, _ in bins]
    for name, (_, _, n) in zip(names, bins):
        print(f"  {name:>{max(map(len, names))}} fills {n:>7,} sets  "
              f"{'#' * -(-BAR * n // most)}".rstrip())


def show_sets(rows, before):
    """Pressure of the sets."""
    p = pressure(rows, before)
    print(f"sets: {p['sets']:,} with {p['resident']:,} pages; {p['filling']:,} fills in flight, "
          f"{p['pinned']:,} pages in use")
    print(f"came in{' since the last look' if before else ''}: {p['fills']:,} pages, "
          f"{p['again']:,} of them evicted lately ({percent(p['again_share'])}): hits that larger "
          "sets would have had")
    if not p["fills"]:
        return
    print()
    show_histogram([r["fills"] for r in since(rows, before)])
    print()
    mean = p["fills_of_a_set"]["mean"]
    print_table(["fills of a set", "mean", *(f"{q} %" for q in QUANTILES)],
                [["pages", f"{mean:.1f}", *(p["fills_of_a_set"][f"p{q}"] for q in QUANTILES)],
                 ["of the mean", "1.00", *(f"{p['fills_of_a_set'][f'p{q}'] / mean:.2f}"
                                           for q in QUANTILES)]])
    print()
    print_table(["hottest set", "pages", "filling", "in use", "fills", "again"],
                [[r["set"], r["resident"], r["filling"], r["pinned"], r["fills"], r["again"]]
                 for r in p["hottest"]], 0)


def show_nodes(rows):
    """Where sets and pages lie."""
    print_table(["node", "sets", "pages", "on other nodes"],
                [[n["node"], n["sets"], n["resident"], n["away"]] for n in nodes(rows)], 0)


def show_status(data, rows, before=None, hidden=None):
    """Everything for people; before: (seconds ago, data, rows) of the last look."""
    off = data["mode"] == "off"
    size = f"{data['size_mib']:,} MiB"
    if not off and data["pool_mib"] < data["size_mib"]:
        size = f"{data['pool_mib']:,} of {size}, growing"
    print(f"page sets are {'off' if off else 'on'}: mode {data['mode']}, "
          f"policy {data['policy']}, numa {data['numa']}, size {size}")
    ago, old, old_rows = before or (None, None, None)
    line = f"hit ratio: {percent(data['hit_ratio'])} since the module was loaded"
    if old:
        hits, fills = (data["counters"][k] - old["counters"][k] for k in ("hits", "fills"))
        line += (f", {percent(hit_ratio(data['counters'], old['counters']))} since the last look "
                 f"({hits / ago:,.0f} hits/s, {fills / ago:,.0f} fills/s)")
    print(line)
    print()
    if rows is None:
        print(f"note: {hidden}; {hidden.advice}")
    elif rows:
        show_sets(rows, old_rows)
        if len(nodes(rows)) > 1:
            print()
            show_nodes(rows)
    elif data["mode"] == "off":
        print("no sets: 'mcube setcache on' makes them")
    print()
    print_table(["counter", "value", *(["change"] if old else []), "meaning"],
                [[k, f"{v:,}", *([f"{v - old['counters'][k]:+,}"] if old else []),
                  COUNTERS.get(k, "")] for k, v in data["counters"].items()], 4)


def rates(samples, name):
    """Middle of each interval and the counter's rate in it."""
    pairs = list(zip(samples, samples[1:]))
    return ([(a + b) / 2 for (a, _), (b, _) in pairs],
            [(new["counters"][name] - old["counters"][name]) / (b - a)
             for (a, old), (b, new) in pairs])


def draw(samples, rows, path):
    """Hit ratio and rates over time, and how evenly the sets were in demand."""
    plt = picture.pyplot()
    fig, axes = plt.subplots(3, 1, figsize=(9, 8), layout="constrained")
    counters = [data["counters"] for _, data in samples]
    axes[0].plot(rates(samples, "hits")[0],
                 [100 * (hit_ratio(new, old) or 0) for old, new in zip(counters, counters[1:])],
                 color=COLORS["hits"])
    axes[0].set_ylim(0, 100)
    axes[0].set_ylabel("hit ratio, %")
    for name, color in COLORS.items():
        axes[1].plot(*rates(samples, name), color=color, label=name)
    axes[1].set_ylim(bottom=0)
    axes[1].set_ylabel("per second")
    axes[1].set_xlabel("seconds")
    axes[1].legend(ncols=len(COLORS))
    demand = sorted((r["fills"] for r in rows), reverse=True)
    again = [r["again"] for r in sorted(rows, key=lambda r: -r["fills"])]
    axes[2].fill_between(range(len(demand)), demand, step="mid", color=COLORS["fills"],
                         label="pages that came in")
    axes[2].fill_between(range(len(again)), again, step="mid", color="#ddaa33",
                         label="of them evicted lately")
    axes[2].set_xlabel("sets, those with most fills first")
    axes[2].set_ylabel("pages")
    axes[2].legend()
    last = samples[-1][1]
    fig.suptitle(f"page sets: {last['size_mib']} MiB, {last['policy']}, mode {last['mode']}")
    picture.save(plt, fig, path)
