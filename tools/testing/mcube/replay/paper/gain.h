/* SPDX-License-Identifier: GPL-2.0 */
/*
 * UBM marginal gain: what one page more, or less, is worth.
 *
 * Copyright (C) 2026 The mcube authors
 *
 * Pure: integers only.  See gain.c for the idea.
 */
#ifndef _MM_MCUBE_UBM_GAIN_H
#define _MM_MCUBE_UBM_GAIN_H

#include <linux/types.h>

/* A gain of 1 hit per reference and page. */
#define MCUBE_UBM_GAIN_SHIFT	32

/* Most points of a hit curve, without the origin. */
#define MCUBE_UBM_POINTS	32

/**
 * enum mcube_ubm_model - what the gain of the other pages is computed from
 * @MCUBE_UBM_HISTOGRAM: the hits that were counted at each depth.
 * @MCUBE_UBM_BELADY: the curve hit(n) = 1 - c * n^-k through two sizes.
 */
enum mcube_ubm_model {
	MCUBE_UBM_HISTOGRAM,
	MCUBE_UBM_BELADY,
};

/**
 * struct mcube_ubm_point - a point of a hit curve
 * @pages: size of a cache in pages.
 * @hits: hits of the cache.
 */
struct mcube_ubm_point {
	u32 pages;
	u64 hits;
};

/**
 * struct mcube_ubm_gain - marginal gain of an LRU list by its size
 * @nr: number of segments of the concave hull.
 * @pages: size where each segment ends.
 * @slope: gain of each segment, in 2^-MCUBE_UBM_GAIN_SHIFT hits per reference
 *         and page; falling.
 * @power: k of the model, in 2^-16; smoothed; 0 while the model does not apply.
 * @miss: misses per reference at size @at, in 2^-32.
 * @at: size of @miss.
 */
struct mcube_ubm_gain {
	u32 nr;
	u32 pages[MCUBE_UBM_POINTS];
	u64 slope[MCUBE_UBM_POINTS];
	u32 power;
	u32 miss;
	u32 at;
};

void mcube_ubm_gain_set(struct mcube_ubm_gain *gain,
			const struct mcube_ubm_point *point, u32 nr, u64 refs,
			u64 other_refs, enum mcube_ubm_model model);
u64 mcube_ubm_gain_at(const struct mcube_ubm_gain *gain, u32 pages);
u32 mcube_ubm_gain_keep(const struct mcube_ubm_gain *gain, u64 worth,
			u32 pages);

#endif /* _MM_MCUBE_UBM_GAIN_H */
