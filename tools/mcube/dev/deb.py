#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Kernel packages to install beside the stock kernel.

The default configuration is that of the QEMU guests; it is small and has the
drivers that a virtual machine needs. For real hardware give the configuration
of a running kernel, --config /boot/config-... Either gets the options of
configs/product.config, which leaves out what is for tests; the script reads the
configuration inside the finished package and refuses any other. The version ends
in -mcube, so that the package replaces no stock kernel. The packages go to
build/deb/.
"""

import argparse
import fnmatch
import shutil
import subprocess
import tarfile
from pathlib import Path

import kbuild
from lib import ui
from lib.source import TREE
from lib.ui import BUILD, Failure, Steps


def configure(out, config, log):
    """The small configuration, or a given one, plus the options of the product."""
    if not config:
        kbuild.configure(TREE, out, ["qemu", "product"], log)
        return
    if not Path(config).is_file():
        raise Failure(f"no configuration {config}")
    want = kbuild.requests(["product"])
    # Debian's own keys, and the tools for BTF, are missing outside Debian's build. All tests
    # of KUnit would have those of mcube among them.
    drop = {"SYSTEM_TRUSTED_KEYS": '""', "SYSTEM_REVOCATION_KEYS": '""',
            "DEBUG_INFO_BTF": "n", "DEBUG_INFO_NONE": "y", "KUNIT_ALL_TESTS": "n"}
    out.mkdir(parents=True, exist_ok=True)
    text = Path(config).read_text("utf-8")
    text += "".join(f"CONFIG_{k}={v}\n" if v != "n" else f"# CONFIG_{k} is not set\n"
                    for k, v in (want | drop).items())
    (out / ".config").write_text(text, "utf-8")
    kbuild.kmake(TREE, out, "olddefconfig", log=log)
    wrong = kbuild.check_config((out / ".config").read_text("utf-8"), want)
    if wrong:
        raise Failure("the final .config lacks:\n  " + "\n  ".join(wrong))


def config_inside(deb):
    """The configuration of the kernel in a package; None if the package has no kernel."""
    with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", deb], stdout=subprocess.PIPE) as p, \
            tarfile.open(fileobj=p.stdout, mode="r|") as files:
        for member in files:
            if fnmatch.fnmatch(member.name, "./boot/config-*"):
                return files.extractfile(member).read().decode()
    return None


def refuse_hooks(packages):
    """Refuse packages whose kernel has anything but the options of the product."""
    want, found = kbuild.requests(["product"]), False
    for deb in packages:
        text = config_inside(deb)
        if text is None:
            continue
        found = True
        if wrong := kbuild.check_config(text, want):
            raise Failure(f"{deb} is no package to install:\n  " + "\n  ".join(wrong),
                          "see configs/product.config, and what the symbols depend on")
    if not found:
        raise Failure("bindeb-pkg left no package that has a kernel and boot/config-*",
                      f"the log is {BUILD}/deb.log")


def run():
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--config", help="configuration to start from")
    args = parser.parse_args()
    steps = Steps("deb", ["configure", "compile and pack", "look inside"])
    out, log = BUILD / "deb-obj", BUILD / "deb.log"
    log.unlink(missing_ok=True)
    steps("configure")
    configure(out, args.config, log)
    steps("compile and pack")
    shutil.rmtree(BUILD / "deb", ignore_errors=True)
    (BUILD / "deb").mkdir()
    kbuild.kmake(TREE, out, "bindeb-pkg", log=log,
                 env={"KDEB_PKGVERSION": "1", "DPKG_FLAGS": "-d",
                      "KDEB_SOURCENAME": "linux-mcube"})
    steps("look inside")
    for left in BUILD.glob("linux-*"):
        if left.suffix == ".deb":
            left.rename(BUILD / "deb" / left.name)
        elif left.is_file():
            left.unlink()
    made = sorted((BUILD / "deb").glob("*.deb"))
    try:
        refuse_hooks(made)
    except Failure:
        shutil.rmtree(BUILD / "deb")
        raise
    for deb in made:
        print(f"    {deb} ({deb.stat().st_size >> 10} KiB)")
    steps.done(f"install with 'apt install {BUILD}/deb/linux-image-*.deb', then choose it at boot")
    return 0


if __name__ == "__main__":
    ui.main(run)
