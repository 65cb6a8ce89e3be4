# SPDX-License-Identifier: GPL-2.0
"""bench-srm: hit ratio of the page cache, by size of memory.

The load has small files of 1 GiB in all, as a mail server has: the program reads and
writes random files, and creates and removes other files. Guests have from 512 MiB to 4 GiB
of memory, and no modelled machine. The guest creates the files and reads them once,
uncounted. The hit ratio of a round is one minus the bytes read from the device over the
bytes that the program read. --repeat gives the number of rounds; the load goes on from one
round to the next. The report has the hit ratio over all rounds, with the least and the most
of a round.
"""

import functools
import itertools

import lab  # first: it makes the other packages importable
from lab import Failure
from mcube_cmd.term import print_table
from . import guest

TITLE = "hit ratio of the page cache, by size of memory"
MEMORY = ("512M", "1G", "2G", "4G")
SETTINGS = ("off", "256", "128")
FILES, SIZES, ROUND = 4000, "16k-496k", "200m"


def script(setting, repeat):
    """Lines of the script of a guest."""
    load = f"load {FILES} {SIZES}"
    lines = [lab.SET_MAP, f"policy {setting}", f"{load} 4m",
             "sync; cat /data/mail/use* > /dev/null",
             "stats /results/hits.before", "read_sectors > /results/sectors.0"]
    for i in range(repeat):
        lines += [f"{load} {ROUND} {i + 1} > /results/fio.{i}",
                  f"read_sectors > /results/sectors.{i + 1}"]
    return lines + ["stats /results/hits.after"]


def run_guest(args, memory, setting):
    """Run a guest."""
    guest.boot(f"hitratio-{memory}-{setting}", script(setting, args.repeat),
               {"memory": memory, "setting": setting, "files": FILES, "sizes": SIZES,
                "round": ROUND, "repeat": args.repeat},
               fs="scratch", kernel=args.kernel, mem=memory)


def guests(args):
    """Jobs: one for each size of memory and policy."""
    return [functools.partial(run_guest, args, m, s)
            for m, s in itertools.product(args.memory, SETTINGS)]


def read_by(path):
    """Bytes that the program read in a round."""
    for line in path.read_text("utf-8").splitlines():
        fields = line.split(";")
        if len(fields) > 5 and fields[2] == "use" and int(fields[5]):
            return int(fields[5]) << 10
    raise Failure(f"{path}: fio does not say what it read")


def rows_of(name, options):
    """The row of a guest."""
    folder, rounds = guest.folder_of(name), range(options["repeat"])
    sectors = [int((folder / f"sectors.{i}").read_text("utf-8")) for i in (*rounds, len(rounds))]
    read = [read_by(folder / f"fio.{i}") for i in rounds]
    each = [1 - (sectors[i + 1] - sectors[i]) * 512 / read[i] for i in rounds]
    from_device = (sectors[-1] - sectors[0]) * 512
    return [{"part": "hitratio", "memory": options["memory"], "setting": options["setting"],
             "read": sum(read), "from_device": from_device,
             "hit_ratio": 1 - from_device / sum(read), "least": min(each), "most": max(each),
             "pages": guest.pages(folder, "hits")}]


def by_memory(rows):
    """{memory: {setting: row}}, in order."""
    out = {m: {r["setting"]: r for r in rows if r["memory"] == m} for m in MEMORY}
    return {m: r for m, r in out.items() if "off" in r}


def show(rows):
    """Print the table."""
    print("\nhitratio: of the page cache in a load of small files, 1 GiB in all\n")
    body = []
    for memory, mine in by_memory(rows).items():
        for setting, r in sorted(mine.items(), key=lambda x: SETTINGS.index(x[0])):
            body.append([memory, setting if setting == "off" else f"Tl {setting}",
                         f"{r['hit_ratio']:.2%}",
                         f"{r['hit_ratio'] - mine['off']['hit_ratio']:+.2%}",
                         f"{r['least']:.2%}", f"{r['most']:.2%}",
                         f"{r['read'] >> 20:,}", f"{r['from_device'] >> 20:,}",
                         *(f"{r['pages'][k]:,}" for k in ("placed", "missed", "uncovered"))])
    print_table(
        ["memory", "policy", "hit ratio", "change", "least", "most", "MiB read", "from device",
         "placed", "missed", "uncovered"], body, lead="  ")


def summarize(rows):
    """Loss at each size of memory, the larger of both lengths of segments."""
    return {f"hit_ratio_loss_{memory.lower()}": max(
        mine["off"]["hit_ratio"] - r["hit_ratio"] for s, r in mine.items() if s != "off")
        for memory, mine in by_memory(rows).items() if len(mine) > 1}
