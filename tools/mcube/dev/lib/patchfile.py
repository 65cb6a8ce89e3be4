# SPDX-License-Identifier: GPL-2.0
"""The patches of patches/series and the overlay files that belong to them.

A patch is a mail: headers, blank line, message, "---", diff (-p1). Private
headers, which never leave the repository:
  X-Mcube-Adds: overlay files that the commit adds: paths, globs
      ("*" stays within one directory, "**" or a closing "/" does not)
  X-Mcube-Config: config symbols that exist from this commit on
  X-Mcube-Room: room that edits of existing files count for (budget.py)
The overlay is every file that lies at its path in the kernel tree, and the
files that MOVED places elsewhere. Paths here are paths in the kernel tree.
Files that only drive this repository (REPO_ONLY) are not part of the overlay.
"""

import os
import re
import subprocess

from .ui import ROOT, Failure

PATCHES = ROOT / "patches"
OVERLAY = ("mm/", "drivers/", "include/", "tools/mcube/", "tools/testing/",
           "Documentation/")
REPO_ONLY = ("tools/mcube/dev/", "tools/mcube/demo/", "tools/mcube/bench/")
# {path in the kernel tree: path in the repository}
MOVED = {"mm/mcube/Kconfig": "Kconfig"}
JUNK = re.compile(r"(^|/)(__pycache__/|\.)|\.(o|orig|rej|pyc|new\d*)$|~$")


def home(path):
    """The file of the repository that `make tree` lays at a path of the kernel tree."""
    moved = ROOT / MOVED.get(path, path)
    return moved if moved.is_file() else ROOT / path


def overlay_files():
    """Paths of all overlay files in the kernel tree, sorted."""
    got = subprocess.run(["git", "-C", str(ROOT), "ls-files", "-co",
                          "--exclude-standard"], text=True, capture_output=True,
                         check=False)
    if got.returncode == 0:
        names = got.stdout.splitlines()
    else:
        names = [os.path.relpath(os.path.join(d, f), ROOT)
                 for top in OVERLAY for d, _, files in os.walk(ROOT / top)
                 for f in files] + list(MOVED.values())
    laid = {repo: path for path, repo in MOVED.items()}
    names = {laid.get(n, n) for n in names}
    return sorted({n for n in names if n.startswith(OVERLAY)
                   and not n.startswith(REPO_ONLY) and home(n).is_file()
                   and (os.path.basename(n) == ".gitignore" or not JUNK.search(n))})


def glob_regex(glob):
    """X-Mcube-Adds glob as a compiled expression."""
    if glob.endswith("/"):
        glob += "**"
    out = re.escape(glob).replace(r"\*\*", ".*").replace(r"\*", "[^/]*")
    return re.compile(out.replace(r"\?", "[^/]"))


class Patch:
    """One patch file."""

    def __init__(self, name):
        self.name = name
        path = PATCHES / name
        if not path.is_file():
            raise Failure(f"patches/series names {name}, which does not exist",
                          "add the file or remove the line from patches/series")
        self.parse(path.read_text("utf-8"))

    def parse(self, text):
        """Split the mail into headers, message and a diff per file."""
        head, _, rest = text.partition("\n\n")
        self.headers = []
        for line in head.splitlines():
            if re.match(r"From [0-9a-f]{40} ", line):
                continue
            if line[:1] in " \t" and self.headers:
                key, value = self.headers[-1]
                self.headers[-1] = (key, value + "\n" + line)
            elif ":" in line:
                key, value = line.split(":", 1)
                self.headers.append((key, value.strip()))
            else:
                raise Failure(f"patches/{self.name}: bad header line '{line}'",
                              "a patch starts with From: and Subject: lines")
        message, sep, diff = ("\n" + rest).partition("\n---\n")
        if not sep:
            raise Failure(f"patches/{self.name}: no '---' line after the message")
        self.message = message.strip("\n")
        self.diffs = self.split(re.sub(r"\n-- ?\n[^\n]*\n*\Z", "\n", diff))
        for key in ("From", "Subject"):
            if not self.header(key):
                raise Failure(f"patches/{self.name}: no {key}: header")

    def split(self, diff):
        """{path: diff text}, in order; fails if a diff creates or removes a file."""
        out, path, lines = {}, None, diff.splitlines(keepends=True)
        for i, line in enumerate(lines):
            after = lines[i + 1] if i + 1 < len(lines) else ""
            if line.startswith("--- ") and after.startswith("+++ "):
                path = after[4:].split("\t")[0].strip().split("/", 1)[-1]
                if line[4:].startswith("/dev/null") or "/dev/null" in after:
                    raise Failure(f"patches/{self.name}: {path} is created or removed",
                                  "new files belong into the overlay, at their path")
                if path in out:
                    raise Failure(f"patches/{self.name}: two diffs of {path}")
                out[path] = ""
            elif line.startswith("diff --git ") or line.startswith("diff -"):
                path = None
            if path:
                out[path] += line
        return out

    def header(self, key):
        """Values of one header, unfolded, joined by blanks."""
        return " ".join(" ".join(v.split()) for k, v in self.headers
                        if k.lower() == key.lower())

    @property
    def subject(self):
        """Subject without a [PATCH ...] mark."""
        return re.sub(r"^\[[^]]*\]\s*", "", self.header("Subject"))

    @property
    def adds(self):
        """Globs of the overlay files that the commit adds."""
        return self.header("X-Mcube-Adds").split()

    @property
    def config(self):
        """Config symbols that exist from this commit on."""
        return [re.sub("^CONFIG_", "", w)
                for w in self.header("X-Mcube-Config").replace(",", " ").split()]

    def diff_text(self):
        """All diffs with their git lines."""
        return "".join(f"diff --git a/{p} b/{p}\n{t}" for p, t in self.diffs.items())

    def text(self):
        """The whole file."""
        head = "".join(f"{k}: {v}\n" for k, v in self.headers)
        return f"{head}\n{self.message}\n---\n{self.diff_text()}"

    def save(self):
        """Write the file back."""
        (PATCHES / self.name).write_text(self.text(), "utf-8")


def series():
    """All patches in order; an empty or missing series is an empty list."""
    path = PATCHES / "series"
    if not path.is_file():
        return []
    names = [line.split("#")[0].strip() for line in path.read_text("utf-8").splitlines()]
    names = [n for n in names if n]
    twice = {n for n in names if names.count(n) > 1}
    if twice:
        raise Failure(f"patches/series names {', '.join(sorted(twice))} twice")
    return [Patch(n) for n in names]


def claims(patches, files):
    """({overlay path: index of its patch}, [finding])."""
    owner, wrong = {}, []
    everything = subprocess.run(["git", "-C", str(ROOT), "ls-files", "-co",
                                 "--exclude-standard"], text=True,
                                capture_output=True, check=False).stdout.split("\n")
    for i, patch in enumerate(patches):
        for glob in patch.adds:
            regex = glob_regex(glob)
            hits = [f for f in files if regex.fullmatch(f)]
            if not hits and not any(regex.fullmatch(f) for f in everything):
                wrong.append(f"patches/{patch.name}: X-Mcube-Adds '{glob}' "
                             "matches no file")
            for f in hits:
                if owner.get(f, i) != i:
                    wrong.append(f"{f}: claimed by {patches[owner[f]].name} "
                                 f"and by {patch.name}")
                owner.setdefault(f, i)
    for f in files:
        if f not in owner:
            wrong.append(f"{f}: no patch claims it; add it to X-Mcube-Adds of the "
                         "patch that adds it")
    return owner, wrong
