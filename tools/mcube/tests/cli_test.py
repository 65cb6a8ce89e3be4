# SPDX-License-Identifier: GPL-2.0
"""The command line, the manual and the completion agree; the installed command runs."""

import argparse
import re
import subprocess
import tempfile
from pathlib import Path

import fake
from mcube_cmd import cli


def subcommands():
    """{name: parser}."""
    for action in cli.parser()._actions:        # pylint: disable=protected-access
        if isinstance(action, argparse._SubParsersAction):  # pylint: disable=protected-access
            return action.choices
    return {}


def options(parser):
    """Long options of a parser, without --help."""
    actions = parser._actions       # pylint: disable=protected-access
    return {o for a in actions for o in a.option_strings if o.startswith("--") and o != "--help"}


class Line(fake.Case):
    """Arguments."""

    def test_help(self):
        """Every subcommand has a help with an example."""
        self.assertGreaterEqual(len(subcommands()), 8)
        for name in subcommands():
            out = self.done(name, "--help")
            self.assertRegex(out, rf"examples?:\n  mcube {name}")

    def test_usage(self):
        """Wrong usage is exit status 2."""
        for argv in ((), ("nosuch",), ("pages",), ("pages", "x"), ("corun",), ("off", "m3")):
            self.assertEqual(self.mcube_says(*argv)[0], 2, argv)

    def test_manual(self):
        """mcube(8) has all subcommands and options, and no others."""
        text = (fake.TOOLS / "mcube.8").read_text("utf-8")
        head = text[text.index(".Sh SYNOPSIS"):text.index(".Sh DESCRIPTION")]
        parts = {}
        for part in head.split(".Nm\n")[1:]:
            name = re.match(r"(?:\.Cm (\w+))?", part)[1]
            parts.setdefault(name, set()).update(
                "--" + o for o in re.findall(r"Fl -([\w-]+)", part))
        self.assertEqual(parts, {n: options(p) for n, p in subcommands().items()}
                         | {None: options(cli.parser())})

    def test_completion(self):
        """The completion offers all subcommands, all options, and what options take."""
        def offered(*words):
            script = f". {fake.TOOLS}/completion.bash; COMP_WORDS=(mcube {' '.join(words)}); " \
                f'COMP_CWORD={len(words)}; _mcube; echo "${{COMPREPLY[@]}}"'
            return set(subprocess.run(
                ["bash", "-c", script], text=True, capture_output=True, check=True,
                env={"PATH": f"{fake.TOOLS}:/usr/bin:/bin"}).stdout.split())

        self.assertEqual(offered("''"), {*subcommands(), *options(cli.parser()), "--help"})
        for name, parser in subcommands().items():
            self.assertEqual(offered(name, "--") - {"--help", "--"}, options(parser), name)
        for words, some in (
                ("map", {"show", "probe"}), ("pages --only", {"anon", "file"}), ("apply", {"m3"}),
                ("corun --profile", {"off", "m3"}), ("rocs --events", {"intel"}),
                ("rocs --pid", {"1"}), ("map --page", {"1G", "4K"})):
            self.assertLessEqual(some, offered(*words.split(), "''"), words)
        self.assertEqual(offered("estimate", "--repeat", "''"), set())

    def test_version(self):
        """--version names the kernel whose interface the command knows."""
        status, out, _ = self.mcube_says("--version")
        self.assertEqual((status, out), (0, "mcube for Linux 6.12\n"))

    def test_installed(self):
        """Installed under any prefix, the command runs and finds its profiles."""
        with tempfile.TemporaryDirectory() as tmp:
            subprocess.run(["make", "-s", "-C", str(fake.TOOLS), "install", f"DESTDIR={tmp}",
                            "PREFIX=/opt/x"], check=True, capture_output=True)
            got = subprocess.run([f"{tmp}/opt/x/bin/mcube", "apply", "--list"], text=True,
                                 capture_output=True, check=True).stdout
            self.assertIn("m3-paper", got)
            for path in ("share/mcube/events/intel.conf", "share/man/man8/mcube.8",
                         "share/bash-completion/completions/mcube", "lib/mcube/mcube-probe"):
                self.assertTrue(Path(tmp, "opt/x", path).is_file(), path)
            subprocess.run(["make", "-s", "-C", str(fake.TOOLS), "uninstall", f"DESTDIR={tmp}",
                            "PREFIX=/opt/x"], check=True, capture_output=True)
            self.assertEqual([p for p in Path(tmp).rglob("*") if p.is_file()], [])
