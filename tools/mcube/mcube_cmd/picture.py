# SPDX-License-Identifier: GPL-2.0
"""Pictures, by matplotlib, which only this module needs."""

import os
import sys
from pathlib import Path

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
    if Path(path).suffix != ".png":
        raise Failure(f"{path} is no .png file", f"name a file such as {example}")
    pyplot()
    folder = Path(path).parent
    if not folder.is_dir() or not os.access(folder, os.W_OK) or Path(path).is_dir():
        raise Failure(f"{path} cannot be written",
                      "name a .png file in a directory that you may write to")


def save(plt, figure, path):
    """Write a picture and free its memory."""
    try:
        figure.savefig(path, dpi=110, bbox_inches="tight", metadata={"Software": "mcube"})
    except (OSError, ValueError) as e:
        raise Failure(f"cannot write {path}: {e}", "name a .png file in a directory that you "
                      "may write to") from e
    plt.close(figure)
