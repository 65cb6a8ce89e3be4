// SPDX-License-Identifier: GPL-2.0
/*
 * ROCS: pages go to the pollute partition and back
 *
 * Copyright (C) 2026 The mcube authors
 *
 * The plan says how many pages from the top of the miss-rate stack shall be in the
 * partition.  Pages move from where the last move ended:
 *
 *   stack   0 . . . . . . . in . . . . . . . . mapped . . . . . nr_stack
 *           in the partition   [ move these in )
 *
 *           0 . . . . mapped . . . . . . . in . . . . . . . . . nr_stack
 *                     [ move these out     )
 *
 * A page that is already on its side stays: the allocator's mcube_recolor_mm() looks
 * at its color.  So a page that the process has freed and allocated anew does no
 * harm, nor does a page that could not move: it is counted, and left.
 *
 * All targets together move pages_per_second pages at most.  A page that moves costs
 * a copy and the lines of the copy.
 */

#include <linux/minmax.h>
#include <linux/mm_types.h>
#include <linux/pid.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>

#include "../../../mm/mcube/alloc/policy.h"
#include "../../../mm/mcube/alloc/recolor.h"
#include "internal.h"

#include <trace/events/mcube_rocs.h>

/* Pages of a target in a tick; the next target waits. */
#define TICK_PAGES	1024U

/*
 * A target that is leaving gives its pages up when its memory was busy so often.  Pages that
 * move make up for some of these times, so what is tried is bounded by the number of pages.
 */
#define BUSY_MAX	1024U
#define BUSY_LESS	8U

static DEFINE_MCUBE_RECOLOR_BUDGET(budget);

/*
 * Move the next pages of a target, @nr at most.
 * Return: number of pages that were tried; 0 if the memory of the process is busy.
 */
static u32 move_batch(struct rocs_target *t, struct mm_struct *mm, u32 nr)
{
	bool in = t->in < t->plan.mapped;
	u32 from = in ? t->in : t->in - nr, i;
	unsigned long addr[MCUBE_RECOLOR_BATCH];
	struct mcube_recolor_result result = { };

	for (i = 0; i < nr; i++)
		addr[i] = t->stack[from + i].page << PAGE_SHIFT;
	if (mcube_recolor_mm(mm, addr, nr,
			     in ? MCUBE_RECOLOR_POLLUTE : MCUBE_RECOLOR_SPREAD,
			     in && rocs_config.split_thp, &t->next, &result))
		return 0;
	if (in) {
		t->in = from + nr;
		t->most_in = max(t->most_in, t->in);
	} else {
		t->most_in = t->most_in == t->in ? from : t->most_in;
		t->in = from;
	}
	rocs_count(in ? ROCS_STAT_MOVED_IN : ROCS_STAT_MOVED_OUT, result.moved);
	rocs_count(ROCS_STAT_REFUSED, result.refused);
	rocs_count(ROCS_STAT_SPLIT, result.split);
	trace_mcube_rocs_move(pid_nr(t->pid), in, result.moved, result.there,
			      result.refused);
	return nr;
}

static u32 left(const struct rocs_target *t)
{
	u32 mapped = min(t->plan.mapped, t->nr_stack);

	return max(t->in, mapped) - min(t->in, mapped);
}

/**
 * rocs_move_some() - move pages as the plan says
 * @t: the target.
 * @mm: its memory; the caller holds mm_users.
 *
 * The rate is limited, except for a target that is leaving.
 *
 * Context: process, sleeps, rocs_lock held.
 * Return: true if more pages can move at once.
 */
bool rocs_move_some(struct rocs_target *t, struct mm_struct *mm)
{
	u32 tried, nr;

	for (tried = 0; left(t) && tried < TICK_PAGES; tried += nr) {
		nr = min(left(t), MCUBE_RECOLOR_BATCH);
		if (!t->leaving)
			nr = mcube_recolor_grant(&budget, rocs_config.pages_per_second, nr);
		if (!nr || !move_batch(t, mm, nr))
			return false;
		cond_resched();
	}
	return left(t);
}

/**
 * rocs_move_out() - move pages of a target out of the partition
 * @t: the target, which is leaving.
 *
 * Pages that are left since the memory of the process is busy all the time stay, and count
 * as refused.
 *
 * Context: process, sleeps, rocs_lock held.
 * Return: true if more pages shall move out.
 */
bool rocs_move_out(struct rocs_target *t)
{
	u32 before;

	t->plan.mapped = 0;
	t->in = max(t->in, t->most_in);
	/* Without a partition all pages are where they may be. */
	if (!left(t) || !mcube_reserve_nr() || !mmget_not_zero(t->mm))
		return false;
	before = t->in;
	rocs_move_some(t, t->mm);
	mmput_async(t->mm);
	t->moved = t->in < before;
	t->busy = t->moved ? t->busy - min(t->busy, BUSY_LESS) : t->busy + 1;
	if (t->busy < BUSY_MAX)
		return left(t);
	rocs_count(ROCS_STAT_REFUSED, left(t));
	return false;
}
