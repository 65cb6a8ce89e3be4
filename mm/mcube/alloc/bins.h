/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Bins of free page frames with downward search.
 *
 * Copyright (C) 2026 The mcube authors
 *
 * Pure: needs lists, bitmaps and three words of struct page.  The same file
 * is built into the kernel, into KUnit and into a user-space test.
 */
#ifndef _MM_MCUBE_ALLOC_BINS_H
#define _MM_MCUBE_ALLOC_BINS_H

#include <linux/bitmap.h>
#include <linux/bits.h>
#include <linux/list.h>
#include <linux/mcube_map.h>
#include <linux/mm_types.h>
#include <linux/types.h>

#define MCUBE_MAX_PAGES		BIT(MCUBE_MAX_ORDER)
/* Largest cluster: 2^5 frames, which lie in a word of a bitmap. */
#define MCUBE_CLUSTER_MAX	5U

/**
 * enum mcube_fill_order - order in which a fresh container's frames enter bins
 * @MCUBE_FILL_SHUFFLE: a keyed permutation, different for every container.
 * @MCUBE_FILL_PAPER: ascending, as in the paper.
 * @MCUBE_FILL_EVEN: random, but all colors in turn, see even.c.
 * @MCUBE_FILL_AUTO: what mcube_fill_choose() chooses, with the size of clusters.
 * @MCUBE_NR_FILL_ORDERS: number of fill orders.
 */
enum mcube_fill_order {
	MCUBE_FILL_SHUFFLE,
	MCUBE_FILL_PAPER,
	MCUBE_FILL_EVEN,
	MCUBE_FILL_AUTO,
	MCUBE_NR_FILL_ORDERS,
};

/**
 * struct mcube_fill - a fill order, computed in advance
 * @order: containers have 2^@order frames.
 * @cluster: 2^@cluster neighbouring frames leave the bins one after the other.
 * @even: each aligned run of frames has all colors, in every variant.
 * @off: frames in the order in which they enter the bins.
 * @level: by position in @off, the level that the frame reaches when the frames
 *         enter an empty container in this order.
 */
struct mcube_fill {
	unsigned int order;
	unsigned int cluster;
	bool even;
	u16 off[MCUBE_MAX_PAGES];
	u8 level[MCUBE_MAX_PAGES];
};

/**
 * struct mcube_fill_choice - the choice of fill_order=auto
 * @fill_order: the order.
 * @cluster: order of the clusters.
 * @colors: number of colors that a container has.
 * @why: why the clusters have this order.
 */
struct mcube_fill_choice {
	enum mcube_fill_order fill_order;
	unsigned int cluster;
	unsigned int colors;
	const char *why;
};

/**
 * union mcube_bins_groups - numbers of wholly free, aligned groups by size
 * @nr: by level l, the number of groups of 2^l frames, at most MCUBE_MAX_PAGES.
 * @word: the same numbers, four in a word: a frame that becomes free changes
 *        the numbers of most levels by 1.
 */
union mcube_bins_groups {
	u16 nr[ALIGN(MCUBE_MAX_ORDER + 1, 4)];
	u64 word[DIV_ROUND_UP(MCUBE_MAX_ORDER + 1, 4)];
};

/**
 * struct mcube_bins - the free frames of one container
 * @base: struct page of frame 0; a frame is named by its offset from it.
 * @order: the container has 2^@order frames, at most 2^MCUBE_MAX_ORDER.
 * @nr_free: number of free frames: binned, unbinned or of the open cluster.
 * @nonempty: bit l is set while bin[l] has a frame.
 * @unbinned: 0 if the free frames are in bins.  Otherwise the free frames are
 *            in @free alone, and bit l is set while an aligned group of 2^l
 *            frames is wholly free: all bits up to the largest group's.
 * @cluster: 2^@cluster neighbouring frames leave one after the other, as far as
 *           they are free; at most MCUBE_CLUSTER_MAX.
 * @open: number of the word of @free that has the bits of the open cluster, which
 *        mcube_bins_take() uses up.
 * @open_free: bits of the open cluster's frames that are still free, as in the word
 *             @open; the frames are in no bin, and their bits in @free are clear.
 * @word: word of @free where mcube_bins_take_from() last found a frame.
 * @free: bit per frame, set while the frame is free.
 * @bin: frames by level, head first.  A frame in bin l stands for a wholly
 *       free, aligned group of 2^l frames.
 * @groups: number of wholly free, aligned groups of 2^l frames; kept only while
 *          frames are unbinned.
 *
 * The caller serialises all calls on one instance.  While a frame is in a
 * bin these words of its struct page belong to the bins: lru (links),
 * private (level) and index (see mcube_bins_slot()).  The bins do not touch
 * the struct page of an unbinned frame.
 */
struct mcube_bins {
	struct page *base;
	unsigned int order;
	unsigned int nr_free;
	unsigned long nonempty;
	unsigned long unbinned;
	unsigned int cluster;
	unsigned int open;
	unsigned long open_free;
	unsigned int word;
	DECLARE_BITMAP(free, MCUBE_MAX_PAGES);
	struct list_head bin[MCUBE_MAX_ORDER + 1];
	union mcube_bins_groups groups;
};

void mcube_bins_init(struct mcube_bins *b, struct page *base,
		     unsigned int order);
unsigned int mcube_bins_ascent(const unsigned long *free, unsigned int order,
			       unsigned int off);
void mcube_fill_build(struct mcube_fill *f, unsigned int order,
		      enum mcube_fill_order fill_order, u64 key);
void mcube_even_build(struct mcube_fill *f, unsigned int order, unsigned int cluster,
		      const struct mcube_map *map, u64 key);
unsigned int mcube_even_colors(const struct mcube_dim *color, unsigned int order);
void mcube_fill_choose(struct mcube_fill_choice *p, const struct mcube_map *map,
		       unsigned int order);
void mcube_bins_fill(struct mcube_bins *b, const struct mcube_fill *f, u64 key);
void mcube_bins_fill_unbinned(struct mcube_bins *b);
void mcube_bins_sort(struct mcube_bins *b, const struct mcube_fill *f, u64 key);
unsigned int mcube_bins_put(struct mcube_bins *b, unsigned int off);
int mcube_bins_take(struct mcube_bins *b);
void mcube_bins_close(struct mcube_bins *b);
bool mcube_bins_is_free(const struct mcube_bins *b, unsigned int off);
int mcube_bins_largest(const struct mcube_bins *b);
int mcube_bins_take_from(struct mcube_bins *b, const unsigned long *sel,
			 const unsigned long *sel2);
void mcube_bins_remove(struct mcube_bins *b, unsigned int off);
unsigned int mcube_bins_take_groups(struct mcube_bins *b,
				    const unsigned long *sel,
				    unsigned int order, u16 *first,
				    unsigned int nr);
bool mcube_bins_has_group(const struct mcube_bins *b, const unsigned long *sel,
			  unsigned int order);
unsigned int mcube_bins_put_group(struct mcube_bins *b, unsigned int first,
				  unsigned int order);
int mcube_bins_drain_group(struct mcube_bins *b, unsigned int *order);

/**
 * mcube_bins_top() - level of the largest free group in the bins
 * @b: the bins.
 *
 * Return: 0..order, or -1 if no frame is free but those of the open cluster.
 */
static inline int mcube_bins_top(const struct mcube_bins *b)
{
	return fls_long(b->nonempty | b->unbinned) - 1;
}

/**
 * mcube_bins_full() - are all frames of the container free?
 * @b: the bins.
 *
 * Return: true if all frames are free.
 */
static inline bool mcube_bins_full(const struct mcube_bins *b)
{
	return b->nr_free == 1U << b->order;
}

/* The lists of the bins, and the slots: for bins.c and sort.c. */

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
static inline unsigned long *mcube_bins_slot(struct mcube_bins *b, unsigned int level,
					     unsigned int off)
{
	unsigned int first = off & ~((1U << level) - 1);

	return &b->base[first + (1U << (level - 1))].index;
}

static inline void mcube_bins_note(struct mcube_bins *b, unsigned int off, unsigned int level)
{
	for (; level; level--)
		*mcube_bins_slot(b, level, off) = off;
}

static inline void mcube_bins_add(struct mcube_bins *b, unsigned int off, unsigned int level)
{
	struct page *page = b->base + off;

	page->private = level;
	list_add(&page->lru, &b->bin[level]);
	b->nonempty |= BIT(level);
}

static inline void mcube_bins_del(struct mcube_bins *b, unsigned int off)
{
	struct page *page = b->base + off;
	unsigned int level = page->private;

	list_del(&page->lru);
	if (list_empty(&b->bin[level]))
		b->nonempty &= ~BIT(level);
}

static inline void mcube_bins_empty(struct mcube_bins *b)
{
	unsigned int level;

	b->nonempty = 0;
	b->unbinned = 0;
	for (level = 0; level <= b->order; level++)
		INIT_LIST_HEAD(&b->bin[level]);
}

#endif /* _MM_MCUBE_ALLOC_BINS_H */
