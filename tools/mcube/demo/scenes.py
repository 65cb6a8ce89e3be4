# SPDX-License-Identifier: GPL-2.0
"""What the scenes of the demo share: their guests, commands that are shown, and a picture.

A scene is a module with

    NAME, TITLE            its name on the command line and in files; one line
    VARIANTS               its guests, which run side by side: the policy off, and on
    machine(variant)       options of qemu.Guest
    prepare(root)          put files into a guest
    script(variant)        shell text for a guest
    report(results)        print a table and a sentence; return {"parameters", "rows",
                           "summary", "pictures"}
"""

import shlex
from concurrent.futures import ThreadPoolExecutor

import lab  # first: it makes the other packages importable
from lib import ui
from qemu import Guest

OFF, ON = "#4477aa", "#228833"


def show(command):
    """Shell text that prints a command as a user would type it, and runs it."""
    return f"echo {shlex.quote('    # ' + command)}\n{command}"


# Shell command that prints the requests and the sectors that the device has read.
COUNT = "awk '{ print $1, $3 }' /sys/block/vda/stat"


def reads(result):
    """Requests and pages between the lines of /results/reads, which COUNT wrote."""
    found = [tuple(map(int, x.split())) for x in
             (result.results / "reads").read_text("utf-8").splitlines()]
    return [{"requests": after[0] - before[0], "pages": (after[1] - before[1]) // 8}
            for before, after in zip(found, found[1:])]


def run(scene, variant, kernel):
    """Run a guest of a scene."""
    guest = Guest(kernel, echo=variant == scene.VARIANTS[-1], **scene.machine(variant))
    scene.prepare(guest.root)
    name = f"demo-{scene.NAME}-{variant}"
    result = guest.run("set -e\nmkdir -p /results\n" + scene.script(variant), name)
    result.need(name)
    return result


def play(scene, kernel):
    """Run all guests of a scene; returns its result."""
    with ThreadPoolExecutor(ui.JOBS) as pool:
        jobs = {v: pool.submit(run, scene, v, kernel) for v in scene.VARIANTS}
        results = {v: job.result() for v, job in jobs.items()}
    return scene.report(results)


def bars(name, panels):
    """Draw panels of bars, {title: {label: (value, color)}}; returns the path."""
    plt = lab.pyplot()
    fig, axes = plt.subplots(1, len(panels), figsize=(4 * len(panels), 3), squeeze=False,
                             layout="constrained")
    for ax, (title, found) in zip(axes[0], panels.items()):
        ax.bar(list(found), [v for v, _ in found.values()], color=[c for _, c in found.values()])
        ax.set_title(title, fontsize="medium")
    return str(lab.picture(fig, f"demo-{name}"))
