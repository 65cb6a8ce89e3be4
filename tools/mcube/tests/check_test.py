# SPDX-License-Identifier: GPL-2.0
"""mcube check: true on every kind of machine."""

import gzip
import json
import platform
from unittest import mock

import fake
from mcube_cmd import machine, perf

TCG = (0x40000001, *(int.from_bytes(x, "little") for x in (b"TCGT", b"CGTC", b"GTCG")))
KVM = (0x40000001, *(int.from_bytes(x, "little") for x in (b"KVMK", b"VMKV", b"M\0\0\0")))


class Check(fake.Case):
    """Findings by name."""

    def check(self, events=perf.Events("hardware", perf.CPU_EVENTS, "by the PMU"), frames=True):
        """({name: [(state, text, next)]}, exit status)."""
        with mock.patch("mcube_cmd.perf.find", lambda: events), \
                mock.patch("mcube_cmd.perf.tool", lambda: "/usr/bin/perf"), \
                mock.patch("mcube_cmd.pagemap.own_frames_visible", lambda: frames):
            status, out, err = self.mcube_says("check", "--json")
            self.assertEqual((err, self.mcube_says("check")[0]), ("", status))
        data = json.loads(out)
        self.assertEqual(status, 0 if data["usable"] else 1)
        found = {}
        for i in data["items"]:
            self.assertTrue(i["state"] != "missing" or i["next"], i)
            found.setdefault(i["name"], []).append((i["state"], i["text"], i["next"]))
        return found, status

    def state(self, found, name):
        """State of the first finding of a name."""
        return found[name][0][0]

    def test_ready(self):
        """Bare metal with everything."""
        self.root.cpuid({(4, i): r for i, r in enumerate(fake.XEON)})
        found, status = self.check()
        self.assertEqual(status, 0)
        for name in ("kernel", "user", "pagemap", "hypervisor", "L2", "L3", "address map", "perf"):
            self.assertEqual(self.state(found, name), "ok", name)
        self.assertIn("35 MiB, 20 ways, 28672 sets of 64 bytes, spread over slices by a hash",
                      found["L3"][0][1])
        self.assertIn("256 KiB, 8 ways, 512 sets of 64 bytes, indexed by address bits (by cpuid)",
                      found["L2"][0][1])
        self.assertIn("L3 as 14 slices of 2048 sets", found["color map"][0][1])
        self.assertIn("32 colors of 64 KiB (from cpuid), of the last-level cache, 16 banks",
                      found["address map"][0][1])

    def test_stock_kernel(self):
        """A stock kernel, by its configuration."""
        self.make(mcube=False)
        self.root.put("/proc/config.gz", gzip.compress(b"CONFIG_MM=y\n"))
        found, status = self.check()
        self.assertEqual((status, self.state(found, "kernel")), (1, "missing"))
        self.assertIn("CONFIG_MCUBE is not set", found["kernel"][0][1])
        self.assertIn("make demo", found["kernel"][0][2])
        self.assertNotIn("address map", found)
        self.root.drop("/proc/config.gz")
        self.root.put(f"/boot/config-{platform.release()}", "CONFIG_MCUBE=y\n")
        self.assertIn("dmesg", self.check()[0]["kernel"][0][2])

    def test_no_sysfs(self):
        """/sys is not mounted: say that, not that the kernel lacks something."""
        self.make(mcube=False)
        with mock.patch("mcube_cmd.host.names", lambda p: []):
            self.assertIn("/sys is not mounted", self.check()[0]["kernel"][0][1])

    def test_no_allocator(self):
        """The map alone is no policy."""
        self.make(mcube=False)
        for name in ("color_map", "bank_map"):
            self.root.put(f"{fake.SYSFS}/map/{name}", "none\n")
        found, status = self.check()
        self.assertEqual(status, 1)
        self.assertIn("CONFIG_MCUBE_ALLOC=y", found["kernel"][0][2])

    def test_user(self):
        """A normal user."""
        with mock.patch("mcube_cmd.host.is_root", lambda: False):
            found, status = self.check(frames=False)
        self.assertEqual((status, self.state(found, "user")), (1, "missing"))
        self.assertIn("sudo", found["user"][0][2])
        self.assertIn("CAP_SYS_ADMIN", found["pagemap"][0][2])

    def test_containers(self):
        """A container, root of a user namespace, no pagemap."""
        self.root.put("/.dockerenv", "")
        self.root.put("/proc/self/uid_map", "0 1000 1\n")
        found, status = self.check(frames=None)
        self.assertEqual((status, self.state(found, "user")), (1, "missing"))
        self.assertIn("user namespace", found["user"][0][1])
        self.assertIn("(Docker)", found["container"][0][1])
        self.assertIn("CONFIG_PROC_PAGE_MONITOR", found["pagemap"][0][2])
        self.assertEqual(machine.container(), "Docker")
        self.root.drop("/.dockerenv")
        self.assertIsNone(machine.container())
        self.root.put("/proc/1/environ", "PATH=/bin\0container=lxc\0")
        self.assertEqual(machine.container(), "lxc")
        self.root.put("/proc/1/environ", "")
        self.root.put("/proc/1/cgroup", "0::/kubepods/pod1\n")
        self.assertEqual(machine.container(), "kubepods")

    def test_hypervisors(self):
        """KVM, an emulator, an emulator with the model."""
        self.root.put("/proc/cpuinfo", "model name\t: x\nflags\t: fpu hypervisor\n\n")
        self.root.cpuid({(0x40000000, 0): KVM})
        found, status = self.check()
        self.assertEqual((status, self.state(found, "hypervisor")), (0, "note"))
        self.assertIn("KVM: colors and banks are those of the host's", found["hypervisor"][0][1])
        self.assertIn("below 21", found["hypervisor"][0][1])
        self.root.cpuid({(0x40000000, 0): TCG})
        found, _ = self.check(perf.Events("time", {}, "nothing counts"))
        self.assertIn("the CPU is emulated", found["hypervisor"][0][1])
        self.assertIn("nothing to go by but --events", found["perf"][0][1])
        found, _ = self.check(perf.Events("model", perf.SIM_EVENTS, "by mcube_sim"))
        self.assertEqual(self.state(found, "hypervisor"), "ok")
        self.assertIn("modelled cycles", found["hypervisor"][0][1])
        self.root.drop("/dev/cpu/0/cpuid")
        self.root.put("/proc/cpuinfo", "model name\t: QEMU TCG CPU version 2.5+\n"
                      "flags\t: hypervisor\n\n")
        self.assertTrue(machine.emulated())

    def test_model(self):
        """The modelled machine's cache counts, not the cache of QEMU's CPU; maps are compared."""
        self.root.cpuid({(4, i): r for i, r in enumerate(fake.XEON)})
        for name, value in (("name", "small"), ("llc_sets", 1024), ("llc_ways", 16),
                            ("colors", 32), ("banks", 8)):
            self.root.put(f"{perf.PMUS}/mcube_sim/machine/{name}", f"{value}\n")
        found, status = self.check(perf.Events("model", perf.SIM_EVENTS, "by mcube_sim"))
        self.assertEqual(status, 0)
        self.assertIn("'small': last-level cache of 1024 sets, 16 ways", found["model"][0][1])
        self.assertNotIn("L3", found)
        self.assertNotIn("color map", found)
        self.assertIn("has 16 banks, the modelled machine 8", found["bank map"][0][1])

    def test_map(self):
        """Unknown maps, unlikely maps."""
        self.root.put(f"{fake.SYSFS}/map/color_map", "none\n")
        found, status = self.check()
        self.assertEqual((status, self.state(found, "address map")), (0, "note"))
        self.assertIn("colors not known", found["address map"][0][1])
        self.root.put(f"{fake.SYSFS}/map/bank_map", "none\n")
        found, status = self.check()
        self.assertEqual((status, self.state(found, "address map")), (1, "missing"))
        self.assertIn("mcube map set --color", found["address map"][0][2])
        self.root.put(f"{fake.SYSFS}/map/bank_map", "0x100002000\n")
        self.assertIn("some values never occur", self.check()[0]["address map"][1][1])

    def test_cpuid(self):
        """Where CPUID cannot be read, the module that lets it be read is named."""
        at = "/sys/devices/system/cpu/cpu0/cache/index0"
        for name, value in (("level", 3), ("type", "Unified"), ("number_of_sets", 512)):
            self.root.put(f"{at}/{name}", f"{value}\n")
        with mock.patch("platform.machine", lambda: "x86_64"):
            self.assertEqual(self.check()[0]["cpuid"][0][2], "modprobe cpuid")
            self.root.put("/proc/config.gz", gzip.compress(b"CONFIG_MM=y\n"))
            self.assertIn("CONFIG_X86_CPUID", self.check()[0]["cpuid"][0][2])
        with mock.patch("platform.machine", lambda: "aarch64"):
            self.assertNotIn("cpuid", self.check()[0])

    def test_next(self):
        """M3 is recommended where the map has the banks that its gain rests on."""
        def then():
            """The last line."""
            self.check()
            return self.json("check")["next"]

        self.assertEqual(then(), "mcube apply m3")
        self.root.put(f"{fake.SYSFS}/map/bank_map", "none\n")
        self.root.put(f"{fake.SYSFS}/map/nr_banks", "1\n")
        self.assertIn("mcube apply --list", then())
        self.assertNotIn("mcube apply m3", then())
        self.assertIn("for M3, which may lose without banks: mcube map set --bank",
                      self.check()[0]["address map"][0][2])
        self.root.put(f"{fake.SYSFS}/map/color_map", "none\n")
        self.assertIn("ubm and setcache need no map", self.check()[0]["address map"][0][2])
        self.mcube_says("apply", "m3")
        self.root.put(f"{fake.SYSFS}/map/color_map", fake.COLORS)
        self.assertIn("m3 is in force", then())

    def test_map_and_caches(self):
        """Which cache a color map is for: the one whose size its colors add up to."""
        for index, (level, sets, ways) in enumerate(((2, 512, 16), (3, 16384, 16))):
            at = f"/sys/devices/system/cpu/cpu0/cache/index{index}"
            for name, value in (("level", level), ("type", "Unified"), ("number_of_sets", sets),
                                ("ways_of_associativity", ways), ("coherency_line_size", 64),
                                ("physical_line_partition", 1)):
                self.root.put(f"{at}/{name}", f"{value}\n")
        self.root.put(f"{fake.SYSFS}/map/color_map", "0x1000 0x2000 0x4000\n")
        found, _ = self.check()
        self.assertEqual(self.state(found, "color map"), "note")
        self.assertIn("512 sets of L2: colors keep programs apart in L2 alone",
                      found["color map"][0][1])
        self.assertIn("not known (by sysfs)", found["L3"][0][1])
        self.root.put(f"{fake.SYSFS}/map/color_bytes", f"{16 << 20 >> 8}\n")
        self.root.put(f"{fake.SYSFS}/map/color_map",
                      " ".join(hex(1 << b) for b in range(12, 20)) + "\n")
        self.assertIn("the 16384 sets of L3", self.check()[0]["color map"][0][1])

    def test_machines(self):
        """Zen 4, Emerald Rapids, a hybrid client, arm64: what that user really gets."""
        zen4 = ((0x4121, 0x01c0003f, 0x3f, 0), (0x4143, 0x01c0003f, 0x7ff, 6),
                (0x1c163, 0x03c0003f, 0x7fff, 5))
        emerald = ((0x121, 0x02c0003f, 0x3f, 0), (0x143, 0x03c0003f, 0x7ff, 0),
                   (0x163, 0x04c0003f, 0x3ffff, 4))
        hybrid = ((0x121, 0x02c0003f, 0x3f, 0), (0x143, 0x0240003f, 0x7ff, 0),
                  (0x163, 0x02c0003f, 0x9fff, 4))
        colors = " ".join(hex(1 << b) for b in range(12, 17))
        for leaf, regs, level, size in ((0x8000001d, zen4, "L2", 1 << 20),
                                        (4, emerald, "last", 320 << 20),
                                        (4, hybrid, "L2", 1280 << 10)):
            self.root.cpuid({(leaf, i): r for i, r in enumerate(regs)})
            self.root.put(f"{fake.SYSFS}/map/color_map", colors + "\n")
            self.root.put(f"{fake.SYSFS}/map/color_bytes", f"{size // 32}\n")
            self.root.put(f"{fake.SYSFS}/map/level", level + "\n")
            found, _ = self.check()
            self.assertNotIn("indexed by address bits", found["L3"][0][1])
            if level == "L2":
                self.assertIn("of L2 alone", found["address map"][0][1])
                self.assertIn("SRM-buffer and ROCS", found["policies"][0][1])
                self.assertEqual(self.state(found, "color map"), "note")
            else:
                self.assertIn("of the last-level cache", found["address map"][0][1])
                self.assertNotIn("policies", found)
                self.assertIn("128 slices of 2048 sets", found["color map"][0][1])
        self.root.drop("/dev/cpu/0/cpuid")
        for name, value in (("level", 3), ("type", "Unified"), ("number_of_sets", 32768),
                            ("ways_of_associativity", 16), ("coherency_line_size", 64)):
            self.root.put(f"/sys/devices/system/cpu/cpu0/cache/index0/{name}", f"{value}\n")
        for name, value in (("color_map", "none"), ("bank_map", "none"), ("level", "none")):
            self.root.put(f"{fake.SYSFS}/map/{name}", f"{value}\n")
        found, status = self.check()
        self.assertEqual((status, self.state(found, "address map")), (1, "missing"))
        self.assertIn("not known (by sysfs)", found["L3"][0][1])

    def test_huge_pages(self):
        """Huge pages that are always on are pointed out."""
        self.root.put("/sys/kernel/mm/transparent_hugepage/enabled", "[always] madvise never\n")
        self.assertIn("echo madvise", self.check()[0]["huge pages"][0][2])

    def test_paranoid(self):
        """A normal user who may not count is told the setting."""
        self.root.put("/proc/sys/kernel/perf_event_paranoid", "3\n")
        with mock.patch("mcube_cmd.host.is_root", lambda: False):
            found, _ = self.check(perf.Events("time", {}, "nothing counts"))
        self.assertIn("kernel.perf_event_paranoid=2", found["perf"][0][2])


class Cpus(fake.Case):
    """Which CPUs programs run on."""

    def cpu(self, n, core, cache):
        """A CPU whose core and last-level cache are lists of CPUs."""
        at = f"/sys/devices/system/cpu/cpu{n}"
        self.root.put(f"{at}/topology/thread_siblings_list", f"{core}\n")
        for i, (level, who) in enumerate(((1, core), (3, cache), (2, core))):
            self.root.put(f"{at}/cache/index{i}/level", f"{level}\n")
            self.root.put(f"{at}/cache/index{i}/shared_cpu_list", f"{who}\n")

    def test_pick(self):
        """Other cores behind the same cache: not the sibling, not the other socket."""
        for n, core, cache in ((0, "0,4", "0-1,4-5"), (4, "0,4", "0-1,4-5"), (1, "1,5", "0-1,4-5"),
                               (5, "1,5", "0-1,4-5"), (2, "2,6", "2-3,6-7"), (6, "2,6", "2-3,6-7")):
            self.cpu(n, core, cache)
        self.assertEqual(machine.pick_cpus(2, {0, 1, 2, 4, 5, 6}), [0, 1])
        self.assertEqual(machine.pick_cpus(2, {0, 2, 4, 5}), [0, 5])
        self.assertEqual(machine.pick_cpus(3, {0, 1, 2, 4, 5, 6}), [])
        self.assertEqual(machine.pick_cpus(2, {0, 2, 4}), [])

    def test_unknown(self):
        """Without topology any allowed CPUs are taken."""
        self.assertEqual(machine.pick_cpus(2, {3, 1, 2}), [1, 2])

    def test_nodes(self):
        """Frames belong to the one node whose zone spans them."""
        zones = machine.zones()
        self.assertEqual(zones, [(0, 0, 262144), (1, 262144, 262144)])
        self.assertEqual([machine.node_of(zones, p) for p in (5, 262144, 600000)], [0, 1, None])
        self.assertIsNone(machine.node_of(zones + [(1, 0, 10)], 5))
        self.assertEqual(machine.memory_end(), 2 << 30)
