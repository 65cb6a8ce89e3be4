// SPDX-License-Identifier: GPL-2.0
/*
 * A fill order whose frames lie evenly over colors and banks
 *
 * Copyright (C) 2026 The mcube authors
 *
 * Frames of a shuffled container have random colors.  A program whose memory nearly
 * fills the cache then has too much in some sets and too little in others.  In an
 * even order each aligned run of as many frames as a container has colors has every
 * color once, and its banks as evenly as the map allows.
 *
 * Frames leave the bins by falling level, see bins.c.  So the first 2^k frames lie in
 * different groups of 2^(order - k), for every k.  The color and the bank of an offset
 * are linear over XOR, but for a table.  So frame number i of the order is first the
 * XOR of vectors v[k], one for each bit k of i, and all depends on the vectors:
 *
 *   bit order-1-k is the highest bit of v[k]      the levels come out right
 *   the colors of v[0], v[1], ... are             each aligned run has every
 *   independent, while colors are left            color once
 *   likewise their banks                          banks are even, too
 *
 * The first condition leaves the lower bits of v[k] free.  There is always a choice
 * that meets the second condition: if each choice had a color that the vectors before
 * span, then the frames below had, too, and there were no color left.  Banks are
 * considered among the choices that are left.  Hence chance decides among several
 * sets of vectors.
 *
 * With clusters, see bins.c, the first frames of the order name clusters.  The frames
 * of a cluster then leave together, so the vectors have to add what the frames within a
 * cluster lack.
 *
 * A linear order is regular: two CPUs that take frames in step would meet in a bank
 * always or never.  So frames change places within a run, and runs change places
 * among the runs of a level, at random.
 */

#include <linux/bits.h>
#include <linux/minmax.h>
#include <linux/prandom.h>

#include "bins.h"

/* Sets of vectors to choose from. */
#define CANDIDATES	16

/**
 * struct span - XORs of some values
 * @nr: number of independent values.
 * @has: bitmap of all XORs of these values.
 */
struct span {
	unsigned int nr;
	DECLARE_BITMAP(has, MCUBE_MAX_VALUES);
};

static void span_add(struct span *s, unsigned int value)
{
	unsigned int i, other;

	if (test_bit(value, s->has))
		return;
	s->nr++;
	for (i = 0; i < MCUBE_MAX_VALUES; i++) {
		other = i ^ value;
		if (i < other && (test_bit(i, s->has) || test_bit(other, s->has))) {
			__set_bit(i, s->has);
			__set_bit(other, s->has);
		}
	}
}

static void span_init(struct span *s)
{
	s->nr = 0;
	bitmap_zero(s->has, MCUBE_MAX_VALUES);
	__set_bit(0, s->has);
}

/* By bit of the offset, the parities of a dimension that the bit changes. */
static void bit_values(u8 *value, const struct mcube_dim *d, unsigned int order)
{
	unsigned int bit;

	for (bit = 0; bit < order; bit++)
		value[bit] = mcube_dim_value(d, 1ULL << bit) & (BIT(d->nr_masks) - 1);
}

/**
 * mcube_even_colors() - number of colors that a container has
 * @color: colors; a table counts for nothing.
 * @order: order of the container.
 *
 * Return: 2 to the power of the number of independent bits of the offset.
 */
unsigned int mcube_even_colors(const struct mcube_dim *color, unsigned int order)
{
	u8 value[MCUBE_MAX_ORDER];
	struct span colors;
	unsigned int bit;

	bit_values(value, color, order);
	span_init(&colors);
	for (bit = 0; bit < order; bit++)
		span_add(&colors, value[bit]);
	return 1U << colors.nr;
}

static unsigned int value_of(const u8 *value, unsigned int off)
{
	unsigned int sum = 0;

	for (; off; off &= off - 1)
		sum ^= value[__ffs(off)];
	return sum;
}

/**
 * struct even - the search for vectors
 * @order: order of the container.
 * @cluster: order of the clusters.
 * @color: by bit of the offset, what it changes of the color.
 * @bank: by bit of the offset, what it changes of the bank.
 * @v: the vectors.
 * @run: log2 of the clusters of a run: the number of independent colors that
 *       clusters have beyond those of the frames within a cluster.
 */
struct even {
	unsigned int order;
	unsigned int cluster;
	u8 color[MCUBE_MAX_ORDER];
	u8 bank[MCUBE_MAX_ORDER];
	u16 v[MCUBE_MAX_ORDER];
	unsigned int run;
};

/* Choose vectors; returns how many independent banks a run has. */
static unsigned int choose(struct even *e, struct rnd_state *rnd)
{
	struct span colors, banks;
	unsigned int k, run = 0, in_run = 0;

	span_init(&colors);
	span_init(&banks);
	for (k = 0; k < e->cluster; k++) {
		span_add(&colors, e->color[k]);
		span_add(&banks, e->bank[k]);
		e->v[e->order - 1 - k] = 1U << k;
	}
	in_run = banks.nr;
	for (k = 0; k < e->order - e->cluster; k++) {
		unsigned int top = 1U << (e->order - 1 - k), best = 0, i;
		unsigned int start = prandom_u32_state(rnd);
		int most = -1;

		for (i = 0; i < top && most < 3; i++) {
			unsigned int v = top | ((start + i) & (top - 1));
			int score = 2 * !test_bit(value_of(e->color, v), colors.has) +
				    !test_bit(value_of(e->bank, v), banks.has);

			if (score > most) {
				most = score;
				best = v;
			}
		}
		e->v[k] = best;
		span_add(&banks, value_of(e->bank, best));
		/* Colors come first: when one is added, the run is not complete. */
		if (most >= 2) {
			span_add(&colors, value_of(e->color, best));
			in_run = banks.nr;
			run++;
		}
	}
	e->run = run;
	return in_run;
}

/* Exchange blocks of @len frames among @nr blocks at random. */
static void shuffle(u16 *off, unsigned int nr, unsigned int len, struct rnd_state *rnd)
{
	unsigned int i;

	for (; nr > 1; nr--) {
		u16 *other = off + prandom_u32_state(rnd) % nr * len;
		u16 *last = off + (nr - 1) * len;

		for (i = 0; i < len; i++)
			swap(other[i], last[i]);
	}
}

/**
 * mcube_even_build() - compute an even fill order
 * @f: filled in.
 * @order: order of the containers.
 * @cluster: order of the clusters, at most @order.
 * @map: colors and banks.  A container has the colors that the masks tell apart
 *       within its offsets; a table counts for nothing.
 * @key: random bits.
 *
 * mcube_bins_fill() keeps the runs whole in every variant of the order.
 */
void mcube_even_build(struct mcube_fill *f, unsigned int order, unsigned int cluster,
		      const struct mcube_map *map, u64 key)
{
	unsigned int i, k, run, banks, most = 0, n = 1U << order;
	struct even e = { .order = order, .cluster = cluster }, best = e;
	struct rnd_state rnd;

	prandom_seed_state(&rnd, key);
	bit_values(e.color, &map->color, order);
	bit_values(e.bank, &map->bank, order);
	for (i = 0; i < CANDIDATES; i++) {
		banks = choose(&e, &rnd);
		if (!i || banks > most) {
			most = banks;
			best = e;
		}
	}

	for (i = 0; i < n; i++) {
		f->off[i] = 0;
		for (k = 0; k < order; k++)
			if (i & 1U << k)
				f->off[i] ^= best.v[k];
	}
	/* The frames of a level are numbers 2^k to 2^(k + 1) - 1. */
	for (k = 0; k < order; k++) {
		run = min(k, best.run);
		shuffle(f->off + (1 << k), 1U << (k - run), 1U << run, &rnd);
		for (i = 1U << k; i < 2U << k; i += 1U << run)
			shuffle(f->off + i, 1U << run, 1, &rnd);
	}

	/* What shall leave first enters last. */
	for (i = 0; i < n / 2; i++)
		swap(f->off[i], f->off[n - 1 - i]);
	f->order = order;
	f->cluster = cluster;
	f->even = true;
	for (i = 0; i < n; i++)
		f->level[n - 1 - i] = order - fls(i);
}
