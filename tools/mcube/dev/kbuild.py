#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Configure and build a kernel of one flavor, each in a directory of its own.

A flavor is a source tree and a list of fragments in configs/, merged over
allnoconfig. Every symbol that a fragment requests, "is not set" included, is
compared with the final .config; a request that Kconfig dropped is an error
that names the symbol. ccache and fixed build stamps make a rebuild in a new
directory cheap and its result repeatable. If sources, fragments and compiler
did not change, make does not run again.
"""

import hashlib
import os
import re
import shutil
import subprocess
import time
from pathlib import Path

from lib import ui
from lib.source import BASE, TREE
from lib.ui import BUILD, JOBS, ROOT, Failure, say

FLAVORS = {
    "test": (TREE, ["qemu", "mcube"]),
    "debug": (TREE, ["qemu", "mcube", "debug"]),
    "races": (TREE, ["qemu", "mcube", "debug", "races"]),
    "irqsoff": (TREE, ["qemu", "mcube", "irqsoff"]),
    "lockstat": (TREE, ["qemu", "mcube", "lockstat"]),
    "off": (TREE, ["qemu", "minimal-off"]),
    "base": (BASE, ["qemu"]),
}


def environment():
    """Environment of every kernel make: ccache, fixed stamps, plain locale."""
    env = dict(os.environ, LC_ALL="C", KBUILD_BUILD_TIMESTAMP="2026-01-01 00:00:00 +0000",
               KBUILD_BUILD_USER="mcube", KBUILD_BUILD_HOST="build",
               CCACHE_NOHASHDIR="1", CCACHE_BASEDIR=str(BUILD),
               CCACHE_COMPILERCHECK="content", CCACHE_MAXSIZE="4G",
               CCACHE_SLOPPINESS="time_macros,include_file_mtime,include_file_ctime")
    env.setdefault("CCACHE_DIR", str(BUILD / "ccache"))
    for key in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS", "ARCH", "CROSS_COMPILE", "O"):
        env.pop(key, None)
    return env


def make_argv(tree, out, *targets):
    """A kernel make command."""
    cc = "ccache gcc" if shutil.which("ccache") else "gcc"
    # ccache makes the path of the source relative. The kernel's own prefix map for __FILE__
    # does not expect that, so without this map the path would get into the code.
    flags = f"KCFLAGS=-fmacro-prefix-map={os.path.relpath(tree, out)}/="
    return ["make", "-C", str(tree), f"O={out}", f"CC={cc}", f"HOSTCC={cc}",
            flags, f"-j{JOBS}", "-s", *targets]


def kmake(tree, out, *targets, log=None, env=None):
    """Run a kernel make with its output in a log; a failure shows the end of the log."""
    log = Path(log or f"{out}.log")
    log.parent.mkdir(parents=True, exist_ok=True)
    with open(log, "a", encoding="utf-8") as f:
        got = subprocess.run(make_argv(tree, out, *targets), stdout=f, stderr=f,
                             env=environment() | (env or {}), check=False)
    if got.returncode:
        lines = log.read_text("utf-8", "replace").splitlines()
        hits = [x for x in lines if re.search(r"error:|Error |\*\*\*|undefined ref", x)]
        raise Failure(f"kernel build failed in {out}:\n"
                      + "\n".join((hits or lines)[-15:]), f"the whole log is {log}")


def requests(fragments):
    """{symbol: value} that the fragments request; a later fragment wins."""
    out = {}
    for name in fragments:
        path = ROOT / f"configs/{name}.config"
        if not path.is_file():
            raise Failure(f"no fragment {path}")
        for line in path.read_text("utf-8").splitlines():
            if m := re.match(r"CONFIG_(\w+)=(.+)$", line):
                out[m[1]] = m[2].strip()
            elif m := re.match(r"# CONFIG_(\w+) is not set$", line):
                out[m[1]] = "n"
    return out


def check_config(config, want):
    """Requests that the text of a final .config does not honour: [text]."""
    have = {}
    for line in config.splitlines():
        if m := re.match(r"CONFIG_(\w+)=(.+)$", line):
            have[m[1]] = m[2]
    return [f"CONFIG_{s}: asked for {v}, got {have.get(s, 'n')}"
            for s, v in want.items() if have.get(s, "n") != v]


def configure(tree, out, fragments, log=None, missing_ok=()):
    """Make out/.config from allnoconfig plus fragments; an equal .config keeps its time."""
    out = Path(out)
    out.mkdir(parents=True, exist_ok=True)
    want = requests(fragments)
    merged = "".join(f"CONFIG_{s}={v}\n" if v != "n" else f"# CONFIG_{s} is not set\n"
                     for s, v in want.items())
    allconfig = out / "mcube-merged.config"
    ui.write_if_changed(allconfig, merged.encode())
    old = out / ".config"
    keep = old.read_bytes() if old.is_file() else None
    kmake(tree, out, "allnoconfig", log=log, env={"KCONFIG_ALLCONFIG": str(allconfig)})
    if keep == old.read_bytes() and (out / "include/config/auto.conf").is_file():
        st = (out / "include/config/auto.conf").stat()
        os.utime(old, ns=(st.st_atime_ns, st.st_mtime_ns))
    wrong = [w for w in check_config(old.read_text("utf-8"), want)
             if w.split(":")[0][len("CONFIG_"):] not in missing_ok]
    if wrong:
        raise Failure("the final .config does not honour configs/:\n  "
                      + "\n  ".join(wrong),
                      f"look at the symbols' 'depends on' in {tree}, "
                      f"fragments: {' '.join(fragments)}")


def fingerprint(tree, fragments):
    """Checksum of all that a build depends on; sources count by size and time."""
    h = hashlib.sha256(repr((fragments, requests(fragments))).encode())
    gcc = subprocess.run(["gcc", "--version"], text=True, capture_output=True,
                         check=False).stdout
    h.update(gcc.encode())
    for name in ("base.json", "tree.json"):
        path = BUILD / "state" / name
        if path.is_file() and (name == "base.json" or tree == TREE):
            h.update(path.read_bytes())
    if tree == TREE:
        for d, dirs, files in os.walk(TREE):
            if d == str(TREE):
                dirs[:] = [x for x in dirs if x not in ("Documentation", "tools")]
            for f in files:
                st = os.lstat(os.path.join(d, f))
                h.update(f"{d}/{f} {st.st_size} {st.st_mtime_ns}\n".encode())
    return h.hexdigest()


def build(flavor, targets=("bzImage", "modules")):
    """Build a flavor; returns its directory."""
    tree, fragments = FLAVORS[flavor]
    out = BUILD / flavor
    if not tree.is_dir():
        raise Failure(f"there is no {tree}", "run 'make tree' first")
    with ui.lock(f"build-{flavor}"):
        stamp = out / "mcube-built"
        mark = fingerprint(tree, fragments) + " " + " ".join(targets)
        image = out / "arch/x86/boot/bzImage"
        if stamp.is_file() and stamp.read_text("utf-8") == mark and image.is_file():
            say(f"{flavor}: up to date")
            return out
        start = time.monotonic()
        say(f"{flavor}: building in {out} with {JOBS} jobs (log: {out}.log); "
            "minutes if ccache is empty, seconds if not")
        Path(f"{out}.log").unlink(missing_ok=True)
        stamp.unlink(missing_ok=True)
        configure(tree, out, fragments)
        # In depend mode ccache takes the compiler's list of headers and preprocesses nothing,
        # which saves a sixth of a cold build. Hits then need equal headers. Configurations
        # that are built one after the other for comparison have different headers, so those
        # builds do not use this mode.
        kmake(tree, out, *targets, env={"CCACHE_DEPEND": "1"})
        stamp.write_text(mark, "utf-8")
        say(f"{flavor}: built in {ui.clock(time.monotonic() - start)}")
    return out


def run():
    """Command line."""
    parser = ui.parser(__doc__)
    parser.add_argument("flavor", choices=sorted(FLAVORS))
    parser.add_argument("target", nargs="*", help="make targets (default: bzImage modules)")
    parser.add_argument("--config-only", action="store_true")
    args = parser.parse_args()
    if args.config_only:
        tree, fragments = FLAVORS[args.flavor]
        configure(tree, BUILD / args.flavor, fragments)
        return 0
    if args.target:
        tree, fragments = FLAVORS[args.flavor]
        configure(tree, BUILD / args.flavor, fragments)
        kmake(tree, BUILD / args.flavor, *args.target)
        return 0
    build(args.flavor)
    return 0


if __name__ == "__main__":
    ui.main(run)
