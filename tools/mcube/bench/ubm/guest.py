# SPDX-License-Identifier: GPL-2.0
"""Guests of bench-ubm-kernel, with the programs and the disk that they read."""

import guests  # after lab, which makes it importable
from lab import Failure
from lib import ui
from qemu import Guest, image
from . import data

PROGRAMS = ("bash", "awk", "cscope", "grep", "lid", "rg", "sqlite3", "xargs")
# Rounds of each program: {name: (rounds of a measured run, rounds of a recording)}.
ROUNDS = {"cscope": (8, 24), "cpp": (1, 4), "join": (3, 6), "index": (8, 16), "rg": (5, 16)}
MEMORY = "768M"


class Counted(Guest):
    """A guest whose clock counts instructions, and goes with the host's clock while it waits.

    Otherwise the clock would jump to the next timer whenever the guest waits for the device.
    """

    def argv(self, work, interactive=False):
        """QEMU command."""
        return [w.replace("sleep=off", "sleep=on") for w in super().argv(work, interactive)]


def make(disk, kernel=None, counted=False, **machine):
    """A guest with the programs; the caller adds what else it needs to its root."""
    vm = (Counted if counted else Guest)(
        kernel or image(), drives=[disk], programs=PROGRAMS, icount=counted,
        **({"smp": 1, "mem": MEMORY} | machine))
    vm.root.program(data.cc1(), "guest/cc1")
    vm.root.file(ui.ROOT / "tools/mcube/guest/ubm.sh", "/guest/ubm.sh")
    return vm


def with_command(vm):
    """Put python and the mcube command into a guest."""
    guests.install_command(vm.root)


def run(vm, name, lines, timeout):
    """Run lines in a guest; its result."""
    script = "\n".join(["set -e", ". /guest/ubm.sh", *lines]) + "\n"
    result = vm.run(script, f"bench-ubm-{name}", timeout)
    if not result.ok:
        raise Failure(f"bench-ubm-{name}: {result.why()}\n{result.output[-1500:]}",
                      f"console: {result.console}")
    return result
