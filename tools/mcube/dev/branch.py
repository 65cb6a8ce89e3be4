#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The series as commits on the whole kernel source, in build/branch.

build/branch is a bare git repository. Its tag `base` is a commit of
build/linux-base, and its branch `mcube` has a commit on top for each patch:
the edits of existing files, the new files that belong to the patch, Kconfig
files and Makefiles cut down to what exists at that commit, and the MAINTAINERS
entry. Commits depend on content alone: an unchanged series gives the same
commits again. The last step compares the end of the branch with what
`make tree` lays in build/linux.
"""

import email.utils
import hashlib
import os
import re
import subprocess

from lib import ui
from lib.cut import cut_kconfig, cut_makefile, insert_maintainers
from lib.patchfile import PATCHES, claims, home, overlay_files, series
from lib.source import BASE, base_line, read_base
from lib.ui import BUILD, ROOT, Failure, Steps
from mtree import apply_series, mode_of, wanted

REPO = BUILD / "branch"
CUT_MAKEFILES = ("mm/mcube/", "drivers/mcube/")
EPOCH = "Thu, 1 Jan 2026 00:00:00 +0000"


def git(*argv, cwd=REPO, env=None, data=None):
    """Run git without the user's configuration; returns its output."""
    full = dict(os.environ, GIT_CONFIG_GLOBAL="/dev/null", GIT_CONFIG_NOSYSTEM="1",
                GIT_AUTHOR_NAME="mcube", GIT_AUTHOR_EMAIL="mcube@localhost",
                GIT_AUTHOR_DATE=EPOCH, GIT_COMMITTER_NAME="mcube",
                GIT_COMMITTER_EMAIL="mcube@localhost", GIT_COMMITTER_DATE=EPOCH) | (env or {})
    got = subprocess.run(["git", "-c", "core.abbrev=12", *map(str, argv)], cwd=cwd, env=full,
                         input=data, capture_output=True, check=False)
    if got.returncode:
        said = (got.stdout + got.stderr).decode("utf-8", "replace").strip()
        raise Failure(f"git {argv[0]} failed:\n{said}")
    return got.stdout.decode("utf-8")


def maintainers():
    """MAINTAINERS as the series leaves it."""
    return insert_maintainers((BASE / "MAINTAINERS").read_text("utf-8"),
                              (ROOT / "MAINTAINERS").read_text("utf-8")).encode()


def cut(path, data, missing, later):
    """An overlay file without what the later commits add."""
    name = os.path.basename(path)
    if name == "Kconfig":
        return cut_kconfig(data.decode(), missing, later).encode()
    if name == "Makefile" and path.startswith(CUT_MAKEFILES):
        return cut_makefile(data.decode(), os.path.dirname(path), later).encode()
    return data


def states(patches, base):
    """The files that each commit changes: [{path: bytes}]."""
    owner, wrong = claims(patches, overlay_files())
    if wrong:
        raise Failure("claims of overlay files are wrong:\n  " + "\n  ".join(wrong))
    edited = []
    apply_series(patches, base, after=lambda i, content: edited.append(content))
    overlay = {path: home(path).read_bytes() for path in owner}
    missing = {symbol for path, data in overlay.items() if os.path.basename(path) == "Kconfig"
               for symbol in re.findall(r"^(?:menu)?config\s+(\w+)", data.decode(), re.M)}
    first = next((i for i, p in enumerate(patches) if p.adds), 0)
    out, state = [], {}
    for i, patch in enumerate(patches):
        missing -= set(patch.config)
        later = {path for path, n in owner.items() if n > i}
        files = edited[i] | {path: cut(path, overlay[path], missing, later)
                             for path, n in owner.items() if n <= i}
        if i >= first:
            files["MAINTAINERS"] = maintainers()
        out.append({path: data for path, data in files.items()
                    if data != (state[path] if path in state else base_data(path))})
        if not out[-1]:
            raise Failure(f"patches/{patch.name} changes nothing",
                          "give it a diff or files (X-Mcube-Adds)")
        state = files
    if missing:
        raise Failure("no patch's X-Mcube-Config names " + " ".join(sorted(missing)))
    return out


def base_data(path):
    """Content of a file of the base, or None."""
    return (BASE / path).read_bytes() if (BASE / path).is_file() else None


def commit_date(name):
    """When a file of patches/ last changed, for a repeatable date."""
    got = subprocess.run(["git", "-C", str(ROOT), "log", "-1", "--format=%aD", "--",
                          f"patches/{name}"], text=True, capture_output=True, check=False)
    return got.stdout.strip() or EPOCH


def commit_base(base):
    """Commit build/linux-base; an unchanged source gets the same commit again."""
    REPO.mkdir(parents=True, exist_ok=True)
    git("init", "-q", "--bare", "-b", "mcube")
    # An interrupted run leaves its lock file. The caller holds the lock of this command,
    # so no other process uses the repository.
    (REPO / "index.lock").unlink(missing_ok=True)
    git("add", "-A", "-f", ".", cwd=BASE, env={"GIT_DIR": str(REPO), "GIT_WORK_TREE": str(BASE)})
    tree = git("write-tree").strip()
    commit = git("commit-tree", tree, "-m", f"base: {base_line(base)}").strip()
    git("update-ref", "refs/tags/base", commit)


def as_commit(patch, files):
    """A commit as input of git fast-import."""
    name, address = email.utils.parseaddr(patch.header("From"))
    if not name or not address:
        raise Failure(f"patches/{patch.name}: From: is not 'Name <address>'")
    message = f"{patch.subject}\n\n{patch.message}\n"
    if "\nSigned-off-by: " not in message:
        raise Failure(f"patches/{patch.name}: no Signed-off-by in the message")
    date, message = patch.header("Date") or commit_date(patch.name), message.encode()
    out = [f"commit refs/heads/mcube\nauthor {name} <{address}> {date}\n"
           f"committer mcube <mcube@localhost> {date}\ndata {len(message)}\n".encode(), message]
    for path, data in sorted(files.items()):
        out.append(f"M {0o100000 | mode_of(path):o} inline {path}\ndata {len(data)}\n".encode())
        out += [data, b"\n"]
    return out


def commit_series(patches, changes):
    """Make the branch from the files that each commit changes."""
    stream = []
    for patch, files in zip(patches, changes):
        lines = as_commit(patch, files)
        if not stream:
            lines.insert(2, b"from refs/tags/base^0\n")
        stream += lines
    # Write single objects, which git writes once; otherwise each run would add a pack.
    git("-c", "fastimport.unpackLimit=1000000", "fast-import", "--quiet", "--force", "--done",
        "--date-format=rfc2822", data=b"".join(stream) + b"done\n")


def prove(base, patches):
    """Fail unless base + branch is what `make tree` lays plus the MAINTAINERS entry."""
    want = {}
    for path, data in (wanted(base, patches) | {"MAINTAINERS": maintainers()}).items():
        if data != base_data(path):
            blob = hashlib.sha1(b"blob %d\0" % len(data) + data)
            want[path] = (f"{0o100000 | mode_of(path):o}", blob.hexdigest())
    have = {}
    for row in git("diff-tree", "-r", "-z", "base", "mcube").split("\0:"):
        meta, _, path = row.strip("\0").partition("\0")
        have[path] = (meta.split()[1], meta.split()[3])
    wrong = sorted(p for p in have.keys() | want.keys() if have.get(p) != want.get(p))
    if wrong:
        raise Failure("the end of the branch is not what 'make tree' lays:\n  "
                      + "\n  ".join(wrong))


def make(steps=lambda name: None):
    """Make or renew build/branch; returns (the base's record, patches)."""
    base, patches = read_base(), series()
    if not base:
        raise Failure("there is no build/linux-base yet", "run 'make tree' first")
    if not patches:
        raise Failure(f"{PATCHES}/series is missing or empty")
    with ui.lock("branch"):
        steps("commit the base")
        commit_base(base)
        steps("commit the patches")
        commit_series(patches, states(patches, base))
        steps("compare with build/linux")
        prove(base, patches)
    return base, patches


def run():
    """Command line."""
    ui.parser(__doc__).parse_args()
    steps = Steps("branch", ["commit the base", "commit the patches",
                             "compare with build/linux"])
    base, patches = make(steps)
    steps.done(f"{len(patches)} commits on {base_line(base)}, equal to build/linux: "
               f"git -C {REPO} log -p base..mcube")
    return 0


if __name__ == "__main__":
    ui.main(run)
