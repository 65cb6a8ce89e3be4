# SPDX-License-Identifier: GPL-2.0
"""What the programs of the UBM benchmark read: a disk image, made once.

/src        two directories of the kernel source
/cscope.out cscope's database of /src
/ID         the index that mkid of id-utils makes of /src
/join.db    an SQLite database of two tables
/tree       some files of lib/ with all headers that these files include
"""

import random
import re
import shutil
import sqlite3
import subprocess

from lab import Failure  # first: it makes the other packages importable
from lib import ui
from lib.source import BASE

FOLDER = ui.BUILD / "bench-ubm"
IMAGE_MIB = 128
PARTS = ("mm", "block")
# Files that share most of their headers; the compiler defines how much it reads of these.
SOURCES = tuple(f"lib/{n}.c" for n in (
    "xarray", "klist", "kobject", "kstrtox", "radix-tree", "siphash", "ratelimit", "refcount",
    "timerqueue", "rbtree", "percpu_counter", "bitmap"))
FLAGS = [f"-I{d}" for d in (
    "arch/x86/include", "generated/arch", "include", "generated/include",
    "arch/x86/include/uapi", "generated/arch/uapi", "include/uapi", "generated/include/uapi")]
FORCED = ("compiler-version", "kconfig", "compiler_types")
# Of the tables: a row of item is looked up by an index for each row of sale.
ITEMS, ITEM_BYTES, SALES, SALE_BYTES = 30000, 100, 8000, 300
EXT4 = ("/sbin/mke2fs", "-q", "-t", "ext4", "-F")


def cc1():
    """The preprocessor, which gcc starts."""
    got = subprocess.run(["gcc", "-print-prog-name=cc1"], text=True, capture_output=True,
                         check=False).stdout.strip()
    if not got.startswith("/"):
        raise Failure("gcc does not name its program cc1", "run 'make deps'")
    return got


def included(flags):
    """Headers of a source file, as the preprocessor names them."""
    out = set()
    for source in SOURCES:
        got = subprocess.run([cc1(), "-E", "-quiet", "-nostdinc", "-M", *flags, source],
                             cwd=FOLDER / "kernel", text=True, capture_output=True, check=False)
        if got.returncode:
            raise Failure(f"{source} cannot be preprocessed:\n{got.stderr[-500:]}",
                          "run 'make build' first, which makes generated headers")
        out |= set(re.findall(r"[^\s\\:]+\.h\b", got.stdout))
    return out


def headers(top):
    """The files of lib/ with their headers, for cpp."""
    kernel = FOLDER / "kernel"
    shutil.rmtree(kernel, ignore_errors=True)
    kernel.mkdir()
    for name in ("lib", "include", "arch", "scripts"):
        (kernel / name).symlink_to(BASE / name)
    (kernel / "generated").mkdir()
    (kernel / "generated/include").symlink_to(ui.BUILD / "test/include")
    (kernel / "generated/arch").symlink_to(ui.BUILD / "test/arch/x86/include/generated")
    flags = [*FLAGS, *(x for f in FORCED for x in ("-include", f"include/linux/{f}.h")),
             "-D__KERNEL__"]
    for name in sorted(included(flags) | set(SOURCES)):
        target = top / "tree" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(kernel / name, target)
    shutil.rmtree(kernel)
    (top / "tree/flags").write_text("\n".join(
        f"{x[:2]}/data/tree/{x[2:]}" if x.startswith("-I") else
        f"/data/tree/{x}" if x.endswith(".h") else x for x in flags) + "\n", "utf-8")
    (top / "tree/files").write_text("\n".join(f"/data/tree/{s}" for s in SOURCES) + "\n", "utf-8")


def database(path):
    """The tables; few items are sold often, many seldom."""
    rng = random.Random(1)
    db = sqlite3.connect(path)
    db.execute("PRAGMA page_size = 4096")
    db.execute("CREATE TABLE item(k INTEGER, price INTEGER, name TEXT)")
    db.execute("CREATE TABLE sale(k INTEGER, amount INTEGER, note TEXT)")
    order = list(range(ITEMS))
    rng.shuffle(order)
    db.executemany("INSERT INTO item VALUES (?, ?, ?)",
                   ((k, rng.randrange(1000), "x" * ITEM_BYTES) for k in order))
    db.executemany("INSERT INTO sale VALUES (?, ?, ?)",
                   ((int(ITEMS * rng.random() ** 3), rng.randrange(100), "y" * SALE_BYTES)
                    for _ in range(SALES)))
    db.execute("CREATE INDEX item_k ON item(k)")
    db.execute("ANALYZE")
    db.commit()
    db.close()


def disk():
    """The image; made if it is missing."""
    path = FOLDER / "data.img"
    with ui.lock("bench-ubm"):
        if path.is_file():
            return path
        top = FOLDER / "files"
        shutil.rmtree(top, ignore_errors=True)
        (top / "src").mkdir(parents=True)
        for part in PARTS:
            shutil.copytree(BASE / part, top / "src" / part, symlinks=True)
        names = sorted(str(p.relative_to(top)) for p in (top / "src").rglob("*.[ch]"))
        (FOLDER / "names").write_text("\n".join(names) + "\n", "utf-8")
        ui.sh("cscope", "-b", "-c", "-k", "-i", FOLDER / "names", "-f", top / "cscope.out",
              cwd=top)
        ui.sh("mkid", "-o", top / "ID", ".", cwd=top / "src")
        database(top / "join.db")
        headers(top)
        new = path.with_suffix(".new")
        with open(new, "wb") as f:
            f.truncate(IMAGE_MIB << 20)
        ui.sh(*EXT4, "-d", top, new)
        shutil.rmtree(top)
        new.rename(path)
    return path
