// SPDX-License-Identifier: GPL-2.0
/*
 * UBM: static key, counters
 *
 * Copyright (C) 2026 The mcube authors
 *
 * All other files of the glue use this file; it uses no other file of ubm/.
 */

#include <linux/percpu.h>

#include "../sysfs.h"
#include "internal.h"

#define CREATE_TRACE_POINTS
#include <trace/events/mcube_ubm.h>

DEFINE_STATIC_KEY_FALSE(mcube_ubm_key);
DEFINE_PER_CPU(struct mcube_ubm_stats, mcube_ubm_stats);

/**
 * mcube_ubm_stat() - events since boot
 * @stat: the counter.
 *
 * Return: the sum over all CPUs.
 */
unsigned long mcube_ubm_stat(enum mcube_ubm_stat stat)
{
	return mcube_sum(&mcube_ubm_stats.nr[stat]);
}
