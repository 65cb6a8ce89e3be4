# SPDX-License-Identifier: GPL-2.0
"""mcube corun: what programs do to each other, with the policies off and on.

Each round runs, for each policy in turn, the victim alone and then against its
co-runners; rounds repeat, so that any drift falls on all policies alike.
A slowdown is the median cost together over the median cost alone, under the
same policy. Costs are cycles: of the CPU, or of the modelled machine in the
emulator, whose seconds mean nothing and are not shown. Without a PMU they are
seconds.
"""

import os
import platform
import subprocess
import tempfile
from pathlib import Path

from . import addrmap, corun_report, host, machine, perf, picture, policy, race
from .term import Failure, print_json

HELP = "run programs alone and together, policies off and on, and compare"
EXAMPLE = """examples:
  mcube corun --victim 'xz -T1 -c big >/dev/null' --with 'cat /data/* >/dev/null'
  mcube corun --victim ./a --with ./b --with ./c --cpus 0,2,4 --repeat 7
  mcube corun --victim ./a --with ./b --profile m3 --profile m3-paper --json
  mcube corun --victim ./a --with ./b --events cycles,instructions,LLC-load-misses
The victim and the co-runners are shell commands.
"""


def arguments(parser):
    """Options."""
    parser.add_argument("--victim", metavar="CMD", required=True, help="whose cost is measured")
    parser.add_argument("--with", metavar="CMD", required=True, action="append", dest="others",
                        help="what runs beside the victim, again and again until the victim "
                        "ends; repeatable")
    parser.add_argument("--profile", metavar="NAME", action="append", help="compare with this "
                        "profile; repeatable; 'off' for none (default: m3 where it can be set)")
    parser.add_argument("--repeat", metavar="N", type=int, default=3, help="rounds (default 3)")
    parser.add_argument("--cpus", metavar="LIST", help="CPUs of the victim and of each co-runner "
                        "(default: cores that share the last-level cache)")
    parser.add_argument("--before", metavar="CMD", help="run before each run, for example "
                        "'echo 3 > /proc/sys/vm/drop_caches'")
    parser.add_argument("--events", metavar="LIST", help="perf events to count instead; the "
                        "first event is the cost")
    parser.add_argument("--png", metavar="FILE", help="draw the result")
    parser.add_argument("--json", action="store_true", help="print JSON")


def choose_cpus(args, notes):
    """CPU of the victim, then of the co-runners."""
    need, allowed = 1 + len(args.others), os.sched_getaffinity(0)
    if args.cpus:
        cpus = host.cpu_list(args.cpus)
        if len(cpus) != need or not set(cpus) <= allowed:
            raise Failure(f"--cpus {args.cpus} does not fit: {need} CPUs are needed, of "
                          f"{','.join(map(str, sorted(allowed)))}", "name the victim's CPU, then "
                          "one for each co-runner")
        if len(set(cpus)) < need:
            notes.append("programs share a CPU and take turns on it: that costs as well")
        return cpus
    if cpus := machine.pick_cpus(need, allowed):
        return cpus
    if len(allowed) < need:
        raise Failure(f"{need} programs need {need} CPUs, and this process may use "
                      f"{len(allowed)}", "run fewer co-runners, or have them share CPUs by --cpus")
    notes.append("there are too few cores behind one last-level cache: programs share cores, or "
                 "do not meet in it")
    return sorted(allowed)[:need]


def choose_policies(args, notes):
    """[(name, profile or None)]; None: all policies off, or left as they are."""
    asked = [p for p in args.profile or [] if p != "off"]
    if not policy.present():
        if asked:
            policy.need_kernel()
        notes.append("this kernel has no mcube: only the stock allocator is measured")
        return [("stock", None)]
    if why := policy.why_not_writable():
        if asked:
            raise Failure(f"policies cannot be switched: {why}", "run it by sudo, on the host")
        notes.append(f"policies are left as they are: {why}")
        return [("as is", None)]
    names = asked if args.profile else ["m3"]
    out = [("off", None)]
    for name in names:
        p = policy.profile(name)
        if not p.available():
            raise Failure(f"this kernel lacks what profile '{name}' sets",
                          "see 'mcube apply --list'")
        if doubt := p.doubt():
            notes.append(doubt)
        out.append((name, p))
    return out


def choose_events(args, notes):
    """What to count."""
    if args.events:
        listed = perf.split(args.events)
        counted = perf.try_events(listed)
        if not listed or counted != listed:
            raise Failure(f"perf cannot count {', '.join(set(listed) - set(counted))}"
                          if perf.tool() else "perf is not installed",
                          "see 'perf list' and 'mcube check'")
        return perf.Events("events", {e: e for e in listed}, "as asked for")
    found = perf.find()
    if found.kind == "time":
        if machine.emulated():
            raise Failure("the CPU is emulated and nothing models its caches: neither time nor "
                          "cycles mean anything here", "run the emulator with the memory model, "
                          "or count something by --events, such as page-faults")
        notes.append(f"{found.note}; costs are seconds, which anything else on the machine "
                     "disturbs, and misses are not known")
    elif "misses" not in found.roles:
        notes.append("misses of the last-level cache cannot be counted here")
    if found.kind != "model" and (name := machine.hypervisor()):
        notes.append(f"under a hypervisor ({name}): guest-physical colors and banks are not the "
                     "host's, and other guests may disturb")
    return found


def switch(name, profile):
    """Put a policy in force for the runs that follow."""
    if name in ("stock", "as is"):
        return
    _, failed = policy.switch_off()
    if failed:
        raise failed[0]
    if profile:
        policy.write_all(profile.apply)


def measure(args, policies, cpus, events, say):
    """All runs, in order."""
    runs = []
    total = args.repeat * len(policies) * 2
    with tempfile.TemporaryDirectory(prefix="mcube-") as tmp:
        for n in range(args.repeat):
            for name, profile in policies:
                switch(name, profile)
                for others in ([], args.others):
                    if args.before:
                        prepare(args.before)
                    if events.kind == "model":
                        perf.empty_model()
                    got = race.run(args.victim, others, cpus, events.roles, Path(tmp))
                    cost = got["counts"].get(events.cost, got["seconds"])
                    runs.append({"policy": name, "together": bool(others), "round": n,
                                 "cost": cost, **got})
                    if events.kind == "model" or machine.emulated():
                        del runs[-1]["seconds"]
                    say(f"[{len(runs)}/{total}] {name}, "
                        f"{'together' if others else 'alone'}: {cost:,.6g} {events.cost}")
    return runs


def prepare(command):
    """Run the command of --before."""
    # Its output is no part of the result.
    status = subprocess.run(command, shell=True, stdout=2, check=False).returncode
    if status:
        raise Failure(f"'{command}' failed with status {status}", "run it by itself first")


def run(args):
    """mcube corun."""
    if args.repeat < 1:
        raise Failure(f"--repeat {args.repeat} runs nothing", "give 1 or more")
    if args.png:
        picture.check(args.png, "corun.png")
    notes = []
    cpus = choose_cpus(args, notes)
    policies = choose_policies(args, notes)
    events = choose_events(args, notes)
    race.end_by_signals()
    saved = policy.Saved() if policies[0][0] == "off" else None
    try:
        runs = measure(args, policies, cpus, events,
                       (lambda text: None) if args.json else lambda t: print(t, flush=True))
    finally:
        if saved:
            saved.restore()
    data = corun_report.summarise(runs, [n for n, _ in policies], events, notes)
    found = addrmap.Map.of_kernel()
    data["parameters"] = {
        "victim": args.victim, "with": args.others, "cpus": cpus, "repeat": args.repeat,
        "counted": events.kind, "events": events.roles, "kernel": platform.release(),
        "cpu": machine.cpuinfo().get("model name", platform.machine()),
        "hypervisor": machine.hypervisor(), "map": found.as_json() if found else None}
    if args.json:
        print_json(data)
    else:
        corun_report.show(data, events)
    if args.png:
        corun_report.draw(data, args.png)
        if not args.json:
            print(f"picture: {args.png}")
    return 0
