# SPDX-License-Identifier: GPL-2.0
"""The machine: caches, CPUs, memory nodes, hypervisor and container.

Caches are read by CPUID where /dev/cpu/0/cpuid can be read, since sysfs does not
say whether the set index is a hash of the address (CPUID.4 EDX bit 2, "complex
indexing"). Elsewhere they are read from sysfs.
"""

import gzip
import os
import platform
import re
import struct

from . import host
from .addrmap import PAGE_SHIFT

CPU = "/sys/devices/system/cpu"
HYPERVISORS = {"KVMKVMKVM": "KVM", "TCGTCGTCGTCG": "QEMU without acceleration (TCG)",
               "Microsoft Hv": "Hyper-V", "VMwareVMware": "VMware", "XenVMMXenVMM": "Xen",
               "bhyve bhyve": "bhyve", "ACRNACRNACRN": "ACRN", "VBoxVBoxVBox": "VirtualBox"}


def cpuid(leaf, sub=0):
    """(eax, ebx, ecx, edx) of CPU 0; None if CPUID cannot be read."""
    try:
        fd = os.open(host.at("/dev/cpu/0/cpuid"), os.O_RDONLY)
    except OSError:
        return None
    try:
        return struct.unpack("<4I", os.pread(fd, 16, leaf | sub << 32))
    except (OSError, struct.error):
        return None
    finally:
        os.close(fd)


class Cache:
    """One level of cache."""

    def __init__(self, level, kind, line, partitions, ways, sets, complex_index=None):
        self.level, self.kind, self.line = level, kind, line
        self.partitions, self.ways, self.sets = partitions, ways, sets
        self.complex_index = complex_index     # None: not known

    @classmethod
    def from_cpuid(cls, eax, ebx, ecx, edx, amd=False):
        """Decode a subleaf of leaf 4; None at the end of the list.

        In AMD's leaf, 0x8000001d, bit 2 of EDX is reserved: the index is not known.
        """
        kind = {0: None, 1: "Data", 2: "Instruction", 3: "Unified"}.get(eax & 0x1f, "Other")
        if kind is None:
            return None
        return cls(eax >> 5 & 7, kind, (ebx & 0xfff) + 1, (ebx >> 12 & 0x3ff) + 1,
                   0 if eax & 1 << 9 else (ebx >> 22) + 1, ecx + 1,
                   None if amd else bool(edx & 4))

    @property
    def sliced(self):
        """Is the cache cut in slices? Then its number of sets need not be a power of two."""
        return bool(self.sets & self.sets - 1)

    @property
    def bytes(self):
        """Size of the cache; 0 if that is not known."""
        return self.line * self.partitions * self.ways * self.sets

    def as_json(self):
        """For JSON output."""
        return {"level": self.level, "bytes": self.bytes, "line": self.line,
                "ways": self.ways, "sets": self.sets, "complex_index": self.complex_index}


def cpuid_caches():
    """Caches by CPUID; [] if CPUID cannot be read."""
    out = []
    for leaf in (4, 0x8000001d):
        for sub in range(8):
            regs = cpuid(leaf, sub)
            cache = Cache.from_cpuid(*regs, amd=leaf != 4) if regs else None
            if not cache:
                break
            out.append(cache)
        if out:
            break
    return out


def sysfs_caches():
    """Caches of CPU 0 by sysfs."""
    out = []
    for name in host.names(f"{CPU}/cpu0/cache"):
        if not name.startswith("index"):
            continue
        at = f"{CPU}/cpu0/cache/{name}"
        out.append(Cache(host.number(f"{at}/level", 0), host.read(f"{at}/type", ""),
                         host.number(f"{at}/coherency_line_size", 0),
                         host.number(f"{at}/physical_line_partition", 1),
                         host.number(f"{at}/ways_of_associativity", 0),
                         host.number(f"{at}/number_of_sets", 0)))
    return out


def caches():
    """(data caches from level 2 up, 'cpuid' or 'sysfs')."""
    for source, found in (("cpuid", cpuid_caches()), ("sysfs", sysfs_caches())):
        wanted = [c for c in found if c.level in (2, 3) and c.kind in ("Data", "Unified")]
        if wanted:
            return sorted(wanted, key=lambda c: c.level), source
    return [], "none"


# Sets of a slice of the last level, by model of Intel's family 6: 1024 of clients, else 2048.
SLICED_2048 = (0x2a, 0x2d, 0x3a, 0x3e, 0x3c, 0x45, 0x46, 0x3f, 0x3d, 0x47, 0x4f, 0x56, 0x55, 0x6a,
               0x6c, 0x8f, 0xcf, 0xad, 0xae)
SLICED_1024 = (0x4e, 0x5e, 0x8e, 0x9e, 0xa5, 0xa6)


def slice_sets():
    """Sets of a slice of this CPU's last level; 0 if that is not known."""
    info = cpuinfo()
    if (info.get("vendor_id"), info.get("cpu family")) != ("GenuineIntel", "6"):
        return 0
    model = int(info.get("model", "0"))
    return 2048 if model in SLICED_2048 else 1024 if model in SLICED_1024 else 0


def index_masks(cache):
    """(masks of the address bits from 12 up that should choose a cache's sets, '').

    (None, why) where no rule says so. The rule is that of Documentation/mm/mcube/map.rst; where
    sysfs tells no hash from plain bits, L2 is taken for plain: it is a guess to be tested.
    """
    sets = cache.sets
    if cache.level > 2 and (cache.complex_index is not False or cache.sliced):
        sets = slice_sets()
        if not sets or cache.sets % sets:
            return None, "how its sets are chosen is not documented for this CPU"
    elif cache.complex_index:
        return None, "a hash of the address chooses its sets"
    if not cache.ways or not sets or sets & sets - 1 or cache.line & cache.line - 1:
        return None, "its number of sets is no power of two"
    top = (sets * cache.line * cache.partitions).bit_length() - 1
    masks = [1 << bit for bit in range(PAGE_SHIFT, top)]
    return (masks, "") if masks else (None, "all pages share its sets: there is one color")


def cpuinfo():
    """First CPU's fields of /proc/cpuinfo."""
    out = {}
    for line in (host.read("/proc/cpuinfo") or "").splitlines():
        word, colon, value = line.partition(":")
        if not colon:
            break
        out[word.strip()] = value.strip()
    return out


def config(symbol):
    """A symbol's value in the running kernel's configuration; None if there is no copy of it."""
    text = None
    for path in ("/proc/config.gz", f"/boot/config-{platform.release()}"):
        try:
            data = host.at(path).read_bytes()
            text = (gzip.decompress(data) if path.endswith(".gz") else data).decode()
            break
        except (OSError, EOFError, gzip.BadGzipFile):
            continue
    if text is None:
        return None
    for line in text.splitlines():
        if line.startswith(f"CONFIG_{symbol}="):
            return line.partition("=")[2]
    return "n"


def hypervisor():
    """Name of the hypervisor that this system runs under; None on bare metal."""
    info = cpuinfo()
    kind = host.read("/sys/hypervisor/type")
    if "hypervisor" not in info.get("flags", "").split() and not kind:
        return None
    regs = cpuid(0x40000000)
    sign = struct.pack("<3I", *regs[1:]).decode("ascii", "replace").rstrip("\0") if regs else ""
    if sign in HYPERVISORS:
        return HYPERVISORS[sign]
    if "TCG" in info.get("model name", ""):
        return HYPERVISORS["TCGTCGTCGTCG"]
    vendor = host.read("/sys/class/dmi/id/sys_vendor")
    return kind or sign or vendor or "of unknown name"


def emulated():
    """Is the CPU emulated instruction by instruction? Its time then means nothing."""
    return hypervisor() == HYPERVISORS["TCGTCGTCGTCG"]


def container():
    """Kind of the container that this runs in; None outside a container."""
    for path, name in (("/.dockerenv", "Docker"), ("/run/.containerenv", "Podman")):
        if host.at(path).exists():
            return name
    if name := host.read("/run/systemd/container"):
        return name
    for word in (host.read("/proc/1/environ") or "").split("\0"):
        if word.startswith("container="):
            return word.removeprefix("container=")
    m = re.search(r"/(docker|lxc|kubepods|libpod)\b", host.read("/proc/1/cgroup") or "")
    return m[1] if m else None


def in_user_namespace():
    """Is this process's root not the machine's?"""
    text = host.read("/proc/self/uid_map")
    return bool(text) and text.split() != ["0", "0", "4294967295"]


def rights():
    """What to do where the kernel refuses this process what it lets root do."""
    if container() or in_user_namespace():
        return "run it as root on the host"
    return "root lacks the right to it here" if host.is_root() else "run it by sudo"


def nodes():
    """Number of memory nodes."""
    return len([n for n in host.names("/sys/devices/system/node")
                if re.fullmatch(r"node\d+", n)]) or 1


def zones():
    """[(node, first frame, frames)] of the zones that have memory, from /proc/zoneinfo."""
    out, node, spanned = [], None, 0
    for line in (host.read("/proc/zoneinfo") or "").splitlines():
        if m := re.match(r"Node (\d+), zone", line):
            node = int(m[1])
        elif m := re.match(r"\s+spanned\s+(\d+)", line):
            spanned = int(m[1])
        elif (m := re.match(r"\s+start_pfn:\s+(\d+)", line)) and spanned:
            out.append((node, int(m[1]), spanned))
            spanned = 0
    return out


def node_of(found, pfn):
    """Node of a frame; None if no zone spans the frame, or zones of two nodes do."""
    owners = {node for node, first, n in found if first <= pfn < first + n}
    return owners.pop() if len(owners) == 1 else None


def memory_end():
    """First physical address behind the memory; 0 if it is not known."""
    return max((first + n for _, first, n in zones()), default=0) << PAGE_SHIFT


def memory_pages():
    """Pages of memory; 0 if the number is not known."""
    m = re.search(r"^MemTotal:\s+(\d+) kB", host.read("/proc/meminfo") or "", re.M)
    return int(m[1]) * 1024 >> PAGE_SHIFT if m else 0


def siblings(cpu):
    """CPUs of the same core."""
    text = host.read(f"{CPU}/cpu{cpu}/topology/thread_siblings_list")
    return set(host.cpu_list(text)) if text else {cpu}


def sharing(cpu):
    """CPUs with the same last-level cache; None if that is not known."""
    best = (0, None)
    for name in host.names(f"{CPU}/cpu{cpu}/cache"):
        at = f"{CPU}/cpu{cpu}/cache/{name}"
        text = host.read(f"{at}/shared_cpu_list")
        if text:
            best = max(best, (host.number(f"{at}/level", 0), text))
    return set(host.cpu_list(best[1])) if best[1] else None


def pick_cpus(n, allowed):
    """n CPUs that share the last-level cache and no cache before it.

    The first allowed CPU, then allowed CPUs of other cores behind the same cache; [] if there
    are fewer than n.
    """
    allowed = sorted(allowed)
    if not allowed:
        return []
    near = sharing(allowed[0])
    out, taken = [], set()
    for cpu in allowed:
        if len(out) < n and cpu not in taken and (near is None or cpu in near):
            out.append(cpu)
            taken |= siblings(cpu)
    return out if len(out) == n else []
