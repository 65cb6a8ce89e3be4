# SPDX-License-Identifier: GPL-2.0
"""bench-srm, smaller parts: one question and one table for each part.

A part is a list of situations. In each situation a program fills the page cache under a
policy. Then a pass of a program is counted alone, and the victims are counted beside one or
more copies of the program.

extra misses    misses of a victim beside the programs, minus its misses alone with all
                policies off
cut             share of the extra misses that is avoided, against the same programs with
                all policies off
pass            modelled cycles of a pass of the program, alone
placed, missed  pages that got a frame of their color, and pages that got another color
not             pages that the policy did not cover
"""

import functools
import statistics
from typing import NamedTuple

from lib.modelled import Model
from mcube_cmd.term import print_table
from . import guest

TL = (16, 32, 64, 128, 256, 512)
DEFAULT = 256
SHARES = (25, 50)
# Memory of the guests. The smallest holds the trees, but its reserved colors do not.
MEMORY = ("1G", "2G", "3G")


class Situation(NamedTuple):
    """A policy and programs that a guest measures once per repetition."""

    label: str
    policy: str             # off, or Tl in pages with an optional share of reserved colors
    fill: str               # program whose accesses place the files
    program: str            # program beside the victims
    copies: int = 1         # copies of the program, each on a CPU of its own

    def name(self):
        """Name of the situation in file names."""
        policy = self.policy.replace(" ", "-")
        return f"{policy}.{self.fill}.{self.program}.{self.copies}"


SITUATIONS = {
    "tl": [Situation("off", "off", "grep", "grep")]
    + [Situation(f"Tl {t}", f"{t} 0", "grep", "grep") for t in TL]
    + [Situation(f"Tl {DEFAULT}, 1/16 reserved", str(DEFAULT), "grep", "grep")],
    "memory": [Situation(k, p, "diff", "diff")
               for k, p in (("off", "off"), ("srm", str(DEFAULT)))],
    "random": [Situation(k, p, "fio-mmap", "random")
               for k, p in (("off", "off"), ("srm", str(DEFAULT)))],
    "greps": [Situation(f"{k}, {n}", p, "grep", "grep", n) for n in (1, 2, 3)
              for k, p in (("off", "off"), ("srm", str(DEFAULT)))],
    "change": [Situation(f"{k}, in by {f}", p, f, "diff") for f in ("diff", "grep")
               for k, p in (("off", "off"), ("srm", str(DEFAULT)))],
    "reuse": [Situation(f"{k}, {s} %", p, f"scan-{s}", f"scan-{s}") for s in SHARES
              for k, p in (("off", "off"), *((f"Tl {t}", str(t)) for t in (16, 64, DEFAULT)))],
    "database": [Situation(k, p, "table", "table")
                 for k, p in (("off", "off"), ("srm", str(DEFAULT)))],
}
# Parts without the default victims. A file that is read again only shows its own cost.
VICTIMS = {"reuse": [], "database": ["join"]}


def script(part, victims, kib, work, i):
    """Lines of the script of the guest of repetition i."""
    lines = [f"WORK={work}"]
    if part == "reuse":
        lines += [f"head -c {kib * 4 // 3 * s // 100 << 10} /data/big > /data/scan-{s}"
                  for s in SHARES]
    if part == "database":
        lines += [f"pairs {kib * 1024 // guest.PAIR_BYTES}"]
    lines += ["policy off"] + [f"victim {v} {kib} /results/alone.{v}.{i}" for v in victims]
    # Situations without a policy come first, for the reason in boot_each().
    for s in sorted(SITUATIONS[part], key=lambda s: s.policy != "off"):
        base = f"/results/{s.name()}"
        lines += [f"policy {s.policy}", f"stats {base}.before", f"refill {s.fill}",
                  f"stats {base}.after"]
        lines += [f"cost {s.program} {base}.cost"] if not i else []
        lines += guest.beside(s.program, victims, kib, base, i, s.copies)
        lines += [f"echo {part}: {s.label}, done"]
    return lines


def run_guest(part, args, machine, fs, memory):
    """Run a guest for each repetition."""
    kib = guest.kib(Model(machine))
    victims = VICTIMS.get(part, args.victims)
    guest.boot_each(f"{part}-{machine}-{fs}-{memory}",
                    functools.partial(script, part, victims, kib, args.work),
                    {"machine": machine, "fs": fs, "victims": victims,
                     "repeat": args.repeat, "kib": kib, "memory": memory,
                     "work": args.work},
                    fs=fs, kernel=args.kernel, model=Model(machine), icount=True,
                    mem=memory, smp=1 + max(s.copies for s in SITUATIONS[part]))


def guests(part, args):
    """Jobs: one for each machine and size of memory, on the first of the file systems."""
    sizes = MEMORY if part == "memory" else (guest.MEMORY,)
    return [functools.partial(run_guest, part, args, m, args.fs[0], size)
            for m in args.machine for size in sizes]


def rows_of(part, name, options):
    """Rows of a guest."""
    folder, repeat, rows = guest.folder_of(name), options["repeat"], []
    costs, extras = {}, {}
    for s in SITUATIONS[part]:
        key = (s.fill, s.program, s.copies)
        cost = guest.counts(folder / f"{s.name()}.cost")
        off = costs.setdefault(key, cost)
        row = {"part": part, "machine": options["machine"], "fs": options["fs"],
               "situation": s.label if part != "memory" else f"{s.label}, {options['memory']}",
               "cost": cost, "loss": cost["cycles"] / off["cycles"] - 1,
               "pages": guest.pages(folder, s.name()), "victims": {}}
        for v in options["victims"]:
            alone = guest.repeated(folder, f"alone.{v}", repeat)
            beside = guest.repeated(folder, f"{s.name()}.{v}", repeat)
            extra = beside["llc_misses"]["median"] - alone["llc_misses"]["median"]
            row["victims"][v] = {
                "extra": extra, "counts": beside,
                "slowdown": beside["cycles"]["median"] / alone["cycles"]["median"]}
        if options["victims"]:
            for what in ("extra", "slowdown"):
                row[what] = statistics.fmean(x[what] for x in row["victims"].values())
            row["cut"] = 1 - row["extra"] / extras.setdefault(key, row["extra"])
        rows.append(row)
    return rows


def show(part, title, rows):
    """Print a table for each machine and file system."""
    for machine, fs in dict.fromkeys((r["machine"], r["fs"]) for r in rows):
        print(f"\n{part}: {title}\n{machine}, {fs}: simulated, means over victims; a pass is "
              "that of the program alone, in cycles\n")
        body, head = [], ["situation"]
        with_victims = "extra" in rows[0]
        if with_victims:
            head += ["extra misses", "cut", "slowdown"]
        head += ["pass, 10^6", "loss", "its misses", "placed", "missed", "not"]
        for r in rows:
            if (r["machine"], r["fs"]) != (machine, fs):
                continue
            line = [r["situation"]]
            if with_victims:
                line += [f"{r['extra']:,.0f}", f"{r['cut']:.0%}", f"{r['slowdown']:.3f}"]
            body.append(line + [f"{r['cost']['cycles'] / 1e6:.1f}", f"{r['loss']:+.1%}",
                                f"{r['cost']['llc_misses']:,}",
                                *(f"{r['pages'][k]:,}" for k in ("placed", "missed",
                                                                 "uncovered"))])
        print_table(head, body, lead="  ")


def summarize(part, rows):
    """Keys of the summary."""
    if part in ("reuse", "random"):
        return {f"{part}_loss": max(r["loss"] for r in rows
                                    if r["situation"].startswith(("srm", f"Tl {DEFAULT},")))}
    out = {}
    for r in rows:
        if "off" not in r["situation"]:
            key = r["situation"].lower().replace(", ", "_").replace(" ", "_").replace("/", "_")
            out[f"{part}_{r['machine']}_{key}_cut"] = r["cut"]
    return out
