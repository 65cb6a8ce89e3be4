#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""With the options off, the patched kernel has to equal the unpatched kernel.

The script compiles the objects of every existing C file that the series
touches, and of four important files in any case, from both trees with the same
configuration. It then compares the parts that end up in memory: the bytes of
every allocated section, and the relocations by symbol. Only line numbers may
differ: in __bug_table, and in names made with __LINE__.

A self-test proves on the real objects that the comparison finds a changed
constant and a changed call and ignores a changed line number.
"""

import io
import re
import sys
from pathlib import Path

from elftools.common.exceptions import ELFError
from elftools.elf.constants import SH_FLAGS
from elftools.elf.elffile import ELFFile
from elftools.elf.relocation import RelocationSection

import kbuild
from lib import ui
from lib.patchfile import series
from lib.source import BASE, TREE
from lib.ui import BUILD, Failure, Steps, say

ALWAYS = ("mm/page_alloc.o", "mm/filemap.o", "mm/vmscan.o", "mm/memory.o")
RELA_BYTES, RELA_SYMBOL = 24, 12
BUG_ENTRY, BUG_LINE = 12, 8


class Elf:
    """Allocated sections and relocations of an x86-64 object file."""

    def __init__(self, data):
        try:
            elf = ELFFile(io.BytesIO(data))
        except ELFError as e:
            raise Failure(f"not an ELF object: {e}") from e
        if elf.elfclass != 64 or not elf.little_endian:
            raise Failure("not a 64-bit little-endian ELF object")
        self.table = list(elf.iter_sections())
        self.sections, self.relocs = {}, {}
        for sec in filter(self.allocated, self.table):
            if not sec.name.startswith(".note"):
                body = b"" if sec["sh_type"] == "SHT_NOBITS" else sec.data()
                self.sections.setdefault(self.plain(sec.name), []).append((sec["sh_size"], body))
        symbols = [self.symbol(s) for s in elf.get_section_by_name(".symtab").iter_symbols()]
        for sec in self.table:
            if isinstance(sec, RelocationSection) and self.allocated(self.table[sec["sh_info"]]):
                self.relocs.setdefault(self.plain(self.table[sec["sh_info"]].name), []).append(
                    [(r["r_offset"], r["r_info_type"], symbols[r["r_info_sym"]], r["r_addend"])
                     for r in sec.iter_relocations()])

    @staticmethod
    def allocated(sec):
        """Does the section end up in memory?"""
        return bool(sec["sh_flags"] & SH_FLAGS.SHF_ALLOC)

    @staticmethod
    def plain(name):
        """A name without the numbers of __LINE__, __COUNTER__ and the compiler."""
        name = re.sub(r"\.(\d+)(?=\.|$)", "", name)
        return re.sub(r"\d+", "N", name) if "__initcall" in name or "UNIQUE_ID" in name \
            else name

    def symbol(self, symbol):
        """Name of a symbol, or of its section if the symbol has no name."""
        at = symbol["st_shndx"]
        return self.plain(symbol.name or (self.table[at].name if isinstance(at, int) else ""))

    def section(self, name):
        """Section of that name, or None."""
        return next((s for s in self.table if s.name == name), None)


def without_lines(body):
    """__bug_table with its line fields zeroed."""
    out = bytearray(body)
    for at in range(0, len(out) - BUG_ENTRY + 1, BUG_ENTRY):
        out[at + BUG_LINE:at + BUG_LINE + 2] = b"\0\0"
    return bytes(out)


def compare(a, b):
    """Differences between the memory images of two objects: [text]."""
    one, two, wrong = Elf(a), Elf(b), []
    for name in sorted(set(one.sections) | set(two.sections)):
        x, y = one.sections.get(name), two.sections.get(name)
        if x is None or y is None:
            wrong.append(f"section {name} only in the {'patched' if x is None else 'base'} object")
            continue
        if name == "__bug_table":
            x = [(n, without_lines(body)) for n, body in x]
            y = [(n, without_lines(body)) for n, body in y]
        if x != y:
            at = next((i for (_, p), (_, q) in zip(x, y)
                       for i, (c, d) in enumerate(zip(p, q)) if c != d), "size")
            wrong.append(f"section {name} differs: {sum(n for n, _ in x)} against "
                         f"{sum(n for n, _ in y)} bytes, first at {at}")
        elif one.relocs.get(name) != two.relocs.get(name):
            wrong.append(f"relocations of {name} differ")
    return wrong


def self_test(data):
    """Prove that the comparison finds a constant and a call, and ignores a line number."""
    elf = Elf(data)

    def poke(section, offset, width=1):
        out = bytearray(data)
        at = elf.section(section)["sh_offset"] + offset
        out[at:at + width] = bytes(c ^ 0x55 for c in out[at:at + width])
        return bytes(out)

    if compare(data, data):
        raise Failure("off-check self-test: an object differs from itself")
    if not compare(data, poke(".text", elf.section(".text")["sh_size"] // 2)):
        raise Failure("off-check self-test: a changed constant in .text was not caught")
    if not compare(data, poke(".rela.text", RELA_BYTES * 5 + RELA_SYMBOL)):
        raise Failure("off-check self-test: a changed relocation was not caught")
    if elf.section("__bug_table"):
        if compare(data, poke("__bug_table", BUG_LINE, 2)):
            raise Failure("off-check self-test: a changed line number was reported")
        if not compare(data, poke("__bug_table", BUG_LINE + 2, 2)):
            raise Failure("off-check self-test: changed bug flags were not caught")


def objects():
    """Objects of existing files to compare."""
    out = list(ALWAYS)
    for patch in series():
        for path in patch.diffs:
            if path.endswith(".c") and path[:-2] + ".o" not in out:
                out.append(path[:-2] + ".o")
    return out


def build_objects(steps):
    """Compile the objects from both trees; returns their names."""
    log = BUILD / "off-check.log"
    log.unlink(missing_ok=True)
    names = objects()
    for tree, flavor, step in ((BASE, "base", "compile unpatched"),
                               (TREE, "off", "compile patched, options off")):
        steps(step)
        if not tree.is_dir():
            raise Failure(f"there is no {tree}", "run 'make tree' first")
        with ui.lock(f"build-{flavor}"):
            out = BUILD / flavor
            kbuild.configure(tree, out, kbuild.FLAVORS[flavor][1], log)
            kbuild.kmake(tree, out, *names, log=log)
    return names


def run():
    """Command line: a verdict per object."""
    ui.parser(__doc__).parse_args()
    steps = Steps("off-check", ["compile unpatched", "compile patched, options off",
                                "compare"])
    names = build_objects(steps)
    base_only = [w for w in kbuild.check_config(
        (BUILD / "off/.config").read_text("utf-8"), configuration(BUILD / "base/.config"))]
    if base_only:
        raise Failure("the two configurations differ: " + "; ".join(base_only[:5]))
    steps("compare")
    failed = 0
    for name in names:
        a, b = (Path(BUILD / f / name).read_bytes() for f in ("base", "off"))
        wrong = compare(a, b)
        failed += bool(wrong)
        print(f"    {'differs  ' if wrong else 'identical'} {name} ({len(b)} bytes)")
        for line in wrong:
            print(f"        {line}")
    self_test((BUILD / "off" / names[0]).read_bytes())
    say("self-test: a changed constant and call are caught, a line number is not")
    print(f"off-check: {len(names) - failed} of {len(names)} objects identical")
    sys.stdout.flush()
    return 1 if failed else 0


def configuration(path):
    """A .config as {symbol: value}."""
    return {m[1]: m[2] for m in re.finditer(r"^CONFIG_(\w+)=(.+)$",
                                            Path(path).read_text("utf-8"), re.M)}


if __name__ == "__main__":
    ui.main(run)
