#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""What the M3 allocator does to DRAM and to the cache: row conflicts and modelled time.

Loads run on modelled machines. The benchmark compares the stock buddy allocator with the
mcube allocator under several fill orders, on three kinds of memory:

    fresh        as a boot leaves it: each load has a guest of its own
    used         as loads before leave it: programs alone, loads after serial set-up, other
                 loads of memload, and programs have a guest each, one load after another
    aged         as used, and every other page is in use

Each combination of machine, memory, fill order and repetition has guests of its own. The
medians are compared. The orders paper and even, and the experiment behind "cost", have one
repetition.

    alone .5     one program whose working set is half of the last level, .75, .95 and all
                 of it: read and random of memload, sort and spmm of victims/. It must not
                 lose, as it needs no DRAM once the cache is warm.
    serial read  tools/mcube/guest/memload.c: one thread faults all memory in, and then all
                 threads work on equal parts of it, in step
    apart copy   the same, one array faulted in after the other: arrays and parts of threads
                 are powers of two apart
    forked copy  a process faults all memory in and forks workers, which get frames of their
                 own for what they write
    copy, ...    memload: threads that fault their memory in side by side and then work on
                 it, as stream and ramspeed do
    streamcluster, canneal, fluidanimate
                 tools/mcube/guest/shapes/: loads with the memory behaviour of three of the
                 PARSEC programs that the paper measures. One thread sets up 24 MiB, and then
                 all threads share the work on them
    stress-ng    the stream stressor of stress-ng, a process per thread
    sysbench     the memory test of sysbench, reading and writing

time        modelled cycles: of the slowest thread (memload and shapes), or the mean over
            threads (real programs; their start and end are included)
conflicts   accesses to DRAM that had to close another row, per access
cost        share of the stock allocator's time that opening and closing rows costs: time
            that is saved on the same machine with DRAM that does both at once. No placement
            can save much more
banks       memload: distinct banks among the pages that all threads and arrays work on
            at one time, as a share of what is possible
channels    the same for channels, in the boots of the combinations whose boots differ most

All figures are simulated; the machines are in tools/mcube/model/machines/. Their cores
overlap misses (--misses), which makes DRAM the bottleneck of several threads.
Huge pages are off, because the mcube allocator serves single pages only.

A guest whose figures are present, of the same kernel and with the same loads, is not run
again; so an interrupted run goes on where it stopped (--fresh runs all). Parts of a long run
may be chosen, and the last call reports them all:

    make bench-m3 ARGS="--machines x5570"
    make bench-m3
"""

import itertools
import json
import operator
import re
import statistics
from concurrent.futures import ThreadPoolExecutor

import lab  # first: it makes the other packages importable
from lab import ALLOC, Failure
from lib import ui
from lib.modelled import Model
from mcube_cmd.addrmap import PAGE_SHIFT, Dim
from mcube_cmd.term import print_table
from qemu import Guest, image

CPUS = 16
# Most threads of loads that are not in step: the machines have four cores and eight threads.
MOST = 8
MEMORY = "2G"
AGED_MIB = 1650
MACHINES = ("x5570", "i7-860", "sliced")
MEMORIES = ("fresh", "used", "aged")
# Combinations whose boots are reported.
WIDEST = 3
# The fill order that the summary's keys without a suffix are about comes last.
ORDERS = ("paper", "shuffle", "even", "auto")
# Settings without the mcube allocator, which each order is compared with.
BASES = ("stock", "no rows")
# Settings that have one boot, whatever --repeat says, as a whole run takes hours.
ONCE = ("no rows", "paper", "even")
# The orders with clusters of 2^n pages, for --orders.
CLUSTERED = tuple(f"{order}:{n}" for order in ("shuffle", "even") for n in range(1, 6))
# Share of time that the paper reports as saved for memory-intensive loads, and for
# canneal, facesim, fluidanimate and streamcluster on average.
PAPER = {"mean": 0.397, "max": 0.85, "shapes": 0.104}
KEYS = ("machine", "memory", "load", "threads")
combination = operator.itemgetter(*KEYS)
TOOLS = ("memload", "mcube-pages", "shapes", "victims")
LIMITS = {"single_stream_loss_max": .01, "alone_loss_max": .01}
GOALS = {"lockstep_gain_mean": .10, "time_gain_max": .25, "time_gain_min": -.01}
EVENTS = ("cycles", "instructions", "llc_misses", "dram_accesses", "row_hits", "row_empty",
          "row_conflicts", "bank_waits")
PERF = "perf stat -x, -o {out} -e " + ",".join(f"mcube_sim/{e}/" for e in EVENTS) + " -- "
SYSBENCH = ("sysbench memory --time=0 --threads={t} --memory-block-size=8M "
            "--memory-total-size={mib}M --memory-oper={op} --memory-access-mode=seq run")
ALONE = {f"alone {program} {share:g}": (program, share)
         for share in (.5, .75, .95, 1.0) for program in ("read", "random", "sort", "spmm")}
# Loads of memload; with a word before the name one thread faults all memory in.
PATTERNS = ("copy", "triad", "read", "write", "random")
SETUP = {"serial": "-s", "apart": "-l", "forked": "-w 1 -p"}
LOCKSTEP = ("serial read", *(f"{how} {p}" for how in SETUP for p in ("copy", "triad")))
# MiB of a thread, so that each array has 4 MiB.
APART_MIB = {"copy": 8, "triad": 12}
# Loads of the program shapes, which share out the same work among the threads.
SHAPES = ("streamcluster", "canneal", "fluidanimate")
REAL = {
    # stress-ng divides the size among its processes.  Its arrays have 4 MiB then, and a run is
    # long beside its start.
    "stress-ng stream": "stress-ng -q --stream {t} --stream-ops 3 --stream-l3-size {t}M "
                        "--stream-madvise nohugepage",
    "sysbench read": SYSBENCH.replace("{op}", "read"),
    "sysbench write": SYSBENCH.replace("{op}", "write"),
}


def group_of(load):
    """The kind of a load, for means over loads."""
    if load in ALONE or load in LOCKSTEP:
        return load.split()[0]
    if load in PATTERNS:
        return "random" if load == "random" else "side by side"
    return "shapes" if load in SHAPES else "real programs"


def part_of(memory, load):
    """Which guest a load runs in: loads that ran before leave other memory than a boot."""
    if memory == "fresh":
        return load
    group = group_of(load)
    if group in SETUP:
        return "serial"
    return {"alone": "alone", "random": "patterns", "side by side": "patterns"}.get(
        group, "programs")


def file(load, threads):
    """Name of the file with the figures of a run."""
    return f"{load.replace(' ', '-')}.{threads}"


def loads_of(args, memory, part):
    """The chosen loads of a part."""
    return [load for load in args.loads if part_of(memory, load) == part]


def threads_of(args, load):
    """Numbers of threads with which a load runs."""
    if load in ALONE:
        return [1]
    if load in LOCKSTEP:
        return [n for n in args.threads if n > 1]
    return [n for n in args.threads if n <= MOST]


def alone(load, llc):
    """Command of a program alone, whose working set is a share of the last level."""
    program, share = ALONE[load]
    kib = int(llc * share) >> 10
    if program in ("read", "random"):
        return f"/guest/memload -k {kib} -w 2 -r 3 {program}"
    return f"/guest/victims -k {kib} -a 4 {program}"


def command(args, load, threads, llc):
    """Command that prints the figures of a load."""
    path = f"/results/{file(load, threads)}"
    if load in ALONE:
        return f"{alone(load, llc)} > {path}"
    if load in REAL:
        return (PERF.format(out=path) + REAL[load].format(t=threads, mib=16 * threads)
                + " > /tmp/log 2>&1 || { cat /tmp/log; exit 1; }")
    if load in SHAPES:
        return f"/guest/shapes -t {threads} -r {args.passes} {load} > {path}"
    how, pattern = load.split() if load in LOCKSTEP else ("", load)
    if how == "apart":
        mib = APART_MIB[pattern]
    elif how:
        mib = args.serial_mib
    else:
        # With few threads each thread gets more memory: a working set that fits in the
        # cache would not reach DRAM.
        mib = max(args.mib, args.least_mib // threads)
    frames = "" if how == "forked" else f"-f {path}.frames "
    return (f"/guest/memload -t {threads} -m {mib} -r {args.passes} {SETUP.get(how, '')} "
            f"{frames}{pattern} > {path}")


def script(args, memory, policy, part, llc, repeat):
    """Script of a guest, which runs the loads of a part."""
    out = ["set -e", "echo never > /sys/kernel/mm/transparent_hugepage/enabled",
           lab.shift(repeat)]
    if memory == "aged":
        out += [f"/guest/mcube-pages age -m {AGED_MIB} > /tmp/aged 2>&1 &", "aged=$!",
                "while ! grep -q aged /tmp/aged; do sleep 0.2; done"]
    if policy not in BASES:
        order, _, cluster = policy.partition(":")
        out += [f"echo {cluster or 0} > {ALLOC}/cluster_order",
                f"echo {order} > {ALLOC}/fill_order", f"echo 1 > {ALLOC}/enabled"]
    for load in loads_of(args, memory, part):
        out += [command(args, load, threads, llc) for threads in threads_of(args, load)]
        out.append(f"echo done {load}")
    out += [f"grep . {ALLOC}/stats/* > /results/stats",
            f"cat {ALLOC}/fill_auto > /results/fill_auto"]
    if memory == "aged":
        # The process holds its pages until it is killed, and the guest waits for it.
        out += ["kill $aged", "wait $aged || true"]
    return "\n".join(out) + "\n"


def figures(path, real):
    """{event: count} of a run."""
    found = {}
    if not path.is_file():
        raise Failure(f"no figures: {path} is not there",
                      "run bench-m3 without --again, or with the options of the last run")
    for line in path.read_text("utf-8").splitlines():
        if real:
            fields = line.split(",")
            if len(fields) > 2 and fields[2].startswith("mcube_sim/"):
                found[fields[2].split("/")[1]] = int(fields[0])
        elif len(line.split()) == 2:
            found[line.split()[0]] = int(line.split()[1])
    if missing := [e for e in EVENTS if e not in found]:
        raise Failure(f"{path}: no figure for {', '.join(missing)}",
                      "the guest's kernel needs CONFIG_MCUBE_SIM")
    return found


def arrays_of(path):
    """The frames of each array of memload; nothing for other loads, which have no file."""
    return [[int(x, 16) for x in line.split()]
            for line in path.read_text("utf-8").splitlines()] if path.is_file() else []


def channels_of(description):
    """The channel of a page, without channels that change within a page: each page has these."""
    # A table, where there is one, gives the channels; the first in the kernel's map, too.
    if description["dram.table"]:
        if int(description["dram.granule"]) >> PAGE_SHIFT:
            return Dim(re.search(r"table:\S+", description["bank_map"])[0])
        return Dim("none")
    masks = [m for m in description["dram.channels"].split() if int(m, 16) >> PAGE_SHIFT]
    return Dim(" ".join(masks) or "none")


def spread(arrays, dim):
    """Distinct banks (or channels) among the pages in use at one time, a share of the possible.

    None if there are no arrays, or if all pages are alike in it.
    """
    if not arrays or dim.nr == 1:
        return None
    together = zip(*map(dim.values, arrays))
    return statistics.fmean(len(set(group)) for group in together) / min(len(arrays), dim.nr)


def folder_of(name):
    """Folder with the figures of a guest."""
    return ui.BUILD / "guest" / name / "results"


def boot(args, model, name, memory, policy, part, repeat):
    """Run a guest, unless its figures are present."""
    llc = int(model.description["llc.size"].rstrip("M")) << 20
    commands = script(args, memory, policy, part, llc, repeat)
    identity = {"kernel": lab.print_of(args.kernel or image()), "script": commands,
                "programs": [lab.print_of(lab.guest_tool(t)) for t in TOOLS],
                "description": {k: str(v) for k, v in model.description.items()}}
    path = folder_of(name) / "identity.json"
    if not args.fresh and path.is_file() and json.loads(path.read_text("utf-8")) == identity:
        ui.say(f"{name}: figures are present")
        return
    vm = Guest(args.kernel or image(), smp=CPUS, mem=MEMORY, model=model, icount=True,
               seed=repeat + 1, programs=["perf", "stress-ng", "sysbench"])
    for tool in TOOLS:
        vm.root.file(lab.guest_tool(tool), f"/guest/{tool}")
    result = vm.run(commands, name, 3600)
    result.need(name)
    path.write_text(json.dumps(identity), "utf-8")
    ui.say(f"{name}: {result.seconds:.0f} s")


def guest(args, machine, memory, policy, part, repeat):
    """Run a guest, or with --again take its last figures; returns its rows."""
    keys = {"dram.rp": 0, "dram.rcd": 0} if policy == "no rows" else {}
    model = Model(machine, {"cpu.misses": args.misses} | keys)
    name = re.sub("[ :]", "-", f"bench-m3-{machine}-{memory}-{policy}-{part}-{repeat}")
    folder = folder_of(name)
    if not args.again:
        boot(args, model, name, memory, policy, part, repeat)
    bank = Dim(model.description["bank_map"])
    channel = channels_of(model.description)
    rows = []
    for load in loads_of(args, memory, part):
        for threads in threads_of(args, load):
            r = figures(folder / file(load, threads), load in REAL)
            time = r["cycles"] / (threads if load in REAL else 1)
            share = r["row_conflicts"] / max(1, r["dram_accesses"])
            arrays = arrays_of(folder / (file(load, threads) + ".frames"))
            rows.append({
                "machine": machine, "memory": memory, "policy": policy, "load": load,
                "threads": threads, "repeat": repeat, "time": time, "conflicts": share,
                "llc_misses": r["llc_misses"], "dram_accesses": r["dram_accesses"],
                "bank_waits": r["bank_waits"],
                "banks": spread(arrays, bank), "channels": spread(arrays, channel)})
    return rows


def medians(rows):
    """Medians over the repetitions: {(machine, memory, load, threads): {policy: row}}."""
    groups, out = {}, {}
    for r in rows:
        groups.setdefault(tuple(r[k] for k in KEYS + ("policy",)), []).append(r)
    for key, runs in groups.items():
        row = {k: statistics.median(r[k] for r in runs) for k in
               ("time", "conflicts", "llc_misses", "dram_accesses", "bank_waits")}
        times = [r["time"] for r in runs]
        row["spread"] = (max(times) - min(times)) / row["time"]
        row["banks"] = (None if runs[0]["banks"] is None
                        else statistics.median(r["banks"] for r in runs))
        out.setdefault(key[:-1], {})[key[-1]] = row
    return out


def compare(rows, orders):
    """Gains over stock: a row per machine, memory, load and number of threads.

    A setting with one boot is compared with the stock allocator's boot of the same number.
    """
    out, first = [], medians([r for r in rows if not r["repeat"]])
    for key, by in medians(rows).items():
        stock = by["stock"]
        saved = lambda order: 1 - by[order]["time"] / (  # noqa: E731
            first[key] if order in ONCE else by)["stock"]["time"]
        row = dict(zip(KEYS, key)) | {
            "part": "load", "group": group_of(key[KEYS.index("load")]),
            "conflicts_stock": stock["conflicts"], "banks_stock": stock["banks"],
            "misses_stock": stock["llc_misses"], "cost_stock": saved("no rows"),
            "spread": max(r["spread"] for r in by.values())}
        for order in orders:
            r = by[order]
            row |= {f"gain_{order}": saved(order),
                    f"conflicts_{order}": r["conflicts"], f"banks_{order}": r["banks"],
                    f"misses_{order}": r["llc_misses"],
                    f"cut_{order}": 1 - r["conflicts"] / stock["conflicts"]
                    if stock["conflicts"] else 0.0}
        out.append(row)
    return out


def unsteady(table):
    """The combinations whose boots differ most."""
    return [combination(r) for r in sorted(table, key=lambda r: -r["spread"])[:WIDEST]]


def widest(rows, table):
    """The boots of the combinations whose boots differ most: a row per setting and boot."""
    order = {key: i for i, key in enumerate(unsteady(table))}
    boots = sorted((r for r in rows if combination(r) in order and r["policy"] not in ONCE),
                   key=lambda r: (order[combination(r)], r["policy"], r["repeat"]))
    return [{"part": "boot"} | {k: r[k] for k in (*KEYS, "policy", "repeat", "time", "conflicts",
                                                  "banks", "channels")} for r in boots]


def by_group(table, orders):
    """Means over loads and threads: a row per machine, memory and kind of load."""
    cells = {}
    for r in table:
        cells.setdefault((r["group"], r["machine"], r["memory"]), []).append(r)
    main = f"gain_{orders[-1]}"
    return [{"part": "group", "group": group, "machine": machine, "memory": memory}
            | {k: statistics.fmean(r[k] for r in rows)
               for k in ("cost_stock", *(f"gain_{o}" for o in orders))}
            | {"least": min(r[main] for r in rows), "most": max(r[main] for r in rows),
               "spread": statistics.median(r["spread"] for r in rows)}
            for (group, machine, memory), rows in cells.items()]


def mean_gain(rows, order):
    """The mean gain; None without rows."""
    return statistics.fmean(r[f"gain_{order}"] for r in rows) if rows else None


def losses(rows, order):
    """The largest loss, 0 if nothing loses; None without rows."""
    return max([0.0] + [-r[f"gain_{order}"] for r in rows]) if rows else None


def details(table, orders):
    """Figures over all combinations that tell where the means are from.

    "steady": without the combinations whose boots differ most. "losing": combinations that lose
    1 % or more; "beyond_spread": of these, as much as their boots differ, or more.
    """
    loads = [r for r in table if r["load"] not in ALONE]
    if not loads:
        return {}
    gain = f"gain_{orders[-1]}"
    losing = [r for r in loads if r[gain] <= GOALS["time_gain_min"]]
    rare = unsteady(table)
    steady = [r[gain] for r in loads if combination(r) not in rare]
    out = {"combinations": len(loads), "losing": len(losing),
           "losing_beyond_spread": sum(-r[gain] >= r["spread"] for r in losing),
           "loss_beyond_spread_max": losses([r for r in losing if -r[gain] >= r["spread"]],
                                            orders[-1]),
           "gain_beyond_cost": sum(r[gain] > r["cost_stock"] for r in loads)}
    if steady:
        out |= {"steady_gain_mean": statistics.fmean(steady), "steady_gain_min": min(steady)}
    for kind in dict.fromkeys(r["group"] for r in table):
        mine = [r for r in table if r["group"] == kind]
        name = kind.replace(" ", "_")
        out |= {f"{name}_cost_mean": statistics.fmean(r["cost_stock"] for r in mine)} | {
            f"{name}_gain_mean" + ("" if o == orders[-1] else f"_{o}"): mean_gain(mine, o)
            for o in orders}
    if canneal := [r["cost_stock"] for r in loads if r["load"] == "canneal"]:
        out["canneal_cost_mean"] = statistics.fmean(canneal)
    return out


def by_memory(table):
    """{what the keys about a memory begin with: its rows}; one memory has the keys over all."""
    out = {}
    for r in table:
        out.setdefault(f"{r['memory']}_", []).append(r)
    return out if len(out) > 1 else {"": table}


def bounds(which, summary, table):
    """The bounds for each memory that has the key."""
    return {prefix + key: bound for prefix in by_memory(table) for key, bound in which.items()
            if prefix + key in summary}


def summarize(table, orders):
    """Figures over all combinations, for each memory, and for each machine and memory."""
    out, main = {}, orders[-1]
    groups = {"": table} | by_memory(table)
    for prefix, rows in groups.items():
        out |= {prefix + k: v for k, v in details(rows, orders).items()}
    for r in table:
        groups.setdefault(f"{r['machine']}_{r['memory']}_", []).append(r)
    for prefix, rows in groups.items():
        # Programs alone have their own keys; they have nothing to gain.
        loads = [r for r in rows if r["load"] not in ALONE] or rows
        lockstep = [r for r in rows if r["load"] in LOCKSTEP]
        shapes = [r for r in rows if r["load"] in SHAPES]
        single = [r for r in loads if r["threads"] == 1 and r["load"] in PATTERNS]
        for order in orders:
            suffix = "" if order == main else f"_{order}"
            gains = [r[f"gain_{order}"] for r in loads]
            out |= {f"{prefix}time_gain_mean{suffix}": statistics.fmean(gains),
                    f"{prefix}time_gain_max{suffix}": max(gains),
                    f"{prefix}time_gain_min{suffix}": min(gains),
                    f"{prefix}lockstep_gain_mean{suffix}": mean_gain(lockstep, order),
                    f"{prefix}shapes_gain_mean{suffix}": mean_gain(shapes, order),
                    f"{prefix}single_stream_loss_max{suffix}": losses(single, order),
                    f"{prefix}alone_loss_max{suffix}":
                        losses([r for r in rows if r["load"] in ALONE], order),
                    f"{prefix}row_conflict_cut_mean{suffix}":
                        statistics.fmean(r[f"cut_{order}"] for r in loads)}
        out |= {f"{prefix}cost_stock_mean": statistics.fmean(r["cost_stock"] for r in loads),
                f"{prefix}cost_stock_max": max(r["cost_stock"] for r in loads)}
    out["paper_time_gain_mean"], out["paper_time_gain_max"] = PAPER["mean"], PAPER["max"]
    out["paper_shapes_gain_mean"] = PAPER["shapes"]
    return {k: round(v, 5) for k, v in out.items() if v is not None}


def percent(x):
    """A share for a table."""
    return "-" if x is None else f"{x:.1%}"


def show(table, orders):
    """Print the comparison: programs alone first."""
    for machine, memory in dict.fromkeys((r["machine"], r["memory"]) for r in table):
        rows = [r for r in table if (r["machine"], r["memory"]) == (machine, memory)]
        for title, names, mine in (
                ("programs alone; misses of the last level", "misses",
                 [r for r in rows if r["load"] in ALONE]),
                ("row conflicts per access", "conflicts",
                 [r for r in rows if r["load"] not in ALONE])):
            if not mine:
                continue
            print(f"\n{machine}, {memory} memory, simulated: {title}; gain is time saved\n")
            form = percent if names == "conflicts" else str
            body = [[r["load"], r["threads"]]
                    + [form(r[f"{names}_{o}"]) for o in ("stock",) + orders]
                    + [percent(r["cost_stock"])] + [percent(r[f"gain_{o}"]) for o in orders]
                    + [percent(r["spread"])] for r in mine]
            print_table(["load", "thr.", "stock", *orders, "cost",
                         *(f"gain {orders[0]}", *orders[1:]), "spread"], body, lead="  ")


def show_groups(groups, orders):
    """Print the means over loads and threads."""
    print("\nsimulated, means over loads and threads; cost and gains are shares of the stock "
          f"allocator's\ntime; least and most: of {orders[-1]}; spread of the boots: the median\n")
    keys = ("cost_stock", *(f"gain_{o}" for o in orders), "least", "most", "spread")
    print_table(["loads", "machine", "memory", "cost", f"gain {orders[0]}", *orders[1:], "least",
                 "most", "spread"],
                [[r["group"], r["machine"], r["memory"], *(percent(r[k]) for k in keys)]
                 for r in groups], left=3, lead="  ")


def show_boots(boots):
    """Print the combinations whose boots differ most."""
    print("\nsimulated, the combinations whose boots differ most; banks and channels in use at one "
          "time\n")
    print_table(["load", "machine", "memory", "setting", "thr.", "boot", "Mcycles", "conflicts",
                 "banks", "channels"],
                [[*(r[k] for k in ("load", "machine", "memory", "policy", "threads", "repeat")),
                  f"{r['time'] / 1e6:.1f}",
                  *(percent(r[k]) for k in ("conflicts", "banks", "channels"))]
                 for r in boots], left=4, lead="  ")


def draw(groups, orders):
    """Draw the time saved for each kind of load, in a panel per machine and memory."""
    plt = lab.pyplot()
    panels = list(dict.fromkeys((r["machine"], r["memory"]) for r in groups))
    kinds = list(dict.fromkeys(r["group"] for r in groups))
    fig, axes = plt.subplots(len(panels), 1, figsize=(8, 1.9 * len(panels)), sharex=True,
                             sharey=True, squeeze=False)
    width = 0.8 / len(orders)
    colors = dict(zip(orders[::-1], ("#4477aa", "#66ccee", "#ccbb44", "#bbbbbb")))
    for ax, panel in zip(axes[:, 0], panels):
        rows = [r for r in groups if (r["machine"], r["memory"]) == panel]
        for j, order in enumerate(orders):
            at = [kinds.index(r["group"]) + (j - (len(orders) - 1) / 2) * width for r in rows]
            ax.bar(at, [100 * r[f"gain_{order}"] for r in rows], width,
                   color=colors.get(order, "#228833"), label=order)
        ax.vlines(at, [100 * r["least"] for r in rows], [100 * r["most"] for r in rows],
                  color="black", linewidth=0.8)
        ax.axhline(0, color="black", linewidth=0.6)
        ax.set_title(f"{panel[0]}, {panel[1]} memory, simulated", fontsize=9)
        ax.set_ylabel("time saved, %", fontsize=8)
    axes[-1][0].set_xticks(range(len(kinds)), kinds, fontsize=8)
    axes[0][0].legend(title=f"fill order; line: least\nand most of {orders[-1]}", fontsize=7,
                      title_fontsize=7, loc="upper left", bbox_to_anchor=(1.01, 1))
    fig.tight_layout()
    return lab.picture(fig, "m3", ".svg")


def options():
    """The command line; --quick sets what is not given."""
    loads = (*ALONE, *LOCKSTEP, *PATTERNS, *SHAPES, *REAL)
    parser = lab.parser(__doc__, again=True)
    parser.add_argument("--quick", action="store_true",
                        help="used memory; stock, shuffle and auto; no real programs, 1 and 4 "
                             "threads, one repetition, unless other options say otherwise")
    parser.add_argument("--machines", nargs="+", default=list(MACHINES))
    parser.add_argument("--memories", nargs="+", choices=MEMORIES)
    parser.add_argument("--orders", nargs="+", choices=ORDERS + CLUSTERED, metavar="ORDER",
                        help=f"{', '.join(ORDERS)}, or shuffle:N, even:N with cluster_order N; "
                             "the summary is about the last (default: the four)")
    parser.add_argument("--loads", nargs="+", choices=loads, metavar="LOAD",
                        help=f"choose from: {', '.join(loads)}")
    parser.add_argument("--threads", nargs="+", type=int,
                        help="(default: 1 2 4 8 16; above 8 only loads in step)")
    parser.add_argument("--repeat", type=int, help="boots of stock, shuffle and auto (default: 3)")
    parser.add_argument("--mib", type=int, default=6, help="memload: MiB of a thread")
    parser.add_argument("--serial-mib", type=int, default=12,
                        help="memload after serial set-up: MiB of a thread (apart: 8 or 12)")
    parser.add_argument("--least-mib", type=int, default=24,
                        help="memload: least MiB of all threads together")
    parser.add_argument("--passes", type=int, default=1,
                        help="counted passes of memload and shapes")
    parser.add_argument("--misses", type=int, default=10,
                        help="misses that a core overlaps, as it has line fill buffers")
    parser.add_argument("--fresh", action="store_true", help="run guests again, too")
    args = parser.parse_args()
    quick = args.quick
    for name, usual, short in (
            ("memories", MEMORIES, ("used",)), ("orders", ORDERS, ("shuffle", "auto")),
            ("loads", loads, loads[:-len(REAL)]), ("threads", [1, 2, 4, 8, 16], [1, 4]),
            ("repeat", 3, 1)):
        if getattr(args, name) is None:
            setattr(args, name, short if quick else usual)
    args.orders = tuple(args.orders)
    return args


def run():
    """Command line."""
    args = options()
    lab.begin(args)
    ui.sh(ui.ROOT / "tools/mcube/dev/deps.sh", "bench", quiet=False)
    # All first boots come first: a run that is interrupted has figures for each cell.
    parts = dict.fromkeys((memory, part_of(memory, load))
                          for memory, load in itertools.product(args.memories, args.loads))
    cells = [(machine, memory, policy, part, i) for i in range(args.repeat)
             for machine, (memory, part), policy in itertools.product(
                 args.machines, parts, (*BASES, *args.orders))
             if not i or policy not in ONCE]
    steps = ui.Steps("bench-m3", [f"{len(cells)} guests, {args.jobs} at a time", "report"])
    for tool in TOOLS:
        lab.guest_tool(tool)
    steps(steps.names[0])
    with ThreadPoolExecutor(max(1, args.jobs)) as pool:
        rows = [r for got in pool.map(lambda c: guest(args, *c), cells) for r in got]
    steps("report")
    table = compare(rows, args.orders)
    groups = by_group(table, args.orders)
    boots = widest(rows, table)
    show(table, args.orders)
    show_groups(groups, args.orders)
    show_boots(boots)
    summary = summarize(table, args.orders)
    print(f"\nfill_order={args.orders[-1]} saves {summary['time_gain_mean']:.1%} of the time on "
          f"average, {summary['time_gain_max']:.1%} at most, {summary['time_gain_min']:.1%} at "
          f"least\nthe paper: {PAPER['mean']:.1%} on average, up to {PAPER['max']:.0%}, on a "
          "machine of its own\n")
    lab.verdicts(summary, bounds(LIMITS, summary, table))
    for key, least in bounds(GOALS, summary, table).items():
        met = "met" if summary[key] >= least else "MISSED"
        print(f"{key} {summary[key]:.4f}, at least {least}: {met}")
    picture = draw(groups, args.orders)
    path = lab.save("m3", {
        "kind": "simulated", "misses": args.misses,
        "machines": {m: Model(m).description for m in args.machines},
        "smp": CPUS, "mem": MEMORY, "aged_mib": AGED_MIB, "memload_mib": args.mib,
        "memload_serial_mib": args.serial_mib, "memload_least_mib": args.least_mib,
        "passes": args.passes, "repeat": args.repeat, "orders": args.orders,
        "qemu": lab.qemu_version(), "programs": REAL}, groups + table + boots, summary)
    print(f"\nwritten: {path}\n         {picture}")
    lab.finish(path, steps, args)
    return 0


if __name__ == "__main__":
    ui.main(run)
