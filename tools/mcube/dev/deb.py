#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Kernel packages to install beside the stock kernel.

The default configuration is that of the QEMU guests; it is small and has the
drivers that a virtual machine needs. For real hardware give the configuration
of a running kernel, --config /boot/config-..., to which the script adds mcube's
symbols. The version ends in -mcube, so that the package replaces no stock
kernel. The packages go to build/deb/.
"""

import argparse
import re
import shutil
from pathlib import Path

import kbuild
from lib import ui
from lib.source import TREE
from lib.ui import BUILD, Failure, Steps


def configure(out, config, log):
    """The small configuration, or a given one plus mcube's symbols."""
    if not config:
        kbuild.configure(TREE, out, ["qemu", "mcube"], log)
        return
    if not Path(config).is_file():
        raise Failure(f"no configuration {config}")
    want = kbuild.requests(["mcube"]) | {"LOCALVERSION": '"-mcube"', "MCUBE_KUNIT_TEST": "n"}
    if not re.search(r"^CONFIG_KUNIT=y", Path(config).read_text("utf-8"), re.M):
        want.pop("MCUBE_KUNIT_TEST")
    # Debian's own keys, and the tools for BTF, are missing outside Debian's build.
    drop = {"SYSTEM_TRUSTED_KEYS": '""', "SYSTEM_REVOCATION_KEYS": '""',
            "DEBUG_INFO_BTF": "n", "DEBUG_INFO_NONE": "y"}
    out.mkdir(parents=True, exist_ok=True)
    text = Path(config).read_text("utf-8")
    text += "".join(f"CONFIG_{k}={v}\n" if v != "n" else f"# CONFIG_{k} is not set\n"
                    for k, v in (want | drop).items())
    (out / ".config").write_text(text, "utf-8")
    kbuild.kmake(TREE, out, "olddefconfig", log=log)
    wrong = kbuild.check_config(out / ".config", want)
    if wrong:
        raise Failure("the final .config lacks:\n  " + "\n  ".join(wrong))


def run():
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--config", help="configuration to start from")
    args = parser.parse_args()
    steps = Steps("deb", ["configure", "compile and pack", "collect"])
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
    steps("collect")
    for left in BUILD.glob("linux-*"):
        if left.suffix == ".deb":
            left.rename(BUILD / "deb" / left.name)
        elif left.is_file():
            left.unlink()
    made = sorted((BUILD / "deb").glob("*.deb"))
    if not made:
        raise Failure("bindeb-pkg left no package", f"the log is {log}")
    for deb in made:
        print(f"    {deb} ({deb.stat().st_size >> 10} KiB)")
    steps.done(f"install with 'apt install {BUILD}/deb/linux-image-*.deb', then choose it at boot")
    return 0


if __name__ == "__main__":
    ui.main(run)
