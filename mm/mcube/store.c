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
 *      |  | mcube_give_back(): wholly free, not owned, spares enough
 *      |  | mcube_dissolve_one(): an allocation would fail, or isolation,
 *      |  |                       memory failure, switching off
 *      v  |
 *   mcube_take() ──> owned by a CPU ──> used up ──> store->level[0..order]
 *                         ^                               |
 *                         +-------- mcube_claim() --------+
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

#include "../internal.h"
#include "policy.h"
#include "store.h"

#define CREATE_TRACE_POINTS
#include <trace/events/mcube.h>

/* Spares may make up one part in 2^6 of a zone, about 1.5 %. */
#define SPARE_SHIFT	6

/*
 * While colors are reserved for files, a quarter.  Such files have one frame in
 * sixteen of many containers, and when they are dropped all of those are free.
 */
#define SPARE_SHIFT_RESERVED	2

/* Free blocks looked at for one that has frames for a hint. */
#define BLOCKS_MAX	16

DEFINE_PER_CPU(struct mcube_stats, mcube_stats);

/**
 * mcube_store_init() - make a zone's store, empty and closed
 * @s: zeroed memory, @cur allocated.
 * @zone: the zone.
 */
void mcube_store_init(struct mcube_store *s, struct zone *zone)
{
	int level;

	s->zone = zone;
	spin_lock_init(&s->lock);
	INIT_LIST_HEAD(&s->all);
	INIT_LIST_HEAD(&s->stores);
	for (level = 0; level <= MCUBE_MAX_ORDER; level++)
		INIT_LIST_HEAD(&s->level[level]);
}

static void list_move_level(struct mcube_container *c, int level)
{
	struct mcube_store *s = c->store;

	lockdep_assert_held(&s->lock);
	if (c->level >= 0) {
		list_del_init(&c->node);
		if (list_empty(&s->level[c->level]))
			WRITE_ONCE(s->levels, s->levels & ~BIT(c->level));
		if (c->level == (int)c->bins.order)
			WRITE_ONCE(s->nr_spare, s->nr_spare - 1);
	}
	c->level = level;
	if (level >= 0) {
		list_add_tail(&c->node, &s->level[level]);
		WRITE_ONCE(s->levels, s->levels | BIT(level));
		if (level == (int)c->bins.order)
			WRITE_ONCE(s->nr_spare, s->nr_spare + 1);
	}
}

void __mcube_relist(struct mcube_container *c, int level)
{
	spin_lock(&c->store->lock);
	list_move_level(c, level);
	spin_unlock(&c->store->lock);
}

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
				   free - mcube_nr_free(zone));
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
		struct mcube_place place;

		if (mcube_lookup(page_to_pfn(page))) {
			if (!hint)
				return page;
			mcube_place_init(&place, page_to_pfn(page));
			if (mcube_hint_matches(hint, &place, NULL))
				return page;
		}
		if (!--tries)
			break;
	}
	return NULL;
}

static void set_block_type(struct page *page, int migratetype)
{
	unsigned int i;

	for (i = 0; i < 1U << mcube_config.order; i += pageblock_nr_pages)
		set_pageblock_migratetype(page + i, migratetype);
}

/*
 * Take a free block of some type off the buddy lists, mark it, and put back
 * what is too much.  The mark comes first: in blocks whose type can merge with
 * others __isolate_free_page() looks at each single page.
 */
static struct page *split_block(struct zone *zone, struct page *page,
				unsigned int order, int type)
{
	set_block_type(page, MIGRATE_MCUBE);
	if (!__isolate_free_page(page, order)) {
		set_block_type(page, type);
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
 * mcube_may_take() - could a block be made a container now?
 * @zone: the zone.
 *
 * Return: true if probably so: there are frames of every color to be had.
 */
bool mcube_may_take(struct zone *zone)
{
	return block_in_sight(zone) && may_take(zone, 1U << mcube_config.order);
}

/**
 * mcube_take() - make a container of a block from the buddy lists
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
struct mcube_container *mcube_take(struct mcube_store *s, int owner, u32 hint)
{
	const unsigned int nr = 1U << mcube_config.order;
	struct zone *zone = s->zone;
	enum mcube_seed seed = READ_ONCE(mcube_config.seed);
	struct mcube_container *c;
	unsigned long flags, pfn;
	struct page *page;
	u64 key;

	if (!mcube_may_take(zone))
		return NULL;
	key = seed == MCUBE_SEED_PAPER ? 0 : get_random_u64();

	spin_lock_irqsave(&zone->lock, flags);
	page = s->open ? take_block(zone, hint) : NULL;
	if (!page) {
		spin_unlock_irqrestore(&zone->lock, flags);
		return NULL;
	}
	pfn = page_to_pfn(page);
	c = mcube_lookup(pfn);
	spin_lock(&c->lock);
	__mod_mcube_free_pages(zone, nr);
	mcube_bins_init(&c->bins, page, mcube_config.order);
	mcube_place_init(&c->place, pfn);
	c->store = s;
	c->owner = owner;
	c->seed = seed;
	c->key = key;
	c->active = true;
	spin_lock(&s->lock);
	list_add(&c->all, &s->all);
	s->nr++;
	s->nr_dry = 0;
	bitmap_zero(s->dry, MCUBE_NR_KEYS);
	spin_unlock(&s->lock);
	/* Filling takes a while; only those who want this one need to wait. */
	spin_unlock(&zone->lock);

	if (hint)
		mcube_bins_fill_loose(&c->bins);
	else
		mcube_bins_fill(&c->bins, mcube_config.fill[seed], key);
	mcube_count_all(c, true);
	mcube_relist(c);
	this_cpu_inc(mcube_stats.nr[MCUBE_TAKEN]);
	spin_unlock_irqrestore(&c->lock, flags);

	trace_mcube_take(zone, pfn, mcube_config.order, owner);
	return c;
}

/**
 * mcube_claim() - have a CPU own a container that nobody owns
 * @s: the store.
 * @level: least level; the lowest list from there on is tried first.
 * @cpu: the CPU.
 *
 * Context: RCU read side.
 * Return: the container, or NULL if there is none.
 */
struct mcube_container *mcube_claim(struct mcube_store *s, unsigned int level,
				    int cpu)
{
	unsigned long flags, levels;

	while ((levels = READ_ONCE(s->levels) >> level)) {
		struct mcube_container *c;

		spin_lock_irqsave(&s->lock, flags);
		c = list_first_entry_or_null(&s->level[level + __ffs(levels)],
					     struct mcube_container, node);
		spin_unlock_irqrestore(&s->lock, flags);
		if (!c)
			continue;

		spin_lock_irqsave(&c->lock, flags);
		if (c->active && c->owner < 0 && c->bins.nr_free) {
			c->owner = cpu;
			mcube_bins_sort(&c->bins, mcube_config.fill[c->seed],
					c->key);
			mcube_relist(c);
			spin_unlock_irqrestore(&c->lock, flags);
			return c;
		}
		spin_unlock_irqrestore(&c->lock, flags);
	}
	return NULL;
}

/* Give back what is free of a container; takes it out of all lists. */
static void dissolve(struct mcube_container *c, enum mcube_reason reason)
{
	struct mcube_store *s = c->store;
	struct zone *zone = s->zone;
	struct page *base = c->bins.base;
	unsigned int nr = c->bins.nr_free, order;
	int off;

	lockdep_assert_held(&zone->lock);
	lockdep_assert_held(&c->lock);

	trace_mcube_dissolve(zone, page_to_pfn(base), nr, reason);
	mcube_count_all(c, false);
	c->active = false;
	c->owner = -1;
	spin_lock(&s->lock);
	list_move_level(c, -1);
	list_del_init(&c->all);
	s->nr--;
	spin_unlock(&s->lock);

	__mod_mcube_free_pages(zone, -(int)nr);
	set_block_type(base, MIGRATE_MOVABLE);
	while ((off = mcube_bins_drain_group(&c->bins, &order)) >= 0)
		__putback_isolated_page(base + off, order, MIGRATE_MOVABLE);

	this_cpu_inc(mcube_stats.nr[reason == MCUBE_REASON_FREE ?
				      MCUBE_RETURNED : MCUBE_DISSOLVED]);
}

/**
 * mcube_max_spare() - wholly free containers that a zone may keep
 * @s: the zone's store.
 *
 * Return: their number; 0 in a small zone.
 */
unsigned int mcube_max_spare(struct mcube_store *s)
{
	unsigned int shift = READ_ONCE(mcube_reserve.nr) ? SPARE_SHIFT_RESERVED :
						    SPARE_SHIFT;

	return zone_managed_pages(s->zone) >> (shift + mcube_config.order);
}

/* Give a spare back if there are more than there may be; true if there was one. */
static bool trim_one(struct mcube_store *s)
{
	bool trimmed = false;
	unsigned long flags;

	guard(rcu)();
	spin_lock_irqsave(&s->zone->lock, flags);
	if (READ_ONCE(s->nr_spare) > mcube_max_spare(s))
		trimmed = mcube_dissolve_one(s, mcube_config.order,
					     MCUBE_REASON_FREE);
	spin_unlock_irqrestore(&s->zone->lock, flags);
	return trimmed;
}

/**
 * mcube_shrink_spares() - give back what spares are more than there may be by now
 *
 * Context: process, the policy lock held.
 */
void mcube_shrink_spares(void)
{
	struct mcube_store *s;
	struct zone *zone;

	for_each_populated_zone(zone) {
		/* Only a holder of the policy lock removes it. */
		s = rcu_dereference_protected(zone->mcube, true);
		while (s && trim_one(s))
			cond_resched();
	}
}

/**
 * mcube_give_back() - give a wholly free container back, or keep it as a spare
 * @c: the container, found wholly free a moment ago; not locked.
 *
 * Context: RCU read side, no lock above zone->lock held.
 */
void mcube_give_back(struct mcube_container *c)
{
	struct mcube_store *s = READ_ONCE(c->store);
	struct zone *zone = s->zone;
	unsigned long flags;

	if (READ_ONCE(s->nr_spare) <= mcube_max_spare(s))
		return;
	spin_lock_irqsave(&zone->lock, flags);
	spin_lock(&c->lock);
	/* Under zone->lock, as two at a time would give back one too many. */
	if (c->active && c->store == s && c->owner < 0 &&
	    mcube_bins_full(&c->bins) &&
	    READ_ONCE(s->nr_spare) > mcube_max_spare(s))
		dissolve(c, MCUBE_REASON_FREE);
	spin_unlock(&c->lock);
	spin_unlock_irqrestore(&zone->lock, flags);
}

/**
 * mcube_disown() - a CPU gives up a container
 * @c: the container; another CPU's by now if it was given back and taken anew.
 * @cpu: the CPU.
 *
 * Context: RCU read side.
 */
void mcube_disown(struct mcube_container *c, int cpu)
{
	unsigned long flags;
	bool full = false;

	spin_lock_irqsave(&c->lock, flags);
	if (c->active && c->owner == cpu) {
		c->owner = -1;
		full = mcube_bins_full(&c->bins);
		mcube_relist(c);
	}
	spin_unlock_irqrestore(&c->lock, flags);
	if (full)
		mcube_give_back(c);
}

/*
 * What a container must have for a block of @order.  Larger blocks than
 * containers come about when wholly free ones merge in the buddy lists.
 */
static unsigned int group_order(unsigned int order)
{
	return min(order, mcube_config.order);
}

/* One that a CPU owns, with a free group of @order: a guess, c->lock tells. */
static struct mcube_container *owned_with(struct mcube_store *s,
					  unsigned int order)
{
	struct mcube_container *c;
	int cpu;

	for_each_possible_cpu(cpu) {
		c = READ_ONCE(*per_cpu_ptr(s->cur, cpu));
		if (c && READ_ONCE(c->active) && READ_ONCE(c->store) == s &&
		    mcube_bins_top(&c->bins) >= (int)order)
			return c;
	}
	return NULL;
}

/* A container with a free group of @order; owned ones come last. */
static struct mcube_container *find_victim(struct mcube_store *s,
					   unsigned int order)
{
	struct mcube_container *c = NULL;

	spin_lock(&s->lock);
	if (s->levels >> order)
		c = list_first_entry(&s->level[__fls(s->levels)],
				     struct mcube_container, node);
	spin_unlock(&s->lock);
	return c ?: owned_with(s, order);
}

/**
 * mcube_dissolve_one() - give the container with most to give back
 * @s: the store; its zone's lock is held, interrupts are off.
 * @order: least size of a free group in it; where that is more than a
 *         container has, one that is wholly free.
 * @reason: for the tracepoint.
 *
 * Context: RCU read side.
 * Return: true if one was given back.
 */
bool mcube_dissolve_one(struct mcube_store *s, unsigned int order,
			enum mcube_reason reason)
{
	struct mcube_container *c;
	bool done = false;

	lockdep_assert_held(&s->zone->lock);
	order = group_order(order);
	while (!done && (c = find_victim(s, order))) {
		spin_lock(&c->lock);
		if (c->active && c->store == s &&
		    mcube_bins_top(&c->bins) >= (int)order) {
			dissolve(c, reason);
			done = true;
		}
		spin_unlock(&c->lock);
	}
	return done;
}

bool __mcube_dissolve(struct zone *zone, unsigned int order)
{
	struct mcube_store *s;

	guard(rcu)();
	s = rcu_dereference(zone->mcube);
	return s && mcube_dissolve_one(s, order, MCUBE_REASON_PRESSURE);
}

void __mcube_dissolve_page(struct zone *zone, struct page *page)
{
	struct mcube_container *c;

	lockdep_assert_held(&zone->lock);
	guard(rcu)();
	c = mcube_lookup(page_to_pfn(page));
	if (!c)
		return;
	spin_lock(&c->lock);
	if (c->active)
		dissolve(c, MCUBE_REASON_PAGE);
	spin_unlock(&c->lock);
}

bool __mcube_has_order(struct zone *zone, unsigned int order)
{
	struct mcube_store *s;

	guard(rcu)();
	s = rcu_dereference(zone->mcube);
	order = group_order(order);
	return s && (READ_ONCE(s->levels) >> order || owned_with(s, order));
}

unsigned long __mcube_yield(struct zone *zone, unsigned long enough)
{
	unsigned long flags;
	bool more = true;

	if (zone_page_state(zone, NR_FREE_PAGES) <= enough)
		return 0;
	while (more && zone_page_state(zone, NR_FREE_PAGES) <=
		       enough + mcube_nr_free(zone)) {
		spin_lock_irqsave(&zone->lock, flags);
		more = __mcube_dissolve(zone, 0);
		spin_unlock_irqrestore(&zone->lock, flags);
	}
	return mcube_nr_free(zone);
}

/* For whoever asks is_free_buddy_page(): true while the frame is in a bin. */
bool mcube_page_is_free(const struct page *page)
{
	unsigned long pfn = page_to_pfn(page);
	struct mcube_container *c;

	if (!is_migrate_mcube(get_pageblock_migratetype(page)))
		return false;
	guard(rcu)();
	c = mcube_lookup(pfn);
	return c && READ_ONCE(c->active) &&
		test_bit(pfn & ((1UL << mcube_config.order) - 1), c->bins.free);
}

/* Close the store and give one container back; true if there was one. */
static bool close_one(struct mcube_store *s)
{
	struct mcube_container *c;
	unsigned long flags;

	rcu_read_lock();
	spin_lock_irqsave(&s->zone->lock, flags);
	s->open = false;
	spin_lock(&s->lock);
	c = list_first_entry_or_null(&s->all, struct mcube_container, all);
	spin_unlock(&s->lock);
	/* Under zone->lock nobody else makes an active one inactive. */
	if (c) {
		spin_lock(&c->lock);
		dissolve(c, MCUBE_REASON_OFF);
		spin_unlock(&c->lock);
	}
	spin_unlock_irqrestore(&s->zone->lock, flags);
	rcu_read_unlock();
	return c;
}

/**
 * mcube_store_close() - take no more containers, give all back
 * @s: the store.
 *
 * Context: process.
 */
void mcube_store_close(struct mcube_store *s)
{
	while (close_one(s))
		cond_resched();
}

/**
 * mcube_alloc_stat() - events since boot
 * @stat: which.
 *
 * Return: the sum over all CPUs.
 */
unsigned long mcube_alloc_stat(enum mcube_stat stat)
{
	unsigned long sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += per_cpu(mcube_stats.nr[stat], cpu);
	return sum;
}

/**
 * mcube_has_store() - has a zone containers, or could it have some?
 * @zone: the zone.
 *
 * Return: true if so; that may have changed when the caller looks again.
 */
bool mcube_has_store(struct zone *zone)
{
	return rcu_access_pointer(zone->mcube);
}

/**
 * mcube_container_pages() - size of a container
 *
 * Return: pages; constant while the allocator is on.
 */
unsigned int mcube_container_pages(void)
{
	return 1U << mcube_config.order;
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
		if (mcube_hint_select(mcube_hint_make(color[i], -1), &c->place,
				      &sel, &unused))
			bitmap_or(frames, frames, sel, pages);
	bitmap_andnot(frames, frames, c->bins.free, pages);
	return c->bins.base;
}
