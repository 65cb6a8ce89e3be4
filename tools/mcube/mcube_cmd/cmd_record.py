# SPDX-License-Identifier: GPL-2.0
"""mcube record: record which pages of which files are referenced in the page cache."""

import os
import platform
import shlex
import shutil
import signal
import sys
import time
from pathlib import Path

from . import actions, host, inodes, refs, trace, tracefs
from .term import Failure, number, output, plural, print_table, size

HELP = "record the page-cache references of a command, of a cgroup or of all processes"
EXAMPLE = """examples:
  mcube record -o build.trace.gz -- make -j4
  mcube record -o db.trace.gz --cgroup /system.slice/postgresql.service --seconds 60
  mcube record -o all.trace.gz --seconds 10 --on /home
  mcube record -o rg.trace.gz --paths --exact-faults -- rg needle /usr/include
  mcube replay build.trace.gz --dir /var/tmp/replay --memory 64M
"""
CGROUPS = "/sys/fs/cgroup"
AROUND = "/sys/kernel/debug/fault_around_bytes"
TICK = 0.05             # seconds between two looks into buffers that were almost empty
READS = 256             # reads of the buffers between two looks at the clock
SHOWN = 8


def arguments(parser):
    """Options."""
    parser.add_argument("-o", "--output", metavar="FILE", default="mcube.trace.gz",
                        help="where to write the trace (default: %(default)s)")
    parser.add_argument("--seconds", metavar="N", type=float, help="end after so many seconds")
    parser.add_argument("--cgroup", metavar="PATH", help="record the processes of this cgroup and "
                        f"of those below, a path below {CGROUPS}")
    parser.add_argument("--on", metavar="DIR", help="record only files of the file system that "
                        "DIR is on")
    parser.add_argument("--paths", action="store_true", help="write paths of files and the whole "
                        "command into the trace")
    parser.add_argument("--anonymous", dest="paths", action="store_false",
                        help="write device and inode numbers only (the default)")
    parser.add_argument("--misses", action="store_true", help="also record pages that enter the "
                        "page cache")
    parser.add_argument("--exact-faults", action="store_true", help="let a fault map no pages "
                        "around, in the whole system, while recording")
    parser.add_argument("--buffer", metavar="KIB", type=int, default=8192,
                        help="buffer of each CPU (default: %(default)s)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("program", nargs="...", metavar="-- COMMAND ...",
                        help="record this command and its children until it ends")


def check(args):
    """Refuse what cannot be recorded; the command's words."""
    words = args.program[1:] if args.program[:1] == ["--"] else args.program
    if words and args.cgroup:
        raise Failure("a command and --cgroup are two choices of processes", "give one of them")
    if words and not shutil.which(words[0]):
        raise Failure(f"there is no program '{words[0]}'", "name a program in PATH, after --")
    actions.check_seconds(args, "seconds")
    if not 64 <= args.buffer <= 1 << 20:
        raise Failure(f"--buffer {args.buffer} is not within 64..1048576 KiB",
                      "the default is 8192")
    if missing := [e for e in refs.EVENTS.values() if not tracefs.present(e)]:
        tracefs.need()
        raise Failure(f"this kernel has no event {missing[0]}",
                      "record on Linux 6.12 or later, with CONFIG_EVENT_TRACING=y")
    return words


def tasks(path):
    """Tasks of a cgroup and of all cgroups below."""
    top, out = f"{CGROUPS}/{path.removeprefix(CGROUPS).strip('/')}", set()
    if not host.at(top).is_dir():
        raise Failure(f"there is no cgroup {path}", f"name a directory below {CGROUPS}")
    for folder, _, _ in os.walk(host.at(top)):
        try:
            out |= set(Path(folder, "cgroup.threads").read_text("utf-8").split())
        except OSError:
            pass        # the cgroup is gone, or is part of a threaded subtree
    return out


class FaultAround:
    """How many bytes a fault maps around, until this object is closed."""

    def __init__(self, wanted):
        self.before = host.number(AROUND) if wanted else None
        if wanted and self.before is None:
            raise Failure(f"{AROUND} cannot be read, which --exact-faults writes",
                          "mount -t debugfs debugfs /sys/kernel/debug, or record without it")
        if wanted:
            host.write(AROUND, str(os.sysconf("SC_PAGESIZE")))

    def close(self):
        """Write the value back."""
        if self.before is not None:
            host.write(AROUND, str(self.before))


class Command:
    """A command that waits until it may begin."""

    def __init__(self, words):
        gate, self.gate = os.pipe()
        sys.stdout.flush()
        self.pid, self.status = os.fork(), None
        if self.pid == 0:
            os.close(self.gate)
            if not os.read(gate, 1):
                os._exit(1)
            signal.signal(signal.SIGPIPE, signal.SIG_DFL)
            try:
                os.execvp(words[0], words)
            except OSError as e:
                os.write(2, f"mcube record: {words[0]}: {e.strerror}\n".encode())
            os._exit(127)
        os.close(gate)

    def begin(self):
        """Let it run."""
        os.write(self.gate, b"x")

    def ended(self):
        """Has it ended?"""
        if self.status is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            self.status = os.waitstatus_to_exitcode(status) if pid else None
        return self.status is not None

    def close(self):
        """End it, if it did not begin."""
        os.close(self.gate)


class Progress:
    """A line on a terminal that says how far the recording is."""

    def __init__(self, on):
        self.on, self.next = on, 0.0

    def show(self, writer, seconds):
        """Once a second."""
        if self.on and seconds >= self.next:
            self.next = seconds + 1
            print(f"\r{seconds:6.0f} s: {number(sum(writer.counts.values()))} ranges of "
                  f"{len(writer.ids)} files  ", end="", file=sys.stderr, flush=True)

    def close(self):
        """Remove it."""
        if self.on:
            print("\r\x1b[K", end="", file=sys.stderr)


def enable(instance, args):
    """Switch the events on."""
    wanted = ""
    if args.on:
        try:
            device = os.stat(args.on).st_dev
        except OSError as e:
            raise Failure(f"--on {args.on}: {e.strerror}", "name a directory") from e
        wanted = f"s_dev == {os.major(device) << 20 | os.minor(device)}"
    for name, event in refs.EVENTS.items():
        if args.misses or name != "add_to_page_cache":
            instance.enable(event, wanted)


def follow(instance, args, command, known, take, progress):
    """Read events until the recording ends; the seconds that it took."""
    start, look = time.monotonic(), 1.0
    instance.begin()
    if command:
        command.begin()
    try:
        while True:
            lines = 0
            for line in instance.lines(READS):
                take(line)
                lines += 1
            seconds = time.monotonic() - start
            progress(seconds)
            if args.cgroup and seconds >= look:
                # Children are followed; a process that moved in is not known yet.
                look = seconds + 1
                for task in tasks(args.cgroup) - known:
                    known.add(task)
                    instance.add_task(task)
            if args.seconds and seconds >= args.seconds or command and command.ended():
                break
            if lines < READS:
                time.sleep(TICK)
    except KeyboardInterrupt:
        print("interrupted: the references until now are kept", file=sys.stderr)
    instance.stop()
    seconds = time.monotonic() - start
    for line in instance.lines():
        take(line)
    return seconds


def record(args, words, writer):
    """Record; (seconds, lost events, events that were merged, exit status of the command)."""
    shift = os.sysconf("SC_PAGESIZE").bit_length() - 1
    references = refs.References(writer.add)

    def take(line):
        if event := refs.parse(line, shift):
            task, seconds, name, major, minor, ino, first, last = event
            references.event(task, seconds, name, (major, minor, ino), first, last)

    around, command = FaultAround(args.exact_faults), None
    progress = Progress(sys.stderr.isatty() and not args.json)
    try:
        with tracefs.Instance("record", args.buffer) as instance:
            enable(instance, args)
            known = set()
            if words:
                command = Command(words)
                instance.only([command.pid])
            elif args.cgroup:
                known = tasks(args.cgroup)
                if not known:
                    raise Failure(f"the cgroup {args.cgroup} has no process",
                                  "start a process in it first")
                instance.only(sorted(known, key=int))
            else:
                instance.but(os.getpid())
            seconds = follow(instance, args, command, known, take,
                             lambda s: progress.show(writer, s))
            lost = instance.lost()
    finally:
        progress.close()
        around.close()
        if command:
            command.close()
    references.finish()
    return seconds, lost, references.merged, command.status if command else None


def summary(args, words, writer, result):
    """Write the trace; the result as a dictionary."""
    seconds, lost, merged, status = result
    page = os.sysconf("SC_PAGESIZE")
    known = inodes.look_up(list(writer.ids), page)
    shown = {f: (pages, path if args.paths else None) for f, (pages, path) in known.items()}
    counts = {k: n for k, n in writer.counts.items() if n}
    header = {"kernel": platform.release(), "page": page, "seconds": f"{seconds:.1f}",
              "program": shlex.join(words) if words and args.paths else
              Path(words[0]).name if words else f"cgroup {args.cgroup}" if args.cgroup else "-",
              "ranges": " ".join(f"{k} {n}" for k, n in counts.items()),
              "merged": merged, "lost": lost, "files": len(writer.ids)}
    ends = writer.save(args.output, header, shown)
    pages = [0] * len(ends)
    for n, first, nr, kind in writer.references():
        if refs.KINDS[kind] != "a":
            pages[n] += max(1, min(nr, ends[n] - first)) if refs.KINDS[kind] != "m" else 1
    files = [{"device": f"{f[0]}:{f[1]}", "ino": f[2], "pages": known.get(f, (None,))[0],
              "references": pages[n], "path": known[f][1] if f in known else None}
             for f, n in writer.ids.items()]
    return {"output": args.output, "bytes": os.stat(args.output).st_size, "seconds": seconds,
            "ranges": counts, "merged": merged, "lost": lost, "references": sum(pages),
            "unknown_sizes": sum(f["pages"] is None for f in files), "status": status,
            "files": sorted(files, key=lambda f: -f["references"])}


def show(data):
    """The result for people."""
    print(f"{data['output']}: {size(data['bytes'])}, {data['references']:,} references of pages "
          f"in {plural(len(data['files']), 'file')}, {data['seconds']:.1f} s")
    print("ranges: " + ", ".join(f"{n:,} {word}" for k, word in (
        ("r", "read"), ("f", "faulted"), ("m", "mapped around"), ("a", "entered the cache"))
        if (n := data["ranges"].get(k))))
    rows = [[f["path"] or f"{f['device']} inode {f['ino']}",
             "-" if f["pages"] is None else f"{f['pages']:,}", f"{f['references']:,}"]
            for f in data["files"][:SHOWN]]
    rows = [[name if len(name) < 60 else "..." + name[-56:], *rest] for name, *rest in rows]
    print()
    print_table(["file", "pages", "references"], rows)
    if len(data["files"]) > SHOWN:
        print(f"and {len(data['files']) - SHOWN} more files; --json has all")
    if data["unknown_sizes"]:
        print(f"note: {plural(data['unknown_sizes'], 'file')} could not be found again; of a read "
              "of these files only pages that are known to exist are in the trace")
    if data["ranges"].get("m"):
        print("note: of pages that a fault mapped around, only some were touched; --exact-faults "
              "records the page of each fault")
    if data["lost"]:
        print(f"warning: {data['lost']:,} events were lost, the trace has gaps; "
              "record again with a larger --buffer, or fewer files by --on")


def run(args):
    """mcube record."""
    tracefs.need()
    words = check(args)
    folder = Path(args.output).absolute().parent
    if not folder.is_dir():
        raise Failure(f"there is no directory {folder}", "make it, or name another file by -o")
    writer = trace.Writer(folder)
    try:
        result = record(args, words, writer)
        if not writer.ids:
            raise Failure("there was no reference to a file" + (
                f", and {result[1]:,} events were lost" if result[1] else ""),
                "does the program read files through the page cache? --on leaves out others")
        data = summary(args, words, writer, result)
    finally:
        writer.close()
    output(args, data, show)
    if data["status"]:
        print(f"note: the command returned {data['status']}", file=sys.stderr)
    return 1 if data["lost"] else 0
