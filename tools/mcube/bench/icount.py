# SPDX-License-Identifier: GPL-2.0
"""Shared code of the benchmarks that count instructions.

Under QEMU's -icount shift=0 the guest's time stamp counter counts executed
instructions, one by one, whatever the load of the host. Each variant of a
benchmark runs on a machine of its own, with the same command line: a kernel
flavor, commands that switch mcube, and a program in the guest that prints
lines of a word and numbers (tools/mcube/guest/icount.h).

QEMU counts a rep string instruction once per iteration, hardware counts it once.
A rep instruction that handles a page would outweigh everything else, and ratios
would look better than they are. The figures therefore count it as one instruction.
"""

import statistics
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import lab  # first: it makes tools/mcube/dev importable
import kbuild
from lab import ALLOC, Failure
from lib import ui
from qemu import Guest, image

KIND = "instructions (simulated: QEMU TCG -icount shift=0)"


def switch_on(order):
    """Lines that switch the mcube allocator on with a fill order."""
    return f"{lab.SET_MAP}echo {order} > {ALLOC}/fill_order; echo 1 > {ALLOC}/enabled"


ON = switch_on("shuffle")


def parser(doc, rounds):
    """A command line with the options that these benchmarks share."""
    out = lab.parser(doc)
    out.add_argument("--pages", type=int, default=4096, help="pages per round")
    out.add_argument("--rounds", type=int, default=rounds, help="rounds of each kind")
    out.add_argument("--mem", default="2G", help="memory of the guest")
    out.add_argument("--base", type=Path, help="unpatched bzImage (default: build/base)")
    out.add_argument("--verify", action="store_true",
                     help="run everything twice and compare the counts")
    return out


def begin(job, tool, args):
    """Build what the guests need; returns the steps to announce."""
    lab.begin(args)
    lab.guest_tool(tool)
    if not args.base:
        kbuild.build("base", ("bzImage",))
    return ui.Steps(job, ["measure", *(["verify"] if args.verify else []), "report"])


def boot(run, tool, flavor, script, args, prepare=None, **machine):
    """Boot a machine and let it run a script; prepare(guest) puts more into it.

    Returns {word: [[number, ...], ...]} of the lines that the guest prints, and under "stat"
    the counters of mcube at the end. Further keywords are options of the machine.
    """
    kernel = {"base": args.base, "test": args.kernel}[flavor] or image(flavor)
    guest = Guest(kernel, smp=1, mem=args.mem, icount=True,
                  append="nowatchdog random.trust_cpu=on", **machine)
    guest.root.file(lab.guest_tool(tool), f"/guest/{tool}")
    if prepare:
        prepare(guest)
    result = guest.run(f"set -e\n{script}\nfor d in alloc srm; do\n"
                       f"[ ! -d {ALLOC}/../$d/stats ] || grep . {ALLOC}/../$d/stats/* |"
                       " sed \"s|.*/|stat $d.|; s|:| |\"\ndone\n", run, 900)
    result.need(run)
    out = {"stat": {}}
    for line in result.output.splitlines():
        word, *rest = line.split()
        if word == "stat":
            out["stat"][rest[0]] = int(rest[1])
        else:
            out.setdefault(word, []).append([int(x) for x in rest])
    return out


def collect(names, measure, args, step):
    """({name: measure(name, "")}, with --verify {name: measure(name, "-again")} or None)."""
    with ThreadPoolExecutor(max(1, args.jobs)) as pool:
        step("measure")
        data = dict(zip(names, pool.map(lambda n: measure(n, ""), names)))
        again = None
        if args.verify:
            step("verify")
            again = dict(zip(names, pool.map(lambda n: measure(n, "-again"), names)))
    return data, again


def calibrate(data):
    """Count of a loop of 1000000 instructions."""
    got = min(x for x, in data["loop"])
    if not 1_000_000 <= got <= 1_000_100:
        raise Failure(f"a loop of 1000000 instructions counts as {got}",
                      "the counter needs QEMU's -icount shift=0")
    return got


def beyond_one(data, word):
    """Number of instructions that handling a page counts beyond one."""
    count = min(x for x, in data[word])
    if not 500 < count <= 4100:
        raise Failure(f"'{word}' over a page counts as {count}")
    return count


def spread(name, per, extra=0):
    """Keys and values of a row: median, minimum, mean, spread over rounds.

    per holds the instructions per page of each round; the figures leave extra out.
    """
    per = [v - extra for v in per]
    median = round(statistics.median(per), 2)
    return {name: median,
            f"{name}_counted": round(median + extra, 2),
            f"{name}_min": round(min(per), 2),
            f"{name}_spread": round(max(per) - min(per), 2),
            f"{name}_mean": round(statistics.fmean(per), 2)}


def parameters(args, data):
    """Parameters that every result states."""
    return {"kind": KIND, "pages": args.pages, "rounds": args.rounds, "mem": args.mem,
            "smp": 1, "color_map": lab.COLOR_MAP, "bank_map": lab.BANK_MAP,
            "qemu": lab.qemu_version(), "loop_of_1000000": calibrate(data)}


def finish(name, result, png, steps, args):
    """Write parameters, rows and summary."""
    path = lab.save(name, *result)
    print(f"\nwritten: {path}\n         {png}\n         {lab.RESULTS / 'report.md'}")
    lab.finish(path, steps, args)
