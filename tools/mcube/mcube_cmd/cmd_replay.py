# SPDX-License-Identifier: GPL-2.0
"""mcube replay: replay recorded references against real files, in little memory."""

import os
import re
import statistics

from . import cgroup, replay, trace
from .term import Failure, output, plural, print_table, size

HELP = "replay recorded references against real files in a cgroup with a limit of memory"
EXAMPLE = """examples:
  mcube replay build.trace.gz --dir /var/tmp --memory 64M
  mcube replay db.trace.gz --dir /mnt --memory 32M 64M 128M --policy lru mglru ubm
  mcube replay rg.trace.gz --dir /mnt --memory 64M --no-readahead --repeat 3 --json
"""
UNITS = {"": 0, "K": 10, "M": 20, "G": 30}


def arguments(parser):
    """Options."""
    parser.add_argument("file", metavar="FILE", help="a trace of 'mcube record'")
    parser.add_argument("--dir", metavar="DIR", required=True,
                        help="where the files are made, on a file system on a block device")
    parser.add_argument("--memory", metavar="SIZE", nargs="+", required=True,
                        help="limit of memory, such as 64M; several sizes one after the other")
    parser.add_argument("--policy", nargs="+", choices=[*replay.POLICIES], default=[],
                        help="policies of reclaim, one after the other (default: that of now)")
    parser.add_argument("--repeat", metavar="N", type=int, default=1, help="times")
    parser.add_argument("--no-readahead", action="store_true",
                        help="read no page ahead, so that each miss is a miss of the policy")
    parser.add_argument("--keep", action="store_true", help="leave the files for another replay")
    parser.add_argument("--json", action="store_true", help="print JSON")


def bytes_of(text):
    """64M as bytes."""
    m = re.fullmatch(r"(\d+)([KMG]?)", text.upper())
    if not m or not int(m[1]):
        raise Failure(f"'{text}' is no size of memory", "write for example 512K, 64M or 1G")
    return int(m[1]) << UNITS[m[2]]


def row_of(policy, memory, runs):
    """Medians of some runs, and the range of what the device read."""
    row = {"policy": policy, "memory": memory}
    for key in runs[0]:
        row[key] = statistics.median(r[key] for r in runs) if key != "exact" else \
            all(r[key] for r in runs)
    device = [r["device_pages"] for r in runs]
    return row | {"device_pages_min": min(device), "device_pages_max": max(device), "runs": runs}


def show(args, header, rows):
    """The result for people."""
    first = rows[0]
    print(f"{args.file}: {header.get('program', '-')}, {int(first['references']):,} references; "
          f"median of {plural(args.repeat, 'run')}"
          f"{', without readahead' if args.no_readahead else ''}\n")
    print_table(["policy", "memory", "cache pages", "hits", "misses", "hit ratio", "pages read",
                 "least", "most", "seconds"],
                [[r["policy"], size(r["memory"]), f"{r['cache_pages']:,.0f}",
                  f"{r['hits']:,.0f}", f"{r['misses']:,.0f}", f"{r['hit_ratio']:.2%}",
                  f"{r['device_pages']:,.0f}", f"{r['device_pages_min']:,}",
                  f"{r['device_pages_max']:,}", f"{r['seconds']:.2f}"] for r in rows])
    if not first["exact"]:
        print("note: this kernel has no cachestat(2): misses are the pages that the device read")


def run(args):
    """mcube replay."""
    sizes = [bytes_of(m) for m in args.memory]
    if args.repeat < 1:
        raise Failure(f"--repeat {args.repeat} runs nothing", "give 1 or more")
    cgroup.need()
    if not os.path.isdir(args.dir):
        raise Failure(f"there is no directory {args.dir}", "make it, or name another by --dir")
    recorded = trace.read(args.file)
    page = os.sysconf("SC_PAGESIZE")
    if recorded.header.get("page", str(page)) != str(page):
        raise Failure(f"{args.file} has pages of {recorded.header['page']} bytes, and this "
                      f"machine has pages of {page}", "replay it on a machine like the recorded")
    policies, files = replay.Policies(), replay.Files(args.dir, recorded, page)
    rows = []
    try:
        for name in args.policy:
            replay.need_policy(policies, name)
        files.make()
        for limit in sizes:
            for name in args.policy or ["now"]:
                if args.policy:
                    policies.set(name)
                runs = [replay.once(recorded, files, limit, not args.no_readahead)
                        for _ in range(args.repeat)]
                rows.append(row_of(name, limit, runs))
    finally:
        if args.policy:
            policies.close()
        if not args.keep:
            files.remove()
        files.close()
    return output(args, {"file": args.file, "header": recorded.header, "page": page,
                         "readahead": not args.no_readahead, "rows": rows},
                  lambda _: show(args, recorded.header, rows))
