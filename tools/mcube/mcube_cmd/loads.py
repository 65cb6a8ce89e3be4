# SPDX-License-Identifier: GPL-2.0
"""Small programs that 'mcube report' runs beside each other; python3 loads.py NAME ARGUMENTS.

    chase KIB LOADS      follow a ring of lines in random order
    stream KIB PASSES    read memory from its start to its end
    pollute KIB MIB LOADS    a chase, and a pass over other memory after each pass of it
    scan FILE            read a file that is not in the page cache
    loop FILE PASSES     read a file again and again
    reads FILE N         read pages of a file at random, as a data base does

They do the same work each time, so that their time or cycles can be compared. The script
stands alone: it imports nothing of the package.
"""

import array
import os
import random
import sys

LINE = 64
BLOCK = 1 << 20


def ring(kib):
    """Indices of lines, each of which names the next one, in an order that is always the same."""
    step = LINE // 8
    n = kib * 1024 // LINE
    order = list(range(n))
    random.Random(1).shuffle(order)
    out = array.array("Q", bytes(n * LINE))
    for at, following in zip(order, order[1:] + order[:1]):
        out[at * step] = following * step
    return out


def follow(lines, at, loads):
    """Follow the ring; the place arrived at."""
    for _ in range(loads):
        at = lines[at]
    return at


def chase(kib, loads):
    """Loads that each wait for the one before."""
    follow(ring(int(kib)), 0, int(loads))


def stream(kib, passes):
    """bytes.find() reads at the speed of memory."""
    memory = bytearray(int(kib) << 10)
    for _ in range(int(passes)):
        memory.find(b"x")


def pollute(kib, mib, loads):
    """Lines that are used again, and memory that is used once."""
    lines, memory, at = ring(int(kib)), bytearray(int(mib) << 20), 0
    every = len(lines) * 8 // LINE
    for _ in range(max(1, int(loads) // every)):
        at = follow(lines, at, every)
        memory.find(b"x")


def read_through(fd):
    """Read a file from its start to its end."""
    os.lseek(fd, 0, os.SEEK_SET)
    while os.read(fd, BLOCK):
        pass


def scan(path):
    """The pages of the file are allocated anew."""
    fd = os.open(path, os.O_RDONLY)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    read_through(fd)
    os.close(fd)


def loop(path, passes):
    """A loop for UBM."""
    fd = os.open(path, os.O_RDONLY)
    for _ in range(int(passes)):
        read_through(fd)
    os.close(fd)


def reads(path, n):
    """Pages at random, the same ones each time."""
    fd = os.open(path, os.O_RDONLY)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM)
    pages = os.fstat(fd).st_size // 4096
    draw = random.Random(2)
    for _ in range(int(n)):
        os.pread(fd, 4096, draw.randrange(pages) * 4096)
    os.close(fd)


LOADS = {f.__name__: f for f in (chase, stream, pollute, scan, loop, reads)}

if __name__ == "__main__":
    LOADS[sys.argv[1]](*sys.argv[2:])
