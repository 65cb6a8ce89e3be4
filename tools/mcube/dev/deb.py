#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Debian packages of mcube: the kernel beside the stock kernel, the command, the selftests.

The configuration of the kernel is that of a Debian release (debian12, debian13, or
with -cloud), the running kernel's, or a file; everything in it is kept, and the script
names each symbol that differs, with the reason. Without one it is that of the QEMU guests,
which is small and has the drivers that a virtual machine needs, but no signatures of
modules, no lockdown, no BTF. Each gets the options of configs/product.config, which leaves
out what is for tests. The script reads the configuration inside the finished package too.
"""

import fnmatch
import hashlib
import shutil
import subprocess
import tarfile
from pathlib import Path

import guests_kselftest
import kbuild
from lib import debian, packages, ui
from lib.source import TREE
from lib.ui import BUILD, ROOT, Failure, Steps, say

TO = BUILD / "deb"
LOG = BUILD / "deb.log"
GRUB = "etc/default/grub.d/mcube-{release}.cfg"
BOOT = ROOT / "tools/mcube/boot"
# Maintainer scripts of the package of the command. The service is enabled by nobody but root.
RELOAD = """#!/bin/sh
set -e
[ ! -d /run/systemd/system ] || systemctl daemon-reload
"""
REMOVE = """#!/bin/sh
set -e
[ "$1" != remove ] || [ ! -d /run/systemd/system ] || systemctl -q disable --now mcube.service
"""


def merged(base, want, key=None):
    """The text of a configuration plus the product."""
    text = base + "".join(f"CONFIG_{s}={v}\n" if v != "n" else f"# CONFIG_{s} is not set\n"
                          for s, v in want.items())
    # The tests of KUnit would have those of mcube among them.
    text += "# CONFIG_KUNIT_ALL_TESTS is not set\n"
    if "CONFIG_MODULE_SIG=y" in base:
        # The certificates that Debian builds in are files of its own build. All modules are
        # signed, by a key that this build makes for itself or by the user's.
        text += ('CONFIG_MODULE_SIG_ALL=y\nCONFIG_SYSTEM_TRUSTED_KEYS=""\n'
                 f'CONFIG_MODULE_SIG_KEY="{key or "certs/signing_key.pem"}"\n')
        if "CONFIG_SYSTEM_REVOCATION_KEYS=" in base:
            text += 'CONFIG_SYSTEM_REVOCATION_KEYS=""\n'
    return text


def account(base, final, trimmed, accept):
    """Say what became of a configuration; refuse a loss that nobody asked for."""
    found = debian.compare(base, final, debian.known(TREE), trimmed)
    lost = found.pop("", [])
    with open(LOG, "a", encoding="utf-8") as log:
        for reason, lines in found.items():
            log.write(f"{reason}:\n  " + "\n  ".join(lines) + "\n")
            say(f"{len(lines)} symbols differ: {reason}")
        log.write("lost:\n  " + "\n  ".join(lost) + "\n")
    say(f"{len(debian.symbols(base))} symbols given, {len(lost)} lost; {LOG} names what differs")
    if lost and not accept:
        raise Failure("this Linux does not keep all of the configuration:\n  "
                      + "\n  ".join(lost),
                      "take a configuration of Linux 6.12, such as CONFIG=debian12, or accept "
                      "the losses: tools/mcube/dev/deb.py --accept-losses")


def build_folder(name):
    """Where the kernel of a configuration is built: each has a folder of its own."""
    return BUILD / f"deb-{name if name in debian.NAMES + ['running'] else 'file'}" if name \
        else BUILD / "deb-small"


def configure(args, out):
    """The small configuration, or a given one, plus the options of the product."""
    if not args.config:
        if args.key or args.modules:
            raise Failure("--key and --modules need a configuration", "give --config debian12")
        kbuild.configure(TREE, out, ["qemu", "product"], LOG)
        return
    base, what = debian.config(args.config)
    say(f"configuration: {what}")
    want = kbuild.requests(["product"])
    key = None
    out.mkdir(parents=True, exist_ok=True)
    if args.key:
        if "CONFIG_MODULE_SIG=y" not in base:
            raise Failure("this configuration has no MODULE_SIG, so modules cannot be signed")
        key = out / "mcube-key.pem"
        ui.write_if_changed(key, Path(args.key).read_bytes().rstrip() + b"\n" + pem(args.cert),
                            0o600)
    config = out / ".config"
    text = merged(base, want, key)
    mark = hashlib.sha256((text + str(args.modules)).encode()).hexdigest()
    asked = out / "mcube-asked"
    if not (asked.is_file() and config.is_file() and asked.read_text("utf-8") == mark):
        config.write_text(text, "utf-8")
        kbuild.kmake(TREE, out, "olddefconfig", log=LOG)
        if args.modules:
            trim(out, args.modules)
        asked.write_text(mark, "utf-8")
    final = config.read_text("utf-8")
    if wrong := kbuild.check_config(final, want):
        raise Failure("the final .config lacks:\n  " + "\n  ".join(wrong))
    account(base, final, bool(args.modules), args.accept_losses)


def pem(cert):
    """A certificate, in DER or PEM, as PEM."""
    data = Path(cert).read_bytes()
    if b"BEGIN CERTIFICATE" in data:
        return data
    return subprocess.run(["openssl", "x509", "-inform", "DER"], input=data,
                          stdout=subprocess.PIPE, check=True).stdout


def trim(out, modules):
    """Leave out modules that a list, as lsmod prints it, does not have (localmodconfig)."""
    config = out / ".config"
    with open(out / "mcube-trimmed", "w", encoding="utf-8") as f:
        got = subprocess.run(
            ["perl", TREE / "scripts/kconfig/streamline_config.pl", "--localmodconfig",
             TREE, "Kconfig"], cwd=out, stdout=f, stderr=subprocess.PIPE, text=True, check=False,
            env=kbuild.environment() | {"LSMOD": str(Path(modules).resolve()),
                                        "SRCARCH": "x86", "srctree": str(TREE)})
    if got.returncode:
        raise Failure(f"{modules} cannot be used:\n{got.stderr}", "give a file as lsmod prints it")
    text = (out / "mcube-trimmed").read_text("utf-8")
    # lsmod never lists what is loaded on demand, and what is not loaded yet.
    text += "".join(f"CONFIG_{s}={v}\n" for s, v in kbuild.requests(["product"]).items())
    config.write_text(text, "utf-8")
    kbuild.kmake(TREE, out, "olddefconfig", log=LOG)


def version(out):
    """The version of the packages: a new time if sources, configuration or compiler changed."""
    mark = kbuild.fingerprint(TREE, ["product"]) + \
        hashlib.sha256((out / ".config").read_bytes()).hexdigest()
    stamp = out / "mcube-version"
    old = stamp.read_text("utf-8").split() if stamp.is_file() else []
    if old[:1] != [mark]:
        old = [mark, f"{packages.base_version()}-{packages.now()}"]
        stamp.write_text(" ".join(old), "utf-8")
    return old[1]


def staged(out, package):
    """The folder of a package as the kernel's own scripts make it."""
    root = out / "debian" / package
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir(parents=True)
    kbuild.kmake(TREE, out, "run-command",
                 f"KBUILD_RUN_COMMAND=+$(srctree)/scripts/package/builddeb {package}", log=LOG)
    return root


def kernel(args, out, steps):
    """Image, headers and, if asked for, debugging symbols."""
    steps("configure")
    configure(args, out)
    steps("compile")
    build = version(out)
    # What uname -v says is the time of this build.
    day, time = build.rsplit("-", 1)[1].split(".")
    env = {"KBUILD_BUILD_TIMESTAMP": f"{day[:4]}-{day[4:6]}-{day[6:]} {time[:2]}:{time[2:4]}:"
           f"{time[4:]} +0000", "CCACHE_DEPEND": "1"}
    kbuild.kmake(TREE, out, "bzImage", "modules", log=LOG, env=env)
    release = (out / "include/config/kernel.release").read_text("utf-8").strip()
    steps("pack")
    image = staged(out, f"linux-image-{release}")
    if args.key:
        vmlinuz = image / f"boot/vmlinuz-{release}"
        ui.sh("sbsign", "--key", args.key, "--cert", out / "mcube-key.pem", "--output", vmlinuz,
              vmlinuz)
    grub = GRUB.format(release=release)
    ui.write_if_changed(image / grub, (BOOT / "grub.cfg").read_bytes())
    # The small configuration has the drivers of its disk built in.
    initrd = bool(args.config)
    made = [packages.build(
        image, image.name, build, "kernel",
        packages.IMAGE.format(release=release, grub=f"/{grub}"), TO,
        depends="kmod" + ", initramfs-tools | linux-initramfs-tool" * initrd,
        recommends="mcube")]
    made.append(packages.build(
        staged(out, f"linux-headers-{release}"), f"linux-headers-{release}", build, "kernel",
        packages.HEADERS.format(release=release), TO, depends="gcc, make, libc6, libelf1"))
    if args.symbols:
        name = f"linux-image-{release}-dbg"
        made.append(packages.build(staged(out, name), name, build, "debug",
                                   packages.SYMBOLS.format(release=release), TO))
    shutil.rmtree(out / "debian")
    try:
        refuse_hooks(made)
    except Failure:
        for deb in made:
            deb.unlink()
        raise
    # Debugging symbols and kernels of earlier builds would be installed with these.
    for old in set(TO.glob("linux-*.deb")) - set(made):
        old.unlink()
    return made


def command():
    """The mcube command, its manual and its service."""
    root = BUILD / "deb-mcube"
    shutil.rmtree(root, ignore_errors=True)
    with open(LOG, "a", encoding="utf-8") as log:
        if subprocess.run(["make", "-C", ROOT / "tools/mcube", "install", "PREFIX=/usr",
                           f"DESTDIR={root}", "SYSTEMD=/usr/lib/systemd/system"],
                          stdout=log, stderr=log, check=False).returncode:
            raise Failure("'make -C tools/mcube install' failed", f"the log is {LOG}")
    conf = [f"/{p.relative_to(root)}\n" for p in sorted(root.glob("etc/**/*")) if p.is_file()]
    for name, text, mode in (("conffiles", "".join(conf), 0o644), ("postinst", RELOAD, 0o755),
                             ("prerm", REMOVE, 0o755), ("postrm", RELOAD, 0o755)):
        ui.write_if_changed(root / "DEBIAN" / name, text.encode(), mode)
    for page in root.glob("usr/share/man/man8/*.8"):
        ui.sh("gzip", "-9n", page)
    return [packages.build(root, "mcube", f"{packages.base_version()}-{packages.now()}", "admin",
                           packages.COMMAND, TO, depends="python3, libc6",
                           recommends="python3-matplotlib", suggests="linux-perf")]


def selftests(out):
    """The kselftests with the kernel's own runner."""
    root = BUILD / "deb-kselftests"
    shutil.rmtree(root, ignore_errors=True)
    guests_kselftest.install(out, root / "usr/lib/mcube/kselftests")
    ui.write_if_changed(root / "usr/sbin/mcube-kselftests",
                        (BOOT / "mcube-kselftests").read_bytes(), 0o755)
    return [packages.build(root, "mcube-kselftests",
                           f"{packages.base_version()}-{packages.now()}", "admin",
                           packages.TESTS, TO, suggests="mcube")]


def config_inside(deb):
    """The configuration of the kernel in a package; None if the package has no kernel."""
    with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", deb], stdout=subprocess.PIPE) as p, \
            tarfile.open(fileobj=p.stdout, mode="r|") as files:
        for member in files:
            if fnmatch.fnmatch(member.name, "./boot/config-*"):
                return files.extractfile(member).read().decode()
    return None


def refuse_hooks(debs):
    """Refuse packages whose kernel has anything but the options of the product."""
    want, found = kbuild.requests(["product"]), False
    for deb in debs:
        text = config_inside(deb)
        if text is None:
            continue
        found = True
        if wrong := kbuild.check_config(text, want):
            raise Failure(f"{deb} is no package to install:\n  " + "\n  ".join(wrong),
                          "see configs/product.config, and what the symbols depend on")
    if not found:
        raise Failure("there is no package that has a kernel and boot/config-*",
                      f"the log is {LOG}")


def run():
    """Command line."""
    parser = ui.parser(__doc__)
    parser.add_argument("--config", metavar="NAME", help="configuration to start from: "
                        f"{', '.join(debian.NAMES)}, running, or a file")
    parser.add_argument("--only", choices=["kernel", "mcube", "kselftests", "config"],
                        help="make this alone; mcube needs no kernel, config compiles nothing")
    parser.add_argument("--key", metavar="PEM", help="your private key (MOK), signs the kernel "
                        "and its modules")
    parser.add_argument("--cert", metavar="FILE", help="its certificate, DER or PEM")
    parser.add_argument("--symbols", action="store_true", help="debugging symbols too (large)")
    parser.add_argument("--modules", metavar="FILE",
                        help="only modules that this file lists, as lsmod prints them")
    parser.add_argument("--accept-losses", action="store_true",
                        help="go on if parts of the configuration do not exist here")
    args = parser.parse_args()
    if bool(args.key) != bool(args.cert):
        raise Failure("a key and its certificate belong together", "give --key and --cert")
    names = {"mcube": ["pack the command"], "config": ["configure"],
             "kernel": ["configure", "compile", "pack"]}
    names["kselftests"] = ["configure", "pack the selftests"]
    steps = Steps("deb", names.get(args.only, names["kernel"] + ["pack the selftests",
                                                                 "pack the command"]))
    LOG.unlink(missing_ok=True)
    out, made = build_folder(args.config), []
    if args.only in (None, "kernel"):
        made += kernel(args, out, steps)
    elif args.only != "mcube":
        steps("configure")
        configure(args, out)
    if args.only in (None, "kselftests"):
        steps("pack the selftests")
        made += selftests(out)
    if args.only in (None, "mcube"):
        steps("pack the command")
        made += command()
    for deb in made:
        print(f"    {deb} ({deb.stat().st_size >> 10} KiB)")
    steps.done(f"install with 'apt install {TO}/*.deb', see Documentation/admin-guide/mm/mcube/"
               "start.rst" if made else "done")
    return 0


if __name__ == "__main__":
    ui.main(run)
