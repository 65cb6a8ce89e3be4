# SPDX-License-Identifier: GPL-2.0
"""Debian packages made of a folder: the control file, the archive."""

import datetime
import os
import subprocess

from . import ui
from .source import pinned, read_base

CONTROL = """Package: {name}
Source: linux-mcube
Version: {version}
Architecture: amd64
Maintainer: {who}
Installed-Size: {kib}
Section: {section}
Priority: optional
{fields}Description: {text}
"""
# The short description, then lines of the long one.
IMAGE = """Linux {release}: page placement by cache colors and DRAM banks
 The kernel and its modules. They lie beside the stock kernel, which GRUB goes on to
 boot by default; see GRUB_MCUBE_DEFAULT in {grub}.
 Every policy is off after boot."""
HEADERS = """headers of Linux {release}
 Modules outside the kernel's tree, such as those of DKMS, are built with these."""
SYMBOLS = """debugging symbols of Linux {release}
 For perf probe, drgn and crash."""
COMMAND = """page placement by cache colors and DRAM banks: command and service
 The mcube command with its manual, profiles and completion, and a service that
 switches a profile on at boot; the service is off until it is enabled."""
TESTS = """kernel selftests of mcube
 Run mcube-kselftests as root on an mcube kernel, on a machine that does no other
 work: the tests switch policies and fill memory."""


def now():
    """The time that the version of a package has: each build has a later one."""
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y%m%d.%H%M%S")


def base_version():
    """6.12.N of build/linux, or of the source that the repository names."""
    return (read_base() or {}).get("release") or pinned()["VERSION"].partition("-")[0]


def maintainer():
    """Who built it, as Debian's tools have it."""
    return f"{os.environ.get('DEBFULLNAME', 'mcube')} <{os.environ.get('DEBEMAIL', 'mcube@build')}>"


def build(root, name, version, section, text, to, **fields):
    """The package of a folder; fields such as depends='a, b'. Replaces older versions in @to."""
    size = subprocess.run(["du", "-sk", str(root)], text=True, stdout=subprocess.PIPE, check=True)
    control = CONTROL.format(
        name=name, version=version, who=maintainer(), kib=size.stdout.split()[0],
        section=section, text=text,
        fields="".join(f"{k.capitalize()}: {v}\n" for k, v in fields.items()))
    ui.write_if_changed(root / "DEBIAN/control", control.encode())
    ui.sh("chmod", "-R", "u=rwX,go=rX", root)
    to.mkdir(parents=True, exist_ok=True)
    deb = to / f"{name}_{version}_amd64.deb"
    # Modules are packed already if the configuration says so; zstd does not spend minutes on them.
    ui.sh("dpkg-deb", "--root-owner-group", "-Zzstd", "-z6", "--build", root, f"{deb}.new")
    for old in to.glob(f"{name}_*_amd64.deb"):
        old.unlink()
    (to / f"{deb.name}.new").rename(deb)
    return deb
