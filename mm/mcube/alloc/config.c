// SPDX-License-Identifier: GPL-2.0
/*
 * Key, settings and counters of the mcube allocator
 *
 * Copyright (C) 2026 The mcube authors
 *
 * All other files of this directory use this file.  control.c writes the
 * settings.  Each counter is written by the file in which its event happens.
 */

#include <linux/jump_label.h>
#include <linux/mcube_alloc.h>
#include <linux/mmzone.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/vmstat.h>

#include "../sysfs.h"
#include "internal.h"
#include "policy.h"

DEFINE_STATIC_KEY_FALSE(mcube_alloc_key);
DEFINE_PER_CPU(struct mcube_stats, mcube_stats);

struct mcube_config mcube_config = {
	.order = MCUBE_MAX_ORDER,
	.fill_order = MCUBE_FILL_SHUFFLE,
};

const char * const mcube_fill_order_names[MCUBE_NR_FILL_ORDERS] = {
	[MCUBE_FILL_SHUFFLE]	= "shuffle",
	[MCUBE_FILL_PAPER]	= "paper",
	[MCUBE_FILL_EVEN]	= "even",
	[MCUBE_FILL_AUTO]	= "auto",
};

/**
 * mcube_alloc_stat() - number of events since boot
 * @stat: kind of event.
 *
 * Return: the sum over all CPUs.
 */
unsigned long mcube_alloc_stat(enum mcube_stat stat)
{
	return mcube_sum(&mcube_stats.nr[stat]);
}

#ifdef CONFIG_SMP
/* A function of its own: then the path without a call needs no stack frame. */
static noinline void fold_free_pages(struct zone *zone, int delta)
{
	__mod_zone_page_state(zone, NR_FREE_PAGES, delta);
	__mod_zone_page_state(zone, NR_FREE_MCUBE_PAGES, delta);
}

/**
 * __mod_mcube_free_pages() - count free pages that enter or leave containers
 * @zone: the zone.
 * @delta: number of pages that enter; negative if they leave.
 *
 * Free pages in containers are part of NR_FREE_PAGES.  Both counters change
 * alike, once for each page, so read the CPU's threshold once for both.
 *
 * Context: interrupts are off.
 */
void __mod_mcube_free_pages(struct zone *zone, int delta)
{
	struct per_cpu_zonestat __percpu *pcp = zone->per_cpu_zonestats;
	int free, mcube;
	bool within;
	u32 t;

	/* See __mod_node_page_state(). */
	preempt_disable_nested();
	t = __this_cpu_read(pcp->stat_threshold);
	free = __this_cpu_read(pcp->vm_stat_diff[NR_FREE_PAGES]) + delta;
	mcube = __this_cpu_read(pcp->vm_stat_diff[NR_FREE_MCUBE_PAGES]) + delta;
	/* -t <= x <= t, in one comparison. */
	within = (u32)(free + t) <= 2 * t && (u32)(mcube + t) <= 2 * t;
	if (likely(within)) {
		__this_cpu_write(pcp->vm_stat_diff[NR_FREE_PAGES], free);
		__this_cpu_write(pcp->vm_stat_diff[NR_FREE_MCUBE_PAGES], mcube);
	}
	preempt_enable_nested();
	if (unlikely(!within))
		fold_free_pages(zone, delta);
}
#endif

/**
 * mcube_container_pages() - size of a container
 *
 * Return: number of pages; constant while the allocator is on.
 */
unsigned int mcube_container_pages(void)
{
	return 1U << mcube_config.order;
}

