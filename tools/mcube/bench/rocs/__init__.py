# SPDX-License-Identifier: GPL-2.0
"""The parts of bench-rocs.

guest.py    boots guests and reads what they leave
truth.py    compares the sampled profile with the model's counts
loads.py    the loads of tools/mcube/guest/rocs/, off and under ROCS
programs.py real programs, off and under ROCS
mixed.py    ROCS and SRM-buffer together
picture.py  draws
"""
