# SPDX-License-Identifier: GPL-2.0
"""bench-rocs: the picture. Gains of each load, and its profile as in the paper's Figure 3."""

import lab
from .loads import PAPER

COLORS = {"hop": "#bbbbbb", "oracle": "#ccbb44", "rocs": "#228833"}


def bars(ax, rows, what, paper, title):
    """Draw a bar for each load and policy, and the paper's mean as a line."""
    for j, (policy, color) in enumerate(COLORS.items()):
        ax.bar([i + 0.27 * j for i in range(len(rows))],
               [100 * r["gains"][policy][what] for r in rows], 0.27, label=policy, color=color)
    ax.axhline(100 * paper, color="#aa3377", lw=1, ls="--", label="the paper's mean")
    ax.axhline(0, color="black", lw=0.5)
    ax.set_xticks([i + 0.27 for i in range(len(rows))], [r["load"] for r in rows], fontsize=8)
    ax.set_ylabel(f"{title}, %", fontsize=8)
    ax.legend(fontsize=7)


def profile(ax, row):
    """Draw the miss rate of each page, by address; pages in the partition in another color."""
    pages = sorted(row["profile"])
    for mapped, color in ((0, "#4477aa"), (1, "#ee6677")):
        x = [i for i, p in enumerate(pages) if p[5] == mapped]
        ax.plot(x, [100 * pages[i][1] for i in x], ".", ms=2, color=color)
    ax.plot(range(len(pages)), [100 * p[3] for p in pages], color="black", lw=0.4)
    ax.set_ylim(-3, 103)
    ax.set_title(f"{row['load']}: miss rate by page", fontsize=8)
    ax.tick_params(labelsize=6)


def draw(rows):
    """Draw build/results/rocs.png; returns its path, None if there is nothing to draw."""
    if not rows:
        return None
    plt = lab.pyplot()
    machine = rows[0]["machine"]
    rows = [r for r in rows if r["machine"] == machine]
    fig = plt.figure(figsize=(14, 9))
    grid = fig.add_gridspec(4, 4)
    bars(fig.add_subplot(grid[0:2, 0:2]), rows, "time_gain", PAPER["time_gain_mean"],
         f"modelled time saved on {machine} (simulated)")
    bars(fig.add_subplot(grid[0:2, 2:4]), rows, "mpki_cut", PAPER["mpki_cut_mean"],
         "misses per instruction avoided")
    for i, row in enumerate(rows[:8]):
        profile(fig.add_subplot(grid[2 + i // 4, i % 4]), row)
    fig.tight_layout()
    return lab.picture(fig, "rocs")
