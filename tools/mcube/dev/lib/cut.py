# SPDX-License-Identifier: GPL-2.0
"""Kconfig files, Makefiles and MAINTAINERS as they are at a commit of the series.

The overlay has Kconfig files and Makefiles of the whole series. At a commit these
files must not name a symbol or a file that a later commit adds. A comment leaves
together with the lines below it.
"""

import re
import textwrap

from lib.ui import Failure

ENTRY = re.compile(r"(menu|endmenu|if|endif|menuconfig|config|comment|source)\b")
NAMES_SYMBOLS = re.compile(r"\t(select|imply|depends on|default)\b(.*)")
ASSIGNMENT = re.compile(r"(\s*[\w$().-]+\s*[:+?]?=)(.*)", re.S)
COLUMNS, TAB = 100, " " * 8


def without_empty(text, begin, end):
    """Remove blocks from a @begin line to an @end line with nothing between."""
    empty = re.compile(rf"^(?:{begin})\b[^\n]*\n\s*^{end}\b[^\n]*\n", re.M)
    while (less := empty.sub("", text)) != text:
        text = less
    return text


def tidy(text):
    """Leave at most one blank line in a row, and none at the end."""
    return re.sub(r"\n{3,}", "\n\n", text).rstrip("\n") + "\n"


def cut_kconfig(text, missing, later=()):
    """Leave out symbols in @missing, lines that name such a symbol, and sources in @later."""
    out, held, keep = [], [], True
    for line in text.splitlines(keepends=True):
        if "SPDX-License-Identifier" in line:
            out.append(line)
            continue
        if line.startswith("#") or held and not line.strip():
            held.append(line)
            continue
        if m := re.match(r"(?:menu)?config\s+(\w+)", line):
            keep = m[1] not in missing
        elif m := re.match(r'source\s+"([^"]+)"', line):
            keep = m[1] not in later
        elif ENTRY.match(line):
            keep = True
        named = NAMES_SYMBOLS.match(line)
        if keep:
            out += held
            if not named or missing.isdisjoint(re.findall(r"\w+", named[2])):
                out.append(line)
        held = []
    short = "".join(out + held)
    return tidy(without_empty(short, "if", "endif")) if short != text else text


def cut_makefile(text, folder, later):
    """Leave out objects and directories whose source or Makefile is in @later."""
    def comes_later(word):
        if word.endswith("/"):
            return f"{folder}/{word}Makefile" in later
        return word.endswith(".o") and any(f"{folder}/{word[:-1]}{c}" in later for c in "cS")

    def cut(statement):
        m = ASSIGNMENT.fullmatch(statement.replace("\\\n", " ").rstrip("\n"))
        words = m[2].split() if m and not statement.startswith("#") else []
        kept = [w for w in words if not comes_later(w)]
        if kept == words:
            return statement
        rows = textwrap.wrap(" ".join([m[1], *kept]), COLUMNS - 2, subsequent_indent=TAB,
                             break_long_words=False, break_on_hyphens=False)
        return " \\\n".join(rows).replace(f"\n{TAB}", "\n\t") + "\n" if kept else ""

    out = []
    for part in re.split(r"\n{2,}", text.rstrip("\n")):
        part += "\n"
        short = "".join(map(cut, re.findall(r"(?:[^\n]*\\\n)*[^\n]*\n", part)))
        short = without_empty(short, "ifn?def|ifn?eq", "endif")
        if short != part and all(x.startswith("#") for x in short.splitlines()):
            short = "".join(x for x in short.splitlines(keepends=True) if "SPDX" in x)
        out.append(short)
    short = "\n".join(out)
    if short.split() == text.split():
        return text
    return tidy(without_empty(short, "ifn?def|ifn?eq", "endif"))


def insert_maintainers(text, entry):
    """MAINTAINERS with the entry at its sorted place."""
    entry = "".join(x for x in entry.splitlines(keepends=True) if not x.startswith("#"))
    entry = entry.strip("\n") + "\n\n"
    title = entry.split("\n", 1)[0]
    sections = list(re.finditer(r"(?:^\n|\A)^([^\s\n][^\n\t]*)\n(?=[A-Z]:\t)", text, re.M))
    if not sections:
        raise Failure("MAINTAINERS of the base has no sections to sort into")
    for m in sections:
        if m[1].upper() > title.upper() or m[1] == "THE REST":
            return text[:m.start(1)] + entry + text[m.start(1):]
    return text.rstrip("\n") + "\n\n" + entry.rstrip("\n") + "\n"
