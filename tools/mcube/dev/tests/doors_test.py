# SPDX-License-Identifier: GPL-2.0
"""Doors between rooms, in made-up trees."""

import unittest

from lib import doors


class DoorsTest(unittest.TestCase):
    """The check finds each forbidden include and no allowed include."""

    HEADERS = ("mm/mcube/sysfs.h", "mm/mcube/map/map.h", "mm/mcube/map/internal.h",
               "mm/mcube/alloc/policy.h", "mm/mcube/alloc/recolor.h",
               "mm/mcube/alloc/internal.h", "mm/mcube/srm/internal.h", "mm/mcube/ubm/internal.h",
               "drivers/mcube/sim/shm.h", "drivers/mcube/rocs/internal.h",
               "include/linux/mcube_map.h", "include/linux/mcube_alloc.h",
               "include/linux/mcube_hint.h", "include/linux/mcube_srm.h",
               "include/trace/events/mcube_alloc.h")

    def found(self, path, line):
        """Findings of a tree in which one file has one #include."""
        return doors.findings(dict.fromkeys(self.HEADERS, "") | {path: f"#include {line}\n"})

    def allowed(self, *cases):
        """Expect no finding for any of the includes."""
        for path, line in cases:
            with self.subTest(path=path, line=line):
                self.assertEqual(self.found(path, line), [])

    def forbidden(self, *cases):
        """Expect one finding for each of the includes, with its file and the reason."""
        for path, line, why in cases:
            with self.subTest(path=path, line=line):
                got = self.found(path, line)
                self.assertEqual(len(got), 1, got)
                self.assertTrue(got[0].startswith(f"{path}: includes "), got)
                self.assertIn(why, got[0])

    def test_own_room(self):
        """A file may include all of its own room."""
        self.allowed(("mm/mcube/map/parse.c", '"internal.h"'),
                     ("mm/mcube/srm/place.c", '"internal.h"'),
                     ("drivers/mcube/rocs/sample.c", '"internal.h"'))

    def test_sysfs(self):
        """sysfs.h belongs to no room."""
        self.allowed(*((f"mm/mcube/{r}/sysfs.c", '"../sysfs.h"')
                       for r in ("map", "alloc", "srm", "ubm", "setcache")))

    def test_mm_internal(self):
        """mm/internal.h is not the internal.h of a room."""
        self.allowed(("mm/mcube/alloc/buddy.c", '"../../internal.h"'))

    def test_one_way(self):
        """Policies may see the allocator and the map, but not the reverse."""
        self.allowed(("mm/mcube/alloc/alloc.c", '"../map/map.h"'),
                     ("mm/mcube/srm/place.c", '"../alloc/policy.h"'),
                     ("mm/mcube/srm/place.c", '"../map/map.h"'),
                     ("drivers/mcube/rocs/search.c", '"../../../mm/mcube/alloc/recolor.h"'),
                     ("drivers/mcube/probe/probe.c", "<linux/mcube_map.h>"))
        self.forbidden(("mm/mcube/map/core.c", '"../alloc/policy.h"', "may not see room 'alloc'"),
                       ("mm/mcube/alloc/pcp.c", '"../srm/internal.h"', "may not see room 'srm'"),
                       ("mm/mcube/alloc/pcp.c", "<linux/mcube_srm.h>", "may not see room 'srm'"),
                       ("mm/mcube/ubm/lruvec.c", '"../alloc/policy.h"', "may not see"),
                       ("drivers/mcube/sim/pmu.c", "<linux/mcube_alloc.h>", "may not see"),
                       ("drivers/mcube/probe/probe.c", '"../../../mm/mcube/alloc/policy.h"',
                        "may not see"))

    def test_private(self):
        """No file outside a room may include a private header of the room."""
        self.forbidden(("mm/mcube/srm/place.c", '"../alloc/internal.h"', "private to room"),
                       ("mm/mcube/alloc/alloc.c", '"../map/internal.h"', "private to room"),
                       ("mm/mcube/sysfs.c", '"alloc/internal.h"', "private to room"),
                       ("mm/page_alloc.c", '"mcube/alloc/internal.h"', "private to room"),
                       ("tools/mcube/model/model.h", '"../../../drivers/mcube/rocs/internal.h"',
                        "private to room"))
        self.allowed(("mm/mcube/sysfs.c", '"alloc/policy.h"'),
                     ("mm/page_alloc.c", "<linux/mcube_alloc.h>"),
                     ("mm/page_alloc.c", '"internal.h"'),
                     ("tools/mcube/model/model.h", '"../../../drivers/mcube/sim/shm.h"'))

    def test_include_path(self):
        """-I in a Makefile opens no door."""
        self.forbidden(("mm/mcube/srm/place.c", '"alloc/internal.h"', "private to room"),
                       ("mm/mcube/ubm/lruvec.c", "<mcube/alloc/policy.h>", "may not see"))

    def test_hooks(self):
        """A header of hooks may include what its room may see."""
        self.allowed(("include/linux/mcube_alloc.h", "<linux/mcube_map.h>"),
                     ("include/linux/mcube_srm.h", "<linux/mcube_alloc.h>"),
                     ("include/trace/events/mcube_srm.h", "<linux/mcube_alloc.h>"),
                     ("include/linux/mcube_alloc.h", "<linux/mcube_hint.h>"))
        self.forbidden(("include/linux/mcube_map.h", "<linux/mcube_alloc.h>", "may not see"),
                       ("include/linux/mcube_alloc.h", "<linux/mcube_srm.h>", "may not see"))

    def test_tests(self):
        """Tests may include every header."""
        self.allowed(("mm/mcube/tests/bins-kunit.c", '"../alloc/internal.h"'),
                     ("tools/testing/mcube/x_test.c", '"../../../mm/mcube/srm/internal.h"'))

    def test_flat(self):
        """A file beside the rooms belongs to no room."""
        files = {"mm/mcube/srm.h": "", "mm/mcube/core.c": '#include "srm.h"\n'}
        self.assertEqual(doors.findings(files), [])

    def test_config(self):
        """Each include comes with the config symbols of all #if around it."""
        files = {"mm/mcube/map/map.h": ""}
        text = ('#ifdef CONFIG_A\n#if IS_ENABLED(CONFIG_B)\n#include "map.h"\n#endif\n#endif\n'
                '#include "map.h"\n')
        self.assertEqual(doors.included("mm/mcube/map/x.c", text, files),
                         [("mm/mcube/map/map.h", {"A", "B"}), ("mm/mcube/map/map.h", set())])
