# SPDX-License-Identifier: GPL-2.0
"""The kernel source that the series is based on.

The base is Debian's linux-source-6.12 package in the version and with the
checksum that configs/kernel-base pins. KERNEL_VERSION= takes another version
from the archive, KERNEL_SRC= a directory (a git tree gives its commit as
base) or a tarball. unpack() makes two equal trees: build/linux-base, which
nothing writes to afterwards, and build/linux, which gets patches and overlay.
The trees are full copies, not hard links, because an editor that writes in
place must not change build/linux-base.
"""

import hashlib
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

from . import ui
from .ui import BUILD, ROOT, Failure, say, sh

BASE, TREE = BUILD / "linux-base", BUILD / "linux"
STATE = BUILD / "state"


def pinned():
    """configs/kernel-base as a dictionary."""
    out = {}
    for line in (ROOT / "configs/kernel-base").read_text("utf-8").splitlines():
        if "=" in line and not line.startswith("#"):
            key, value = line.split("=", 1)
            out[key] = value.strip().strip("\"")
    return out


def archive_versions():
    """Versions of the source package that the archive offers, newest first."""
    text = sh("apt-cache", "madison", pinned()["PACKAGE"])
    seen = []
    for line in text.splitlines():
        word = line.split("|")[1].strip() if line.count("|") >= 2 else ""
        if word.startswith("6.12.") and word not in seen:
            seen.append(word)
    return seen


def upstream(version):
    """6.12.117 of 6.12.117-1~deb12u1."""
    return re.match(r"[0-9.]+[0-9]", version).group(0)


def point(version):
    """Point release as a number that sorts."""
    return tuple(int(x) for x in upstream(version).split("."))


def check_tested(version):
    """Print a note if the base lies outside the tested range."""
    low, high = pinned()["TESTED"].split()
    if not point(low) <= point(version) <= point(high):
        say(f"note: {version} is outside the tested range {low} to {high}")


def download(version):
    """Fetch one version of the package into build/, without installing it."""
    folder = BUILD / "releases" / version
    tarball = folder / "linux-source-6.12.tar.xz"
    if tarball.is_file():
        return tarball
    work = folder.with_name(folder.name + ".part")
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    work.chmod(0o755)
    package = f"{pinned()['PACKAGE']}={version}"
    got = subprocess.run(["apt-get", "download", "-qq", "-o",
                          "APT::Sandbox::User=root", package], cwd=work,
                         text=True, stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, check=False)
    if got.returncode:
        have = ", ".join(archive_versions()) or "none: run 'apt-get update'"
        raise Failure(f"cannot download {package}\n{got.stdout.strip()}",
                      f"choose KERNEL_VERSION= from: {have}")
    deb = next(work.glob("*.deb"))
    sh("dpkg", "-x", deb, work / "x")
    shutil.move(work / "x/usr/src/linux-source-6.12.tar.xz", work)
    shutil.rmtree(work / "x")
    deb.unlink()
    work.rename(folder)
    return tarball


def digest(path):
    """SHA-256 of a file."""
    with open(path, "rb") as f:
        return hashlib.file_digest(f, "sha256").hexdigest()


def debian_tarball(version):
    """The tarball of one version, installed or downloaded, checksum verified."""
    pin = pinned()
    here = Path("/usr/src/linux-source-6.12.tar.xz")
    have = subprocess.run(["dpkg-query", "-W", "-f", "${db:Status-Abbrev} ${Version}",
                           pin["PACKAGE"]], text=True, capture_output=True,
                          check=False).stdout.split()
    if have == ["ii", version] and here.is_file():
        tarball = here
    else:
        tarball = download(version)
    if version == pin["VERSION"] and digest(tarball) != pin["SHA256"]:
        raise Failure(f"{tarball} is not the tarball that configs/kernel-base pins",
                      "remove it and reinstall linux-source-6.12")
    return tarball


def choose():
    """The base as {kind, version, path, commit}, from the environment."""
    src, version = os.environ.get("KERNEL_SRC"), os.environ.get("KERNEL_VERSION")
    if src:
        path = Path(src).expanduser().resolve()
        if path.is_dir():
            got = subprocess.run(["git", "-C", str(path), "rev-parse", "HEAD"],
                                 text=True, capture_output=True, check=False)
            return {"kind": "dir", "path": str(path), "version": makefile_version(path),
                    "commit": got.stdout.strip() if (path / ".git").exists() else ""}
        if path.is_file():
            st = path.stat()
            return {"kind": "tar", "path": str(path), "commit": "",
                    "version": f"{path.name} {st.st_size} {int(st.st_mtime)}"}
        raise Failure(f"KERNEL_SRC={src}: no such file or directory",
                      "give a 6.12.y source directory or tarball")
    if not version:
        version = pinned()["VERSION"]
        old = read_base()
        if old and old["kind"] == "debian" and old.get("wanted") == version:
            return {k: old[k] for k in ("kind", "version", "path", "commit", "wanted")}
        have = archive_versions()
        if have and version not in have:
            say(f"the archive no longer has {version}; taking {have[0]}")
            low, high = pinned()["TESTED"].split()
            say(f"the series was tested on {low} to {high}")
            return {"kind": "debian", "version": have[0], "path": "", "commit": "",
                    "wanted": version}
    return {"kind": "debian", "version": version, "path": "", "commit": "",
            "wanted": version}


def makefile_version(path):
    """VERSION.PATCHLEVEL.SUBLEVEL of a source tree; fails if it is not 6.12."""
    try:
        text = (Path(path) / "Makefile").read_text("utf-8")
    except OSError as e:
        raise Failure(f"{path} is no kernel source: {e}",
                      "give a 6.12.y source directory or tarball") from e
    part = [re.search(rf"^{k} = (\d+)", text, re.M)
            for k in ("VERSION", "PATCHLEVEL", "SUBLEVEL")]
    if not all(part):
        raise Failure(f"{path}/Makefile names no kernel version")
    version = ".".join(p.group(1) for p in part)
    if not version.startswith("6.12."):
        raise Failure(f"{path} is Linux {version}; the series is for 6.12.y",
                      "give a 6.12.y source directory or tarball")
    return version


def read_base():
    """Record of build/linux-base, or None."""
    try:
        return json.loads((STATE / "base.json").read_text("utf-8"))
    except (OSError, ValueError):
        return None


def base_line(base):
    """Name of the base in the cover letter and in messages."""
    if base["kind"] == "debian":
        return f"Debian linux-source-6.12 {base['version']}"
    return f"Linux {base['release']}"


def unpack(steps=None):
    """Make build/linux-base and build/linux; returns the base's record."""
    want = choose()
    old = read_base()
    if old and BASE.is_dir() and TREE.is_dir() and \
            all(old.get(k) == want[k] for k in ("kind", "version", "commit")):
        return old
    if steps:
        steps("unpack")
    tarball = None
    if want["kind"] != "dir":
        tarball = want["path"] or debian_tarball(want["version"])
    if old and TREE.is_dir():
        say(f"base changes from {base_line(old)}: both trees are made anew")
    (STATE / "base.json").unlink(missing_ok=True)
    (STATE / "tree.json").unlink(missing_ok=True)
    for tree in (BASE, TREE):
        shutil.rmtree(tree, ignore_errors=True)
    BUILD.mkdir(parents=True, exist_ok=True)
    if want["kind"] == "dir":
        sh("rsync", "-a", "--no-owner", "--no-group", "--exclude=.git", "--exclude=*.o",
           f"{want['path']}/", BASE)
    else:
        say(f"unpacking {tarball}")
        BASE.mkdir()
        sh("tar", "-xf", tarball, "-C", BASE, "--strip-components=1", "--no-same-owner")
    want["release"] = makefile_version(BASE)
    if want["kind"] != "dir":
        check_tested(want["version"] if want["kind"] == "debian" else want["release"])
    sh("cp", "-a", BASE, TREE)
    STATE.mkdir(exist_ok=True)
    ui.write_if_changed(STATE / "base.json", json.dumps(want, indent=1).encode())
    return want
