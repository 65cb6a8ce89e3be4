#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Run a script in a QEMU guest with one of the built kernels.

The console goes to a log with host timestamps and is searched for splats. The
output of the script arrives on a separate channel, so that kernel messages never
land in the middle of a test result. Files that the script leaves in /results
come back as a directory. A run fails on a splat, if the script says nothing for too
long by the guest's own clock, if the guest dies, and if the script returns nonzero.

    qemu.py --nodes 2 --smp 4 --program numactl --file prog:/guest/prog script.sh
    qemu.py --interactive

The script may send a request to the host as a line of output:
    ##host: add-memory 128M 1      hot-add memory to node 1 (needs --slots)
    ##host: cut-power              kill the machine
"""

import json
import os
import re
import select
import shlex
import shutil
import socket
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path

from lib import modelled, ui
from lib.initramfs import Initramfs
from lib.patience import Clock, Patience
from lib.races import Races
from lib.stuck import stuck
from lib.ui import BUILD, Failure

SPLAT = re.compile(
    r"BUG:|BUG at|WARNING:|Kernel panic|\bOops\b|general protection fault|KASAN:|UBSAN:|"
    r"possible circular locking|possible recursive locking|inconsistent lock state|"
    r"suspicious RCU usage|held lock freed|INFO: task .* blocked for more than|"
    r"INFO: rcu.*(stall|detected)|soft lockup|hard LOCKUP|workqueue lockup|"
    r"Bad page (state|map)|corruption\b|ODEBUG:|unable to handle|double fault|"
    r"page_owner tracking data corrupt|sleeping function called|DEADLOCK")
# A process that the OOM killer killed, other than tests, which raise their oom_score_adj.
# Behind "Power down" the kernel stops its CPUs, and one that still runs may find work for another.
STOPPED = re.compile(r"WARNING: .* native_smp_send_reschedule")
KILLED = re.compile(r"Killed process (\d+ \([^)]*\)).* oom_score_adj:0$")
# An emulated CPU that waits for the host misses the ticks by which the kernel checks at boot
# that the timer interrupts, and the kernel panics. no_timer_check is for such machines.
APPEND = ("console=ttyS0 panic=-1 oops=panic no_timer_check watchdog_thresh=60 "
          "rcupdate.rcu_cpu_stall_timeout=120 sysctl.kernel.hung_task_timeout_secs=300")
# Without enhanced rep movsb and stosb the kernel clears and copies pages by words. The
# emulator runs each iteration as an instruction with its own accesses, so bytes take eight
# times as many iterations. Hardware moves about a line at a time.
CPU = "max,-erms"
# Folder of the logs of guests; a command that boots guests repeatedly sets another folder.
LOGS = BUILD / "guest"


def kibibytes(text):
    """768K, 512M or 4G as KiB."""
    m = re.fullmatch(r"(\d+)([KMG])", text)
    if not m:
        raise Failure(f"'{text}' is no size", "write for example 768K, 512M or 4G")
    return int(m[1]) << 10 * "KMG".index(m[2])


class Result:
    """Result of a run."""

    def __init__(self):
        self.status, self.output, self.splats, self.kills = None, "", [], []
        self.timed_out, self.seconds, self.boot_seconds = False, 0.0, None
        self.limit = 0.0
        self.console, self.results, self.down = None, None, False

    @property
    def ok(self):
        """True if the script returned 0 and the kernel said nothing bad."""
        return self.status == 0 and not self.splats and not self.timed_out

    def why(self):
        """A line about what went wrong."""
        if self.splats:
            return f"kernel splat: {self.splats[0]} ({len(self.splats)} in all)"
        if self.timed_out:
            tasks = stuck(self.console.read_text("utf-8").splitlines()) if self.console else []
            said = self.output.strip().rsplit("\n", 1)[-1]
            return f"hangs: no output for {self.limit:.0f} s of the guest's own time, after " \
                f"{self.seconds:.0f} s; last output: {said or 'none'}; " \
                f"tasks: {'; '.join(tasks) or 'none'}"
        if self.status is None:
            return "the guest died before the script ended"
        if self.status == 0:
            return "ok"
        kills = f", out of memory: killed {', '.join(self.kills)}" if self.kills else ""
        return f"the script returned {self.status}{kills}"

    def need(self, name):
        """Raise a Failure unless the run was good."""
        if not self.ok:
            raise Failure(f"{name}: {self.why()}\n{self.output[-800:]}",
                          f"console: {self.console}")


class Guest:
    """A machine that runs one script."""

    def __init__(self, kernel, **opt):
        self.kernel = Path(kernel)
        if not self.kernel.is_file():
            raise Failure(f"no kernel {kernel}", "run 'make build' first")
        self.smp, self.mem = opt.get("smp", 4), opt.get("mem", "2G")
        self.nodes, self.slots = opt.get("nodes", 1), opt.get("slots", 0)
        self.below_4g, self.cpu = opt.get("below_4g"), opt.get("cpu") or CPU
        self.append, self.icount = opt.get("append", ""), opt.get("icount", False)
        self.seed = opt.get("seed", 1)
        self.drives = opt.get("drives", ())
        self.allow = re.compile(opt["allow"]) if opt.get("allow") else None
        self.kunit, self.echo = opt.get("kunit", False), opt.get("echo", False)
        self.multi, self.model = opt.get("multi", False), opt.get("model")
        if self.model and not isinstance(self.model, modelled.Model):
            self.model = modelled.Model(self.model)
        self.root = Initramfs(("bash", *opt.get("programs", ())))
        self.dimms, self.qmp_path, self.races, self.cut = 0, None, Races(), False

    def cmdline(self):
        """Kernel command line."""
        words = [APPEND]
        words.append(f"kunit.enable={int(self.kunit)}")
        if self.icount:
            words.append("nokaslr norandmaps")
        elif not self.model:
            # The kernel measures the frequency of the time stamp counter at boot. On a busy
            # host the result was wrong by a factor of 35 in one boot of 41, and a test of
            # 300 s timed out after 10 s.
            words.append("tsc=unstable")
        if self.slots:
            words.append("memhp_default_state=online")
        if self.model:
            words.append(self.model.boot_parameters())
            if self.icount:
                # The calibration of the local APIC timer spins for half a minute, and fails
                # on counted time.
                words.append("nolapic_timer")
        return " ".join(words + [self.append])

    def argv(self, work, interactive=False):
        """QEMU command."""
        mib = kibibytes(self.mem) >> 10
        # A small machine has no memory in ZONE_NORMAL unless most of it lies above 4 GiB.
        low = f",max-ram-below-4g={self.below_4g}" if self.below_4g else ""
        # The ACPI code of machine pc finds interrupt routes in a loop. The debug kernel, whose
        # guest CPUs run in parallel, needed half a minute for it on a busy host; after that
        # time ACPI aborts a loop, and devices have no interrupt. q35 has a table instead.
        out = ["qemu-system-x86_64", "-nodefaults", "-no-user-config", "-no-reboot",
               "-display", "none", "-machine", ("q35" if self.multi else "pc") + low,
               "-cpu", self.cpu,
               *(self.model.arguments(self, mib, work) if self.model else ()),
               "-kernel", str(self.kernel), "-initrd", str(work / "initramfs.cpio"),
               "-append", self.cmdline(),
               "-smp", f"{self.smp},sockets={self.nodes}"]
        if self.icount:
            out += ["-accel", "tcg,thread=single", "-icount", "shift=0,sleep=off",
                    "-rtc", "base=2026-01-01T00:00:00,clock=vm", "-seed", str(self.seed)]
        else:
            # With CPUs in parallel, a guest that kept flipping a static key died of an
            # int3 oops, probably by a stale translation of the instruction being patched.
            # The oops was never seen in a single thread, and a kernel without
            # CONFIG_JUMP_LABEL does not patch static keys.
            out += ["-accel", f"tcg,thread={'multi' if self.multi else 'single'}"]
        slots = f",slots={self.slots},maxmem={mib + 8192}M" if self.slots else ""
        out += ["-m", f"{mib}M{slots}"]
        if self.nodes > 1:
            if self.smp % self.nodes or mib % self.nodes:
                raise Failure("CPUs and memory must divide evenly among the nodes")
            cpus = self.smp // self.nodes
            for n in range(self.nodes):
                out += ["-object", f"memory-backend-ram,id=m{n},size={mib // self.nodes}M",
                        "-numa", f"node,nodeid={n},memdev=m{n},"
                                 f"cpus={n * cpus}-{n * cpus + cpus - 1}"]
        elif self.slots:
            out += ["-object", f"memory-backend-ram,id=m0,size={mib}M",
                    "-numa", f"node,nodeid=0,memdev=m0,cpus=0-{self.smp - 1}"]
        for i, drive in enumerate(self.drives):
            out += ["-drive", f"file={drive},format=raw,if=none,id=d{i},cache=unsafe",
                    "-device", f"virtio-blk-pci,drive=d{i}"]
        if interactive:
            return out + ["-serial", "mon:stdio"]
        # If another thread of QEMU served the channels, their interrupts would come after
        # a number of instructions that varies.
        serial = "virtio-serial-pci" + (",ioeventfd=off" if self.icount else "")
        return out + ["-serial", "stdio", "-device", serial,
                      "-chardev", f"file,id=out,path={work}/out",
                      "-device", "virtserialport,chardev=out,name=out",
                      "-chardev", f"file,id=res,path={work}/results.tar",
                      "-device", "virtserialport,chardev=res,name=results",
                      "-qmp", f"unix:{work}/qmp,server=on,wait=off"]

    def interactive(self):
        """A shell in the guest on this terminal."""
        with tempfile.TemporaryDirectory(prefix="mcube-") as tmp:
            work = Path(tmp)
            self.root.text("guest/interactive", "")
            self.root.write(work / "initramfs.cpio")
            return subprocess.call(self.argv(work, interactive=True))

    def run(self, script, name="guest", timeout=600, env=None):
        """Run a script (text or path); logs and results in LOGS/NAME/.

        The guest hangs if it says nothing for timeout seconds by its own clock.
        """
        keep = LOGS / name
        shutil.rmtree(keep, ignore_errors=True)
        keep.mkdir(parents=True)
        text = Path(script).read_text("utf-8") if isinstance(script, Path) else script
        self.root.text("guest/run", text, 0o755)
        self.root.text("guest/env", "".join(
            f"export {k}={shlex.quote(str(v))}\n" for k, v in (env or {}).items()))
        result = Result()
        result.limit = timeout
        result.console = keep / "console.log"
        with tempfile.TemporaryDirectory(prefix="mcube-") as tmp:
            work = Path(tmp)
            self.root.write(work / "initramfs.cpio")
            (work / "out").touch()
            self.qmp_path = work / "qmp"
            with subprocess.Popen(self.argv(work), stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT) as qemu:
                try:
                    self.watch(qemu, work, result)
                finally:
                    if qemu.poll() is None:
                        qemu.kill()
            shutil.copyfile(work / "out", keep / "output.txt")
            result.output = (work / "out").read_text("utf-8", "replace")
            result.results = keep / "results"
            result.results.mkdir(exist_ok=True)
            tar = work / "results.tar"
            if tar.is_file() and tar.stat().st_size:
                try:
                    with tarfile.open(tar) as t:
                        t.extractall(result.results)
                except (tarfile.TarError, EOFError) as e:
                    result.output += f"\nresults were cut off: {e}\n"
        return result

    def watch(self, qemu, work, result):
        """Follow console and output until QEMU ends or the guest hangs."""
        start, tail, pending = time.monotonic(), b"", ""
        clock = Clock(qemu.pid)
        limit = Patience(clock, result.limit)
        with open(result.console, "w", encoding="utf-8") as log, \
                open(work / "out", "r", encoding="utf-8", errors="replace") as out:
            os.set_blocking(qemu.stdout.fileno(), False)
            while True:
                now = time.monotonic() - start
                select.select([qemu.stdout], [], [], 0.2)
                data = qemu.stdout.read()
                # KUnit's results are on the console, as what a boot says.
                talks = data and (self.kunit or result.boot_seconds is None)
                for line in (tail + (data or b"")).split(b"\n")[:-1]:
                    self.console_line(line.decode("utf-8", "replace").rstrip("\r"),
                                      now, log, result, clock)
                tail = (tail + (data or b"")).rsplit(b"\n", 1)[-1]
                at = out.tell()
                pending = self.follow(out, pending)
                if talks or out.tell() > at:
                    limit.progress()
                if data == b"":
                    break
                if self.cut:
                    log.write(f"[{now:8.2f}] (host) the power is cut\n")
                    qemu.kill()
                if limit.ask():
                    log.write(f"[{now:8.2f}] (host) time is up\n")
                    # The guest's init reads a line from its console, and lists all tasks.
                    qemu.stdin.write(b"tasks\n")
                    qemu.stdin.flush()
                if limit.over():
                    result.timed_out = True
                    break
            if tail:
                self.console_line(tail.decode("utf-8", "replace"), now, log, result, clock)
            self.follow(out, pending)
        result.seconds = time.monotonic() - start

    def console_line(self, line, now, log, result, clock):
        """Log a line of the console; record splats and the marks of the guest's init."""
        log.write(f"[{now:8.2f}] {line}\n")
        log.flush()
        inside, race = self.races.line(line)
        if race:
            result.splats.append(race)
        if inside:
            return
        if m := re.search(r"mcube-guest: up after", line):
            result.boot_seconds = clock()
        elif m := re.search(r"mcube-guest: exit (\d+)", line):
            result.status = int(m[1])
        elif "reboot: Power down" in line:
            result.down = True
        elif SPLAT.search(line) and not (self.allow and self.allow.search(line)) and \
                not (result.down and STOPPED.search(line)):
            result.splats.append(line.strip())
        elif m := KILLED.search(line):
            result.kills.append(m[1])

    def follow(self, out, pending):
        """Show new output of the script; carry out its requests."""
        pending += out.read()
        *lines, pending = pending.split("\n")
        for line in lines:
            if self.echo:
                print(line, flush=True)
            if m := re.match(r"##host: add-memory (\d+[MG]) (\d+)", line):
                self.add_memory(m[1], int(m[2]))
            self.cut |= line == "##host: cut-power"
        return pending

    def add_memory(self, size, node):
        """Plug a memory module into a node of the running guest."""
        self.dimms += 1
        name = f"hot{self.dimms}"
        self.qmp("object-add", {"qom-type": "memory-backend-ram", "id": name,
                                "size": kibibytes(size) << 10})
        self.qmp("device_add", {"driver": "pc-dimm", "id": f"d{name}", "memdev": name,
                                "node": node})

    def qmp(self, command, arguments):
        """Send a QMP command."""
        with socket.socket(socket.AF_UNIX) as s:
            s.connect(str(self.qmp_path))
            f = s.makefile("rw")
            f.readline()
            for word in ({"execute": "qmp_capabilities"},
                         {"execute": command, "arguments": arguments}):
                f.write(json.dumps(word) + "\n")
                f.flush()
                reply = json.loads(f.readline())
                while "event" in reply:
                    reply = json.loads(f.readline())
            if "error" in reply:
                raise Failure(f"QEMU refused {command}: {reply['error']['desc']}")


def image(flavor="test"):
    """bzImage of a flavor."""
    return BUILD / flavor / "arch/x86/boot/bzImage"


def run():
    """Command line."""
    parser = ui.parser(__doc__)
    parser.add_argument("script", nargs="?", type=Path, help="shell script for the guest")
    parser.add_argument("--flavor", default="test", help="build/FLAVOR's kernel")
    parser.add_argument("--kernel", type=Path, help="bzImage to use in place of a flavor")
    parser.add_argument("--smp", type=int, default=4)
    parser.add_argument("--mem", default="2G")
    parser.add_argument("--nodes", type=int, default=1, help="NUMA nodes")
    parser.add_argument("--slots", type=int, default=0, help="memory hotplug slots")
    parser.add_argument("--append", default="", help="kernel command line")
    parser.add_argument("--icount", action="store_true", help="deterministic counting")
    parser.add_argument("--multi", action="store_true",
                        help="guest CPUs in parallel: for kernels without jump labels")
    parser.add_argument("--model", metavar="MACHINE",
                        help="model caches and DRAM: one of tools/mcube/model/machines")
    parser.add_argument("--kunit", action="store_true", help="let KUnit suites run at boot")
    parser.add_argument("--drive", action="append", default=[], help="raw disk image")
    parser.add_argument("--program", action="append", default=[],
                        help="program of the host for the guest, with its libraries")
    parser.add_argument("--file", action="append", default=[], metavar="HOST:GUEST")
    parser.add_argument("--tree", action="append", default=[], metavar="HOST:GUEST")
    parser.add_argument("--env", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--timeout", type=float, default=600,
                        help="seconds without output, by the guest's own clock")
    parser.add_argument("--allow", help="expression for splats that are expected")
    parser.add_argument("--name", default="guest", help="logs go to build/guest/NAME")
    parser.add_argument("--interactive", action="store_true", help="a shell prompt")
    args = parser.parse_args()
    if not args.script and not args.interactive:
        parser.error("give a script, or --interactive")
    guest = Guest(args.kernel or image(args.flavor), smp=args.smp, mem=args.mem,
                  nodes=args.nodes, slots=args.slots, append=args.append,
                  icount=args.icount, kunit=args.kunit, multi=args.multi, drives=args.drive,
                  model=args.model, programs=args.program, allow=args.allow, echo=True)
    for pair in args.file:
        host, inside = pair.split(":", 1)
        guest.root.file(host, inside)
        guest.root.libraries(host)
    for pair in args.tree:
        guest.root.tree(*pair.split(":", 1))
    if args.interactive:
        return guest.interactive()
    result = guest.run(args.script, args.name, args.timeout,
                       dict(e.split("=", 1) for e in args.env))
    if not result.ok:
        print(f"guest: {result.why()}; console: {result.console}", file=sys.stderr)
        return result.status or 1
    return 0


if __name__ == "__main__":
    ui.main(run)
