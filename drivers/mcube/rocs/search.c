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
 *   coarse   0, 1/4, 2/4, 3/4, all; then the middle of the wider one of the
 *            two intervals beside the best point, until both are a step wide
 *
 * With 64 steps the coarse search measures 13 points instead of 65.  The coarse
 * search finds the best point if the score has one summit; a summit narrower
 * than a quarter of the stack can be missed.
 *
 * A single odd window would send the coarse search to a wrong part of the stack.  So
 * it ends only where the best point and both of its neighbours were measured twice.
 * Of a neighbour the better measurement counts: a disturbance makes a window slower,
 * and a search that a disturbed point has turned back ends beside that point.  Of the
 * best point the mean counts: the best of many measurements has had luck.
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
 * - The coarse search, and its second measurements.
 */

#include <linux/math.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "search.h"

/* 1/256: smaller differences of scores say nothing. */
#define ROCS_SEARCH_NOISE	8

/* Intervals of the coarse search before it looks where the best point is. */
#define COARSE_INTERVALS	4U

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

/**
 * rocs_search_best() - the best point so far
 * @s: the search, with one measured point at least.
 *
 * Return: the point.
 */
const struct rocs_search_point *rocs_search_best(const struct rocs_search *s)
{
	const struct rocs_search_point *best = s->point, *p;

	for (p = s->point + 1; p < s->point + s->nr; p++) {
		if (is_better(p, best))
			best = p;
	}
	return best;
}

/* The point at s->index, or NULL if it was not measured. */
static struct rocs_search_point *find(struct rocs_search *s)
{
	struct rocs_search_point *p;

	for (p = s->point; p < s->point + s->nr; p++)
		if (p->index == s->index)
			return p;
	return NULL;
}

static void insert(struct rocs_search *s, u64 score)
{
	u32 i = s->nr++;

	for (; i && s->point[i - 1].index > s->index; i--)
		s->point[i] = s->point[i - 1];
	s->point[i] = (struct rocs_search_point){ s->index, 1, score };
}

static void measure_again(struct rocs_search *s, struct rocs_search_point *p, u64 score)
{
	if (p == rocs_search_best(s))
		p->score = (p->score + score) / 2;
	else
		p->score = max(p->score, score);
	p->times++;
}

/* Where the coarse search goes on; the best point, if the search has ended. */
static u32 next_coarse(const struct rocs_search *s)
{
	const struct rocs_search_point *best = rocs_search_best(s), *p;
	const struct rocs_search_point *first = best - (best > s->point);
	const struct rocs_search_point *last = best + (best < s->point + s->nr - 1);
	u32 below = best->index - first->index, above = last->index - best->index;

	if (max(below, above) > s->step && s->nr < ROCS_SEARCH_POINTS)
		return above >= below ? best->index + above / 2 : best->index - below / 2;
	for (p = first; p <= last; p++)
		if (p->times == 1)
			return p->index;
	return best->index;
}

static u32 next_point(const struct rocs_search *s)
{
	u32 last = s->point[s->nr - 1].index, stride = s->step;

	if (s->kind == ROCS_SEARCH_COARSE)
		stride = max(stride, DIV_ROUND_UP(s->pages, COARSE_INTERVALS));
	if (last < s->pages)
		return last + min(stride, s->pages - last);
	if (s->kind == ROCS_SEARCH_LINEAR)
		return rocs_search_best(s)->index;
	return next_coarse(s);
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
	struct rocs_search_point *p = find(s);
	u32 old = s->index;

	if (p)
		measure_again(s, p, score);
	else
		insert(s, score);
	s->index = next_point(s);
	s->moved += max(old, s->index) - min(old, s->index);
	p = find(s);
	return !p || (s->kind == ROCS_SEARCH_COARSE && p->times == 1);
}
