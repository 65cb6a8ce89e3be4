# SPDX-License-Identifier: GPL-2.0
"""Files of recorded references: Documentation/admin-guide/mm/mcube/recording.rst.

    # mcube-trace 1
    # page: 4096
    # KEY: VALUE
    F ID MAJOR:MINOR INO PAGES [PATH]
    ID FIRST NR KIND

The file table comes before the references, and sizes of files are known at the end of a
recording only, so a Writer keeps the references in a temporary file until then.
"""

import array
import gzip
import struct
import tempfile
import zlib
from pathlib import Path

from .refs import KINDS
from .term import Failure

MAGIC = "# mcube-trace 1"
RECORD = struct.Struct("<IQIB")
CHUNK = 4096


class Writer:
    """References of a recording."""

    def __init__(self, folder):
        self.ids, self.longest = {}, []     # {file: id}, [pages known to be there]
        self.counts = dict.fromkeys(KINDS, 0)
        try:
            # pylint: disable-next=consider-using-with
            self.spool = tempfile.TemporaryFile(dir=folder)
        except OSError as e:
            raise Failure(f"{folder} takes no file: {e.strerror}",
                          "name a file in a directory that you may write to, by -o") from e

    def add(self, file, first, nr, kind, _=0.0):
        """A reference; file is (major, minor, ino)."""
        n = self.ids.setdefault(file, len(self.ids))
        if n == len(self.longest):
            self.longest.append(0)
        # A read begins inside the file, and the pages of all other kinds are there.
        known = first + (1 if kind == "r" else nr)
        self.longest[n] = max(self.longest[n], known)
        self.counts[kind] += 1
        self.spool.write(RECORD.pack(n, first, min(nr, 0xffffffff), KINDS.index(kind)))

    def references(self):
        """(id, first, nr, kind) of each reference, as added."""
        self.spool.seek(0)
        while data := self.spool.read(RECORD.size * CHUNK):
            yield from RECORD.iter_unpack(data)

    def save(self, path, header, known):
        """Write the file; known is {file: (pages, path or None)}. Returns pages by id."""
        pages = [known.get(f, (None,))[0] for f in self.ids]
        ends = [self.longest[n] if p is None else p for n, p in enumerate(pages)]
        try:
            with gzip.GzipFile(path, "wb", 9, mtime=0) as f:
                lines = [MAGIC] + [f"# {k}: {' '.join(str(v).split())}"
                                   for k, v in header.items()]
                for file, n in self.ids.items():
                    name = known.get(file, (None, None))[1]
                    lines.append(f"F {n} {file[0]}:{file[1]} {file[2]} "
                                 f"{'-' if pages[n] is None else pages[n]}"
                                 + (f" {name}" if name else ""))
                f.write(("\n".join(lines) + "\n").encode("utf-8", "surrogateescape"))
                for n, first, nr, kind in self.references():
                    nr = max(1, min(nr, ends[n] - first))
                    f.write(b"%d %d %d %s\n" % (n, first, nr, KINDS[kind].encode()))
        except OSError as e:
            raise Failure(f"{path} cannot be written: {e.strerror}",
                          "name a file in a directory that you may write to, by -o") from e
        return ends

    def close(self):
        """Drop the temporary file."""
        self.spool.close()


class File:
    """A file of a trace."""

    def __init__(self, major, minor, ino, pages, path):
        self.device, self.ino, self.pages, self.path = (major, minor), ino, pages, path


class Trace:
    """A trace in memory: references are id[i], first[i], nr[i], kind[i]."""

    def __init__(self):
        self.header, self.files = {}, []
        self.id, self.first, self.nr = array.array("I"), array.array("Q"), array.array("I")
        self.kind = bytearray()

    def pages(self):
        """Page references: r and f have all their pages, m has one page, a has none."""
        return sum(n if k in b"rf" else 1 for n, k in zip(self.nr, self.kind) if k != ord("a"))

    def reach(self):
        """Pages of each file, or as far as references go where its size is not known."""
        out = [f.pages or 0 for f in self.files]
        for n, first, nr in zip(self.id, self.first, self.nr):
            out[n] = max(out[n], first + nr)
        return out


def take(trace, line):
    """Take a line; raise ValueError if it is none."""
    if line.startswith("#"):
        key, colon, value = line[1:].strip().partition(":")
        if colon and not trace.files:
            trace.header[key] = value.strip()
        return
    if line.startswith("F "):
        _, n, device, ino, pages, *path = line.split(" ", 5)
        major, minor = device.split(":")
        if int(n) != len(trace.files):
            raise ValueError
        trace.files.append(File(int(major), int(minor), int(ino),
                                None if pages == "-" else int(pages), path[0] if path else None))
        return
    n, first, nr, kind = line.split(" ")
    if int(n) >= len(trace.files) or int(nr) < 1 or len(kind) != 1 or kind not in KINDS:
        raise ValueError
    trace.id.append(int(n))
    trace.first.append(int(first))
    trace.nr.append(int(nr))
    trace.kind.append(ord(kind))


def read(path):
    """Read a trace."""
    trace, n = Trace(), 1
    try:
        with gzip.open(path, "rt", encoding="utf-8", errors="surrogateescape") as f:
            if f.readline().rstrip("\n") != MAGIC:
                raise Failure(f"{path} is no trace of 'mcube record'",
                              "record one: mcube record -o FILE -- COMMAND")
            for n, line in enumerate(f, 2):
                take(trace, line.rstrip("\n"))
    except (ValueError, OverflowError) as e:
        raise Failure(f"{path}:{n}: is no file and no reference of a trace",
                      "the file is damaged, or of a later version of mcube") from e
    except (OSError, EOFError, zlib.error) as e:
        raise Failure(f"{path} cannot be read: {e}", "name a file of 'mcube record'") from e
    if not trace.id:
        raise Failure(f"{Path(path).name} has no reference", "record a program that reads files")
    return trace
