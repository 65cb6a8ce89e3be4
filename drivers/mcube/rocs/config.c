// SPDX-License-Identifier: GPL-2.0
/*
 * ROCS: settings, targets, counters
 *
 * Copyright (C) 2026 The mcube authors
 *
 * All other files of the module use this file; it uses no other file of the module.
 */

#include <linux/mutex.h>
#include <linux/perf_event.h>

#include "internal.h"

#define CREATE_TRACE_POINTS
#include <trace/events/mcube_rocs.h>

#define COUNTED(_config)						\
	{ .used = true, .type = PERF_TYPE_HARDWARE, .config = { _config } }
#define SAMPLED(_config)						\
	{ .used = true, .type = PERF_TYPE_RAW, .precise = 2, .config = { _config } }

struct rocs_config rocs_config = {
	.event = {
		[ROCS_CYCLES]		= COUNTED(PERF_COUNT_HW_CPU_CYCLES),
		[ROCS_INSTRUCTIONS]	= COUNTED(PERF_COUNT_HW_INSTRUCTIONS),
		[ROCS_REFS]		= COUNTED(PERF_COUNT_HW_CACHE_REFERENCES),
		[ROCS_MISSES]		= COUNTED(PERF_COUNT_HW_CACHE_MISSES),
		/* MEM_LOAD_RETIRED.L3_HIT and .L3_MISS of Intel's cores since Skylake. */
		[ROCS_SAMPLE_HIT]	= SAMPLED(0x04d1),
		[ROCS_SAMPLE_MISS]	= SAMPLED(0x20d1),
	},
	.plan = {
		.search = ROCS_SEARCH_COARSE,
		.steps = 32,
		.settle = 1,
		.profile = 8,
		.min_rate = 25,
		.phase_percent = 30,
		.phase_confirm = 3,
	},
	.reserve = 1,
	.window_kcycles = 1000000,
	.tick_ms = 100,
	.budget = 15,
	.sample_cost = 4000,
	.profile_pages = 98304,
	.pages_per_second = 16384,
};

/* Settings, targets and all that belongs to targets. */
DEFINE_MUTEX(rocs_lock);

struct rocs_target *rocs_targets[ROCS_TARGETS_MAX];

unsigned long rocs_stat[ROCS_NR_STATS];

unsigned int rocs_partitions;
