# SPDX-License-Identifier: GPL-2.0
"""Shared code of the commands in tools/mcube/dev/, one purpose per file.

Importing this package makes the package of the mcube command importable, because the
driver scripts use its Failure and its tables. The mcube command is installed on users'
machines, so its package imports nothing of this package.
"""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2]))
