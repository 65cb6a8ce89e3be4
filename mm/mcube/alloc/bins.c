// SPDX-License-Identifier: GPL-2.0
/*
 * Bins of free page frames with downward search
 *
 * Copyright (C) 2026 The mcube authors
 *
 * The buddy allocator hands out memory in ascending order: it splits a block
 * and gives the halves away one after the other.  So pages that are allocated
 * together lie in the same DRAM rows, and walk through the banks and cache
 * colors in step with every other CPU that allocates.  The M3 allocator does
 * the opposite.  A container (an aligned block of 2^n frames) keeps its free
 * frames one by one.  A frame that completes a free buddy group becomes the
 * group's representative and moves up to the bin of the group's size.
 * Allocation searches downward and takes the representative of the largest
 * group.  Thus splitting costs nothing, and frames that are allocated one after
 * the other lie as far apart as the free space allows.
 *
 *   8 frames, freed in the order 0..7:        after taking 7, 3, 5, 1, 6:
 *
 *     bin 3:  7                                 bin 3:
 *     bin 2:  3                                 bin 2:
 *     bin 1:  5 1                               bin 1:
 *     bin 0:  6 4 2 0                           bin 0:  4 2 0
 *
 * Rules: a freed frame starts in bin 0 and ascends while its buddy group is
 * wholly free; frames enter a bin at the head and leave it at the head.
 *
 * Invariant: every wholly free group of 2^l frames has exactly one frame of
 * level l or more, its representative.
 *
 * alloc.c and hinted.c take and free frames.  container.c fills and sorts the bins of a
 * container (sort.c), release.c empties them.
 *
 * Source: the M3 ("Mcube") multi-core multi-bank allocator: Park, Baek, Choi,
 * Lee, Noh, "Regularities considered harmful: forcing randomness to memory
 * accesses to reduce row buffer conflicts for multi-core, multi-bank systems",
 * ASPLOS 2013, figure 8(b).
 *
 * Differences from the paper:
 *
 *  - Any frame can be taken, not only the head of the highest bin: a request
 *    for a cache color or a DRAM bank names its frame.  If the frame stood
 *    below another representative, that representative is demoted to the
 *    largest group that it still stands for, see mcube_bins_remove().
 *  - Whole groups are taken and freed too, for folios of several pages: levels tell
 *    if a container has any, the bitmap where, see mcube_bins_take_groups().
 *  - Frames enter the bins only when a downward search needs them.  Frames of a
 *    container that serves only hints are unbinned: they are in the bitmap
 *    alone, and the wholly free groups of each size are counted.
 *  - A bitmap tells whether a group is free.  So freeing touches no frame but the freed
 *    frame and the slots.
 *  - Frames that share DRAM rows may be kept together, as clusters, which are spread.  The
 *    cluster in use is open: its frames are free, but in no bin and in no free group.
 *  - The order in which a fresh container is filled can be chosen.  In
 *    ascending order, as in the paper, the first frames of a container differ
 *    only in their highest address bits.  On XOR-mapped memory these frames
 *    have one color and few banks, the same on every CPU.  See the finding on
 *    fill orders in Documentation/mm/mcube/fill.rst.
 *  - The paper's third example (frames freed as 6, 7, 1, 3, 5 come back as
 *    6, 3, 1, 5, 7) does not follow from its own rules, which give 5, 3, 1,
 *    7, 6.  The printed order comes out when the frames are freed as 5, 7, 1,
 *    3, 6.
 */

#include <linux/bitmap.h>
#include <linux/bitops.h>
#include <linux/kernel.h>
#include <linux/list.h>
#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/mm_types.h>
#include <linux/string.h>

#include "bins.h"

#define WORD_LEVEL	((unsigned int)ilog2(BITS_PER_LONG))
/* So many words before a frame that was found, other colors may have frames still. */
#define BACK		4U

/* Is the aligned group of 2^level frames around @off free?  It has whole words. */
static bool words_free(const unsigned long *free, unsigned int level, unsigned int off)
{
	const unsigned long *word = free + BIT_WORD(off >> level << level);
	unsigned int n;

	for (n = 1U << (level - WORD_LEVEL); n; n--, word++)
		if (*word != ~0UL)
			return false;
	return true;
}

/**
 * mcube_bins_ascent() - the level that a frame reaches
 * @free: bitmap of the free frames.
 * @order: the bitmap has 2^@order bits.
 * @off: the frame, free.
 *
 * Within a word the nearest frames in use decide: two frames lie in one group of
 * 2^l frames if they differ in the lowest l bits only.
 *
 * Return: level of the largest free group that contains the frame.
 */
unsigned int mcube_bins_ascent(const unsigned long *free, unsigned int order, unsigned int off)
{
	unsigned long used = ~free[BIT_WORD(off)], below, above;
	unsigned int bit = off % BITS_PER_LONG, level = WORD_LEVEL;

	below = used & (BIT(bit) - 1);
	above = used & ~(BIT(bit) - 1);
	if (below)
		level = __fls(bit ^ __fls(below));
	if (above)
		level = min(level, (unsigned int)__fls(bit ^ __ffs(above)));
	if (level < WORD_LEVEL)
		return level;
	while (level < order && words_free(free, level, off ^ (1U << level)))
		level++;
	return level;
}

/* Inline, as half of all frames stay in bin 0 and need no call. */
static inline unsigned int reach(const struct mcube_bins *b, unsigned int off)
{
	return test_bit(off ^ 1, b->free) ? mcube_bins_ascent(b->free, b->order, off) : 0;
}

/* By level, what a frame that reaches the level adds to the counts of groups. */
static const union mcube_bins_groups one_more[MCUBE_MAX_ORDER + 1] = {
	{ .nr = { 1 } }, { .nr = { 1, 1 } }, { .nr = { 1, 1, 1 } }, { .nr = { 1, 1, 1, 1 } },
	{ .nr = { 1, 1, 1, 1, 1 } }, { .nr = { 1, 1, 1, 1, 1, 1 } },
	{ .nr = { 1, 1, 1, 1, 1, 1, 1 } }, { .nr = { 1, 1, 1, 1, 1, 1, 1, 1 } },
	{ .nr = { 1, 1, 1, 1, 1, 1, 1, 1, 1 } }, { .nr = { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 } },
	{ .nr = { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 } },
};

/*
 * An unbinned group of 2^order frames became free, and with it the groups up to
 * @level that contain it.
 */
static void unbinned_add(struct mcube_bins *b, unsigned int order, unsigned int level)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(b->groups.word); i++)
		b->groups.word[i] += one_more[level].word[i];
	for (i = 0; i < order; i++)
		b->groups.nr[i] += (1U << (order - i)) - 1;
	b->unbinned |= BIT(level + 1) - 1;
}

/* An unbinned group is about to be taken: what contains it is no longer free. */
static void unbinned_del(struct mcube_bins *b, unsigned int off, unsigned int order)
{
	unsigned int level = reach(b, off), i;

	for (i = 0; i < ARRAY_SIZE(b->groups.word); i++)
		b->groups.word[i] -= one_more[level].word[i];
	for (i = 0; i < order; i++)
		b->groups.nr[i] -= (1U << (order - i)) - 1;
	/* Where no group of a size is free, no larger group is. */
	while (b->unbinned && !b->groups.nr[__fls(b->unbinned)])
		b->unbinned >>= 1;
}

/**
 * mcube_bins_init() - initialize the bins of a container, all frames in use
 * @b: the bins.
 * @base: struct page of the first of 2^@order frames.
 * @order: order of the container, 0..MCUBE_MAX_ORDER.
 */
void mcube_bins_init(struct mcube_bins *b, struct page *base, unsigned int order)
{
	b->base = base;
	b->order = order;
	b->nr_free = 0;
	b->cluster = 0;
	b->open_free = 0;
	b->word = 0;
	bitmap_zero(b->free, MCUBE_MAX_PAGES);
	mcube_bins_empty(b);
}

/*
 * The frame joins a free neighbour, or the bins are not used.  Not inline: then
 * a frame that stays alone needs no call and no stack frame.
 */
static noinline unsigned int put_joined(struct mcube_bins *b, unsigned int off)
{
	unsigned int level = reach(b, off);

	if (b->unbinned) {
		unbinned_add(b, 0, level);
	} else {
		mcube_bins_note(b, off, level);
		mcube_bins_add(b, off, level);
	}
	return level;
}

/**
 * mcube_bins_put() - free one frame
 * @b: the bins.
 * @off: the frame, in use so far.
 *
 * Return: the level that the frame reached, 0..order.
 */
unsigned int mcube_bins_put(struct mcube_bins *b, unsigned int off)
{
	__set_bit(off, b->free);
	b->nr_free++;
	if (b->unbinned || test_bit(off ^ 1, b->free))
		return put_joined(b, off);
	mcube_bins_add(b, off, 0);
	return 0;
}

/*
 * The groups that contain @off are no longer free.  From @level upwards, demote
 * each representative of these groups to the largest group that does not
 * contain @off: its level is the highest bit in which the representative and
 * @off differ.
 */
static void demote(struct mcube_bins *b, unsigned int off, unsigned int level)
{
	while (level <= b->order) {
		unsigned long rep = *mcube_bins_slot(b, level, off);
		unsigned int old;

		/* The slot of a group that was not free is stale. */
		if (rep >> level != off >> level || !test_bit(rep, b->free))
			break;
		old = b->base[rep].private;
		if (old < level)
			break;
		mcube_bins_del(b, rep);
		mcube_bins_add(b, rep, fls(rep ^ off) - 1);
		level = old + 1;
	}
}

/**
 * mcube_bins_remove() - allocate a given frame
 * @b: the bins.
 * @off: the frame, free so far.
 *
 * @off represented the groups up to its own level.  Above that level the groups
 * have other representatives, see demote().  A call demotes half a frame on
 * average.
 */
void mcube_bins_remove(struct mcube_bins *b, unsigned int off)
{
	unsigned int level;

	b->nr_free--;
	if (b->unbinned) {
		unbinned_del(b, off, 0);
		__clear_bit(off, b->free);
		return;
	}
	level = b->base[off].private + 1;
	mcube_bins_del(b, off);
	__clear_bit(off, b->free);
	demote(b, off, level);
}

/*
 * The cluster of the representative leaves the bins, see cluster.c.  No representative
 * that stays is demoted.  If the representative's group contains the cluster, the
 * representative stands for all free groups that contain the cluster.  Otherwise no free
 * group reaches beyond the cluster.
 */
static noinline void open_cluster(struct mcube_bins *b)
{
	struct page *rep = list_first_entry(&b->bin[mcube_bins_top(b)], struct page, lru);
	unsigned int off = ALIGN_DOWN(rep - b->base, 1L << b->cluster);
	unsigned long mask = ~0UL >> (BITS_PER_LONG - (1U << b->cluster)), left;

	mask <<= off % BITS_PER_LONG;
	b->open = BIT_WORD(off);
	b->open_free = b->free[b->open] & mask;
	b->free[b->open] &= ~mask;
	for (left = b->open_free; left; left &= left - 1)
		mcube_bins_del(b, b->open * BITS_PER_LONG + __ffs(left));
}

/**
 * mcube_bins_take() - allocate the representative of the largest free group
 * @b: the bins.
 *
 * No group above the one taken is free, so no other frame changes its level.  With
 * clusters, the representative names a cluster.  The cluster's free frames leave the
 * bins at once, and are what this call and the next calls take, in ascending order.
 *
 * Return: the frame, or -1 if no frame is free or the free frames are unbinned.
 */
int mcube_bins_take(struct mcube_bins *b)
{
	struct page *page;
	unsigned int off;

	if (!b->open_free && !b->nonempty)
		return -1;
	if (b->cluster) {
		if (!b->open_free)
			open_cluster(b);
		off = b->open * BITS_PER_LONG + __ffs(b->open_free);
		b->open_free &= b->open_free - 1;
	} else {
		page = list_first_entry(&b->bin[mcube_bins_top(b)], struct page, lru);
		off = page - b->base;
		mcube_bins_del(b, off);
		__clear_bit(off, b->free);
	}
	b->nr_free--;
	return off;
}

/**
 * mcube_bins_take_from() - allocate a frame out of a selection
 * @b: the bins.
 * @sel: bitmap of 2^order bits: the frames allowed.
 * @sel2: a second bitmap that must allow the frame too, or NULL.
 *
 * Begins BACK words before the last frame that was found, as frames before are mostly taken.
 * So calls for all colors in turn use up words in about ascending order, and memory that
 * hops is even in address bits that no color has, those of a smaller cache or of a row.
 * The level of a frame does not matter, as frames of one color are hardly ever buddies.
 *
 * Return: the frame, or -1 if no frame of the selection is free.
 */
int mcube_bins_take_from(struct mcube_bins *b, const unsigned long *sel,
			 const unsigned long *sel2)
{
	unsigned int i = b->word - min(b->word, BACK), words = BITS_TO_LONGS(1U << b->order), left;

	for (left = words; left; left--) {
		unsigned long word = b->free[i] & sel[i];
		unsigned int off;

		if (sel2)
			word &= sel2[i];
		if (word) {
			off = i * BITS_PER_LONG + __ffs(word);
			mcube_bins_remove(b, off);
			b->word = i;
			return off;
		}
		/* @words is a power of two. */
		i = (i + 1) & (words - 1);
	}
	return -1;
}

/* The first bit of each aligned group of 2^order bits: is any bit set, or all? */
static __always_inline unsigned long fold(unsigned long word, unsigned int order, bool any)
{
	unsigned int l;

	for (l = 0; l < order; l++)
		word = any ? word | (word >> (1U << l)) : word & (word >> (1U << l));
	return word;
}

/* Groups in word @i, by their first bits, that are free and in the selection. */
static unsigned long groups_in(const struct mcube_bins *b, const unsigned long *sel,
			       unsigned int order, unsigned int i)
{
	unsigned long word = b->free[i];

	/* Most groups of a color are either free or in use. */
	if (!(word & sel[i]))
		return 0;
	return fold(word, order, false) & fold(sel[i], order, true) &
		(~0UL / (BIT(1U << order) - 1));
}

/**
 * mcube_bins_has_group() - is a group of a selection wholly free?
 * @b: the bins.
 * @sel: bitmap, as for mcube_bins_take_groups().
 * @order: as for mcube_bins_take_groups().
 *
 * Return: true if so; a guess if the call is not serialised.
 */
bool mcube_bins_has_group(const struct mcube_bins *b, const unsigned long *sel,
			  unsigned int order)
{
	unsigned int i;

	if (mcube_bins_top(b) < (int)order)
		return false;
	for (i = 0; i < BITS_TO_LONGS(1U << b->order); i++)
		if (groups_in(b, sel, order, i))
			return true;
	return false;
}

/*
 * Take a wholly free group of @n frames from the bins.  Its representative may
 * stand for larger groups too.
 */
static void remove_group(struct mcube_bins *b, unsigned int first, unsigned int n)
{
	unsigned int off, top = 0;

	for (off = first; off < first + n; off++) {
		top = max_t(unsigned int, top, b->base[off].private);
		mcube_bins_del(b, off);
	}
	b->free[BIT_WORD(first)] &= ~((BIT(n) - 1) << first % BITS_PER_LONG);
	demote(b, first, top + 1);
}

/**
 * mcube_bins_take_groups() - allocate groups out of a selection
 * @b: the bins.
 * @sel: bitmap of 2^order bits; a group must have one of these frames.
 * @order: a group has 2^@order frames and is aligned; less than log2 of
 *         BITS_PER_LONG.
 * @first: filled in with the first frames of the groups.
 * @nr: number of groups wanted.
 *
 * In a map without a table all aligned groups that have a frame of a color have
 * the same colors.  Continues where the last frame was found.
 *
 * Return: number of groups; fewer than @nr if no more are wholly free.
 */
unsigned int mcube_bins_take_groups(struct mcube_bins *b, const unsigned long *sel,
				    unsigned int order, u16 *first, unsigned int nr)
{
	unsigned int words = BITS_TO_LONGS(1U << b->order), i = b->word, left;
	unsigned int n = 1U << order, got = 0, off;
	unsigned long groups;

	if (mcube_bins_top(b) < (int)order)
		return 0;
	/* @words is a power of two. */
	for (left = words; left; left--, i = (i + 1) & (words - 1)) {
		groups = groups_in(b, sel, order, i);
		for (; groups && got < nr; groups &= groups - 1) {
			off = i * BITS_PER_LONG + __ffs(groups);
			first[got++] = off;
			if (b->unbinned) {
				unbinned_del(b, off, order);
				b->free[i] &= ~((BIT(n) - 1) << off % BITS_PER_LONG);
			} else {
				remove_group(b, off, n);
			}
		}
		if (got == nr)
			break;
	}
	b->word = i;
	b->nr_free -= got << order;
	return got;
}

/**
 * mcube_bins_put_group() - free a group of frames
 * @b: the bins.
 * @first: first frame of the group, which is aligned and wholly in use.
 * @order: the group has 2^@order frames.
 *
 * If no other frame is free, the frames stay unbinned: a container that serves
 * folios serves hints.  Else this does the same as mcube_bins_put() for one frame
 * after the other, but need not compute the levels of all but the last frame.
 *
 * Return: the level of the largest free group that contains the frames.
 */
unsigned int mcube_bins_put_group(struct mcube_bins *b, unsigned int first, unsigned int order)
{
	bool unbinned = b->unbinned || !b->nr_free;
	unsigned int n = 1U << order, i, level;

	if (!b->nr_free)
		b->groups = (union mcube_bins_groups){};
	bitmap_set(b->free, first, n);
	b->nr_free += n;
	level = reach(b, first);
	if (unbinned) {
		unbinned_add(b, order, level);
		return level;
	}
	for (i = 0; i < n; i++) {
		unsigned int mine = i < n - 1 ? ffz(i) : level;

		mcube_bins_note(b, first + i, mine);
		mcube_bins_add(b, first + i, mine);
	}
	return level;
}

/**
 * mcube_bins_drain_group() - take out the lowest maximal free group
 * @b: the bins, no cluster open; only this function may be called afterwards.
 * @order: set to the group's order.
 *
 * For a container that returns to the buddy lists: clears the level words of
 * the frames and forgets the frames.  Repeat the call until it returns -1, then
 * call mcube_bins_init() before any reuse.
 *
 * Return: the group's first frame, or -1 if no frame is free any more.
 */
int mcube_bins_drain_group(struct mcube_bins *b, unsigned int *order)
{
	unsigned int first = find_first_bit(b->free, 1U << b->order);
	unsigned int level, i;

	if (first == 1U << b->order) {
		b->nonempty = 0;
		b->unbinned = 0;
		return -1;
	}
	level = mcube_bins_ascent(b->free, b->order, first);
	bitmap_clear(b->free, first, 1U << level);
	for (i = 0; !b->unbinned && i < 1U << level; i++)
		b->base[first + i].private = 0;
	b->nr_free -= 1U << level;
	*order = level;
	return first;
}
