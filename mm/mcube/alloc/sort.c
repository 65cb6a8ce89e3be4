// SPDX-License-Identifier: GPL-2.0
/*
 * All free frames of a container enter the bins in the fill order
 *
 * Copyright (C) 2026 The mcube authors
 *
 * A fresh container is filled.  A container that a CPU claims is sorted, if the frames are
 * unbinned, or if frees have brought the frames out of an even order.
 *
 * The frames within a cluster leave in ascending order, whatever their levels are.  So with
 * clusters sorting moves only the representatives of wholly free clusters, to the levels and
 * places that the order gives to the clusters:
 *
 *   level   frees in any order        sorted
 *     7     c3                        c1
 *     6     c1                        c2
 *     5     c0 c2                     c0 c3
 *   0 to 4  the other frames          the other frames, where they were
 */

#include <linux/bitmap.h>
#include <linux/bitops.h>

#include "bins.h"

/*
 * Swap the two halves of groups: bit j of the result depends on bit j of @off and on higher
 * bits.  So buddy groups stay buddy groups, and the order changes.  Key 0 changes nothing.
 */
static unsigned int twist(unsigned int off, unsigned int mask, u64 key)
{
	return off ^ ((key ^ (off >> 1 & key >> 16) ^ (off >> 2 & key >> 32) ^
		       (off >> 3 & key >> 48)) & mask);
}

/*
 * Frame number @i of a variant of a fill order.  The frames of an even order change
 * places within their level, run by run.  All frames of a level have the higher bits
 * of their numbers in common.
 */
static unsigned int nth(const struct mcube_fill *f, unsigned int i, u64 key)
{
	unsigned int mask = (1U << f->order) - 1;

	if (!f->even)
		return twist(f->off[i], mask, key);
	i = twist(i, mask >> f->level[i] >> 1, key);
	/* Bits of the key that twist() does not use. */
	return f->off[i] ^ (((key >> 10 & 0x3f) | (key >> 20 & 0xfc0)) & mask);
}

/**
 * mcube_bins_fill() - free all frames of a container that is wholly in use
 * @b: the bins, fresh from mcube_bins_init().
 * @f: fill order, computed for containers of this order.
 * @key: variant of the fill order; 0 for @f itself.
 *
 * Does the same as mcube_bins_put() for one frame after the other, but need not
 * compute the levels.
 */
void mcube_bins_fill(struct mcube_bins *b, const struct mcube_fill *f, u64 key)
{
	unsigned int i, n = 1U << b->order;

	for (i = 0; i < n; i++) {
		unsigned int off = nth(f, i, key);

		mcube_bins_note(b, off, f->level[i]);
		mcube_bins_add(b, off, f->level[i]);
	}
	bitmap_set(b->free, 0, n);
	b->nr_free = n;
	b->cluster = f->cluster;
}

/**
 * mcube_bins_fill_unbinned() - free all frames of a container, outside the bins
 * @b: the bins, fresh from mcube_bins_init().
 *
 * Free frames stay unbinned until mcube_bins_sort(), or until the last unbinned
 * frame is taken.
 */
void mcube_bins_fill_unbinned(struct mcube_bins *b)
{
	unsigned int level, n = 1U << b->order;

	for (level = 0; level <= b->order; level++)
		b->groups.nr[level] = n >> level;
	b->unbinned = BIT(b->order + 1) - 1;
	bitmap_set(b->free, 0, n);
	b->nr_free = n;
}

/* Unbinned frames, and frames of all levels, enter the bins. */
static void sort_frames(struct mcube_bins *b, const struct mcube_fill *f, u64 key)
{
	unsigned int i, n = 1U << b->order;
	DECLARE_BITMAP(in, MCUBE_MAX_PAGES) = { };

	mcube_bins_empty(b);
	if (mcube_bins_full(b)) {
		mcube_bins_fill(b, f, key);
		return;
	}
	/* @free does not change: searches read it without a lock. */
	for (i = 0; i < n; i++) {
		unsigned int off = nth(f, i, key), level;

		if (!test_bit(off, b->free))
			continue;
		__set_bit(off, in);
		level = mcube_bins_ascent(in, b->order, off);
		mcube_bins_note(b, off, level);
		mcube_bins_add(b, off, level);
	}
}

/* Representatives of wholly free clusters enter anew; the last numbers name a cluster each. */
static void sort_clusters(struct mcube_bins *b, const struct mcube_fill *f, u64 key)
{
	unsigned long whole = ~0UL >> (BITS_PER_LONG - (1U << f->cluster));
	unsigned int n = 1U << b->order, level, i;
	DECLARE_BITMAP(in, MCUBE_MAX_PAGES) = { };

	for (level = f->cluster; level <= b->order; level++)
		INIT_LIST_HEAD(&b->bin[level]);
	b->nonempty &= BIT(f->cluster) - 1;
	for (i = n - (n >> f->cluster); i < n; i++) {
		unsigned int cluster = nth(f, i, key) >> f->cluster;
		unsigned int first = cluster << f->cluster, rep;

		if (~b->free[BIT_WORD(first)] & whole << first % BITS_PER_LONG)
			continue;
		rep = *mcube_bins_slot(b, f->cluster, first);
		__set_bit(cluster, in);
		level = f->cluster + mcube_bins_ascent(in, b->order - f->cluster, cluster);
		mcube_bins_add(b, rep, level);
		/* The representative stands for the groups within the cluster as before. */
		for (; level > f->cluster; level--)
			*mcube_bins_slot(b, level, rep) = rep;
	}
}

/**
 * mcube_bins_sort() - put the free frames into the bins in the fill order
 * @b: the bins, no cluster open; nothing happens if the bins are as good as they are.
 * @f: fill order, computed for containers of this order.
 * @key: variant of the fill order; 0 for @f itself.
 *
 * Binned frames are in the order of their frees, which is as good as any, but for an even
 * order.  Few frames are not worth the walk.
 */
void mcube_bins_sort(struct mcube_bins *b, const struct mcube_fill *f, u64 key)
{
	bool many = b->nr_free >= 1U << b->order >> 2;

	b->cluster = f->cluster;
	if (!b->unbinned && !(f->even && many))
		return;
	if (b->unbinned || !f->cluster)
		sort_frames(b, f, key);
	else
		sort_clusters(b, f, key);
}
