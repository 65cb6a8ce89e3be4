# SPDX-License-Identifier: GPL-2.0
"""Where a guest hangs, from the list of tasks that SysRq-T writes to its console.

A task that hangs runs, or waits in a way that no signal ends. All other tasks wait for
something to do.
"""

import re

TASK = re.compile(r"task:(\S+)\s+state:(\S)")
FRAME = re.compile(r"\]\s+([\w.]+)\+0x[0-9a-f]+/0x")
# Functions that all tasks have at the top that do not run at the moment.
SCHEDULER = re.compile(r"_*(schedule|cond_resched|preempt_schedule)\w*$")
# The task that asked for the list is in it.
ASKED = "show_state_filter"
# Tasks of the kernel that run whenever they are needed.
USUAL = re.compile(r"swapper|kworker|ksoftirqd|rcu_|migration/|cpuhp/")
FRAMES, TASKS = 4, 6


def stuck(console):
    """Lines like "mcube_fuzz R offline_pages < memory_block_offline"."""
    out, frames = [], None
    for line in console:
        if m := TASK.search(line):
            frames = None
            if m[2] in "RD" and not USUAL.match(m[1]):
                frames = []
                out.append((f"{m[1]} {m[2]}", frames))
        elif frames is not None and len(frames) < FRAMES and (m := FRAME.search(line)):
            if not SCHEDULER.match(m[1]):
                frames.append(m[1])
    return [f"{task} {' < '.join(frames)}".strip() for task, frames in out
            if ASKED not in frames][:TASKS]
