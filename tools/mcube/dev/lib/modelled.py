# SPDX-License-Identifier: GPL-2.0
"""A guest whose caches and DRAM are modelled by tools/mcube/model/.

A Model is a machine description, in which the caller may change keys. It gives QEMU
the arguments that the plugin needs, and gives the guest's kernel the address map of
the machine and the size of its last level, because CPUID describes neither:

    Guest(image(), smp=2, mem="1G", model="small")
    Guest(image(), smp=2, mem="1G", model=Model("small", {"prefetch.kind": "next"}))

With pages=FILE the guest can have the requests and misses of each page frame written to
that file of the host, and read_pages() reads the file.

All figures of such a guest are simulated. Documentation/mm/mcube/model.rst says
what the figures include and what they leave out.
"""

import os
import struct

from . import ui
from .ui import BUILD, ROOT, Failure

SOURCE = ROOT / "tools/mcube/model"
MACHINES = SOURCE / "machines"
MOST_MIB = 3072
# The blocks of tools/mcube/model/pages.h.
PAGES_MAGIC = 0x7365676170756f63
PAGES_HEAD = PAGES_RECORD = struct.Struct("<QQQ")


def build():
    """Build the plugin and the offline driver; returns the directory."""
    out = BUILD / "model"
    with ui.lock("model"):
        ui.sh("make", "-s", "-C", SOURCE, f"O={out}")
    return out


def machines():
    """Names of all machine descriptions."""
    return sorted(p.stem for p in MACHINES.glob("*.conf"))


def read(path):
    """A description as a dict of strings."""
    out = {}
    for line in path.read_text("utf-8").splitlines():
        key, eq, value = line.partition("#")[0].partition("=")
        if eq:
            out[key.strip()] = value.strip()
    return out


def read_pages(path):
    """The intervals of a file of counts by page frame: [{frame: (refs, misses)}]."""
    data, at, out = path.read_bytes(), 0, []
    while at < len(data):
        magic, mark, records = PAGES_HEAD.unpack_from(data, at)
        at += PAGES_HEAD.size
        end = at + records * PAGES_RECORD.size
        if magic != PAGES_MAGIC or mark != len(out) + 1 or end > len(data):
            raise Failure(f"{path} has no block of interval {len(out) + 1} at byte {at}",
                          "build plugin and kernel from one tree")
        out.append({frame: (refs, misses) for frame, refs, misses
                    in PAGES_RECORD.iter_unpack(data[at:end])})
        at = end
    return out


class Model:
    """A machine description with the keys that a caller changes."""

    def __init__(self, machine, keys=None, pages=None):
        self.path = MACHINES / f"{machine}.conf"
        if not self.path.is_file():
            raise Failure(f"there is no machine '{machine}'",
                          f"choose from: {' '.join(machines())}")
        self.keys, self.pages = dict(keys or {}), pages
        self.description = read(self.path) | self.keys

    def boot_parameters(self):
        """The address map and the cache size of the machine, for the guest's kernel."""
        words = [f"mcube.cache_size={self.description['llc.size']}"]
        for dim in ("color_map", "bank_map"):
            text = self.description.get(dim, "")
            if text and text != "none":
                words.append(f"mcube.{dim}={text.replace(' ', ',')}")
        return " ".join(words)

    def arguments(self, guest, mib, work):
        """QEMU arguments; RAM has to be the first memory object."""
        if mib > MOST_MIB:
            raise Failure(f"a modelled guest cannot have {mib} MiB",
                          f"use at most {MOST_MIB}M, so that all memory lies below the hole "
                          "for devices")
        if guest.nodes > 1 or guest.slots or guest.multi:
            raise Failure("a modelled guest has one node, no memory slots, and CPUs that take "
                          "turns")
        shared = os.path.join(work, "model")
        keys = "".join(f",{k}={str(v).replace(',', ',,')}" for k, v in self.keys.items())
        if self.pages:
            keys += f",pages={self.pages}"
        return ["-object", f"memory-backend-ram,id=ram0,size={mib}M",
                "-machine", "memory-backend=ram0",
                "-object", f"memory-backend-file,id=model,share=on,mem-path={shared},size=8M",
                "-device", "ivshmem-plain,memdev=model",
                "-plugin", f"{build() / 'mcube-model.so'},shm={shared},ram={mib << 20},"
                           f"machine={self.path}{keys}"]
