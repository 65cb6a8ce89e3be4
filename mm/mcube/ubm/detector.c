// SPDX-License-Identifier: GPL-2.0
/*
 * UBM detector: runs of pages that are read in order, and how often
 *
 * Copyright (C) 2026 The mcube authors
 *
 * A program that reads a file in order leaves a run: pages, and the times when a
 * pass over them began.  A run that was passed once is sequential.  A run that is
 * passed again is a loop, and the time from pass to pass is its period:
 *
 *   page
 *    end |      /        /        /|
 *        |     /        /        / |<- cursor
 *        |    /        /        /
 *  start |   /        /        /
 *        +---+--------+--------+------> time, in references of the domain
 *            began    |<period>|
 *
 * A reference first moves the cursor of a run, if it lies there.  If not, it moves
 * one of a few cursors of the file that may become a run or a pass, or the reference
 * takes over the oldest of these cursors.  A cursor that has seen enough pages is
 * confirmed, and what follows depends on where it began:
 *
 *   at the start of a run       the next pass over the run
 *   within a run                the run is split there, and the pass is over its
 *                               second part
 *   elsewhere                   a new run
 *
 * So several streams that read a file at the same time each have their cursor, and a
 * reference to the first page of a run does not disturb a stream in its middle.
 * A pass that ends early splits the run as well: pages beyond have a longer period.
 * Two loops side by side with equal periods that are read by a single stream become
 * one loop.
 *
 * Source: Kim et al., OSDI 2000, section 3.1, figures 3 and 4.
 *
 * Differences from the paper:
 *
 *  - The paper has one cursor per file.  Two programs that read a file, or a program
 *    that reads two parts of it, look random there.
 *  - A stream may jump over a few pages, or go back a few.
 *  - The second reference to the start of a sequence is not a loop yet: a program that
 *    looks at a header must not start a pass.
 *  - The period is a moving mean, and a loop that was not seen for some periods is
 *    dead.  In the paper it stays a loop until its pages are gone.
 *  - A small file that was read whole is a run of any length.  So a loop over many
 *    small files is seen as many short loops of the same period.
 *  - References are noted by chunks: a note may say that the descriptor has read on
 *    from its last note, which moves the cursor over all pages between.
 */

#include <linux/compiler.h>
#include <linux/limits.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "detector.h"

static struct mcube_ubm_run *run_at(const struct mcube_ubm_runs *runs, u32 id)
{
	return &runs->run[id];
}

static u32 length(const struct mcube_ubm_run *r)
{
	return r->end - r->start;
}

static u32 distance(u32 a, u32 b)
{
	return a < b ? b - a : a - b;
}

/* Take a run out of the sums of its bucket, to change it, and put it back. */
static void uncount(struct mcube_ubm_runs *runs, const struct mcube_ubm_run *r)
{
	if (r->bucket < MCUBE_UBM_BUCKETS)
		mcube_ubm_loops_remove(&runs->loops, r->bucket, r->reach, r->held);
}

static void count(struct mcube_ubm_runs *runs, const struct mcube_ubm_run *r)
{
	if (r->bucket < MCUBE_UBM_BUCKETS)
		mcube_ubm_loops_add(&runs->loops, r->bucket, r->reach, r->held);
}

/* A run that is no loop holds nothing. */
static void leave_loops(struct mcube_ubm_runs *runs, struct mcube_ubm_run *r,
			enum mcube_ubm_class class)
{
	uncount(runs, r);
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
		link = &run_at(runs, *link)->next;
	*link = run_at(runs, id)->next;
}

static void put_first(const struct mcube_ubm_runs *runs,
		      struct mcube_ubm_trail *trail, u32 id)
{
	run_at(runs, id)->next = trail->runs;
	trail->runs = id;
}

static void drop(struct mcube_ubm_runs *runs, struct mcube_ubm_trail *trail,
		 u32 id)
{
	leave_loops(runs, run_at(runs, id), MCUBE_UBM_OTHER);
	unlink(runs, trail, id);
	trail->nr--;
	run_at(runs, id)->next = runs->free;
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

	for (id = trail->runs; id != MCUBE_UBM_NONE; id = run_at(runs, id)->next) {
		if (skip++ <= MCUBE_UBM_STEPS + 1 || id == keep)
			continue;
		last = id;
		if (!run_at(runs, id)->held)
			unheld = id;
	}
	return unheld != MCUBE_UBM_NONE ? unheld : last;
}

static u32 add_run(struct mcube_ubm_runs *runs, struct mcube_ubm_trail *trail,
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
		runs->free = run_at(runs, id)->next;
	} else {
		id = runs->used++;
	}
	r = run_at(runs, id);
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

/* Cut a run in two.  Return: the second part, from @at on, or none. */
static u32 split(struct mcube_ubm_runs *runs, struct mcube_ubm_trail *trail,
		 u32 id, u32 at)
{
	u32 tail = add_run(runs, trail, at, run_at(runs, id)->end, 0, id);
	struct mcube_ubm_run *r = run_at(runs, id), *t;
	u32 keep = at - r->start;

	if (tail == MCUBE_UBM_NONE)
		return tail;
	t = run_at(runs, tail);
	uncount(runs, r);
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
	count(runs, r);
	count(runs, t);
	return tail;
}

/* A stream has read the first pages of a run: the next pass. */
static void begin_pass(struct mcube_ubm_runs *runs,
		       struct mcube_ubm_trail *trail, u32 id, u32 began)
{
	const struct mcube_ubm_rules *rules = &runs->rules;
	struct mcube_ubm_run *r = run_at(runs, id);
	u32 sample = began - r->began, dead;

	/* The cursor is older than the pass, or a tiny file is read again at once. */
	if ((s32)sample <= 0 || (sample < 2 * length(r) && length(r) <= rules->min))
		return;
	if (r->cursor > r->start && r->end - r->cursor >= max(rules->min, rules->gap + 1) &&
	    r->cursor < r->end)
		split(runs, trail, id, r->cursor);
	uncount(runs, r);
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
	count(runs, r);
}

/* Make one loop of two that lie side by side and have the same pass. */
static void merge(struct mcube_ubm_runs *runs, struct mcube_ubm_trail *trail,
		  u32 id, u32 next)
{
	struct mcube_ubm_run *r = run_at(runs, id), *n = run_at(runs, next);

	uncount(runs, r);
	uncount(runs, n);
	if (r->held == length(r))
		r->held += n->held;
	if (r->reach == length(r))
		r->reach += n->reach;
	n->bucket = MCUBE_UBM_BUCKETS;
	r->end = n->end;
	r->cursor = n->cursor;
	r->last = n->last;
	drop(runs, trail, next);
	count(runs, r);
}

static bool alike(u32 a, u32 b)
{
	return distance(a, b) <= min(a, b) / 4;
}

/* The loop that ends where @id starts, if the stream has come from there. */
static u32 before(const struct mcube_ubm_runs *runs,
		  const struct mcube_ubm_trail *trail, u32 id)
{
	const struct mcube_ubm_run *n = run_at(runs, id), *r;
	u32 i;

	for (i = trail->runs; i != MCUBE_UBM_NONE; i = r->next) {
		r = run_at(runs, i);
		if (i != id && r->end == n->start && r->cursor == r->end &&
		    r->class == MCUBE_UBM_LOOP && n->class == MCUBE_UBM_LOOP &&
		    alike(r->period, n->period) &&
		    distance(n->began - r->began, length(r)) <= n->period / 2 &&
		    n->began - r->last <= r->period / 8)
			return i;
	}
	return MCUBE_UBM_NONE;
}

static void touch(struct mcube_ubm_runs *runs, struct mcube_ubm_trail *trail,
		  struct mcube_ubm_touched *touched, u32 id, u8 class)
{
	unlink(runs, trail, id);
	put_first(runs, trail, id);
	if (run_at(runs, id)->class != class)
		touched->changed |= 1U << touched->nr;
	touched->run[touched->nr++] = id;
	touched->class = run_at(runs, id)->class;
}

/* Start of the first run after the end of a run. */
static u32 limit(const struct mcube_ubm_runs *runs,
		 const struct mcube_ubm_trail *trail, u32 of)
{
	const struct mcube_ubm_run *r;
	u32 id, nearest = U32_MAX;

	for (id = trail->runs; id != MCUBE_UBM_NONE; id = r->next) {
		r = run_at(runs, id);
		if (id != of && r->start >= run_at(runs, of)->end)
			nearest = min(nearest, r->start);
	}
	return nearest;
}

/* Is this the first pass, which makes the run longer? */
static bool grows(const struct mcube_ubm_runs *runs,
		  const struct mcube_ubm_trail *trail, u32 id)
{
	const struct mcube_ubm_run *r = run_at(runs, id);

	return r->passes == 1 && r->cursor == r->end &&
	       limit(runs, trail, id) > r->end;
}

/* The stream of a run has come to @end.  Return: the page that is not in the run. */
static u32 advance(struct mcube_ubm_runs *runs, struct mcube_ubm_trail *trail,
		   u32 id, u32 end, u32 now)
{
	struct mcube_ubm_run *r = run_at(runs, id);

	r->last = now;
	trail->random = 0;
	if (trail->mixed)
		trail->mixed--;
	if (end > r->end && grows(runs, trail, id)) {
		r->end = min(end, limit(runs, trail, id));
		r->cursor = r->end;
	} else if (end > r->cursor) {
		uncount(runs, r);
		r->cursor = min(end, r->end);
		if (r->class == MCUBE_UBM_LOOP)
			r->reach = max(r->reach, r->cursor - r->start);
		count(runs, r);
	}
	return end <= r->cursor ? end : r->cursor;
}

/* Enough pages for a run, or for a pass over the run at its start? */
static bool confirmed(const struct mcube_ubm_runs *runs,
		      const struct mcube_ubm_cursor *c, bool eof)
{
	if (eof && !c->start)
		return true;
	return c->steps >= 2 && c->next - c->start >= runs->rules.min;
}

/* The run that page @at is in, or that starts shortly after. */
static u32 run_of(const struct mcube_ubm_runs *runs,
		  const struct mcube_ubm_trail *trail, u32 at)
{
	const struct mcube_ubm_run *r;
	u32 id;

	for (id = trail->runs; id != MCUBE_UBM_NONE; id = r->next) {
		r = run_at(runs, id);
		if (at < r->end && r->start <= at + min(runs->rules.gap, ~at))
			return id;
	}
	return MCUBE_UBM_NONE;
}

/* Make a run or a pass of a cursor.  Return: the run, or none. */
static u32 confirm(struct mcube_ubm_runs *runs, struct mcube_ubm_trail *trail,
		   struct mcube_ubm_cursor *c, struct mcube_ubm_touched *touched)
{
	u32 id = run_of(runs, trail, c->start), other, at = c->start;
	struct mcube_ubm_run *r;
	u8 class = U8_MAX;

	c->next = c->start;
	if (id != MCUBE_UBM_NONE) {
		r = run_at(runs, id);
		if (at > r->start && at - r->start > runs->rules.gap) {
			id = split(runs, trail, id, at);
			if (id == MCUBE_UBM_NONE)
				return id;
			r = run_at(runs, id);
		}
		class = r->class;
		begin_pass(runs, trail, id, c->began);
	} else {
		id = add_run(runs, trail, at, at, c->began, MCUBE_UBM_NONE);
		if (id == MCUBE_UBM_NONE)
			return id;
	}
	other = before(runs, trail, id);
	if (other != MCUBE_UBM_NONE) {
		merge(runs, trail, other, id);
		id = other;
	}
	touch(runs, trail, touched, id, class);
	return id;
}

/* How well a note continues a stream: from the next page on, nearly, or not at all. */
enum match { MATCH_NONE, MATCH_NEAR, MATCH_EXACT };

static enum match match(const struct mcube_ubm_rules *rules, u32 next, u32 first,
			u32 prev)
{
	bool went_on = prev == first && next < first &&
		       first - next <= 1U << rules->chunk_shift;

	if (first != next && !went_on)
		return distance(first, next) <= rules->gap ? MATCH_NEAR : MATCH_NONE;
	return MATCH_EXACT;
}

/* The run that is continued best. */
static u32 followed(const struct mcube_ubm_runs *runs,
		    const struct mcube_ubm_trail *trail, u32 first, u32 prev,
		    u32 end, enum match *found)
{
	const struct mcube_ubm_run *r;
	u32 id, best = MCUBE_UBM_NONE;
	enum match m;

	*found = MATCH_NONE;
	for (id = trail->runs; id != MCUBE_UBM_NONE && *found < MATCH_EXACT; id = r->next) {
		r = run_at(runs, id);
		m = match(&runs->rules, r->cursor, first, prev);
		if (m <= *found)
			continue;
		if (r->cursor < r->end || (end > r->end && grows(runs, trail, id))) {
			*found = m;
			best = id;
		}
	}
	return best;
}

/* The cursor that is continued best; MCUBE_UBM_CURSORS for none. */
static u32 cursor_of(const struct mcube_ubm_runs *runs,
		     const struct mcube_ubm_trail *trail, u32 first, u32 prev,
		     enum match *found)
{
	const struct mcube_ubm_cursor *c = trail->cursor;
	u32 i, best = MCUBE_UBM_CURSORS;
	enum match m;

	*found = MATCH_NONE;
	for (i = 0; i < MCUBE_UBM_CURSORS && *found < MATCH_EXACT; i++) {
		/* Back to the start is a new beginning. */
		if (c[i].next == c[i].start || first <= c[i].start)
			continue;
		m = match(&runs->rules, c[i].next, first, prev);
		if (m > *found) {
			*found = m;
			best = i;
		}
	}
	return best;
}

/* Make a cursor the first: the cursor @at, or a cursor that begins here. */
static struct mcube_ubm_cursor *take_cursor(struct mcube_ubm_trail *trail, u32 at,
					    u32 first, u32 now)
{
	struct mcube_ubm_cursor *c = trail->cursor, found;

	if (at < MCUBE_UBM_CURSORS) {
		found = c[at];
	} else {
		at = MCUBE_UBM_CURSORS - 1;
		found = (struct mcube_ubm_cursor){
			.start = first, .next = first, .began = now,
		};
		if (trail->random < U8_MAX)
			trail->random++;
		if (trail->mixed < U8_MAX)
			trail->mixed++;
	}
	memmove(c + 1, c, at * sizeof(*c));
	c[0] = found;
	return c;
}

/**
 * mcube_ubm_detect() - note that pages of a file are read
 * @runs: the runs of the domain.
 * @trail: what is known of the file.
 * @first: first page.
 * @nr: number of pages, not 0.
 * @prev: page after those that the same descriptor read before, or
 *        MCUBE_UBM_NO_PREV.  If it is @first, the pages from the last note up to
 *        @first were read too.
 * @eof: the file ends after the pages.
 * @now: the clock: references of the domain before these.
 * @touched: filled in.
 */
void mcube_ubm_detect(struct mcube_ubm_runs *runs,
		      struct mcube_ubm_trail *trail, u32 first, u32 nr,
		      u32 prev, bool eof, u32 now,
		      struct mcube_ubm_touched *touched)
{
	u32 end = first + min(nr, U32_MAX - first), at = first, id, i;
	enum match by_run, by_cursor;
	struct mcube_ubm_cursor *c;
	u32 steps = 1;

	memset(touched, 0, sizeof(*touched));
	touched->from = first;
	id = followed(runs, trail, first, prev, end, &by_run);
	i = cursor_of(runs, trail, first, prev, &by_cursor);
	if (by_run && by_run >= by_cursor) {
		if (prev == first)
			touched->from = min(first, run_at(runs, id)->cursor);
		touch(runs, trail, touched, id, run_at(runs, id)->class);
		at = advance(runs, trail, id, end, now);
		/* What goes on behind a run is a stream already. */
		i = MCUBE_UBM_CURSORS;
		steps = 2;
	}
	while (at < end && touched->nr < MCUBE_UBM_STEPS) {
		c = take_cursor(trail, i, at, now);
		if (prev == first && !touched->nr)
			touched->from = min(first, c->next);
		c->steps = min(c->steps + steps, 255U);
		c->next = max(c->next, end);
		if (!confirmed(runs, c, eof))
			break;
		id = confirm(runs, trail, c, touched);
		if (id == MCUBE_UBM_NONE)
			break;
		at = advance(runs, trail, id, end, now);
		i = MCUBE_UBM_CURSORS;
		steps = 2;
	}
	touched->refs = end - touched->from;
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
		r = run_at(runs, id);
		next = r->next;
		idle = now - r->last;
		if (idle > 1U << 30) {
			drop(runs, trail, id);
		} else if (r->class != MCUBE_UBM_LOOP) {
			continue;
		} else if (idle > (u64)r->period * runs->rules.age / 2) {
			leave_loops(runs, r, MCUBE_UBM_OTHER);
		} else if (idle > r->period) {
			uncount(runs, r);
			r->bucket = mcube_ubm_bucket_keep(r->bucket, idle);
			count(runs, r);
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

	for (id = trail->runs; id != MCUBE_UBM_NONE; id = run_at(runs, id)->next)
		held += run_at(runs, id)->held;
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
		r = run_at(runs, id);
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
	uncount(runs, run);
	run->held = held;
	count(runs, run);
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
