# SPDX-License-Identifier: GPL-2.0
"""What the commands in tools/mcube/dev/ share, one idea per file."""
