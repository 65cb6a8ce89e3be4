// SPDX-License-Identifier: GPL-2.0
/*
 * How a block becomes a container, and which CPU owns it
 *
 * Copyright (C) 2026 The mcube authors
 *
 * A container is an aligned block that was taken whole from the buddy lists.
 * From then on its pageblocks are of type MIGRATE_MCUBE.  Its free frames are
 * in bins (bins.c).  A frame that is freed returns to the bins, until the
 * block returns to the buddy lists.
 *
 *   buddy lists
 *     |   ^
 *     |   |  release.c:
 *     |   |  mcube_container_release()      it is wholly free, no CPU owns it,
 *     |   |                                 and the zone has enough spares
 *     |   |  mcube_container_break_up()     an allocation would fail
 *     |   |  __mcube_alloc_break_up_page()  isolation, memory failure
 *     |   |  mcube_zone_drain()             switching off, hibernation
 *     v   |
 *   mcube_container_take()
 *     |
 *     v
 *   owned by a CPU    in a list that zone.c keeps, mz->level[0..order], or in
 *   (struct           no list while no frame is free; no CPU owns it
 *   mcube_zone_cpu)
 *     |     ^            ^     |
 *     |     |            |     |  mcube_container_claim()     no hint
 *     |     +------------|-----+  mcube_container_adopt()     a hint
 *     +------------------+        used up: mcube_container_own() of the next
 *
 * In the meantime alloc.c takes and frees its frames.
 *
 * Free frames in containers stay in NR_FREE_PAGES, and NR_FREE_MCUBE_PAGES
 * counts them separately.  So MemFree, watermarks, kswapd and the OOM killer
 * see the truth, and no shrinker is needed: an allocation that would fail
 * breaks up a container.  Its pageblocks return to MIGRATE_MOVABLE and its
 * free groups return to the buddy lists, where they merge.
 *
 * Containers belong to a zone (struct mcube_zone), not to a node, as
 * watermarks, lowmem reserve and hotplug do.
 *
 * Which container comes next?  Containers that no CPU owns are in lists by the
 * size of their largest free group.  This size follows the number of free
 * frames well enough, and costs a list operation only when the largest group
 * changes.  A CPU claims from the lowest list, so that nearly used up
 * containers are used up and nearly free containers become free.  Breaking up
 * takes from the highest list.  The wholly free containers in the highest list
 * are spares.  The zone keeps some spares, as filling a new container costs
 * more than everything else that is done to its pages.
 *
 * Locks: zone->lock, then one container's lock, then mz->lock, all with
 * interrupts off.  Never zone->lock under a container's lock.  Nothing is
 * printed under any of these locks.
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

#include <linux/align.h>
#include <linux/bitmap.h>
#include <linux/list.h>
#include <linux/mcube_alloc.h>
#include <linux/mm.h>
#include <linux/mmzone.h>
#include <linux/page-isolation.h>
#include <linux/random.h>
#include <linux/string.h>
#include <linux/vmstat.h>

#include "../../internal.h"
#include "color_stat.h"
#include "internal.h"
#include "policy.h"

#include <trace/events/mcube_alloc.h>

/* Free blocks of one list that are examined for frames that a hint allows. */
#define BLOCKS_MAX	16

/**
 * mcube_cma_comes_first() - shall movable pages come from CMA?
 * @zone: the zone.
 *
 * The buddy allocator has the same rule: unmovable pages cannot lie in CMA.
 *
 * Return: true while most free pages of the zone are CMA, from which no container
 * is made.
 */
bool mcube_cma_comes_first(struct zone *zone)
{
	return zone_page_state(zone, NR_FREE_CMA_PAGES) >
		zone_page_state(zone, NR_FREE_PAGES) / 2;
}

/*
 * May a block be taken without getting near the watermarks?  Free pages in
 * containers do not count, nor does CMA.  What the zone reserves for requests that
 * no higher zone can serve counts as for any movable request: a run of compaction
 * would break up at once what was taken out of this reserve.
 */
static bool may_take(struct zone *zone, unsigned int nr)
{
	long free = zone_page_state(zone, NR_FREE_PAGES);

	if (mcube_cma_comes_first(zone))
		return false;
	return __zone_watermark_ok(zone, 0, high_wmark_pages(zone) + nr,
				   gfp_zone(GFP_HIGHUSER_MOVABLE), 0,
				   free - mcube_alloc_nr_free(zone));
}

/*
 * The first block that has frames for the hint, or NULL.  A block may have no
 * frame for a hint: some pairs of a color and a bank never occur together, and
 * a bank number may include a channel that a block lies in wholly or not at
 * all.  Blocks without a descriptor are skipped: at hotplug there may have been
 * no memory for descriptors.
 *
 * The list is rotated, so that the next search begins behind the blocks that this
 * search has passed.  Where half of all blocks have no frame of the reserved colors,
 * streams would leave these blocks at the front, and no search would get past them.
 */
static struct page *find_block(struct list_head *list, u32 hint)
{
	unsigned int tries = BLOCKS_MAX;
	struct mcube_container *c;
	struct page *page;
	bool found;

	list_for_each_entry(page, list, buddy_list) {
		c = mcube_lookup(page_to_pfn(page));
		found = c && (!hint || mcube_hint_matches(hint, &c->block_map, NULL));
		if (found || !--tries) {
			list_rotate_to_front(&page->buddy_list, list);
			return found ? page : NULL;
		}
	}
	return NULL;
}

/*
 * Take a free block off the buddy lists, mark it, and put the surplus back.
 * The mark comes first: in pageblocks whose type can merge with other types,
 * __isolate_free_page() would walk each single page.
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
 * Once the movable blocks are used up, whole blocks of other types are as good.
 * The page allocator falls back to the same types in this order.
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

/**
 * mcube_container_may_take() - could a block become a container now?
 * @zone: the zone.
 *
 * Return: true if so, probably; then there are free frames of every color.
 */
bool mcube_container_may_take(struct zone *zone)
{
	return mcube_zone_has_block(zone, mcube_config.order) &&
		may_take(zone, 1U << mcube_config.order);
}

/**
 * mcube_container_take() - make a container of a block from the buddy lists
 * @mz: containers of the zone.
 * @owner: CPU that shall own the container, or -1.
 * @hint: hint that the container must have frames for, or 0.
 *
 * With a hint, the frames stay unbinned until a CPU claims the container: the
 * hint allows only a few frames in a hundred.
 *
 * Leaves the zone its high watermark in the buddy lists.  Free frames in
 * containers count as free pages, but a request for another type or order
 * should find its pages without breaking up the container just taken.
 *
 * Context: RCU read side.
 * Return: the container, or NULL.
 */
struct mcube_container *mcube_container_take(struct mcube_zone *mz, int owner,
					     u32 hint)
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
	c->mz = mz;
	c->owner = owner;
	c->user = -1;
	c->fill_order = fill_order;
	c->key = key;
	c->active = true;
	spin_lock(&mz->lock);
	mcube_zone_add(c);
	/* Most often no key is exhausted; then the line stays unwritten. */
	if (mz->nr_exhausted) {
		WRITE_ONCE(mz->nr_exhausted, 0);
		WRITE_ONCE(mz->large.nr_exhausted, 0);
		bitmap_zero(mz->exhausted, MCUBE_NR_KEYS);
		memset(mz->large.exhausted, 0, sizeof(mz->large.exhausted));
	}
	spin_unlock(&mz->lock);
	/* Filling takes long: from here on only users of this container wait. */
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
 * mcube_container_claim() - let a CPU own a container that no CPU owns
 * @mz: containers of the zone.
 * @level: lowest level to search; the search ascends from there.
 * @cpu: the CPU.
 *
 * Context: RCU read side.
 * Return: the container, or NULL if there is none.
 */
struct mcube_container *mcube_container_claim(struct mcube_zone *mz,
					      unsigned int level, int cpu)
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

/**
 * mcube_container_adopt() - let a CPU own a container as it is
 * @c: the container.
 * @cpu: the CPU.
 *
 * Unlike mcube_container_claim() this does not put the frames into bins: the CPU
 * takes them by hints.
 *
 * Context: RCU read side.
 * Return: false if the container has an owner or no free frame by now.
 */
bool mcube_container_adopt(struct mcube_container *c, int cpu)
{
	unsigned long flags;
	bool free;

	spin_lock_irqsave(&c->lock, flags);
	free = c->active && c->owner < 0 && c->bins.nr_free;
	if (free) {
		c->owner = cpu;
		mcube_container_relist(c);
	}
	spin_unlock_irqrestore(&c->lock, flags);
	return free;
}

/* Another CPU may own @c by now, if @c was released and taken again. */
static void disown(struct mcube_container *c, int cpu)
{
	unsigned long flags;
	bool full = false;

	spin_lock_irqsave(&c->lock, flags);
	if (c->active && c->owner == cpu) {
		c->owner = -1;
		mcube_container_close(c);
		full = mcube_bins_full(&c->bins);
		/* Used up: the level stays, but searches pass on from now on. */
		__mcube_container_relist(c, mcube_bins_top(&c->bins));
	}
	spin_unlock_irqrestore(&c->lock, flags);
	if (full)
		mcube_container_release(c);
}

/**
 * mcube_container_own() - let a CPU own a container instead of its last one
 * @slot: where the CPU keeps the container, in its struct mcube_zone_cpu.
 * @c: the container, claimed, adopted or taken for the CPU; NULL for none.
 * @cpu: the CPU.
 *
 * Context: RCU read side.
 */
void mcube_container_own(struct mcube_container **slot,
			 struct mcube_container *c, int cpu)
{
	struct mcube_container *old;

	old = xchg(slot, c);
	if (old && old != c)
		disown(old, cpu);
}

/**
 * mcube_zone_covered() - does the mcube allocator serve a zone?
 * @zone: the zone.
 *
 * Return: true if the zone has containers or could have some; without the
 * policy lock that can change at once.
 */
bool mcube_zone_covered(struct zone *zone)
{
	return rcu_access_pointer(zone->mcube);
}

/**
 * mcube_container_used() - used frames of a container that have given colors
 * @pfn: a frame of the block.
 * @color: the colors.
 * @nr: number of colors.
 * @frames: bitmap of 2^MCUBE_MAX_ORDER bits, filled in: by offset, the frames
 *          that have one of the colors and are in use, or of the open cluster.
 *
 * The frames may be taken or freed, and the container may be broken up, before
 * the function returns.
 *
 * Context: any.
 * Return: page of the block's first frame; NULL if the block is not a
 * container.
 */
struct page *mcube_container_used(unsigned long pfn, const u8 *color,
				  unsigned int nr, unsigned long *frames)
{
	const unsigned long *sel, *unused;
	struct mcube_container *c;
	unsigned int pages, i;

	guard(rcu)();
	c = mcube_lookup(pfn);
	/*
	 * Without the container's lock: the lock would change its CPU for each
	 * container that a policy looks at.  The block map of a descriptor never
	 * changes, and the bits may change as soon as the function returns anyway.
	 */
	if (!c || !READ_ONCE(c->active))
		return NULL;
	pages = mcube_container_pages();
	bitmap_zero(frames, pages);
	for (i = 0; i < nr; i++)
		if (mcube_hint_select(mcube_hint_make(color[i], -1),
				      &c->block_map, &sel, &unused))
			bitmap_or(frames, frames, sel, pages);
	bitmap_andnot(frames, frames, c->bins.free, pages);
	return pfn_to_page(ALIGN_DOWN(pfn, pages));
}
