// SPDX-License-Identifier: GPL-2.0
/*
 * UBM partition: which loops are held in memory, and how far
 *
 * Copyright (C) 2026 The mcube authors
 *
 * A page of a loop that stays in memory is hit once per period: its marginal gain is
 * 1 / period, and the same for each page of the loop.  A page more for the other
 * pages, which are kept in LRU order, gains the slope of their hit curve (gain.c),
 * which falls as they have more.  Pages read once in order gain nothing.
 *
 * The best sizes are those where the gains meet.  Loops are given pages, shortest
 * period first, while their gain is more than what the other pages lose:
 *
 *   gain |#
 *        |# #
 *        |# # #        #  loops, one bar for each bucket of periods
 *        |# # #...     .  slope of the other pages, from the right
 *        |# # # ..  .  .  .
 *        +---------------------
 *         loops  ^  others
 *              cutoff
 *
 * Loops of shorter periods are held whole.  Where the pages end, in the cutoff bucket,
 * loops share the grant: a loop that holds pages keeps them while the grant lasts.
 * A loop holds its first pages, and pages beyond are proposed as victims once they have
 * been used.  So of a loop of n pages that holds l, l are hit in each pass, as many as
 * by MRU replacement, which is best for a loop.
 *
 * Source: Kim et al., OSDI 2000, section 3.3.
 *
 * Differences from the paper:
 *
 *  - The paper moves a page at each miss from the partition of the lower gain to
 *    the other partition, and so climbs.  Here all sizes are computed at once from
 *    loops by period and from the whole hit curve.
 *  - The paper replaces MRU within the loop of the longest period.  Held first pages
 *    give the same hits and need no list of pages.
 */

#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "partition.h"

/**
 * mcube_ubm_bucket() - the bucket of a period
 * @period: references from pass to pass, not 0.
 *
 * Return: the bucket, less than MCUBE_UBM_BUCKETS: four times the logarithm.
 */
u32 mcube_ubm_bucket(u32 period)
{
	unsigned int log = ilog2(period);

	return log * 4 + ((u32)((u64)period << 2 >> log) & 3);
}

/**
 * mcube_ubm_bucket_keep() - the bucket of a period that has changed
 * @bucket: bucket of the period before, or MCUBE_UBM_BUCKETS.
 * @period: the period.
 *
 * A period at the edge of a bucket must not move the loop back and forth.
 *
 * Return: @bucket if the period is less than an eighth away, else its bucket.
 */
u32 mcube_ubm_bucket_keep(u32 bucket, u32 period)
{
	u32 slack = period / 8;

	if (mcube_ubm_bucket(period - slack) <= bucket &&
	    bucket <= mcube_ubm_bucket(period + min(slack, ~period)))
		return bucket;
	return mcube_ubm_bucket(period);
}

/**
 * mcube_ubm_bucket_gain() - marginal gain of a loop
 * @bucket: bucket of its period.
 *
 * Return: 1 / period in the middle of the bucket, in 2^-MCUBE_UBM_GAIN_SHIFT.
 */
u64 mcube_ubm_bucket_gain(u32 bucket)
{
	/* 2^32 * 8 / 9, / 11, / 13, / 15. */
	static const u32 inverse[] = {
		3817748708U, 3123612579U, 2643056798U, 2290649225U,
	};

	return inverse[bucket % 4] >> (bucket / 4);
}

/**
 * mcube_ubm_loops_add() - a loop, or more of it
 * @loops: the loops.
 * @bucket: bucket of its period.
 * @wanted: its pages.
 * @held: those of them that are held.
 */
void mcube_ubm_loops_add(struct mcube_ubm_loops *loops, u32 bucket, u32 wanted,
			 u32 held)
{
	loops->wanted[bucket] += wanted;
	loops->held[bucket] += held;
	loops->all += held;
}

/**
 * mcube_ubm_loops_remove() - undo mcube_ubm_loops_add()
 * @loops: the loops.
 * @bucket: as added.
 * @wanted: as added.
 * @held: as added.
 */
void mcube_ubm_loops_remove(struct mcube_ubm_loops *loops, u32 bucket,
			    u32 wanted, u32 held)
{
	loops->wanted[bucket] -= wanted;
	loops->held[bucket] -= held;
	loops->all -= held;
}

/**
 * mcube_ubm_shares_compute() - share out a cache
 * @shares: filled in.
 * @loops: the loops.
 * @gain: gain of the other pages.
 * @pages: pages to share out.
 */
void mcube_ubm_shares_compute(struct mcube_ubm_shares *shares,
			      const struct mcube_ubm_loops *loops,
			      const struct mcube_ubm_gain *gain, u32 pages)
{
	u32 left = pages, room, bucket;
	u64 worth = 0;

	shares->cutoff = MCUBE_UBM_BUCKETS;
	shares->grant = 0;
	for (bucket = 0; bucket < MCUBE_UBM_BUCKETS; bucket++) {
		if (!loops->wanted[bucket])
			continue;
		worth = mcube_ubm_bucket_gain(bucket);
		room = left - mcube_ubm_gain_keep(gain, worth, left);
		if (loops->wanted[bucket] > room) {
			shares->cutoff = bucket;
			shares->grant = room;
			left -= room;
			break;
		}
		left -= loops->wanted[bucket];
	}
	shares->mg_loop = shares->cutoff < MCUBE_UBM_BUCKETS ? worth : 0;
	shares->mg_other = mcube_ubm_gain_at(gain, left);
	shares->loop = pages - left;
	shares->other = left;
}

/**
 * mcube_ubm_shares_hold() - pages that a loop may hold
 * @shares: how the cache is shared out.
 * @loops: the loops, this loop among them.
 * @bucket: bucket of the loop.
 * @wanted: its pages.
 * @held: pages that it holds.
 *
 * Return: number of pages that it may hold from now on.
 */
u32 mcube_ubm_shares_hold(const struct mcube_ubm_shares *shares,
			  const struct mcube_ubm_loops *loops, u32 bucket,
			  u32 wanted, u32 held)
{
	u64 others;

	if (bucket < shares->cutoff)
		return wanted;
	if (bucket > shares->cutoff)
		return 0;
	others = loops->held[bucket] - held;
	return others < shares->grant ? min_t(u64, wanted, shares->grant - others) : 0;
}
