// SPDX-License-Identifier: GPL-2.0
/*
 * Folios of several pages, from containers and back
 *
 * Copyright (C) 2026 The mcube authors
 *
 * A folio of 2^k pages needs an aligned group of 2^k frames.  In a map that is
 * linear over XOR such a group has the colors of one color group
 * (../srm/color_group.c), so a hint for any color of the color group names it.
 * A container knows the levels of its free groups (bins.c), hence at once
 * whether it can have a group of that size:
 *
 *   16 frames, colors 0 to 7; a hint for color 5, order 2
 *
 *     color   0 1 2 3   4 5 6 7   0 1 2 3   4 5 6 7
 *     free    * * * *   * . * *   . . . .   * * * *
 *                                           ^^^^^^^ taken as a whole
 *
 * The page cache asks for many folios in a row, which bulk.c takes together:
 *
 *   mcube_alloc_folios()         mcube_alloc_rmqueue_large()
 *     |                            |
 *     +-> mcube_large_take() <-----+ else mcube_buddy_search()
 *              |   cursor of the color, next container, a new container
 *              v
 *     bins of a container  <------- mcube_large_free()
 *
 * A folio is freed into its container as a whole.  A folio that was split is
 * freed in parts, which become a free group again in the bins.  When the
 * container has been broken up meanwhile, the page allocator frees the folio.
 *
 * The cursors and the exhausted keys are those of hinted.c, for groups: a color is
 * exhausted from some order on when no container has a free group of that order,
 * until a group of its color becomes free or a block is taken.
 */

#include <linux/list.h>
#include <linux/mcube_alloc.h>
#include <linux/mcube_hint.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/mmzone.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/spinlock.h>
#include <linux/vmstat.h>

#include "color_stat.h"
#include "internal.h"

/* For mcube_search_pauses(), beside the keys of single frames. */
static unsigned int pause_key(unsigned int color, unsigned int order)
{
	return MCUBE_NR_KEYS + order * MCUBE_MAX_VALUES + color;
}

/* Take up to @nr groups out of a container; the number of groups taken. */
static unsigned int take_groups(struct mcube_zone *mz,
				struct mcube_container *c, u32 hint,
				unsigned int order, struct page **pages,
				unsigned int nr)
{
	const unsigned long *sel, *unused;
	unsigned int got = 0, i;
	unsigned long flags;
	u16 first[MCUBE_BULK_MAX];

	spin_lock_irqsave(&c->lock, flags);
	if (c->active && c->mz == mz &&
	    mcube_hint_select(hint, &c->block_map, &sel, &unused)) {
		got = mcube_bins_take_groups(&c->bins, sel, order, first,
					     min(nr, MCUBE_BULK_MAX));
		if (got) {
			__mod_mcube_free_pages(mz->zone, -(int)(got << order));
			/* All groups have the same colors. */
			mcube_color_stat_groups(c, first[0], 1U << order, -(int)got);
			mcube_container_relist(c);
		}
	}
	spin_unlock_irqrestore(&c->lock, flags);
	for (i = 0; i < got; i++)
		pages[i] = c->bins.base + first[i];
	return got;
}

static bool has_group(const struct mcube_container *c, u32 hint,
		      unsigned int order)
{
	const unsigned long *sel, *unused;

	return mcube_bins_top(&c->bins) >= (int)order &&
		mcube_hint_select(hint, &c->block_map, &sel, &unused) &&
		mcube_bins_has_group(&c->bins, sel, order);
}

/* The next container with a group; examines a bounded number of containers. */
static struct mcube_container *search(struct mcube_zone *mz, u32 hint,
				      unsigned int order)
{
	unsigned int color = mcube_hint_color(hint), left;
	struct mcube_container *c, *found = NULL;
	struct mcube_large *l = &mz->large;
	unsigned long flags;

	spin_lock_irqsave(&mz->lock, flags);
	c = mcube_search_start(mz, l->cursor[color], &l->missed[color]);
	if (l->order[color] != order) {
		l->order[color] = order;
		l->missed[color] = 0;
	}
	for (left = min(mz->nr_searched, MCUBE_SEARCH_MAX); left && !found; left--) {
		c = list_next_entry_circular(c, &mz->searched, all);
		l->missed[color]++;
		if (has_group(c, hint, order))
			found = c;
	}
	if (mz->nr_searched)
		WRITE_ONCE(l->cursor[color], c);
	if (found) {
		l->missed[color] = 0;
	} else if (l->missed[color] >= mz->nr_searched) {
		l->missed[color] = 0;
		mcube_large_set_exhausted(mz, color, order);
	}
	spin_unlock_irqrestore(&mz->lock, flags);
	mcube_search_misses(mz, pause_key(color, order), !found);
	return found;
}

/*
 * Take a block.  If the color was exhausted, no other container has a group, so
 * the color stays exhausted.  That does not hold if another CPU took a block for
 * the color at the same time, which moved the cursor.
 */
static struct mcube_container *take_for(struct mcube_zone *mz, u32 hint)
{
	unsigned int color = mcube_hint_color(hint);
	unsigned int from = READ_ONCE(mz->large.exhausted[color]);
	struct mcube_container *old = READ_ONCE(mz->large.cursor[color]), *c;
	unsigned long flags;

	c = mcube_container_take(mz, -1, hint);
	if (!c)
		return NULL;
	spin_lock_irqsave(&mz->lock, flags);
	if (mz->large.cursor[color] == old)
		mcube_large_set_exhausted(mz, color, from);
	WRITE_ONCE(mz->large.cursor[color], c);
	spin_unlock_irqrestore(&mz->lock, flags);
	return c;
}

/**
 * mcube_large_take() - take free groups of frames for a hint
 * @mz: containers of the zone.
 * @hint: the hint, which fits the map, see mcube_hint_fits().
 * @order: each group has 2^@order frames; not 0.
 * @pages: filled in with the first page of each group.
 * @nr: number of groups wanted; a call takes MCUBE_BULK_MAX at most.
 *
 * Context: any but NMI, RCU read side; zone->lock is not held.
 * Return: number of groups.  Fewer than @nr, but not 0, if the container has no
 * more; other containers may have some.
 */
unsigned int mcube_large_take(struct mcube_zone *mz, u32 hint,
			      unsigned int order, struct page **pages,
			      unsigned int nr)
{
	int color = mcube_hint_color(hint);
	struct mcube_container *c;
	unsigned int got = 0;

	/* In a map with tables, groups can have some colors in common. */
	if (color < 0 || mcube_hint_bank(hint) >= 0 ||
	    order > MCUBE_LARGE_MAX || mcube_config.map->color.nr_tables)
		return 0;
	c = READ_ONCE(mz->large.cursor[color]);
	if (likely(c))
		got = take_groups(mz, c, hint, order, pages, nr);
	while (!got && !mcube_large_is_exhausted(mz, color, order) &&
	       !mcube_search_pauses(mz, pause_key(color, order))) {
		c = search(mz, hint, order);
		if (!c)
			break;
		got = take_groups(mz, c, hint, order, pages, nr);
	}
	if (got)
		return got;
	c = take_for(mz, hint);
	return c ? take_groups(mz, c, hint, order, pages, nr) : 0;
}

/**
 * mcube_alloc_rmqueue_large() - allocate a block of more than one page
 * @zone: zone that has passed watermark, cpuset and dirty checks.
 * @order: order of the block, not 0.
 * @migratetype: type of the request.
 *
 * Context: any but NMI, no lock of the page allocator held.
 * Return: a free block for the page cache, to be prepared like a block from the
 * buddy lists; NULL for any other request, or if no block follows the hint.
 */
struct page *mcube_alloc_rmqueue_large(struct zone *zone, unsigned int order,
				       int migratetype)
{
	u32 hint = mcube_task_hint();
	struct page *page = NULL;
	struct mcube_zone *mz;

	guard(rcu)();
	mz = rcu_dereference(zone->mcube);
	if (mz && hint & MCUBE_HINT_FILE && migratetype == MIGRATE_MOVABLE &&
	    mcube_hint_fits(hint) &&
	    mcube_large_take(mz, hint, order, &page, 1))
		mcube_hinted_count(hint, 1);
	else if (mz)
		page = mcube_search_buddy(zone, order, migratetype);
	if (!page)
		this_cpu_inc(mcube_stats.nr[MCUBE_UNCOVERED]);
	return page;
}

/**
 * mcube_large_free() - free a block of several pages into its container
 * @pfn: first frame of the block, which went through free_pages_prepare(), and
 *       whose pageblock was seen as MIGRATE_MCUBE.
 * @order: order of the block.
 *
 * Context: any but NMI; a pcp lock may be held, zone->lock may not.
 * Return: false if the block lies in no container any more: it belongs to the
 * buddy allocator.
 */
bool mcube_large_free(unsigned long pfn, unsigned int order)
{
	struct mcube_container *c;
	unsigned long flags;
	unsigned int off, level;
	bool active, full = false;

	guard(rcu)();
	c = mcube_lookup(pfn);
	if (unlikely(!c))
		return false;

	spin_lock_irqsave(&c->lock, flags);
	active = c->active;
	if (likely(active)) {
		off = pfn & ((1U << c->bins.order) - 1);
		level = mcube_bins_put_group(&c->bins, off, order);
		__mod_mcube_free_pages(c->mz->zone, 1 << order);
		mcube_color_stat_groups(c, off, 1U << order, 1);
		__count_vm_events(PGFREE, 1 << order);
		if (c->owner < 0 && mcube_container_relist(c))
			full = mcube_bins_full(&c->bins);
		if (unlikely(READ_ONCE(c->mz->nr_exhausted)))
			mcube_exhausted_freed(c, off, level, 1U << order);
	}
	spin_unlock_irqrestore(&c->lock, flags);
	if (unlikely(full))
		mcube_container_release(c);
	return active;
}
