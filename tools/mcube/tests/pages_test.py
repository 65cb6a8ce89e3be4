# SPDX-License-Identifier: GPL-2.0
"""mcube pages: frames out of smaps and pagemap."""

import array
import json
import os
from unittest import mock

import fake
from mcube_cmd import pagemap
from mcube_cmd.addrmap import Map

START, LIBRARY, HUGE = 0x400000, 0x7f0000000000, 0x100000000000
SMAPS = f"""{START:x}-{START + 0x100000:x} rw-p 00000000 00:00 0                  [heap]
Size:               1024 kB
Rss:                 256 kB
AnonHugePages:         0 kB
VmFlags: rd wr mr
{LIBRARY:x}-{LIBRARY + 0x4000:x} r-xp 00001000 08:01 4711               /usr/lib/libc.so.6
Rss:                  16 kB
FilePmdMapped:         0 kB
{HUGE:x}-{HUGE + (1 << 40):x} ---p 00000000 00:00 0
Rss:                   0 kB
{HUGE + (1 << 45):x}-{HUGE + (1 << 45) + (1 << 34):x} rw-p 00000000 00:00 0
Rss:                2048 kB
AnonHugePages:      2048 kB
"""


class Pages(fake.Case):
    """A made-up process, 4242."""

    def setUp(self):
        """Its heap has every fourth page, of color 3; its library four, on node 1."""
        super().setUp()
        self.root.put("/proc/4242/smaps", SMAPS)
        self.root.put("/proc/4242/comm", "made up\n")
        self.root.put("/proc/4242/pagemap", b"")
        self.heap = [64 * i + 3 for i in range(64)]
        self.library = [300000 + i for i in range(4)]
        self.entries(START // 4096, [e for p in self.heap
                                     for e in (pagemap.PRESENT | p, 0, 1 << 62 | 99, 0)])
        self.entries(LIBRARY // 4096, [pagemap.PRESENT | pagemap.FILE_PAGE | p
                                       for p in self.library])
        self.entries((HUGE + (1 << 45)) // 4096, [pagemap.PRESENT | 512 + i for i in range(512)])

    def entries(self, at, values):
        """Write pagemap entries."""
        with open(f"{self.root.path}/proc/4242/pagemap", "r+b") as f:
            os.pwrite(f.fileno(), array.array("Q", values).tobytes(), at * 8)

    def pages(self, *argv):
        """Result as a dictionary."""
        out = self.done("pages", "4242", "--json", *argv)
        return json.loads(out)

    def test_all(self):
        """Every present page counts, once; swapped ones do not; reserved space is not read."""
        d = self.pages()
        self.assertEqual((d["pages"], d["name"]), (64 + 4 + 512, "made up"))
        self.assertEqual([m["pages"] for m in d["mappings"]], [64, 4, 512])
        self.assertEqual(sum(map(sum, d["grid"])), 580)
        self.assertEqual(d["huge_kib"], 2048)
        self.assertEqual([m["nodes"] for m in d["mappings"]], [{"0": 64}, {"1": 4}, {"0": 512}])
        self.assertEqual(d["run_max"], 512)

    def test_filters(self):
        """By kind and by name."""
        d = self.pages("--mapping", "*heap*")
        self.assertEqual(d["colors"][3], 64)
        self.assertEqual((d["pages"], d["mappings"][0]["colors"]), (64, 1))
        d = self.pages("--only", "file")
        self.assertEqual([m["name"] for m in d["mappings"]], ["/usr/lib/libc.so.6"])
        self.assertEqual((d["pages"], d["mappings"][0]["anon"], d["mappings"][0]["file"]),
                         (4, 0, 4))
        err = self.refused("pages", "4242", "--only", "file", "--mapping", "*heap*")
        self.assertIn("has no such page", err)
        self.assertIn("[heap]", err)

    def test_text(self):
        """The heat map: one color is one column."""
        out = self.done("pages", "4242", "--mapping", "*heap*")
        rows = [x.split("|")[1] for x in out.splitlines() if x.startswith("bank ")]
        self.assertEqual(len(rows), 16)
        self.assertTrue(all(set(r[:3] + r[4:]) == {" "} for r in rows))
        self.assertIn("@", {r[3] for r in rows})
        self.assertRegex(out, r"colors +\|   @ +\| 1 of 32 used, the fullest has 32.00 times")
        self.assertRegex(out, r"\[heap\] +400000 +N0=64 +64 +1 ")

    def test_many_colors(self):
        """More colors than columns share columns, and none is lost."""
        d = self.pages("--color-map", " ".join(hex(1 << b) for b in range(12, 20)))
        self.assertEqual((len(d["colors"]), sum(d["colors"])), (256, 580))
        out = self.mcube_says("pages", "4242", "--color-map",
                              " ".join(hex(1 << b) for b in range(12, 20)))[1]
        rows = [x.split("|")[1] for x in out.splitlines() if x.startswith("bank ")]
        self.assertEqual({len(r) for r in rows}, {64})
        self.assertIn("each character stands for 4 colors and 1 bank", out)

    def test_hidden(self):
        """Without the right to see frames, the message names the right."""
        self.entries(START // 4096, [pagemap.PRESENT, 0, 0, 0] * 64)
        self.entries(LIBRARY // 4096, [pagemap.PRESENT | pagemap.FILE_PAGE] * 4)
        self.entries((HUGE + (1 << 45)) // 4096, [pagemap.PRESENT] * 512)
        self.assertIn("CAP_SYS_ADMIN", self.refused("pages", "4242"))

    def test_missing(self):
        """No process, no pagemap, no map."""
        self.assertIn("there is no process 4343", self.mcube_says("pages", "4343")[2])
        self.root.drop("/proc/4242/pagemap")
        self.assertIn("CONFIG_PROC_PAGE_MONITOR", self.mcube_says("pages", "4242")[2])
        for name in ("color_map", "bank_map"):
            self.root.put(f"{fake.SYSFS}/map/{name}", "none\n")
        self.assertIn("mcube map set", self.mcube_says("pages", "4242")[2])

    def test_kernel_thread(self):
        """A kernel thread has no pages: some kernels have empty files, others say ESRCH."""
        self.root.put("/proc/2/smaps", "")
        self.root.put("/proc/2/stat", "2 (a) b) S 0 0 0 0 -1 2129984 0 0 0\n")
        opened = os.open

        def gone(path, *rest):
            """Opening pagemap of a process without memory."""
            if str(path).endswith("/proc/2/pagemap"):
                raise ProcessLookupError(3, "No such process")
            return opened(path, *rest)

        with mock.patch("os.open", gone):
            self.assertIn("process 2 is a kernel thread", self.mcube_says("pages", "2")[2])
            self.root.put("/proc/2/stat", "2 (a) S 0 0 0 0 -1 0 0 0 0\n")
            self.assertIn("process 2 has ended", self.mcube_says("pages", "2")[2])

    def test_container(self):
        """In a container sudo does not help."""
        with mock.patch("pathlib.Path.read_text", side_effect=PermissionError), \
                mock.patch("mcube_cmd.addrmap.Map.of_args", return_value=Map(fake.COLORS, "none")):
            self.assertIn("root lacks the right", self.mcube_says("pages", "4242")[2])
            self.root.put("/.dockerenv", "")
            err = self.mcube_says("pages", "4242")[2]
        self.assertIn("on the host", err)
        self.assertNotIn("sudo", err)

    def test_picture_refused(self):
        """A picture that could not be written is refused before the work."""
        for path in ("x.txt", "/nosuch/x.pdf"):
            status, out, err = self.mcube_says("pages", "4343", "--png", path)
            self.assertEqual((status, out), (1, ""))
            self.assertIn(path, err)

    def test_picture(self):
        """--png draws, or names the package that is missing."""
        path = f"{self.root.path}/pages.png"
        status, _, err = self.mcube_says("pages", "4242", "--png", path)
        if status:
            self.assertIn("install python3-matplotlib", err)
        else:
            with open(path, "rb") as f:
                self.assertEqual(f.read(4), b"\x89PNG")
