#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The tree in build/linux: base + patches + overlay, and edits back into these.

  tree    make build/linux from base, patches and overlay; only files whose
          content differs are written, so that builds stay incremental
  refresh take edits made in build/linux back into patches/ and the overlay
  check   prove that base + patches + overlay == build/linux

build/state/tree.json holds the checksum of every file that `tree` laid. The
checksums distinguish an edit in build/linux from a change of the repository.
"""

import difflib
import filecmp
import hashlib
import json
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from lib import ui
from lib.patchfile import JUNK, OVERLAY, PATCHES, claims, home, overlay_files, series
from lib.source import BASE, STATE, TREE, base_line, pinned, read_base, unpack
from lib.ui import Failure, Steps, say

STATE_FILE = STATE / "tree.json"


def checksum(data):
    """Checksum of file content as the state records it."""
    return hashlib.sha256(data).hexdigest()


def read_state():
    """{path: checksum} of what `tree` laid last."""
    try:
        return json.loads(STATE_FILE.read_text("utf-8"))
    except (OSError, ValueError):
        return {}


def apply_failure(patch, output, base):
    """Message for a patch that does not apply."""
    file, where = "?", []
    for line in output.splitlines():
        if m := re.match(r"patching file '?(.+?)'?$", line):
            file = m[1]
        elif m := re.match(r"Hunk #(\d+) FAILED at (\d+)", line):
            where.append(f"{file}: hunk {m[1]} at line {m[2]}")
    where = where or [f"{file}: {output.strip().splitlines()[-1]}"]
    low, high = pinned()["TESTED"].split()
    return Failure(f"patches/{patch.name} does not apply\n  " + "\n  ".join(where)
                   + f"\ntried on: {base_line(base)}; known good: {low} to {high}",
                   f"edit the patch, or take a base from the tested range "
                   f"(KERNEL_VERSION={pinned()['VERSION']})")


def apply_series(patches, base, folder=None, after=None):
    """Content of every existing file that patches touch: {path: bytes}.

    @folder takes the place of build/linux-base; @after(index, {path: bytes})
    is called with the state after each patch.
    """
    folder = Path(folder or BASE)
    content = {}
    with tempfile.TemporaryDirectory(prefix="mcube-") as tmp:
        stage = Path(tmp)
        for i, patch in enumerate(patches):
            for path in patch.diffs:
                if path in content:
                    continue
                if not (folder / path).is_file():
                    raise Failure(f"patches/{patch.name} edits {path}, which "
                                  f"{base_line(base)} does not have",
                                  "new files belong into the overlay, at their path")
                (stage / path).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(folder / path, stage / path)
                content[path] = (stage / path).read_bytes()
            if patch.diffs:
                got = subprocess.run(
                    ["patch", "-p1", "-F0", "-N", "--no-backup-if-mismatch", "-r", "-"],
                    cwd=stage, input=patch.diff_text(), text=True,
                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
                if got.returncode or "FAILED" in got.stdout:
                    raise apply_failure(patch, got.stdout, base)
            for path in patch.diffs:
                content[path] = (stage / path).read_bytes()
            if after:
                after(i, dict(content))
    return content


def wanted(base, patches=None):
    """Every file of the tree that is new or differs from the base: {path: bytes}."""
    patches = series() if patches is None else patches
    out = apply_series(patches, base)
    for path in overlay_files():
        if path in out or (BASE / path).is_file():
            raise Failure(f"overlay file {path} exists in the base kernel",
                          "change existing files through patches/ only")
        out[path] = home(path).read_bytes()
    return out


def mode_of(path):
    """File mode in the tree: the overlay's executable bit, else the base's."""
    src = BASE / path if (BASE / path).is_file() else home(path)
    return 0o755 if os.access(src, os.X_OK) and src.stat().st_mode & 0o111 else 0o644


def changed_in_tree(state):
    """Paths of files whose content in build/linux changed after `tree` laid them."""
    out = []
    for path, old in state.items():
        file = TREE / path
        if not file.is_file() or checksum(file.read_bytes()) != old:
            out.append(path)
    return out


def lay(force=False, quiet=False):
    """`make tree`: returns the base's record."""
    steps = Steps("tree", ["unpack", "apply patches", "lay overlay"])
    base = unpack(steps)
    if not quiet:
        steps("apply patches")
    patches = series()
    want = wanted(base, patches)
    _, wrong = claims(patches, [p for p in want if not (BASE / p).is_file()])
    if wrong:
        say(f"warning: {len(wrong)} claims of overlay files are open, the first: {wrong[0]}")
    state = read_state()
    edited = [p for p in changed_in_tree(state)
              if not (p in want and (TREE / p).is_file()
                      and (TREE / p).read_bytes() == want[p])]
    if edited and not force:
        raise Failure("edited in build/linux since it was laid:\n  "
                      + "\n  ".join(edited),
                      "'make refresh' takes the edits into patches/ and the overlay; "
                      "'make tree FORCE=1' throws them away")
    if not quiet:
        steps("lay overlay")
    written = [p for p, data in sorted(want.items())
               if ui.write_if_changed(TREE / p, data, mode_of(p))]
    for path in sorted(set(state) - set(want)):
        if (BASE / path).is_file():
            ui.write_if_changed(TREE / path, (BASE / path).read_bytes(), mode_of(path))
        else:
            (TREE / path).unlink(missing_ok=True)
            try:
                (TREE / path).parent.rmdir()
            except OSError:
                pass
        written.append(path)
    ui.write_if_changed(STATE_FILE, json.dumps(
        {p: checksum(d) for p, d in want.items()}, indent=1).encode())
    touched = sum((BASE / p).is_file() for p in want)
    steps.done(f"{base_line(base)}, {len(patches)} patches on {touched} files, "
               f"{len(want) - touched} overlay files; {len(written)} written")
    return base


def stray(state):
    """Files of build/linux that differ from the base and that `tree` never laid."""
    out = []

    def walk(rel):
        here = {e.name: e for e in os.scandir(TREE / rel)}
        try:
            there = {e.name: e for e in os.scandir(BASE / rel)}
        except FileNotFoundError:
            there = {}
        for name, entry in here.items():
            path = os.path.join(rel, name) if rel else name
            if entry.is_dir(follow_symlinks=False):
                walk(path)
            elif path in state or (JUNK.search(path) and name not in there):
                continue
            elif name not in there:
                out.append(path)
            elif not entry.is_symlink():
                a, b = entry.stat(), there[name].stat()
                if (a.st_size, a.st_mtime_ns) != (b.st_size, b.st_mtime_ns) and \
                        not filecmp.cmp(TREE / path, BASE / path, shallow=False):
                    out.append(path)
        for name in set(there) - set(here):
            out.append(os.path.join(rel, name) if rel else name)

    walk("")
    return sorted(out)


def make_diff(path, old, new):
    """Unified diff with function names, as patches/ stores it."""
    with tempfile.TemporaryDirectory(prefix="mcube-") as tmp:
        for side, data in (("a", old), ("b", new)):
            file = Path(tmp, side, path)
            file.parent.mkdir(parents=True)
            file.write_bytes(data)
        got = subprocess.run(["diff", "-up", "--label", f"a/{path}", "--label",
                              f"b/{path}", f"a/{path}", f"b/{path}"], cwd=tmp,
                             text=True, capture_output=True, check=False)
    return got.stdout


def refresh(patch_name=None):
    """`make refresh`: take edits in build/linux back into patches and overlay."""
    base, state = read_base(), read_state()
    if not base or not state and not TREE.is_dir():
        raise Failure("there is no build/linux yet", "run 'make tree' first")
    patches = series()
    target = None
    if patch_name:
        target = next((p for p in patches if p.name.startswith(patch_name)), None)
        if not target:
            raise Failure(f"PATCH={patch_name} is not in patches/series")
    edited = [p for p in changed_in_tree(state)] + stray(state)
    want = wanted(base, patches)
    problems, done, dirty = [], [], set()
    for path in edited:
        file = TREE / path
        if not file.is_file():
            problems.append(f"{path} is gone from build/linux: remove an overlay file "
                            "with 'git rm', a base file cannot be removed")
            continue
        new = file.read_bytes()
        if path in want and new == want[path]:
            continue
        if path in state and path in want and checksum(want[path]) != state[path]:
            problems.append(f"{path} changed both in build/linux and in the repository: "
                            "merge by hand, then 'make tree FORCE=1'")
            continue
        if (BASE / path).is_file():
            owners = [p for p in patches if path in p.diffs]
            owner = owners[-1] if owners else None
            if target and (not owner or patches.index(target) > patches.index(owner)):
                owner = target
            if owner is None:
                problems.append(f"{path}: no patch touches it yet; name the patch that "
                                "it belongs to: make refresh PATCH=NNNN")
                continue
            before = apply_series(patches[:patches.index(owner)], base)
            old = before.get(path, (BASE / path).read_bytes())
            diff = make_diff(path, old, new)
            if diff:
                owner.diffs[path] = diff
            else:
                owner.diffs.pop(path, None)
            dirty.add(owner)
            done.append(f"{path} -> patches/{owner.name}")
            continue
        if not path.startswith(OVERLAY):
            problems.append(f"{path}: a new file outside the overlay's directories "
                            f"({' '.join(OVERLAY)})")
            continue
        owner, _ = claims(patches, [path])
        if path not in owner:
            if not target:
                problems.append(f"{path}: no patch claims this new file; add it to "
                                "X-Mcube-Adds of its patch, or: make refresh PATCH=NNNN")
                continue
            target.headers.append(("X-Mcube-Adds", path))
            dirty.add(target)
        ui.write_if_changed(home(path), new, file.stat().st_mode & 0o777)
        done.append(f"{path} -> overlay")
    for patch in dirty:
        patch.save()
    for line in done:
        say(line)
    if not problems:
        now = wanted(base)
        ui.write_if_changed(STATE_FILE, json.dumps(
            {p: checksum(d) for p, d in now.items()}, indent=1).encode())
        print(f"refresh: {len(done)} files taken back; look at 'git diff'")
        return 0
    raise Failure("not taken back:\n  " + "\n  ".join(problems),
                  f"the {len(done)} other edits were taken" if done else "")


def check():
    """`make overlay-check`: print the differences; 1 if there are any."""
    base = read_base()
    if not base:
        raise Failure("there is no build/linux yet", "run 'make tree' first")
    patches = series()
    if not patches:
        raise Failure(f"{PATCHES}/series is missing or empty")
    want = wanted(base, patches)
    _, wrong = claims(patches, overlay_files())
    for path, data in want.items():
        file = TREE / path
        have = file.read_bytes() if file.is_file() else None
        if have == data:
            continue
        if have is None:
            wrong.append(f"{path}: missing in build/linux")
            continue
        diff = difflib.unified_diff(data.decode("utf-8", "replace").splitlines(),
                                    have.decode("utf-8", "replace").splitlines(),
                                    "repository", "build/linux", lineterm="", n=0)
        first = "\n      ".join(list(diff)[2:8])
        wrong.append(f"{path}: differs from patches and overlay\n      {first}")
    wrong += [f"{path}: differs from the base, but neither a patch nor the overlay "
              "has it" for path in stray(want)]
    for line in wrong:
        print(f"  {line}")
    if wrong:
        print(f"overlay-check: {len(wrong)} differences "
              "('make tree' or 'make refresh' settles them)")
        return 1
    print(f"overlay-check: build/linux == {base_line(base)} + {len(patches)} patches "
          f"+ {len(want) - sum((BASE / p).is_file() for p in want)} overlay files")
    return 0


def run():
    """Command line."""
    parser = ui.parser(__doc__)
    parser.add_argument("command", choices=["tree", "refresh", "check"])
    parser.add_argument("--force", action="store_true",
                        help="tree: throw edits in build/linux away")
    parser.add_argument("--patch", help="refresh: patch for edits that no patch owns yet")
    args = parser.parse_args()
    with ui.lock("tree"):
        if args.command == "tree":
            lay(args.force)
            return 0
        if args.command == "refresh":
            return refresh(args.patch)
        return check()


if __name__ == "__main__":
    ui.main(run)
