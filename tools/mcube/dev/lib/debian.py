# SPDX-License-Identifier: GPL-2.0
"""Debian releases: their archives, their kernel configurations, what a merge keeps of one.

The archive of a release is that of this machine's own apt sources, with the name of the
release exchanged. apt's lists of another release are kept apart in build/apt.
"""

import lzma
import os
import re
import subprocess
from pathlib import Path

from . import ui
from .ui import BUILD, Failure

CODENAMES = {"debian12": "bookworm", "debian13": "trixie"}
# Both releases have the configurations of Linux 6.12, which mcube is for: Debian 13 as its
# stock kernel's, Debian 12 beside those of its stock kernel.
CONFIGS = "linux-config-6.12"
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
NAMES = [n + flavor for n in CODENAMES for flavor in ("", "-cloud")]

# {pattern of symbols: why their values may differ from those of the given configuration}
TOOLS = r"CC|GCC|AS|LD|LLD|CLANG|PAHOLE|RUSTC|RUSTC_LLVM|BINDGEN|TOOLS"
MAY_DIFFER = {
    r"MCUBE(_\w+)?|LOCALVERSION": "the product",
    r"MODULE_SIG_(ALL|KEY|KEY_TYPE_\w+)|SYSTEM_(TRUSTED|REVOCATION)_KEYS|BUILD_SALT":
        "keys and salt: this build has its own key, which signs all modules",
    rf"({TOOLS})_(VERSION|VERSION_TEXT|(HAS|IS|CAN|NO|SUPPORT)_\w+)|CC_OPT_INLINE_MEMSET|"
    r"GCC_ASM_GOTO_OUTPUT_\w+|RUST_IS_AVAILABLE|HAVE_RUST": "the compiler and tools at hand",
    r"KUNIT_ALL_TESTS": "tests that would come with the product",
}
GONE, NEW, MORE, LEFT_OUT = ("not in this Linux any more", "new in this Linux, as Kconfig gives it",
                             "built in, was a module", "modules left out, as asked for")


def mirrors():
    """(archive, security archive) of this machine's apt sources."""
    got = subprocess.run(["apt-get", "indextargets", "--format", "$(SITE)",
                          "Created-By: Packages"], text=True, capture_output=True, check=False)
    found = [x.rstrip("/") for x in got.stdout.split()]
    main = next((x for x in found if x.endswith("/debian")), None)
    if not main:
        raise Failure("no Debian mirror in this machine's apt sources",
                      "add the main section of a Debian release to /etc/apt")
    return main, next((x for x in found if x.endswith("/debian-security")), None)


def sources(codename):
    """The text of a sources.list for a release."""
    main, security = mirrors()
    lines = [f"deb [signed-by={KEYRING}] {main} {codename} main"]
    if security:
        lines.append(f"deb [signed-by={KEYRING}] {security} {codename}-security main")
    return "\n".join(lines) + "\n"


def download(codename, package):
    """The newest package of a release, as a file; apt checks its signature."""
    home = BUILD / "apt" / codename
    for folder in ("lists/partial", "cache/archives/partial", "debs"):
        (home / folder).mkdir(parents=True, exist_ok=True)
    ui.write_if_changed(home / "sources.list", sources(codename).encode())
    apt = ["apt-get", "-qq", "-o", f"Dir::State::lists={home}/lists",
           "-o", f"Dir::Cache={home}/cache", "-o", f"Dir::Etc::SourceList={home}/sources.list",
           "-o", "Dir::Etc::SourceParts=/dev/null", "-o", "APT::Sandbox::User=root"]
    for old in (home / "debs").glob(f"{package}_*.deb"):
        old.unlink()
    ui.sh(*apt, "update")
    ui.sh(*apt, "download", package, cwd=home / "debs")
    return next((home / "debs").glob(f"{package}_*.deb"))


def of_release(name):
    """(text, what it is) of a configuration by a name such as debian12-cloud."""
    release, _, flavor = name.partition("-")
    deb = download(CODENAMES[release], CONFIGS)
    out = deb.parent / "config"
    ui.sh("dpkg-deb", "-x", deb, out)
    file = out / f"usr/src/{CONFIGS}/config.amd64_none_{flavor and flavor + '-'}amd64.xz"
    return lzma.decompress(file.read_bytes()).decode(), deb.name


def running():
    """(text, what it is) of the configuration of the running kernel."""
    path = Path(f"/boot/config-{os.uname().release}")
    if not path.is_file():
        raise Failure(f"no {path}: the running kernel's configuration is not known",
                      f"give a file, or one of {', '.join(NAMES)}")
    return path.read_text("utf-8"), str(path)


def config(name):
    """(text, what it is) of a configuration by name, or of a file."""
    if name in NAMES:
        return of_release(name)
    if name == "running":
        return running()
    if not Path(name).is_file():
        raise Failure(f"no configuration {name}",
                      f"give a file, running, or one of {', '.join(NAMES)}")
    return Path(name).read_text("utf-8"), str(name)


def symbols(text):
    """{symbol: value} of a .config, without those that are not set."""
    return dict(re.findall(r"^CONFIG_(\w+)=(.+)$", text, re.M))


def known(tree):
    """All symbols that the Kconfig files of a tree define."""
    out = set()
    for folder, dirs, files in os.walk(tree):
        dirs[:] = [d for d in dirs if d not in ("Documentation", "tools", ".git")]
        for file in files:
            if file.startswith("Kconfig"):
                text = Path(folder, file).read_text("utf-8", "replace")
                out |= set(re.findall(r"^\s*(?:menu)?config\s+(\w+)", text, re.M))
    return out


def compare(base, final, in_tree, trimmed=False):
    """What became of a configuration: {reason: [text of a symbol]}; '' is no reason."""
    old, new, out = symbols(base), symbols(final), {}
    named = set(old) | set(re.findall(r"^# CONFIG_(\w+) is not set$", base, re.M))
    for symbol in sorted(set(old) | set(new)):
        if (was := old.get(symbol, "n")) == (now := new.get(symbol, "n")):
            continue
        reason = next((why for pattern, why in MAY_DIFFER.items()
                       if re.fullmatch(pattern, symbol)), "")
        if not reason and symbol not in in_tree:
            reason = GONE
        elif not reason and symbol not in named:
            reason = NEW
        elif not reason and (was, now) == ("m", "y"):
            reason = MORE
        elif not reason and trimmed and now == "n":
            reason = LEFT_OUT
        out.setdefault(reason, []).append(f"CONFIG_{symbol}: {was} is now {now}")
    return out
