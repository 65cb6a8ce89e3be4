# SPDX-License-Identifier: GPL-2.0
"""mcube record: events to references, the file of a trace, the options."""

import contextlib
import gzip
import io
import json
import os
import tempfile
from pathlib import Path
from unittest import mock

import fake
from mcube_cmd import cmd_record, inodes, refs, trace, tracefs
from mcube_cmd.term import Failure

DEV = (8, 1)
TRACING = "/sys/kernel/tracing"


def line(event, ino, first, last=None, task=7, stamp=1.0):
    """A line of trace_pipe."""
    ofs = f"{first << 12}" if last is None else f"{first << 12}-{((last + 1) << 12) - 1}"
    return (f"   my prog [x]-{task}     [000] ..... {stamp:12.6f}: mm_filemap_{event}: "
            f"dev=8:1 ino={ino:x} ofs={ofs}")


def references(*lines):
    """[(ino, first, nr, kind)] of some lines."""
    out = []
    merge = refs.References(lambda file, first, nr, kind, _: out.append(
        (file[2], first, nr, kind)))
    for text in lines:
        task, stamp, name, major, minor, ino, first, last = refs.parse(text)
        merge.event(task, stamp, name, (major, minor, ino), first, last)
    merge.finish()
    return out


class Events(fake.Case):
    """From events to references."""

    def test_parse(self):
        """All four events, and lines that are none."""
        self.assertEqual(refs.parse(line("get_pages", 0x2a, 3, 6, 12, 5.25)),
                         (12, 5.25, "get_pages", 8, 1, 42, 3, 6))
        self.assertEqual(refs.parse(line("fault", 0xfff, 9))[2:],
                         ("fault", 8, 1, 0xfff, 9, 9))
        self.assertEqual(refs.parse(
            "  a-1 [003] d..1. 2.5: mm_filemap_add_to_page_cache: dev 8:1 ino 2a pfn=0x12f "
            "ofs=8192 order=2")[2:], ("add_to_page_cache", 8, 1, 42, 2, 5))
        for text in ("CPU:0 [LOST 12 EVENTS]", "", "x-1 [000] ..... 1.0: sched_switch: prev=x"):
            self.assertIsNone(refs.parse(text))

    def test_one_read(self):
        """A read of several batches has an event for each; one reference stands for them."""
        self.assertEqual(references(line("get_pages", 1, 0, 63), line("get_pages", 1, 31, 63),
                                    line("get_pages", 1, 62, 63)), [(1, 0, 64, "r")])

    def test_tasks_apart(self):
        """Two tasks that read the same pages have a reference each."""
        self.assertEqual(references(line("get_pages", 1, 0, 63), line("get_pages", 1, 31, 63),
                                    line("get_pages", 1, 31, 63, task=8)),
                         [(1, 0, 64, "r"), (1, 31, 33, "r")])

    def test_small_reads(self):
        """Reads of parts of a page count once, and a read that crosses counts the new page."""
        self.assertEqual(references(line("get_pages", 1, 0, 0), line("get_pages", 1, 0, 0),
                                    line("get_pages", 1, 0, 1), line("get_pages", 1, 1, 1),
                                    line("get_pages", 2, 1, 1), line("get_pages", 1, 1, 1)),
                         [(1, 0, 1, "r"), (1, 1, 1, "r"), (2, 1, 1, "r"), (1, 1, 1, "r")])

    def test_again(self):
        """A file that is read twice from its begin is referenced twice."""
        self.assertEqual(references(line("get_pages", 1, 0, 3), line("get_pages", 1, 0, 3)),
                         [(1, 0, 4, "r")] * 2)

    def test_faults(self):
        """A fault makes known which of the mapped pages was touched, and is tried twice."""
        self.assertEqual(references(line("map_pages", 1, 0, 15), line("fault", 1, 5),
                                    line("map_pages", 1, 0, 15), line("map_pages", 1, 16, 31),
                                    line("fault", 2, 9), line("fault", 2, 9)),
                         [(1, 5, 1, "f"), (1, 16, 16, "m"), (2, 9, 1, "f")])

    def test_around(self):
        """Cached pages that were mapped around are a reference of their own kind, in order."""
        self.assertEqual(references(line("map_pages", 1, 0, 15), line("get_pages", 3, 0, 0),
                                    line("map_pages", 1, 32, 47)),
                         [(1, 0, 16, "m"), (3, 0, 1, "r"), (1, 32, 16, "m")])


class File(fake.Case):
    """The file of a trace."""

    def setUp(self):
        """A folder."""
        super().setUp()
        folder = self.enterContext(tempfile.TemporaryDirectory(prefix="mcube-trace-"))
        self.folder = Path(folder)

    def written(self, *adds, known=None):
        """The path of a trace with references."""
        writer, path = trace.Writer(self.folder), self.folder / "x.trace.gz"
        for add in adds:
            writer.add(*add)
        writer.save(path, {"kernel": "6.12", "page": 4096, "program": "a\nb"}, known or {})
        writer.close()
        return path

    def test_round_trip(self):
        """What is written is read; ranges end with the file."""
        a, b = (*DEV, 10), (*DEV, 11)
        path = self.written((a, 0, 16, "r"), (b, 7, 1, "f"), (a, 4, 16, "m"), (b, 8, 1, "a"),
                            known={a: (5, "/my file")})
        got = trace.read(path)
        self.assertEqual(list(zip(got.id, got.first, got.nr, got.kind.decode())),
                         [(0, 0, 5, "r"), (1, 7, 1, "f"), (0, 4, 1, "m"), (1, 8, 1, "a")])
        self.assertEqual([(f.device, f.ino, f.pages, f.path) for f in got.files],
                         [(DEV, 10, 5, "/my file"), (DEV, 11, None, None)])
        self.assertEqual((got.pages(), got.reach()), (7, [5, 9]))
        self.assertEqual((got.header["page"], got.header["program"]), ("4096", "a b"))

    def test_text(self):
        """The form that other programs read."""
        path = self.written(((*DEV, 10), 3, 2, "r"), known={(*DEV, 10): (9, None)})
        self.assertEqual(gzip.decompress(path.read_bytes()).decode().splitlines(),
                         ["# mcube-trace 1", "# kernel: 6.12", "# page: 4096", "# program: a b",
                          "F 0 8:1 10 9", "0 3 2 r"])

    def test_unknown_size(self):
        """Of a read of a file that is gone, only pages that are known to exist count."""
        a = (*DEV, 10)
        path = self.written((a, 0, 64, "r"), (a, 5, 1, "f"))
        self.assertEqual(list(trace.read(path).nr), [6, 1])

    def test_damaged(self):
        """Files that are no trace are refused with the line."""
        path = self.folder / "bad.gz"
        for text, says in (("0 1 2 r\n", "is no trace"),
                           ("# mcube-trace 1\n0 1 2 r\n", "bad.gz:2"),
                           ("# mcube-trace 1\nF 0 8:1 2 3\n0 1 2 q\n", "bad.gz:3"),
                           ("# mcube-trace 1\nF 0 8:1 2 3\n0 1 0 r\n", "bad.gz:3"),
                           ("# mcube-trace 1\nF 0 8:1 2 3\n", "has no reference")):
            path.write_bytes(gzip.compress(text.encode()))
            with self.assertRaisesRegex(Failure, says):
                trace.read(path)
        path.write_bytes(gzip.compress(b"# mcube-trace 1\n" * 99)[:-12])
        with self.assertRaisesRegex(Failure, "cannot be read"):
            trace.read(path)


class Tracing(fake.Case):
    """A made-up tracefs: what an instance gets written, and what it gives."""

    def setUp(self):
        """tracefs with the events."""
        super().setUp()
        self.root.put(f"{TRACING}/instances/.keep", "")
        for event in refs.EVENTS.values():
            self.root.put(f"{TRACING}/events/{event}/id", "1\n")
        self.pipe, self.lost = "", 0
        for patch in (mock.patch.object(tracefs, "make", self.make_instance),
                      mock.patch.object(tracefs, "remove", self.remove_instance)):
            self.enterContext(patch)
        self.removed = []
        folder = self.enterContext(tempfile.TemporaryDirectory(prefix="mcube-record-"))
        self.output = Path(folder) / "out.trace.gz"

    def make_instance(self, path):
        """The kernel fills an instance."""
        for name in ("tracing_on", "buffer_size_kb", "trace_clock", "options/overwrite",
                     "options/event-fork", "set_event_pid", "set_event_notrace_pid",
                     *(f"events/{e}/{f}" for e in refs.EVENTS.values()
                       for f in ("enable", "filter"))):
            self.root.put(f"{path}/{name}", "")
        self.root.put(f"{path}/trace_pipe", self.pipe)
        self.root.put(f"{path}/per_cpu/cpu0/stats",
                      f"entries: 3\noverrun: 0\ncommit overrun: 0\ndropped events: {self.lost}\n")

    def remove_instance(self, path):
        """Note it."""
        self.removed.append(path)

    def record(self, *argv):
        """Run mcube record; (status, output, errors)."""
        with contextlib.redirect_stderr(io.StringIO()):
            return self.mcube_says("record", "-o", str(self.output), *argv)

    def wrote(self, file):
        """Last value that a file of the instance got."""
        return [v for f, v in self.root.written
                if f.startswith(f"{TRACING}/instances/") and f.endswith(file)][-1]

    def test_command(self):
        """A command is traced with its children; the trace has a header and its files."""
        with tempfile.NamedTemporaryFile() as f:
            f.write(b"x" * 10000)
            f.flush()
            state = os.stat(f.name)
            self.pipe = "\n".join((line("get_pages", state.st_ino, 0, 15),
                                   line("get_pages", 99, 0, 0))) + "\n"
            known = {(*DEV, state.st_ino): (3, f.name)}
            with mock.patch.object(inodes, "look_up", lambda *_: known):
                status, out, _ = self.record("--json", "--", "true", "an argument")
        data = json.loads(out)
        self.assertEqual((status, data["status"], data["lost"]), (0, 0, 0))
        self.assertEqual([(f["pages"], f["references"]) for f in data["files"]],
                         [(3, 3), (None, 1)])
        got = trace.read(self.output)
        self.assertEqual((got.header["program"], got.files[0].path), ("true", None))
        self.assertTrue(self.wrote("set_event_pid").isdigit())
        self.assertEqual((self.wrote("options/event-fork"), self.wrote("tracing_on"),
                          self.wrote("trace_clock")), ("1", "0", "global"))
        self.assertEqual(len(self.removed), 1)

    def test_everything(self):
        """Without a command all tasks but this one are traced, of one file system by --on."""
        self.pipe = line("get_pages", 5, 0, 0) + "\n"
        with mock.patch.object(inodes, "look_up", lambda *_: {}):
            status, out, _ = self.record("--seconds", "0.01", "--on", "/", "--misses")
        device = os.stat("/").st_dev
        self.assertEqual(status, 0)
        self.assertIn("8:1 inode 5", out)
        self.assertIn("could not be found again", out)
        self.assertEqual(self.wrote("set_event_notrace_pid"), str(os.getpid()))
        self.assertEqual(self.wrote("mm_filemap_get_pages/filter"),
                         f"s_dev == {os.major(device) << 20 | os.minor(device)}")
        self.assertEqual(self.wrote("add_to_page_cache/enable"), "1")

    def test_cgroup(self):
        """The tasks of a cgroup and of cgroups below are traced."""
        self.pipe = line("get_pages", 5, 0, 0) + "\n"
        self.root.put("/sys/fs/cgroup/a/cgroup.threads", "11\n")
        self.root.put("/sys/fs/cgroup/a/b/cgroup.threads", "9\n12\n")
        with mock.patch.object(inodes, "look_up", lambda *_: {}):
            self.assertEqual(self.record("--cgroup", "/a", "--seconds", "0.01")[0], 0)
        self.assertEqual(self.wrote("set_event_pid"), "9 11 12")

    def test_lost(self):
        """Lost events are counted, and the status tells of it."""
        self.pipe, self.lost = line("get_pages", 5, 0, 0) + "\n", 17
        with mock.patch.object(inodes, "look_up", lambda *_: {}):
            status, out, _ = self.record("--seconds", "0.01")
        self.assertEqual((status, trace.read(self.output).header["lost"]), (1, "17"))
        self.assertRegex(out, "warning: 17 events were lost.*--buffer")

    def test_exact_faults(self):
        """Faults map one page while recording, and as many as before afterwards."""
        self.pipe = line("fault", 5, 0) + "\n"
        self.root.put(cmd_record.AROUND, "65536\n")
        with mock.patch.object(inodes, "look_up", lambda *_: {}):
            self.assertEqual(self.record("--seconds", "0.01", "--exact-faults")[0], 0)
        self.assertEqual([v for f, v in self.root.written if f == cmd_record.AROUND],
                         [str(os.sysconf("SC_PAGESIZE")), "65536"])

    def test_nothing(self):
        """A program without references leaves no trace, and the instance is removed."""
        status, _, err = self.record("--", "true")
        self.assertEqual((status, self.output.exists(), len(self.removed)), (1, False, 1))
        self.assertIn("there was no reference", err)

    def test_sweep(self):
        """The instance of a recorder that died is removed, that of a living one is not."""
        for pid in (1, 4194305):
            self.root.put(f"{TRACING}/instances/mcube-record-{pid}/tracing_on", "0\n")
        self.root.put(f"{TRACING}/instances/other/tracing_on", "1\n")
        tracefs.sweep()
        self.assertEqual([Path(p).name for p in self.removed], ["mcube-record-4194305"])

    def test_errors(self):
        """Each refusal names the next step."""
        for argv, says in ((("--", "no-such-program"), "name a program in PATH"),
                           (("--cgroup", "/nosuch", "--seconds", "1"), "there is no cgroup"),
                           (("--cgroup", "/a", "--", "true"), "give one of them"),
                           (("--seconds", "0"), "above 0"), (("--buffer", "1"), "8192"),
                           (("--on", "/no/such/dir", "--seconds", "1"), "name a directory"),
                           (("--exact-faults", "--", "true"), "mount -t debugfs")):
            status, _, err = self.record(*argv)
            self.assertEqual(status, 1, argv)
            self.assertIn(says, err)
            self.assertIn("what to do", err)
        self.root.drop(f"{TRACING}/events/{refs.EVENTS['fault']}/id")
        os.rmdir(f"{self.root.path}{TRACING}/events/{refs.EVENTS['fault']}")
        self.assertIn("Linux 6.12", self.record("--", "true")[2])
        with mock.patch("mcube_cmd.host.is_root", lambda: False):
            self.assertIn("sudo", self.record("--", "true")[2])


class Inodes(fake.Case):
    """Files by number."""

    def test_look_up(self):
        """Files of the mounted file systems are found with their sizes, others are not."""
        with tempfile.TemporaryDirectory() as tmp:
            Path(tmp, "a").mkdir()
            for name, size in (("a/x", 5000), ("y", 0)):
                Path(tmp, name).write_bytes(b"1" * size)
            state = os.stat(f"{tmp}/a/x")
            device = (os.major(state.st_dev), os.minor(state.st_dev))
            empty = os.stat(f"{tmp}/y").st_ino
            self.root.put("/proc/self/mountinfo",
                          f"1 2 {device[0]}:{device[1]} / {tmp} rw - ext4 x rw\n")
            self.assertEqual(
                inodes.look_up([(*device, state.st_ino), (*device, empty), (*device, 1)], 4096),
                {(*device, state.st_ino): (2, f"{tmp}/a/x"), (*device, empty): (0, f"{tmp}/y")})
