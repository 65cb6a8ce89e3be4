# SPDX-License-Identifier: GPL-2.0
"""Pictures, by matplotlib, which only this module needs."""

import sys

from . import host
from .term import Failure


def pyplot():
    """matplotlib, drawing into files."""
    try:
        import matplotlib  # pylint: disable=import-outside-toplevel
        matplotlib.use("Agg")
        from matplotlib import pyplot as plt  # pylint: disable=import-outside-toplevel
    except ImportError as e:
        raise Failure(f"no matplotlib for {sys.executable}, which pictures need",
                      "install python3-matplotlib, or ask for no picture") from e
    plt.rcParams.update({"font.size": 9, "axes.spines.top": False,
                         "axes.spines.right": False})
    return plt


def check(path, example):
    """Refuse a picture that could not be drawn, before the work."""
    pyplot()
    host.check_file(path, (".png",), example)


def save(plt, figure, path):
    """Write a picture and free its memory."""
    try:
        figure.savefig(path, dpi=110, bbox_inches="tight", metadata={"Software": "mcube"})
    except (OSError, ValueError) as e:
        raise Failure(f"cannot write {path}: {e}", "name a .png file in a directory that you "
                      "may write to") from e
    plt.close(figure)
