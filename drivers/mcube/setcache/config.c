// SPDX-License-Identifier: GPL-2.0
/*
 * The settings, counters and tracepoints of page sets
 *
 * Copyright (C) 2026 The mcube authors
 *
 * The base of all other files.
 */

#include "../../../mm/mcube/sysfs.h"
#include "internal.h"

#define CREATE_TRACE_POINTS
#include <trace/events/mcube_setcache.h>

struct setcache_config setcache_config = {
	.policy = SETCACHE_S3FIFO,
	.size = 64,
};

DEFINE_PER_CPU(unsigned long [SETCACHE_NR_STATS], setcache_stats);

/**
 * setcache_stat() - read a counter
 * @stat: the counter.
 *
 * Return: its value since the module was loaded.
 */
unsigned long setcache_stat(enum setcache_stat stat)
{
	return mcube_sum(&setcache_stats[stat]);
}
