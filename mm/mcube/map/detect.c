// SPDX-License-Identifier: GPL-2.0
/*
 * Caches of this machine's CPU, for the default color masks
 *
 * Copyright (C) 2026 The mcube authors
 *
 * The masks depend on whether a hash gives the set index (CPUID.4 EDX[2]),
 * which struct cacheinfo does not keep.  So CPUID is read directly on x86;
 * cacheinfo is for CPUs without that leaf and for other architectures.  cpuid.c
 * makes masks of the answer.
 *
 * The CPUs of a machine may differ (in a hybrid machine by their L2 cache).
 * The caches are those of one CPU.
 */

#define pr_fmt(fmt) "mcube: " fmt

#include <linux/cacheinfo.h>
#include <linux/cpu.h>
#include <linux/init.h>
#include <linux/kernel.h>
#include <linux/printk.h>
#include <linux/string.h>

#include "internal.h"
#include "map.h"

#ifdef CONFIG_X86
#include <linux/cpufeature.h>
#include <linux/processor.h>

static void __init identify(struct mcube_cpu *cpu)
{
	cpu->family = boot_cpu_data.x86;
	cpu->model = boot_cpu_data.x86_model;
	switch (boot_cpu_data.x86_vendor) {
	case X86_VENDOR_INTEL:
		cpu->vendor = MCUBE_VENDOR_INTEL;
		break;
	case X86_VENDOR_AMD:
	case X86_VENDOR_HYGON:
		cpu->vendor = MCUBE_VENDOR_AMD;
		break;
	default:
		cpu->vendor = MCUBE_VENDOR_OTHER;
	}

	if (boot_cpu_has(X86_FEATURE_HYPERVISOR))
		pr_notice("under a hypervisor; whether colors and banks hold depends on the pages that back this guest, which the kernel cannot see (2 MiB pages keep address bits below 21): try 'mcube map verify'\n");
}

static bool __init ask_cpuid(struct mcube_cpu *cpu)
{
	u32 leaf = 4, eax, ebx, ecx, edx, i;

	if (cpu->vendor == MCUBE_VENDOR_AMD) {
		if (!boot_cpu_has(X86_FEATURE_TOPOEXT))
			return false;
		leaf = 0x8000001d;
	} else if (boot_cpu_data.cpuid_level < 4) {
		return false;
	}

	for (i = 0; i < ARRAY_SIZE(cpu->cache); i++) {
		cpuid_count(leaf, i, &eax, &ebx, &ecx, &edx);
		if (!mcube_cpuid4_decode(&cpu->cache[i], eax, ebx, ecx, edx))
			break;
		cpu->nr_caches++;
	}
	return cpu->nr_caches;
}
#else
static void __init identify(struct mcube_cpu *cpu)
{
}

static bool __init ask_cpuid(struct mcube_cpu *cpu)
{
	return false;
}
#endif

static bool __init ask_cacheinfo(struct mcube_cpu *cpu)
{
	struct cpu_cacheinfo *info;
	struct mcube_cache *c;
	struct cacheinfo *leaf;
	unsigned int i;

	/* On x86 this is left to processors before 2011, which hash no index. */
	cpu->index_unknown = !IS_ENABLED(CONFIG_X86);
	cpus_read_lock();
	info = get_cpu_cacheinfo(cpumask_first(cpu_online_mask));
	for (i = 0; info->info_list && i < info->num_leaves; i++) {
		if (cpu->nr_caches == ARRAY_SIZE(cpu->cache))
			break;
		leaf = &info->info_list[i];
		c = &cpu->cache[cpu->nr_caches++];
		c->level = leaf->level;
		c->data = leaf->type & (CACHE_TYPE_DATA | CACHE_TYPE_UNIFIED);
		c->line = leaf->coherency_line_size;
		c->partitions = max(leaf->physical_line_partition, 1U);
		c->ways = leaf->ways_of_associativity;
		c->sets = leaf->number_of_sets;
	}
	cpus_read_unlock();
	return cpu->nr_caches;
}

/**
 * mcube_detect() - find the default color masks of this machine
 * @guess: filled in with the masks, if any are found
 *
 * Return: where the masks come from.
 */
enum mcube_map_source __init mcube_detect(struct mcube_guess *guess)
{
	enum mcube_map_source source = MCUBE_SOURCE_NONE;
	struct mcube_cpu cpu;

	memset(&cpu, 0, sizeof(cpu));
	identify(&cpu);
	if (ask_cpuid(&cpu))
		source = MCUBE_SOURCE_CPUID;
	else if (ask_cacheinfo(&cpu))
		source = MCUBE_SOURCE_CACHEINFO;
	mcube_guess_colors(guess, &cpu);
	return source;
}
