// SPDX-License-Identifier: GPL-2.0
/*
 * SRM-buffer: static key, settings, color groups, counters
 *
 * Copyright (C) 2026 The mcube authors
 *
 * All other files of srm/ use this file; it uses no other file of srm/.
 */

#include <linux/jump_label.h>
#include <linux/percpu.h>

#include "../sysfs.h"
#include "color_group.h"
#include "internal.h"
#include "segment.h"

#define CREATE_TRACE_POINTS
#include <trace/events/mcube_srm.h>

struct mcube_srm_config mcube_srm_config = {
	.tl = MCUBE_SEGMENT_DEFAULT,
	.reuse = 16,
	.reserve = 1,
	.lend = 10,
	.group_order = MCUBE_GROUP_ORDER_AUTO,
	.vm_hop = true,
	.reclaim = true,
};

DEFINE_STATIC_KEY_FALSE(mcube_srm_key);
DEFINE_PER_CPU(struct mcube_srm_stats, mcube_srm_stats);

struct mcube_color_groups mcube_srm_groups;

/**
 * mcube_srm_stat() - events since boot
 * @stat: the counter.
 *
 * Return: the sum over all CPUs.
 */
unsigned long mcube_srm_stat(enum mcube_srm_stat stat)
{
	return mcube_sum(&mcube_srm_stats.nr[stat]);
}
