// SPDX-License-Identifier: GPL-2.0
/*
 * UBM marginal gain: what one page more, or less, is worth
 *
 * Copyright (C) 2026 The mcube authors
 *
 * The ghost stack (ghost.c) counts how many hits an LRU list of n pages would have.
 * The slope of that curve is what another page gains.  A curve of real programs has
 * steps: a list that is a little shorter than a loop has no hits of the loop.  A slope
 * taken at a single size sees nothing before a step.  So the gain is taken from the
 * concave hull, the curve that is best if sizes may be far from the present size:
 *
 *   hits |            ____x      curve   _
 *        |        . '|           hull    . '
 *        |    . '    |
 *        | . '_______|           the gain falls from segment to segment,
 *        |/                      and is constant within a segment
 *        +----------------> pages
 *
 * Instead the hits can be taken from a model, hit(n) = 1 - c * n^-k, which Belady
 * proposed.  c and k follow from the misses at two sizes, half the cache and the whole
 * cache; the gain is k * miss(n) / n.
 *
 * All is integers: shares and gains in 2^-32, logarithms and powers in 2^-16.
 *
 * Source: Kim et al., OSDI 2000, section 3.3, which has the model only.
 *
 * Differences from the paper:
 *
 *  - The model is unstable when the misses of the two sizes are close, and the misses
 *    of a real program do not follow it.  Here k is bounded and smoothed, and the hull
 *    is used where the model does not apply.
 *  - The hull is the default.
 */

#include <linux/bits.h>
#include <linux/log2.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "gain.h"

/* k is in 2^-16, and kept within these bounds. */
#define ONE		((u32)BIT(16))
#define POWER_MIN	(ONE / 16)
#define POWER_MAX	(ONE * 4)

/* The model does not apply if half the cache misses less than 1/64 more. */
#define CLOSE		64

/* Logarithm to base 2 in 2^-16 of a number that is not 0. */
static u32 log2_fixed(u64 x)
{
	unsigned int log = ilog2(x), i;
	u32 result = log << 16;

	/* x in [1, 2), in 2^-31. */
	x = log > 31 ? x >> (log - 31) : x << (31 - log);
	for (i = 0; i < 16; i++) {
		x = x * x >> 31;
		if (x >> 32) {
			x >>= 1;
			result |= ONE >> (i + 1);
		}
	}
	return result;
}

/* 2^-x in 2^-32, for x in 2^-16; less than 1 unless x is 0. */
static u64 exp2_negative(u32 x)
{
	/* 2^-2^-(i+1) in 2^-32. */
	static const u32 root[16] = {
		3037000500U, 3611622603U, 3938502376U, 4112874773U,
		4202935003U, 4248701965U, 4271771996U, 4283353945U,
		4289156690U, 4292061010U, 4293513907U, 4294240540U,
		4294603903U, 4294785595U, 4294876445U, 4294921870U,
	};
	u64 result = 1ULL << 32;
	unsigned int i;

	if (x >> 16 >= 32)
		return 0;
	for (i = 0; i < 16; i++)
		if (x & (ONE >> (i + 1)))
			result = result * root[i] >> 32;
	return result >> (x >> 16);
}

/* Misses of the model at a size, in 2^-32 of all references. */
static u64 model_miss(const struct mcube_ubm_gain *g, u32 pages)
{
	u32 size = log2_fixed(pages), at = log2_fixed(g->at);
	u64 ratio;

	if (size >= at) {
		ratio = exp2_negative(min_t(u64, (u64)(size - at) * g->power >> 16,
					    U32_MAX));
		return g->miss * ratio >> 32;
	}
	ratio = exp2_negative(min_t(u64, (u64)(at - size) * g->power >> 16,
				    U32_MAX));
	/* Less than this size all references miss. */
	if (ratio <= g->miss)
		return U32_MAX;
	return div64_u64((u64)g->miss << 32, ratio);
}

static u64 model_gain(const struct mcube_ubm_gain *g, u32 pages)
{
	return div64_u64(model_miss(g, pages) * g->power >> 16, pages);
}

/* Pages of the other references whose gain by the model is at least @worth. */
static u32 model_keep(const struct mcube_ubm_gain *g, u64 worth, u32 pages)
{
	u32 low = 0, high = pages, mid;

	while (low < high) {
		mid = low + (high - low + 1) / 2;
		if (model_gain(g, mid) >= worth)
			low = mid;
		else
			high = mid - 1;
	}
	return low;
}

/* Fit the model to the misses at half the size and at the whole size. */
static void fit(struct mcube_ubm_gain *g, const struct mcube_ubm_point *point,
		u32 nr, u64 refs, u64 other_refs, unsigned int scale)
{
	const struct mcube_ubm_point *whole = &point[nr - 1], *half = whole;
	u64 miss_whole, miss_half;
	u32 power, ratio;

	while (half > point && half->pages > whole->pages / 2)
		half--;
	miss_whole = (other_refs - min(other_refs, whole->hits)) >> scale;
	miss_half = (other_refs - min(other_refs, half->hits)) >> scale;
	if (!miss_whole || half->pages == whole->pages ||
	    miss_half - miss_whole <= miss_whole / CLOSE) {
		g->power = 0;
		return;
	}
	ratio = log2_fixed(whole->pages) - log2_fixed(half->pages);
	power = div64_u64((u64)(log2_fixed(miss_half) - log2_fixed(miss_whole)) << 16,
			  max(ratio, 1U));
	power = clamp(power, POWER_MIN, POWER_MAX);
	g->power = g->power ? (g->power * 3 + power) / 4 : power;
	g->at = whole->pages;
	g->miss = min_t(u64, div64_u64(miss_whole << 32, refs), U32_MAX);
}

/**
 * mcube_ubm_gain_set() - compute gains from a hit curve
 * @gain: filled in; zero before the first call.
 * @point: points of the curve, in ascending order of pages; no point has fewer hits
 *         than the point before.
 * @nr: number of points, 1..MCUBE_UBM_POINTS.
 * @refs: all references of the time in which the hits were counted.
 * @other_refs: those of them that the curve is about.
 * @model: what the gain is taken from.
 */
void mcube_ubm_gain_set(struct mcube_ubm_gain *gain,
			const struct mcube_ubm_point *point, u32 nr, u64 refs,
			u64 other_refs, enum mcube_ubm_model model)
{
	u64 hits[MCUBE_UBM_POINTS], slope, from_hits;
	unsigned int scale;
	u32 i, from;

	gain->nr = 0;
	if (!refs) {
		gain->power = 0;
		return;
	}
	/* Products are in 64 bits: counts of a cache above 2 TiB are scaled down. */
	scale = max(ilog2(refs), 31) - 31;
	refs >>= scale;
	for (i = 0; i < nr; i++) {
		for (;;) {
			from = gain->nr ? gain->pages[gain->nr - 1] : 0;
			from_hits = gain->nr ? hits[gain->nr - 1] : 0;
			if (point[i].pages <= from)
				break;
			slope = div64_u64(((point[i].hits >> scale) - from_hits) <<
					  MCUBE_UBM_GAIN_SHIFT,
					  refs * (point[i].pages - from));
			/* A segment that is less steep than the next is no hull. */
			if (!gain->nr || gain->slope[gain->nr - 1] > slope)
				break;
			gain->nr--;
		}
		if (point[i].pages <= from)
			continue;
		gain->pages[gain->nr] = point[i].pages;
		gain->slope[gain->nr] = slope;
		hits[gain->nr++] = point[i].hits >> scale;
	}
	if (model == MCUBE_UBM_BELADY && nr)
		fit(gain, point, nr, refs, other_refs, scale);
	else
		gain->power = 0;
}

/**
 * mcube_ubm_gain_at() - the gain of the last of some pages
 * @gain: the gains.
 * @pages: size of the list.
 *
 * Return: hits per reference that are lost with a page less, in
 * 2^-MCUBE_UBM_GAIN_SHIFT; 0 beyond the curve.
 */
u64 mcube_ubm_gain_at(const struct mcube_ubm_gain *gain, u32 pages)
{
	u32 i;

	if (gain->power)
		return model_gain(gain, max(pages, 1U));
	for (i = 0; i < gain->nr; i++)
		if (pages <= gain->pages[i])
			return gain->slope[i];
	return 0;
}

/**
 * mcube_ubm_gain_keep() - pages that are worth more than another use
 * @gain: the gains.
 * @worth: gain of the other use.
 * @pages: size of the list.
 *
 * Return: the size, at most @pages, to which the list can shrink before a page that
 * is taken away costs @worth or more.
 */
u32 mcube_ubm_gain_keep(const struct mcube_ubm_gain *gain, u64 worth, u32 pages)
{
	u32 i, keep = 0;

	if (gain->power)
		return model_keep(gain, worth, pages);
	for (i = 0; i < gain->nr && gain->slope[i] >= worth; i++)
		keep = gain->pages[i];
	return min(keep, pages);
}
