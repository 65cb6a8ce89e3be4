# SPDX-License-Identifier: GPL-2.0
"""bench-ubm-kernel, part live: real programs under limits of memory, by policy.

Each policy has a guest of its own. A run of a program has a cgroup of its own with a limit
of memory, and begins with an empty page cache. The limit is what the program needs beside
the cache, plus a share of the pages of the files that it reads. The CPU executes a counted
instruction in a nanosecond, so a run nearly repeats exactly; but reads change in steps with
memory: MGLRU read a fifth more with 77 KiB less. So each repeat has a limit of its own,
STEP_KIB from the next, and figures are means over the repeats.

The elapsed time also has the waits for the device, which is the page cache of the host here.
On a real device a request takes time: the modelled time is the time of the CPU plus that of
the requests.
"""

import functools
import re
import statistics

from lab import Failure
from mcube_cmd.term import print_table
from . import guest

POLICIES = ("lru", "mglru", "ubm", "ubm-mglru")
STOCK = {"ubm": "lru", "ubm-mglru": "mglru"}
# Of each program: KiB beside the page cache, KiB of the files that it reads.
NEEDS = {"cscope": (1000, 6128), "cpp": (17000, 4976), "join": (1200, 6272),
         "index": (2000, 7656), "rg": (2400, 8192)}
SHARES = (0.4, 0.6, 0.8)
# Seconds that a request takes on a disk and on a solid-state drive.
DEVICES = {"disk": 5e-3, "ssd": 1e-4}
# Between the limits of two repeats.
STEP_KIB = 32
NO_POLICY = "no such policy"


def kib(program, share):
    """Limit of memory."""
    beside, files = NEEDS[program]
    return int(beside + share * files)


def limits(program, share, repeat):
    """Limits of the repeats, around the limit of the share."""
    return [kib(program, share) + (2 * i - repeat + 1) * STEP_KIB // 2 for i in range(repeat)]


def run_guest(args, disk, out, policy):
    """Boot a guest and run all programs under all limits; adds rows to out."""
    lines = ["begin", f"policy {policy} || {{ echo '{NO_POLICY}'; exit 0; }}"]
    for program in args.programs:
        lines += [f"limited {k} {program} {guest.ROUNDS[program][0]}"
                  for s in args.shares for k in limits(program, s, args.repeat)]
    vm = guest.make(f"{disk},snapshot=on", args.kernel, counted=True)
    result = guest.run(vm, f"live-{policy}", lines, args.timeout)
    if NO_POLICY in result.output:
        return
    found = [dict(zip(m[1].split()[::2], m[1].split()[1::2]))
             for m in re.finditer(r"^run (.*)$", result.output, re.M)]
    if len(found) != args.repeat * len(args.programs) * len(args.shares):
        raise Failure(f"{policy}: runs are missing in the guest's output",
                      f"console: {result.console}")
    out[policy] = found


def jobs(args, disk, out):
    """A job for each policy."""
    return [functools.partial(run_guest, args, disk, out, p) for p in args.policies]


def modelled(run, seconds):
    """Time on a device whose requests take so many seconds."""
    return float(run["user"]) + float(run["system"]) + int(run["requests"]) * seconds


def row_of(policy, program, share, runs):
    """Means with their range."""
    row = {"part": "live", "policy": policy, "program": program, "share": share,
           "kib": kib(program, share), "repeat": len(runs)}
    columns = {"pages": [int(r["sectors"]) / 8 for r in runs],
               "requests": [int(r["requests"]) for r in runs],
               "elapsed": [int(r["microseconds"]) / 1e6 for r in runs],
               "cpu": [float(r["user"]) + float(r["system"]) for r in runs],
               "file_kib": [int(r["file"]) >> 10 for r in runs],
               **{f"elapsed_{d}": [modelled(r, s) for r in runs] for d, s in DEVICES.items()}}
    for name, values in columns.items():
        row |= {name: statistics.fmean(values), f"{name}_min": min(values),
                f"{name}_max": max(values)}
    return row | {"oom": sum(int(r["oom"]) for r in runs)}


def rows_of(args, out):
    """A row for each policy, program and share, with what it saves."""
    rows = []
    for policy in (p for p in POLICIES if p in out):
        for program in args.programs:
            for share in args.shares:
                near = set(map(str, limits(program, share, args.repeat)))
                rows.append(row_of(policy, program, share, [
                    r for r in out[policy] if r["program"] == program and r["kib"] in near]))
    stock = {(r["policy"], r["program"], r["share"]): r for r in rows}
    for row in rows:
        base = stock.get((STOCK.get(row["policy"]), row["program"], row["share"]))
        if base:
            row["cut"] = 1 - row["pages"] / base["pages"]
            row["requests_cut"] = 1 - row["requests"] / base["requests"]
            row["elapsed_cut"] = {d: 1 - row[f"elapsed_{d}"] / base[f"elapsed_{d}"]
                                  for d in DEVICES}
    return rows


def show(rows):
    """Print a line for each program and share, policies beside each other."""
    policies = [p for p in POLICIES if any(r["policy"] == p for r in rows)]
    keys = sorted({(r["program"], r["share"]) for r in rows},
                  key=lambda k: (list(NEEDS).index(k[0]), k[1]))
    at = {(r["program"], r["share"], r["policy"]): r for r in rows}
    print("\npages that the device read, mean (range over runs)\n")
    print_table(["program", "memory", *policies, *(f"cut, {p}" for p in policies if p in STOCK)],
                [[p, f"{kib(p, s):,} KiB",
                  *(f"{r['pages']:,.0f} ({r['pages_max'] - r['pages_min']:,.0f})"
                    for r in (at[p, s, x] for x in policies)),
                  *(f"{at[p, s, x]['cut']:.1%}" for x in policies if x in STOCK)]
                 for p, s in keys], lead="  ")
    for key, what, form in (
            ("requests", "requests to the device, mean", ",.0f"),
            ("elapsed_disk", "seconds, modelled: the CPU, and 5 ms for a request", ".2f")):
        print(f"\n{what}\n")
        print_table(["program", "memory", *policies],
                    [[p, f"{kib(p, s):,} KiB",
                      *(format(at[p, s, x][key], form) for x in policies)]
                     for p, s in keys], lead="  ")


def summarize(rows):
    """Keys of the summary; none about cuts without UBM."""
    cuts = [r["cut"] for r in rows if "cut" in r]
    out = {"oom_kills": sum(r["oom"] for r in rows)}
    if cuts:
        disk = [r["elapsed_cut"]["disk"] for r in rows if "cut" in r]
        requests = [r["requests_cut"] for r in rows if "cut" in r]
        out |= {"device_reads_cut_mean": statistics.fmean(cuts),
                "device_reads_cut_max": max(cuts), "worst_loss": max(0.0, -min(cuts)),
                "requests_cut_mean": statistics.fmean(requests),
                "worst_loss_requests": max(0.0, -min(requests)),
                "elapsed_disk_cut_mean": statistics.fmean(disk),
                "elapsed_disk_cut_max": max(disk)}
        for policy, stock in STOCK.items():
            mine = [r["cut"] for r in rows if r["policy"] == policy]
            if mine:
                out[f"cut_over_{stock}_mean"] = statistics.fmean(mine)
    return out


def draw(plt, rows):
    """Pages read by program and memory, a group of bars each."""
    policies = [p for p in POLICIES if any(r["policy"] == p for r in rows)]
    programs = [p for p in NEEDS if any(r["program"] == p for r in rows)]
    colors = dict(zip(POLICIES, ("#bbbbbb", "#777777", "#4477aa", "#66ccee")))
    fig, axes = plt.subplots(1, len(programs), figsize=(2.6 * len(programs), 3.4), squeeze=False,
                             layout="constrained")
    width = 0.8 / len(policies)
    for ax, program in zip(axes[0], programs):
        for i, policy in enumerate(policies):
            mine = [r for r in rows if (r["policy"], r["program"]) == (policy, program)]
            ax.bar([x + (i + 0.5) * width - 0.4 for x in range(len(mine))],
                   [r["pages"] for r in mine], width, color=colors[policy], label=policy,
                   yerr=([r["pages"] - r["pages_min"] for r in mine],
                         [r["pages_max"] - r["pages"] for r in mine]))
        ax.set_xticks(range(len(mine)), [f"{r['share']:.0%}" for r in mine])
        ax.set_title(program)
        ax.set_xlabel("of its files in memory")
    axes[0][0].set_ylabel("pages read from the device")
    axes[0][0].legend(fontsize="small")
    return fig
