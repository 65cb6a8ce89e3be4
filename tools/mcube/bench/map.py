#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Are the banks of a described machine found again, by timing alone?

Each row is a machine description with its memory and its noise. Most rows run
mcube-model-banks, which times the modelled DRAM itself, without a guest; rows marked "guest"
run mcube-probe in QEMU, whose clock is the model's cycles. The answer is compared with the
description on addresses drawn at random:

    exact       it has the same addresses in one bank as the description
    refused     it says that the map is unknown, and why
    wrong       it says something else

A row that is run with several seeds counts as the worst of its outcomes. Rows that no map can
describe have to be refused. All times are simulated.
"""

import json
import random
import shlex
import subprocess
import sys
import time

import lab  # first: it makes tools/mcube/dev importable
import guests_model
from lab import Failure
from lib import modelled, ui
from mcube_cmd.term import print_table
from qemu import image

ADDRESSES = 20000
ONE = {"dram.channels": "none"}
HIGH = {"dram.banks": "0x9010000 0x12020000 0x24040000 0x10080000", **ONE}
OUTCOMES = ("exact", "refused", "wrong")
NOISE = "-j 25 -o 20 -r"

# Name, machine, changed keys, memory and noise, whether there is an answer.
MODELS = [
    ("easy", "small", {"dram.banks": "0x2000 0x4000 0x8000", "dram.row": "64K", **ONE}, "", True),
    ("2 channels", "small", {}, "", True),
    ("1 rank", "small", {"dram.banks": "0x2040 0x24000 0x48000 0x90000", **ONE}, "", True),
    ("2 ranks", "small",
     {"dram.banks": "0x2040 0x44000 0x88000 0x110000 0x220000", "dram.row": "256K", **ONE}, "",
     True),
    ("2 channels by line", "i7-860", {}, "", True),
    ("2 channels, 4 ranks", "small",
     {"dram.banks": "0x84000 0x108000 0x440000 0x220000 0x10000", "dram.channels": "0xc3380",
      "dram.row": "512K"}, "", True),
    ("4 channels", "small",
     {"dram.banks": "0x44000 0x88000 0x110000 0x220000 0x2000", "dram.channels": "0x1140 0x2480",
      "dram.row": "1M"}, "", True),
    ("slices", "sliced", {}, "", True),
    ("3 channels by page", "x5570", {}, "", True),
    ("paper, 96 banks", "x3650m2", {}, "", True),
    ("AMD-like offset", "small", {"dram.offset": "0x13000000", **HIGH}, "", True),
    ("scattered pages", "small",
     {"dram.banks": "0x2040 0x40044000 0x200088000 0x110000", **ONE}, "-k 0x200000", True),
    ("1 rank, noise", "small", {"dram.banks": "0x2040 0x24000 0x48000 0x90000", **ONE}, NOISE,
     True),
    ("slices, noise", "sliced", {}, NOISE, True),
    ("paper, noise", "x3650m2", {}, NOISE, True),
    ("offset, noise", "small", {"dram.offset": "0x5000000", **HIGH}, NOISE, True),
    ("fine offset", "small", {"dram.offset": "0x100000", **HIGH}, "", False),
    ("3 ranks of 4", "small", {"dram.banks": "0x24000 0x48000 0x90000", **ONE,
                               "dram.rank_table": "0 1 2 1", "dram.rank_granule": "1M"}, "",
     False),
    ("latency by line", "small", {}, "-e", False),
    ("one bank", "small", {"dram.banks": "none", **ONE}, "", False),
    ("much noise", "small", {}, "-j 400 -o 60 -r", False),
    ("guest, 2 channels", "small", {}, "guest", True),
    ("guest, 3 channels", "x5570", {}, "guest", True),
    ("guest, 2 MiB pages behind it", "small", {"backing": "2M", "backing.seed": "3"}, "guest",
     True),
]


def parity(x):
    """1 if an odd number of bits is set."""
    return x.bit_count() & 1


def masks(text):
    """Numbers of a list of masks."""
    return [] if text in (None, "none") else [int(w, 16) for w in text.split()]


def number(text):
    """A number with a unit."""
    text = str(text)
    unit = "KMG".find(text[-1]) + 1
    return int(text[:-1] if unit else text, 0) << 10 * unit


def truth(description):
    """The bank of an address by a description, as a function."""
    bank, channel = masks(description.get("dram.banks")), masks(description.get("dram.channels"))
    offset = number(description.get("dram.offset", 0))
    tables = []
    for name in ("", "bank_", "rank_"):
        words = description.get(f"dram.{name}table", "none")
        if words != "none":
            tables.append((number(description.get(f"dram.{name}granule", "4K")),
                           [int(w) for w in words.split()]))

    def value(address):
        address += offset
        return (*(parity(address & m) for m in bank + channel),
                *(t[address // g % len(t)] for g, t in tables))
    return value


def answer(found):
    """The bank of an address by an answer, as a function."""
    mask, quotient = ([int(m, 16) for m in found[k]] for k in ("masks", "quotient_masks"))
    offset, modulus, turn = found["offset"], found["modulus"], found["turn"]

    def value(address):
        out = [parity(address + offset & m) for m in mask]
        if modulus:
            out += [parity(address // modulus & m) for m in quotient]
            out.append(address // turn % modulus)
        return tuple(out)
    return value


def outcome(description, found):
    """exact, refused or wrong."""
    if not found["known"]:
        return "refused"
    mine, theirs = truth(description), answer(found)
    rnd, to, back = random.Random(1), {}, {}
    step = 64 if found["within_pages"] else 4096
    seen = [b for b in found["seen_bits"] if 1 << b >= step]
    for _ in range(ADDRESSES):
        address = sum(rnd.getrandbits(1) << b for b in seen)
        a, b = mine(address), theirs(address)
        if to.setdefault(a, b) != b or back.setdefault(b, a) != a:
            return "wrong"
    return "exact" if found["within_pages"] or len(back) == len(to) else "wrong"


def in_guest(args, name, model, memory="-M 256 -k 4K"):
    """Run the probe in a guest of a modelled machine; the last line that it prints."""
    result, found = guests_model.probed(
        args.kernel or image(), model, f"{memory} -v {args.pairs}",
        f"bench-map-{name.replace(' ', '-').replace(',', '')}")
    result.need(name)
    return json.loads(found)


def alone(name, model, keys, options, seed):
    """Run the probe on the model's DRAM without a guest."""
    got = subprocess.run(
        [modelled.build() / "mcube-model-banks", *shlex.split(options), "-s", str(seed),
         model.path, *(f"{k}={v}" for k, v in keys.items())],
        text=True, capture_output=True, check=False)
    if got.returncode:
        raise Failure(f"{name}: {got.stderr.strip()}")
    return json.loads(got.stdout)


def run_row(args, name, machine, keys, options, known):
    """A row of the result: the worst of all seeds."""
    model = modelled.Model(machine, keys)
    began = time.monotonic()
    runs = ([in_guest(args, name, model)] if options == "guest" else
            [alone(name, model, keys, options, s) for s in range(1, args.seeds + 1)])
    worst, found = max(((outcome(model.description, f), f) for f in runs),
                       key=lambda r: OUTCOMES.index(r[0]))
    return {"name": name, "machine": machine, "keys": keys, "options": options, "has_map": known,
            "outcome": worst, "why": found["why"],
            "banks": found.get("banks"), "bank_map": found.get("bank_map"),
            "confidence": found["confidence"], "timed": found["timed"], "sets": found["sets"],
            "simulated_seconds": found.get("simulated_seconds"),
            "host_seconds": round(time.monotonic() - began, 1)}


def run():
    """Command line."""
    parser = ui.parser(__doc__)
    parser.add_argument("--kernel", help="bzImage (default: build/test)")
    parser.add_argument("--seeds", type=int, default=1,
                        help="of lines and noise, for rows without a guest (default 1)")
    parser.add_argument("--pairs", type=int, default=400, help="that verify a map in a guest")
    parser.add_argument("--only", metavar="WORD", help="rows whose name has this word")
    parser.add_argument("--no-guests", action="store_true", help="without the rows in QEMU")
    args = parser.parse_args()
    modelled.build()
    rows = []
    for model in MODELS:
        if (args.only and args.only not in model[0]) or (args.no_guests and model[3] == "guest"):
            continue
        rows.append(run_row(args, *model))
        ui.say(f"{rows[-1]['name']}: {rows[-1]['outcome']}")
    print_table(["machine", "banks", "outcome", "confidence", "pairs timed", "why"],
                [[r["name"], r["banks"] or "-", r["outcome"], f"{r['confidence']:.3f}",
                  r["timed"], r["why"] or ""] for r in rows])
    summary = {k: sum(r["outcome"] == k for r in rows) for k in OUTCOMES}
    summary["without_map_refused"] = sum(r["outcome"] == "refused" and not r["has_map"]
                                         for r in rows)
    summary["simulated_seconds_max"] = max((r["simulated_seconds"] or 0 for r in rows), default=0)
    parameters = {"kind": "simulated; rows without 'guest' run the model's DRAM without QEMU",
                  "seeds": args.seeds, "addresses": ADDRESSES}
    path = lab.save("map", parameters, rows, summary)
    print("\n" + "\n".join(f"{k}: {v}" for k, v in summary.items()) + f"\nwritten: {path}")
    return 1 if summary["wrong"] else 0


if __name__ == "__main__":
    sys.exit(ui.main(run))
