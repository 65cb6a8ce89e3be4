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
 * Source: Soares, Tam and Stumm, MICRO 2008, section 3.3, Algorithm 1.
 *
 * Differences from the paper:
 *
 * - The map step maps the pages [index, index + step), then measures.  The listing
 *   of the paper measures before it maps, so its best point is a step off.
 * - A point counts as better only if its score is ROCS_SEARCH_NOISE better than that
 *   of a point with fewer pages.  Measurements scatter, and fewer pages cost less.
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
		if (p->score > best->score + (best->score >> ROCS_SEARCH_NOISE))
			best = p;
	}
	return best;
}

static void insert(struct rocs_search *s, u64 score)
{
	u32 i = s->nr++;

	for (; i && s->point[i - 1].index > s->index; i--)
		s->point[i] = s->point[i - 1];
	s->point[i] = (struct rocs_search_point){ s->index, score };
}

/* The wider one of the intervals beside the best point, or the best point. */
static u32 next_middle(const struct rocs_search *s)
{
	const struct rocs_search_point *best = rocs_search_best(s);
	u32 below = 0, above = 0;

	if (best > s->point)
		below = best->index - best[-1].index;
	if (best < s->point + s->nr - 1)
		above = best[1].index - best->index;
	if (max(below, above) <= s->step)
		return best->index;
	return above >= below ? best->index + above / 2 : best->index - below / 2;
}

static u32 next_point(const struct rocs_search *s)
{
	u32 last = s->point[s->nr - 1].index, stride = s->step;

	if (s->kind == ROCS_SEARCH_COARSE)
		stride = max(stride, DIV_ROUND_UP(s->pages, COARSE_INTERVALS));
	if (last < s->pages)
		return last + min(stride, s->pages - last);
	if (s->kind == ROCS_SEARCH_COARSE)
		return next_middle(s);
	return rocs_search_best(s)->index;
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
	u32 old = s->index, i;
	bool more = true;

	insert(s, score);
	s->index = next_point(s);
	for (i = 0; i < s->nr; i++)
		more = more && s->point[i].index != s->index;
	s->moved += max(old, s->index) - min(old, s->index);
	return more;
}
