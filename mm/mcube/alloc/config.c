// SPDX-License-Identifier: GPL-2.0
/*
 * Key, settings and counters of the mcube allocator
 *
 * Copyright (C) 2026 The mcube authors
 *
 * All other files of this directory use this file.  control.c writes the
 * settings.  Each counter is written by the file in which its event happens.
 */

#include <linux/cpumask.h>
#include <linux/jump_label.h>
#include <linux/mcube_alloc.h>
#include <linux/percpu.h>

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
};

/**
 * mcube_alloc_stat() - number of events since boot
 * @stat: kind of event.
 *
 * Return: the sum over all CPUs.
 */
unsigned long mcube_alloc_stat(enum mcube_stat stat)
{
	unsigned long sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += per_cpu(mcube_stats.nr[stat], cpu);
	return sum;
}

/**
 * mcube_container_pages() - size of a container
 *
 * Return: number of pages; constant while the allocator is on.
 */
unsigned int mcube_container_pages(void)
{
	return 1U << mcube_config.order;
}
