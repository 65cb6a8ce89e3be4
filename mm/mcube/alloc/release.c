// SPDX-License-Identifier: GPL-2.0
/*
 * How containers return to the buddy lists
 *
 * Copyright (C) 2026 The mcube authors
 *
 *   release    mcube_container_release(): a container is wholly free, no CPU
 *              owns it, and the zone has enough spares
 *   shrink     mcube_shrink_spares(): fewer spares may be kept than before
 *   break up   a container that may have frames in use:
 *              mcube_container_break_up(): an allocation would fail
 *              __mcube_alloc_yield_pageblock(): an allocation would take a piece
 *              of a pageblock of another type
 *              __mcube_alloc_shrink(): a run of compaction lacks free pages
 *              __mcube_alloc_break_up_page(): isolation or memory failure needs
 *              the block
 *   drain      mcube_zone_drain(): all containers of a zone, when the allocator
 *              is switched off or the machine hibernates
 *
 * The pageblocks of the container become MIGRATE_MOVABLE, and its free frames
 * enter the buddy lists in groups as large as possible.  Frames in use are
 * freed to the buddy lists later.  See container.c for the whole life of a
 * container.
 */

#include <linux/align.h>
#include <linux/cleanup.h>
#include <linux/cpumask.h>
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/mcube_alloc.h>
#include <linux/mm.h>
#include <linux/mmzone.h>
#include <linux/page-isolation.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/spinlock.h>
#include <linux/swap.h>
#include <linux/vmstat.h>

#include "../../internal.h"
#include "color_stat.h"
#include "internal.h"

#define CREATE_TRACE_POINTS
#include <trace/events/mcube_alloc.h>

/* Containers that one request breaks up at most. */
#define BREAK_UP_SHIFT	3
#define BREAK_UP_MAX	BIT(BREAK_UP_SHIFT)

/* Spares examined for free neighbours. */
#define SPARES_MAX	64

/* Containers of each level examined for one where compaction looks for free pages. */
#define TARGETS_MAX	8

/* CPUs whose containers are examined for a watermark. */
#define OWNERS_MAX	8

/* Return the free frames to the buddy lists; the container leaves all lists. */
static void break_up(struct mcube_container *c, enum mcube_reason reason)
{
	struct mcube_zone *mz = c->mz;
	struct zone *zone = mz->zone;
	struct page *base = c->bins.base;
	unsigned int nr = c->bins.nr_free, order;
	int off;

	lockdep_assert_held(&zone->lock);
	lockdep_assert_held(&c->lock);

	mcube_bins_close(&c->bins);
	trace_mcube_alloc_break_up(zone, page_to_pfn(base), nr, reason);
	mcube_color_stat_all(c, false);
	c->active = false;
	c->owner = -1;
	spin_lock(&mz->lock);
	mcube_zone_move(c, -1);
	mcube_zone_del(c);
	spin_unlock(&mz->lock);

	__mod_mcube_free_pages(zone, -(int)nr);
	mcube_set_block_type(base, MIGRATE_MOVABLE);
	while ((off = mcube_bins_drain_group(&c->bins, &order)) >= 0)
		__putback_isolated_page(base + off, order, MIGRATE_MOVABLE);
	WARN_ON_ONCE(c->bins.nr_free);

	this_cpu_inc(mcube_stats.nr[reason == MCUBE_REASON_FREE ?
				      MCUBE_RELEASED : MCUBE_BROKEN_UP]);
}

/* Release a spare if the zone has too many; true if a spare was released. */
static bool shrink_one(struct mcube_zone *mz)
{
	bool released = false;
	unsigned long flags;

	guard(rcu)();
	spin_lock_irqsave(&mz->zone->lock, flags);
	if (READ_ONCE(mz->nr_spares) > mcube_zone_max_spares(mz))
		released = mcube_container_break_up(mz, mcube_config.order,
						    MCUBE_REASON_FREE);
	spin_unlock_irqrestore(&mz->zone->lock, flags);
	return released;
}

/**
 * mcube_shrink_spares() - release the spares that exceed the present limit
 *
 * Context: process, the policy lock held.
 */
void mcube_shrink_spares(void)
{
	struct mcube_zone *mz;
	struct zone *zone;

	for_each_populated_zone(zone) {
		/* Only a holder of the policy lock clears zone->mcube. */
		mz = rcu_dereference_protected(zone->mcube, true);
		while (mz && shrink_one(mz))
			cond_resched();
	}
}

/**
 * mcube_container_release() - release a container unless it is kept as a spare
 * @c: the container, found wholly free a moment ago; not locked.
 *
 * Context: RCU read side; a pcp lock may be held, no lock of a container.
 */
void mcube_container_release(struct mcube_container *c)
{
	struct mcube_zone *mz = READ_ONCE(c->mz);
	struct zone *zone = mz->zone;
	unsigned long flags;

	if (READ_ONCE(mz->nr_spares) <= mcube_zone_max_spares(mz))
		return;
	spin_lock_irqsave(&zone->lock, flags);
	spin_lock(&c->lock);
	/*
	 * Checked under zone->lock, as two CPUs could release one spare too
	 * many.
	 */
	if (c->active && c->mz == mz && c->owner < 0 &&
	    mcube_bins_full(&c->bins) &&
	    READ_ONCE(mz->nr_spares) > mcube_zone_max_spares(mz))
		break_up(c, MCUBE_REASON_FREE);
	spin_unlock(&c->lock);
	spin_unlock_irqrestore(&zone->lock, flags);
}

static bool has_group(struct mcube_container *c, const struct mcube_zone *mz,
		      unsigned int order)
{
	return c && READ_ONCE(c->active) && READ_ONCE(c->mz) == mz &&
		mcube_bins_largest(&c->bins) >= (int)order;
}

/*
 * A container that a CPU owns and that has a free group of @order.  A guess:
 * the caller checks it under c->lock.  Looks at @most CPUs; the next call looks at
 * others, or again at the CPU that has such a container.
 */
static struct mcube_container *owned_with(struct mcube_zone *mz, unsigned int order,
					  unsigned int most)
{
	int first = READ_ONCE(mz->next_owner), cpu;
	struct mcube_container *c;

	/* A CPU that goes offline owns no container, see cpu_dead(). */
	for_each_cpu_wrap(cpu, cpu_online_mask, first) {
		struct mcube_zone_cpu *zc = per_cpu_ptr(mz->cpu, cpu);

		WRITE_ONCE(mz->next_owner, cpu);
		if (!most--)
			break;
		c = READ_ONCE(zc->home);
		if (has_group(c, mz, order))
			return c;
		c = READ_ONCE(zc->cur);
		if (has_group(c, mz, order))
			return c;
	}
	return NULL;
}

/* A container with a free group of @order; containers with owners come last. */
static struct mcube_container *find_victim(struct mcube_zone *mz,
					   unsigned int order)
{
	struct mcube_container *c = NULL;

	spin_lock(&mz->lock);
	if (mz->levels >> order)
		c = list_first_entry(&mz->level[__fls(mz->levels)],
				     struct mcube_container, node);
	spin_unlock(&mz->lock);
	/* The request fails otherwise. */
	return c ?: owned_with(mz, order, nr_cpu_ids);
}

/*
 * Is the block of container size at @pfn wholly free, in a container or in the
 * buddy lists?  A guess.
 */
static bool block_is_free(struct mcube_zone *mz, unsigned long pfn)
{
	struct mcube_container *c = mcube_lookup(pfn);
	struct page *page;

	if (!c)
		return false;
	if (READ_ONCE(c->active))
		return READ_ONCE(c->mz) == mz && mcube_bins_full(&c->bins);
	page = pfn_to_page(pfn);
	return page_zone(page) == mz->zone && PageBuddy(page) &&
		buddy_order_unsafe(page) == mcube_config.order;
}

static bool all_free(struct mcube_zone *mz, unsigned long pfn, unsigned long nr)
{
	unsigned long end = pfn + nr;

	for (; pfn < end; pfn += 1UL << mcube_config.order)
		if (!block_is_free(mz, pfn))
			return false;
	return true;
}

/*
 * A block larger than a container comes about when wholly free neighbours merge
 * in the buddy lists.  Find a spare in such a block of @order.  Examines some
 * spares; the next call examines others.
 * Return: first frame of the block, or 0.
 */
static unsigned long find_neighbours(struct mcube_zone *mz, unsigned int order)
{
	struct list_head *spares = &mz->level[mcube_config.order];
	unsigned long flags, pfn, found = 0;
	unsigned int left = SPARES_MAX;
	struct mcube_container *c;

	if (order > mcube_config.order + BREAK_UP_SHIFT)
		return 0;
	spin_lock_irqsave(&mz->lock, flags);
	list_for_each_entry(c, spares, node) {
		pfn = ALIGN_DOWN(page_to_pfn(c->bins.base), 1UL << order);
		if (all_free(mz, pfn, 1UL << order))
			found = pfn;
		if (found || !--left) {
			list_rotate_to_front(&c->node, spares);
			break;
		}
	}
	spin_unlock_irqrestore(&mz->lock, flags);
	return found;
}

/* Break up the wholly free containers in a block; true if all of it is free. */
static bool break_up_block(struct mcube_zone *mz, unsigned long pfn,
			   unsigned int order, enum mcube_reason reason)
{
	unsigned long end = pfn + (1UL << order);
	struct page *page = pfn_to_page(pfn);
	struct mcube_container *c;

	for (; pfn < end; pfn += 1UL << mcube_config.order) {
		c = mcube_lookup(pfn);
		spin_lock(&c->lock);
		if (c->active && c->mz == mz && mcube_bins_full(&c->bins))
			break_up(c, reason);
		spin_unlock(&c->lock);
	}
	return PageBuddy(page) && buddy_order(page) >= order;
}

/**
 * mcube_container_break_up() - break up the container that yields most
 * @mz: containers of the zone; zone->lock is held, interrupts are off.
 * @order: order of the block that is needed.
 * @reason: why, for the tracepoint.
 *
 * Breaks up the container with the largest free group.  For a block that is
 * larger than a container, breaks up neighbours that are wholly free.  Other CPUs
 * may take frames meanwhile; after a few attempts the function gives up.
 *
 * Context: RCU read side.
 * Return: true if the buddy lists have gained a block of @order.
 */
bool mcube_container_break_up(struct mcube_zone *mz, unsigned int order,
			      enum mcube_reason reason)
{
	struct mcube_container *c;
	unsigned int tries;
	unsigned long pfn;
	bool done = false;

	lockdep_assert_held(&mz->zone->lock);
	if (order > mcube_config.order) {
		pfn = find_neighbours(mz, order);
		return pfn && break_up_block(mz, pfn, order, reason);
	}
	for (tries = 0; !done && tries < BREAK_UP_MAX; tries++) {
		c = find_victim(mz, order);
		if (!c)
			break;
		spin_lock(&c->lock);
		if (c->active && c->mz == mz &&
		    mcube_bins_largest(&c->bins) >= (int)order) {
			break_up(c, reason);
			done = true;
		}
		spin_unlock(&c->lock);
	}
	return done;
}

/*
 * Containers with owners are left alone: a look at each CPU would take too long
 * before each fallback.
 */
bool __mcube_alloc_yield_pageblock(struct zone *zone, unsigned int order)
{
	struct mcube_zone *mz;

	order = max(order, pageblock_order);
	guard(rcu)();
	mz = rcu_dereference(zone->mcube);
	return mz && READ_ONCE(mz->levels) >> min(order, mcube_config.order) &&
		!mcube_zone_has_block(zone, order) &&
		mcube_container_break_up(mz, order, MCUBE_REASON_PRESSURE);
}

bool __mcube_alloc_break_up(struct zone *zone, unsigned int order)
{
	struct mcube_zone *mz;

	guard(rcu)();
	mz = rcu_dereference(zone->mcube);
	return mz && mcube_container_break_up(mz, order, MCUBE_REASON_PRESSURE);
}

void __mcube_alloc_break_up_page(struct zone *zone, struct page *page)
{
	struct mcube_container *c;

	lockdep_assert_held(&zone->lock);
	guard(rcu)();
	c = mcube_lookup(page_to_pfn(page));
	if (!c)
		return;
	spin_lock(&c->lock);
	if (c->active)
		break_up(c, MCUBE_REASON_PAGE);
	spin_unlock(&c->lock);
}

bool __mcube_alloc_has_order(struct zone *zone, unsigned int order)
{
	struct mcube_zone *mz;

	guard(rcu)();
	mz = rcu_dereference(zone->mcube);
	if (!mz)
		return false;
	if (order > mcube_config.order)
		return find_neighbours(mz, order);
	return READ_ONCE(mz->levels) >> order || owned_with(mz, order, OWNERS_MAX);
}

/* Does a container lie there, and is it a better one than @old? */
static bool is_better(const struct mcube_container *c, const struct mcube_container *old,
		      unsigned long start_pfn, unsigned long end_pfn)
{
	unsigned long pfn = page_to_pfn(c->bins.base);
	bool many = READ_ONCE(c->bins.nr_free) >= COMPACT_CLUSTER_MAX, had;

	if (pfn < start_pfn || pfn + (1UL << mcube_config.order) > end_pfn)
		return false;
	if (!old)
		return true;
	had = READ_ONCE(old->bins.nr_free) >= COMPACT_CLUSTER_MAX;
	return many == had ? c->bins.base > old->bins.base : many;
}

/*
 * A container to break up between two places of a zone.  Looks at a few containers; the next
 * call looks at others.  Best is one with many free frames, and then the last one: the free
 * scanner goes downwards, and meets the others later.
 */
static struct mcube_container *find_between(struct mcube_zone *mz, unsigned long start_pfn,
					    unsigned long end_pfn)
{
	struct mcube_container *c, *found = NULL;
	unsigned long levels;

	spin_lock(&mz->lock);
	for (levels = mz->levels; levels; levels &= ~BIT(__fls(levels))) {
		struct list_head *list = &mz->level[__fls(levels)];
		unsigned int left = TARGETS_MAX;

		list_for_each_entry(c, list, node) {
			if (is_better(c, found, start_pfn, end_pfn))
				found = c;
			if (!--left) {
				list_rotate_to_front(&c->node, list);
				break;
			}
		}
	}
	spin_unlock(&mz->lock);
	if (found)
		return found;
	c = owned_with(mz, 0, OWNERS_MAX);
	return c && is_better(c, NULL, start_pfn, end_pfn) ? c : NULL;
}

/* Another run of compaction may have seen no use in the pageblocks. */
static void clear_skip(struct mcube_container *c)
{
	unsigned int i;

	for (i = 0; i < 1U << mcube_config.order; i += pageblock_nr_pages)
		clear_pageblock_skip(c->bins.base + i);
}

void __mcube_alloc_shrink(struct zone *zone, unsigned long enough,
			  unsigned long start_pfn, unsigned long end_pfn)
{
	struct mcube_container *c;
	struct mcube_zone *mz;
	unsigned long flags;

	if (zone_page_state(zone, NR_FREE_PAGES) > enough + mcube_alloc_nr_free(zone))
		return;
	guard(rcu)();
	mz = rcu_dereference(zone->mcube);
	if (!mz)
		return;
	spin_lock_irqsave(&zone->lock, flags);
	c = find_between(mz, pageblock_end_pfn(start_pfn), pageblock_end_pfn(end_pfn));
	if (c) {
		spin_lock(&c->lock);
		if (c->active && c->mz == mz) {
			break_up(c, MCUBE_REASON_PRESSURE);
			clear_skip(c);
		}
		spin_unlock(&c->lock);
	}
	spin_unlock_irqrestore(&zone->lock, flags);
}

/* For is_free_buddy_page(): true while the frame is free in a container. */
bool mcube_alloc_page_is_free(const struct page *page)
{
	unsigned long pfn = page_to_pfn(page), flags;
	struct mcube_container *c;
	bool is_free;

	if (!is_migrate_mcube(get_pageblock_migratetype(page)))
		return false;
	guard(rcu)();
	c = mcube_lookup(pfn);
	if (!c)
		return false;
	/* A frame that goes from the bins to the open cluster, or back, is free meanwhile. */
	spin_lock_irqsave(&c->lock, flags);
	is_free = c->active &&
		mcube_bins_is_free(&c->bins, pfn & ((1UL << mcube_config.order) - 1));
	spin_unlock_irqrestore(&c->lock, flags);
	return is_free;
}

/*
 * Take no more containers, and break up a container; true if there was a
 * container.
 */
static bool drain_one(struct mcube_zone *mz)
{
	struct mcube_container *c;
	unsigned long flags;

	rcu_read_lock();
	spin_lock_irqsave(&mz->zone->lock, flags);
	mz->open = false;
	spin_lock(&mz->lock);
	c = list_first_entry_or_null(list_empty(&mz->searched) ? &mz->full : &mz->searched,
				     struct mcube_container, all);
	spin_unlock(&mz->lock);
	/* The container is active: that changes only under zone->lock. */
	if (c) {
		spin_lock(&c->lock);
		break_up(c, MCUBE_REASON_OFF);
		spin_unlock(&c->lock);
	}
	spin_unlock_irqrestore(&mz->zone->lock, flags);
	rcu_read_unlock();
	return c;
}

/**
 * mcube_zone_drain() - take no more containers, break all up
 * @mz: containers of the zone.
 *
 * Context: process.
 */
void mcube_zone_drain(struct mcube_zone *mz)
{
	while (drain_one(mz))
		cond_resched();
}
