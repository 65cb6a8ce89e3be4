// SPDX-License-Identifier: GPL-2.0
/*
 * ROCS: hardware prefetchers pause while accesses are sampled
 *
 * Copyright (C) 2026 The mcube authors
 *
 * A line that a prefetcher brought in counts as a hit when the program uses it, so
 * streams, which pollute most, would look as if they hit the cache.  While at least
 * one process is profiled, the prefetchers of all CPUs are off:
 *
 *   rocs_prefetch_profiles(1)    first profile:  set the bits that were clear
 *   rocs_prefetch_profiles(-1)   last profile:   clear these bits again
 *
 * Which bits of which register switch prefetchers is a matter of the model, and is
 * written here only for models whose documents say it: MSR 0x1a4 of Intel's cores
 * (bits 0 to 3: L2 stream, L2 adjacent line, L1 next line, L1 by instruction), MSR
 * 0xc0000108 of AMD's cores that have it by CPUID (bits 0 to 3 and 5).
 *
 * All processes of the machine wait for one that is profiled, so nothing pauses unless root
 * writes 1 to prefetch_off.  Where the threads of a core share the register, one of them
 * writes it: of two that read and write at a time, neither would know which bits it set.
 *
 * Pseudo-locking of resctrl writes the same register, saves and restores it, without a
 * notifier.  A thread of the core that wrote meanwhile would spoil the locked region, or
 * leave the prefetchers off.  So models where resctrl does that are taken for unknown.
 *
 * Other processes lose by that.  So a pause takes ten seconds and a tenth of the time at most:
 * a further process can join a pause only in its first second, and after the pause no process
 * is profiled for nine times as long.  Otherwise 16 targets in turn, or a process whose
 * phases change all the time, would keep the prefetchers off.
 *
 * CPUs that come meanwhile get the bits set, CPUs that go get them cleared, unless
 * another thread of the core goes on with the same register.  Before
 * suspend the prefetchers come back, and firmware sets the register on resume.  They
 * come back before a reboot as well, as kexec leaves the register as it is.  Where the kernel
 * crashes, nothing is restored: a crash kernel may run without prefetchers.
 *
 * Source: Soares, Tam and Stumm, MICRO 2008, section 3.2.3 (prefetchers are off while a
 * profile is made).
 */

#include <linux/bits.h>
#include <linux/cpu.h>
#include <linux/cpufeature.h>
#include <linux/cpuhotplug.h>
#include <linux/ktime.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/reboot.h>
#include <linux/smp.h>
#include <linux/suspend.h>
#include <linux/topology.h>

#include <asm/cpu_device_id.h>
#include <asm/cpuid.h>
#include <asm/intel-family.h>
#include <asm/msr.h>

#include "internal.h"

/**
 * struct switches - where the prefetchers of a CPU are switched
 * @msr: the register.
 * @off: bits that switch prefetchers off.
 * @of_core: the threads of a core share the register.
 */
struct switches {
	u32 msr;
	u64 off;
	bool of_core;
};

static const struct switches intel = {
	.msr = MSR_MISC_FEATURE_CONTROL, .off = 0xf, .of_core = true,
};

static const struct switches amd = { .msr = 0xc0000108, .off = 0x2f };

static const struct x86_cpu_id models[] = {
	X86_MATCH_VFM(INTEL_HASWELL,		&intel),
	X86_MATCH_VFM(INTEL_HASWELL_L,		&intel),
	X86_MATCH_VFM(INTEL_HASWELL_X,		&intel),
	X86_MATCH_VFM(INTEL_BROADWELL,		&intel),
	X86_MATCH_VFM(INTEL_BROADWELL_D,	&intel),
	X86_MATCH_VFM(INTEL_BROADWELL_X,	&intel),
	X86_MATCH_VFM(INTEL_SKYLAKE,		&intel),
	X86_MATCH_VFM(INTEL_SKYLAKE_L,		&intel),
	X86_MATCH_VFM(INTEL_SKYLAKE_X,		&intel),
	X86_MATCH_VFM(INTEL_KABYLAKE,		&intel),
	X86_MATCH_VFM(INTEL_KABYLAKE_L,		&intel),
	X86_MATCH_VFM(INTEL_COMETLAKE,		&intel),
	X86_MATCH_VFM(INTEL_ICELAKE_X,		&intel),
	X86_MATCH_VFM(INTEL_ICELAKE_D,		&intel),
	X86_MATCH_VFM(INTEL_SAPPHIRERAPIDS_X,	&intel),
	X86_MATCH_VFM(INTEL_EMERALDRAPIDS_X,	&intel),
	{ }
};

/* The longest pause: the profiles that it is for are given up. */
#define PAUSE_TIME	(10 * NSEC_PER_SEC)

/* Other time for each time of a pause. */
#define TIMES_BETWEEN	9

/* A profile that begins so long after another profile joins its pause. */
#define JOIN_TIME	NSEC_PER_SEC

/* Bits that this file set, by CPU; touched on that CPU with interrupts off, or if it goes. */
static DEFINE_PER_CPU(u64, bits_set);

/* Taken with the locks of CPU hotplug held. */
static DEFINE_MUTEX(pause_lock);
static const struct switches *switches;	/* NULL: not known */
static unsigned int pausing;		/* profiles in progress */
static bool paused;			/* the bits are set; changed under pause_lock */
static bool suspending;
static ktime_t pause_began, pause_next;	/* the next pause at the earliest */
static int hotplug_state = -1;

/* Does this CPU write the register of its core? */
static bool is_owner(unsigned int cpu)
{
	return !switches->of_core || cpu == cpumask_first(topology_sibling_cpumask(cpu));
}

static void set_bits(void *unused)
{
	u64 old;

	if (!is_owner(smp_processor_id()) || __this_cpu_read(bits_set) ||
	    rdmsrl_safe(switches->msr, &old))
		return;
	if (!wrmsrl_safe(switches->msr, old | switches->off))
		__this_cpu_write(bits_set, ~old & switches->off);
}

static void clear_bits(void *unused)
{
	u64 mine = __this_cpu_read(bits_set), old;

	if (mine && !rdmsrl_safe(switches->msr, &old))
		wrmsrl_safe(switches->msr, old & ~mine);
	__this_cpu_write(bits_set, 0);
}

/* Make the registers be what the state wants; CPUs do not come or go. */
static void update(void)
{
	bool want = pausing && !suspending && READ_ONCE(rocs_config.prefetch_off);
	ktime_t now = ktime_get();

	lockdep_assert_held(&pause_lock);
	if (want == paused)
		return;
	paused = want;
	if (paused)
		pause_began = now;
	else
		pause_next = now + TIMES_BETWEEN * ktime_sub(now, pause_began);
	on_each_cpu(want ? set_bits : clear_bits, NULL, 1);
}

static int cpu_comes(unsigned int cpu)
{
	guard(mutex)(&pause_lock);
	if (paused)
		smp_call_function_single(cpu, set_bits, NULL, 1);
	return 0;
}

static int cpu_goes(unsigned int cpu)
{
	unsigned int other = cpumask_any_but(topology_sibling_cpumask(cpu), cpu);

	guard(mutex)(&pause_lock);
	if (!paused)
		return 0;
	if (switches->of_core && other < nr_cpu_ids) {
		per_cpu(bits_set, other) |= per_cpu(bits_set, cpu);
		per_cpu(bits_set, cpu) = 0;
	} else {
		smp_call_function_single(cpu, clear_bits, NULL, 1);
	}
	return 0;
}

static int pm_notify(struct notifier_block *nb, unsigned long action, void *data)
{
	bool begin = action == PM_SUSPEND_PREPARE || action == PM_HIBERNATION_PREPARE;

	if (!begin && action != PM_POST_SUSPEND && action != PM_POST_HIBERNATION)
		return NOTIFY_DONE;
	cpus_read_lock();
	scoped_guard(mutex, &pause_lock) {
		suspending = begin;
		update();
	}
	cpus_read_unlock();
	return NOTIFY_OK;
}

static struct notifier_block pm_nb = { .notifier_call = pm_notify };

static int reboot_notify(struct notifier_block *nb, unsigned long action, void *data)
{
	return pm_notify(nb, PM_SUSPEND_PREPARE, data);
}

static struct notifier_block reboot_nb = { .notifier_call = reboot_notify };

/**
 * rocs_prefetch_contended() - does resctrl's pseudo-locking write the register?
 * @vfm: model of the processor.
 *
 * Return: true for models that get_prefetch_disable_bits() of resctrl knows as well.
 */
bool rocs_prefetch_contended(u32 vfm)
{
	return IS_ENABLED(CONFIG_X86_CPU_RESCTRL) && vfm == INTEL_BROADWELL_X;
}

/* Leaf 0x80000021, EAX bit 13: the core has the register that controls prefetchers. */
static const struct switches *find_switches(void)
{
	const struct x86_cpu_id *id = x86_match_cpu(models);

	if (rocs_prefetch_contended(boot_cpu_data.x86_vfm))
		return NULL;
	if (id)
		return (const struct switches *)id->driver_data;
	if (boot_cpu_data.x86_vendor == X86_VENDOR_AMD &&
	    cpuid_eax(0x80000000) >= 0x80000021 && cpuid_eax(0x80000021) & BIT(13))
		return &amd;
	return NULL;
}

/**
 * rocs_prefetch_known() - is it known how prefetchers are switched?
 *
 * Return: true if the model of the processor is known, and resctrl does not switch its prefetchers.
 */
bool rocs_prefetch_known(void)
{
	return switches;
}

/**
 * rocs_prefetch_too_long() - do all profiles have to end?
 *
 * Context: process, sleeps, rocs_lock held.
 * Return: true if prefetchers have been off for as long as they may be.
 */
bool rocs_prefetch_too_long(void)
{
	guard(mutex)(&pause_lock);
	return paused && ktime_after(ktime_get(), pause_began + PAUSE_TIME);
}

/**
 * rocs_prefetch_may_pause() - may a process be profiled now?
 *
 * Context: process, rocs_lock held.
 * Return: false if prefetchers would be off for too much of the time.
 */
bool rocs_prefetch_may_pause(void)
{
	if (!switches || !rocs_config.prefetch_off)
		return true;
	guard(mutex)(&pause_lock);
	if (paused)
		return ktime_before(ktime_get(), pause_began + JOIN_TIME);
	return !ktime_before(ktime_get(), pause_next);
}

/**
 * rocs_prefetch_profiles() - profiles begin or end, or the setting has changed
 * @more: profiles that begin; negative if profiles end.
 *
 * Context: process, sleeps, rocs_lock held.
 */
void rocs_prefetch_profiles(int more)
{
	if (!switches)
		return;
	cpus_read_lock();
	scoped_guard(mutex, &pause_lock) {
		pausing += more;
		update();
	}
	cpus_read_unlock();
}

/**
 * rocs_prefetch_init() - find out how prefetchers are switched
 *
 * Return: 0 or an error.
 */
int rocs_prefetch_init(void)
{
	const struct switches *found = find_switches();

	if (!found)
		return 0;
	hotplug_state = cpuhp_setup_state(CPUHP_AP_ONLINE_DYN, "mcube/rocs:online",
					  cpu_comes, cpu_goes);
	if (hotplug_state < 0)
		return hotplug_state;
	register_pm_notifier(&pm_nb);
	register_reboot_notifier(&reboot_nb);
	switches = found;
	pause_next = ktime_get();
	return 0;
}

/**
 * rocs_prefetch_exit() - end what rocs_prefetch_init() began
 *
 * No profile is in progress.
 */
void rocs_prefetch_exit(void)
{
	if (!switches)
		return;
	unregister_reboot_notifier(&reboot_nb);
	unregister_pm_notifier(&pm_nb);
	cpuhp_remove_state(hotplug_state);
}
