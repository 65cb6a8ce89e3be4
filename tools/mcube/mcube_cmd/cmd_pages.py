# SPDX-License-Identifier: GPL-2.0
"""mcube pages: which colors and banks the pages of a process lie on."""

import fnmatch

from . import addrmap, host, machine, pagemap, picture
from .addrmap import Map
from .term import EVEN, SHADES, Failure, output, print_table, shade

HELP = "heat map of the colors and banks of a process's pages (root)"
EXAMPLE = """examples:
  mcube pages $(pidof firefox | cut -d' ' -f1)
  mcube pages 1234 --only anon --mapping '*heap*'
  mcube pages 1234 --json | jq .colors
  mcube pages 1234 --png pages.png
"""
COLUMNS = 64        # of the heat map; more colors share columns
ROWS = 64           # of the heat map; more banks share rows
SHOWN = 20          # mappings, the largest


def arguments(parser):
    """Options."""
    parser.add_argument("pid", type=int)
    parser.add_argument("--only", choices=pagemap.KINDS, help="pages of this kind")
    parser.add_argument("--mapping", metavar="GLOB",
                        help="mappings whose name matches, such as '*heap*' or '*/libc*'")
    parser.add_argument("--png", metavar="FILE", help="draw the heat map")
    addrmap.arguments(parser)
    parser.add_argument("--json", action="store_true", help="print JSON")


def collect(found, args):
    """Everything that is shown, as a dictionary."""
    kinds = (args.only,) if args.only else pagemap.KINDS
    zones, frames, rows = machine.zones(), [], []
    every = pagemap.read(args.pid)
    chosen = [m for m in every if not args.mapping or fnmatch.fnmatch(m.name, args.mapping)]
    for m in chosen:
        mine = m.all(kinds)
        if not mine:
            continue
        nodes = {}
        for pfn in mine:
            node = machine.node_of(zones, pfn)
            nodes[node] = nodes.get(node, 0) + 1
        rows.append({"start": m.start, "end": m.end, "name": m.name, "pages": len(mine),
                     "anon": len(m.frames["anon"]) if "anon" in kinds else 0,
                     "file": len(m.frames["file"]) if "file" in kinds else 0,
                     "huge_kib": m.huge, "colors": len(set(found.color.values(mine))),
                     "banks": len(set(found.bank.values(mine))),
                     "nodes": {"?" if n is None else str(n): k
                               for n, k in sorted(nodes.items(), key=str)}})
        frames += mine
    if not frames:
        names = ", ".join(sorted({m.name for m in every})[:8])
        raise Failure(f"process {args.pid} has no such page",
                      f"its mappings with pages: {names or 'none; is it a kernel thread?'}")
    runs = addrmap.run_lengths(frames)
    return {"pid": args.pid, "name": host.read(f"/proc/{args.pid}/comm", "?"),
            "map": found.as_json(), "pages": len(frames),
            "colors": found.color.counts(frames), "banks": found.bank.counts(frames),
            "grid": addrmap.grid(found, frames), "run_mean": len(frames) / len(runs),
            "run_max": max(runs), "huge_kib": sum(r["huge_kib"] for r in rows),
            "mappings": rows}


def folded(rows, columns):
    """Rows summed in groups so that there are at most so many columns; and the group."""
    group = -(-len(rows[0]) // columns)
    return [[sum(r[i:i + group]) for i in range(0, len(r), group)] for r in rows], group


def heat_lines(grid):
    """The heat map: one line per bank, one character per color."""
    grid, per_column = folded(grid, COLUMNS)
    grid = [list(r) for r in zip(*grid)]
    grid, per_row = folded(grid, ROWS)
    grid = [list(r) for r in zip(*grid)]
    total = sum(map(sum, grid))
    share = total / (len(grid) * len(grid[0]))
    lead = f"{'':8} {'color 0':<{max(len(grid[0]) - 1, 7)}} {len(grid[0]) * per_column - 1}"
    yield lead
    for i, row in enumerate(grid):
        yield (f"bank {i * per_row:<3} |" + "".join(shade(n, share) for n in row) + "| "
               f"{sum(row) / total:6.1%}")
    if per_column * per_row > 1:
        yield f"each character stands for {per_column} colors and {per_row} banks"


def marginal(name, counts):
    """One line on a dimension: its heat, and how uneven it is."""
    line, _ = folded([counts], COLUMNS)
    share = sum(counts) / len(line[0])
    used = sum(1 for n in counts if n)
    most = max(counts) * len(counts) / sum(counts)
    return (f"{name:7} |{''.join(shade(n, share) for n in line[0])}| "
            f"{used} of {len(counts)} used, the fullest has {most:.2f} times its even share")


def show(data):
    """For people."""
    print(f"process {data['pid']} ({data['name']}): {data['pages']:,} pages, "
          f"{sum(r['anon'] for r in data['mappings']):,} anonymous, "
          f"{sum(r['file'] for r in data['mappings']):,} of files or shared; neighbouring frames "
          f"in runs of {data['run_mean']:.1f}, longest {data['run_max']}")
    if data["huge_kib"]:
        print(f"note: {data['huge_kib'] // 4:,} pages are in huge pages, which follow no policy "
              "and cover all colors")
    print(f"' ' no page, '{SHADES[EVEN]}' an even share, '{SHADES[-1]}' 9/4 of it or more\n")
    for line in heat_lines(data["grid"]):
        print(line)
    print()
    print(marginal("colors", data["colors"]))
    print(marginal("banks", data["banks"]))
    rows = sorted(data["mappings"], key=lambda r: -r["pages"])
    body = [[r["name"] if len(r["name"]) < 45 else "..." + r["name"][-41:],
             f"{r['start']:x}", ",".join(f"N{n}={k}" for n, k in r["nodes"].items()),
             f"{r['pages']:,}", r["colors"], r["banks"]] for r in rows[:SHOWN]]
    print()
    print_table(["mapping", "start", "nodes", "pages", "colors", "banks"], body, 3)
    if len(rows) > SHOWN:
        print(f"and {len(rows) - SHOWN} smaller mappings; --json has all")


def draw(data, path):
    """The heat map as a picture."""
    plt = picture.pyplot()
    nr_colors, nr_banks = len(data["colors"]), len(data["banks"])
    fig, ax = plt.subplots(figsize=(8, 1.5 + 3 * min(1, nr_banks / nr_colors * 2)))
    share = data["pages"] / (nr_colors * nr_banks)
    image = ax.imshow([[n / share for n in row] for row in data["grid"]], aspect="auto",
                      origin="lower", cmap="magma", vmin=0, vmax=3, interpolation="nearest")
    ax.set_xlabel("color")
    ax.set_ylabel("bank")
    ax.set_title(f"{data['name']} ({data['pid']}): {data['pages']} pages")
    fig.colorbar(image, label="times its even share")
    picture.save(plt, fig, path)


def run(args):
    """mcube pages."""
    if args.png:
        picture.check(args.png, "pages.png")
    found = Map.of_args(args)
    if found.color.nr == 1 and found.bank.nr == 1:
        raise Failure("the address map knows neither colors nor banks",
                      "set it by 'mcube map set', or give --color-map and --bank-map")
    data = collect(found, args)
    if args.png:
        draw(data, args.png)
    return output(args, data, show, args.png)
