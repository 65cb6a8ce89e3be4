# SPDX-License-Identifier: GPL-2.0
"""mcube status: the map, the policies in force, and how far they work."""

from . import addrmap, policy, rocs_report, setcache_report
from .term import output, print_table, size

HELP = "policies, address map and counters of the running kernel"
EXAMPLE = """examples:
  mcube status
  mcube status --json | jq .systems.alloc.shares
"""
MEANING = {
    "alloc": {
        "containers": "held now", "free_pages": "in containers now, part of MemFree",
        "reserved_colors": "colors of the pollute partition now",
        "reserved_free": "free frames of these colors in containers now",
        "served": "pages without a hint", "hopped": "of served, by the next color of the hop table",
        "colored": "requests answered as their hint asks",
        "fallback": "requests that the allocator could not serve as asked",
        "uncovered": "requests for more than a page, which are not served",
        "taken": "containers taken from the buddy lists",
        "released": "containers released, wholly free",
        "broken_up": "containers broken up for another reason",
    },
    "srm": {
        "file_pages": "of long files", "task_pages": "of short files",
        "missed": "of both, pages that got another color than they should have",
        "segments": "segments begun",
        "reclaimed": "pages evicted for the color of the next segment",
        "recolored": "pages of files read again and again, moved to other colors",
        "hopped": "pages placed one color after the other",
        "uncovered": "folios of the page cache that were not placed",
        "vacated": "pages of memory moved out of the reserved colors",
        "sampled": "page frames looked at to find mapped streams",
        "lent": "1: memory has the reserved colors as well, now",
    },
    "rocs": rocs_report.COUNTERS,
    "setcache": setcache_report.COUNTERS,
}


def arguments(parser):
    """Options."""
    parser.add_argument("--json", action="store_true", help="print JSON")


def shares(count):
    """Shares of the requests that a system followed, and did not follow."""
    followed = count.get("served", 0) + count.get("colored", 0)
    asked = followed + count.get("fallback", 0)
    movable = asked + count.get("uncovered", 0)
    return {"followed": followed / asked if asked else None,
            "fallback": count.get("fallback", 0) / asked if asked else None,
            "uncovered": count.get("uncovered", 0) / movable if movable else None}


def collect():
    """Everything as one dictionary."""
    found = addrmap.Map.of_kernel()
    out = {"profiles": policy.in_force(),
           "map": found.as_json() if found else None, "systems": {}}
    for name in policy.systems():
        count = policy.counters(name)
        out["systems"][name] = {"settings": policy.settings(name), "counters": count}
        if "served" in count:
            out["systems"][name]["shares"] = shares(count)
    return out


def advice(share):
    """Meaning of high shares, as sentences."""
    if (share["uncovered"] or 0) > 0.5:
        yield ("most movable requests are for huge pages or large folios, which no policy "
               "places: /sys/kernel/mm/transparent_hugepage/enabled")
    if (share["fallback"] or 0) > 0.1:
        yield ("the allocator often has no page: memory is short or fragmented, or a hint asks for "
               "more than its color has")


def show(data):
    """For people."""
    print(f"profile in force: {', '.join(data['profiles']) or 'none'}")
    if m := data["map"]:
        per = f" of {size(m['color_bytes'])}" if m["color_bytes"] else ""
        print(f"address map: {m['colors']} colors{per}, {m['banks']} banks ({m['source']})"
              + (f"; colors {addrmap.LEVELS[m['level']]}" if m["level"] in addrmap.LEVELS
                 else ""))
    for name, system in data["systems"].items():
        print(f"\n{name}: " + ", ".join(f"{k} {v}" for k, v in system["settings"].items()))
        meaning = MEANING.get(name, {})
        rows = [[k, meaning.get(k, ""), f"{v:,}"] for k, v in system["counters"].items()]
        if rows:
            print_table(["counter", "", "value"], rows, 2)
        share = system.get("shares", {})
        if share.get("followed") is not None:
            print(f"followed {share['followed']:.1%}, fallback {share['fallback']:.1%} of single "
                  f"movable pages; uncovered {share['uncovered']:.1%} of all movable requests")
            for line in advice(share):
                print(f"note: {line}")


def run(args):
    """mcube status."""
    policy.need_kernel()
    return output(args, collect(), show)
