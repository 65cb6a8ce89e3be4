// SPDX-License-Identifier: GPL-2.0
/*
 * Colors and banks of which no container has a frame
 *
 * Copyright (C) 2026 The mcube authors
 *
 * A search (hinted.c) that finds no frame in any container of the zone sets the bit of
 * its key, and the next searches pass on.  Frames that become free clear the bit: a page
 * is freed (alloc.c), a CPU lets go of a container and its open cluster, or a block
 * becomes a container (container.c).  The bits of larger folios are in zone.c.
 */

#include <linux/bitops.h>
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/mm.h>
#include <linux/mmzone.h>
#include <linux/spinlock.h>

#include "internal.h"

/**
 * mcube_exhausted_set() - note that a key is exhausted, or no longer
 * @mz: containers of the zone, @mz->lock held.
 * @key: the key: a color, or the number of colors and a bank.
 * @exhausted: what to note.
 */
void mcube_exhausted_set(struct mcube_zone *mz, unsigned int key, bool exhausted)
{
	lockdep_assert_held(&mz->lock);
	if (exhausted == test_bit(key, mz->exhausted))
		return;
	__change_bit(key, mz->exhausted);
	WRITE_ONCE(mz->nr_exhausted,
		   exhausted ? mz->nr_exhausted + 1 : mz->nr_exhausted - 1);
}

/* If a key of the frame is exhausted, searches shall find the frame. */
static void key_freed(struct mcube_container *c, unsigned long pfn)
{
	struct mcube_zone *mz = c->mz;
	unsigned int key[2], i;

	key[0] = mcube_dim_value(&mcube_config.map->color, pfn);
	key[1] = mcube_dim_value(&mcube_config.map->bank, pfn) +
		 mcube_config.color.nr_values;
	/*
	 * Other keys may be exhausted for long.  A bit that is set at this moment
	 * may be missed: the next frame that is freed clears it.
	 */
	for (i = 0; i < ARRAY_SIZE(key); i++) {
		if (!test_bit(key[i], mz->exhausted))
			continue;
		spin_lock(&mz->lock);
		mcube_exhausted_set(mz, key[i], false);
		/* The next search looks at this container first. */
		mz->cursor[key[i]] = list_prev_entry_circular(c, &mz->searched, all);
		spin_unlock(&mz->lock);
	}
}

/**
 * mcube_exhausted_freed() - frames were freed while something is exhausted
 * @c: container of the frames, locked, in the lists that it belongs on.
 * @off: first of the frames.
 * @level: level of the largest free group around them.
 * @nr: number of frames.
 */
void mcube_exhausted_freed(struct mcube_container *c, unsigned int off,
			   unsigned int level, unsigned int nr)
{
	unsigned long pfn = page_to_pfn(c->bins.base) + off, end = pfn + nr;
	unsigned int large = READ_ONCE(c->mz->large.nr_exhausted);

	for (; READ_ONCE(c->mz->nr_exhausted) > large && pfn < end; pfn++)
		key_freed(c, pfn);
	if (level && large)
		mcube_large_freed(c, off, level);
}

/**
 * mcube_container_close() - let all CPUs use the frames of the open cluster
 * @c: the container, active, locked.
 */
void mcube_container_close(struct mcube_container *c)
{
	unsigned long open = c->bins.open_free;
	unsigned int off;

	mcube_bins_close(&c->bins);
	for (; open && READ_ONCE(c->mz->nr_exhausted); open &= open - 1) {
		off = c->bins.open * BITS_PER_LONG + __ffs(open);
		mcube_exhausted_freed(c, off, mcube_bins_ascent(c->bins.free, c->bins.order, off),
				      1);
	}
}
