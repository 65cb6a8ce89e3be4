# SPDX-License-Identifier: GPL-2.0
"""Scene of UBM: a search over a tree that is a little larger than its memory cgroup.

A tree is searched from its first file to its last, again and again. Each page leaves the
page cache shortly before it is needed again. UBM holds a part of the tree.
"""

import guests
from lib.source import BASE
from mcube_cmd.term import print_table
from scenes import COUNT, OFF, ON, bars, reads, show

NAME = "ubm"
TITLE = "UBM: a tree is searched again and again, in a cgroup too small for it"
VARIANTS = ("off", "ubm")
ROUNDS = 6
# MiB of the tree's files, and of the cgroup: grep needs a little as well.
TREE = "kernel"
SHARE = 0.7
GREP_KIB = 2500
GROUP = "/sys/fs/cgroup/search"


def machine(variant):
    """Options of a guest."""
    return {"smp": 2, "mem": "1G", "drives": [guests.disk(f"demo-ubm-{variant}", mebi=128)],
            "programs": ["grep", "awk"]}


def tree_kib():
    """Size of the files of the tree in whole pages."""
    return sum((f.stat().st_size + 4095) // 4096 * 4
               for f in (BASE / TREE).rglob("*") if f.is_file())


def limit_kib():
    """Memory of the cgroup."""
    return int(tree_kib() * SHARE) + GREP_KIB


def prepare(root):
    """Put files into a guest."""
    guests.install_command(root)
    root.tree(BASE / TREE, f"guest/{TREE}")


def script(variant):
    """Shell text."""
    lines = ["mkdir -p /data", "mount -t ext4 -o noatime /dev/vda /data",
             f"cp -r /guest/{TREE} /data/", "sync", "echo 3 > /proc/sys/vm/drop_caches",
             "echo +memory > /sys/fs/cgroup/cgroup.subtree_control"]
    if variant != "off":
        lines.append(show("mcube ubm on"))
    lines += [show(f"mkdir {GROUP}; echo {limit_kib()}K > {GROUP}/memory.max"),
              f"echo $$ > {GROUP}/cgroup.procs",
              f"echo '    # grep -rc folio /data/{TREE}, {ROUNDS} times'",
              f"for i in $(seq {ROUNDS}); do",
              f"grep -rc folio /data/{TREE} > /dev/null",
              f"{COUNT}; done > /results/reads",
              "echo $$ > /sys/fs/cgroup/cgroup.procs"]
    if variant != "off":
        lines.append(show("mcube ubm --cgroup /search | awk 'NR <= 7'"))
    return "\n".join(lines) + "\n"


def report(results):
    """Table, sentence, picture."""
    rows = []
    for variant, result in results.items():
        rows += [{"policy": variant, "round": i} | r for i, r in enumerate(reads(result), 2)]
    total = {(v, k): sum(r[k] for r in rows if r["policy"] == v)
             for v in VARIANTS for k in ("pages", "requests")}
    cut = {k: 1 - total["ubm", k] / total["off", k] for k in ("pages", "requests")}
    print(f"\ngrep -r over {tree_kib():,} KiB in a cgroup of {limit_kib():,} KiB; reads of the "
          "device, counted\n")
    print_table(["round", "pages: off", "ubm", "requests: off", "ubm"],
                [[i, *(f"{r[k]:,}" for k in ("pages", "requests") for v in VARIANTS
                       for r in rows if (r["policy"], r["round"]) == (v, i))]
                 for i in range(2, ROUNDS + 1)], lead="  ")
    print(f"\n  From the second round on UBM reads {cut['pages']:.0%} fewer pages from the "
          f"device, by {cut['requests']:.0%} fewer requests.")
    return {"parameters": {"tree_kib": tree_kib(), "limit_kib": limit_kib(), "rounds": ROUNDS},
            "rows": rows, "summary": {f"{k}_cut": c for k, c in cut.items()},
            "pictures": [bars("ubm", {"pages read from the device": {
                f"{v}\n{r['round']}": (r["pages"], OFF if v == "off" else ON)
                for v in VARIANTS for r in rows if r["policy"] == v}})]}
