/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Plan: what is done with a process after each window of measurements?
 *
 * Copyright (C) 2026 The mcube authors
 *
 * Pure: integers only.  See plan.c for the idea.
 */
#ifndef _DRIVERS_MCUBE_ROCS_PLAN_H
#define _DRIVERS_MCUBE_ROCS_PLAN_H

#include <linux/types.h>

#include "phase.h"
#include "search.h"

/**
 * enum rocs_state - where a plan is
 * @ROCS_WATCH: counters only, no page in the partition.
 * @ROCS_PROFILE: accesses are sampled, no page in the partition.
 * @ROCS_SEARCH: the search measures points.
 * @ROCS_HOLD: counters only, the best point is mapped.
 */
enum rocs_state {
	ROCS_WATCH,
	ROCS_PROFILE,
	ROCS_SEARCH,
	ROCS_HOLD,
};

/**
 * struct rocs_window - counts of a window
 * @cycles: cycles of all threads of the process.
 * @instructions: their instructions.
 * @refs: their accesses to the last-level cache.
 * @misses: their misses of the last-level cache.
 */
struct rocs_window {
	u64 cycles;
	u64 instructions;
	u64 refs;
	u64 misses;
};

/**
 * struct rocs_plan_config - settings of a plan
 * @search: kind of the search.
 * @steps: steps of the stack in a search, 1..%ROCS_SEARCH_POINTS - 1.
 * @settle: windows that do not count after pages have moved.
 * @profile: windows that are sampled.
 * @min_rate: misses among accesses from which on a process is profiled, in
 *            percent; 0: any process that misses now and then.
 * @phase_percent: see rocs_phase_window().
 * @phase_confirm: see rocs_phase_window().
 */
struct rocs_plan_config {
	enum rocs_search_kind search;
	u32 steps;
	u32 settle;
	u32 profile;
	u32 min_rate;
	u32 phase_percent;
	u32 phase_confirm;
};

/**
 * struct rocs_plan - the plan of a process
 * @state: where the plan is.
 * @left: windows that still belong to a wait, to settling or to the profile.
 * @backoff: windows of the next wait after a search in vain.
 * @search: the present search, or the last one.
 * @phase: misses per instruction while nothing is tried.
 * @worse: windows in a row that had lost most of the gain.
 * @mapped: pages from the top of the stack that shall be in the partition.
 * @gain: score of the mapped pages against the baseline, in 1/1024 more.
 * @searches: searches that ended.
 * @rollbacks: searches whose gain did not last.
 * @phases: new phases.
 */
struct rocs_plan {
	enum rocs_state state;
	u32 left;
	u32 backoff;
	struct rocs_search search;
	struct rocs_phase phase;
	u32 worse;
	u32 mapped;
	s32 gain;
	u32 searches;
	u32 rollbacks;
	u32 phases;
};

void rocs_plan_init(struct rocs_plan *p);
void rocs_plan_abandon(struct rocs_plan *p);
void rocs_plan_postpone(struct rocs_plan *p);
void rocs_plan_window(struct rocs_plan *p, const struct rocs_plan_config *config,
		      const struct rocs_window *w, u32 stack);
u64 rocs_plan_score(const struct rocs_window *w);

/**
 * rocs_plan_needs_stack() - will the next window end the profile?
 * @p: the plan.
 *
 * Return: true if rocs_plan_window() needs the size of the stack.
 */
static inline bool rocs_plan_needs_stack(const struct rocs_plan *p)
{
	return p->state == ROCS_PROFILE && p->left == 1;
}

#endif /* _DRIVERS_MCUBE_ROCS_PLAN_H */
