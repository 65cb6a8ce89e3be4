# SPDX-License-Identifier: GPL-2.0
"""bench-srm's parts; the command is ../srm.py.

    guest    the guests, their disks, and the figures that they leave
    main     victims beside programs that read files
    parts    smaller questions, one table each
    hits     hit ratio of the page cache
    where    where the remaining misses lie
"""
