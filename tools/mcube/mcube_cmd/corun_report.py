# SPDX-License-Identifier: GPL-2.0
"""Report of `mcube corun`: medians, slowdowns, and how much a profile cuts."""

import statistics

from . import picture
from .term import number, print_table


# Headings of roles in the table.
SHORT = {"instructions": "instr.", "references": "llc refs", "misses": "llc misses",
         "dram accesses": "dram", "row conflicts": "row confl."}


def brief(command):
    """A command that fits into a line."""
    return f"'{command}'" if len(command) < 50 else f"'{command[:46]}...'"


def spread(values):
    """Median, minimum and maximum."""
    return {"median": statistics.median(values), "min": min(values), "max": max(values)}


def ratio(a, b):
    """a / b; None if b is 0."""
    return a / b if b else None


def part(runs, policy, together):
    """Runs of one policy, alone or together."""
    return [r for r in runs if r["policy"] == policy and r["together"] == together]


def co_runners(runs):
    """Per co-runner: runs completed and instructions per cycle, medians."""
    out = []
    for i in range(len(runs[0]["others"])):
        mine = [r["others"][i] for r in runs]
        row = {"completed": statistics.median(m["completed"] for m in mine)}
        pace = [m["counts"]["instructions"] / m["counts"]["cycles"] for m in mine
                if m["counts"].get("cycles") and "instructions" in m["counts"]]
        if pace:
            row["instructions_per_cycle"] = statistics.median(pace)
        out.append(row)
    return out


def summarise(runs, policies, events, notes):
    """{"rows", "summary", "notes", "runs"} of all runs."""
    rows, summary, notes = [], {}, list(notes)
    first = statistics.median(r["cost"] for r in part(runs, policies[0], False))
    for policy in policies:
        alone, both = part(runs, policy, False), part(runs, policy, True)
        for name, mine in (("alone", alone), ("together", both)):
            row = {"policy": policy, "run": name, "cost": spread([r["cost"] for r in mine])}
            row["counts"] = {role: spread([r["counts"][role] for r in mine])
                             for role in events.roles}
            if "seconds" in mine[0]:
                row["seconds"] = spread([r["seconds"] for r in mine])
            rows.append(row)
        one, two = rows[-2], rows[-1]
        two["others"] = co_runners(both)
        s = summary[policy] = {
            "slowdown": ratio(two["cost"]["median"], one["cost"]["median"]),
            "alone_over_first": ratio(one["cost"]["median"], first)}
        if "misses" in events.roles:
            s["extra_misses"] = two["counts"]["misses"]["median"] - \
                one["counts"]["misses"]["median"]
        if len(alone) > 1 and two["cost"]["min"] <= one["cost"]["max"]:
            notes.append(f"{policy}: costs alone and together overlap; a slowdown cannot be told "
                         "from noise")
    if len(runs) == 2 * len(policies):
        notes.append("one round only: there is no spread to judge the figures by; see --repeat")
    cuts(summary, policies)
    return {"rows": rows, "summary": summary, "notes": notes, "runs": runs}


def cuts(summary, policies):
    """By which share each profile cuts slowdown and extra misses of the first policy."""
    base = summary[policies[0]]
    for policy in policies[1:]:
        s = summary[policy]
        if (base["slowdown"] or 0) > 1 and s["slowdown"] is not None:
            s["slowdown_cut"] = 1 - (s["slowdown"] - 1) / (base["slowdown"] - 1)
        if base.get("extra_misses", 0) > 0:
            s["extra_misses_cut"] = 1 - s["extra_misses"] / base["extra_misses"]


def unit(events):
    """Unit of a cost, in words."""
    return f"modelled {events.cost}" if events.kind == "model" else events.cost


def show(data, events):
    """For people."""
    p = data["parameters"]
    where = [f"{brief(c)} on CPU {n}" for c, n in zip([p["victim"], *p["with"]], p["cpus"])]
    print(f"\n{where[0]}, with {', '.join(where[1:])}; {p['repeat']} rounds")
    print(f"cost in {unit(events)}" + (f", counted {events.note}" if events.roles else ""))
    extra = [r for r in events.roles if r not in (events.cost,)]
    head = ["policy", "run", "median", "min", "max", "slowdown",
            *(SHORT.get(r, r) for r in extra)]
    body = []
    for row in data["rows"]:
        slow = data["summary"][row["policy"]]["slowdown"]
        body.append([row["policy"], row["run"], *(number(row["cost"][k])
                                                  for k in ("median", "min", "max")),
                     f"{slow:.3f}" if row["run"] == "together" and slow else "",
                     *(number(row["counts"][r]["median"]) for r in extra)])
    print()
    print_table(head, body, 2)
    print()
    show_others(data)
    for policy, s in data["summary"].items():
        words = [f"slowdown {s['slowdown']:.3f}" if s["slowdown"] else "no cost alone"]
        if "extra_misses" in s:
            words.append(f"{s['extra_misses']:+,.0f} misses added by co-runners")
        if "slowdown_cut" in s:
            words.append(f"cuts the slowdown by {min(s['slowdown_cut'], 1):.0%}")
        if "extra_misses_cut" in s:
            words.append(f"cuts the extra misses by {min(s['extra_misses_cut'], 1):.0%}")
        if s["alone_over_first"] and policy != data["rows"][0]["policy"]:
            words.append(f"alone it costs {s['alone_over_first']:.3f} times the cost under "
                         f"{data['rows'][0]['policy']}")
        print(f"{policy}: {', '.join(words)}")
    for note in data["notes"]:
        print(f"note: {note}")


def show_others(data):
    """How far the co-runners came meanwhile."""
    for i, command in enumerate(data["parameters"]["with"]):
        words = []
        for row in data["rows"]:
            if row["run"] != "together":
                continue
            other = row["others"][i]
            pace = other.get("instructions_per_cycle")
            words.append(f"{row['policy']} {number(other['completed'])} runs"
                         + (f" at {pace:.3f} instructions per cycle" if pace else ""))
        print(f"co-runner {brief(command)} meanwhile: {'; '.join(words)}")


def draw(data, path):
    """Bars: cost alone and together under each policy, and misses."""
    plt = picture.pyplot()
    policies = list(data["summary"])
    kinds = [("cost", lambda r: r["cost"])]
    if "misses" in data["rows"][0]["counts"]:
        kinds.append(("last-level misses", lambda r: r["counts"]["misses"]))
    fig, axes = plt.subplots(1, len(kinds), figsize=(4.5 * len(kinds), 3.2), squeeze=False)
    for ax, (title, value) in zip(axes[0], kinds):
        for shift, run, color in ((-0.2, "alone", "#4477aa"), (0.2, "together", "#cc6677")):
            rows = [value(r) for r in data["rows"] if r["run"] == run]
            height = [r["median"] for r in rows]
            error = [[r["median"] - r["min"] for r in rows], [r["max"] - r["median"] for r in rows]]
            ax.bar([i + shift for i in range(len(rows))], height, 0.38, yerr=error, capsize=3,
                   color=color, label=run)
        ax.set_xticks(range(len(policies)), policies)
        ax.set_title(title)
    axes[0][0].legend()
    fig.suptitle(f"{data['parameters']['victim']}: {data['parameters']['counted']}", y=1.02)
    picture.save(plt, fig, path)
