# SPDX-License-Identifier: GPL-2.0
"""mcube map: show, set and explain the address map; time the machine to verify or find it."""

from . import actions, addrmap, host, known, machine, map_probe, map_verify, paper, policy
from .addrmap import PAGE_SHIFT
from .term import Failure, output, print_json, size

HELP = "show, set, explain, verify or find the address map"
EXAMPLE = """examples:
  mcube map                               what is in force
  mcube map --explain 0x12345000          color and bank of an address, bit by bit
  mcube map set --color "0x1000 0x2000 0x4000 0x8000 0x10000"
  mcube map set --bank "0x24000 0x48000 0x90000 0x2000"
  mcube map verify                        does it hold on this machine? seconds, any kernel
  mcube map probe                         find the banks by timing
  mcube map probe --colors                find the masks of the caches by timing
  mcube map known                         published maps, and which may be this machine's
  mcube map probe --paper banks.png       draw the cost of pairs over their distance
"""
# What options belong to. Options make three actions of "probe".
BELONG = {"explain": ("show",), "color_map": ("show",), "bank_map": ("show",),
          "color": ("set",), "bank": ("set",), "cache": ("verify", "probe --colors"),
          "colors": ("probe --colors", "probe"), "paper": ("probe --paper", "probe"),
          "save": ("probe --paper", "probe"),
          **dict.fromkeys(("module", "core", "mib"), ("probe --paper",)),
          **dict.fromkeys(("memory", "page", "verify", "seed", "clock", "hypothesis", "functions",
                           "out"), ("probe",))}
NAMES = {"color": "which cache sets it competes for", "bank": "which DRAM bank it lies in"}


def arguments(parser):
    """Options."""
    parser.add_argument("action", nargs="?", default="show",
                        choices=["show", "set", "verify", "probe", "known"])
    parser.add_argument("--color", metavar="MAP", help="set: masks, tables or none")
    parser.add_argument("--bank", metavar="MAP", help="set: masks, tables or none")
    parser.add_argument("--explain", metavar="PHYS", action="append", default=[],
                        help="color and bank of a physical address (hexadecimal with 0x)")
    parser.add_argument("--colors", action="store_true", help="probe: the masks of the caches")
    map_verify.arguments(parser)
    map_probe.arguments(parser)
    addrmap.arguments(parser)
    paper.arguments(parser)
    parser.add_argument("--json", action="store_true", help="print JSON")


def address(text):
    """A physical address from the command line."""
    try:
        value = int(text, 0)
    except ValueError:
        value = -1
    if not 0 <= value < 1 << 52:
        raise Failure(f"'{text}' is no physical address",
                      "write it as /proc/iomem does with 0x in front, for example 0x12345000")
    return value


def explain(found, phys):
    """Color and bank of an address, as a dictionary."""
    pfn = phys >> PAGE_SHIFT
    out = {"address": phys, "frame": pfn, "node": machine.node_of(machine.zones(), pfn)}
    for name, dim in found.dims():
        out[name] = dim.value(pfn)
        out[f"{name}_steps"] = dim.steps(pfn)
    return out


def show_explained(found, row):
    """Color and bank of an address, for people."""
    where = f"node {row['node']}" if row["node"] is not None else "no memory of this machine"
    print(f"address {row['address']:#x}: frame {row['frame']:#x}, {where}")
    for name, dim in found.dims():
        if dim.nr == 1:
            print(f"  {name}: not distinguished by this map")
            continue
        how = ", ".join(f"{what}: {bit}" for what, bit in row[f"{name}_steps"])
        print(f"  {name} {row[name]} of {dim.nr}   ({how}; the first is the lowest bit)")


def show(found, in_force):
    """The map for people; what the kernel says of it if it is in force."""
    print(f"source: {found.source}")
    if found.level in addrmap.LEVELS:
        print(f"colors: {addrmap.LEVELS[found.level]}")
    for name, dim in found.dims():
        per = ""
        if name == "color" and found.color_bytes:
            per = f" of {size(found.color_bytes)} of cache each"
        print(f"{dim.nr} {name}s{per}: {NAMES[name]}")
        for i, mask in enumerate(dim.masks):
            print(f"  bit {i} = parity of address bits {map_probe.bits(mask)}   {mask:#x}")
        for (shift, table), unit in zip(dim.tables, dim.units):
            print(f"  + {unit} * entry (frame >> {shift}) % {len(table)} of "
                  f"{','.join(map(str, table))}")
        if dim.nr == 1:
            print(f"  not known; set it by: mcube map set --{name} \"0x...\"")
    end = machine.memory_end()
    for line in (*doubts(found, end), *(cover_lines(found) if in_force else ())):
        print(f"note: {line}")


def cover_lines(found):
    """What the kernel says of containers that do not have all banks, as a sentence."""
    banks, all_at, order = (host.read(f"{policy.SYSFS}/alloc/{name}") for name in
                            ("container_banks", "cover_order", "container_order"))
    if banks not in (None, str(found.bank.nr)):
        yield (f"of {found.bank.nr} banks, a container of order {order} has at least: {banks}; "
               f"order from which on each has all: {all_at}")


def doubts(found, end):
    """Contradictions between a map and the machine, as sentences."""
    for name, dim in found.dims():
        if end and dim.top_bit() >= (end - 1).bit_length():
            yield (f"the {name} map looks at address bit {dim.top_bit()}, and memory ends at "
                   f"{end:#x}: some values never occur")


def set_map(args):
    """mcube map set."""
    if args.color is None and args.bank is None:
        raise Failure("nothing to set", "give --color MAP, --bank MAP or both; see "
                      "'mcube map --help'")
    policy.need_kernel()
    # Both before either is written: a written map counts as root's, also if it is set back.
    for text in filter(None, (args.color, args.bank)):
        addrmap.Dim(text)
    pairs = [(f"map/{n}_map", v) for n, v in (("color", args.color), ("bank", args.bank))
             if v is not None]
    before = host.read(f"{addrmap.MAP}/source")
    try:
        changed = policy.write_all(pairs)
    except Failure as e:
        now = host.read(f"{addrmap.MAP}/source")
        if now != before:
            text = str(e).removesuffix("\nall settings are as before")
            e.args = (f"{text}\nthe masks are as before, but count as root's: {now}, which was "
                      f"{before}; the next boot finds them anew",)
        raise
    return output(args, addrmap.Map.of_kernel().as_json(),
                  lambda _: policy.show(changed) if changed else print("the map is as it was"))


def action_of(args):
    """The action, and what options make of "probe"."""
    if args.action != "probe":
        return args.action
    return "probe --colors" if args.colors else \
        "probe --paper" if args.paper or args.save else "probe"


def run(args):
    """mcube map."""
    action = action_of(args)
    actions.check_belong(args, "map", BELONG, action)
    if action == "probe --paper":
        return paper.run(args)
    if action == "probe":
        return map_probe.run(args)
    if action in ("verify", "probe --colors"):
        return map_verify.run(args, action != "verify")
    if action == "set":
        return set_map(args)
    if action == "known":
        return output(args, known.survey(), known.show)
    found = addrmap.Map.of_args(args)
    rows = [explain(found, address(x)) for x in args.explain]
    if args.json:
        print_json({**found.as_json(), "explained": rows} if rows else found.as_json())
    elif rows:
        for row in rows:
            show_explained(found, row)
    else:
        show(found, args.color_map is None and args.bank_map is None)
    return 0
