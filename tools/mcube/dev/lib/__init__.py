# SPDX-License-Identifier: GPL-2.0
"""What the commands in tools/mcube/dev/ share, one idea per file.

The mcube command's package is importable from here on: its Failure and its tables serve
the driver scripts too. That package is installed on users' machines, so it imports
nothing of this one.
"""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2]))
