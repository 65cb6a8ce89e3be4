# SPDX-License-Identifier: GPL-2.0
"""Profiles: applied whole or not at all, and undone."""

import errno
import re
from pathlib import Path
from unittest import mock

import fake
from mcube_cmd import cmd_apply, policy
from mcube_cmd.term import Failure

SEQUENCE = """[profile]
title = three steps
[apply]
alloc/fill_order = paper
alloc/container_order = 9
alloc/enabled = 1
"""


class Files(fake.Case):
    """Reading profiles."""

    def load(self, text):
        """A profile of this text."""
        path = Path(self.root.path, "one.conf")
        path.write_text(text, "utf-8")
        return policy.Profile(path)

    def test_shipped(self):
        """Shipped profiles have a title, an [off] section, and limits for messages."""
        found = policy.profiles()
        self.assertLessEqual({"m3", "m3-paper"}, set(found))
        for p in found.values():
            self.assertTrue(p.title and p.apply and p.off, p.name)
            for file, _ in p.apply:
                self.assertTrue(policy.allowed(file), file)

    def test_order(self):
        """Lines keep their order, and a file may come twice."""
        p = self.load("[apply]\na/x = 0\na/y = 1 = 2\n# note\n\na/x = 1\n")
        self.assertEqual(p.apply, [("a/x", "0"), ("a/y", "1 = 2"), ("a/x", "1")])

    def test_refused(self):
        """A line that is not understood is named with file and line."""
        for text, line in (("a = b\n", 1), ("[apply]\nnonsense\n", 2), ("[other]\na = b\n", 1),
                           ("[apply]\n\n= b\n", 3), ("[apply]\na =\n", 2)):
            with self.assertRaises(Failure, msg=text) as caught:
                self.load(text)
            self.assertIn(f"one.conf:{line}: ", str(caught.exception))

    def test_unreadable(self):
        """A profile that is no text is an error with its name."""
        path = Path(self.root.path, "one.conf")
        path.write_bytes(b"\xff\xfe\x00")
        with self.assertRaises(Failure) as caught:
            policy.Profile(path)
        self.assertIn("one.conf: cannot be read", str(caught.exception))

    def test_outside(self):
        """A profile can name nothing outside mcube's directory."""
        for file in ("/proc/sysrq-trigger", "../../power/state", "alloc/../../x"):
            with self.assertRaises(Failure):
                self.load(f"[apply]\n{file} = 1\n")


class Apply(fake.Case):
    """mcube apply and mcube off."""

    def add(self, text, name="other"):
        """One more profile, as an administrator would add it."""
        folder = Path(self.root.path, "profiles")
        folder.mkdir(exist_ok=True)
        (folder / f"{name}.conf").write_text(text, "utf-8")
        self.enterContext(mock.patch.object(policy, "FOLDERS", (policy.FOLDERS[0], folder)))

    def test_apply(self):
        """Applied, in force, applied again, replaced, off."""
        status, out, _ = self.mcube_says("apply", "m3")
        self.assertEqual((status, self.value("alloc/enabled"), self.value("alloc/fill_order")),
                         (0, "1", "shuffle paper even [auto]"))
        self.assertIn("alloc/enabled: 0 -> 1", out)
        self.assertNotIn("note:", out)
        before = list(self.root.written)
        self.assertIn("in force already", self.mcube_says("apply", "m3")[1])
        self.assertEqual(self.root.written, before)
        status, out, _ = self.mcube_says("apply", "m3-paper")
        self.assertEqual((status, self.value("alloc/fill_order")), (0, "shuffle [paper] even auto"))
        self.assertEqual(self.root.written[len(before):],
                         [("alloc/enabled", "0"), ("alloc/fill_order", "shuffle [paper] even auto"),
                          ("alloc/enabled", "1")])
        self.assertIn("alloc/fill_order: auto -> paper", out)
        self.assertNotIn("alloc/enabled:", out)
        self.assertIn("alloc/enabled: 1 -> 0", self.mcube_says("off")[1])
        self.assertEqual(self.value("alloc/enabled"), "0")
        self.assertIn("off already", self.mcube_says("off")[1])

    def test_boot(self):
        """mcube apply --boot: maps first, then profiles, and nothing twice."""
        self.root.put(cmd_apply.CONF, "# note\n[boot]\nprofile = m3\nbank_map = 0x2000 0x4000\n"
                      f"color_map = {fake.COLORS}\n")
        self.assertEqual(self.mcube_says("apply", "--boot", "--dry-run")[0], 0)
        self.assertEqual(self.root.written, [])
        status, out, err = self.mcube_says("apply", "--boot")
        self.assertEqual((status, err, self.value("map/bank_map"), self.value("alloc/enabled")),
                         (0, "", "0x2000 0x4000", "1"))
        self.assertEqual(self.root.written[0], ("map/bank_map", "0x2000 0x4000"))
        self.assertIn("alloc/enabled: 0 -> 1", out)
        before = list(self.root.written)
        status, out, _ = self.mcube_says("apply", "--boot")
        self.assertEqual((status, self.root.written), (0, before))
        self.assertIn("nothing to change", out)

    def test_boot_refused(self):
        """One bad line anywhere, and every setting is as before."""
        for line, said in (("bank_map = 0", "bank_map"), ("profile = none", "no profile 'none'"),
                           ("color = 1", "'color' is not known"), ("profile m3", "mcube.conf:3"),
                           ("profile = other", "alloc/container_order: '99' is ")):
            self.add(SEQUENCE.replace("= 9", "= 99"))
            self.root.put(cmd_apply.CONF, f"[boot]\nbank_map = 0x2000\n{line}\nprofile = m3\n")
            status, _, err = self.mcube_says("apply", "--boot")
            self.assertEqual((status, self.value("alloc/enabled"), self.value("map/bank_map")),
                             (1, "0", fake.BANKS), line)
            self.assertIn(said, err)
        self.root.drop(cmd_apply.CONF)
        self.assertIn("cannot be read", self.mcube_says("apply", "--boot")[2])
        self.assertEqual(self.mcube_says("apply", "--boot", "m3")[0], 1)

    def test_boot_shipped(self):
        """The file that is installed asks for nothing, and its examples are understood."""
        text = (fake.TOOLS / "boot/mcube.conf").read_text("utf-8")
        self.root.put(cmd_apply.CONF, text)
        status, out, _ = self.mcube_says("apply", "--boot")
        self.assertEqual((status, self.root.written), (0, []))
        self.assertIn("asks for no profile", out)
        self.root.put(cmd_apply.CONF, re.sub(r"^#(\w+ =)", r"\1", text, flags=re.M))
        self.assertEqual(self.mcube_says("apply", "--boot")[0], 0)
        self.assertEqual(self.value("alloc/enabled"), "1")

    def test_wants(self):
        """Where the map lacks what a profile's gain rests on, the command says so."""
        self.root.put(f"{fake.SYSFS}/map/nr_banks", "1\n")
        self.assertRegex(self.mcube_says("apply", "--list")[1], r"m3 +needs banks ")
        status, out, _ = self.mcube_says("apply", "m3")
        self.assertEqual((status, self.value("alloc/enabled")), (0, "1"))
        self.assertIn("note: the address map has no banks, and without them m3 may lose", out)
        self.assertIn("mcube map set --bank", out)
        self.assertNotIn("note: ", self.mcube_says("apply", "m3", "--json")[1])

    def test_dry_run(self):
        """Nothing is written, and the writes that would be made are shown in order."""
        status, out, _ = self.mcube_says("apply", "m3-paper", "--dry-run")
        self.assertEqual((status, self.root.written), (0, []))
        self.assertLess(out.index("'paper' (now 'shuffle')"), out.index("'1' (now '0')"))
        self.assertIn("'0'", self.mcube_says("off", "--dry-run")[1])
        self.assertEqual(self.root.written, [])

    def test_undone(self):
        """After a refusal at any step, everything is as before."""
        for step, wrong in (("alloc/container_order = 9", "alloc/container_order = 99"),
                            ("alloc/enabled = 1", "alloc/enabled = 2"),
                            ("alloc/fill_order = paper", "alloc/fill_order = random")):
            self.add(SEQUENCE.replace(step, wrong))
            err = self.refused("apply", "other")
            file, value = wrong.split(" = ")
            self.assertIn(f"{file}: '{value}' is ", err)
            self.assertIn("the kernel says: " + file, err)
            self.assertIn("allowed: ", err)
            self.assertEqual((self.value("alloc/fill_order"), self.value("alloc/container_order"),
                              self.value("alloc/enabled")),
                             ("[shuffle] paper even auto", "10", "0"))

    def test_undoing_fails(self):
        """A file that cannot be set back is named."""
        self.add(SEQUENCE.replace("alloc/enabled = 1", "alloc/enabled = 2"))
        write = self.root.write

        def stuck(path, text):
            """The kernel takes a new order but not the old one."""
            if path.endswith("container_order") and text == "10":
                raise OSError(errno.ENOMEM, "no memory")
            write(path, text)

        with mock.patch("mcube_cmd.host.write", stuck):
            _, _, err = self.mcube_says("apply", "other")
        self.assertIn("and alloc/container_order could not be set back", err)
        self.assertEqual(self.value("alloc/fill_order"), "[shuffle] paper even auto")

    def test_error_numbers(self):
        """Each reason for a refusal has its own next step."""
        for number, text in ((errno.EROFS, "mounted read-only"), (errno.EACCES, "although this is "
                             "root"), (errno.ENOMEM, "needs more memory"), (errno.EIO, "refused")):
            self.root.errors = {"alloc/fill_order": number}
            err = self.refused("apply", "m3")
            self.assertIn(text, err)
            self.assertIn("what to do: ", err)
        self.root.errors = {}
        self.root.drop(f"{fake.SYSFS}/alloc/fill_order")
        self.assertIn("this kernel has no", self.mcube_says("apply", "m3")[2])

    def test_user(self):
        """A normal user is told to use sudo."""
        self.root.errors = {"alloc/enabled": errno.EACCES}
        with mock.patch("mcube_cmd.host.is_root", lambda: False):
            err = self.refused("apply", "m3")
        self.assertIn("may only be written by root", err)
        self.assertIn("sudo", err)

    def test_log_not_readable(self):
        """Without the log, the message says where to look."""
        self.root.drop("/dev/kmsg")
        self.add("[profile]\ntitle = another\n[apply]\nalloc/container_order = 3\n"
                 "[off]\nalloc/enabled = 0\n")
        with mock.patch.object(self.root, "refuse",
                               lambda n, _: (_ for _ in ()).throw(OSError(n, "no"))):
            _, _, err = self.mcube_says("apply", "other")
        self.assertIn("dmesg | grep mcube", err)

    def test_another_system(self):
        """A further system is one more profile: listed, applied, switched off, shown."""
        self.root.put(f"{fake.SYSFS}/srm/mode", "off\n")
        self.root.put(f"{fake.SYSFS}/srm/stats/kept", "7\n")
        self.add("[profile]\ntitle = another\n[apply]\nsrm/mode = on\n[off]\nsrm/mode = off\n")
        self.assertRegex(self.mcube_says("apply", "--list")[1], r"other +available +another")
        self.mcube_says("apply", "m3")
        self.mcube_says("apply", "other")
        self.assertEqual((self.value("srm/mode"), self.value("alloc/enabled")), ("on", "1"))
        out = self.mcube_says("status")[1]
        self.assertIn("profile in force: m3, other", out)
        self.assertRegex(out, r"srm: mode on\n(.*\n)*kept +7")
        self.mcube_says("off")
        self.assertEqual((self.value("srm/mode"), self.value("alloc/enabled")), ("off", "0"))

    def test_part(self):
        """A profile that another one contains is not named beside it."""
        self.root.put(f"{fake.SYSFS}/srm/enabled", "0\n")
        self.add("[apply]\nalloc/fill_order = auto\nalloc/enabled = 1\nsrm/enabled = 1\n"
                 "[off]\nsrm/enabled = 0\n")
        self.mcube_says("apply", "other")
        self.assertIn("profile in force: other\n", self.mcube_says("status")[1])
        self.assertIn("as a part of other", self.mcube_says("apply", "m3")[1])
        self.assertEqual(self.value("srm/enabled"), "1")
        self.mcube_says("off")
        self.mcube_says("apply", "m3")
        self.assertIn("profile in force: m3\n", self.mcube_says("status")[1])

    def test_off_goes_on(self):
        """One policy that cannot be switched off does not keep the others on."""
        self.root.put(f"{fake.SYSFS}/srm/mode", "on\n")
        self.root.put(f"{fake.SYSFS}/alloc/enabled", "1\n")
        self.add("[apply]\nsrm/mode = on\n[off]\nsrm/mode = off\n", "zz")
        self.root.errors = {"alloc/enabled": errno.EIO}
        status, out, err = self.mcube_says("off")
        self.assertEqual((status, self.value("srm/mode")), (1, "off"))
        self.assertIn("srm/mode: on -> off", out)
        self.assertIn("alloc/enabled", err)

    def test_restore(self):
        """Settings in force are restored: values first, switches last."""
        self.mcube_says("apply", "m3-paper")
        saved = policy.Saved()
        self.mcube_says("apply", "m3")
        self.root.written.clear()
        saved.restore()
        self.assertEqual(self.root.written, [("alloc/enabled", "0"),
                                             ("alloc/fill_order", "shuffle [paper] even auto"),
                                             ("alloc/enabled", "1")])
        self.root.written.clear()
        saved.restore()
        self.assertEqual(self.root.written, [])

    def test_names(self):
        """Unknown and missing names, and a kernel without mcube."""
        self.assertIn("choose from: m3", self.mcube_says("apply", "nosuch")[2])
        self.assertIn("no profile was named", self.mcube_says("apply")[2])
        self.make(mcube=False)
        wrong = (("apply", "m3"), ("apply", "m3", "--dry-run"), ("off",), ("off", "--dry-run"),
                 ("status",))
        self.root.put("/sys/kernel/mm/x", "")
        for argv in wrong:
            self.assertIn("this kernel has no mcube", self.refused(*argv))
        out = self.mcube_says("apply", "--list")[1]
        self.assertRegex(out, "rocs +no mcube in this kernel")
        self.assertNotIn("not loaded", out)
        with mock.patch("mcube_cmd.host.names", lambda p: []):
            for argv in (*wrong, ("map",)):
                self.assertIn("/sys is not mounted", self.mcube_says(*argv)[2], argv)


class Status(fake.Case):
    """mcube status."""

    def test_shares(self):
        """Each share is of its own kind of request."""
        out = self.done("status")
        self.assertIn("followed 80.0%, fallback 20.0% of single movable pages; uncovered 50.0%",
                      out)
        self.assertIn("note: the allocator often has no page", out)

    def test_fresh(self):
        """Before the first request there are no shares, and no division by zero."""
        for name in fake.STATS:
            self.root.put(f"{fake.SYSFS}/alloc/stats/{name}", "0\n")
        out = self.done("status")
        self.assertNotIn("followed", out)
