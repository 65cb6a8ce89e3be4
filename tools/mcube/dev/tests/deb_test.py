# SPDX-License-Identifier: GPL-2.0
"""Packages have the options of the product, and no hooks for tests."""

import re
import subprocess
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import deb
import kbuild
from lib.ui import ROOT, Failure

KCONFIG = (ROOT / "Kconfig").read_text("utf-8")
# {symbol: its prompt}, of the symbols that a user chooses.
PROMPTS = dict(re.findall(r'^(?:menu)?config (\w+)\n\t(?:bool|tristate) "(.+?)"', KCONFIG, re.M))
PRODUCT = kbuild.requests(["product"])
OPTIONS = "".join(f"CONFIG_{s}={v}\n" for s, v in PRODUCT.items() if v != "n")
HOOKS = {s for s, prompt in PROMPTS.items() if re.search(r"\btests\b|\bmodelled\b", prompt)}


class Options(unittest.TestCase):
    """configs/product.config."""

    def test_all(self):
        """Each option of the menu is named: a new one is on or off by decision."""
        self.assertGreaterEqual(len(PROMPTS), 10)
        self.assertEqual(set(PROMPTS), {s for s in PRODUCT if s.startswith("MCUBE")})

    def test_hooks(self):
        """What is for tests is off, and all else is as in the kernel that is tested."""
        self.assertEqual(HOOKS, {"MCUBE_SETCACHE_BREAK", "MCUBE_SIM", "MCUBE_KUNIT_TEST"})
        tested = kbuild.requests(["mcube"])
        for symbol in PROMPTS:
            self.assertEqual(PRODUCT[symbol], "n" if symbol in HOOKS else tested[symbol], symbol)


class Configure(unittest.TestCase):
    """The configuration that a package is built with."""

    def configured(self, base):
        """.config on top of a given one; Kconfig takes all that is asked for."""
        with tempfile.TemporaryDirectory() as tmp:
            given, out = Path(tmp, "config"), Path(tmp, "out")
            given.write_text(base, "utf-8")
            with mock.patch("kbuild.kmake", lambda *a, **k: None):
                deb.configure(out, given, None)
            # As in Kconfig, a later line wins.
            return dict(re.findall(r"^(?:# )?CONFIG_(\w+)(?:=| is )(\S+)",
                                   (out / ".config").read_text("utf-8"), re.M))

    def test_given(self):
        """A given configuration gets the product alone, though it runs all tests of KUnit."""
        base = "CONFIG_KUNIT=y\nCONFIG_KUNIT_ALL_TESTS=y\n# CONFIG_DEBUG_FS is not set\n"
        got = self.configured(base)
        self.assertEqual([s for s, v in got.items() if "MCUBE" in s and v == "y"],
                         [s for s, v in PRODUCT.items() if "MCUBE" in s and v == "y"])
        self.assertEqual({got[s] for s in HOOKS | {"DEBUG_FS", "KUNIT_ALL_TESTS"}}, {"not"})
        self.assertEqual(got["LOCALVERSION"], '"-mcube"')

    def test_default(self):
        """The small configuration takes the same options."""
        seen = []
        with mock.patch("kbuild.configure", lambda tree, out, names, log: seen.extend(names)):
            deb.configure(Path("out"), None, None)
        self.assertEqual(seen, ["qemu", "product"])


class Package(unittest.TestCase):
    """The .config inside a finished package."""

    def setUp(self):
        """A folder for packages."""
        folder = tempfile.TemporaryDirectory(prefix="mcube-test-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def pack(self, name, files):
        """A package of {path: text}."""
        top = self.folder / name
        control = f"Package: {name}\nVersion: 1\nArchitecture: all\nMaintainer: x\nDescription: x\n"
        for path, text in {"DEBIAN/control": control, **files}.items():
            (top / path).parent.mkdir(parents=True, exist_ok=True)
            (top / path).write_text(text, "utf-8")
        subprocess.run(["dpkg-deb", "--root-owner-group", "--build", str(top)], check=True,
                       capture_output=True)
        return self.folder / f"{name}.deb"

    def image(self, config):
        """A package as bindeb-pkg makes one."""
        return self.pack("linux-image-1-mcube", {"boot/vmlinuz-1-mcube": "x",
                                                 "boot/config-1-mcube": config})

    def test_good(self):
        """The product passes, beside a package without a kernel."""
        headers = self.pack("linux-headers-1-mcube", {"usr/src/x": "x"})
        deb.refuse_hooks([headers, self.image(OPTIONS + "CONFIG_DEBUG_FS=y\n")])

    def test_hooks(self):
        """Each hook in a package is refused by name."""
        for hook in sorted(HOOKS):
            with self.assertRaises(Failure) as caught:
                deb.refuse_hooks([self.image(f"{OPTIONS}CONFIG_{hook}=y\n")])
            self.assertIn(f"CONFIG_{hook}: asked for n, got y", str(caught.exception))
            self.assertIn("linux-image-1-mcube.deb", str(caught.exception))

    def test_lacks(self):
        """So is a package without an option, and one whose kernel says nothing."""
        with self.assertRaises(Failure) as caught:
            deb.refuse_hooks([self.image(OPTIONS.replace("CONFIG_MCUBE_UBM=y\n", ""))])
        self.assertIn("CONFIG_MCUBE_UBM: asked for y, got n", str(caught.exception))
        with self.assertRaises(Failure):
            deb.refuse_hooks([self.pack("linux-image-1-mcube", {"boot/vmlinuz": "x"})])
