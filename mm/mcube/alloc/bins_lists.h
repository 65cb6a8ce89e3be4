/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The lists of the bins, and the slots that name representatives: for bins.c and sort.c
 *
 * Copyright (C) 2026 The mcube authors
 */
#ifndef _MM_MCUBE_ALLOC_BINS_LISTS_H
#define _MM_MCUBE_ALLOC_BINS_LISTS_H

#include <linux/bits.h>
#include <linux/list.h>
#include <linux/mm_types.h>

#include "bins.h"

/*
 * The slot that names the representative of the group of 2^level frames around
 * @off.  It is the index word of a frame of the group.  The frames are assigned
 * as the inner nodes of a binary tree in order: no two groups share a frame.
 *
 *   frame   0   1   2   3   4   5   6   7
 *   group      2^1     2^1     2^1     2^1     slots 1, 3, 5, 7
 *                  2^2             2^2         slots 2, 6
 *                          2^3                 slot  4
 *
 * The slot is written when the group becomes free and is not cleared later: a
 * reader checks that the named frame is free and that its level is sufficient.
 */
static inline unsigned long *rep_slot(struct mcube_bins *b, unsigned int level, unsigned int off)
{
	unsigned int first = off & ~((1U << level) - 1);

	return &b->base[first + (1U << (level - 1))].index;
}

static inline void note_rep(struct mcube_bins *b, unsigned int off, unsigned int level)
{
	for (; level; level--)
		*rep_slot(b, level, off) = off;
}

static inline void bin_add(struct mcube_bins *b, unsigned int off, unsigned int level)
{
	struct page *page = b->base + off;

	page->private = level;
	list_add(&page->lru, &b->bin[level]);
	b->nonempty |= BIT(level);
}

static inline void bin_del(struct mcube_bins *b, unsigned int off)
{
	struct page *page = b->base + off;
	unsigned int level = page->private;

	list_del(&page->lru);
	if (list_empty(&b->bin[level]))
		b->nonempty &= ~BIT(level);
}

static inline void empty_bins(struct mcube_bins *b)
{
	unsigned int level;

	b->nonempty = 0;
	b->unbinned = 0;
	for (level = 0; level <= b->order; level++)
		INIT_LIST_HEAD(&b->bin[level]);
}

#endif /* _MM_MCUBE_ALLOC_BINS_LISTS_H */
