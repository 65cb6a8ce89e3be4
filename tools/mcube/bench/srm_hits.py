# SPDX-License-Identifier: GPL-2.0
"""bench-srm: hit ratio of the page cache, by size of memory.

Small files of 1 GiB in all, as of a mail server: some, chosen at random, are read and
written to, others come and go. Guests have from half that memory to four times
as much, and no modelled machine. The files are made and read once, uncounted; then the
hit ratio is one less what the device was read, over what the program read.
"""

import functools
import itertools

import lab  # first: it makes the other packages importable
import srm_guest
from lab import Failure

TITLE = "hit ratio of the page cache, by size of memory"
MEMORY = ("512M", "1G", "2G", "4G")
SETTINGS = ("off", "256", "128")
FILES, SIZES, ROUND = 4000, "16k-496k", "200m"


def script(setting):
    """What a guest does."""
    load = f"load {FILES} {SIZES}"
    return [lab.SET_MAP, f"policy {setting}", f"{load} 4m", "sync; cat /data/mail/use* > /dev/null",
            "stats /results/hits.before",
            "read_sectors > /results/sectors.before", f"{load} {ROUND} > /results/fio",
            "read_sectors > /results/sectors.after", "stats /results/hits.after"]


def guest(args, memory, setting):
    """Run one guest."""
    srm_guest.boot(f"hitratio-{memory}-{setting}", script(setting),
                   {"memory": memory, "setting": setting, "files": FILES, "sizes": SIZES,
                    "round": ROUND}, fs="scratch", kernel=args.kernel, mem=memory)


def guests(args):
    """Jobs: a size of memory and a policy each."""
    return [functools.partial(guest, args, m, s)
            for m, s in itertools.product(args.memory, SETTINGS)]


def rows_of(name, options):
    """The row of one guest."""
    folder = srm_guest.folder_of(name)
    read = 0
    for line in (folder / "fio").read_text("utf-8").splitlines():
        fields = line.split(";")
        if len(fields) > 5 and fields[2] == "use":
            read = int(fields[5]) << 10
    if not read:
        raise Failure(f"{folder}/fio: fio does not say what it read")
    before, after = (int((folder / f"sectors.{x}").read_text("utf-8"))
                     for x in ("before", "after"))
    return [{"part": "hitratio", "memory": options["memory"], "setting": options["setting"],
             "read": read, "from_device": (after - before) * 512,
             "hit_ratio": 1 - (after - before) * 512 / read,
             "pages": srm_guest.pages(folder, "hits")}]


def by_memory(rows):
    """{memory: {setting: row}}, in order."""
    out = {m: {r["setting"]: r for r in rows if r["memory"] == m} for m in MEMORY}
    return {m: r for m, r in out.items() if "off" in r}


def show(rows):
    """The table."""
    print("\nhitratio: of the page cache in a load of small files, 1 GiB in all\n")
    body = []
    for memory, mine in by_memory(rows).items():
        for setting, r in sorted(mine.items(), key=lambda x: SETTINGS.index(x[0])):
            body.append([memory, setting if setting == "off" else f"Tl {setting}",
                         f"{r['hit_ratio']:.2%}",
                         f"{r['hit_ratio'] - mine['off']['hit_ratio']:+.2%}",
                         f"{r['read'] >> 20:,}", f"{r['from_device'] >> 20:,}",
                         *(f"{r['pages'][k]:,}" for k in ("placed", "missed", "uncovered"))])
    print("\n".join("  " + x for x in lab.table(
        ["memory", "policy", "hit ratio", "change", "MiB read", "from device", "placed", "missed",
         "uncovered"], body)))


def summarize(rows):
    """Loss at each size of memory, the larger of both lengths of runs."""
    return {f"hit_ratio_loss_{memory.lower()}": max(
        mine["off"]["hit_ratio"] - r["hit_ratio"] for s, r in mine.items() if s != "off")
        for memory, mine in by_memory(rows).items() if len(mine) > 1}
