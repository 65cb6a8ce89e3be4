#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The series as mail, and proofs that it applies and builds.

  emit    build/series/: cover letter and numbered patches for git am, each
          with the new files that belong to it, the Kconfig cut down to the
          symbols that exist by then, and the MAINTAINERS entry
  check   git am on several 6.12.y point releases of the archive
  bisect  link a tiny kernel at every commit, with all options on and off

The commits are made in a small git repository that holds only the files which
the series touches; format-patch then writes what a reviewer expects.
"""

import argparse
import os
import re
import shutil
import subprocess
from pathlib import Path

import kbuild
from lib import source, ui
from lib.patchfile import PATCHES, claims, overlay_files, series
from lib.source import BASE, base_line, pinned, read_base
from lib.ui import BUILD, ROOT, Failure, Steps, say
from mtree import apply_series, mode_of

OUT = BUILD / "series"
REPO = BUILD / "series-repo"


def git(*argv, cwd=REPO, env=None, text=None):
    """Run git without the user's configuration in the way."""
    full = dict(os.environ, GIT_CONFIG_GLOBAL="/dev/null", GIT_CONFIG_NOSYSTEM="1",
                GIT_COMMITTER_NAME="mcube", GIT_COMMITTER_EMAIL="mcube@localhost",
                **(env or {}))
    got = subprocess.run(["git", "-c", "core.abbrev=12", *argv], cwd=cwd, env=full,
                         input=text, text=True, stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, check=False)
    if got.returncode:
        raise Failure(f"git {argv[0]} failed:\n{got.stdout.strip()}")
    return got.stdout


def cut_kconfig(text, symbols, later=()):
    """Leave only the config blocks of @symbols, and no source of a file in @later."""
    out, keep, closers = [], True, r"(menu|endmenu|if|endif|menuconfig|config|comment|source)\b"
    for line in text.splitlines(keepends=True):
        if m := re.match(r"(?:menu)?config\s+(\w+)", line):
            keep = m[1] in symbols
        elif m := re.match(r'source\s+"([^"]+)"', line):
            keep = m[1] not in later
        elif re.match(closers, line) or line.startswith("#"):
            keep = True
        if keep:
            out.append(line)
    text = "".join(out)
    while (less := re.sub(r"^if [^\n]*\n\s*^endif[^\n]*\n", "", text, flags=re.M)) != text:
        text = less
    return re.sub(r"\n{3,}", "\n\n", text).rstrip("\n") + "\n"


def insert_maintainers(text, entry):
    """The entry at its sorted place."""
    entry = "".join(x for x in entry.splitlines(keepends=True) if not x.startswith("#"))
    entry = entry.strip("\n") + "\n\n"
    title = entry.split("\n", 1)[0]
    sections = list(re.finditer(r"(?:^\n|\A)^([^\s\n][^\n\t]*)\n(?=[A-Z]:\t)", text, re.M))
    if not sections:
        raise Failure("MAINTAINERS of the base has no sections to sort into")
    for m in sections:
        if m[1].upper() > title.upper() and m[1] != "THE REST":
            at = m.start(1)
            return text[:at] + entry + text[at:]
    at = next((m.start(1) for m in sections if m[1] == "THE REST"), len(text))
    return text[:at] + entry + text[at:]


def states(patches, base, folder):
    """The series' files after each commit: [{path: bytes}], and before all."""
    owner, wrong = claims(patches, overlay_files())
    if wrong:
        raise Failure("claims of overlay files are wrong:\n  " + "\n  ".join(wrong))
    after = []
    touched = apply_series(patches, base, folder, lambda i, c: after.append(c))
    before = {p: (Path(folder) / p).read_bytes() for p in touched}
    entry = (ROOT / "MAINTAINERS")
    first = next((i for i, p in enumerate(patches) if p.adds), 0)
    if entry.is_file():
        before["MAINTAINERS"] = (Path(folder) / "MAINTAINERS").read_bytes()
    out, symbols = [], set()
    for i, patch in enumerate(patches):
        symbols |= set(patch.config)
        files = dict(before) | after[i]
        for path, n in owner.items():
            if n > i:
                continue
            data = (ROOT / path).read_bytes()
            if os.path.basename(path) == "Kconfig":
                later = {p for p, at in owner.items() if at > i}
                data = cut_kconfig(data.decode(), symbols, later).encode()
            files[path] = data
        if entry.is_file() and i >= first:
            files["MAINTAINERS"] = insert_maintainers(
                before["MAINTAINERS"].decode(), entry.read_text("utf-8")).encode()
        out.append(files)
    for path in owner:
        if os.path.basename(path) == "Kconfig":
            full = set(re.findall(r"^(?:menu)?config\s+(\w+)",
                                  (ROOT / path).read_text("utf-8"), re.M))
            if full - symbols:
                raise Failure(f"{path}: no patch's X-Mcube-Config names "
                              + " ".join(sorted(full - symbols)))
    return before, out


def write_files(root, files, previous=None):
    """Bring a directory to a state, writing only differences; returns paths."""
    changed = []
    for path, data in files.items():
        if previous is not None and previous.get(path) == data:
            continue
        if ui.write_if_changed(Path(root) / path, data, mode_of(path)):
            changed.append(path)
    return changed


def commit_date(name):
    """When the patch file last changed, for a repeatable author date."""
    got = subprocess.run(["git", "-C", str(ROOT), "log", "-1", "--format=%aI", "--",
                          f"patches/{name}"], text=True, capture_output=True, check=False)
    return got.stdout.strip() or "2026-01-01T00:00:00+0000"


def make_commits(patches, base, folder):
    """The series as commits in REPO on top of the base's files."""
    before, after = states(patches, base, folder)
    shutil.rmtree(REPO, ignore_errors=True)
    REPO.mkdir(parents=True)
    git("init", "-q", "-b", "base")
    git("config", "gc.auto", "0")
    # Room for the overlay's files to live in, and the base's content.
    write_files(REPO, before)
    git("add", "-A", "-f")
    git("commit", "-q", "--allow-empty", "-m", f"base: {base_line(base)}",
        env={"GIT_AUTHOR_NAME": "base", "GIT_AUTHOR_EMAIL": "base@localhost",
             "GIT_AUTHOR_DATE": "2026-01-01T00:00:00+0000",
             "GIT_COMMITTER_DATE": "2026-01-01T00:00:00+0000"})
    git("checkout", "-q", "-b", "series")
    previous = before
    for patch, files in zip(patches, after):
        if not write_files(REPO, files, previous):
            raise Failure(f"patches/{patch.name} changes nothing",
                          "give it a diff or files (X-Mcube-Adds)")
        previous = files
        author = re.match(r"(.*?)\s*<(.*)>", patch.header("From"))
        if not author:
            raise Failure(f"patches/{patch.name}: From: is not 'Name <address>'")
        message = f"{patch.subject}\n\n{patch.message}\n"
        if "\nSigned-off-by: " not in message:
            raise Failure(f"patches/{patch.name}: no Signed-off-by in the message")
        git("add", "-A", "-f")
        date = patch.header("Date") or commit_date(patch.name)
        git("commit", "-q", "-F", "-", text=message,
            env={"GIT_AUTHOR_NAME": author[1].strip('"'), "GIT_AUTHOR_EMAIL": author[2],
                 "GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date})
    return after


def emit(quiet=False):
    """build/series/: the mails."""
    base, patches = read_base(), series()
    if not base:
        raise Failure("there is no build/linux-base yet", "run 'make tree' first")
    if not patches:
        raise Failure(f"{PATCHES}/series is missing or empty")
    make_commits(patches, base, BASE)
    shutil.rmtree(OUT, ignore_errors=True)
    git("format-patch", "-q", "-n", "--cover-letter", "-M", "--stat=72", "-o", str(OUT),
        "base..series", env={"GIT_COMMITTER_DATE": commit_date("series")})
    cover = OUT / "0000-cover-letter.patch"
    text = cover.read_text("utf-8")
    words = PATCHES / "cover"
    if not words.is_file():
        raise Failure("patches/cover is missing",
                      "write the cover letter: its subject, a blank line, its text")
    subject, _, body = words.read_text("utf-8").partition("\n\n")
    author = patches[0].header("From")
    text = re.sub(r"^From: .*$", lambda m: f"From: {author}", text, count=1, flags=re.M)
    text = text.replace("*** SUBJECT HERE ***", " ".join(subject.split()))
    line = f"base: {base_line(base)}"
    if base.get("commit"):
        line += f"\nbase-commit: {base['commit']}"
    text = text.replace("*** BLURB HERE ***", f"{body.strip()}\n\n{line}")
    cover.write_text(text, "utf-8")
    if not quiet:
        stat = git("diff", "--shortstat", "base", "series").strip()
        print(f"series: {len(patches)} patches in {OUT} on {base_line(base)}: {stat}")
    return 0


def check(count):
    """git am on several point releases."""
    emit(quiet=True)
    patches = series()
    mails = sorted(OUT.glob("[0-9]*.patch"))[1:]
    paths = {p for patch in patches for p in patch.diffs} | {"MAINTAINERS"}
    versions = source.archive_versions()
    pin = pinned()["VERSION"]
    if pin not in versions:
        versions.insert(0, pin)
    versions = sorted(versions, key=source.point, reverse=True)
    if len(versions) < count:
        raise Failure(f"the archive has only {len(versions)} point releases")
    steps = Steps("series-check", versions)
    failed = []
    for version in versions:
        steps(version)
        keep = BUILD / "releases" / version
        files = keep / "files"
        if not all((files / p).is_file() for p in paths):
            tarball = source.debian_tarball(version)
            files.mkdir(parents=True, exist_ok=True)
            ui.sh("tar", "-xf", tarball, "-C", files, "--strip-components=1",
                  "--no-same-owner", *[f"linux-source-6.12/{p}" for p in sorted(paths)])
        work = BUILD / "series-am"
        shutil.rmtree(work, ignore_errors=True)
        shutil.copytree(files, work)
        git("init", "-q", cwd=work)
        git("add", "-A", "-f", cwd=work)
        ident = {"GIT_AUTHOR_NAME": "base", "GIT_AUTHOR_EMAIL": "base@localhost"}
        git("commit", "-q", "-m", version, cwd=work, env=ident)
        try:
            git("am", "-q", *[str(m) for m in mails], cwd=work, env=ident)
            say(f"ok: git am of {len(mails)} patches on {version}")
        except Failure as e:
            failed.append(version)
            say(f"not ok: {version}: {e}")
    shutil.rmtree(BUILD / "series-am", ignore_errors=True)
    if failed:
        raise Failure(f"the series does not apply to {', '.join(failed)}")
    print(f"series-check: git am ok on {len(versions)} point releases: "
          + " ".join(sorted(map(source.upstream, versions), key=source.point)))
    return 0


def bisect(only):
    """Link a tiny kernel at each commit, or those only, options on and off."""
    base, patches = read_base(), series()
    if not base:
        raise Failure("there is no build/linux-base yet", "run 'make tree' first")
    before, after = states(patches, base, BASE)
    tree = BUILD / "bisect/linux"
    wanted = [p for p in patches if not only or p.name[:4] in only]
    if not wanted:
        raise Failure(f"no patch begins with {' or '.join(only)}", "see patches/series")
    names = [f"{p.name} {way}" for p in wanted for way in ("off", "on")]
    steps = Steps("bisect", ["source"] + names)
    steps("source")
    if not tree.is_dir():
        tree.parent.mkdir(parents=True, exist_ok=True)
        ui.sh("cp", "-a", BASE, f"{tree}.new")
        tree.with_name("linux.new").rename(tree)
    made = {p for files in after for p in files}
    log = BUILD / "bisect/build.log"
    log.unlink(missing_ok=True)
    symbols, failed = set(), []
    every = set(kbuild.requests(["mcube"]))
    for patch, files in zip(patches, after):
        symbols |= set(patch.config)
        if patch not in wanted:
            continue
        for path in made - set(files):
            (tree / path).unlink(missing_ok=True)
        write_files(tree, files)
        for way, fragments in (("off", ["tiny", "minimal-off"]), ("on", ["tiny", "mcube"])):
            steps(f"{patch.name} {way}")
            try:
                out = BUILD / f"bisect/{way}"
                kbuild.configure(tree, out, fragments, log, missing_ok=every - symbols)
                kbuild.kmake(tree, out, "vmlinux", log=log)
            except Failure as e:
                failed.append(f"{patch.name} ({way})")
                say(f"not ok: {e}")
    write_files(tree, before)
    if failed:
        raise Failure("does not build: " + ", ".join(failed), f"the log is {log}")
    steps.done(f"{len(wanted)} commits link with all options on and with all off")
    return 0


def run():
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["emit", "check", "bisect"])
    parser.add_argument("--count", type=int, default=3,
                        help="check: point releases needed at least")
    parser.add_argument("--only", nargs="+", metavar="NNNN",
                        help="bisect: these patches alone, by their numbers")
    args = parser.parse_args()
    with ui.lock("series"):
        if args.command == "emit":
            return emit()
        if args.command == "check":
            return check(args.count)
        return bisect(args.only)


if __name__ == "__main__":
    ui.main(run)
