# SPDX-License-Identifier: GPL-2.0
"""Scene of page sets: single pages of a large file at random, some often and most seldom.

A program reads pages of a file in an order drawn from Zipf's law, as look-ups in a table
are. First the page cache has the pages, in a memory cgroup; then page sets have them, in as
much memory.
"""

import array

import lab  # first: it makes the other packages importable
import guests
from mcube_cmd.term import print_table
from scenes import COUNT, OFF, ON, bars, reads, show
import sets

NAME = "setcache"
TITLE = "page sets: random reads of a file larger than its memory"
VARIANTS = ("off", "setcache")
PAGES, READS, MIB = 20000, 100000, 20
# What the program itself needs of its cgroup.
BESIDE_KIB = 400
GROUP = "/sys/fs/cgroup/reader"
READ = "/guest/setcacherefs /data/file < /guest/order"


def machine(variant):
    """Options of a guest."""
    return {"smp": 2, "mem": "1G", "programs": ["awk"],
            "drives": [guests.disk(f"demo-setcache-{variant}", mebi=160)]}


def prepare(root):
    """Put files into a guest."""
    guests.install_command(root)
    guests.module(root, "setcache")
    root.file(lab.guest_tool("setcacherefs"), "/guest/setcacherefs")
    order = lab.RESULTS / "demo-setcache.order"
    order.parent.mkdir(parents=True, exist_ok=True)
    numbers = array.array("I", map(int, sets.zipf_trace(PAGES, READS).read_text("ascii").split()))
    order.write_bytes(numbers.tobytes())
    root.file(order, "/guest/order")


def script(variant):
    """Shell text."""
    lines = ["mkdir -p /data", "mount -t ext4 -o noatime /dev/vda /data",
             f"head -c {PAGES * 4096} /dev/zero > /data/file", "sync",
             "echo 3 > /proc/sys/vm/drop_caches",
             "echo +memory > /sys/fs/cgroup/cgroup.subtree_control"]
    if variant == "off":
        lines += [show(f"mkdir {GROUP}; echo {(MIB << 10) + BESIDE_KIB}K > {GROUP}/memory.max"),
                  f"echo $$ > {GROUP}/cgroup.procs"]
    else:
        lines += ["insmod /lib/modules/mcube_setcache.ko", show(f"mcube setcache on --size {MIB}M")]
    lines += [f"{COUNT} > /results/reads", show(READ), f"{COUNT} >> /results/reads"]
    if variant != "off":
        lines.append(show("mcube setcache"))
    return "\n".join(lines) + "\n"


def report(results):
    """Table, sentence, picture."""
    rows = [{"policy": v} | reads(result)[0] for v, result in results.items()]
    off, on = rows
    cut = 1 - on["requests"] / off["requests"]
    print(f"\n{READS:,} reads of {PAGES:,} pages, {MIB} MiB of memory for them; counted\n")
    print_table(["policy", "requests to the device", "pages", "hits"],
                [[r["policy"], f"{r['requests']:,}", f"{r['pages']:,}",
                  f"{1 - r['requests'] / READS:.1%}"] for r in rows], lead="  ")
    print(f"\n  In the same memory page sets send {cut:.0%} fewer requests to the device.")
    return {"parameters": {"pages": PAGES, "reads": READS, "mib": MIB}, "rows": rows,
            "summary": {"requests_cut": cut},
            "pictures": [bars("setcache", {"requests to the device": {
                r["policy"]: (r["requests"], c) for r, c in zip(rows, (OFF, ON))}})]}
