#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The tests that need a guest whose caches and DRAM are modelled.

The model is compared with pagemap, with a repeated run of itself, and with what is known of
access patterns. A guest runs the kselftests of the mcube_sim PMU, a second guest runs the
perf tool on that PMU, and a third guest runs the mcube command. All results are counts of the
model; none is a time. As a command:

    guests_model.py [model | patterns | banks | selftests | perf | command | verify]
"""

import contextlib
import json
from concurrent.futures import ThreadPoolExecutor

import guests
import guests_kselftest
from lib import ui
from lib.modelled import Model
from lib.ui import BUILD, ROOT, Failure, say
from qemu import Guest, image

PERF = ROOT / "tools/testing/mcube/sim_perf.sh"


def model_guest(script, name, icount=False, keys=None):
    """Run a script with mcube-model on the small modelled machine, with changed keys."""
    guest = Guest(image(), smp=2, mem="1G", model=Model("small", keys), icount=icount)
    guest.root.file(guests.program("mcube-model"), "/guest/mcube-model")
    return guest.run(script, name, timeout=600)


def model():
    """Compare the model with pagemap, and three equal runs of it with each other."""
    check = model_guest("/guest/mcube-model check -c 2\n", "model-check")
    say(check.output.strip().replace("\n", "\n      "))
    out = [("model: physical addresses are pagemap's", "ok" if check.ok else "not ok")]
    count = ("/guest/mcube-model run -m -c 2 -n 300000 -k 2048 -p halt -r 2 "
             "-s llc_misses:100 >/results/out; grep -v seconds /results/out\n")
    with ThreadPoolExecutor(2) as pool:
        runs = list(pool.map(lambda i: model_guest(count, f"model-count-{i}", icount=True),
                             range(3)))
    same = all(r.ok and r.output == runs[0].output for r in runs) and "llc_misses" in \
        runs[0].output
    if not same:
        for a, b in zip(runs[0].output.splitlines(), zip(*(
                r.output.splitlines() for r in runs[1:]))):
            if set(b) != {a}:
                ui.reason(f"{a}; other runs: {', '.join(b)}")
    return out + [("model: three runs count the same", "ok" if same else "not ok"),
                  guests.verdict("model-check", check)]


def patterns():
    """What the model tells from the instructions and accesses of known patterns.

    With overlapping misses a pointer chase gains nothing and a stream does. With coherence,
    words of one line cost misses and words in lines of their own do not.
    """
    script = "".join(
        f"echo pattern {name}\n"
        f"/guest/mcube-model run -m -c {cpus} -p {name} -k 16384 -n {accesses}\n"
        for name, cpus, accesses in (("chase", 1, 200000), ("line", 1, 200000),
                                     ("share", 2, 400000), ("apart", 2, 400000)))
    result = model_guest(script, "model-patterns",
                         keys={"cpu.misses": "8", "coherence.latency": "60"})
    count, name = {}, None
    for word in map(str.split, result.output.splitlines()):
        if word[:1] == ["pattern"]:
            name = word[1]
        elif word[:1] == ["count"]:
            count[name, word[3]] = count.get((name, word[3]), 0) + int(word[4])

    def each(pattern, event, of):
        return count.get((pattern, event), 0) / (count.get((pattern, of)) or 1)

    chase, line = (each(p, "cycles", "llc_misses") for p in ("chase", "line"))
    share, apart = (each(p, "coherence_misses", "accesses") for p in ("share", "apart"))
    # How often two CPUs meet in a line depends on how the host runs them; that they meet does not.
    say(f"cycles for a miss: chase {chase:.0f}, line {line:.0f}; coherence misses for an "
        f"access: share {share:.2f}, apart {apart:.4f}")
    return [("model: a pointer chase gains nothing from overlap",
             "ok" if result.ok and chase > 120 else "not ok"),
            ("model: a stream gains from overlap",
             "ok" if result.ok and 0 < line < chase / 4 else "not ok"),
            ("model: false sharing costs coherence misses",
             "ok" if result.ok and share > 10 * apart else "not ok"),
            ("model: lines of their own cost none",
             "ok" if result.ok and apart < 0.01 else "not ok"),
            guests.verdict("model-patterns", result)]


def probed(kernel, model, options, name):
    """Find the banks of a model by timing in its guest: (result of the run, the last line)."""
    program = BUILD / "probe-static"
    with ui.lock("probe-static"):
        ui.sh("make", "-s", "-C", ROOT / "tools/mcube/probe", f"O={program}", "LDFLAGS=-static")
    guest = Guest(kernel, smp=1, mem="1G", model=model)
    guest.root.file(program / "mcube-probe", "/guest/mcube-probe")
    result = guest.run(f"/guest/mcube-probe banks -t model {options}\n", name, timeout=600)
    return result, (result.output.strip().splitlines() or [""])[-1]


def banks():
    """The banks that the model was given."""
    result, found = probed(image(), "small", "-M 128 -k 4K -v 100", "model-banks")
    say(found)
    # The four functions of small.conf, the lightest that tell its banks apart.
    right = '"masks": ["0x2000", "0x24000", "0x48000", "0x90000"]' in found
    return [("model: the banks of its map are found again",
             "ok" if result.ok and right else "not ok"), guests.verdict("model-banks", result)]


def perf():
    """Run Debian's perf on the PMU: counts and samples."""
    guest = Guest(image(), smp=2, mem="1G", model="small", programs=["perf"])
    result = guest.run(PERF, "perf-model", timeout=300)
    return guests.outcome("perf-model", result, "perf: ")


def command():
    """The mcube command on a machine that has a PMU."""
    return guests.command("command-model", smp=2, mem="1G", model="small")


# Modelled machines whose colors are verified in guests: (machine, changed keys, L2, last level,
# both as --cache has them).
WIDE = {"llc.size": "16M", "llc.ways": "4", "color_map": "0x80000 0x100000 0x200000"}
GUESTS = {"small": ("small", {}, "2:128K:8", "3:1M:16"),
          "sliced": ("sliced", {}, "2:256K:4", "3:8M:16"),
          "i7-860": ("i7-860", {}, "2:256K:8", "3:8M:16"),
          "wide": ("small", WIDE, "2:128K:8", "3:16M:4")}
BITS = {"1G": 30, "2M": 21, "4K": 12}
# A reader on the other CPU, whose lines evict others from the shared level now and then.
NOISE = """
/guest/mcube-model work -p mixed -k 256 -n 1000000000 >/dev/null 2>&1 &
noise=$!
"""


def truth(masks, backing):
    """What a guest should find: do all masks lie below the end of the backing's pages?"""
    return "holds" if all(m < 1 << BITS[backing] for m in masks) else "does not hold"


def judge(found, true):
    """A verdict as a result: unknown, right or wrong."""
    return "unknown" if found == "unknown" else "right" if found == true else "wrong"


def verdicts(got):
    """(masks, what was found) of a level; of its masks below 2 MiB too, if they were tried."""
    for part in filter(None, (got, got.get("below_2m"))):
        yield [int(m, 16) for m in part["masks"]], part


def verified(name, backing, noise):
    """Rows of `mcube map verify` in a guest: what it found, and what is true."""
    machine, keys, *caches = GUESTS[name]
    # 1 GiB of host memory for 1 GiB of guest memory cannot be shuffled; the seed may move it.
    guest = Guest(image(), smp=2, mem="1G",
                  model=Model(machine, {**keys, "backing": backing, "backing.seed": "5"}))
    guests.install_command(guest.root)
    guest.root.file(guests.program("mcube-model"), "/guest/mcube-model")
    title = f"verify-{name}-{backing}" + ("-noise" if noise else "")
    result = guest.run((NOISE if noise else "") + "mcube map verify --json "
                       + " ".join(f"--cache {c}" for c in caches)
                       + " >/results/out || [ $? = 1 ]\n"
                       + ("kill $noise\n" if noise else "") + "cat /results/out\n",
                       title, timeout=1200)
    data = None
    with contextlib.suppress(ValueError):
        data = json.loads(result.output[result.output.index("{"):result.output.rindex("}") + 1])
    if not result.ok or not data:
        raise Failure(f"{title}: {result.why() if not result.ok else 'no result'}",
                      f"see {result.console}")
    rows = []
    for got in data["levels"]:
        for masks, part in verdicts(got):
            true, load = truth(masks, backing), part.get("load", {})
            state = judge(part["verdict"], true)
            rows.append({"guest": name, "level": got["level"], "backing": backing,
                         "noise": "yes" if noise else "no",
                         "masks": f"{len(masks)}, to bit {max(masks).bit_length() - 1}"
                         if masks else "-", "found": part["verdict"], "true": true,
                         "state": state, "confidence": part["confidence"], "why": part["why"],
                         **{k: load[k][1] if k in load else "-" for k in ("same", "even")}})
    return rows


def verify():
    """The stage's short case: colors of L2 and the last level by 2 MiB and by 4 KiB pages."""
    out = []
    for backing in ("2M", "4K"):
        rows = verified("small", backing, False)
        for row in rows:
            say(f"verify, {backing}: L{row['level']} {row['found']}, {row['why']}")
        bad = [r for r in rows if r["state"] == "wrong"]
        right = [r for r in rows if r["state"] == "right"]
        out.append((f"verify: guest backed by {backing} pages, nothing wrong, most levels known",
                    "ok" if not bad and len(right) * 2 > len(rows) else "not ok"))
    return out


PARTS = {"model": model, "patterns": patterns, "banks": banks,
         "selftests": guests_kselftest.modelled,
         "perf": perf, "command": command, "verify": verify}


def everything():
    """The stage of make test."""
    return guests.together(*PARTS.values())


def run():
    """Command line."""
    parser = ui.parser(__doc__)
    parser.add_argument("what", nargs="?", choices=list(PARTS))
    args = parser.parse_args()
    return guests.report(PARTS[args.what]() if args.what else everything())


if __name__ == "__main__":
    ui.main(run)
