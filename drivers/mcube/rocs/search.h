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
 * @ROCS_SEARCH_COARSE: five points over the whole stack, then the middle of the
 *                      intervals on both sides of the best point; the points where
 *                      it ends twice.
 */
enum rocs_search_kind {
	ROCS_SEARCH_LINEAR,
	ROCS_SEARCH_COARSE,
};

/**
 * struct rocs_search_point - a point that was measured
 * @index: pages from the top of the stack that were in the partition.
 * @times: how often it was measured, 1 or 2.
 * @score: what was measured; more is better.
 */
struct rocs_search_point {
	u32 index;
	u32 times;
	u64 score;
};

/**
 * struct rocs_search - state of a search
 * @kind: how the search proceeds.
 * @pages: pages of the stack.
 * @step: resolution in pages.
 * @index: pages from the top of the stack that shall be in the partition now.
 * @moved: pages moved so far, into the partition and out of it.
 * @nr: measured points.
 * @point: measured points, by index.
 */
struct rocs_search {
	enum rocs_search_kind kind;
	u32 pages;
	u32 step;
	u32 index;
	u64 moved;
	u32 nr;
	struct rocs_search_point point[ROCS_SEARCH_POINTS];
};

void rocs_search_begin(struct rocs_search *s, enum rocs_search_kind kind,
		       u32 pages, u32 step);
bool rocs_search_measured(struct rocs_search *s, u64 score);
const struct rocs_search_point *rocs_search_best(const struct rocs_search *s);

#endif /* _DRIVERS_MCUBE_ROCS_SEARCH_H */
