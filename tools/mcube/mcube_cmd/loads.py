# SPDX-License-Identifier: GPL-2.0
"""Small programs that 'mcube report' runs beside each other; python3 loads.py NAME ARGUMENTS.

    chase KIB LOADS [MIB]    follow a ring of lines in random order, and read MIB of other
                             memory, which pollutes the cache, after each pass of it
    stream KIB PASSES        read memory from its start to its end
    scan FILE                read a file that is not in the page cache
    loop FILE PASSES         read a file again and again
    reads FILE N             read pages of a file at random, as a data base does

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


def chase(kib, loads, mib=0):
    """Loads that each wait for the one before, in whole passes of the ring."""
    lines, memory, at = ring(int(kib)), bytearray(int(mib) << 20), 0
    every = len(lines) * 8 // LINE
    for _ in range(max(1, int(loads) // every)):
        for _ in range(every):
            at = lines[at]
        memory.find(b"x")


def stream(kib, passes):
    """bytes.find() reads at the speed of memory."""
    memory = bytearray(int(kib) << 10)
    for _ in range(int(passes)):
        memory.find(b"x")


def loop(path, passes, advice=os.POSIX_FADV_NORMAL):
    """A loop for UBM."""
    with open(path, "rb", buffering=0) as f:
        os.posix_fadvise(f.fileno(), 0, 0, advice)
        for _ in range(int(passes)):
            f.seek(0)
            while f.read(BLOCK):
                pass


def scan(path):
    """The pages of the file are allocated anew."""
    loop(path, 1, os.POSIX_FADV_DONTNEED)


def reads(path, n):
    """Pages at random, the same ones each time."""
    draw = random.Random(2)
    with open(path, "rb", buffering=0) as f:
        os.posix_fadvise(f.fileno(), 0, 0, os.POSIX_FADV_RANDOM)
        pages = os.fstat(f.fileno()).st_size // 4096
        for _ in range(int(n)):
            os.pread(f.fileno(), 4096, draw.randrange(pages) * 4096)


LOADS = {f.__name__: f for f in (chase, stream, scan, loop, reads)}

if __name__ == "__main__":
    LOADS[sys.argv[1]](*sys.argv[2:])
