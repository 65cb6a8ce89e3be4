# SPDX-License-Identifier: GPL-2.0
"""mcube replay: the files that are made, the figures, the policies, the options."""

import gzip
import json
import os
import tempfile
from pathlib import Path
from unittest import mock

import fake
from mcube_cmd import cmd_replay, replay, trace
from mcube_cmd.term import Failure

TEXT = ("# mcube-trace 1\n# page: 4096\n# program: rg\nF 0 8:1 10 4\nF 1 8:1 11 -\n"
        "0 0 4 r\n1 2 3 r\n0 1 1 f\n1 0 2 m\n0 0 4 a\n0 0 4 r\n")


class Group:
    """A cgroup that limits nothing."""

    def __init__(self, *_):
        self.path = "/nosuch"

    def enter(self):
        """Stay where the process is."""

    def stat(self):
        """Figures of memory."""
        return {"file": 5 << 12, "workingset_refault_file": 3}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass


class Replay(fake.Case):
    """Replays on the file system of the tests."""

    def setUp(self):
        """A trace, a directory, a device that reads 8 pages each time."""
        super().setUp()
        self.folder = Path(self.enterContext(
            tempfile.TemporaryDirectory(prefix="mcube-replay-", dir="/var/tmp")))
        self.file = self.folder / "x.trace.gz"
        self.file.write_bytes(gzip.compress(TEXT.encode()))
        device = os.stat(self.folder).st_dev
        self.root.put(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}/stat",
                      "1 2 64 3\n")
        self.root.put("/sys/fs/cgroup/cgroup.controllers", "cpu memory\n")
        self.read = 0
        for patch in (mock.patch.object(replay.cgroup, "Cgroup", Group),
                      mock.patch.object(replay, "sectors", self.sectors),
                      mock.patch("os.sync", lambda: None)):
            self.enterContext(patch)

    def sectors(self, _):
        """Eight pages more with each look."""
        self.read += 64
        return self.read

    def replayed(self, *argv):
        """Run mcube replay; (status, output, errors)."""
        return self.mcube_says("replay", str(self.file), "--dir", str(self.folder), *argv)

    def test_figures(self):
        """References, hits and misses by cachestat, pages of the device, in each run."""
        def cached(_, fd, first, nr, page):
            self.assertEqual((page, os.fstat(fd).st_size % page), (4096, 0))
            return nr - 1 if first == 0 else 0
        with mock.patch.object(replay.Cachestat, "cached", cached):
            status, out, _ = self.replayed("--memory", "8M", "16M", "--repeat", "2", "--json",
                                           "--no-readahead")
        data = json.loads(out)
        self.assertEqual((status, len(data["rows"]), data["readahead"]), (0, 2, False))
        row = data["rows"][0]
        # 4 + 3 + 1 + 1 + 4 pages; the first page of 0 and of 1 misses, as do four others
        self.assertEqual((row["references"], row["hits"], row["misses"], row["device_pages"],
                          row["cache_pages"], row["memory"], row["refaults"]),
                         (13, 6, 7, 8, 5, 8 << 20, 3))
        self.assertEqual([r["memory"] >> 20 for r in data["rows"]], [8, 16])
        self.assertFalse((self.folder / "mcube-replay").exists())

    def test_few_open_files(self):
        """More files than may be open at a time."""
        with mock.patch.object(replay, "open_files", lambda: 1):
            self.assertEqual(self.replayed("--memory", "8M")[0], 0)

    def test_without_cachestat(self):
        """On an older kernel, misses are what the device read, and the table says so."""
        with mock.patch.object(replay, "SYS_CACHESTAT", 100000):
            status, out, _ = self.replayed("--memory", "8M")
        self.assertEqual(status, 0)
        self.assertRegex(out, r"now +8 MiB +5 +5 +8 +38.46% +8 ")
        self.assertIn("no cachestat", out)

    def test_files(self):
        """Files have the recorded sizes and all their blocks; whole files stay with --keep."""
        self.assertEqual(self.replayed("--memory", "8M", "--keep")[0], 0)
        made = self.folder / "mcube-replay"
        states = [os.stat(made / n) for n in "01"]
        self.assertEqual([s.st_size for s in states], [4 << 12, 5 << 12])
        self.assertTrue(all(s.st_blocks * 512 >= s.st_size for s in states))
        with open(made / "1", "wb") as f:
            f.truncate(5 << 12)
        files = replay.Files(self.folder, trace.read(self.file), 4096)
        self.assertEqual(files.make(), 5 << 12)
        self.assertEqual(files.make(), 0)

    def refused(self):
        """A replay that refuses the folder of its files."""
        status, _, err = self.replayed("--memory", "8M")
        self.assertEqual(status, 1)
        self.assertIn("by --dir", err)
        return err

    def test_links(self):
        """A link in the place of the folder, or of a file, leads to no other file."""
        other = self.folder / "other"
        other.mkdir()
        (other / "0").write_text("mine", "utf-8")
        made = self.folder / "mcube-replay"
        made.symlink_to(other)
        self.refused()
        made.unlink()
        made.mkdir(0o700)
        (made / "0").symlink_to(other / "0")
        self.refused()
        self.assertEqual((other / "0").read_text("utf-8"), "mine")
        made.mkdir(0o700)
        (self.folder / "whole").write_bytes(b"x" * (4 << 12))
        (made / "0").symlink_to(self.folder / "whole")
        self.refused()

    def test_folder_of_others(self):
        """A folder is refused if others may write to it; a fresh folder is of one user alone."""
        made = self.folder / "mcube-replay"
        for mode in (0o720, 0o702):
            made.mkdir()
            made.chmod(mode)
            self.assertIn("others may write", self.refused())
            made.rmdir()
        made.mkdir(0o700)
        with mock.patch("os.geteuid", return_value=os.geteuid() + 1):
            self.assertIn("others may write", self.refused())
        made.rmdir()
        self.assertEqual(self.replayed("--memory", "8M", "--keep")[0], 0)
        self.assertEqual(made.stat().st_mode & 0o777, 0o700)

    def test_policies(self):
        """Each policy is set in turn, and the policy of before is set back."""
        self.root.put(replay.LRU_GEN, "0x0007\n")
        self.root.put(replay.UBM, "0\n")
        status, out, _ = self.replayed("--memory", "8M", "--policy", "lru", "ubm-mglru", "--json")
        self.assertEqual(status, 0)
        self.assertEqual([r["policy"] for r in json.loads(out)["rows"]], ["lru", "ubm-mglru"])
        self.assertEqual([v for f, v in self.root.written if "lru_gen" in f], ["0", "7", "0x0007"])
        self.assertEqual([v for f, v in self.root.written if f.endswith("ubm/enabled")],
                         ["0", "1", "0"])

    def test_child_fails(self):
        """A child that cannot read is a failure with advice."""
        with mock.patch.object(replay, "read_all", side_effect=OSError(5, "broken")):
            status, _, err = self.replayed("--memory", "8M")
        self.assertEqual(status, 1)
        self.assertIn("ended with status 1", err)

    def test_errors(self):
        """Each refusal names the next step."""
        for argv, says in ((("--memory", "0"), "64M or 1G"), (("--memory", "8Q"), "64M or 1G"),
                           (("--memory", "8M", "--repeat", "0"), "1 or more"),
                           (("--memory", "8M", "--policy", "ubm"), "CONFIG_MCUBE_UBM"),
                           (("--memory", "8M", "--policy", "mglru"), "CONFIG_LRU_GEN")):
            status, _, err = self.replayed(*argv)
            self.assertEqual(status, 1, argv)
            self.assertIn(says, err)
        self.file.write_bytes(gzip.compress(TEXT.replace("4096", "16384").encode()))
        self.assertIn("pages of 16384 bytes", self.replayed("--memory", "8M")[2])
        self.root.put("/sys/fs/cgroup/cgroup.controllers", "cpu\n")
        self.assertIn("CONFIG_MEMCG", self.replayed("--memory", "8M")[2])

    def test_no_device(self):
        """A directory without a device is refused."""
        with mock.patch("os.stat", return_value=mock.Mock(st_dev=os.makedev(0, 99))), \
                self.assertRaisesRegex(Failure, "on no block device"):
            replay.statistics("/x")

    def test_sizes(self):
        """Sizes of memory."""
        self.assertEqual([cmd_replay.bytes_of(t) for t in ("512k", "64M", "1G", "4096")],
                         [512 << 10, 64 << 20, 1 << 30, 4096])
