# SPDX-License-Identifier: GPL-2.0
"""bench-srm: the guests, their disks, and their figures.

A disk image per file system is made once. It holds two equal trees of kernel source, one
big file, and two SQLite databases. Guests write to a snapshot of the image. The script of a
guest calls functions of tools/mcube/guest/srm.sh, line by line. The figures of a guest stay
in build/guest/NAME/results with the options of its run, so that a later report can use them.
"""

import json
import random
import shutil
import sqlite3
import statistics

import lab  # first: it makes the other packages importable
from lab import Failure
from lib import ui
from lib.source import BASE
from qemu import Guest, image, kibibytes

FOLDER = ui.BUILD / "bench-srm"
# Directories of the kernel source that make up each tree, some 25 MiB.
PARTS = ("kernel", "mm", "crypto")
BIG_MIB = 24
# Rows of the join, and the bytes of a row in the index that SQLite builds. The table of
# the full scan is as large as the big file.
PAIRS, PAIR_BYTES = 250_000, 27
# Memory of a guest: three quarters of a sixteenth of it hold both trees.
MEMORY = "2G"
IMAGE_MIB = {"ext4": 256, "xfs": 320}
SCRATCH_MIB = 2048
PREFIX = "bench-srm"
PROGRAMS = ("bash", "perf", "taskset", "setsid", "grep", "tar", "cat", "diff", "rg", "fio", "awk",
            "sqlite3")
MEDIAN_OF = ("cycles", "accesses", "llc_refs", "llc_misses")


def protofile(top):
    """The description of a folder's content that mkfs.xfs -p reads."""
    lines = ["/", "0 0", "d--755 0 0"]

    def walk(folder):
        for path in sorted(folder.iterdir()):
            if path.is_dir():
                lines.append(f"{path.name} d--755 0 0")
                walk(path)
            elif not path.is_symlink():
                lines.append(f"{path.name} ---644 0 0 {path}")
        lines.append("$")

    walk(top)
    return "\n".join(lines) + "\n"


def databases(top):
    """Make the databases of the database part, equal in every image."""
    rng = random.Random(1)
    keys = list(range(PAIRS))
    rng.shuffle(keys)
    for name, table, rows in (
            ("pairs.db", "pairs(k INTEGER, v INTEGER)",
             ((k, rng.randrange(1 << 16)) for k in keys)),
            ("rows.db", "rows(k INTEGER, t TEXT)",
             ((i, "x" * 480) for i in range(BIG_MIB << 11)))):
        db = sqlite3.connect(top / name)
        db.execute(f"CREATE TABLE {table}")
        db.executemany(f"INSERT INTO {table.partition('(')[0]} VALUES (?, ?)", rows)
        db.commit()
        db.close()


def disk(fs):
    """Image of a file system with the trees; made if it is missing."""
    path = FOLDER / f"{fs}-db.img"
    with ui.lock("bench-srm"):
        if path.is_file():
            return path
        top = FOLDER / "files"
        shutil.rmtree(top, ignore_errors=True)
        for tree in ("a", "b"):
            for part in PARTS:
                shutil.copytree(BASE / part, top / tree / part, symlinks=True)
        text = b"".join(p.read_bytes() for p in sorted((top / "a/kernel").rglob("*.[ch]")))
        size = BIG_MIB << 20
        (top / "big").write_bytes((text * (size // len(text) + 1))[:size])
        databases(top)
        new = path.with_suffix(".new")
        with open(new, "wb") as f:
            f.truncate(IMAGE_MIB[fs] << 20)
        if fs == "ext4":
            ui.sh("/sbin/mke2fs", "-q", "-t", "ext4", "-F", "-d", top, new)
        else:
            proto = FOLDER / "files.proto"
            proto.write_text(protofile(top), "utf-8")
            ui.sh("/sbin/mkfs.xfs", "-q", "-f", "-p", proto, new)
        shutil.rmtree(top)
        new.rename(path)
    return path


def scratch():
    """Image of an empty ext4 for loads that create their own files."""
    path = FOLDER / "scratch.img"
    with ui.lock("bench-srm"):
        if not path.is_file():
            path.parent.mkdir(parents=True, exist_ok=True)
            with open(path, "wb") as f:
                f.truncate(SCRATCH_MIB << 20)
            ui.sh("/sbin/mke2fs", "-q", "-t", "ext4", "-F", path)
    return path


def kib(model, share=.75):
    """Working set of a victim: a share of the last level, usually three quarters."""
    return int(kibibytes(model.description["llc.size"]) * share)


def folder_of(name):
    """Folder of the figures of a guest."""
    return ui.BUILD / "guest" / f"{PREFIX}-{name}" / "results"


def beside(program, victims, kib, base, repetition, copies=1):
    """Lines that run each victim beside copies of a program, each copy on its own CPU.

    The program begins anew for each victim, so that a victim meets the same part of the
    program's work with and without the policy. The victim starts at another point of that
    work in each repetition, and each further copy of the program starts later.
    """
    lines = []
    for v in victims:
        for n in range(copies):
            lines += [f"stream {program} {1 << n + 1:x}", f"sleep {0.05 + 0.1 * repetition:.2f}"]
        lines += [f"victim {v} {kib} {base}.{v}.{repetition}", "quiet"]
    return lines


def boot(name, lines, options, timeout=3600, **machine):
    """Run a guest; the report reads its parameters from options."""
    machine = {"smp": 2, "mem": MEMORY, "programs": PROGRAMS} | machine
    fs = machine.pop("fs")
    drive = scratch() if fs == "scratch" else disk(fs)
    vm = Guest(machine.pop("kernel", None) or image(), drives=[f"{drive},snapshot=on"],
               **machine)
    vm.root.file(lab.guest_tool("victims"), "/guest/victims")
    vm.root.file(ui.ROOT / "tools/mcube/guest/srm.sh", "/guest/srm.sh")
    begin = f"begin {'ext4' if fs == 'scratch' else fs}"
    script = "\n".join(["set -e", ". /guest/srm.sh", begin, *lines]) + "\n"
    result = vm.run(script, f"{PREFIX}-{name}", timeout, {"BIG": BIG_MIB})
    result.need(f"{PREFIX}-{name}")
    (result.results / "options.json").write_text(json.dumps(options), "utf-8")
    ui.say(f"{PREFIX}-{name}: {result.seconds:.0f} s")


def found(part):
    """Guests of a part whose figures are present: {name: options}."""
    out = {}
    for path in sorted((ui.BUILD / "guest").glob(f"{PREFIX}-{part}-*/results/options.json")):
        name = path.parent.parent.name.removeprefix(f"{PREFIX}-")
        out[name] = json.loads(path.read_text("utf-8"))
    return out


def counts(path):
    """{event: count} of a file that a victim or perf wrote."""
    out = {}
    for line in path.read_text("utf-8").splitlines():
        fields = line.split(",")
        if len(fields) > 2 and fields[2].startswith("mcube_sim/") and fields[0].isdigit():
            out[fields[2].split("/")[1]] = int(fields[0])
        elif len(line.split()) == 2 and line.split()[1].isdigit():
            out[line.split()[0]] = int(line.split()[1])
    if missing := [e for e in MEDIAN_OF if e not in out]:
        raise Failure(f"{path}: no figure for {', '.join(missing)}",
                      "the guest's kernel needs CONFIG_MCUBE_SIM")
    return out


def boot_each(name, script_of, options, **machine):
    """Run script_of(repetition) in a guest for each repetition and collect the figures.

    Repetitions in one guest would influence each other: the policy leaves free lists with
    few of its colors on top. A victim on the stock allocator would then have many more
    misses than on fresh memory.
    """
    for i in range(options["repeat"]):
        own = f"{name}-{i}" if i else name
        boot(own, [lab.shift(i), *script_of(i)], options, seed=i + 1, **machine)
        if i:
            for path in folder_of(own).glob(f"*.{i}"):
                path.rename(folder_of(name) / path.name)
            shutil.rmtree(folder_of(own).parent)


def repeated(folder, name, repeat):
    """Median, minimum and maximum of each event over the files NAME.0, NAME.1, ..."""
    runs = [counts(folder / f"{name}.{i}") for i in range(repeat)]
    return {e: {"median": statistics.median(r[e] for r in runs),
                "min": min(r[e] for r in runs), "max": max(r[e] for r in runs)}
            for e in MEDIAN_OF}


def stats(path):
    """{counter: value} of srm/stats."""
    out = {}
    for line in path.read_text("utf-8").splitlines():
        name, _, value = line.rpartition("/")[2].partition(":")
        out[name] = int(value)
    return out


def pages(folder, name):
    """Pages that the policy placed, missed and did not cover between two readings."""
    before, after = (stats(folder / f"{name}.{x}") for x in ("before", "after"))
    grown = {k: after[k] - before[k] for k in after}
    return {"placed": grown["file_pages"] + grown["task_pages"], "missed": grown["missed"],
            "uncovered": grown["uncovered"]}
