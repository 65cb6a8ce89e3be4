// SPDX-License-Identifier: GPL-2.0
/*
 * The order in which the frames of a fresh container enter the bins
 *
 * Copyright (C) 2026 The mcube authors
 *
 * Frames leave the bins by falling level, and within a level the last frame to
 * enter leaves first.  So the order in which frames enter decides which colors
 * and banks the first requests get.  The order is computed once, when the
 * allocator is switched on, with the level that each frame reaches; a key turns
 * it into another order for each container, see twist() in sort.c.
 *
 *   paper     ascending, as in the M3 paper
 *   shuffle   the best of some random orders: the first frames shall differ in
 *             all address bits, as colors and banks are computed from these
 *   even      all colors in turn, as the address map has them: even.c
 */

#include <linux/bitmap.h>
#include <linux/bitops.h>
#include <linux/minmax.h>
#include <linux/prandom.h>

#include "bins.h"

/* Ascending order if @rnd is NULL, else a Fisher-Yates shuffle. */
static void fill_build(struct mcube_fill *f, struct rnd_state *rnd)
{
	DECLARE_BITMAP(free, MCUBE_MAX_PAGES);
	unsigned int i, other, n = 1U << f->order;

	for (i = 0; i < n; i++)
		f->off[i] = i;
	for (i = n - 1; rnd && i; i--) {
		other = prandom_u32_state(rnd) % (i + 1);
		swap(f->off[i], f->off[other]);
	}
	bitmap_zero(free, MCUBE_MAX_PAGES);
	for (i = 0; i < n; i++) {
		__set_bit(f->off[i], free);
		f->level[i] = mcube_bins_ascent(free, f->order, f->off[i]);
	}
}

/* Number of first frames that are compared, and of neighbouring bits. */
#define SPREAD_FRAMES	32
#define SPREAD_BITS	5

/*
 * How well do the first frames spread?  Frames leave by falling level, and
 * within a level the last frame to enter leaves first.  Counts the different
 * values of every five neighbouring bits of the offset: colors and banks are
 * computed from such bits.
 */
static unsigned int fill_spread(const struct mcube_fill *f)
{
	u32 seen[MCUBE_MAX_ORDER] = { };
	unsigned int left = SPREAD_FRAMES, sum = 0, bit;
	int level, i;

	for (level = f->order; level >= 0; level--) {
		for (i = (1 << f->order) - 1; i >= 0; i--) {
			if (f->level[i] != level)
				continue;
			if (!left--)
				goto out;
			for (bit = 0; bit + SPREAD_BITS <= f->order; bit++)
				seen[bit] |= 1U << (f->off[i] >> bit & 31);
		}
	}
out:
	for (bit = 0; bit + SPREAD_BITS <= f->order; bit++)
		sum += hweight32(seen[bit]);
	return sum;
}

/* Shuffles to choose from: they differ by up to one color in twenty. */
#define CANDIDATES	64

/**
 * mcube_fill_build() - compute a fill order
 * @f: filled in.
 * @order: order of the containers.
 * @fill_order: MCUBE_FILL_PAPER or MCUBE_FILL_SHUFFLE.
 * @key: random bits for MCUBE_FILL_SHUFFLE, which tries some shuffles and keeps
 *       the shuffle that spreads its first frames best.
 */
void mcube_fill_build(struct mcube_fill *f, unsigned int order,
		      enum mcube_fill_order fill_order, u64 key)
{
	struct rnd_state rnd, start, best;
	unsigned int spread, most = 0, i;

	f->order = order;
	f->cluster = 0;
	f->even = false;
	if (fill_order == MCUBE_FILL_PAPER) {
		fill_build(f, NULL);
		return;
	}
	prandom_seed_state(&rnd, key);
	best = rnd;
	for (i = 0; i < CANDIDATES; i++) {
		start = rnd;
		fill_build(f, &rnd);
		spread = fill_spread(f);
		if (spread > most) {
			most = spread;
			best = start;
		}
	}
	fill_build(f, &best);
}
