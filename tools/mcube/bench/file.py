#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""What the page cache costs, in instructions.

A small program in the guest (tools/mcube/guest/filecost.c) brings pages of a file
into the cache, drops them, and reads cached pages, on ext4 and on XFS. The file is
a hole, so that no device has a part in the cost. Kinds of rounds:

    fill        readahead(), and drop: POSIX_FADV_DONTNEED
    stream      read() of pages that are not cached, and drop
    write       write() into an empty file, and truncate
    cached4k    read(), a page at a time, random order
    cached64k   read(), 16 pages at a time, from start to end
    begin4k     read(), the first page of a short file, again and again

Each variant has machines of its own (icount.py):

    unpatched   the kernel without the series
    off         the kernel with the series, nothing switched on
    on          the mcube allocator on, fill_order=shuffle
    srm         SRM-buffer on as well
    srm-order2  SRM-buffer on with group_order 2: folios of up to four pages
    srm-order4  SRM-buffer on with group_order 4: folios of up to 16 pages

XFS has large folios; ext4 of this kernel does not. readahead() gives single pages
on both. With SRM-buffer on, stream and write get folios up to group_order only: the
summary has their ratios on XFS to the folios of the unpatched kernel (xfs_order*).

Zeroing or copying a page counts as one instruction here, as a rep string instruction
does on hardware. The JSON file also has the figures with all iterations, as counted
(*_counted). --srm sets tunables, to see where the cost goes:
make bench-file ARGS="--srm tl=4096 vm_hop=0".
"""

import statistics

import icount  # first: it makes the other packages importable
import guests
import lab
from lab import Failure
from mcube_cmd.term import print_table

SRM = "/sys/kernel/mm/mcube/srm"
FILE_SYSTEMS = ("ext4", "xfs")
MOUNT = {"ext4": "noatime,noinit_itable,commit=300", "xfs": "noatime"}
VARIANTS = {
    "unpatched": ("base", ""),
    "off": ("test", ""),
    "on": ("test", icount.ON),
    "srm": ("test", f"{icount.ON}\necho 1 > {SRM}/enabled"),
    "srm-order2": ("test", f"{icount.ON}\necho 2 > {SRM}/group_order\n"
                           f"echo 1 > {SRM}/enabled"),
    "srm-order4": ("test", f"{icount.ON}\necho 4 > {SRM}/group_order\n"
                           f"echo 1 > {SRM}/enabled"),
}
# Kind of round: its columns, and which operations the first column leaves out.
KINDS = {
    "fill": (("fill", "drop"), ("zero",)),
    "stream": (("stream", "stream_drop"), ("zero", "copy")),
    "write": (("write", "truncate"), ("copy",)),
    "cached4k": (("cached4k",), ("copy",)),
    "cached64k": (("cached64k",), ("copy",)),
    "begin4k": (("begin4k",), ("copy",)),
}
COLUMNS = [c for columns, _ in KINDS.values() for c in columns]
# Columns whose worst ratio stands for the group.
GROUPS = {"fill": ("fill", "stream", "write"), "drop": ("drop", "stream_drop", "truncate"),
          "cached": ("cached4k", "cached64k")}
TARGETS = {"off_fill_ratio": 1.002, "srm_fill_ratio": 1.03,
           "off_cached_ratio": 1.002, "srm_cached_ratio": 1.002}
# Large folios: the ratio of each variant and column on XFS.
LARGE = {"xfs_order2_stream_ratio": ("srm-order2", "stream", 2.0),
         "xfs_order2_write_ratio": ("srm-order2", "write", 2.2),
         "xfs_order2_cached_ratio": ("srm-order2", "cached64k", 1.1),
         "xfs_order4_stream_ratio": ("srm-order4", "stream", 1.2)}


def measure(name, args, again=""):
    """Boot a variant with a file system; returns {kind: [[round, make, undo], ...]}."""
    variant, kind = name
    flavor, setup = VARIANTS[variant]
    if variant.startswith("srm"):
        setup = "\n".join([f"echo {value} > {SRM}/{file}" for file, _, value in
                           (s.partition("=") for s in args.srm)] + [setup])
    title = f"bench-file-{variant}-{kind}{again}"
    disk = guests.disk(title, kind)
    data = icount.boot(title, "filecost", flavor, f"""
mkdir /mnt
mount -t {kind} -o {MOUNT[kind]} /dev/vda /mnt
echo 0 > /proc/sys/vm/dirty_writeback_centisecs
{setup}
sleep 3
/guest/filecost -n {args.pages} -w {args.warm} -r {args.rounds} /mnt""",
                       args, drives=[disk])
    disk.unlink()
    if any(len(data.get(kind, ())) != args.rounds for kind in KINDS):
        raise Failure(f"{title}: rounds are missing in the guest's output")
    return data


def row_of(name, data, args, left_out):
    """Instructions per page of each column."""
    row = {"variant": name[0], "fs": name[1]}
    for kind, (columns, without) in KINDS.items():
        for i, column in enumerate(columns, 1):
            row |= icount.spread(column, [r[i] / args.pages for r in data[kind]],
                                 0 if i > 1 else sum(left_out[w] for w in without))
    return row | {"stats": data["stat"]}


def add_ratios(rows):
    """Add to each row its ratios to the unpatched kernel on the same file system."""
    base = {r["fs"]: r for r in rows if r["variant"] == "unpatched"}
    for row in rows:
        row["ratios"] = {c: round(row[c] / base[row["fs"]][c], 5) for c in COLUMNS}


def differ(one, two, args):
    """Largest difference of the medians of two runs, in instructions per page."""
    return max(abs(statistics.median(r[1] + r[2] for r in one[k])
                   - statistics.median(r[1] + r[2] for r in two[k])) / args.pages
               for k in KINDS)


def summarize(rows):
    """({key: ratio} with the worst of each group and all others, {key: column of the worst})."""
    summary, where = {}, {}
    for variant in list(VARIANTS)[1:]:
        mine = [r for r in rows if r["variant"] == variant]
        for group, columns in GROUPS.items():
            worst, fs, column = max((r["ratios"][c], r["fs"], c) for r in mine for c in columns)
            summary[f"{variant}_{group}_ratio"] = worst
            where[f"{variant}_{group}_ratio"] = f"{column} on {fs}"
    for row in rows:
        if row["variant"] != "unpatched":
            summary |= {f"{row['variant']}_{row['fs']}_{c}_ratio": v
                        for c, v in row["ratios"].items()}
    summary |= {key: summary[f"{variant}_xfs_{column}_ratio"]
                for key, (variant, column, _) in LARGE.items()}
    return summary, where


def show(rows):
    """Print the tables."""
    def part(columns):
        cells = [[r["fs"], r["variant"]] + [f"{r[c]:.0f} {r['ratios'][c]:.3f}" for c in columns]
                 for r in rows]
        print_table(["fs", "variant"] + [c.replace("_", " ") for c in columns], cells)
    print("\ninstructions per page, median over rounds (times unpatched)\n")
    part([c for k in ("fill", "stream", "write") for c in KINDS[k][0]])
    print("\nread() of cached pages, instructions per page\n")
    part(["cached4k", "cached64k", "begin4k"])
    print("\nmax - min over rounds, per page\n")
    print_table(["fs", "variant"] + [c.replace("_", " ") for c in COLUMNS], [
        [r["fs"], r["variant"]] + [f"{r[f'{c}_spread']:.2f}" for c in COLUMNS] for r in rows])


def verdicts(summary, where):
    """Print each target, and for a missed target the ratio of each file system and column."""
    for key, (variant, column, limit) in LARGE.items():
        print(f"{key} {summary[key]:.4f} ({variant}, {column}), target {limit}: "
              f"{lab.verdict(summary[key], limit)}")
    for key, limit in TARGETS.items():
        print(f"{key} {summary[key]:.4f} ({where[key]}), target {limit}: "
              f"{lab.verdict(summary[key], limit)}")
        if summary[key] <= limit:
            continue
        variant, group, _ = key.split("_")
        for fs in FILE_SYSTEMS:
            ratios = {c: summary[f"{variant}_{fs}_{c}_ratio"] for c in GROUPS[group]}
            print(f"    {fs}: " + ", ".join(
                f"{c} {v:.4f} {lab.verdict(v, limit)}" for c, v in ratios.items()))


def draw(rows):
    """Draw each column times unpatched as bars, by file system."""
    plt = lab.pyplot()
    colors = dict(zip(VARIANTS, ("#bbbbbb", "#4477aa", "#66ccee", "#ddaa33", "#cc6677",
                                 "#aa3377")))
    fig, axes = plt.subplots(2, 1, figsize=(9, 6), sharex=True)
    for ax, fs in zip(axes, FILE_SYSTEMS):
        mine = [r for r in rows if r["fs"] == fs]
        for i, row in enumerate(mine):
            ax.bar([x + (i - 2.5) * 0.14 for x in range(len(COLUMNS))],
                   [row["ratios"][c] for c in COLUMNS], 0.14, color=colors[row["variant"]],
                   label=row["variant"])
        ax.set_title(fs)
        ax.set_ylabel("times unpatched")
    axes[0].legend(ncols=len(VARIANTS), fontsize="small")
    axes[1].set_xticks(range(len(COLUMNS)), [c.replace("_", " ") for c in COLUMNS],
                       fontsize="small")
    return lab.picture(fig, "file")


def run():
    """Command line."""
    parser = icount.parser(__doc__, 12)
    parser.add_argument("--warm", type=int, default=2, help="uncounted rounds before each kind")
    parser.add_argument("--srm", nargs="+", default=[], metavar="FILE=VALUE",
                        help="tunables in srm/ to set in the variants with SRM-buffer")
    args = parser.parse_args()
    steps = icount.begin("bench-file", "filecost", args)
    names = [(v, fs) for fs in FILE_SYSTEMS for v in VARIANTS]
    data, twice = icount.collect(names, lambda n, again: measure(n, args, again), args, steps)
    steps("report")
    first = data[names[0]]
    left_out = {word: icount.beyond_one(first, word) for word in ("zero", "copy")}
    rows = [row_of(n, data[n], args, left_out) for n in names]
    add_ratios(rows)
    summary, where = summarize(rows)
    same = twice and {" ".join(n): differ(data[n], twice[n], args) for n in names}
    parameters = icount.parameters(args, first) | {
        "warm": args.warm, "zero_left_out": left_out["zero"], "copy_left_out": left_out["copy"],
        "srm": " ".join(args.srm), "second_run_differs_by": same}
    print(f"calibration: a loop of 1000000 instructions counts as "
          f"{parameters['loop_of_1000000']};\nthe figures leave out {left_out['zero']} "
          f"instructions per page zeroed and {left_out['copy']} per page copied")
    show(rows)
    if same is not None:
        print("\ninstructions per page by which the second run differs: " + ", ".join(
            f"{n} {d:.3f}" for n, d in same.items()))
    print()
    verdicts(summary, where)
    icount.finish("file", (parameters, rows, summary | {"where": where}), draw(rows), steps, args)
    return 0


if __name__ == "__main__":
    icount.ui.main(run)
