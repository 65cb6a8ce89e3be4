#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The commits of build/branch as mail, and proofs that the commits apply and build.

  emit    build/series/: cover letter and numbered mails for git am
  check   git am on several 6.12.y point releases of the archive
  bisect  link a tiny kernel and its modules at every commit, all options on and off

All three commands renew the branch first; see branch.py.
"""

import re
import shutil

import branch
import kbuild
from branch import git
from lib import source, ui
from lib.patchfile import PATCHES
from lib.source import base_line, pinned
from lib.ui import BUILD, Failure, Steps, say

OUT = BUILD / "series"


def cover_letter(path, base, author):
    """Put the text of patches/cover into the cover letter that git made."""
    words = PATCHES / "cover"
    change = None
    if words.is_file():
        subject, _, body = words.read_text("utf-8").partition("\n\n")
        change = re.search(r"^change-id: .*\n", body, re.M)
    if not change:
        raise Failure("patches/cover or its change-id is missing",
                      "write the cover letter: its subject, a blank line, its text, and a line "
                      "'change-id: DATE-mcube-NUMBER' that all versions of the series keep")
    body = body.replace(change[0], "").strip()
    end = f"base: {base_line(base)}\n"
    if base["commit"]:
        end += f"base-commit: {base['commit']}\n"
    text = path.read_text("utf-8")
    text = re.sub(r"^From: .*$", lambda m: f"From: {author}", text, count=1, flags=re.M)
    text = text.replace("*** SUBJECT HERE ***", " ".join(subject.split()))
    text = text.replace("*** BLURB HERE ***", body)
    letter, sign, version = text.rpartition("-- \n")
    path.write_text(f"{letter.rstrip()}\n---\n{end}{change[0]}\n{sign}{version}", "utf-8")


def emit(quiet=False):
    """Write the mails to build/series/."""
    base, patches = branch.make()
    shutil.rmtree(OUT, ignore_errors=True)
    git("format-patch", "-q", "-n", "--cover-letter", "-M", "--stat=72", "-o", OUT,
        "base..mcube", env={"GIT_COMMITTER_DATE": branch.commit_date("series")})
    cover_letter(OUT / "0000-cover-letter.patch", base, patches[0].header("From"))
    if not quiet:
        stat = git("diff", "--shortstat", "base", "mcube").strip()
        print(f"series: {len(patches)} mails in {OUT} on {base_line(base)}: {stat}")
    return 0


def check(count):
    """git am on several point releases."""
    emit(quiet=True)
    mails = sorted(OUT.glob("[0-9]*.patch"))[1:]
    paths = git("diff", "--name-only", "--diff-filter=M", "base", "mcube").splitlines()
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
                  "--no-same-owner", *[f"linux-source-6.12/{p}" for p in paths])
        work = BUILD / "series-am"
        shutil.rmtree(work, ignore_errors=True)
        shutil.copytree(files, work)
        git("init", "-q", cwd=work)
        git("add", "-A", "-f", cwd=work)
        git("commit", "-q", "-m", version, cwd=work)
        try:
            git("am", "-q", *mails, cwd=work)
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


def check_out(commit):
    """Check a commit out into build/bisect/tree; returns that folder."""
    folder = BUILD / "bisect"
    tree = folder / "tree"
    tree.mkdir(parents=True, exist_ok=True)
    git("read-tree", "--reset", "-u", commit, cwd=tree,
        env={"GIT_DIR": str(branch.REPO), "GIT_WORK_TREE": str(tree),
             "GIT_INDEX_FILE": str(folder / "index")})
    return tree


def bisect(only):
    """Link a tiny kernel at each commit or the chosen commits, with options on and off."""
    _, patches = branch.make()
    commits = git("rev-list", "--reverse", "base..mcube").split()
    wanted = [p for p in patches if not only or p.name[:4] in only]
    if not wanted:
        raise Failure(f"no patch begins with {' or '.join(only)}", "see patches/series")
    steps = Steps("bisect", [f"{p.name} {way}" for p in wanted for way in ("off", "on")])
    log = BUILD / "bisect/build.log"
    log.unlink(missing_ok=True)
    symbols, failed = set(), []
    every = set(kbuild.requests(["mcube"]))
    for patch, commit in zip(patches, commits):
        symbols |= set(patch.config)
        if patch not in wanted:
            continue
        tree = check_out(commit)
        for way, fragments in (("off", ["tiny", "minimal-off"]), ("on", ["tiny", "mcube"])):
            steps(f"{patch.name} {way}")
            try:
                out = BUILD / f"bisect/{way}"
                kbuild.configure(tree, out, fragments, log, missing_ok=every - symbols)
                kbuild.kmake(tree, out, "vmlinux", "modules", log=log)
            except Failure as e:
                failed.append(f"{patch.name} ({way})")
                say(f"not ok: {e}")
    if failed:
        raise Failure("does not build: " + ", ".join(failed), f"the log is {log}")
    steps.done(f"{len(wanted)} commits link with all options on and with all off")
    return 0


def run():
    """Command line."""
    parser = ui.parser(__doc__)
    parser.add_argument("command", choices=["emit", "check", "bisect"])
    parser.add_argument("--count", type=int, default=3,
                        help="check: least number of point releases")
    parser.add_argument("--only", nargs="+", metavar="NNNN",
                        help="bisect: numbers of the patches to build")
    args = parser.parse_args()
    with ui.lock("series"):
        if args.command == "emit":
            return emit()
        if args.command == "check":
            return check(args.count)
        return bisect(args.only)


if __name__ == "__main__":
    ui.main(run)
