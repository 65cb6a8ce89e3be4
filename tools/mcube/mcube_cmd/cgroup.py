# SPDX-License-Identifier: GPL-2.0
"""A cgroup (version 2) of its own, with a limit of memory."""

import errno
import os
import time

from . import host
from .term import Failure

FOLDER = "/sys/fs/cgroup"


def need():
    """Refuse to go on where no cgroup can be made."""
    if not host.is_root():
        raise Failure("only root may limit memory", "run it by sudo")
    controllers = host.read(f"{FOLDER}/cgroup.controllers")
    if controllers is None:
        raise Failure(f"{FOLDER} is no cgroup of version 2",
                      "mount -t cgroup2 cgroup /sys/fs/cgroup")
    if "memory" not in controllers.split():
        raise Failure("the kernel offers no memory controller to cgroups of version 2",
                      "boot without cgroup_disable=memory and without memory in version 1; the "
                      "kernel needs CONFIG_MEMCG")


class Cgroup:
    """A cgroup from its making to its removal; use it in a with statement."""

    def __init__(self, name, limit):
        need()
        self.path = f"{FOLDER}/{name}"
        try:
            host.write(f"{FOLDER}/cgroup.subtree_control", "+memory")
            os.mkdir(host.at(self.path))
            # Without swap, the limit is shared by file pages and pages that cannot go.
            if host.at(f"{self.path}/memory.swap.max").exists():
                self.set("memory.swap.max", "0")
            self.set("memory.max", str(limit))
        except OSError as e:
            raise Failure(f"{self.path} cannot be made: {os.strerror(e.errno)}",
                          "is the process in a container? run it on the host") from e

    def set(self, file, text):
        """Write a file of the cgroup."""
        host.write(f"{self.path}/{file}", text)

    def enter(self):
        """Move this process into the cgroup."""
        self.set("cgroup.procs", "0")

    def stat(self):
        """memory.stat as {name: number}."""
        text = host.read(f"{self.path}/memory.stat", "")
        return {k: int(v) for k, v in (line.split() for line in text.splitlines())}

    def close(self):
        """Remove the cgroup, once its last process is gone."""
        for _ in range(100):
            try:
                os.rmdir(host.at(self.path))
                return
            except OSError as e:
                if e.errno != errno.EBUSY:
                    return
            time.sleep(0.02)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
