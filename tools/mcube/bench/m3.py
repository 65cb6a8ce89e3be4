#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""What the M3 allocator does to DRAM: row conflicts and modelled time.

Memory-bound loads of 1, 2, 4 and 8 threads run on modelled machines. The benchmark
compares the stock buddy allocator with the mcube allocator under fill_order=paper and
fill_order=shuffle, on memory as a boot leaves it ("fresh") and on memory of which every
other page is in use ("aged"). Each combination of machine, memory and policy has a guest
of its own. The guest runs every load --repeat times, and the medians are compared.

    memload     tools/mcube/guest/memload.c: threads that fault their memory in
                side by side and then work on it, as stream and ramspeed do
    stress-ng   the stream stressor of stress-ng, a process per thread
    sysbench    the memory test of sysbench, reading and writing

time        modelled cycles: of the slowest thread (memload), or the mean over
            threads (real programs; their start and end are included)
conflicts   accesses to DRAM that had to close another row, per access
cost        share of the stock allocator's time that row conflicts cost (precharge and
            activate) and that accesses wait for a busy bank or bus: the most that a
            better placement can save
banks       memload: distinct banks among the pages that all threads and arrays work on
            at one time, as a share of what is possible

All figures are simulated; the machines are in tools/mcube/model/machines/.
Huge pages are off, because the mcube allocator serves single pages only.
"""

import argparse
import itertools
import statistics
from concurrent.futures import ThreadPoolExecutor

import lab  # first: it makes the other packages importable
from lab import ALLOC, Failure
from lib import ui
from lib.modelled import Model
from mcube_cmd.addrmap import Dim
from mcube_cmd.term import print_table
from qemu import Guest, image

CPUS = 8
MEMORY = "2G"
AGED_MIB = 1650
MACHINES = ("x5570", "sliced")
MEMORIES = ("fresh", "aged")
POLICIES = {"stock": "", "paper": "paper", "shuffle": "shuffle"}
# Share of time that the paper reports as saved for memory-intensive loads.
PAPER = {"mean": 0.397, "max": 0.85}
EVENTS = ("cycles", "instructions", "llc_misses", "dram_accesses", "row_hits", "row_empty",
          "row_conflicts", "bank_waits")
PERF = "perf stat -x, -o {out} -e " + ",".join(f"mcube_sim/{e}/" for e in EVENTS) + " -- "
SYSBENCH = ("sysbench memory --time=0 --threads={t} --memory-block-size=8M "
            "--memory-total-size={mib}M --memory-oper={op} --memory-access-mode=seq run")
REAL = {
    "stress-ng stream": "stress-ng -q --stream {t} --stream-ops 4 --stream-l3-size 2M "
                        "--stream-madvise nohugepage",
    "sysbench read": SYSBENCH.replace("{op}", "read"),
    "sysbench write": SYSBENCH.replace("{op}", "write"),
}


def file(load, threads, repeat):
    """Name of the file with the figures of a run."""
    return f"{load.replace(' ', '-')}.{threads}.{repeat}"


def script(args, memory, policy):
    """Script of a guest."""
    out = ["set -e", "echo never > /sys/kernel/mm/transparent_hugepage/enabled"]
    if memory == "aged":
        out += [f"/guest/mcube-pages age -m {AGED_MIB} > /tmp/aged 2>&1 &", "aged=$!",
                "while ! grep -q aged /tmp/aged; do sleep 0.2; done"]
    if POLICIES[policy]:
        out += [f"echo {POLICIES[policy]} > {ALLOC}/fill_order", f"echo 1 > {ALLOC}/enabled"]
    for repeat, threads in itertools.product(range(args.repeat), args.threads):
        for load in args.loads:
            path = f"/results/{file(load, threads, repeat)}"
            if load in REAL:
                out.append(PERF.format(out=path)
                           + REAL[load].format(t=threads, mib=16 * threads) + " > /tmp/log 2>&1"
                           " || { cat /tmp/log; exit 1; }")
            else:
                # With few threads each thread gets more memory: a working set that fits
                # in the cache would not reach DRAM.
                mib = max(args.mib, args.least_mib // threads)
                frames = f"-f {path}.frames " if not repeat else ""
                out.append(f"/guest/memload -t {threads} -m {mib} -r {args.passes} "
                           f"{frames}{load} > {path}")
        out.append(f"echo done {repeat + 1} of {args.repeat}, {threads} threads")
    out.append(f"grep . {ALLOC}/stats/* > /results/stats")
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


def spread(path, bank):
    """Distinct banks among the pages in use at one time, as a share of the possible banks."""
    arrays = [bank.values([int(x, 16) for x in line.split()])
              for line in path.read_text("utf-8").splitlines()]
    most = min(len(arrays), bank.nr)
    return statistics.fmean(len(set(group)) for group in zip(*arrays)) / most


def boot(args, model, name, memory, policy):
    """Run a guest; returns the folder with its figures."""
    vm = Guest(args.kernel or image(), smp=CPUS, mem=MEMORY, model=model, icount=True,
               programs=["perf", "stress-ng", "sysbench"])
    for tool in ("memload", "mcube-pages"):
        vm.root.file(lab.guest_tool(tool), f"/guest/{tool}")
    result = vm.run(script(args, memory, policy), name, 3600)
    if not result.ok:
        raise Failure(f"{name}: {result.why()}\n{result.output[-800:]}",
                      f"console: {result.console}")
    ui.say(f"{name}: {result.seconds:.0f} s")
    return result.results


def guest(args, machine, memory, policy):
    """Run a guest, or with --again take its last figures; returns the rows."""
    model = Model(machine)
    name = f"bench-m3-{machine}-{memory}-{policy}"
    if args.again:
        folder = ui.BUILD / "guest" / name / "results"
    else:
        folder = boot(args, model, name, memory, policy)
    penalty = sum(int(model.description[f"dram.{k}"]) for k in ("rp", "rcd"))
    bank = Dim(model.description["bank_map"])
    rows = []
    for load, threads in itertools.product(args.loads, args.threads):
        runs = [figures(folder / file(load, threads, i), load in REAL)
                for i in range(args.repeat)]
        times = [r["cycles"] / (threads if load in REAL else 1) for r in runs]
        shares = [r["row_conflicts"] / max(1, r["dram_accesses"]) for r in runs]
        # The cost of all threads together. No thread waits for a write-back, so only the
        # conflicts of the accesses count that a thread waits for: its misses.
        costs = [(share * r["llc_misses"] * penalty + r["bank_waits"]) / (t * threads)
                 for share, r, t in zip(shares, runs, times)]
        frames = folder / (file(load, threads, 0) + ".frames")
        rows.append({
            "machine": machine, "memory": memory, "policy": policy, "load": load,
            "threads": threads, "time": statistics.median(times),
            "time_spread": (max(times) - min(times)) / statistics.median(times),
            "conflicts": statistics.median(shares),
            "conflicts_spread": max(shares) - min(shares),
            "cost": statistics.median(costs),
            "dram_accesses": statistics.median(r["dram_accesses"] for r in runs),
            "bank_waits": statistics.median(r["bank_waits"] for r in runs),
            "banks": spread(frames, bank) if frames.is_file() else None})
    return rows


def compare(rows):
    """Gains over stock: a row per machine, memory, load and number of threads."""
    by = {(r["machine"], r["memory"], r["load"], r["threads"], r["policy"]): r for r in rows}
    out = []
    for (machine, memory, load, threads, policy), stock in by.items():
        if policy != "stock":
            continue
        row = {"machine": machine, "memory": memory, "load": load, "threads": threads,
               "conflicts_stock": stock["conflicts"], "banks_stock": stock["banks"],
               "cost_stock": stock["cost"], "spread": stock["time_spread"]}
        for order in ("paper", "shuffle"):
            r = by[machine, memory, load, threads, order]
            row |= {f"gain_{order}": 1 - r["time"] / stock["time"],
                    f"conflicts_{order}": r["conflicts"], f"banks_{order}": r["banks"],
                    f"cut_{order}": 1 - r["conflicts"] / stock["conflicts"]
                    if stock["conflicts"] else 0.0}
            row["spread"] = max(row["spread"], r["time_spread"])
        out.append(row)
    return out


def summarize(table):
    """Figures over all combinations, and for each machine and memory."""
    out = {}
    groups = {"": table}
    for r in table:
        groups.setdefault(f"{r['machine']}_{r['memory']}_", []).append(r)
    for prefix, rows in groups.items():
        for order, suffix in (("shuffle", ""), ("paper", "_seed_paper")):
            gains = [r[f"gain_{order}"] for r in rows]
            out |= {f"{prefix}time_gain_mean{suffix}": statistics.fmean(gains),
                    f"{prefix}time_gain_max{suffix}": max(gains),
                    f"{prefix}time_gain_min{suffix}": min(gains),
                    f"{prefix}row_conflict_cut_mean{suffix}":
                        statistics.fmean(r[f"cut_{order}"] for r in rows)}
        out |= {f"{prefix}cost_stock_mean": statistics.fmean(r["cost_stock"] for r in rows),
                f"{prefix}cost_stock_max": max(r["cost_stock"] for r in rows)}
    out["paper_time_gain_mean"], out["paper_time_gain_max"] = PAPER["mean"], PAPER["max"]
    return {k: round(v, 5) for k, v in out.items()}


def show(table):
    """Print the comparison."""
    percent = lambda x: "-" if x is None else f"{x:.1%}"  # noqa: E731
    for machine, memory in dict.fromkeys((r["machine"], r["memory"]) for r in table):
        print(f"\n{machine}, {memory} memory: simulated; stock, fill_order=paper, "
              "fill_order=shuffle; gain is time saved\n")
        body = []
        for r in table:
            if (r["machine"], r["memory"]) == (machine, memory):
                body.append([r["load"], r["threads"]] + [percent(r[k]) for k in (
                    "conflicts_stock", "conflicts_paper", "conflicts_shuffle", "banks_stock",
                    "banks_paper", "banks_shuffle", "cost_stock", "gain_paper", "gain_shuffle",
                    "spread")])
        print_table(
            ["load", "threads", "conflicts", "paper", "shuffle", "banks", "paper", "shuffle",
             "cost", "gain paper", "shuffle", "spread"], body, lead="  ")


def draw(table, threads):
    """Draw the time saved for each load, in a panel per machine and memory."""
    plt = lab.pyplot()
    panels = list(dict.fromkeys((r["machine"], r["memory"]) for r in table))
    loads = list(dict.fromkeys(r["load"] for r in table))
    fig, axes = plt.subplots(len(panels), 1, figsize=(10, 2.4 * len(panels)), sharex=True,
                             squeeze=False)
    width = 0.8 / (2 * len(threads))
    for ax, panel in zip(axes[:, 0], panels):
        for j, (order, n) in enumerate(itertools.product(("paper", "shuffle"), threads)):
            gain = [next(r[f"gain_{order}"] for r in table if (r["machine"], r["memory"]) == panel
                         and r["load"] == load and r["threads"] == n) for load in loads]
            shade = 0.35 + 0.6 * (threads.index(n) + 1) / len(threads)
            ax.bar([i + (j - len(threads) + 0.5) * width for i in range(len(loads))],
                   [100 * g for g in gain], width, label=f"{order}, {n}",
                   color=plt.get_cmap("Oranges" if order == "paper" else "Blues")(shade))
        ax.axhline(0, color="black", linewidth=0.6)
        ax.set_title(f"{panel[0]}, {panel[1]} memory")
        ax.set_ylabel("time saved, %")
    axes[-1][0].set_xticks(range(len(loads)), loads)
    axes[0][0].legend(title="fill order, threads", ncols=2, fontsize=7)
    path = lab.picture(fig, "m3")
    plt.close(fig)
    return path


def run():
    """Command line."""
    loads = ("copy", "triad", "read", "write", "random", *REAL)
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--machines", nargs="+", default=list(MACHINES))
    parser.add_argument("--memories", nargs="+", default=list(MEMORIES), choices=MEMORIES)
    parser.add_argument("--loads", nargs="+", default=list(loads), choices=loads)
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2, 4, 8])
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--mib", type=int, default=6, help="memload: MiB of a thread")
    parser.add_argument("--least-mib", type=int, default=24,
                        help="memload: least MiB of all threads together")
    parser.add_argument("--passes", type=int, default=1, help="memload: counted passes")
    parser.add_argument("--kernel", type=str, help="patched bzImage (default: build/test)")
    parser.add_argument("--jobs", type=int, default=ui.JOBS, help="guests at a time")
    parser.add_argument("--again", action="store_true",
                        help="boot no guests; report the figures of the last run")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    args = parser.parse_args()
    lab.begin(args)
    ui.sh(ui.ROOT / "tools/mcube/dev/deps.sh", "bench", quiet=False)
    cells = list(itertools.product(args.machines, args.memories, POLICIES))
    steps = ui.Steps("bench-m3", [f"{len(cells)} guests, {args.jobs} at a time", "report"])
    for tool in ("memload", "mcube-pages"):
        lab.guest_tool(tool)
    steps(steps.names[0])
    with ThreadPoolExecutor(max(1, args.jobs)) as pool:
        rows = [r for got in pool.map(lambda c: guest(args, *c), cells) for r in got]
    steps("report")
    table = compare(rows)
    show(table)
    summary = summarize(table)
    print("\ntime saved by fill_order=shuffle: "
          f"{summary['time_gain_mean']:.1%} on average, {summary['time_gain_max']:.1%} at most, "
          f"{summary['time_gain_min']:.1%} at least; row conflicts per access cut by "
          f"{summary['row_conflict_cut_mean']:.1%}\nthe paper: {PAPER['mean']:.1%} on average, up "
          f"to {PAPER['max']:.0%}, on a machine of its own")
    png = draw(table, args.threads)
    path = lab.save("m3", {
        "kind": "simulated", "machines": {m: Model(m).description for m in args.machines},
        "smp": CPUS, "mem": MEMORY, "aged_mib": AGED_MIB, "memload_mib": args.mib,
        "memload_least_mib": args.least_mib,
        "passes": args.passes, "repeat": args.repeat, "qemu": lab.qemu_version(),
        "programs": REAL}, table, summary)
    print(f"\nwritten: {path}\n         {png}")
    lab.finish(path, steps, args)
    return 0


if __name__ == "__main__":
    ui.main(run)
