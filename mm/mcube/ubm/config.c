// SPDX-License-Identifier: GPL-2.0
/*
 * UBM: static key, settings, counters
 *
 * Copyright (C) 2026 The mcube authors
 *
 * All other files of the glue use this file; it uses no other file of ubm/.
 */

#include <linux/jump_label_ratelimit.h>
#include <linux/percpu.h>

#include "../sysfs.h"
#include "internal.h"

#define CREATE_TRACE_POINTS
#include <trace/events/mcube_ubm.h>

struct mcube_ubm_tuning mcube_ubm_tuning = MCUBE_UBM_TUNING_DEFAULT;

DEFINE_STATIC_KEY_FALSE(mcube_ubm_key);

/*
 * Counts domains.  Memory cgroups come and go, and to switch a static key is dear,
 * so it is switched off a second after the last domain has gone.
 */
DEFINE_STATIC_KEY_DEFERRED_FALSE(mcube_ubm_refs_key, HZ);
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
