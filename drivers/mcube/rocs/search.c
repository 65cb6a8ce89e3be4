// SPDX-License-Identifier: GPL-2.0
/*
 * ROCS: the search for the number of polluting pages
 *
 * Copyright (C) 2026 The mcube authors
 *
 * Pages at the top of the miss-rate stack (profile.c) are used once, and lose
 * nothing if they compete with each other for a small part of the cache.  Pages
 * further down are used again, and lose.  Where one kind ends and the other begins
 * depends on the program, so each search measures the program while the first
 * @index pages of the stack are in the pollute partition:
 *
 *   score                 best
 *     |               x . o . x
 *     |         x                 x
 *     |   x                           x
 *     o------------------------------------- index
 *     0  step  2 step ...          pages
 *
 * The point 0 is measured first: it is the baseline, with no page mapped.  From
 * a point to the next point only the pages in between are moved.
 *
 *   linear   0, step, 2 step, ..., pages: FindPollutePages of the paper
 *   coarse   0, 1/4, 2/4, 3/4, all; then sweeps over the best point and what is beside
 *            it, ever closer, until both intervals are a step wide
 *
 * The coarse search finds the best point if the score has one summit; a summit narrower
 * than a quarter of the stack can be missed.
 *
 * What disturbs a window often lasts, since other programs come and go: for some windows
 * or for good.  Then points that were measured far apart cannot be compared.  If the
 * machine gets slower after the second point, all further points look worse, and
 * measuring the best point and its neighbours again says so once more.  So the coarse
 * search compares only points of one sweep, and each sweep measures the best point anew:
 *
 *   sweep 0     a       b       c       d       e      b wins
 *   sweep 1     a   f   b   g   c                      b and its neighbours again: g wins
 *   sweep 2               h g i                        b and c are fresh
 *
 * - A neighbour that was not measured in a sweep together with the best point, since that
 *   point is the best one, is measured again.
 * - The first sweep proves nothing, nor does a sweep in which a point wins that had lost
 *   before.  The winner has to win again, beside its neighbours.
 * - Sweeps go up.  A disturbance that begins in a sweep favours few pages, and one that
 *   ends in a sweep favours many.  So if both the first sweep and the second one are cut
 *   by the same disturbance, they contradict each other.  Up and then down, they would agree.
 * - Where little is at stake, sweeps begin at the nearer end: fewer pages move, and a
 *   steady drift, which favours the end of a sweep or its begin, does not lead far.
 * - If a point that was measured again had another score, the gain is not known: the
 *   baseline is measured again beside the best point.
 * - A search that comes to no end finds nothing.
 *
 * With 64 steps the coarse search takes 20 measurements instead of 65, more on an unsteady
 * machine.
 *
 * Source: Soares, Tam and Stumm, MICRO 2008, section 5.2, Algorithm 1.
 *
 * Differences from the paper:
 *
 * - The index counts the pages that are in the partition when the point is measured.  The
 *   listing of the paper maps and measures as well, but records its index before it
 *   counts the pages that it has just mapped, so its best point is a step off.
 * - A point counts as better only if its score is ROCS_SEARCH_NOISE better than that
 *   of a point with fewer pages.  Measurements scatter, and fewer pages cost less.
 * - The coarse search.
 */

#include <linux/math.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "search.h"

/* 1/256: smaller differences of scores say nothing. */
#define ROCS_SEARCH_NOISE	8

/* 1/32: if scores of a point differ by more, the machine is not what it was. */
#define UNSTEADY		5

/* Intervals of the first sweep of the coarse search. */
#define COARSE_INTERVALS	4U

/* Sweeps whose intervals are a smaller part of the stack may go down. */
#define NARROW			12U

/**
 * rocs_search_begin() - begin a search
 * @s: the search.
 * @kind: how the search proceeds.
 * @pages: pages of the stack, not 0.
 * @step: resolution in pages; a larger one is taken if this one would need more
 *        than %ROCS_SEARCH_POINTS points.
 *
 * No page of the process is in the partition.  The caller measures that, and
 * calls rocs_search_measured().
 */
void rocs_search_begin(struct rocs_search *s, enum rocs_search_kind kind,
		       u32 pages, u32 step)
{
	memset(s, 0, sizeof(*s));
	s->kind = kind;
	s->pages = pages;
	s->step = max(step, DIV_ROUND_UP(pages, ROCS_SEARCH_POINTS - 1));
}

/* Is @a better than @b by more than measurements scatter? */
static bool is_better(const struct rocs_search_point *a, const struct rocs_search_point *b)
{
	return a->score > b->score + (b->score >> ROCS_SEARCH_NOISE);
}

/* The place of the first point that is not below @index. */
static u32 place(const struct rocs_search *s, u32 index)
{
	u32 i = 0;

	while (i < s->nr && s->point[i].index < index)
		i++;
	return i;
}

/**
 * rocs_search_best() - the best point
 * @s: the search, with one measured point at least.
 *
 * Return: the point, as of the last sweep that has ended.
 */
const struct rocs_search_point *rocs_search_best(const struct rocs_search *s)
{
	return &s->point[place(s, s->best)];
}

static void record(struct rocs_search *s, u64 score)
{
	u32 i = place(s, s->index);
	struct rocs_search_point *p = &s->point[i];

	if (i == s->nr || p->index != s->index) {
		memmove(p + 1, p, (s->nr++ - i) * sizeof(*p));
		*p = (struct rocs_search_point){ .index = s->index, .score = score };
	}
	if (max(p->score, score) - min(p->score, score) > p->score >> UNSTEADY)
		s->unsteady = true;
	p->score = score;
	p->sweep = s->sweep;
	p->times++;
	s->measured++;
}

/* The sweep has ended: which of its points is the best? */
static void judge(struct rocs_search *s)
{
	const struct rocs_search_point *best = rocs_search_best(s), *p;

	for (p = s->point; p < s->point + s->nr; p++) {
		if (p->sweep != s->sweep)
			continue;
		if (p->index < best->index ? p->score >= best->score : is_better(p, best))
			best = p;
	}
	if (!s->sweep || (best->index != s->best && best->times > 1))
		s->since = s->sweep + 1;
	else if (best->index != s->best)
		s->since = s->sweep;
	s->best = best->index;
}

static void add(struct rocs_search *s, u32 index)
{
	s->todo[s->nr_todo++] = index;
}

/* The best point, what is beside it, and the middles of wide intervals. */
static void sweep_beside(struct rocs_search *s)
{
	const struct rocs_search_point *best = rocs_search_best(s);
	const struct rocs_search_point *first = best - (best > s->point);
	const struct rocs_search_point *last = best + (best < s->point + s->nr - 1);
	u32 below = best->index - first->index, above = last->index - best->index;
	/* Halves of halves are rounded: a step and a little more is a step. */
	u32 wide = s->step + s->step / 8;

	s->nr_todo = 0;
	if (below && first->sweep < s->since)
		add(s, first->index);
	if (below > wide)
		add(s, best->index - below / 2);
	add(s, best->index);
	if (above > wide)
		add(s, best->index + above / 2);
	if (above && last->sweep < s->since)
		add(s, last->index);
	s->down = max(below, above) < s->pages / NARROW &&
		2 * s->index > s->todo[0] + s->todo[s->nr_todo - 1];
}

/* The baseline, and the best point. */
static void sweep_gain(struct rocs_search *s)
{
	s->nr_todo = 0;
	add(s, 0);
	add(s, s->best);
	s->down = false;
}

/* Decide what the next sweep measures; false: nothing, the search has ended. */
static bool begin_sweep(struct rocs_search *s)
{
	const struct rocs_search_point *best = rocs_search_best(s), *base = s->point;

	if (s->measured + ROCS_SEARCH_SWEEP > ROCS_SEARCH_POINTS) {
		s->best = 0;
		return false;
	}
	sweep_beside(s);
	if (s->nr_todo == 1) {
		bool fresh = base->sweep >= s->since, gains = is_better(best, base);

		if (best != base && fresh && !gains)
			s->best = 0;
		if (best == base || fresh || (gains && !s->unsteady))
			return false;
		sweep_gain(s);
	}
	s->sweep++;
	s->done = 0;
	return true;
}

static bool next_point(struct rocs_search *s)
{
	u32 stride = s->step;

	if (s->kind == ROCS_SEARCH_COARSE)
		stride = max(stride, DIV_ROUND_UP(s->pages, COARSE_INTERVALS));
	if (!s->sweep && s->index < s->pages) {
		s->index += min(stride, s->pages - s->index);
		return true;
	}
	if (s->done == s->nr_todo) {
		judge(s);
		if (s->kind == ROCS_SEARCH_LINEAR || !begin_sweep(s)) {
			s->index = s->best;
			return false;
		}
	}
	s->index = s->todo[s->down ? s->nr_todo - 1 - s->done : s->done];
	s->done++;
	return true;
}

/**
 * rocs_search_measured() - go on after a measurement
 * @s: the search.
 * @score: what was measured while the first @s->index pages of the stack were in the
 *         partition; more is better.
 *
 * The caller then moves pages until the first @s->index pages are in the
 * partition.
 *
 * Return: true if that point shall be measured; false if the search has ended
 * and that is the best point.
 */
bool rocs_search_measured(struct rocs_search *s, u64 score)
{
	u32 old = s->index;
	bool more;

	record(s, score);
	more = next_point(s);
	s->moved += max(old, s->index) - min(old, s->index);
	return more;
}
