# SPDX-License-Identifier: GPL-2.0
"""bench-rocs: the guests and their figures.

The script of a guest calls functions of tools/mcube/guest/rocs.sh, line by line. The figures
of a guest stay in build/guest/NAME/results with the options of its run, so that a later
report can use them.
"""

import json
from typing import NamedTuple

import lab  # first: it makes the other packages importable
from lab import Failure
from lib import modelled, ui
from lib.modelled import Model
from qemu import LOGS, Guest, image, kibibytes

PREFIX = "bench-rocs"
PROGRAMS = ("bash", "perf", "taskset", "dd", "od", "grep", "setsid")
MODULE = "drivers/mcube/rocs/mcube_rocs.ko"


class Counts(NamedTuple):
    """Counters of the modelled machine."""

    cycles: int
    instructions: int
    llc_refs: int
    llc_misses: int

    @property
    def mpki(self):
        """Misses of the last level in a thousand instructions."""
        return 1000 * self.llc_misses / self.instructions

    @property
    def cpi(self):
        """Cycles of an instruction."""
        return self.cycles / self.instructions


def total(rows):
    """The sum of several counts."""
    if not rows:
        raise Failure("a load printed no figures", "give it more iterations")
    return Counts(*(sum(x) for x in zip(*rows)))


def kib(machine):
    """Size of the last level in KiB."""
    return kibibytes(Model(machine).description["llc.size"])


def folder_of(name):
    """Folder of the figures of a guest."""
    return LOGS / f"{PREFIX}-{name}" / "results"


def boot(name, lines, options, timeout=3600, programs=(), files=(), drives=()):
    """Run a guest; the report reads its parameters from options."""
    pages = LOGS / f"{PREFIX}-{name}" / "pages"
    vm = Guest(options.get("kernel") or image(), smp=options.get("smp", 2), mem="1G",
               icount=True, model=Model(options["machine"], pages=pages),
               programs=(*PROGRAMS, *programs), drives=drives)
    for tool in ("rocsload", "tally"):
        vm.root.file(lab.guest_tool(tool), f"/guest/{tool}")
    module = ui.BUILD / "test" / MODULE
    if module.is_file():
        vm.root.file(module, "/guest/mcube_rocs.ko")
    for host, inside in ((ui.ROOT / "tools/mcube/guest/rocs.sh", "/guest/rocs.sh"), *files):
        vm.root.file(host, inside)
    script = "\n".join(["set -e", ". /guest/rocs.sh", "begin", *lines]) + "\n"
    result = vm.run(script, f"{PREFIX}-{name}", timeout)
    result.need(f"{PREFIX}-{name}")
    (result.results / "options.json").write_text(json.dumps(options), "utf-8")
    ui.say(f"{PREFIX}-{name}: {result.seconds:.0f} s")


def found(part):
    """Guests of a part whose figures are present: {name: options}."""
    out = {}
    for path in sorted(LOGS.glob(f"{PREFIX}-{part}-*/results/options.json")):
        name = path.parent.parent.name.removeprefix(f"{PREFIX}-")
        out[name] = json.loads(path.read_text("utf-8"))
    return out


def intervals(name):
    """The model's counts by page frame: [{frame: (refs, misses)}]."""
    return modelled.read_pages(folder_of(name).parent / "pages")


class Load(NamedTuple):
    """The output of rocsload or tally."""

    lines: list         # Counts of each line of the report
    skipped: int        # lines before the first of these
    end: tuple          # iterations, checksum


def read_load(path):
    """Parse the output of rocsload or tally."""
    lines, skipped, end = [], 0, None
    for line in path.read_text("utf-8").splitlines():
        word, *rest = line.split()
        if word.isdigit():
            lines.append(Counts(*map(int, rest)))
        elif word == "end":
            end = tuple(rest)
        else:
            skipped += 1
    return Load(lines, skipped, end)


def table(path):
    """A table of ROCS's debugfs: a dict for each line."""
    head, *lines = path.read_text("utf-8").splitlines()
    return [dict(zip(head.split(), line.split())) for line in lines]


class Point(NamedTuple):
    """A point of a search."""

    pages: int          # from the top of the stack that were in the partition
    score: int
    times: int          # how often it was measured


class Held(NamedTuple):
    """A load under ROCS, from its start to the end of a time of holding."""

    before: int         # lines of the report before the first state
    states: list        # (state, Counts of each line in that state)
    end: tuple          # iterations, checksum; the load has checked its result
    target: dict        # the last line of "targets"
    points: list        # Points, by pages
    stats: dict         # counters of ROCS

    def lines_in(self, state):
        """Counts of each line of all stays in a state, without the lines in which they began."""
        lines = [x for s, each in self.states if s == state for x in each[1:]]
        if not lines:
            raise Failure(f"ROCS was too short in the state '{state}'",
                          "look at the files *.marks")
        return lines

    def reached(self, state):
        """Whether the plan was ever in a state."""
        return any(s == state for s, _ in self.states)


def read_held(base):
    """Read the files of a call of held() in rocs.sh."""
    at = lambda kind: base.with_name(f"{base.name}.{kind}")  # noqa: E731
    load = read_load(at("load"))
    marks = [x.split() for x in at("marks").read_text("utf-8").splitlines()]
    marks = [(s, int(n) - load.skipped) for s, n in marks]
    states = [(s, load.lines[a:b]) for (s, a), (_, b) in zip(marks, marks[1:])]
    stats = {}
    for line in at("stats").read_text("utf-8").splitlines():
        key, _, value = line.rpartition("/")[2].partition(":")
        stats[key] = int(value)
    targets = table(at("targets"))
    points = [Point(int(p["index"]), int(p["score_1073741824"]), int(p["times"]))
              for p in table(at("search"))]
    return Held(marks[0][1], states, load.end, targets[-1] if targets else {}, sorted(points),
                stats)
