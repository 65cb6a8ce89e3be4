# SPDX-License-Identifier: GPL-2.0
"""Kernel modules: mcube_ROOM is the module of a room, which makes the directory ROOM."""

import subprocess

from . import host, machine, policy
from .term import Failure


def folder(name):
    """The directory in sysfs that a module makes."""
    return f"{policy.SYSFS}/{name.removeprefix('mcube_')}"


def load(name, made=None):
    """Load a module unless what it makes is there; True if it was loaded."""
    made = made or folder(name)
    if host.at(made).exists():
        return False
    if not host.is_root():
        raise Failure(f"the module {name} is not loaded", "run it by sudo")
    try:
        got = subprocess.run(["modprobe", name], text=True, capture_output=True, check=False)
        status, said = got.returncode, got.stderr.strip()
    except FileNotFoundError:
        status, said = 1, "there is no modprobe"
    if status:
        raise Failure(f"the module {name} cannot be loaded: {said or f'status {status}'}",
                      advice(name))
    if not host.at(made).exists():
        raise Failure(f"the module {name} is loaded, but {made} is not there",
                      "look for it in the kernel's log: dmesg | grep mcube")
    return True


def advice(name):
    """The next step after modprobe failed."""
    option = name.upper()
    if machine.config(option) == "m":
        return (f"install the modules of this kernel (make modules_install), or load {name}.ko "
                "by insmod; in a container, do it on the host")
    return f"build the kernel with CONFIG_{option}=m, and see dmesg"
