# SPDX-License-Identifier: GPL-2.0
"""Packages have the options of the product, and no hooks for tests."""

import argparse
import contextlib
import io
import re
import subprocess
import tarfile
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import deb
import kbuild
from lib import debian
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


BASE = """CONFIG_DEBUG_INFO_BTF=y
CONFIG_LOCALVERSION=""
CONFIG_MODULE_SIG=y
CONFIG_EXT4_FS=m
CONFIG_CC_OPTIMIZE_FOR_PERFORMANCE=y
CONFIG_GCC_VERSION=120200
# CONFIG_KEXEC is not set
CONFIG_KUNIT=y
CONFIG_KUNIT_ALL_TESTS=y
CONFIG_SYSTEM_TRUSTED_KEYS="debian/certs.pem"
"""
KNOWN = set(debian.symbols(BASE)) | {"KEXEC", "NEW", "EXT5_FS"}


class Configure(unittest.TestCase):
    """The configuration that a package is built with."""

    def setUp(self):
        """A folder."""
        folder = self.enterContext(tempfile.TemporaryDirectory(prefix="mcube-test-"))
        self.out = Path(folder, "out")
        self.out.mkdir()
        for name, value in (("LOG", self.out / "log"), ("BUILD", self.out)):
            self.enterContext(mock.patch.object(deb, name, value))

    def configured(self, base=BASE, edit=lambda text: text, **given):
        """.config on top of a given one, as a Kconfig that makes this edit leaves it."""
        file = self.out / "given"
        file.write_text(base, "utf-8")
        args = argparse.Namespace(**({"config": str(file), "key": None, "cert": None,
                                      "modules": None, "accept_losses": False} | given))

        def kmake(*_, **__):
            """Kconfig: as in its own, a later line wins."""
            config = self.out / ".config"
            lines = dict(re.findall(r"^(?:# )?CONFIG_(\w+)(=.+| is not set)$",
                                    config.read_text("utf-8"), re.M))
            config.write_text(edit("".join(
                f"CONFIG_{s}{v}\n" if v[0] == "=" else f"# CONFIG_{s}{v}\n"
                for s, v in lines.items())), "utf-8")

        with mock.patch("kbuild.kmake", kmake), mock.patch("deb.debian.known", lambda _: KNOWN), \
                contextlib.redirect_stdout(io.StringIO()):
            deb.configure(args, self.out)
        return debian.symbols((self.out / ".config").read_text("utf-8"))

    def test_given(self):
        """A given configuration gets the product alone, and else stays as it is."""
        got = self.configured()
        self.assertEqual({s: v for s, v in got.items() if s.startswith("MCUBE")},
                         {s: v for s, v in PRODUCT.items() if s.startswith("MCUBE") and v != "n"})
        kept = debian.symbols(BASE)
        for symbol in ("LOCALVERSION", "KUNIT_ALL_TESTS", "SYSTEM_TRUSTED_KEYS"):
            del kept[symbol]
        self.assertEqual({s: got.get(s) for s in kept}, kept)
        self.assertEqual((got["LOCALVERSION"], got["SYSTEM_TRUSTED_KEYS"], got["MODULE_SIG_ALL"],
                          got.get("KUNIT_ALL_TESTS")), ('"-mcube"', '""', "y", None))

    def test_lost(self):
        """A symbol that Kconfig drops or turns is refused by name, unless losses are accepted."""
        for old, new in (("CONFIG_EXT4_FS=m", "# CONFIG_EXT4_FS is not set"),
                         ("CONFIG_DEBUG_INFO_BTF=y", ""),
                         ("CONFIG_CC_OPTIMIZE_FOR_PERFORMANCE=y", ""),
                         ("# CONFIG_KEXEC is not set", "CONFIG_KEXEC=y")):
            with self.assertRaises(Failure) as caught:
                self.configured(edit=lambda text, a=old, b=new: text.replace(a, b))
            self.assertIn(re.search(r"CONFIG_\w+", old)[0] + ":", str(caught.exception))
            (self.out / ".config").unlink()
            self.configured(edit=lambda text, a=old, b=new: text.replace(a, b), accept_losses=True)
            (self.out / ".config").unlink()

    def test_reasons(self):
        """What may differ is told with its reason; the tools of a machine lose nothing."""
        final = BASE.replace("120200", "140200").replace("EXT4_FS=m", "EXT4_FS=y")
        final += "CONFIG_NEW=y\nCONFIG_MCUBE=y\n"
        got = debian.compare(BASE + "CONFIG_OLD=y\n", final, KNOWN)
        self.assertEqual({why: [x.split(":")[0] for x in lines] for why, lines in got.items()}, {
            debian.GONE: ["CONFIG_OLD"], debian.NEW: ["CONFIG_NEW"],
            debian.MORE: ["CONFIG_EXT4_FS"], "the product": ["CONFIG_MCUBE"],
            "the compiler and tools at hand": ["CONFIG_GCC_VERSION"]})
        less = BASE.replace("CONFIG_EXT4_FS=m", "")
        self.assertEqual(list(debian.compare(BASE, less, KNOWN, True)), [debian.LEFT_OUT])
        self.assertEqual(list(debian.compare(BASE, less, KNOWN)), [""])

    def test_key(self):
        """The user's key and certificate sign the modules, where the configuration signs any."""
        key, cert = self.out / "MOK.priv", self.out / "MOK.pem"
        key.write_text("-- a key\n", "utf-8")
        cert.write_text("BEGIN CERTIFICATE\n", "utf-8")
        got = self.configured(key=key, cert=cert)
        both = self.out / "mcube-key.pem"
        self.assertEqual((got["MODULE_SIG_KEY"], got["MODULE_SIG_ALL"]), (f'"{both}"', "y"))
        self.assertEqual((both.read_text("utf-8"), both.stat().st_mode & 0o777),
                         ("-- a key\nBEGIN CERTIFICATE\n", 0o600))
        with self.assertRaises(Failure):
            self.configured(base=BASE.replace("CONFIG_MODULE_SIG=y\n", ""), key=key, cert=cert)

    def test_names(self):
        """Debian's four configurations are known by name, and a wrong name is refused."""
        self.assertEqual(debian.NAMES, ["debian12", "debian12-cloud", "debian13",
                                        "debian13-cloud"])
        with self.assertRaises(Failure) as caught:
            debian.config("debian11")
        self.assertIn("debian12-cloud", caught.exception.advice)

    def test_default(self):
        """The small configuration takes the same options."""
        seen = []
        args = argparse.Namespace(config=None, key=None, modules=None)
        with mock.patch("kbuild.configure", lambda tree, out, names, log: seen.extend(names)):
            deb.configure(args, self.out)
        self.assertEqual(seen, ["qemu", "product"])

    def test_version(self):
        """The version rises with each change, and stays if nothing changed."""
        with mock.patch("kbuild.fingerprint", lambda *_: "x"), \
                mock.patch("deb.packages.now", iter(("20260101.1", "20260101.2")).__next__):
            (self.out / ".config").write_text("a", "utf-8")
            first = deb.version(self.out)
            self.assertEqual(deb.version(self.out), first)
            (self.out / ".config").write_text("b", "utf-8")
            second = deb.version(self.out)
        self.assertEqual(subprocess.run(["dpkg", "--compare-versions", second, "gt", first],
                                        check=False).returncode, 0)


class Grub(unittest.TestCase):
    """The stock kernel stays GRUB's default."""

    def default(self, kernels, **settings):
        """GRUB_DEFAULT with these kernels in /boot."""
        with tempfile.TemporaryDirectory(prefix="mcube-test-") as boot:
            for name in kernels:
                Path(boot, f"vmlinuz-{name}").touch()
            text = (deb.BOOT / "grub.cfg").read_text("utf-8").replace("cd /boot", f"cd {boot}")
            script = "set -eu; grub_get_device_id() { echo ID; }\n" + text + \
                '\necho "${GRUB_DEFAULT:-}"'
            return subprocess.run(["sh", "-c", script], text=True, stdout=subprocess.PIPE,
                                  check=True, env={"PATH": "/usr/bin:/bin", **settings}
                                  ).stdout.strip()

    def test_sort(self):
        """By version alone the kernel of mcube would be the default in most cases."""
        def sorts_later(mine, stock):
            """By GRUB 2.06 of Debian 12, by GRUB 2.12 of Debian 13."""
            last = subprocess.run(["sort", "-V"], input=f"{mine}\n{stock}\n", text=True, check=True,
                                  stdout=subprocess.PIPE, env={"LC_ALL": "C", "PATH": "/usr/bin"}
                                  ).stdout.split()[-1]
            return (subprocess.run(["dpkg", "--compare-versions", mine, "gt", stock],
                                   check=False).returncode == 0, last == mine)

        for stock, want in (("6.1.0-57-amd64", (True, True)),
                            ("6.12.115+deb13-amd64", (True, True)),
                            ("6.12.117+deb13-amd64", (False, True)),
                            ("6.12.118+deb13-amd64", (False, False))):
            self.assertEqual(sorts_later("6.12.117-mcube", stock), want, stock)

    def test_stock(self):
        """The newest kernel without mcube, or what the administrator says."""
        both = ("6.1.0-9-amd64", "6.1.0-57-amd64", "6.12.117-mcube")
        entry = "gnulinux-{}-advanced-ID"
        for settings, want in (
                ({}, "gnulinux-advanced-ID>" + entry.format(both[1])),
                ({"GRUB_DEFAULT": "0"}, "gnulinux-advanced-ID>" + entry.format(both[1])),
                ({"GRUB_DISABLE_SUBMENU": "y"}, entry.format(both[1])),
                ({"GRUB_MCUBE_DEFAULT": "true"}, "gnulinux-advanced-ID>" + entry.format(both[2])),
                ({"GRUB_DEFAULT": "saved"}, "saved"), ({"GRUB_DEFAULT": "2"}, "2")):
            self.assertEqual(self.default(both, **settings), want)
        self.assertEqual(self.default(both[2:], GRUB_DEFAULT="0"), "0")
        self.assertEqual(self.default(both[:2], GRUB_MCUBE_DEFAULT="true", GRUB_DEFAULT="0"), "0")


class Command(unittest.TestCase):
    """The package of the command."""

    def test_contents(self):
        """All that make install gives; the service is off, its file is the administrator's."""
        with tempfile.TemporaryDirectory(prefix="mcube-test-") as tmp, \
                mock.patch.multiple(deb, BUILD=Path(tmp), TO=Path(tmp, "deb"),
                                    LOG=Path(tmp, "log")):
            made, = deb.command()
            files = subprocess.run(["dpkg-deb", "--fsys-tarfile", made], check=True,
                                   stdout=subprocess.PIPE).stdout
            control = subprocess.run(["dpkg-deb", "-I", made, "control", "conffiles", "prerm"],
                                     text=True, check=True, stdout=subprocess.PIPE).stdout
        with tarfile.open(fileobj=io.BytesIO(files)) as tar:
            names = {m.name[1:] for m in tar if not m.isdir()}
            unit = tar.extractfile("./usr/lib/systemd/system/mcube.service").read().decode()
        for name in ("/usr/bin/mcube", "/usr/share/man/man8/mcube.8.gz",
                     "/usr/share/mcube/profiles/m3.conf", "/usr/share/mcube/mcube_cmd/cli.py",
                     "/usr/share/bash-completion/completions/mcube", "/etc/mcube/mcube.conf"):
            self.assertIn(name, names)
        self.assertFalse([n for n in names if ".wants/" in n])
        self.assertIn("ExecStart=/usr/bin/mcube apply --boot", unit)
        self.assertIn("\n/etc/mcube/mcube.conf\n", control)
        self.assertIn("Package: mcube\n", control)


class Package(unittest.TestCase):
    """The .config inside a finished package."""

    def setUp(self):
        """A folder for packages."""
        folder = self.enterContext(tempfile.TemporaryDirectory(prefix="mcube-test-"))
        self.folder = Path(folder)

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
