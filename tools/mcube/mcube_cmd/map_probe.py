# SPDX-License-Identifier: GPL-2.0
"""mcube map probe: find the DRAM banks of this machine by timing, or say why not."""

import re
from pathlib import Path

from . import addrmap, known, machine, probe
from .term import Failure, print_json

HYPOTHESES = 16    # that mcube-probe takes
PAGES = ("1G", "2M", "4K")


def arguments(parser):
    """Options of probe that are about banks."""
    group = parser.add_argument_group("finding banks ('mcube map probe')")
    group.add_argument("--memory", metavar="MIB", type=int,
                       help="time so much memory (default: 1024, or half of what is free)")
    group.add_argument("--page", choices=PAGES,
                       help="back it by pages of this size (default: the largest to be had)")
    group.add_argument("--verify", metavar="PAIRS", type=int,
                       help="time so many new pairs of each kind for the map found (400)")
    group.add_argument("--seed", type=int, help="of the lines that are chosen")
    group.add_argument("--clock", choices=["tsc", "model"],
                       help="model: in a guest whose caches and DRAM are modelled")
    group.add_argument("--hypothesis", metavar="MAP", action="append", default=[],
                       help="try this bank map first; it counts only if timing confirms it "
                            "(default: those of 'mcube map known' that may fit)")
    group.add_argument("--functions", metavar="FILE",
                       help="the same from a file: a mask or a list of address bits on each line")
    group.add_argument("--out", metavar="FILE", help="write the map to this file")


def functions(path):
    """Masks of a file of functions as other tools write them, as the text of a map."""
    try:
        text = Path(path).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as e:
        raise Failure(f"{path} cannot be read: {e}") from e
    out = []
    for line in text.splitlines():
        words = re.split(r"[\s,;()^]+", line.partition("#")[0].strip(" \t()[]{}"))
        words = [w for w in words if w]
        if not words:
            continue
        if len(words) == 1 and re.fullmatch(r"0[xX][0-9a-fA-F]{1,16}", words[0]):
            out.append(int(words[0], 16))
        elif all(re.fullmatch(r"[0-9]{1,2}", w) and int(w) < 52 for w in words):
            out.append(sum(1 << b for b in set(map(int, words))))
        else:
            raise Failure(f"{path}: '{line.strip()}' is no address function",
                          "write a mask like 0x24000, or address bits like '14 17', on each line")
    if not out:
        raise Failure(f"{path} has no address function")
    return " ".join(f"{m:#x}" for m in out)


def published():
    """Maps of the data base that may be this machine's and that the kernel's form can say."""
    return [k.section["functions"]["bank"] for k in known.hypotheses() if k.bank and not k.offset]


def words(args):
    """The command line of mcube-probe."""
    maps = [*args.hypothesis, *([functions(args.functions)] if args.functions else [])]
    maps = (maps or published())[:HYPOTHESES]
    out = ["banks"]
    for option, value in (("-M", args.memory), ("-k", args.page), ("-v", args.verify),
                          ("-s", args.seed), ("-t", args.clock), *(("-H", m) for m in maps)):
        if value is not None:
            out += [option, str(value)]
    return out


def unseen(found):
    """Address bits of this machine's memory that were the same in all that was timed."""
    end = machine.memory_end()
    top = (end - 1).bit_length() if end else 0
    bits = set(found["seen_bits"])
    return [b for b in range(addrmap.PAGE_SHIFT, top) if bits and b not in bits]


def bits(mask):
    """Address bits of a mask."""
    return ", ".join(str(b) for b in range(mask.bit_length()) if mask >> b & 1)


def figures(found):
    """What was timed, in a line or two."""
    t, m = found["latency"], found["memory"]
    yield (f"timed: {found['timed']} pairs of lines in {m['bytes'] >> 20} MiB ({m['how']}, pages "
           f"of {m['page'] >> 10} KiB), clock: {found['clock']}")
    yield (f"latencies: {t['low']:.4g} and {t['high']:.4g} {t['unit']}, {t['share']:.2%} of random "
           f"pairs in the upper mode, which stay there with a confidence of {t['confidence']:.0%}")


def show(found):
    """A map that was found, for people."""
    sure = found["verified"]
    print(f"{found['banks']} banks")
    for mask in (int(m, 16) for m in found["masks"]):
        print(f"  parity of address bits {bits(mask)}   {mask:#x}")
    if found["offset"]:
        print(f"  of the address plus {found['offset']:#x}")
    for mask in (int(m, 16) for m in found["quotient_masks"]):
        print(f"  parity of bits {bits(mask)} of address / {found['modulus']}")
    if found["modulus"]:
        print(f"  {found['modulus']} channels take turns every {found['turn']} bytes")
    if found["hypothesis"] != "none":
        print(f"the hypothesis: {found['hypothesis']}")
    if not found["within_pages"]:
        print("functions within a page: not known")
    for name in ("row", "column"):
        if found[f"{name}_bits"]:
            print(f"{name} bits: {', '.join(map(str, found[f'{name}_bits']))}")
    print(f"verified: {sure['same_hold']} of {sure['same']} new pairs in one bank conflict, "
          f"{sure['other_hold']} of {sure['other']} in two banks do not; confidence "
          f"{found['confidence']:.1%}")
    for line in figures(found):
        print(line)
    if found["unseen_bits"]:
        print(f"note: address bits {', '.join(map(str, found['unseen_bits']))} did not differ in "
              "the memory that was timed: the map may lack them; give --memory or --page 4K")
    if found["bank_map"]:
        print(f"for the kernel: mcube map set --bank \"{found['bank_map']}\"")
    else:
        print("the kernel's form of a map cannot say this; see Documentation/admin-guide/mm/mcube/"
              "probe.rst")


def write(path, found):
    """The map as a file, in the form of tools/mcube/maps/."""
    if not found["bank_map"]:
        raise Failure("there is no map that the kernel takes, so nothing is written")
    seen = found["seen_bits"] or [addrmap.PAGE_SHIFT]
    text = ("[map]\ntitle = banks of this machine\n"
            f"source = mcube map probe: {found['timed']} pairs, confidence "
            f"{found['confidence']:.4f}\n\n[functions]\n"
            f"bank = {found['bank_map']}\ntop = {max(seen)}\n")
    try:
        Path(path).write_text(text, "utf-8")
    except OSError as e:
        raise Failure(f"{path} cannot be written: {e.strerror}") from e


def run(args):
    """mcube map probe, without --colors."""
    found = probe.run(words(args), "timing pairs of lines")
    found["unseen_bits"] = unseen(found)
    if args.json:
        print_json(found)
    elif found["known"]:
        show(found)
    else:
        for line in figures(found):
            print(line)
        if found["sets"]:
            print(f"bank sets: {found['sets']} of {found['lines']} lines; pairs of one set that "
                  f"conflict: {found['within']:.0%}, of two sets: {found['across']:.0%}")
    if not found["known"]:
        raise Failure(f"the banks are not known: {found['why']}",
                      "see 'What the messages mean' in Documentation/admin-guide/mm/mcube/"
                      "probe.rst; a guest that shares its host often cannot know")
    if args.out:
        write(args.out, found)
    return 0
