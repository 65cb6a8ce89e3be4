#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""The model itself: its agreement with another simulator, its speed, its cost while off.

Three measurements, in one run:

    agreement   the same programs through valgrind's cachegrind and, by traces of
                valgrind's lackey, through the model's core: data accesses that miss
                the last level. One CPU, virtual addresses taken as physical, LRU.
    speed       seconds for 10^8 modelled accesses of a guest with two CPUs, mixed
                loads and stores, with all parts of the model on: slices, SRRIP,
                stride prefetcher, DRAM, samplers on both CPUs
    off         user CPU seconds of QEMU for the same guest without a plugin and with
                the plugin while the model is off: boot, a loop of loads and stores,
                and program starts. The two variants alternate; the result is the
                median of the ratios of the pairs, so that a run on a temporarily
                faster host does not decide. The plugin makes the translation of code
                more expensive: a fifth of a short boot, a twentieth of a long
                computation.

Only speed and off depend on the host and on its other load.
"""

import os
import random
import resource
import shlex
import statistics
import subprocess
from pathlib import Path

import lab  # first: it makes tools/mcube/dev importable
from lab import Failure
from lib import modelled, ui
from mcube_cmd.term import print_table
from qemu import Guest, image

TARGETS = {"cachegrind_rel_diff": 0.01, "seconds_1e8": 30.0, "off_ratio": 1.15}
ACCESSES = 10 ** 8
MACHINE = "sliced"
PREFETCH = {"prefetch.kind": "stride"}
CPUS = 2

# Geometry of the agreement: first level and last level, as cachegrind wants them.
FIRST = (32768, 8, 64)
LASTS = ((1 << 20, 16, 64), (1 << 17, 8, 64))


def trace_programs(folder, numbers):
    """[(name, argv)] of programs to trace: a real program and known patterns."""
    text = folder / "numbers.txt"
    rnd = random.Random(1)
    text.write_text("".join(f"{rnd.getrandbits(40)}\n" for _ in range(numbers)), "ascii")
    tool = str(lab.guest_tool("mcube-model"))
    return [
        ("sort", ["sort", "--parallel=1", str(text)]),
        ("mixed", [tool, "work", "-p", "mixed", "-k", "4096", "-n", "500000"]),
        ("line", [tool, "work", "-p", "line", "-k", "1100", "-n", "300000"]),
    ]


def environment():
    """Equal for both tools, and small, since it lies on the stack of the program."""
    return {"PATH": os.environ["PATH"], "LC_ALL": "C"}


def replay(argv, last):
    """Trace a program into the model; returns the counts."""
    keys = [f"l1.size={FIRST[0]}", f"l1.ways={FIRST[1]}", f"line={FIRST[2]}", "l2.size=0",
            f"llc.size={last[0]}", f"llc.ways={last[1]}"]
    tool = [str(modelled.build() / "mcube-model-replay"),
            str(modelled.MACHINES / "small.conf"), *keys]
    traced = ["setarch", "-R", "valgrind", "-q", "--tool=lackey", "--trace-mem=yes",
              "--log-fd=9", *argv]
    pipe = f"{shlex.join(traced)} 9>&1 >/dev/null 2>/dev/null | {shlex.join(tool)}"
    got = subprocess.run(["bash", "-o", "pipefail", "-c", pipe], text=True, check=False,
                         capture_output=True, env=environment())
    if got.returncode:
        raise Failure(f"replay of {argv[0]} failed: {got.stderr.strip()}",
                      "is valgrind installed? tools/mcube/dev/deps.sh bench")
    return {k: int(v) for k, v in (line.split() for line in got.stdout.splitlines())}


def cachegrind(argv, last, folder):
    """Run the same program in cachegrind; returns the events."""
    out = folder / "cachegrind.out"
    got = subprocess.run(
        ["setarch", "-R", "valgrind", "-q", "--tool=cachegrind", "--cache-sim=yes",
         f"--cachegrind-out-file={out}", *[f"--{c}={','.join(map(str, FIRST))}"
                                           for c in ("I1", "D1")],
         f"--LL={','.join(map(str, last))}", *argv],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False,
        env=environment())
    if got.returncode:
        raise Failure(f"cachegrind of {argv[0]} failed: {got.stderr.strip()}",
                      "is valgrind installed? tools/mcube/dev/deps.sh bench")
    events = {}
    for line in out.read_text("utf-8").splitlines():
        word, _, rest = line.partition(": ")
        events[word] = rest.split()
    return dict(zip(events["events"], map(int, events["summary"])))


def agreement(args):
    """Rows of the comparison."""
    folder = ui.BUILD / "bench-model"
    folder.mkdir(parents=True, exist_ok=True)
    rows = []
    for name, argv in trace_programs(folder, args.numbers):
        for last in LASTS:
            mine, other = replay(argv, last), cachegrind(argv, last, folder)
            theirs = other["DLmr"] + other["DLmw"]
            l1 = other["D1mr"] + other["D1mw"]
            if theirs < 1000:
                raise Failure(f"{name}: only {theirs} misses, too few to compare")
            rows.append({
                "kind": "agreement", "program": name, "llc_bytes": last[0],
                "llc_ways": last[1], "accesses": mine["data_accesses"],
                "accesses_cachegrind": other["Dr"] + other["Dw"],
                "l1_misses": mine["data_l1_misses"], "l1_misses_cachegrind": l1,
                "llc_misses": mine["data_llc_misses"], "llc_misses_cachegrind": theirs,
                "rel_diff": abs(mine["data_llc_misses"] - theirs) / theirs})
    return rows


def boot(args, model):
    """The guest of speed and off."""
    guest = Guest(args.kernel or image(), smp=CPUS, mem="1G", model=model)
    guest.root.file(lab.guest_tool("mcube-model"), "/guest/mcube-model")
    return guest


def speed(args):
    """Seconds for 10^8 modelled accesses."""
    each = args.accesses // CPUS
    guest = boot(args, modelled.Model(MACHINE, PREFETCH))
    result = guest.run(f"/guest/mcube-model run -m -c {CPUS} -p mixed -k 8192 -n {each} "
                       "-s llc_misses:1000\n", "bench-model-speed", 900)
    result.need("speed")
    seconds, count = None, {}
    for line in result.output.splitlines():
        word = line.split()
        if word[0] == "round":
            seconds = float(word[3])
        elif word[0] == "count":
            count[word[3]] = count.get(word[3], 0) + int(word[4])
    if not seconds or count["accesses"] < args.accesses:
        raise Failure(f"speed: {count.get('accesses')} accesses, {args.accesses} were asked for",
                      f"console: {result.console}")
    return {"kind": "speed", "seconds": seconds, "machine": MACHINE, **count,
            "seconds_1e8": seconds * ACCESSES / count["accesses"],
            "million_per_second": count["accesses"] / seconds / 1e6}


def cpu_seconds(args, model, name):
    """User CPU time that QEMU takes for the guest of the off measurement.

    System time is left out: the number of pages that the host clears for a guest
    depends on the number of huge pages that are free.
    """
    script = (f"/guest/mcube-model work -p mixed -k 4096 -n {args.off_accesses}\n"
              f"for i in $(seq {args.off_programs}); do busybox true; done\n")
    guest = boot(args, model)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    result = guest.run(script, f"bench-model-{name}", 600)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    result.need(name)
    return after.ru_utime - before.ru_utime


def off(args):
    """The cost of the plugin while the model is off."""
    runs = {"none": [], "off": []}
    for _ in range(args.off_runs):
        runs["none"].append(cpu_seconds(args, None, "none"))
        runs["off"].append(cpu_seconds(args, modelled.Model(MACHINE), "off"))
    return {"kind": "off", "none": [round(x, 2) for x in runs["none"]],
            "off": [round(x, 2) for x in runs["off"]],
            "off_ratio": statistics.median(b / a for a, b in zip(runs["none"], runs["off"]))}


def show(rows, summary):
    """Tables and verdicts."""
    print("\ndata accesses that miss the last level, the model's core against cachegrind\n")
    print_table(
        ["program", "LLC", "accesses", "L1 misses", "cachegrind", "LLC misses", "cachegrind",
         "difference"],
        [[r["program"], f"{r['llc_bytes'] >> 10}K/{r['llc_ways']}", r["accesses"],
          r["l1_misses"], r["l1_misses_cachegrind"], r["llc_misses"],
          r["llc_misses_cachegrind"], f"{r['rel_diff']:.4%}"]
         for r in rows if r["kind"] == "agreement"])
    for r in rows:
        if r["kind"] == "speed":
            print(f"\nspeed: {r['accesses']} modelled accesses in {r['seconds']:.1f} s, "
                  f"{r['million_per_second']:.1f} million a second "
                  f"({r['llc_misses']} LLC misses, {r['dram_accesses']} of DRAM)")
        elif r["kind"] == "off":
            print(f"off: user CPU seconds without a plugin {r['none']}, "
                  f"with the model off {r['off']}")
    print()
    lab.verdicts(summary, TARGETS)


def run():
    """Command line."""
    parser = ui.parser(__doc__)
    parser.add_argument("--kernel", type=Path, help="bzImage (default: build/test)")
    parser.add_argument("--accesses", type=int, default=ACCESSES, help="of the speed guest")
    parser.add_argument("--numbers", type=int, default=4000, help="that sort sorts")
    parser.add_argument("--off-runs", type=int, default=5, help="of each variant")
    parser.add_argument("--off-accesses", type=int, default=200_000_000)
    parser.add_argument("--off-programs", type=int, default=1000)
    args = parser.parse_args()
    ui.sh(ui.ROOT / "tools/mcube/dev/deps.sh", "bench", quiet=False)
    steps = ui.Steps("bench-model", ["agreement", "speed", "off", "report"])
    modelled.build()
    steps("agreement")
    rows = agreement(args)
    steps("speed")
    rows.append(speed(args))
    steps("off")
    rows.append(off(args))
    steps("report")
    summary = {"off_ratio": round(rows[-1]["off_ratio"], 4),
               "seconds_1e8": round(rows[-2]["seconds_1e8"], 2),
               "cachegrind_rel_diff": round(max(r.get("rel_diff", 0) for r in rows), 6)}
    parameters = {
        "kind": "simulated (QEMU TCG plugin); seconds are the host's",
        "machine": MACHINE, "description": modelled.Model(MACHINE, PREFETCH).description,
        "cpus": CPUS, "accesses": args.accesses, "agreement_first_level": FIRST,
        "off_runs": args.off_runs, "off_accesses": args.off_accesses,
        "off_programs": args.off_programs, "qemu": lab.qemu_version(),
        "valgrind": ui.sh("valgrind", "--version").strip()}
    show(rows, summary)
    path = lab.save("model", parameters, rows, summary)
    print(f"\nwritten: {path}\n         {lab.RESULTS / 'report.md'}")
    steps.done()
    return 0


if __name__ == "__main__":
    ui.main(run)
