// SPDX-License-Identifier: GPL-2.0
/*
 * Frames of an open cluster: free, but in no bin
 *
 * Copyright (C) 2026 The mcube authors
 *
 * mcube_bins_take() opens a cluster: all of its free frames leave the bins at once, and
 * the next calls hand them out.  Everybody who needs the frames before that, under memory
 * pressure for instance, finds them here:
 *
 *   bins  ---- a CPU needs frames ---->  open cluster  ---- in turn ---->  pages in use
 *         <--------- closed -----------
 *
 * A cluster is open only while a CPU owns the container.
 */

#include <linux/bitops.h>

#include "bins.h"

/**
 * mcube_bins_close() - return the frames of the open cluster to the bins
 * @b: the bins.
 */
void mcube_bins_close(struct mcube_bins *b)
{
	for (; b->open_free; b->open_free &= b->open_free - 1) {
		b->nr_free--;
		mcube_bins_put(b, b->open * BITS_PER_LONG + __ffs(b->open_free));
	}
}

/**
 * mcube_bins_is_free() - is a frame free?
 * @b: the bins.
 * @off: the frame.
 *
 * Return: true if so.
 */
bool mcube_bins_is_free(const struct mcube_bins *b, unsigned int off)
{
	return test_bit(off, b->free) ||
		(b->open == BIT_WORD(off) && b->open_free & BIT_MASK(off));
}

/**
 * mcube_bins_largest() - level of the largest free group, the open cluster counted in
 * @b: the bins.
 *
 * Return: 0..order, or -1 if no frame is free; a guess if the call is not serialised.
 */
int mcube_bins_largest(const struct mcube_bins *b)
{
	unsigned long open = READ_ONCE(b->open_free), group;
	int level, top = mcube_bins_top(b);
	unsigned int bit;

	for (level = b->cluster; open && level > top; level--) {
		group = ~0UL >> (BITS_PER_LONG - (1U << level));
		for (bit = 0; bit < BITS_PER_LONG; bit += 1U << level)
			if ((open >> bit & group) == group)
				return level;
	}
	return top;
}
