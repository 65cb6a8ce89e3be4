# SPDX-License-Identifier: GPL-2.0
"""Words that the project no longer uses: a check that finds old names in any text.

The check covers names of files too. EXEMPT is for lines about the past.
"""

import re

MCUBE = ("mm/mcube/", "drivers/mcube/", "include/", "tools/mcube/", "tools/testing/", "patches/",
         "Documentation/", "configs/", "README", "Makefile", "Kconfig")
KERNEL = ("mm/mcube/", "include/", "patches/", "Documentation/mm/", "tools/testing/")
# An old word is a word or a part between underscores: mcube_remap, but neither mremap nor
# ioremap. In C and Python an old word may follow a line break in a string.
LEFT, RIGHT = r"(?:(?<![a-z])|(?<=\\n))", r"(?![a-z])"
# (expression, what to say instead, path prefixes)
WORDS = (
    (f"{LEFT}palettes?{RIGHT}", "color selector", MCUBE),
    (rf"(?<!good )(?<!great ){LEFT}(deal|deals|dealt|dealing){RIGHT}(?! with)", "select", MCUBE),
    (f"{LEFT}rescan", "reuse", MCUBE),
    (f"{LEFT}remap(?!_pfn_range|_file_pages|_(file_)?range|_vmalloc)", "recolor", MCUBE),
    (rf"\bdry\b(?![- _]run)|{LEFT}nr_dry|{LEFT}set_dry", "exhausted", MCUBE),
    (f"{LEFT}loose(ly)?{RIGHT}", "unbinned", KERNEL),
    (f"{LEFT}the store{RIGHT}", "the mcube allocator", MCUBE),
    (r"\bregion_order\b", "color group", MCUBE),
    (r"\balloc/seed\b|\bmcube\.seed\b|\bseed=(paper|shuffle)\b", "fill_order", MCUBE),
    (r"\bmcube_seed", "mcube_fill_order", MCUBE),
    (r"\bmcube_runs?\b|\bmcube_run_", "mcube_segment", MCUBE),
    (r"\bmcube_regions?\b|\bmcube_regions?_", "mcube_color_group", MCUBE),
    (r"\bmcube_scan\b|\bmcube_scan_", "mcube_reuse", MCUBE),
    (r"\bmcube_pick", "mcube_buddy", MCUBE),
    (r"\bmcube_recent", "mcube_pcp", MCUBE),
    (r"\bmcube_count_", "mcube_color_stat", MCUBE),
    (r"\bmcube_shape", "offset map", MCUBE),
    (r"\bmcube_place\b|\bmcube_place_(init|for)\b", "block map", MCUBE),
    (r"\b(turns|merge)\.[ch]\b", "quantum, weave", ("tools/mcube/model/",)),
)
# (path prefix, expression on the line): lines about the past, which may stay.
EXEMPT = (
    # a stressor of stress-ng
    ("tools/testing/mcube/stress.sh", r"pageswap remap fault"),
    ("tools/mcube/dev/lib/words.py", ""),
    ("tools/mcube/dev/tests/words_test.py", ""),
)
COMPILED = [(re.compile(word, re.I), instead, where) for word, instead, where in WORDS]


def exempt(path, line):
    """May an old word stay in this line?"""
    return any(path.startswith(where) and re.search(text, line) for where, text in EXEMPT)


def findings(files):
    """Old words in files, {path: text}: [text]."""
    out = []
    for path, text in sorted(files.items()):
        words = [(word, instead) for word, instead, where in COMPILED if path.startswith(where)]
        for n, line in enumerate([path, *text.splitlines()] if words else ()):
            for word, instead in words:
                if (m := word.search(line)) and not exempt(path, line):
                    out.append(f"{path}{f':{n}' if n else ''}: '{m[0]}' is now '{instead}'")
    return out
