# SPDX-License-Identifier: GPL-2.0
"""From events of the page cache to references of page ranges.

    event of the kernel                 kind    pages
    filemap/mm_filemap_get_pages        r       those that a read() copies
    filemap/mm_filemap_fault            f       the page that was touched
    filemap/mm_filemap_map_pages        m       cached pages that were mapped around a touch
    filemap/mm_filemap_add_to_page_cache a      pages that were not cached

An event is not always a reference:

- A read of more than a batch of folios has an event for each batch, and each event goes to
  the end of the read. The first event stands for the read.
- A read that begins on the page on which the last read of the same task ended looks at the
  same page again, as a program does that reads 1000 bytes at a time. The kernel does not
  mark the page accessed again, and it is not counted again.
- A fault maps cached pages around the page that was touched. If the page itself is not
  cached, mm_filemap_fault follows; the page is then known, and m is dropped. When the page
  has come from the device, the fault is tried again and may map pages around once more.
- The range of a read is what was asked for, and may go beyond the end of the file. The
  size of the file is not in the event; trace.Writer cuts ranges when sizes are known.
"""

import re

EVENTS = {"get_pages": "filemap/mm_filemap_get_pages", "fault": "filemap/mm_filemap_fault",
          "map_pages": "filemap/mm_filemap_map_pages",
          "add_to_page_cache": "filemap/mm_filemap_add_to_page_cache"}
LINE = re.compile(
    r"-(\d+)\s+\[\d+\].*?\s([\d.]+): mm_filemap_(get_pages|fault|map_pages|add_to_page_cache): "
    r"dev[= ](\d+):(\d+) ino[= ]([0-9a-f]+) (?:pfn=\w+ )?ofs=(\d+)(?:-(\d+))?(?: order=(\d+))?")
KINDS = "rfma"


def parse(line, shift=12):
    """(task, seconds, event, major, minor, ino, first page, last page), or None."""
    m = LINE.search(line)
    if not m:
        return None
    first = int(m[7]) >> shift
    last = int(m[8]) >> shift if m[8] else first + (1 << int(m[9] or 0)) - 1
    return int(m[1]), float(m[2]), m[3], int(m[4]), int(m[5]), int(m[6], 16), first, last


class References:
    """References, from events in the order of time.

    add(file, first, nr, kind, seconds) gets each reference; file is (major, minor, ino).
    """

    def __init__(self, add):
        self.add = add
        self.reads = {}         # task: (file, first, last) of its last read
        self.faults = {}        # task: (file, page) of its last fault
        self.around = {}        # task: (file, first, nr, seconds), not yet known to be a reference
        self.merged = 0         # events that were no reference of their own

    def event(self, task, seconds, event, file, first, last):
        """Take an event."""
        waits = self.around.pop(task, None)
        if waits and event == "fault" and waits[0] == file and \
                waits[1] <= first < waits[1] + waits[2]:
            self.merged += 1
        elif waits:
            self.add(*waits[:3], "m", waits[3])
        getattr(self, event)(task, seconds, file, first, last)

    def get_pages(self, task, seconds, file, first, last):
        """A read, or the rest of a read."""
        before = self.reads.get(task)
        self.reads[task] = (file, first, last)
        self.faults.pop(task, None)
        if before and before[0] == file:
            if last == before[2] and first > before[1]:
                self.merged += 1
                return
            if first == before[2]:
                self.merged += 1
                first += 1
        if first <= last:
            self.add(file, first, last - first + 1, "r", seconds)

    def fault(self, task, seconds, file, first, _):
        """A touch of a page that is not cached, or not mapped around."""
        before = self.faults.get(task)
        self.faults[task] = (file, first)
        if before == (file, first):
            self.merged += 1
        else:
            self.add(file, first, 1, "f", seconds)

    def map_pages(self, task, seconds, file, first, last):
        """A touch of a page that is cached, or the second try of a fault."""
        before = self.faults.pop(task, None)
        if before and before[0] == file and first <= before[1] <= last:
            self.merged += 1
        else:
            self.around[task] = (file, first, last - first + 1, seconds)

    def add_to_page_cache(self, _, seconds, file, first, last):
        """Pages that were not cached."""
        self.add(file, first, last - first + 1, "a", seconds)

    def finish(self):
        """No further events come."""
        for waits in self.around.values():
            self.add(*waits[:3], "m", waits[3])
        self.around.clear()
