#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""All checks of the sources that need no kernel to run.

The checks are checkpatch --strict on the mails of the series and on every
file, the doors between rooms, circles between files, the budget of edits to
existing kernel files, the size of the patches, words that are no longer used,
sparse and W=1 on the objects of mcube, kernel-doc, codespell, shellcheck,
flake8, pydocstyle, manual pages, SPDX lines and file lengths. Every check
prints 'ok' or 'not ok', and any finding fails. checkpatch takes most of the
time. If it finds nothing in a file, a mark under build/lint-clean records the
checksum of that file, of checkpatch and of this script, and the next run skips
the file.
"""

import concurrent.futures
import functools
import hashlib
import os
import re
import subprocess
from pathlib import Path

import kbuild
from lib import budget, circles, doors, modelled, ui, words
from lib.patchfile import claims, overlay_files, series as patches
from lib.source import TREE
from lib.ui import BUILD, JOBS, ROOT, Failure
import series

CLEAN = BUILD / "lint-clean"
MAILS = BUILD / "lint-mails"
LENGTH = 700
# checkpatch need not ask for MAINTAINERS: the entry of the first patch covers every new file.
# Of some mails check_mails() leaves only the text, which is no diff.
IGNORE = "FILE_PATH_CHANGES,NOT_UNIFIED_DIFF"
# The stub of a hook ignores its arguments if the option is off.
STUBS = {"MACRO_ARG_UNUSED"}
# User space under tools/ defines kernel macros itself and cannot crash a kernel.
USER = set("""AVOID_BUG CAMELCASE COMPLEX_MACRO CONST_STRUCT EXPORT_SYMBOL
INIT_ATTRIBUTE MACRO_ARG_PRECEDENCE MACRO_ARG_REUSE MACRO_ARG_UNUSED
MACRO_WITH_FLOW_CONTROL NEW_TYPEDEFS PREFER_DEFINED_ATTRIBUTE_MACRO
PREFER_KERNEL_TYPES PREFER_PR_LEVEL SPLIT_STRING VOLATILE LINUX_VERSION_CODE
USLEEP_RANGE SSCANF_TO_KSTRTO STRCPY STRNCPY STRLCPY BIT_MACRO ARRAY_SIZE
LONG_LINE_STRING QUOTED_WHITESPACE_BEFORE_NEWLINE REPEATED_WORD
EXECUTE_PERMISSIONS""".split())
# In the kselftest harness a type that a macro makes looks like a product, and an
# EXPECT_*() is more than one statement.
HARNESS = {"SPACING", "BRACES"}
# The TRACE_EVENT macros have a special layout in the whole kernel.
TRACE = {"OPEN_ENDED_LINE", "PARENTHESIS_ALIGNMENT", "SPACING", "COMPLEX_MACRO"}
CODE = (".c", ".h", ".py", ".sh", ".S")


def repo_files():
    """All files of the repository, tracked or not yet tracked, but not ignored."""
    got = subprocess.run(["git", "-C", str(ROOT), "ls-files", "-co", "--exclude-standard"],
                         text=True, capture_output=True, check=False)
    if got.returncode:
        raise Failure("lint needs the git repository", "work in a clone")
    return sorted(f for f in set(got.stdout.splitlines()) if (ROOT / f).is_file())


def text_of(path):
    """Content, or None for a binary file."""
    try:
        return (ROOT / path).read_text("utf-8")
    except UnicodeDecodeError:
        return None


def output(*argv, cwd=ROOT):
    """(status, combined output) of a command."""
    try:
        got = subprocess.run([str(a) for a in argv], cwd=cwd, text=True, check=False,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                             errors="replace")
    except FileNotFoundError as e:
        raise Failure(f"{argv[0]} is not installed: run 'make deps'") from e
    return got.returncode, got.stdout


def checkpatch(*argv):
    """Findings of one checkpatch run."""
    status, text = output("perl", TREE / "scripts/checkpatch.pl", "--strict", "--terse",
                          "--show-types", "--no-summary", "--showfile", "--ignore", IGNORE,
                          "--max-line-length=100", f"--root={TREE}", *argv, cwd=TREE)
    lines = [x for x in text.splitlines() if re.search(r":\d*: (ERROR|WARNING|CHECK)", x)
             or re.search(r"(ERROR|WARNING|CHECK):", x)]
    lines = [x for x in lines if not excused(x)]
    return lines or ([text.strip()] if status and not re.search(r"CHECK|WARN|ERR", text) else [])


def excused(line):
    """Does the kernel rule of a finding not apply to its file?"""
    m = re.search(r"(\S+?):\d+: (?:ERROR|WARNING|CHECK):(\w+):", line)
    return bool(m) and ("tools/" in m[1] and m[2] in USER
                        or "include/linux/mcube_" in m[1] and m[2] in STUBS
                        or "tools/testing/selftests/" in m[1] and m[2] in HARNESS
                        or "include/trace/events/" in m[1] and m[2] in TRACE)


@functools.cache
def checker():
    """Checksums of the files that decide about findings."""
    scripts = TREE / "scripts"
    return b"".join(hashlib.sha256(f.read_bytes()).digest() for f in (
        scripts / "checkpatch.pl", scripts / "spelling.txt", scripts / "const_structs.checkpatch",
        Path(__file__)))


def clean_mark(path):
    """The mark that is present if checkpatch found nothing in this content."""
    key = hashlib.sha256(checker() + os.path.relpath(path, ROOT).encode() + path.read_bytes())
    return CLEAN / key.hexdigest()


def checkpatch_all(paths, *options):
    """Findings in the files; the files are divided among the cores."""
    unknown = [p for p in paths if not clean_mark(p).exists()]
    CLEAN.mkdir(parents=True, exist_ok=True)

    def some(part):
        found = checkpatch(*options, *part)
        for path in part if not found else []:
            clean_mark(path).touch()
        return found

    parts = [unknown[i:i + 8] for i in range(0, len(unknown), 8)]
    with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        return [x for out in pool.map(some, parts) for x in out]


# A file that a mail adds below tools/, up to the next file or the end of the mail.
ADDED = re.compile(r"^diff --git a/tools/.*\nnew file(?:.*\n)+?(?=diff --git |-- $|\Z)", re.M)


def check_mails():
    """checkpatch on the mails of the series, without files that check_files() has looked at.

    The time that checkpatch takes grows with the square of a mail's length.
    """
    series.emit(quiet=True)
    MAILS.mkdir(parents=True, exist_ok=True)
    paths = []
    for mail in sorted(series.OUT.glob("[0-9]*.patch"))[1:]:
        paths.append(MAILS / mail.name)
        ui.write_if_changed(paths[-1], ADDED.sub("", mail.read_text("utf-8")).encode())
    return checkpatch_all(paths)


def check_files(files):
    """checkpatch on whole files."""
    return checkpatch_all([ROOT / f for f in files if f.endswith(CODE) or is_python(f)], "-f")


def check_budget(count):
    """Lines that each patch adds, or edits of existing kernel files by room."""
    all_patches = patches()
    owner, _ = claims(all_patches, overlay_files())
    new = {p.name: {f: (TREE / f).read_text("utf-8", "replace")
                    for f, n in owner.items() if n == i} for i, p in enumerate(all_patches)}
    lines, wrong = count(all_patches, lambda p: new[p.name])
    for line in lines:
        print(f"    {line}")
    return wrong


def c_files(files):
    """{path: text} of C files; for existing kernel files, the lines that patches add."""
    out = {f: text_of(f) for f in files if f.endswith((".c", ".h"))}
    for patch in patches():
        for path, diff in patch.diffs.items():
            out[path] = out.get(path, "") + "".join(
                x[1:] for x in diff.splitlines(keepends=True)
                if x.startswith("+") and not x.startswith("+++"))
    return out


def check_circles(files):
    """Circles of includes and of symbols between source files."""
    sources = c_files(files)
    graph = circles.by_include(sources)
    build_objects()
    objects = {f: BUILD / "lint" / f"{f[:-2]}.o" for f in sources
               if f.startswith(("mm/mcube/", "drivers/mcube/"))}
    plugin = modelled.build()
    objects |= {f: plugin / f"{Path(f).stem}.o" for f in sources
                if os.path.dirname(f) == "tools/mcube/model"}
    uses = {f: circles.symbols(o) for f, o in objects.items() if o.is_file()}
    print(f"    includes of {len(graph)} files, symbols of {len(uses)} objects")
    return circles.findings(graph) + circles.findings(circles.by_symbol(uses))


def check_order():
    """Includes of files that a later commit adds.

    An include under a config symbol is allowed if the symbol exists only from the later
    commit on: the include is not compiled before.
    """
    all_patches = patches()
    owner, _ = claims(all_patches, overlay_files())
    since = {s: i for i, p in reversed(list(enumerate(all_patches))) for s in p.config}
    return [f"{path}: comes with {all_patches[n].name} and includes {at}, which comes with "
            f"{all_patches[owner[at]].name}"
            for path, n in owner.items()
            if path.startswith(("mm/", "drivers/", "include/")) and path.endswith((".c", ".h"))
            for at, symbols in doors.included(path, text_of(path), owner)
            if owner[at] > n
            and not any(since.get(s, 0) >= owner[at] for s in symbols)]


@functools.cache
def build_objects():
    """Compile the objects of mcube under sparse and W=1; (number of objects, log)."""
    out, log = BUILD / "lint", BUILD / "lint.log"
    folders = [d for d in ("mm/mcube/", "drivers/mcube/") if (TREE / d / "Makefile").is_file()]
    if not folders:
        raise Failure("no mm/mcube/Makefile in build/linux")
    with ui.lock("build-lint"):
        kbuild.configure(TREE, out, kbuild.FLAVORS["test"][1], log)
        kbuild.kmake(TREE, out, "prepare", log=log)
        log.unlink(missing_ok=True)
        for folder in folders:
            for obj in (out / folder).rglob("*.o"):
                obj.unlink()
        kbuild.kmake(TREE, out, "C=2", "W=1", *folders, log=log)
        count = sum(1 for d in folders for _ in (out / d).rglob("*.o"))
    return count, log.read_text("utf-8", "replace")


def check_objects():
    """Warnings and errors of sparse and W=1 about files of mcube."""
    count, said = build_objects()
    found = [x for x in said.splitlines()
             if re.search(r"(warning|error):", x) and "mcube" in x]
    if not count:
        found.append("sparse and W=1 compiled no object")
    print(f"    sparse and W=1 on {count} objects")
    return found


def check_kernel_doc():
    """kernel-doc on kernel files."""
    files = [f for f in overlay_files() if f.endswith((".c", ".h"))
             and f.startswith(("mm/", "drivers/", "include/linux/"))]
    if not files:
        return ["no kernel files"]
    status, text = output("perl", TREE / "scripts/kernel-doc", "-none", "-Wall", "-Werror",
                          *[ROOT / f for f in files])
    return text.strip().splitlines() if status else []


def check_spelling(files):
    """codespell on all text, but for the function names that diff cuts off after @@."""
    chosen = [f for f in files if f != "COPYING" and text_of(f) is not None]
    _, text = output("codespell", "--ignore-words-list", "damon,filp,nd",
                     "--ignore-regex", "^@@.*", *chosen)
    return text.strip().splitlines()


def check_shell(files):
    """shellcheck on scripts for the host and the guest."""
    chosen = [f for f in files if f.endswith((".sh", ".bash"))
              or re.match(r"#!.*\b(ba|da)?sh\b", (text_of(f) or "")[:60])]
    _, text = output("shellcheck", "-f", "gcc", *chosen) if chosen else (0, "")
    return text.strip().splitlines()


def is_python(path):
    """Is a file Python, by its name or its first line?"""
    return path.endswith(".py") or bool(re.match(r"#!.*python", (text_of(path) or "")[:60]))


def check_python(files):
    """flake8 and pydocstyle, by the rules in setup.cfg."""
    chosen = [f for f in files if is_python(f)]
    style, docs = output("flake8", *chosen)[1], output("pydocstyle", *chosen)[1]
    return style.splitlines() + re.sub(r":\n\s+", ": ", docs).splitlines()


def check_manuals(files):
    """mandoc on manual pages."""
    chosen = [f for f in files if re.search(r"\.[1-9]$", f)]
    status, text = output("mandoc", "-T", "lint", "-W", "warning", *chosen) if chosen else (0, "")
    return text.strip().splitlines() or ([f"mandoc returned {status}"] if status else [])


def check_spdx(files):
    """Files without an SPDX line in their first lines, if they can have one."""
    out = []
    for f in files:
        text = text_of(f)
        name = os.path.basename(f)
        if text is None or not text or \
                name in ("COPYING", "README", "settings", "config", "series", "cover") or \
                f.startswith(("patches/", "Documentation/ABI/")) or \
                f.endswith((".json", ".md", ".png")):
            continue
        if not any("SPDX-License-Identifier: " in x for x in text.splitlines()[:3]):
            out.append(f"{f}: no SPDX-License-Identifier in its first lines")
    return out


def check_length(files):
    """Files that are too long to read."""
    out = []
    for f in files:
        text = text_of(f)
        if text is None or f == "COPYING" or f.endswith((".json", ".svg")):
            continue
        if (n := text.count("\n")) >= LENGTH:
            out.append(f"{f}: {n} lines, the limit is {LENGTH - 1}")
    return out


def run_checks(only=None):
    """[(name, [findings])] of all checks in order, or of one check with all its findings."""
    if not (TREE / "scripts/checkpatch.pl").is_file():
        raise Failure("there is no build/linux yet", "run 'make tree' first")
    files = repo_files()
    checks = [
        ("SPDX lines", lambda: check_spdx(files)),
        ("file lengths", lambda: check_length(files)),
        ("python", lambda: check_python(files)),
        ("manuals", lambda: check_manuals(files)),
        ("shellcheck", lambda: check_shell(files)),
        ("codespell", lambda: check_spelling(files)),
        ("words", lambda: words.findings({f: text_of(f) or "" for f in files})),
        ("doors", lambda: doors.findings(c_files(files))),
        ("budget of edits to existing files", lambda: check_budget(budget.rooms)),
        ("size of the patches", lambda: check_budget(budget.sizes)),
        ("order of the series", check_order),
        ("kernel-doc", check_kernel_doc),
        ("checkpatch on files", lambda: check_files(files)),
        ("checkpatch on the series", check_mails),
        ("sparse and W=1", check_objects),
        ("circles", lambda: check_circles(files)),
    ]
    out = []
    for i, (name, check) in enumerate(c for c in checks if not only or c[0] == only):
        try:
            found = check()
        except Failure as e:
            found = [str(e)]
        most = len(found) if only else 40
        for line in found[:most]:
            ui.reason(line)
        if len(found) > most:
            print(f"    and {len(found) - most} more")
        print(f"{'not ok' if found else 'ok'} {i + 1} lint: {name}"
              + (f" ({len(found)} findings)" if found else ""), flush=True)
        out.append((name, found))
    if not out:
        raise Failure(f"there is no check '{only}'", "choose from: "
                      + ", ".join(name for name, _ in checks))
    return out


def run():
    """Command line."""
    parser = ui.parser(__doc__)
    parser.add_argument("--only", metavar="CHECK", help="run one check and show all its findings")
    args = parser.parse_args()
    bad = sum(bool(found) for _, found in run_checks(args.only))
    print(f"lint: {'clean' if not bad else f'{bad} checks with findings'}")
    return 1 if bad else 0


if __name__ == "__main__":
    ui.main(run)
