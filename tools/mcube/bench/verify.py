#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Is `mcube map verify` right in guests whose backing it cannot see?

Each guest runs on a modelled machine, and the host backs it by shuffled pages of 1 GiB, 2 MiB or
4 KiB. What should be found is known: masks below the size of the backing hold, masks above do
not. The guest's kernel gives the probe huge pages or small ones, and noise disturbs a part of the
timings. mcube-probe's code runs as it is, on the model without QEMU; with --qemu guests of QEMU are
booted as well, where the whole command runs, and noise is another CPU that reads memory.

    make bench-verify
    make bench-verify ARGS="--only small --backing 2M --seeds 10"
    make bench-verify ARGS="--qemu"

guest_right and guest_wrong count verdicts; guest_unknown those that were refused.
"""

import itertools
import json
import statistics
import subprocess
from concurrent.futures import ThreadPoolExecutor

import lab  # first: it makes the other packages importable
import guests_model
from lib import ui
from lib.ui import BUILD, ROOT, Failure
from mcube_cmd.term import print_table

BACKING = ("1G", "2M", "4K")
# (percent of the timings that are disturbed, log2 of the pages that the guest's kernel gives)
CONDITIONS = ((0, 21), (20, 12))
WIDE = ("llc.size", "16M", "llc.ways", "4")


def masks(first, last):
    """Masks of single address bits."""
    return [1 << bit for bit in range(first, last + 1)]


# (machine, changed keys, level, bytes, masks of the map); the last two share a machine whose
# sets are chosen by address bits up to 21.
MAPS = (("small", (), 2, 128 << 10, masks(12, 13)), ("small", (), 3, 1 << 20, masks(12, 15)),
        ("sliced", (), 2, 256 << 10, masks(12, 15)), ("sliced", (), 3, 8 << 20, masks(12, 16)),
        ("i7-860", (), 2, 256 << 10, masks(12, 14)), ("i7-860", (), 3, 8 << 20, masks(12, 18)),
        ("small", WIDE, 3, 16 << 20, masks(18, 20)), ("small", WIDE, 3, 16 << 20, masks(19, 21)))


def cases(args):
    """Each guest in turn."""
    for (machine, *rest), backing, (noise, shift) in itertools.product(MAPS, args.backing,
                                                                       CONDITIONS):
        if machine in args.only:
            yield machine, *rest, backing, noise, shift


def judged(program, seeds, case):
    """A row: what was found in guests that differ by their seed."""
    machine, keys, level, size, bits, backing, noise, shift = case
    true, found = guests_model.truth(bits, backing), []
    for seed in range(1, seeds + 1):
        words = f"-l {level} -b {size} -m {','.join(map(hex, bits))}"
        done = subprocess.run([program, machine, backing, str(shift), "1", str(noise), str(seed),
                               words, *keys], stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode:
            raise Failure(f"a guest of {machine} failed", f"run it: {' '.join(done.args)}")
        found.append(json.loads(done.stdout))
    states = [guests_model.judge(f["verdict"], true) for f in found]
    load = {k: f"{statistics.median(f['load'][k][1] for f in found if k in f['load']):.3g}"
            for k in ("same", "even") if any(k in f["load"] for f in found)}
    return {"guest": machine + (", wide" if keys else ""), "level": level, "backing": backing,
            "noise": f"{noise} %", "pages": "4K" if shift == 12 else "2M",
            "masks": f"{len(bits)}, to bit {max(bits).bit_length() - 1}", "true": true,
            **{s: states.count(s) for s in ("right", "wrong", "unknown")}, **load}


def arguments():
    """Command line."""
    parser = ui.parser(__doc__)
    parser.add_argument("--only", nargs="+", choices=sorted({m[0] for m in MAPS}),
                        default=sorted({m[0] for m in MAPS}))
    parser.add_argument("--backing", nargs="+", choices=BACKING, default=list(BACKING))
    parser.add_argument("--seeds", type=int, default=1, help="guests of each kind (default 1)")
    parser.add_argument("--jobs", type=int, default=2, help="guests at a time")
    parser.add_argument("--qemu", action="store_true", help="boot guests of QEMU as well")
    return parser.parse_args()


def booted(args):
    """Rows of guests of QEMU."""
    rows = []
    todo = [c for c in itertools.product(guests_model.GUESTS, args.backing, (0, 1))
            if guests_model.GUESTS[c[0]][0] in args.only]
    lab.boot_all([lambda c=c: rows.extend(guests_model.verified(*c)) for c in todo], args.jobs)
    for row in rows:
        state = row.pop("state")
        row |= {"guest": f"{row['guest']}, QEMU", "pages": "-",
                **{s: int(s == state) for s in ("right", "wrong", "unknown")}}
    return rows


def main():
    """Run the guests, print the table, write the result."""
    args = arguments()
    program = BUILD / "verify/guest"
    with ui.lock("verify"):
        ui.sh("make", "-s", "-C", ROOT / "tools/mcube/model/tests", "SANITIZE=",
              f"O={BUILD / 'verify'}", program)
    with ThreadPoolExecutor(args.jobs) as pool:
        rows = list(pool.map(lambda c: judged(program, args.seeds, c), list(cases(args))))
    rows += booted(args) if args.qemu else []
    columns = ("guest", "level", "masks", "backing", "pages", "noise", "true", "right", "wrong",
               "unknown", "same", "even")
    print_table(columns, [[r.get(c, "-") for c in columns] for r in rows], 7)
    summary = {f"guest_{s}": sum(r[s] for r in rows) for s in ("right", "wrong", "unknown")}
    path = lab.save("verify", {"kind": "verdicts in guests of modelled machines (simulated); "
                               "loads in cycles", "seeds": args.seeds,
                               "qemu": args.qemu}, rows, summary)
    print("\n" + "\n".join(f"{k}: {v}" for k, v in summary.items()) + f"\nwritten: {path}")
    return int(summary["guest_wrong"] > 0)


if __name__ == "__main__":
    ui.main(main)
