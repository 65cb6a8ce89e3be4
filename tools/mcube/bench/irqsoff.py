#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""The longest time that interrupts are off, in instructions.

Programs in a guest read files while the kernel's irqsoff tracer keeps the longest
section with interrupts off. Variants, each on machines of its own:

    stock   nothing switched on
    alloc   the mcube allocator on
    srm     SRM-buffer on as well

Free memory is as a boot leaves it ("fresh"), or in pieces: every other page is in use
("pieces"). In pieces no block becomes a container, and SRM-buffer searches the lists of
the buddy allocator for each page. Loads:

    stream  read() and readahead() of a long file on ext4, a hole, and write()
    device  read() of a block device, whose pages are not movable

The machines run under QEMU's -icount shift=0, so that a nanosecond of the guest is an
instruction, whatever the load of the host. The kernel is the kernel of the tests with
the tracer built in, which makes each section with interrupts off longer. The tracer has a
resolution of 1000 instructions. "where" is the section's first and last function.
"""

import itertools
import re
from concurrent.futures import ThreadPoolExecutor

import icount  # first: it makes the other packages importable
import guests
import kbuild
import lab
from lab import Failure
from lib import ui
from mcube_cmd.term import print_table
from qemu import Guest, image

SRM = "/sys/kernel/mm/mcube/srm"
TRACING = "/sys/kernel/tracing"
FLAVOR = "irqsoff"
VARIANTS = {"stock": "", "alloc": icount.ON, "srm": f"{icount.ON}\necho 1 > {SRM}/enabled"}
MEMORIES = ("fresh", "pieces")
LOADS = {
    "stream": "/guest/filecost -n {pages} -w 0 -r {rounds} /mnt > /dev/null",
    "device": "dd if=/dev/vda of=/dev/null bs=64k count={blocks} 2> /dev/null",
}
KIND = "instructions (simulated: QEMU TCG -icount shift=0), of a kernel with a tracer"


def script(variant, memory, args):
    """Script of a guest."""
    out = ["set -e", "mkdir /mnt", "mount -t ext4 -o noatime,noinit_itable /dev/vda /mnt"]
    if memory == "pieces":
        out += [f"/guest/mcube-pages age -m {args.aged_mib} > /tmp/aged 2>&1 &", "aged=$!",
                "while ! grep -q aged /tmp/aged; do sleep 0.2; done"]
    out += [VARIANTS[variant], "sleep 3", f"echo irqsoff > {TRACING}/current_tracer"]
    for load, command in LOADS.items():
        command = command.format(pages=args.pages, rounds=args.rounds, blocks=args.pages // 16)
        out += [f"echo 0 > {TRACING}/tracing_max_latency", command,
                f"echo max {load} $(cat {TRACING}/tracing_max_latency)",
                f"echo where {load} $(sed -n 's/^# *=> [a-z]* at: *//p' {TRACING}/trace)"]
    out.append(f"echo nop > {TRACING}/current_tracer")
    if memory == "pieces":
        out += ["kill $aged", "wait $aged || true"]
    return "\n".join(out) + "\n"


def measure(variant, memory, args):
    """Boot a machine; returns a row for each load."""
    name = f"bench-irqsoff-{variant}-{memory}"
    disk = guests.disk(name)
    guest = Guest(args.kernel or image(FLAVOR), smp=1, mem=args.mem, icount=True, drives=[disk],
                  append="nowatchdog random.trust_cpu=on")
    for tool in ("filecost", "mcube-pages"):
        guest.root.file(lab.guest_tool(tool), f"/guest/{tool}")
    result = guest.run(script(variant, memory, args), name, 1800)
    disk.unlink()
    result.need(name)
    longest = dict(re.findall(r"^max (\w+) (\d+)$", result.output, re.M))
    where = dict(re.findall(r"^where (\w+) (.*)$", result.output, re.M))
    if set(longest) != set(LOADS):
        raise Failure(f"{name}: loads are missing in the guest's output\n{result.output[-800:]}")
    return [{"variant": variant, "memory": memory, "load": load,
             "longest": 1000 * int(longest[load]), "where": where.get(load, "")}
            for load in LOADS]


def summarize(rows):
    """The longest section of each variant, and its ratio to stock."""
    longest = {v: max(r["longest"] for r in rows if r["variant"] == v) for v in VARIANTS}
    return {f"{v}_longest": n for v, n in longest.items()} | {
        f"{v}_ratio": round(n / longest["stock"], 3) for v, n in longest.items() if v != "stock"}


def show(rows):
    """Print the table."""
    print("\nlongest section with interrupts off, in thousands of instructions\n")
    print_table(["memory", "load", "variant", "longest", "where"],
                [[r["memory"], r["load"], r["variant"], f"{r['longest'] // 1000}",
                  r["where"][:60]] for r in rows])


def draw(rows):
    """Draw the longest sections as bars."""
    plt = lab.pyplot()
    groups = list(itertools.product(MEMORIES, LOADS))
    fig, ax = plt.subplots(figsize=(8, 4))
    for i, variant in enumerate(VARIANTS):
        mine = {(r["memory"], r["load"]): r["longest"] / 1000 for r in rows
                if r["variant"] == variant}
        ax.bar([x + (i - 1) * 0.25 for x in range(len(groups))], [mine[g] for g in groups],
               0.25, label=variant)
    ax.set_xticks(range(len(groups)), [f"{m}, {x}" for m, x in groups])
    ax.set_ylabel("thousands of instructions")
    ax.legend()
    return lab.picture(fig, "irqsoff")


def run():
    """Command line."""
    parser = lab.parser(__doc__, flavor=FLAVOR)
    parser.add_argument("--pages", type=int, default=16384, help="pages that a load reads")
    parser.add_argument("--rounds", type=int, default=2, help="rounds of each kind of stream")
    parser.add_argument("--mem", default="1G", help="memory of the guest")
    parser.add_argument("--aged-mib", type=int, default=800,
                        help="memory of which every other page is in use")
    args = parser.parse_args()
    lab.begin(args)
    steps = ui.Steps("bench-irqsoff", ["build", "measure", "report"])
    steps("build")
    if not args.kernel:
        kbuild.build(FLAVOR, ("bzImage",))
    for tool in ("filecost", "mcube-pages"):
        lab.guest_tool(tool)
    steps("measure")
    names = list(itertools.product(VARIANTS, MEMORIES))
    with ThreadPoolExecutor(max(1, args.jobs)) as pool:
        got = list(pool.map(lambda n: measure(*n, args), names))
    steps("report")
    rows = sorted((r for rows in got for r in rows),
                  key=lambda r: (MEMORIES.index(r["memory"]), list(LOADS).index(r["load"])))
    parameters = {"kind": KIND, "pages": args.pages, "rounds": args.rounds, "mem": args.mem,
                  "aged_mib": args.aged_mib, "smp": 1, "color_map": lab.COLOR_MAP,
                  "bank_map": lab.BANK_MAP, "qemu": lab.qemu_version()}
    show(rows)
    png = draw(rows)
    path = lab.save("irqsoff", parameters, rows, summarize(rows))
    print(f"\nwritten: {path}\n         {png}")
    lab.finish(path, steps, args)
    return 0


if __name__ == "__main__":
    icount.ui.main(run)
