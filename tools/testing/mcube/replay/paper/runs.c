// SPDX-License-Identifier: GPL-2.0
/*
 * UBM: the runs of a file, and what happens to them
 *
 * Copyright (C) 2026 The mcube authors
 *
 * The detector (detector.c) finds out where a stream reads, and says what becomes of the
 * runs there:
 *
 *   add      a stream has read pages that are in no run
 *   split    a pass begins within a run, or ends there: its parts have periods of their own
 *   pass     a stream has come to the start of a run again: it is a loop
 *   merge    a stream reads two loops in a row: they become a single loop
 *
 * A file has a list of its runs, the run that was referenced last first.  A domain has
 * room for a fixed number of runs, and counts its loops by period, so each change of a
 * loop takes the loop out of the count and puts it back.  When room is short, runs that
 * hold nothing go first.
 */

#include <linux/compiler.h>
#include <linux/limits.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "runs.h"

static u32 length(const struct mcube_ubm_run *r)
{
	return r->end - r->start;
}

/**
 * mcube_ubm_run_uncount() - take a run out of the sums of its bucket, to change it
 * @runs: the runs of the domain.
 * @r: the run.
 */
void mcube_ubm_run_uncount(struct mcube_ubm_runs *runs, const struct mcube_ubm_run *r)
{
	if (r->bucket < MCUBE_UBM_BUCKETS)
		mcube_ubm_loops_remove(&runs->loops, r->bucket, r->reach, r->held);
}

/**
 * mcube_ubm_run_count() - put a run back into the sums of its bucket
 * @runs: the runs of the domain.
 * @r: the run.
 */
void mcube_ubm_run_count(struct mcube_ubm_runs *runs, const struct mcube_ubm_run *r)
{
	if (r->bucket < MCUBE_UBM_BUCKETS)
		mcube_ubm_loops_add(&runs->loops, r->bucket, r->reach, r->held);
}

/* A run that is no loop holds nothing. */
static void leave_loops(struct mcube_ubm_runs *runs, struct mcube_ubm_run *r,
			enum mcube_ubm_class class)
{
	mcube_ubm_run_uncount(runs, r);
	r->bucket = MCUBE_UBM_BUCKETS;
	r->held = 0;
	r->reach = 0;
	r->class = class;
}

static void unlink(const struct mcube_ubm_runs *runs,
		   struct mcube_ubm_trail *trail, u32 id)
{
	u32 *link = &trail->runs;

	while (*link != id)
		link = &mcube_ubm_run_at(runs, *link)->next;
	*link = mcube_ubm_run_at(runs, id)->next;
}

static void put_first(const struct mcube_ubm_runs *runs,
		      struct mcube_ubm_trail *trail, u32 id)
{
	mcube_ubm_run_at(runs, id)->next = trail->runs;
	trail->runs = id;
}

/**
 * mcube_ubm_run_front() - a run is referenced: the first of its file
 * @runs: the runs of the domain.
 * @trail: the file.
 * @id: the run.
 */
void mcube_ubm_run_front(const struct mcube_ubm_runs *runs, struct mcube_ubm_trail *trail,
			 u32 id)
{
	unlink(runs, trail, id);
	put_first(runs, trail, id);
}

static void drop(struct mcube_ubm_runs *runs, struct mcube_ubm_trail *trail,
		 u32 id)
{
	leave_loops(runs, mcube_ubm_run_at(runs, id), MCUBE_UBM_OTHER);
	unlink(runs, trail, id);
	trail->nr--;
	mcube_ubm_run_at(runs, id)->next = runs->free;
	runs->free = id;
	runs->nr--;
}

/*
 * The run that a file can do without: of those that hold nothing, the run that was
 * referenced longest ago.  Not @keep, and none of the runs that the present note has
 * visited, which are first in the list.
 */
static u32 dispensable(const struct mcube_ubm_runs *runs,
		       const struct mcube_ubm_trail *trail, u32 keep)
{
	u32 id, last = MCUBE_UBM_NONE, unheld = MCUBE_UBM_NONE, skip = 0;

	for (id = trail->runs; id != MCUBE_UBM_NONE; id = mcube_ubm_run_at(runs, id)->next) {
		if (skip++ <= MCUBE_UBM_STEPS + 1 || id == keep)
			continue;
		last = id;
		if (!mcube_ubm_run_at(runs, id)->held)
			unheld = id;
	}
	return unheld != MCUBE_UBM_NONE ? unheld : last;
}

/**
 * mcube_ubm_run_add() - make a run
 * @runs: the runs of the domain.
 * @trail: the file.
 * @start: first page.
 * @end: page after the last page.
 * @now: the clock.
 * @keep: a run that must not make room, or MCUBE_UBM_NONE.
 *
 * Return: the run, or MCUBE_UBM_NONE if there is no room.
 */
u32 mcube_ubm_run_add(struct mcube_ubm_runs *runs, struct mcube_ubm_trail *trail,
		      u32 start, u32 end, u32 now, u32 keep)
{
	struct mcube_ubm_run *r;
	u32 id;

	if (trail->nr == MCUBE_UBM_FILE_RUNS ||
	    (runs->free == MCUBE_UBM_NONE && runs->used == runs->size)) {
		id = dispensable(runs, trail, keep);
		if (id == MCUBE_UBM_NONE)
			return id;
		drop(runs, trail, id);
	}
	if (runs->free != MCUBE_UBM_NONE) {
		id = runs->free;
		runs->free = mcube_ubm_run_at(runs, id)->next;
	} else {
		id = runs->used++;
	}
	r = mcube_ubm_run_at(runs, id);
	*r = (struct mcube_ubm_run){
		.start = start,
		.end = end,
		.cursor = end,
		.proposed = start,
		.began = now,
		.last = now,
		.passes = 1,
		.class = MCUBE_UBM_SEQ,
		.bucket = MCUBE_UBM_BUCKETS,
	};
	runs->nr++;
	put_first(runs, trail, id);
	trail->nr++;
	return id;
}

/* When the present pass read a page before the cursor. */
static u32 time_of(const struct mcube_ubm_run *r, u32 page)
{
	if (page <= r->start || r->cursor == r->start)
		return r->began;
	return r->began + div_u64((u64)(r->last - r->began) * (page - r->start),
				  r->cursor - r->start);
}

/**
 * mcube_ubm_run_split() - cut a run in two
 * @runs: the runs of the domain.
 * @trail: the file.
 * @id: the run.
 * @at: first page of the second part.
 *
 * Return: the second part, or MCUBE_UBM_NONE if there is no room.
 */
u32 mcube_ubm_run_split(struct mcube_ubm_runs *runs, struct mcube_ubm_trail *trail,
			u32 id, u32 at)
{
	u32 tail = mcube_ubm_run_add(runs, trail, at, mcube_ubm_run_at(runs, id)->end, 0, id);
	struct mcube_ubm_run *r = mcube_ubm_run_at(runs, id), *t;
	u32 keep = at - r->start;

	if (tail == MCUBE_UBM_NONE)
		return tail;
	t = mcube_ubm_run_at(runs, tail);
	mcube_ubm_run_uncount(runs, r);
	t->cursor = max(at, r->cursor);
	t->proposed = max(at, r->proposed);
	t->period = r->period;
	t->reach = r->reach - min(r->reach, keep);
	t->held = r->held - min(r->held, keep);
	t->passes = r->passes;
	t->class = r->class;
	t->bucket = r->bucket;
	t->last = r->last;
	if (r->cursor > at) {
		t->began = time_of(r, at);
		r->last = t->began;
		r->cursor = at;
	} else {
		/* The pages were read by the pass before; how fast is not known. */
		t->cursor = t->end;
		t->began = r->began - r->period + (r->last - r->began);
		t->last = t->began;
		if ((s32)(r->began - t->last) < 0)
			t->last = r->began;
	}
	r->proposed = min(r->proposed, at);
	r->reach = min(r->reach, keep);
	r->held = min(r->held, keep);
	r->end = at;
	mcube_ubm_run_count(runs, r);
	mcube_ubm_run_count(runs, t);
	return tail;
}

/**
 * mcube_ubm_run_pass() - a stream has read the first pages of a run: the next pass
 * @runs: the runs of the domain.
 * @trail: the file.
 * @id: the run.
 * @began: time of the first of these references.
 */
void mcube_ubm_run_pass(struct mcube_ubm_runs *runs,
			struct mcube_ubm_trail *trail, u32 id, u32 began)
{
	const struct mcube_ubm_rules *rules = &runs->rules;
	struct mcube_ubm_run *r = mcube_ubm_run_at(runs, id);
	u32 sample = began - r->began, dead;

	/* The cursor is older than the pass, or a tiny file is read again at once. */
	if ((s32)sample <= 0 || (sample < 2 * length(r) && length(r) <= rules->min))
		return;
	if (r->cursor > r->start && r->end - r->cursor >= max(rules->min, rules->gap + 1) &&
	    r->cursor < r->end)
		mcube_ubm_run_split(runs, trail, id, r->cursor);
	mcube_ubm_run_uncount(runs, r);
	dead = min_t(u64, (u64)r->period * rules->age / 2, U32_MAX);
	if (r->class == MCUBE_UBM_LOOP && began - r->last <= dead)
		r->period += (s32)(sample - r->period) / 4;
	else
		r->period = sample;
	r->period = max(r->period, 1U);
	r->bucket = mcube_ubm_bucket_keep(r->bucket, r->period);
	r->class = MCUBE_UBM_LOOP;
	if (r->passes < U16_MAX)
		r->passes++;
	r->began = began;
	r->cursor = r->start;
	r->proposed = r->start;
	mcube_ubm_run_count(runs, r);
}

/**
 * mcube_ubm_run_merge() - make a single loop of two that a stream reads in a row
 * @runs: the runs of the domain.
 * @trail: the file.
 * @id: the loop that remains.
 * @next: the loop that starts where @id ends.
 */
void mcube_ubm_run_merge(struct mcube_ubm_runs *runs, struct mcube_ubm_trail *trail,
			 u32 id, u32 next)
{
	struct mcube_ubm_run *r = mcube_ubm_run_at(runs, id), *n = mcube_ubm_run_at(runs, next);

	mcube_ubm_run_uncount(runs, r);
	mcube_ubm_run_uncount(runs, n);
	if (r->held == length(r))
		r->held += n->held;
	if (r->reach == length(r))
		r->reach += n->reach;
	n->bucket = MCUBE_UBM_BUCKETS;
	r->end = n->end;
	r->cursor = n->cursor;
	r->last = n->last;
	drop(runs, trail, next);
	mcube_ubm_run_count(runs, r);
}

static bool alike(u32 a, u32 b)
{
	return mcube_ubm_distance(a, b) <= min(a, b) / 4;
}

/**
 * mcube_ubm_run_before() - the loop that a stream has come from
 * @runs: the runs of the domain.
 * @trail: the file.
 * @id: the loop that the stream reads.
 *
 * Return: the loop that ends where @id starts and has the same pass, or MCUBE_UBM_NONE.
 */
u32 mcube_ubm_run_before(const struct mcube_ubm_runs *runs,
			 const struct mcube_ubm_trail *trail, u32 id)
{
	const struct mcube_ubm_run *n = mcube_ubm_run_at(runs, id), *r;
	u32 i;

	for (i = trail->runs; i != MCUBE_UBM_NONE; i = r->next) {
		r = mcube_ubm_run_at(runs, i);
		if (i != id && r->end == n->start && r->cursor == r->end &&
		    r->class == MCUBE_UBM_LOOP && n->class == MCUBE_UBM_LOOP &&
		    alike(r->period, n->period) &&
		    mcube_ubm_distance(n->began - r->began, length(r)) <= n->period / 2 &&
		    n->began - r->last <= r->period / 8)
			return i;
	}
	return MCUBE_UBM_NONE;
}

/**
 * mcube_ubm_trail_age() - let loops die that are not seen any more
 * @runs: the runs of the domain.
 * @trail: what is known of a file.
 * @now: the clock.
 *
 * A loop that is late counts as a loop of the longer period that it has at least.
 */
void mcube_ubm_trail_age(struct mcube_ubm_runs *runs,
			 struct mcube_ubm_trail *trail, u32 now)
{
	struct mcube_ubm_run *r;
	u32 id, next, idle;

	for (id = trail->runs; id != MCUBE_UBM_NONE; id = next) {
		r = mcube_ubm_run_at(runs, id);
		next = r->next;
		idle = now - r->last;
		if (idle > 1U << 30) {
			drop(runs, trail, id);
		} else if (r->class != MCUBE_UBM_LOOP) {
			continue;
		} else if (idle > (u64)r->period * runs->rules.age / 2) {
			leave_loops(runs, r, MCUBE_UBM_OTHER);
		} else if (idle > r->period) {
			mcube_ubm_run_uncount(runs, r);
			r->bucket = mcube_ubm_bucket_keep(r->bucket, idle);
			mcube_ubm_run_count(runs, r);
		}
	}
}

/**
 * mcube_ubm_trail_held() - pages of a file that are held
 * @runs: the runs of the domain.
 * @trail: what is known of the file.
 *
 * Return: number of pages.
 */
u32 mcube_ubm_trail_held(const struct mcube_ubm_runs *runs,
			 const struct mcube_ubm_trail *trail)
{
	u32 id, held = 0;

	for (id = trail->runs; id != MCUBE_UBM_NONE; id = mcube_ubm_run_at(runs, id)->next)
		held += mcube_ubm_run_at(runs, id)->held;
	return held;
}

/**
 * mcube_ubm_trail_holds() - is a page of a file held?
 * @runs: the runs of the domain.
 * @trail: what is known of the file.
 * @index: the page.
 *
 * Context: any; see mcube_ubm_core_held() for a call without the lock.
 * Return: true if the page is to stay in memory.
 */
bool mcube_ubm_trail_holds(const struct mcube_ubm_runs *runs,
			   const struct mcube_ubm_trail *trail, u32 index)
{
	const struct mcube_ubm_run *r;
	u32 id = READ_ONCE(trail->runs), steps;

	/* The list may change meanwhile, even turn into a list of another file. */
	for (steps = 0; id < runs->size && steps < MCUBE_UBM_FILE_RUNS; steps++) {
		r = mcube_ubm_run_at(runs, id);
		if (index - READ_ONCE(r->start) < READ_ONCE(r->held))
			return true;
		id = READ_ONCE(r->next);
	}
	return false;
}

/**
 * mcube_ubm_run_hold() - hold more pages of a loop, or less
 * @runs: the runs of the domain.
 * @run: the loop.
 * @held: pages from its start on to hold.
 */
void mcube_ubm_run_hold(struct mcube_ubm_runs *runs, struct mcube_ubm_run *run,
			u32 held)
{
	mcube_ubm_run_uncount(runs, run);
	run->held = held;
	mcube_ubm_run_count(runs, run);
}

/**
 * mcube_ubm_trail_init() - begin to know a file
 * @trail: filled in.
 */
void mcube_ubm_trail_init(struct mcube_ubm_trail *trail)
{
	memset(trail, 0, sizeof(*trail));
	trail->runs = MCUBE_UBM_NONE;
}

/**
 * mcube_ubm_trail_forget() - free the runs of a file
 * @runs: the runs of the domain.
 * @trail: what is known of the file; nothing afterwards.
 */
void mcube_ubm_trail_forget(struct mcube_ubm_runs *runs,
			    struct mcube_ubm_trail *trail)
{
	while (trail->runs != MCUBE_UBM_NONE)
		drop(runs, trail, trail->runs);
	mcube_ubm_trail_init(trail);
}

/**
 * mcube_ubm_runs_init() - begin without runs
 * @runs: filled in.
 * @run: room for @size runs, which belongs to @runs.
 * @size: number of runs.
 * @rules: what a run is.
 */
void mcube_ubm_runs_init(struct mcube_ubm_runs *runs, struct mcube_ubm_run *run,
			 u32 size, const struct mcube_ubm_rules *rules)
{
	memset(runs, 0, sizeof(*runs));
	runs->run = run;
	runs->size = size;
	runs->free = MCUBE_UBM_NONE;
	runs->rules = *rules;
}
