# SPDX-License-Identifier: GPL-2.0
"""bench-rocs, part programs: programs of Debian packages, off and under ROCS.

Each program works on its own data in an endless loop, with all policies off, with hopping
alone, and under ROCS. Their work goes by without marks, so figures are for an instruction:

time gain   cycles of an instruction in the state hold, one minus that over off
mpki cut    misses of an instruction, the same

zstd        compresses kernel source again and again; its tables are used at random
sqlite3     joins a large table with a small table that has an index, in memory
perl        multiplies a sparse matrix with a vector, by packed strings
"""

import functools
import statistics

from lib import ui
from lib.source import BASE
from mcube_cmd.term import print_table
from . import guest, loads

TITLE = "programs of Debian packages"
LINES = 24
MOST = 160
# These programs miss less often than the module looks for by default.
SETTINGS = loads.BRIEF | {"profile_windows": 20, "search": "coarse", "min_rate": 1}
TEXT = ui.BUILD / "bench-rocs" / "text"
TEXT_MIB = 6

# 16384 rows of some 45 bytes, looked up in random order for each of 65536 long rows.
SQL = """PRAGMA temp_store = MEMORY;
CREATE TABLE item(k INTEGER PRIMARY KEY, price INTEGER, name TEXT);
CREATE TABLE sale(id INTEGER PRIMARY KEY, k INTEGER, note TEXT);
WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 16383)
INSERT INTO item SELECT i, i * 7919 % 1000, printf('item number %020d', i) FROM n;
WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 32767)
INSERT INTO sale SELECT i, i * 48271 % 16384, printf('%0100d', i) FROM n;
"""
QUERY = "SELECT sum(price) FROM sale CROSS JOIN item USING (k);\n"

# The vector has 96 Ki doubles; a row of the matrix has 8 columns and values.
PERL = """my ($n, $rows) = (98304, 16384);
my $x = pack("d*", map { $_ % 17 } 1 .. $n);
my ($seed, $columns) = (1, "");
for (1 .. 8 * $rows) {
    $seed = ($seed * 1103515245 + 12345) % 2147483648;
    $columns .= pack("L", $seed % $n);
}
my $values = pack("d*", map { $_ % 5 } 1 .. 8 * $rows);
while (1) {
    my $sum = 0;
    for my $row (0 .. $rows - 1) {
        my @c = unpack("L8", substr($columns, 32 * $row, 32));
        my @v = unpack("d8", substr($values, 64 * $row, 64));
        $sum += $v[$_] * unpack("d", substr($x, 8 * $c[$_], 8)) for 0 .. 7;
    }
}
"""

COMMANDS = {
    # The benchmark of zstd compresses for so many seconds before it decompresses.
    "zstd": "zstd -b3 -i100000 /guest/text",
    "sqlite3": "sqlite3 -init /guest/join.sql :memory:",
    "perl": "perl /guest/sparse.pl",
}
# Seconds of the guest until a program works; a second has 10^9 instructions.
SETUP = {"zstd": 1, "sqlite3": 2, "perl": 2}


def files():
    """Files for the guest: (host, guest)."""
    folder = TEXT.parent
    folder.mkdir(parents=True, exist_ok=True)
    size, text = TEXT_MIB << 20, b""
    for path in sorted((BASE / "kernel").rglob("*.[ch]")):
        text += path.read_bytes()
    TEXT.write_bytes(text[:size])
    (folder / "join.sql").write_text(SQL + QUERY * 20000, "utf-8")
    (folder / "sparse.pl").write_text(PERL, "utf-8")
    return [(folder / f, f"/guest/{f}") for f in ("text", "join.sql", "sparse.pl")]


def script(program):
    """Lines of the script of a guest."""
    command = COMMANDS[program]
    words = " ".join(f"{k}={v}" for k, v in SETTINGS.items())
    return [f"SETUP={SETUP[program]}",
            "policy off", f"program /results/off.load {LINES} {command}",
            "policy hop", f"program /results/hop.load {LINES} {command}",
            f"policy rocs {words}",
            f"program_held /results/rocs {LINES} {MOST} {command}", "policy off"]


def run_guest(args, machine, program):
    """Run a guest."""
    guest.boot(f"programs-{machine}-{program}", script(program),
               {"machine": machine, "program": program, "kernel": args.kernel,
                "settings": SETTINGS}, timeout=args.timeout, programs=[program],
               files=files())


def guests(args):
    """Jobs: one for each program, on the first machine."""
    return [functools.partial(run_guest, args, args.machine[0], p) for p in args.programs]


def rows_of(name, options):
    """The row of a guest."""
    folder = guest.folder_of(name)
    counts = {p: guest.total(guest.read_load(folder / f"{p}.load").lines[4:])
              for p in ("off", "hop")}
    held = guest.read_held(folder / "rocs")
    counts["rocs"] = guest.total(held.lines_in("hold" if held.reached("hold") else "watch"))
    off = counts["off"]
    return [{"part": "programs", "machine": options["machine"], "program": options["program"],
             "counts": {p: c._asdict() for p, c in counts.items()},
             "gains": {p: {"mpki_cut": 1 - c.mpki / off.mpki, "time_gain": 1 - c.cpi / off.cpi}
                       for p, c in counts.items() if p != "off"},
             "mpki": off.mpki, "held": held.reached("hold"),
             "stack": int(held.target["stack"]), "mapped": int(held.target["mapped"])}]


def show(rows):
    """Print the table."""
    print(f"\n{TITLE}: simulated, for an instruction\n")
    print_table(["program", "MPKI off", "cut: hop", "rocs", "gain: hop", "rocs", "pages",
                 "polluters", "held"],
                [[r["program"], f"{r['mpki']:.2f}",
                  *(f"{r['gains'][p][k]:.1%}" for k in ("mpki_cut", "time_gain")
                    for p in ("hop", "rocs")),
                  str(r["stack"]), str(r["mapped"]), "yes" if r["held"] else "no"]
                 for r in rows], lead="  ")


def summarize(rows):
    """Keys of the summary."""
    gain = [r["gains"]["rocs"]["time_gain"] for r in rows]
    return {"programs_time_gain_mean": statistics.fmean(gain),
            "programs_time_gain_min": min(gain),
            "programs_mpki_cut_mean": statistics.fmean(r["gains"]["rocs"]["mpki_cut"]
                                                       for r in rows)}
