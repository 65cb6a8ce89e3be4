// SPDX-License-Identifier: GPL-2.0
/*
 * Allocating and freeing single pages
 *
 * Copyright (C) 2026 The mcube authors
 *
 * The hooks in the page allocator (linux/mcube_alloc.h) call this file.  It
 * takes frames from the bins of containers (bins.c) and puts freed frames back:
 *
 *   mcube_alloc_rmqueue()                              mcube_alloc_free()
 *     |                                                      |
 *     +- no hint: alloc_any()     container that this CPU    |
 *     |                           owns, container.c          v
 *     +- a hint: serve_hinted()   any container,       the container that
 *                                 hinted.c, buddy.c    the frame lies in
 *
 * Without a hint, a downward search in the container that this CPU owns yields
 * the frame.  When that container is used up, the CPU claims a container that
 * no CPU owns and that has more than single frames, else takes a block from
 * the buddy lists, else claims a container that has only single frames.
 *
 * With a hint, the frame has the color, or the bank, or both, and comes from any
 * container of the zone, see hinted.c.  The last resort is a piece of a block in
 * the buddy lists (buddy.c).  Folios of several pages are in large.c, requests for
 * several folios in bulk.c.
 *
 * A policy such as SRM-buffer (../srm/) sets hints for pages of files.  It may
 * also have all pages without a hint hop over the colors (reserve.c).
 *
 * A request that cannot be served gets NULL and falls back to the buddy
 * allocator.  A counter records each fallback.
 *
 * Pages arrive here from free_pages_prepare() and leave for prep_new_page(),
 * so poisoning, KASAN, page_owner and init_on_alloc need no code here.
 */

#include <linux/mcube_alloc.h>
#include <linux/mcube_hint.h>
#include <linux/mm.h>
#include <linux/mmzone.h>
#include <linux/preempt.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/vmstat.h>

#include "color_stat.h"
#include "internal.h"

#include <trace/events/mcube_alloc.h>

/*
 * A container without a free pair has few free frames (below 3 % if the frames
 * are spread evenly) and is soon used up again: a CPU claims it last.
 */
#define WORTHWHILE_LEVEL	1

static __always_inline struct page *take_any(struct mcube_zone *mz,
					     struct mcube_container *c)
{
	unsigned long flags;
	int off = -1;

	spin_lock_irqsave(&c->lock, flags);
	/* Without an owner no cluster may be open; the CPU claims a container instead. */
	if (mcube_container_usable(c, mz) && likely(c->owner >= 0)) {
		off = mcube_bins_take(&c->bins);
		if (likely(off >= 0)) {
			__mod_mcube_free_pages(mz->zone, -1);
			mcube_color_stat_taken(c, off);
		}
	}
	spin_unlock_irqrestore(&c->lock, flags);
	return off < 0 ? NULL : c->bins.base + off;
}

static noinline struct page *own_next(struct mcube_zone *mz)
{
	int cpu = raw_smp_processor_id();
	struct mcube_container *c;

	if (mcube_cma_comes_first(mz->zone))
		return NULL;
	c = mcube_container_claim(mz, WORTHWHILE_LEVEL, cpu);
	if (!c)
		c = mcube_container_take(mz, cpu, 0);
	if (!c)
		c = mcube_container_claim(mz, 0, cpu);
	if (!c)
		return NULL;
	mcube_container_own(&per_cpu_ptr(mz->cpu, cpu)->cur, c, cpu);
	return take_any(mz, c);
}

static __always_inline struct page *alloc_any(struct mcube_zone *mz)
{
	struct mcube_container *c = this_cpu_read(mz->cpu->cur);
	struct page *page = NULL;

	if (likely(c))
		page = take_any(mz, c);
	if (unlikely(!page))
		page = own_next(mz);
	return page;
}

/* is_migrate_special() relies on this order of the types. */
static_assert(MIGRATE_MCUBE + 1 + IS_ENABLED(CONFIG_MEMORY_ISOLATION) ==
	      MIGRATE_TYPES);

/* A movable page for the hint: from a container, else from the buddy lists. */
static __always_inline struct page *serve_hinted(struct mcube_zone *mz, u32 hint)
{
	struct page *page;

	if (unlikely(!mcube_hint_fits(hint)))
		return NULL;
	page = mcube_hinted_alloc(mz, hint);
	if (unlikely(!page))
		page = mcube_buddy_search(mz->zone, 0, MIGRATE_MOVABLE, hint);
	if (likely(page))
		mcube_hinted_count(hint, 1);
	return page;
}

/**
 * mcube_search_buddy() - take a block that follows the task's hint
 * @zone: zone that has passed the checks of the request.
 * @order: order of the block.
 * @migratetype: type of the request, which no container serves: it is not
 *               movable, or containers have no such block.
 *
 * Context: RCU read side in which zone->mcube was found.
 * Return: the block, or NULL.
 */
struct page *mcube_search_buddy(struct zone *zone, unsigned int order,
				int migratetype)
{
	u32 hint = mcube_task_hint();
	struct page *page = NULL;

	if (!(hint & MCUBE_HINT_FILE))
		return NULL;
	if (likely(mcube_hint_fits(hint)))
		page = mcube_buddy_search(zone, order, migratetype, hint);
	if (page) {
		mcube_hinted_count(hint, 1);
		return page;
	}
	this_cpu_inc(mcube_stats.nr[MCUBE_FALLBACK]);
	trace_mcube_alloc_fallback(zone, hint);
	return order || migratetype == MIGRATE_MOVABLE ? NULL :
		mcube_buddy_take_any(zone, migratetype);
}

/**
 * mcube_alloc_rmqueue() - allocate a page from the mcube allocator
 * @zone: zone that has passed watermark, cpuset and dirty checks.
 * @migratetype: type of the request.
 *
 * Context: any but NMI, no lock of the page allocator held.
 * Return: a free page, to be prepared like a page from the buddy lists, or
 * NULL.
 */
struct page *mcube_alloc_rmqueue(struct zone *zone, int migratetype)
{
	struct page *page = NULL;
	struct mcube_zone *mz;
	u32 hint;

	guard(rcu)();
	mz = rcu_dereference(zone->mcube);
	if (unlikely(!mz)) {
		this_cpu_inc(mcube_stats.nr[MCUBE_FALLBACK]);
		return NULL;
	}
	if (unlikely(migratetype != MIGRATE_MOVABLE))
		return mcube_search_buddy(zone, 0, migratetype);
	hint = mcube_task_hint();
	if (unlikely(hint)) {
		page = serve_hinted(mz, hint);
		if (page)
			return page;
		this_cpu_inc(mcube_stats.nr[MCUBE_FALLBACK]);
		trace_mcube_alloc_fallback(zone, hint);
	} else if (mcube_reserve_hops()) {
		page = mcube_hinted_alloc(mz, mcube_reserve_hint());
		if (page) {
			this_cpu_inc(mcube_stats.nr[MCUBE_HOPPED]);
			this_cpu_inc(mcube_stats.nr[MCUBE_SERVED]);
			return page;
		}
	}
	page = alloc_any(mz);
	if (likely(page)) {
		this_cpu_inc(mcube_stats.nr[MCUBE_SERVED]);
	} else if (!hint) {
		this_cpu_inc(mcube_stats.nr[MCUBE_FALLBACK]);
		trace_mcube_alloc_fallback(zone, hint);
	}
	return page;
}

/**
 * mcube_alloc_free() - free a page into its container
 * @pfn: the page's frame; the page has order 0, went through
 *       free_pages_prepare(), and its pageblock was seen as MIGRATE_MCUBE.
 *
 * Context: any but NMI; a pcp lock may be held, zone->lock may not.
 * Return: false if the page lies in no container any more: the page belongs to
 * the buddy allocator.
 */
bool mcube_alloc_free(unsigned long pfn)
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
		level = mcube_bins_put(&c->bins, off);
		__mod_mcube_free_pages(c->mz->zone, 1);
		mcube_color_stat_freed(c, off);
		__count_vm_event(PGFREE);
		if (c->owner < 0 && mcube_container_relist(c))
			full = mcube_bins_full(&c->bins);
		if (unlikely(READ_ONCE(c->mz->nr_exhausted)))
			mcube_exhausted_freed(c, off, level, 1);
	}
	spin_unlock_irqrestore(&c->lock, flags);
	if (unlikely(full))
		mcube_container_release(c);
	return active;
}
