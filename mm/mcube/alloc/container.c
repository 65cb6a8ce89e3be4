// SPDX-License-Identifier: GPL-2.0
/*
 * The store: containers and their lists
 *
 * Copyright (C) 2026 The mcube authors
 *
 * A container is an aligned block that was taken whole from the buddy lists
 * and whose pageblocks are of type MIGRATE_MCUBE from then on.  Its frames
 * live in bins (see bins.c) while they are free and find their way back there
 * when they are freed, until the block is given back.
 *
 *   buddy lists
 *      |  ^
 *      |  | mcube_container_release(): wholly free, not owned, spares enough
 *      |  | mcube_container_break_up(): an allocation would fail, or isolation,
 *      |  |                       memory failure, switching off
 *      v  |
 *   mcube_container_take() ──> owned by a CPU ──> used up ──> store->level[0..order]
 *                         ^                               |
 *                         +-------- mcube_container_claim() --------+
 *
 * Free frames in containers stay in NR_FREE_PAGES, and NR_FREE_MCUBE_PAGES
 * counts them alone.  So MemFree, watermarks, kswapd and the OOM killer see
 * the truth, and no shrinker is needed: whatever would fail gets the pages by
 * dissolving, pageblocks going back to MIGRATE_MOVABLE and the free groups to
 * the buddy lists, where they merge.
 *
 * A store belongs to a zone, not to a node, as watermarks, lowmem reserve and
 * hotplug do.
 *
 * Which container?  Those that no CPU owns hang in lists by the size of their
 * largest free group, which follows from the number of free frames well
 * enough and costs a list operation only when that group changes.  Refilling
 * a CPU takes from the lowest list, so that nearly full containers fill up
 * and nearly free ones become free; dissolving takes from the highest.  The
 * wholly free ones in the highest list are spares: some are kept, as filling
 * the next one costs more than all else that is done to its pages.
 *
 * Locks: zone->lock, then one container's lock, then store->lock, all with
 * interrupts off.  Never zone->lock under a container's lock.  Nothing is
 * printed under any of them.
 *
 * Source: M3: Park, Baek, Choi, Lee, Noh, "Regularities considered harmful:
 * forcing randomness to memory accesses to reduce row buffer conflicts for
 * multi-core, multi-bank systems", ASPLOS 2013: per-CPU containers that span
 * all banks.
 *
 * Differences from the paper:
 *
 *  - Containers come from and go to the buddy lists at run time and belong to
 *    a zone; a CPU owns one at a time.  The paper divides memory at boot.
 *  - Frames of a container that another CPU frees go to that container, not
 *    to the freeing CPU.
 */

#include <linux/list.h>
#include <linux/mcube_alloc.h>
#include <linux/mm.h>
#include <linux/mmzone.h>
#include <linux/page-isolation.h>
#include <linux/random.h>
#include <linux/vmstat.h>

#include "../../internal.h"
#include "internal.h"
#include "policy.h"

#include <trace/events/mcube_alloc.h>

/* Free blocks looked at for one that has frames for a hint. */
#define BLOCKS_MAX	16

/*
 * May a block be taken without getting near the watermarks?  The store's own
 * pages do not count, nor does CMA, from which no block is taken.  While most
 * of what is free is CMA, movable pages should go there: the buddy allocator
 * has the same rule.
 */
static bool may_take(struct zone *zone, unsigned int nr)
{
	long free = zone_page_state(zone, NR_FREE_PAGES);

	if (zone_page_state(zone, NR_FREE_CMA_PAGES) > free / 2)
		return false;
	return __zone_watermark_ok(zone, 0, high_wmark_pages(zone) + nr, 0, 0,
				   free - mcube_alloc_nr_free(zone));
}

/*
 * The first block that has frames for the hint, if there is one: it may name
 * a color and a bank that never go together, or a channel of which a block
 * is wholly or not at all.  Memory that came when there was none for descriptors
 * is left out.
 */
static struct page *find_block(struct list_head *list, u32 hint)
{
	unsigned int tries = BLOCKS_MAX;
	struct page *page;

	list_for_each_entry(page, list, buddy_list) {
		struct mcube_block_map block_map;

		if (mcube_lookup(page_to_pfn(page))) {
			if (!hint)
				return page;
			mcube_block_map_init(&block_map, page_to_pfn(page));
			if (mcube_hint_matches(hint, &block_map, NULL))
				return page;
		}
		if (!--tries)
			break;
	}
	return NULL;
}

/*
 * Take a free block of some type off the buddy lists, mark it, and put back
 * what is too much.  The mark comes first: in blocks whose type can merge with
 * others __isolate_free_page() looks at each single page.
 */
static struct page *split_block(struct zone *zone, struct page *page,
				unsigned int order, int type)
{
	mcube_set_block_type(page, MIGRATE_MCUBE);
	if (!__isolate_free_page(page, order)) {
		mcube_set_block_type(page, type);
		return NULL;
	}
	while (order-- > mcube_config.order)
		__putback_isolated_page(page + (1UL << order), order,
					MIGRATE_MOVABLE);
	return page;
}

/*
 * Whole blocks of other types are as good as movable ones once those are used
 * up; the page allocator falls back to them likewise, in this order.
 */
static const u8 block_types[] = {
	MIGRATE_MOVABLE, MIGRATE_RECLAIMABLE, MIGRATE_UNMOVABLE,
};

static struct page *take_block(struct zone *zone, u32 hint)
{
	unsigned int i, order;

	lockdep_assert_held(&zone->lock);
	for (i = 0; i < ARRAY_SIZE(block_types); i++) {
		for (order = mcube_config.order; order < NR_PAGE_ORDERS; order++) {
			struct free_area *area = &zone->free_area[order];
			struct page *page;

			page = find_block(&area->free_list[block_types[i]],
					  hint);
			if (page)
				return split_block(zone, page, order,
						   block_types[i]);
		}
	}
	return NULL;
}

/* Without the lock: is there a block at all? */
static bool block_in_sight(struct zone *zone)
{
	unsigned int i, order;

	for (order = mcube_config.order; order < NR_PAGE_ORDERS; order++)
		for (i = 0; i < ARRAY_SIZE(block_types); i++)
			if (!free_area_empty(&zone->free_area[order],
					     block_types[i]))
				return true;
	return false;
}

/**
 * mcube_container_may_take() - could a block be made a container now?
 * @zone: the zone.
 *
 * Return: true if probably so: there are frames of every color to be had.
 */
bool mcube_container_may_take(struct zone *zone)
{
	return block_in_sight(zone) && may_take(zone, 1U << mcube_config.order);
}

/**
 * mcube_container_take() - make a container of a block from the buddy lists
 * @s: the zone's store.
 * @owner: CPU that shall own it, or -1.
 * @hint: frames that it shall have, or 0.
 *
 * With a hint the frames stay out of the bins until a CPU claims the
 * container: a hint takes a few in a hundred.
 *
 * Leaves the zone its high watermark in the buddy lists: pages of the store
 * count as free, but those who need another type or order should find theirs
 * without dissolving what was just taken.
 *
 * Context: RCU read side.
 * Return: the container, or NULL.
 */
struct mcube_container *mcube_container_take(struct mcube_zone *mz, int owner, u32 hint)
{
	const unsigned int nr = 1U << mcube_config.order;
	struct zone *zone = mz->zone;
	enum mcube_fill_order fill_order = READ_ONCE(mcube_config.fill_order);
	struct mcube_container *c;
	unsigned long flags, pfn;
	struct page *page;
	u64 key;

	if (!mcube_container_may_take(zone))
		return NULL;
	key = fill_order == MCUBE_FILL_PAPER ? 0 : get_random_u64();

	spin_lock_irqsave(&zone->lock, flags);
	page = mz->open ? take_block(zone, hint) : NULL;
	if (!page) {
		spin_unlock_irqrestore(&zone->lock, flags);
		return NULL;
	}
	pfn = page_to_pfn(page);
	c = mcube_lookup(pfn);
	spin_lock(&c->lock);
	__mod_mcube_free_pages(zone, nr);
	mcube_bins_init(&c->bins, page, mcube_config.order);
	mcube_block_map_init(&c->block_map, pfn);
	c->mz = mz;
	c->owner = owner;
	c->fill_order = fill_order;
	c->key = key;
	c->active = true;
	spin_lock(&mz->lock);
	list_add(&c->all, &mz->all);
	mz->nr++;
	mz->nr_exhausted = 0;
	bitmap_zero(mz->exhausted, MCUBE_NR_KEYS);
	spin_unlock(&mz->lock);
	/* Filling takes a while; only those who want this one need to wait. */
	spin_unlock(&zone->lock);

	if (hint)
		mcube_bins_fill_unbinned(&c->bins);
	else
		mcube_bins_fill(&c->bins, mcube_config.fill[fill_order], key);
	mcube_color_stat_all(c, true);
	mcube_container_relist(c);
	this_cpu_inc(mcube_stats.nr[MCUBE_TAKEN]);
	spin_unlock_irqrestore(&c->lock, flags);

	trace_mcube_alloc_take(zone, pfn, mcube_config.order, owner);
	return c;
}

/**
 * mcube_container_claim() - have a CPU own a container that nobody owns
 * @s: the store.
 * @level: least level; the lowest list from there on is tried first.
 * @cpu: the CPU.
 *
 * Context: RCU read side.
 * Return: the container, or NULL if there is none.
 */
struct mcube_container *mcube_container_claim(struct mcube_zone *mz, unsigned int level,
				    int cpu)
{
	unsigned long flags, levels;

	while ((levels = READ_ONCE(mz->levels) >> level)) {
		struct mcube_container *c;

		spin_lock_irqsave(&mz->lock, flags);
		c = list_first_entry_or_null(&mz->level[level + __ffs(levels)],
					     struct mcube_container, node);
		spin_unlock_irqrestore(&mz->lock, flags);
		if (!c)
			continue;

		spin_lock_irqsave(&c->lock, flags);
		if (c->active && c->owner < 0 && c->bins.nr_free) {
			c->owner = cpu;
			mcube_bins_sort(&c->bins, mcube_config.fill[c->fill_order],
					c->key);
			mcube_container_relist(c);
			spin_unlock_irqrestore(&c->lock, flags);
			return c;
		}
		spin_unlock_irqrestore(&c->lock, flags);
	}
	return NULL;
}

/* @c may be another CPU's by now, if it was given back and taken anew. */
static void disown(struct mcube_container *c, int cpu)
{
	unsigned long flags;
	bool full = false;

	spin_lock_irqsave(&c->lock, flags);
	if (c->active && c->owner == cpu) {
		c->owner = -1;
		full = mcube_bins_full(&c->bins);
		mcube_container_relist(c);
	}
	spin_unlock_irqrestore(&c->lock, flags);
	if (full)
		mcube_container_release(c);
}

/**
 * mcube_container_own() - let a CPU own a container instead of the last one
 * @s: the store.
 * @c: the container, claimed or taken for the CPU; NULL for none.
 * @cpu: the CPU.
 *
 * Context: RCU read side.
 */
void mcube_container_own(struct mcube_zone *mz, struct mcube_container *c,
			 int cpu)
{
	struct mcube_container *old;

	old = xchg(per_cpu_ptr(mz->cur, cpu), c);
	if (old && old != c)
		disown(old, cpu);
}

/**
 * mcube_zone_covered() - has a zone containers, or could it have some?
 * @zone: the zone.
 *
 * Return: true if so; that may have changed when the caller looks again.
 */
bool mcube_zone_covered(struct zone *zone)
{
	return rcu_access_pointer(zone->mcube);
}

/**
 * mcube_container_used() - the frames of a block that are in use and have a color
 * @pfn: a frame of the block.
 * @color: the colors.
 * @nr: number of colors.
 * @frames: bitmap of 2^MCUBE_MAX_ORDER bits, filled in: by offset, the frames
 *          that have one of the colors and are not free.
 *
 * Context: any but NMI.
 * Return: page of the block's first frame; NULL if the block is no container.
 */
struct page *mcube_container_used(unsigned long pfn, const u8 *color,
				  unsigned int nr, unsigned long *frames)
{
	const unsigned long *sel, *unused;
	struct mcube_container *c;
	unsigned int pages, i;

	guard(rcu)();
	c = mcube_lookup(pfn);
	if (!c)
		return NULL;
	pages = mcube_container_pages();
	bitmap_zero(frames, pages);
	guard(spinlock_irqsave)(&c->lock);
	if (!c->active)
		return NULL;
	for (i = 0; i < nr; i++)
		if (mcube_hint_select(mcube_hint_make(color[i], -1), &c->block_map,
				      &sel, &unused))
			bitmap_or(frames, frames, sel, pages);
	bitmap_andnot(frames, frames, c->bins.free, pages);
	return c->bins.base;
}
