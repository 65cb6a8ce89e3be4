// SPDX-License-Identifier: GPL-2.0
/*
 * How containers go back to the buddy lists
 *
 * Copyright (C) 2026 The mcube authors
 *
 *   release     a container that is wholly free and that no CPU owns, when the
 *               zone has spares enough
 *   shrink      spares, when fewer are to be kept than there are
 *   dissolve    a container with free frames and frames in use, when an
 *               allocation would fail, isolation or memory failure needs the
 *               block, or the allocator goes off
 *
 * Its pageblocks become MIGRATE_MOVABLE and its free frames enter the buddy
 * lists in groups as large as possible.  Frames in use are freed there later.
 */

#include <linux/cpumask.h>
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/mcube_alloc.h>
#include <linux/mm.h>
#include <linux/mmzone.h>
#include <linux/page-isolation.h>
#include <linux/percpu.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/spinlock.h>
#include <linux/vmstat.h>

#include "../../internal.h"
#include "internal.h"

#define CREATE_TRACE_POINTS
#include <trace/events/mcube_alloc.h>

/* Give back what is free of a container; takes it out of all lists. */
static void break_up(struct mcube_container *c, enum mcube_reason reason)
{
	struct mcube_zone *mz = c->mz;
	struct zone *zone = mz->zone;
	struct page *base = c->bins.base;
	unsigned int nr = c->bins.nr_free, order;
	int off;

	lockdep_assert_held(&zone->lock);
	lockdep_assert_held(&c->lock);

	trace_mcube_alloc_break_up(zone, page_to_pfn(base), nr, reason);
	mcube_color_stat_all(c, false);
	c->active = false;
	c->owner = -1;
	spin_lock(&mz->lock);
	mcube_zone_move(c, -1);
	list_del_init(&c->all);
	mz->nr--;
	spin_unlock(&mz->lock);

	__mod_mcube_free_pages(zone, -(int)nr);
	mcube_set_block_type(base, MIGRATE_MOVABLE);
	while ((off = mcube_bins_drain_group(&c->bins, &order)) >= 0)
		__putback_isolated_page(base + off, order, MIGRATE_MOVABLE);

	this_cpu_inc(mcube_stats.nr[reason == MCUBE_REASON_FREE ?
				      MCUBE_RELEASED : MCUBE_BROKEN_UP]);
}

/* Give a spare back if there are more than there may be; true if there was one. */
static bool shrink_one(struct mcube_zone *mz)
{
	bool trimmed = false;
	unsigned long flags;

	guard(rcu)();
	spin_lock_irqsave(&mz->zone->lock, flags);
	if (READ_ONCE(mz->nr_spares) > mcube_zone_max_spares(mz))
		trimmed = mcube_container_break_up(mz, mcube_config.order,
					     MCUBE_REASON_FREE);
	spin_unlock_irqrestore(&mz->zone->lock, flags);
	return trimmed;
}

/**
 * mcube_shrink_spares() - give back what spares are more than there may be by now
 *
 * Context: process, the policy lock held.
 */
void mcube_shrink_spares(void)
{
	struct mcube_zone *mz;
	struct zone *zone;

	for_each_populated_zone(zone) {
		/* Only a holder of the policy lock removes it. */
		mz = rcu_dereference_protected(zone->mcube, true);
		while (mz && shrink_one(mz))
			cond_resched();
	}
}

/**
 * mcube_container_release() - give a wholly free container back, or keep it as a spare
 * @c: the container, found wholly free a moment ago; not locked.
 *
 * Context: RCU read side, no lock above zone->lock held.
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
	/* Under zone->lock, as two at a time would give back one too many. */
	if (c->active && c->mz == mz && c->owner < 0 &&
	    mcube_bins_full(&c->bins) &&
	    READ_ONCE(mz->nr_spares) > mcube_zone_max_spares(mz))
		break_up(c, MCUBE_REASON_FREE);
	spin_unlock(&c->lock);
	spin_unlock_irqrestore(&zone->lock, flags);
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
static struct mcube_container *owned_with(struct mcube_zone *mz,
					  unsigned int order)
{
	struct mcube_container *c;
	int cpu;

	for_each_possible_cpu(cpu) {
		c = READ_ONCE(*per_cpu_ptr(mz->cur, cpu));
		if (c && READ_ONCE(c->active) && READ_ONCE(c->mz) == mz &&
		    mcube_bins_top(&c->bins) >= (int)order)
			return c;
	}
	return NULL;
}

/* A container with a free group of @order; owned ones come last. */
static struct mcube_container *find_victim(struct mcube_zone *mz,
					   unsigned int order)
{
	struct mcube_container *c = NULL;

	spin_lock(&mz->lock);
	if (mz->levels >> order)
		c = list_first_entry(&mz->level[__fls(mz->levels)],
				     struct mcube_container, node);
	spin_unlock(&mz->lock);
	return c ?: owned_with(mz, order);
}

/**
 * mcube_container_break_up() - give the container with most to give back
 * @s: the store; its zone's lock is held, interrupts are off.
 * @order: least size of a free group in it; where that is more than a
 *         container has, one that is wholly free.
 * @reason: for the tracepoint.
 *
 * Context: RCU read side.
 * Return: true if one was given back.
 */
bool mcube_container_break_up(struct mcube_zone *mz, unsigned int order,
			enum mcube_reason reason)
{
	struct mcube_container *c;
	bool done = false;

	lockdep_assert_held(&mz->zone->lock);
	order = group_order(order);
	while (!done && (c = find_victim(mz, order))) {
		spin_lock(&c->lock);
		if (c->active && c->mz == mz &&
		    mcube_bins_top(&c->bins) >= (int)order) {
			break_up(c, reason);
			done = true;
		}
		spin_unlock(&c->lock);
	}
	return done;
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
	order = group_order(order);
	return mz && (READ_ONCE(mz->levels) >> order || owned_with(mz, order));
}

unsigned long __mcube_alloc_shrink(struct zone *zone, unsigned long enough)
{
	unsigned long flags;
	bool more = true;

	if (zone_page_state(zone, NR_FREE_PAGES) <= enough)
		return 0;
	while (more && zone_page_state(zone, NR_FREE_PAGES) <=
		       enough + mcube_alloc_nr_free(zone)) {
		spin_lock_irqsave(&zone->lock, flags);
		more = __mcube_alloc_break_up(zone, 0);
		spin_unlock_irqrestore(&zone->lock, flags);
	}
	return mcube_alloc_nr_free(zone);
}

/* For whoever asks is_free_buddy_page(): true while the frame is in a bin. */
bool mcube_alloc_page_is_free(const struct page *page)
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
static bool close_one(struct mcube_zone *mz)
{
	struct mcube_container *c;
	unsigned long flags;

	rcu_read_lock();
	spin_lock_irqsave(&mz->zone->lock, flags);
	mz->open = false;
	spin_lock(&mz->lock);
	c = list_first_entry_or_null(&mz->all, struct mcube_container, all);
	spin_unlock(&mz->lock);
	/* Under zone->lock nobody else makes an active one inactive. */
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
 * mcube_zone_drain() - take no more containers, give all back
 * @s: the store.
 *
 * Context: process.
 */
void mcube_zone_drain(struct mcube_zone *mz)
{
	while (close_one(mz))
		cond_resched();
}
