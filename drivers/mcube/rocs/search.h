/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Search: how many pages of the miss-rate stack shall be in the partition?
 *
 * Copyright (C) 2026 The mcube authors
 *
 * Pure: integers only.  See search.c for the idea.
 */
#ifndef _DRIVERS_MCUBE_ROCS_SEARCH_H
#define _DRIVERS_MCUBE_ROCS_SEARCH_H

#include <linux/types.h>

/* A search measures at most this many points; the step follows. */
#define ROCS_SEARCH_POINTS	65U

/**
 * enum rocs_search_kind - how a search proceeds
 * @ROCS_SEARCH_LINEAR: all multiples of the step in turn, as in the paper.
 * @ROCS_SEARCH_COARSE: five points over the whole stack, then the best point and points
 *                      ever closer beside it.
 */
enum rocs_search_kind {
	ROCS_SEARCH_LINEAR,
	ROCS_SEARCH_COARSE,
};

/**
 * struct rocs_search_point - a point that was measured
 * @index: pages from the top of the stack that were in the partition.
 * @times: how often it was measured.
 * @sweep: the sweep that measured it last.
 * @score: what was measured last; more is better.
 */
struct rocs_search_point {
	u32 index;
	u32 times;
	u32 sweep;
	u64 score;
};

/* Points of a sweep, after the first one. */
#define ROCS_SEARCH_SWEEP	5U

/**
 * struct rocs_search - state of a search
 * @kind: how the search proceeds.
 * @pages: pages of the stack.
 * @step: resolution in pages.
 * @index: pages from the top of the stack that shall be in the partition now.
 * @moved: pages moved so far, into the partition and out of it.
 * @best: index of the best point, as of the last sweep that has ended.
 * @sweep: number of the present sweep.
 * @since: from this sweep on, @best has been compared with what was measured.
 * @measured: measurements so far.
 * @unsteady: a point was measured again, and its score was another one.
 * @down: the present sweep begins with its largest index.
 * @done: points of @todo that were begun.
 * @nr_todo: points in @todo.
 * @todo: the present sweep, by index; not used by the first sweep.
 * @nr: measured points.
 * @point: measured points, by index.
 */
struct rocs_search {
	enum rocs_search_kind kind;
	u32 pages;
	u32 step;
	u32 index;
	u64 moved;
	u32 best;
	u32 sweep;
	u32 since;
	u32 measured;
	bool unsteady;
	bool down;
	u32 done;
	u32 nr_todo;
	u32 todo[ROCS_SEARCH_SWEEP];
	u32 nr;
	struct rocs_search_point point[ROCS_SEARCH_POINTS];
};

void rocs_search_begin(struct rocs_search *s, enum rocs_search_kind kind,
		       u32 pages, u32 step);
bool rocs_search_measured(struct rocs_search *s, u64 score);
const struct rocs_search_point *rocs_search_best(const struct rocs_search *s);

#endif /* _DRIVERS_MCUBE_ROCS_SEARCH_H */
