// SPDX-License-Identifier: GPL-2.0
/*
 * ROCS: the plan of a process
 *
 * Copyright (C) 2026 The mcube authors
 *
 * The counters of a process are read in windows of some 10^9 cycles.  After each
 * window the plan says whether accesses are sampled, and how many pages from the top
 * of the miss-rate stack shall be in the pollute partition:
 *
 *             misses often                profile complete
 *     WATCH ----------------> PROFILE -----------------------> SEARCH
 *      ^ ^                    sampled                            |   |
 *      | |                                     no point is better|   | best point
 *      | +------------------- wait, then again ------------------+   | is mapped
 *      |                                                             v
 *      +---- new phase, or the gain has not lasted: nothing mapped - HOLD
 *
 * Moving pages costs the process time and cache lines.  So the first windows after
 * pages have moved do not count, and after a search in vain, or one whose gain
 * did not last, the plan waits, twice as long each time.  A new phase ends the wait.
 *
 * The score is instructions per cycle: fewer misses that the program does not wait
 * for are no gain.  Phases are told by misses per instruction, which other
 * processes on the machine change less than instructions per cycle.
 *
 * Source: Soares, Tam and Stumm, MICRO 2008, section 5.
 *
 * Differences from the paper:
 *
 * - The gain is watched while pages are mapped.  If the process loses three quarters of
 *   the gain, the pages move back.
 * - Several processes have a plan each.  Each plan measures its own process, so a
 *   search of one process can disturb the baseline of another process; the watch of the
 *   gain finds the cases that matter.
 * - A process that misses less than once in 1000 instructions is left alone, whatever
 *   its miss rate is.
 */

#include <linux/limits.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "plan.h"

/* Windows to wait after the first search in vain, and at most. */
#define FIRST_WAIT	8U
#define LONGEST_WAIT	512U

/*
 * Scores and misses per instruction are multiples of 1/2^30, so that a process which
 * nearly always waits has a score of many units too.
 */
#define UNIT_SHIFT	30

/* Misses among 1000 instructions that matter for the speed of a process. */
#define MISSES_MIN	1U

/**
 * rocs_plan_init() - begin the plan of a process
 * @p: the plan.
 */
void rocs_plan_init(struct rocs_plan *p)
{
	memset(p, 0, sizeof(*p));
	p->backoff = FIRST_WAIT;
}

/* @part in 1/2^30 of @whole, which is not 0. */
static u64 share(u64 part, u64 whole)
{
	/* Counts of many CPUs and long windows need not be exact to the last bit. */
	while (part >> (64 - UNIT_SHIFT)) {
		part >>= 1;
		whole >>= 1;
	}
	return div64_u64(part << UNIT_SHIFT, max(whole, 1ULL));
}

/**
 * rocs_plan_score() - how fast was the process in a window?
 * @w: the window.
 *
 * Return: instructions per cycle, in 1/2^30.
 */
u64 rocs_plan_score(const struct rocs_window *w)
{
	return w->cycles ? share(w->instructions, w->cycles) : 0;
}

/* Misses per instruction; a program that hardly misses has the same rate all the time. */
static u64 miss_rate(const struct rocs_window *w)
{
	u64 rate = w->instructions ? share(w->misses, w->instructions) : 0;

	/* rocs_phase_window() wants less than 2^48. */
	return clamp(rate, (1ULL << UNIT_SHIFT) * MISSES_MIN / 1000, (1ULL << 48) - 1);
}

/* Has a new phase begun? */
static bool is_new_phase(struct rocs_plan *p, const struct rocs_plan_config *config,
			 const struct rocs_window *w)
{
	bool is_new = rocs_phase_window(&p->phase, miss_rate(w), config->phase_percent,
					config->phase_confirm);

	p->phases += is_new;
	return is_new;
}

/* Does the process miss so often that a search may pay? */
static bool misses_often(const struct rocs_plan_config *config,
			 const struct rocs_window *w)
{
	return w->misses * 1000 >= w->instructions * MISSES_MIN && w->refs &&
		w->misses * 100 >= w->refs * config->min_rate;
}

static void watch(struct rocs_plan *p, u32 wait)
{
	p->state = ROCS_WATCH;
	p->mapped = 0;
	p->gain = 0;
	p->left = wait;
	p->worse = 0;
	p->phase = (struct rocs_phase){ };
}

static void wait_longer(struct rocs_plan *p)
{
	watch(p, p->backoff);
	p->backoff = min(2 * p->backoff, LONGEST_WAIT);
}

/**
 * rocs_plan_abandon() - the caller could not do what the plan says
 * @p: the plan, which waits, and then begins again.
 */
void rocs_plan_abandon(struct rocs_plan *p)
{
	wait_longer(p);
}

/**
 * rocs_plan_postpone() - the caller cannot sample accesses now
 * @p: the plan, which has just begun to profile; it may begin after the next window.
 */
void rocs_plan_postpone(struct rocs_plan *p)
{
	p->state = ROCS_WATCH;
	p->left = 0;
}

static void window_watched(struct rocs_plan *p, const struct rocs_plan_config *config,
			   const struct rocs_window *w)
{
	if (is_new_phase(p, config, w)) {
		p->left = 0;
		p->backoff = FIRST_WAIT;
	}
	if (p->left) {
		p->left--;
	} else if (misses_often(config, w)) {
		p->state = ROCS_PROFILE;
		p->left = config->profile;
	}
}

static void window_profiled(struct rocs_plan *p, const struct rocs_plan_config *config,
			    u32 stack)
{
	if (--p->left)
		return;
	if (!stack) {
		wait_longer(p);
		return;
	}
	p->state = ROCS_SEARCH;
	/* Prefetchers are on again, and pages that lay in the partition have left it. */
	p->left = config->settle;
	rocs_search_begin(&p->search, config->search, stack, stack / config->steps);
}

static void window_searched(struct rocs_plan *p, const struct rocs_plan_config *config,
			    const struct rocs_window *w)
{
	const struct rocs_search_point *best;
	u64 base;

	if (p->left) {
		p->left--;
		return;
	}
	if (rocs_search_measured(&p->search, rocs_plan_score(w))) {
		p->mapped = p->search.index;
		p->left = config->settle;
		return;
	}
	p->searches++;
	if (!p->search.index) {
		wait_longer(p);
		return;
	}
	best = rocs_search_best(&p->search);
	base = max(p->search.point[0].score, 1ULL);
	p->gain = min_t(u64, div64_u64((best->score - base) << 10, base), S32_MAX);
	p->mapped = p->search.index;
	p->left = config->settle;
	p->phase = (struct rocs_phase){ };
	p->state = ROCS_HOLD;
}

/* The score that pages have to be worth their place: a quarter of the gain is left. */
static u64 least_score(const struct rocs_plan *p)
{
	u64 base = p->search.point[0].score;

	return base + base / 4096 * p->gain;
}

static void window_held(struct rocs_plan *p, const struct rocs_plan_config *config,
			const struct rocs_window *w)
{
	if (p->left) {
		p->left--;
		return;
	}
	if (is_new_phase(p, config, w)) {
		p->backoff = FIRST_WAIT;
		watch(p, config->settle);
		return;
	}
	if (rocs_plan_score(w) >= least_score(p)) {
		p->worse = 0;
	} else if (++p->worse >= config->phase_confirm) {
		p->rollbacks++;
		wait_longer(p);
	}
}

/**
 * rocs_plan_window() - decide what is done after a window
 * @p: the plan; @p->state and @p->mapped say what to do until the next window.
 * @config: the settings.
 * @w: counts of the window.
 * @stack: pages of the miss-rate stack; needed if rocs_plan_needs_stack().
 */
void rocs_plan_window(struct rocs_plan *p, const struct rocs_plan_config *config,
		      const struct rocs_window *w, u32 stack)
{
	switch (p->state) {
	case ROCS_WATCH:
		window_watched(p, config, w);
		break;
	case ROCS_PROFILE:
		window_profiled(p, config, stack);
		break;
	case ROCS_SEARCH:
		window_searched(p, config, w);
		break;
	case ROCS_HOLD:
		window_held(p, config, w);
		break;
	}
}
