# SPDX-License-Identifier: GPL-2.0
"""Results of TAP and KTAP text.

Nested results are indented (KUnit) or carry "# " per level (kselftest). Only
leaves count: the line that sums up a subtest counts only if it says "not ok"
and no leaf below it does. A plan with more results than the text has, and a
text without results, are failures too.
"""

import re

RESULT = re.compile(r"^(?P<deep>(?:# |  )*)\s*(?P<ok>ok|not ok) (?P<n>\d+)(?: -)? ?(?P<rest>.*)$")
PLAN = re.compile(r"^(?P<deep>(?:# |  )*)\s*1\.\.(?P<n>\d+)")


def parse(text, what="tests"):
    """[(name, "ok" | "not ok" | "skip")] of the leaves."""
    out, below, plans = [], {}, {}
    for line in text.splitlines():
        line = re.sub(r"^\[\s*\d+\.\d+\](?: \[\s*\d+\.\d+\])? ?", "", line)
        if m := PLAN.match(line):
            depth = len(m["deep"]) // 2
            plans[depth] = (int(m["n"]), 0)
            continue
        if not (m := RESULT.match(line)):
            continue
        depth = len(m["deep"]) // 2
        deeper = [d for d in below if d > depth]
        inner = [s for d in deeper for s in below.pop(d)]
        for d in [d for d in plans if d > depth]:
            want, got = plans.pop(d)
            if got < want and m["ok"] == "ok" and "SKIP" not in m["rest"]:
                out.append((f"{m['rest']}: {want - got} of {want} results are missing",
                            "not ok"))
        if depth in plans:
            plans[depth] = (plans[depth][0], plans[depth][1] + 1)
        name, _, directive = m["rest"].partition("#")
        state = m["ok"]
        if re.match(r"\s*(SKIP|XFAIL)", directive, re.I) and state == "ok":
            state = "skip"
        below.setdefault(depth, []).append(state)
        if not inner or (state == "not ok" and "not ok" not in inner):
            out.append((name.strip() or f"test {m['n']}", state))
    for want, got in plans.values():
        if got < want:
            out.append((f"{what}: {want - got} of {want} results are missing", "not ok"))
    if not out:
        out.append((f"{what}: no result at all", "not ok"))
    return out
