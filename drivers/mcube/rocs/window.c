// SPDX-License-Identifier: GPL-2.0
/*
 * ROCS: what happens after each window of measurements
 *
 * Copyright (C) 2026 The mcube authors
 *
 * A window ends when the process has run for window_kcycles cycles.  Its counts go to
 * the plan (plan.c), and what the plan says is done:
 *
 *   the plan says         done here
 *   PROFILE begins        prefetchers pause, accesses are sampled
 *   PROFILE goes on       the sampling period follows the budget
 *   PROFILE takes long    where prefetchers pause: sampling ends, the plan waits
 *   PROFILE ends          sampling ends, the stack is made; pages of the stack that
 *                         lie in the partition by chance move out
 *   mapped = n            pages move until the first n of the stack are in the
 *                         partition; the next window begins after that
 *
 * A process that sleeps has no windows.  A profile that keeps the prefetchers of all CPUs
 * off is given up after a time.
 *
 * Source: Soares, Tam and Stumm, MICRO 2008, section 5.
 *
 * Differences from the paper: pages that are in the partition before anything was
 * searched would be evicted by the polluting pages, so these pages leave first.  The
 * paper boots with the partition kept free.
 */

#include <linux/minmax.h>
#include <linux/pid.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "internal.h"
#include "period.h"

#include <trace/events/mcube_rocs.h>

/* A window begins now. */
static void restart(struct rocs_target *t)
{
	t->begin = t->total;
	t->samples = 0;
}

static struct rocs_window window_of(const struct rocs_target *t)
{
	return (struct rocs_window){
		.cycles = t->total.cycles - t->begin.cycles,
		.instructions = t->total.instructions - t->begin.instructions,
		.refs = t->total.refs - t->begin.refs,
		.misses = t->total.misses - t->begin.misses,
	};
}

/* Make the stack of the profile; the old stack has no page in the partition. */
static u32 make_stack(struct rocs_target *t)
{
	u32 rate = ROCS_RATE_ONE / 100 * rocs_config.stack_rate;
	struct rocs_entry *stack;

	kvfree(t->stack);
	t->stack = NULL;
	t->nr_stack = 0;
	stack = kvmalloc_array(max(t->profile.nr, 1U), sizeof(*stack), GFP_KERNEL);
	if (!stack)
		return 0;
	t->stack = stack;
	t->nr_stack = rocs_profile_stack(&t->profile, stack, t->profile.nr, rate);
	/* What lies in the partition by chance moves out, as if it had been moved in. */
	t->in = t->nr_stack;
	t->most_in = t->nr_stack;
	return t->nr_stack;
}

/* The state has changed from @old. */
static void changed(struct rocs_target *t, enum rocs_state old)
{
	if (t->plan.state == ROCS_PROFILE) {
		if (!t->period)
			t->period = rocs_period_first(rocs_event_most(&t->last),
						      t->last.cycles,
						      rocs_config.sample_cost,
						      rocs_config.budget);
		if (rocs_target_sample(t, true)) {
			rocs_plan_abandon(&t->plan);
			return;
		}
		rocs_prefetch_profiles(1);
	}
	/* After a change of the partition, all pages may still be on their way. */
	if (t->plan.state == ROCS_WATCH)
		t->in = t->most_in;
	if (old == ROCS_PROFILE) {
		rocs_target_sample(t, false);
		rocs_prefetch_profiles(-1);
	}
	trace_mcube_rocs_state(pid_nr(t->pid), old, t->plan.state, t->plan.mapped,
			       t->plan.gain);
}

static void follow_budget(struct rocs_target *t, const struct rocs_window *w)
{
	rocs_target_set_period(t, rocs_period_next(t->period, t->samples, w->cycles,
						   rocs_config.sample_cost,
						   rocs_config.budget));
}

static void end_window(struct rocs_target *t, const struct rocs_window *w)
{
	u32 searches = t->plan.searches, rollbacks = t->plan.rollbacks;
	u32 phases = t->plan.phases;
	enum rocs_state old = t->plan.state;
	u32 stack = 0;

	t->last = *w;
	t->windows++;
	t->waiting = 0;
	trace_mcube_rocs_window(pid_nr(t->pid), old, t->plan.mapped, w);
	if (old == ROCS_PROFILE)
		follow_budget(t, w);
	if (rocs_plan_needs_stack(&t->plan))
		stack = make_stack(t);
	rocs_plan_window(&t->plan, &rocs_config.plan, w, stack);
	if (old == ROCS_WATCH && t->plan.state == ROCS_PROFILE &&
	    !rocs_prefetch_may_pause())
		rocs_plan_postpone(&t->plan);
	if (t->plan.state != old)
		changed(t, old);
	rocs_count(ROCS_STAT_WINDOWS, 1);
	rocs_count(ROCS_STAT_SEARCHES, t->plan.searches - searches);
	rocs_count(ROCS_STAT_ROLLBACKS, t->plan.rollbacks - rollbacks);
	rocs_count(ROCS_STAT_PHASES, t->plan.phases - phases);
	restart(t);
}

/*
 * The partition has other colors.  Pages that shall be there are moved anew: a page whose
 * color is still reserved stays.  Pages that are on their way out go first.  Points of a
 * search under different partitions cannot be compared.
 */
static void follow_partition(struct rocs_target *t)
{
	unsigned int now = READ_ONCE(rocs_partitions);

	if (t->partition == now || t->in > t->plan.mapped)
		return;
	t->partition = now;
	if (t->plan.state == ROCS_SEARCH)
		rocs_plan_abandon(&t->plan);
	else if (t->plan.state == ROCS_HOLD)
		t->in = 0;
}

static void give_up_profile(struct rocs_target *t)
{
	rocs_plan_abandon(&t->plan);
	changed(t, ROCS_PROFILE);
	restart(t);
}

/**
 * rocs_window_look() - look at a target, and end its window
 * @t: the target.
 *
 * Context: process, sleeps, rocs_lock held, samples drained.
 */
void rocs_window_look(struct rocs_target *t)
{
	struct rocs_window w;

	rocs_target_look(t);
	if (t->in != t->plan.mapped)
		return;
	if (t->moved) {
		t->moved = false;
		restart(t);
		return;
	}
	w = window_of(t);
	if (w.cycles >= 1000ULL * rocs_config.window_kcycles)
		end_window(t, &w);
}

/**
 * rocs_window_move() - move pages of a target as its plan says
 * @t: the target; removed if its process has ended or runs another program.
 *
 * Context: process, sleeps, rocs_lock held, samples drained.
 * Return: true if more pages can move at once.
 */
bool rocs_window_move(struct rocs_target *t)
{
	struct mm_struct *mm = t->mm;
	bool more = false;

	/* The next tick moves more pages of a target that is leaving. */
	if (t->leaving)
		return t->moved;
	if (rocs_target_gone(t) || !mmget_not_zero(mm))
		return !rocs_target_remove(t);
	follow_partition(t);
	if (t->in != t->plan.mapped) {
		t->moved = true;
		more = rocs_move_some(t, mm);
	} else if (t->plan.state == ROCS_PROFILE && rocs_prefetch_too_long()) {
		give_up_profile(t);
	}
	/* The last reference may be dropped here, which takes long. */
	mmput_async(mm);
	return more;
}
