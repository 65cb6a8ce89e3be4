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
 *    from its last note, which moves the cursor over all pages between.  A reader at
 *    random notes each page, so it would take over the cursors of streams: a cursor
 *    whose descriptor has read on goes last.
 */

#include <linux/limits.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "detector.h"

static void touch(struct mcube_ubm_runs *runs, struct mcube_ubm_trail *trail,
		  struct mcube_ubm_touched *touched, u32 id, u8 class)
{
	mcube_ubm_run_front(runs, trail, id);
	if (mcube_ubm_run_at(runs, id)->class != class)
		touched->changed |= 1U << touched->nr;
	touched->run[touched->nr++] = id;
	touched->class = mcube_ubm_run_at(runs, id)->class;
}

/* Start of the first run after the end of a run. */
static u32 limit(const struct mcube_ubm_runs *runs,
		 const struct mcube_ubm_trail *trail, u32 of)
{
	const struct mcube_ubm_run *r;
	u32 id, nearest = U32_MAX;

	for (id = trail->runs; id != MCUBE_UBM_NONE; id = r->next) {
		r = mcube_ubm_run_at(runs, id);
		if (id != of && r->start >= mcube_ubm_run_at(runs, of)->end)
			nearest = min(nearest, r->start);
	}
	return nearest;
}

/* Is this the first pass, which makes the run longer? */
static bool grows(const struct mcube_ubm_runs *runs,
		  const struct mcube_ubm_trail *trail, u32 id)
{
	const struct mcube_ubm_run *r = mcube_ubm_run_at(runs, id);

	return r->passes == 1 && r->cursor == r->end &&
	       limit(runs, trail, id) > r->end;
}

/* The stream of a run has come to @end.  Return: the page that is not in the run. */
static u32 advance(struct mcube_ubm_runs *runs, struct mcube_ubm_trail *trail,
		   u32 id, u32 end, u32 now)
{
	struct mcube_ubm_run *r = mcube_ubm_run_at(runs, id);

	r->last = now;
	trail->random = 0;
	if (trail->mixed)
		trail->mixed--;
	if (end > r->end && grows(runs, trail, id)) {
		r->end = min(end, limit(runs, trail, id));
		r->cursor = r->end;
	} else if (end > r->cursor) {
		mcube_ubm_run_uncount(runs, r);
		r->cursor = min(end, r->end);
		if (r->class == MCUBE_UBM_LOOP)
			r->reach = max(r->reach, r->cursor - r->start);
		mcube_ubm_run_count(runs, r);
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
		r = mcube_ubm_run_at(runs, id);
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
	c->went_on = false;
	if (id != MCUBE_UBM_NONE) {
		r = mcube_ubm_run_at(runs, id);
		if (at > r->start && at - r->start > runs->rules.gap) {
			id = mcube_ubm_run_split(runs, trail, id, at);
			if (id == MCUBE_UBM_NONE)
				return id;
			r = mcube_ubm_run_at(runs, id);
		}
		class = r->class;
		mcube_ubm_run_pass(runs, trail, id, c->began);
	} else {
		id = mcube_ubm_run_add(runs, trail, at, at, c->began, MCUBE_UBM_NONE);
		if (id == MCUBE_UBM_NONE)
			return id;
	}
	other = mcube_ubm_run_before(runs, trail, id);
	if (other != MCUBE_UBM_NONE) {
		mcube_ubm_run_merge(runs, trail, other, id);
		id = other;
	}
	touch(runs, trail, touched, id, class);
	return id;
}

/* How well a note continues a stream: from the next page on, nearly, or not at all. */
enum match { MATCH_NONE, MATCH_NEAR, MATCH_EXACT };

/* Does a descriptor read on from page @prev, or jump over a few pages there? */
static bool near(const struct mcube_ubm_rules *rules, u32 prev, u32 first)
{
	return prev <= first && first - prev <= rules->gap;
}

/*
 * Has the descriptor read on from @next to @first?  Its last reads stayed in their chunk
 * and were not noted, and where it left the chunk it may have jumped over a few pages.
 */
static bool went_on(const struct mcube_ubm_rules *rules, u32 next, u32 first, u32 prev)
{
	return near(rules, prev, first) &&
	       next < first && first - next <= (1U << rules->chunk_shift) + rules->gap;
}

static enum match match(const struct mcube_ubm_rules *rules, u32 next, u32 first,
			u32 prev)
{
	bool on = went_on(rules, next, first, prev);

	if (first == next || (on && prev == first))
		return MATCH_EXACT;
	return on || mcube_ubm_distance(first, next) <= rules->gap ? MATCH_NEAR : MATCH_NONE;
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
		r = mcube_ubm_run_at(runs, id);
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

/*
 * The cursor to give up: the oldest whose descriptor did not read on, else the oldest.
 * Where a note stands for a chunk, readers at random note 16 times as often as streams.
 */
static u32 oldest(const struct mcube_ubm_trail *trail)
{
	u32 at = MCUBE_UBM_CURSORS;

	while (at--)
		if (!trail->cursor[at].went_on)
			return at;
	return MCUBE_UBM_CURSORS - 1;
}

/* Make a cursor the first: the cursor @at, or a cursor that begins here. */
static struct mcube_ubm_cursor *take_cursor(struct mcube_ubm_trail *trail, u32 at,
					    u32 first, u32 now)
{
	struct mcube_ubm_cursor *c = trail->cursor, found;

	if (at < MCUBE_UBM_CURSORS) {
		found = c[at];
	} else {
		at = oldest(trail);
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
 *        MCUBE_UBM_NO_PREV.  If it is @first, or up to a gap before, the pages from the
 *        last note up to @prev were read too.
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
	bool on = near(&runs->rules, prev, first);
	u32 steps = 1;

	memset(touched, 0, sizeof(*touched));
	touched->from = first;
	id = followed(runs, trail, first, prev, end, &by_run);
	i = cursor_of(runs, trail, first, prev, &by_cursor);
	if (by_run && by_run >= by_cursor) {
		if (went_on(&runs->rules, mcube_ubm_run_at(runs, id)->cursor, first, prev))
			touched->from = mcube_ubm_run_at(runs, id)->cursor;
		touch(runs, trail, touched, id, mcube_ubm_run_at(runs, id)->class);
		at = advance(runs, trail, id, end, now);
		/* What goes on behind a run is a stream already. */
		i = MCUBE_UBM_CURSORS;
		steps = 2;
	}
	while (at < end && touched->nr < MCUBE_UBM_STEPS) {
		c = take_cursor(trail, i, at, now);
		if (!touched->nr && went_on(&runs->rules, c->next, first, prev))
			touched->from = c->next;
		c->steps = min(c->steps + steps, 255U);
		c->next = max(c->next, end);
		c->went_on |= on;
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
