# SPDX-License-Identifier: GPL-2.0
"""Demo part: where the pages of real processes lie.

Two copies of each program run at once, on CPUs 0 and 1, under three allocators in
turn: the stock buddy allocator (the mcube allocator switched off), the mcube
allocator with containers filled in the order of the M3 paper, and the mcube
allocator with shuffled containers, its default. Then one program runs under a
color hint and under a bank hint. The demo records for each process the frames of
its anonymous page faults in the order of the faults, and the frames that it holds
when it exits.

The map is set by hand, because QEMU's CPUID describes no real cache. Memory is
that of a machine just booted. The last round ages memory first: a process touches
most of it and frees every other page at random.
"""

import re
import statistics

import lab
from lab import ALLOC, MAP, Failure
from mcube_cmd.addrmap import Map, run_lengths
from mcube_cmd.term import EVEN, SHADES, bar, print_table

NAME = "placement"
TITLE = "placement: colors and banks of real processes' pages"
MACHINE = {"smp": 2, "mem": "1G", "programs": ("sort", "xz", "perl", "stress-ng")}

POLICIES = {
    "off": ("stock buddy", "echo 0 > {a}/enabled"),
    "paper": ("M3 fill_order=paper", "echo 0 > {a}/enabled; "
              "echo paper > {a}/fill_order; echo 1 > {a}/enabled"),
    "shuffle": ("M3 fill_order=shuffle", "echo 0 > {a}/enabled; "
                "echo shuffle > {a}/fill_order; echo 1 > {a}/enabled"),
}
PROGRAMS = {
    "sort": "sort --parallel=1 -S 24M /tmp/lines -o /dev/null",
    "xz": "xz -T1 -1 -c /tmp/lines",
    "perl": "perl -e 'my %h; $h{$_ * 2654435761 % 4294967296} = $_ for 1..20000'",
    "python3": "python3 -S -E /guest/work.py",
    "stress-ng": "stress-ng --quiet --vm 1 --vm-bytes 16m --vm-ops 2 --vm-method write64",
}
PYTHON = """import os
rows = [{"key": i * 2654435761 % 4294967296, "text": str(i)} for i in range(12000)]
rows.sort(key=lambda r: r["key"])
os._exit(0)
"""
HINTS = ("color=5", "bank=9")
HINTED_PROGRAM = "sort"
LOCKSTEP_ROUNDS, LOCKSTEP_PAGES = 8, 256
AGED_PROGRAM = "sort"
SHOWN = 1024        # faults in the pictures
GROUP = 32          # faults per column of the pictures


def machine():
    """Options of the guest."""
    return MACHINE


def prepare(root):
    """Put programs and their input into the guest."""
    root.file(lab.guest_tool("mcube-pages"), "/guest/mcube-pages")
    root.python()
    root.text("guest/work.py", PYTHON)


def script():
    """Script of the guest."""
    lines = ["set -e", lab.SET_MAP, "mkdir -p /results/map",
             f"for f in {MAP}/*; do cat $f > /results/map/${{f##*/}}; done",
             "perl -e 'srand 1; printf \"%08x %d\\n\", rand 2**32, $_ for 1..60000' "
             "> /tmp/lines; sync; echo 3 > /proc/sys/vm/drop_caches",
             "show() { echo \"    $*\"; }"]

    def one(policy, name, prefix=""):
        lines.append(f"/guest/mcube-pages run -c 2 -m 8192 -- {PROGRAMS[name]} "
                     f"> /results/{prefix}{policy}.{name}")

    for policy, (title, switch) in POLICIES.items():
        switch = switch.format(a=ALLOC)
        lines += [f"show '# cd {ALLOC}; {switch.replace(ALLOC + '/', '')}'", switch]
        for name in PROGRAMS:
            lines.append(f"show '{title}: {name}'")
            one(policy, name)
        lines.append(f"show '{title}: two processes in lockstep'")
        fresh = "" if policy == "off" else f"-f {ALLOC}/enabled"
        lines.append(f"for i in $(seq {LOCKSTEP_ROUNDS}); do /guest/mcube-pages lockstep "
                     f"-n {LOCKSTEP_PAGES} {fresh}; done > /results/{policy}.lockstep")
    for hint in HINTS:
        lines.append(f"show 'M3 fill_order=shuffle, hint {hint}: {HINTED_PROGRAM}'")
        lines.append(f"(echo {hint} > /sys/kernel/debug/mcube/hint")
        one("hint", HINTED_PROGRAM, f"{hint}.")
        lines.append(")")
    lines += [f"echo 0 > {ALLOC}/enabled", "show 'ageing memory'",
              "/guest/mcube-pages age -m 640 > /tmp/aged & ager=$!",
              "while ! grep -q aged /tmp/aged; do sleep 0.2; done",
              f"cat {ALLOC}/stats/fallback > /results/fallback"]
    for policy, (title, switch) in POLICIES.items():
        lines += [switch.format(a=ALLOC), f"show 'aged, {title}: {AGED_PROGRAM}'"]
        one(policy, AGED_PROGRAM, "aged.")
    lines += [f"cat {ALLOC}/stats/fallback >> /results/fallback",
              "kill $ager", f"echo 0 > {ALLOC}/enabled"]
    return "\n".join(lines) + "\n"


class Process:
    """Frames of a process: in fault order, and as runs of frames in virtual order."""

    def __init__(self, pid, name):
        self.pid, self.name, self.faults, self.runs = pid, name, [], []


def read(path):
    """The two processes with the most faults in the output of mcube-pages."""
    procs = []
    into = None
    for line in path.read_text("utf-8").splitlines():
        word, *rest = line.split()
        if word == "process":
            procs.append(Process(int(rest[0]), rest[2] if len(rest) > 2 else "?"))
        elif word in ("faults", "pages"):
            into = word
        elif into == "faults":
            procs[-1].faults += [int(x, 16) for x in line.split()]
        else:
            for x in line.split():
                pfn, n = x.split("+")
                procs[-1].runs.append((int(pfn, 16), int(n)))
    procs.sort(key=lambda p: -len(p.faults))
    if len(procs) < 2 or len(procs[1].faults) < 128:
        raise Failure(f"{path.name}: fewer than two processes with 128 faults",
                      "look at the guest's output in build/guest/demo-placement/")
    return sorted(procs[:2], key=lambda p: p.pid)


class View:
    """Colors and banks of frames by the address map in force."""

    def __init__(self, folder):
        text = {f.name: f.read_text("utf-8").strip() for f in folder.iterdir()}
        self.text = text
        self.dim = dict(Map(text["color_map"], text["bank_map"]).dims())
        self.nr = {kind: dim.nr for kind, dim in self.dim.items()}

    def values(self, kind, frames):
        """Colors or banks of frames."""
        return self.dim[kind].values(frames)

    def meets(self, a, b):
        """Share of steps in which both sequences name the same bank."""
        pairs = list(zip(self.values("bank", a), self.values("bank", b)))
        return sum(x == y for x, y in pairs) / len(pairs)

    def measures(self, procs):
        """Row of numbers for the processes of a run."""
        lengths = [n for p in procs for n in run_lengths(p.faults)]
        row = {"faults": sum(len(p.faults) for p in procs),
               "runs_mean": statistics.fmean(lengths), "runs_max": max(lengths),
               "held_runs_mean": statistics.fmean(
                   [n for p in procs for _, n in p.runs] or [0])}
        for kind in ("color", "bank"):
            for n in (32, 128):
                row[f"{kind}s_{n}"] = statistics.fmean(
                    len(set(self.values(kind, p.faults[:n]))) for p in procs)
        row["copies_meet"] = self.meets(procs[0].faults, procs[1].faults)
        return row


def show_map(view):
    """Print what the colors and banks in the tables mean."""
    print(f"\nmap ({view.text.get('source', '?')}; QEMU shows no real cache, so it is set "
          f"by hand):\n  {view.nr['color']} colors: masks {view.text['color_map']}\n"
          f"  {view.nr['bank']} banks:  masks {view.text['bank_map']}")


def show_heat(view, runs):
    """Print the colors and banks of the first 128 faults of each process."""
    print("\nColors and banks of the first 128 anonymous page faults of each process, two "
          "copies at once.\nOne character per color or bank: ' ' no page, "
          f"'{SHADES[EVEN]}' an even share, '@' 9/4 of it or more.\n"
          "Well spread pages give an even line. Runs: neighbouring frames in consecutive "
          "faults,\nwhole life.\n")
    nr_colors, nr_banks = view.nr["color"], view.nr["bank"]
    print(f"  {'':18}  {'colors'.ljust(nr_colors)}   {'banks'.ljust(nr_banks)}   runs of frames")
    print(f"  {'':18}  {'0'.ljust(nr_colors - 2)}{nr_colors - 1}   "
          f"{'0'.ljust(nr_banks - 2)}{nr_banks - 1}    mean  longest")
    for name in PROGRAMS:
        for policy in POLICIES:
            for i, p in enumerate(runs[policy][name]):
                lengths = run_lengths(p.faults)
                lead = name if policy == "off" and not i else ""
                first = p.faults[:128]
                print(f"  {lead:10}{policy if not i else '':8} "
                      f"|{bar(view.values('color', first), view.nr['color'])}| "
                      f"|{bar(view.values('bank', first), view.nr['bank'])}| "
                      f"{statistics.fmean(lengths):6.1f} {max(lengths):8}")
        print()


def show_hints(view, hinted):
    """Print colors and banks of the processes under a hint."""
    print(f"The same for {HINTED_PROGRAM} under a hint (/sys/kernel/debug/mcube/hint, inherited "
          "by children):\nthe mcube allocator hands out one color or one bank only.\n")
    for hint, procs in hinted.items():
        for i, p in enumerate(procs):
            first = p.faults[:128]
            print(f"  {hint if not i else '':18} "
                  f"|{bar(view.values('color', first), view.nr['color'])}| "
                  f"|{bar(view.values('bank', first), view.nr['bank'])}|")
    print()


def show_steps(view, runs, name="sort", first=128, steps=28):
    """Print the bank of each fault, the policies side by side."""
    print(f"Banks of faults {first + 1} to {first + steps} of {name}, one column per fault. "
          "The stock allocator walks through\nneighbouring frames, bank after bank; the "
          "paper's order keeps to a few banks for long; shuffled,\npages that are touched "
          "one after the other are spread over all banks.\n")
    columns = [view.values("bank", runs[p][name][0].faults[first:first + steps])
               for p in POLICIES]
    print("      " + "   ".join(p.ljust(steps) for p in POLICIES).rstrip())
    for bank in range(view.nr["bank"]):
        print(f"   {bank:2} " + " | ".join(
            "".join("#" if b == bank else "." for b in col) for col in columns))


def show_summary(view, rows, summary):
    """Print the closing tables."""
    print("\nsummary, means over the processes; distinct colors and banks in the first 32 and "
          "128 faults\n")
    body = []
    for memory, prefix in (("booted", ""), ("aged", "aged_")):
        for policy in POLICIES:
            s = summary[prefix + policy]
            body.append([memory, policy, f"{s['runs_mean']:.2f}", s["runs_max"]]
                        + [f"{s[k]:.1f}" for k in ("colors_32", "colors_128", "banks_32",
                                                   "banks_128")])
    print_table(
        ["memory", "policy", "runs mean", "max", "colors/32", "/128", "banks/32", "/128"],
        body, 2, lead="  ")
    print(f"\n  aged: {AGED_PROGRAM} only, after a process touched most of memory and freed every "
          f"other page;\n  the mcube allocator had no page for {rows[-1]['fallback']} requests.")
    print(f"""
two processes on two CPUs, one fault each in turn, M3 with fresh containers each time: how
often both pages lie in the same bank (chance: {1 / view.nr['bank']:.1%}), and what the first 32
faults of each cover
""")
    print_table(
        ["policy", "same bank", "colors/32", "banks/32"],
        [[p, f"{summary[p]['lockstep_meets']:.1%}", f"{summary[p]['lockstep_colors_32']:.1f}",
          f"{summary[p]['lockstep_banks_32']:.1f}"] for p in POLICIES], lead="  ")
    print("\n  A container filled in the paper's order gives its frames in an order in which "
          "only the highest\n  address bits differ at first, the same for every CPU; "
          "shuffled, each container has its own.")


def draw(view, runs, kind):
    """Draw how often each color or bank comes up in every 32 faults."""
    plt = lab.pyplot()
    fig, axes = plt.subplots(len(PROGRAMS), len(POLICIES), sharex="col", sharey=True,
                             figsize=(10, 1.6 * len(PROGRAMS)), squeeze=False)
    nr = view.nr[kind]
    for i, name in enumerate(PROGRAMS):
        for j, policy in enumerate(POLICIES):
            values = view.values(kind, runs[policy][name][0].faults[:SHOWN])
            groups = [values[g:g + GROUP] for g in range(0, len(values), GROUP)]
            grid = [[g.count(v) * nr / GROUP for g in groups] for v in range(nr)]
            ax = axes[i][j]
            ax.imshow(grid, aspect="auto", origin="lower", cmap="magma", vmin=0, vmax=4,
                      interpolation="nearest", extent=(0, len(values), -0.5, nr - 0.5))
            ax.set_xlim(0, SHOWN)
            if not i:
                ax.set_title(POLICIES[policy][0])
            if not j:
                ax.set_ylabel(f"{name}\n{kind}")
            if i == len(PROGRAMS) - 1:
                ax.set_xlabel("anonymous page fault")
    fig.suptitle(f"{kind}s per {GROUP} faults (dark: none, bright: four times its share)",
                 y=0.94)
    path = lab.picture(fig, f"demo-{NAME}-{kind}s")
    plt.close(fig)
    return path


def draw_lockstep(view, steps, summary):
    """Draw the banks of two processes in lockstep, and how often both use one bank."""
    plt = lab.pyplot()
    fig, axes = plt.subplots(1, len(POLICIES), figsize=(10, 2.8), sharey=True)
    for ax, policy in zip(axes, POLICIES):
        first = steps[policy][:64]
        a, b = (view.values("bank", [s[n] for s in first]) for n in (0, 1))
        ax.plot(a, "o", ms=4, mfc="none", color="#4477aa", label="CPU 0")
        ax.plot(b, "x", ms=4, color="#cc6677", label="CPU 1")
        ax.set_title(f"{POLICIES[policy][0]}\nsame bank in "
                     f"{summary[policy]['lockstep_meets']:.0%} of steps")
        ax.set_xlabel("step")
    axes[0].set_ylabel("bank")
    axes[-1].legend(loc="upper right", framealpha=0.9)
    path = lab.picture(fig, f"demo-{NAME}-lockstep")
    plt.close(fig)
    return path


def report(result):
    """Read the guest's files, print tables, draw pictures."""
    folder = result.results
    view = View(folder / "map")
    runs = {p: {n: read(folder / f"{p}.{n}") for n in PROGRAMS} for p in POLICIES}
    steps = {p: [(int(a, 16), int(b, 16)) for a, b in re.findall(
        r"^step (\w+) (\w+)$", (folder / f"{p}.lockstep").read_text("utf-8"), re.M)]
        for p in POLICIES}
    rows, summary = [], {}
    for policy in POLICIES:
        mine = [{"memory": "booted", "policy": policy, "program": n}
                | view.measures(runs[policy][n]) for n in PROGRAMS]
        rows += mine
        summary[policy] = {k: (max if k == "runs_max" else statistics.fmean)(
            [r[k] for r in mine]) for k in mine[0]
            if k not in ("memory", "policy", "program", "faults")}
        summary[policy]["lockstep_meets"] = view.meets(*zip(*steps[policy]))
        for kind in ("color", "bank"):
            summary[policy][f"lockstep_{kind}s_32"] = statistics.fmean(
                len(set(view.values(kind, [x[cpu] for x in steps[policy][i:i + 32]])))
                for i in range(0, len(steps[policy]), LOCKSTEP_PAGES) for cpu in (0, 1))
    for policy in POLICIES:
        row = {"memory": "aged", "policy": policy, "program": AGED_PROGRAM} | view.measures(
            read(folder / f"aged.{policy}.{AGED_PROGRAM}"))
        rows.append(row)
        summary[f"aged_{policy}"] = {k: v for k, v in row.items() if isinstance(v, (int, float))}
    hinted = {h: read(folder / f"{h}.hint.{HINTED_PROGRAM}") for h in HINTS}
    for hint, procs in hinted.items():
        kind, wish = hint.split("=")
        hits = [v == int(wish) for p in procs for v in view.values(kind, p.faults)]
        rows.insert(-1, {"memory": "booted", "policy": hint, "program": HINTED_PROGRAM,
                         "followed": sum(hits) / len(hits)} | view.measures(procs))
        summary[f"hint_{kind}_followed"] = sum(hits) / len(hits)
    summary["chance"] = 1 / view.nr["bank"]
    before, after = map(int, (folder / "fallback").read_text("utf-8").split())
    rows[-1]["fallback"] = after - before
    show_map(view)
    show_heat(view, runs)
    show_hints(view, hinted)
    show_steps(view, runs)
    show_summary(view, rows, summary)
    pictures = [draw(view, runs, "color"), draw(view, runs, "bank"),
                draw_lockstep(view, steps, summary)]
    return {"parameters": {"map": view.text, "programs": PROGRAMS, "machine": {
                k: v for k, v in MACHINE.items() if k != "programs"},
                "policies": {k: v[0] for k, v in POLICIES.items()},
                "kind": "page placement, measured in the guest"},
            "rows": rows, "summary": summary, "pictures": [str(p) for p in pictures]}
