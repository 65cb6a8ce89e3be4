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
 *     +- a hint: serve_hinted()   pcp.c, then any      the container that
 *                                 container, buddy.c   the frame lies in
 *
 * Without a hint, a downward search in the container that this CPU owns yields
 * the frame.  When that container is used up, the CPU claims a container that
 * no CPU owns and that has more than single frames, else takes a block from
 * the buddy lists, else claims a container that has only single frames.
 *
 * With a hint, the frame has the color, or the bank, or both, and comes from
 * any container of the zone: a frame of the color that this CPU freed last
 * (pcp.c), else a frame of the container where the last search ended.  A
 * container has few frames of each color (16 of 1024 with 64 colors).  So each
 * key (see hint_key()) has a cursor, which points at that container, and a bit,
 * which says that the key is exhausted.  The last resort is a piece of a block
 * in the buddy lists (buddy.c).
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

#include "internal.h"

#include <trace/events/mcube_alloc.h>

/* Containers that one search examines before it takes a block instead. */
#define SEARCH_MAX	64

/*
 * A container without a free pair has few free frames (below 3 % if the frames
 * are spread evenly) and is soon used up again: a CPU claims it last.
 */
#define WORTHWHILE_LEVEL	1

/*
 * A pointer to a container may be older than the container.  Check that the
 * container is active, and that memory hotplug has not moved its block to
 * another zone.
 */
static bool usable(const struct mcube_container *c,
		   const struct mcube_zone *mz)
{
	return likely(c->active && c->mz == mz);
}

static __always_inline struct page *take_any(struct mcube_zone *mz,
					     struct mcube_container *c)
{
	unsigned long flags;
	int off = -1;

	spin_lock_irqsave(&c->lock, flags);
	if (usable(c, mz)) {
		off = mcube_bins_take(&c->bins);
		if (likely(off >= 0)) {
			__mod_mcube_free_pages(mz->zone, -1);
			mcube_color_stat_taken(c, off);
		}
		/* Disowned in the meantime: the CPU went offline. */
		if (unlikely(c->owner < 0))
			mcube_container_relist(c);
	}
	spin_unlock_irqrestore(&c->lock, flags);
	return off < 0 ? NULL : c->bins.base + off;
}

static noinline struct page *own_next(struct mcube_zone *mz)
{
	int cpu = raw_smp_processor_id();
	struct mcube_container *c;

	c = mcube_container_claim(mz, WORTHWHILE_LEVEL, cpu);
	if (!c)
		c = mcube_container_take(mz, cpu, 0);
	if (!c)
		c = mcube_container_claim(mz, 0, cpu);
	if (!c)
		return NULL;
	mcube_container_own(mz, c, cpu);
	return take_any(mz, c);
}

static __always_inline struct page *alloc_any(struct mcube_zone *mz)
{
	struct mcube_container *c = this_cpu_read(*mz->cur);
	struct page *page = NULL;

	if (likely(c))
		page = take_any(mz, c);
	if (unlikely(!page))
		page = own_next(mz);
	return page;
}

/* A frame was taken for a hint; @color is -1 if the hint names only a bank. */
static __always_inline void account_hinted(struct mcube_container *c,
					   unsigned int off, int color)
{
	__mod_mcube_free_pages(c->mz->zone, -1);
	if (color >= 0)
		mcube_color_stat_color(c, color);
	else
		mcube_color_stat_taken(c, off);
	mcube_container_relist(c);
}

static __always_inline struct page *take_hinted(struct mcube_zone *mz,
						struct mcube_container *c,
						u32 hint)
{
	const unsigned long *sel, *sel2;
	unsigned long flags;
	int off = -1;

	spin_lock_irqsave(&c->lock, flags);
	if (usable(c, mz) && mcube_hint_select(hint, &c->block_map, &sel, &sel2)) {
		off = mcube_bins_take_from(&c->bins, sel, sel2);
		if (off >= 0)
			account_hinted(c, off, mcube_hint_color(hint));
	}
	spin_unlock_irqrestore(&c->lock, flags);
	return off < 0 ? NULL : c->bins.base + off;
}

/* Take a given frame, if it is free and belongs to the zone. */
static struct page *take_frame(struct mcube_zone *mz, unsigned long pfn,
			       unsigned int color)
{
	struct mcube_container *c = mcube_lookup(pfn);
	unsigned long flags;
	unsigned int off;
	bool taken;

	if (!c)
		return NULL;
	spin_lock_irqsave(&c->lock, flags);
	off = pfn & ((1U << c->bins.order) - 1);
	taken = usable(c, mz) && test_bit(off, c->bins.free);
	if (likely(taken)) {
		mcube_bins_remove(&c->bins, off);
		account_hinted(c, off, color);
	}
	spin_unlock_irqrestore(&c->lock, flags);
	return taken ? pfn_to_page(pfn) : NULL;
}

/* A frame of the color that this CPU freed last. */
static struct page *take_pcp(struct mcube_zone *mz, u32 hint)
{
	int color = mcube_hint_color(hint);
	struct page *page = NULL;
	unsigned long pfn;

	if (color < 0 || mcube_hint_bank(hint) >= 0)
		return NULL;
	while (!page && (pfn = mcube_pcp_pop(color)))
		page = take_frame(mz, pfn, color);
	return page;
}

/* Index of cursors and exhausted bits: the color, or else the bank. */
static unsigned int hint_key(u32 hint)
{
	int color = mcube_hint_color(hint);

	return color >= 0 ? color : MCUBE_MAX_VALUES + mcube_hint_bank(hint);
}

static bool hint_is_single(u32 hint)
{
	return mcube_hint_color(hint) < 0 || mcube_hint_bank(hint) < 0;
}

static void set_exhausted(struct mcube_zone *mz, unsigned int key,
			  bool exhausted)
{
	lockdep_assert_held(&mz->lock);
	if (exhausted == test_bit(key, mz->exhausted))
		return;
	__change_bit(key, mz->exhausted);
	WRITE_ONCE(mz->nr_exhausted,
		   exhausted ? mz->nr_exhausted + 1 : mz->nr_exhausted - 1);
}

/*
 * Continue the search at the cursor and examine a bounded number of containers.
 * When as many containers in a row as the zone has did not match, the key is
 * exhausted until a frame of the key is freed or a container is taken.  The
 * search may miss a frame that is freed meanwhile in a container already
 * passed; the next frame that is freed clears the bit.
 */
static struct mcube_container *search(struct mcube_zone *mz, u32 hint)
{
	unsigned int key = hint_key(hint), left;
	struct mcube_container *c, *found = NULL;
	unsigned long flags;

	spin_lock_irqsave(&mz->lock, flags);
	c = mz->cursor[key];
	if (!c || c->mz != mz || list_empty(&c->all))
		c = list_entry(&mz->all, struct mcube_container, all);
	for (left = min(mz->nr, SEARCH_MAX); left && !found; left--) {
		c = list_next_entry_circular(c, &mz->all, all);
		mz->missed[key]++;
		if (mcube_hint_matches(hint, &c->block_map, c->bins.free))
			found = c;
	}
	if (mz->nr)
		WRITE_ONCE(mz->cursor[key], c);
	if (found) {
		mz->missed[key] = 0;
	} else if (mz->missed[key] >= mz->nr) {
		mz->missed[key] = 0;
		if (hint_is_single(hint))
			set_exhausted(mz, key, true);
	}
	spin_unlock_irqrestore(&mz->lock, flags);
	return found;
}

/*
 * Take a block for the hint and point the cursor at the new container.  If the
 * key was exhausted, no other container has a frame for it, so no CPU need
 * search them once the new container is used up: the key stays exhausted.  That
 * does not hold if another CPU took a block for the key at the same time, which
 * moved the cursor.
 */
static struct mcube_container *take_for(struct mcube_zone *mz, u32 hint)
{
	unsigned int key = hint_key(hint);
	struct mcube_container *old = READ_ONCE(mz->cursor[key]), *c;
	bool exhausted = hint_is_single(hint) && test_bit(key, mz->exhausted);
	unsigned long flags;

	c = mcube_container_take(mz, -1, hint);
	if (!c)
		return NULL;
	spin_lock_irqsave(&mz->lock, flags);
	set_exhausted(mz, key, exhausted && mz->cursor[key] == old);
	WRITE_ONCE(mz->cursor[key], c);
	spin_unlock_irqrestore(&mz->lock, flags);
	return c;
}

/* The cursor's container has no frame: search the others, or take a block. */
static noinline struct page *find_hinted(struct mcube_zone *mz, u32 hint)
{
	unsigned int key = hint_key(hint);
	struct mcube_container *c;
	struct page *page;

	while (!test_bit(key, mz->exhausted)) {
		c = search(mz, hint);
		if (!c)
			break;
		page = take_hinted(mz, c, hint);
		if (page)
			return page;
	}
	c = take_for(mz, hint);
	return c ? take_hinted(mz, c, hint) : NULL;
}

static noinline struct page *alloc_hinted(struct mcube_zone *mz, u32 hint)
{
	struct page *page = take_pcp(mz, hint);
	struct mcube_container *c;

	if (page)
		return page;
	c = READ_ONCE(mz->cursor[hint_key(hint)]);
	if (likely(c))
		page = take_hinted(mz, c, hint);
	return likely(page) ? page : find_hinted(mz, hint);
}

/* is_migrate_special() relies on this order of the types. */
static_assert(MIGRATE_MCUBE + 1 + IS_ENABLED(CONFIG_MEMORY_ISOLATION) ==
	      MIGRATE_TYPES);

/* The hint is not for pages that an interrupt or reclaim allocates. */
static u32 task_hint(void)
{
	u32 hint = current->mcube_hint;

	if (likely(!hint))
		return 0;
	return in_task() && !(current->flags & PF_MEMALLOC) ? hint : 0;
}

static void count_hinted(u32 hint)
{
	this_cpu_inc(mcube_stats.nr[MCUBE_COLORED]);
	if (hint & MCUBE_HINT_FILE)
		current->mcube_hint = hint | MCUBE_HINT_SERVED;
}

/* A page for the hint: from a container, else from the buddy lists. */
static __always_inline struct page *
serve_hinted(struct mcube_zone *mz, int migratetype, u32 hint)
{
	struct page *page = NULL;

	if (unlikely(!mcube_hint_fits(hint)))
		return NULL;
	if (likely(migratetype == MIGRATE_MOVABLE))
		page = alloc_hinted(mz, hint);
	if (unlikely(!page))
		page = mcube_buddy_search(mz->zone, 0, migratetype, hint);
	if (likely(page))
		count_hinted(hint);
	return page;
}

/* A page cache request that is not movable, or has more than one page. */
static struct page *search_buddy(struct zone *zone, unsigned int order,
				 int migratetype)
{
	u32 hint = task_hint();
	struct page *page = NULL;

	if (!(hint & MCUBE_HINT_FILE))
		return NULL;
	if (likely(mcube_hint_fits(hint)))
		page = mcube_buddy_search(zone, order, migratetype, hint);
	else
		this_cpu_inc(mcube_stats.nr[MCUBE_FALLBACK]);
	if (page)
		count_hinted(hint);
	return page;
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
	struct page *page;

	guard(rcu)();
	page = rcu_access_pointer(zone->mcube) ?
		search_buddy(zone, order, migratetype) : NULL;
	if (!page)
		this_cpu_inc(mcube_stats.nr[MCUBE_UNCOVERED]);
	return page;
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
		return search_buddy(zone, 0, migratetype);
	hint = task_hint();
	if (unlikely(hint)) {
		page = serve_hinted(mz, migratetype, hint);
		if (page)
			return page;
		this_cpu_inc(mcube_stats.nr[MCUBE_FALLBACK]);
		trace_mcube_alloc_fallback(zone, hint);
	} else if (mcube_reserve_hops()) {
		page = alloc_hinted(mz, mcube_reserve_hint());
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
 * mcube_alloc_rmqueue_hinted() - allocate a page that follows the task's hint
 * @zone: zone that has passed the checks of the request.
 * @migratetype: type of the request.
 *
 * Context: process, after mcube_alloc_wants_bulk() returned true; a pcp lock
 * may be held, zone->lock may not.
 * Return: a free page, to be prepared like a page from the buddy lists, or NULL
 * if no free page follows the hint.
 */
struct page *mcube_alloc_rmqueue_hinted(struct zone *zone, int migratetype)
{
	struct mcube_zone *mz;

	guard(rcu)();
	mz = rcu_dereference(zone->mcube);
	return likely(mz) ? serve_hinted(mz, migratetype, current->mcube_hint) :
			   NULL;
}

/* A frame was freed: if its keys were exhausted, let searches find it. */
static noinline void no_longer_exhausted(struct mcube_container *c,
					 unsigned long pfn)
{
	struct mcube_zone *mz = c->mz;
	unsigned int key[2], i;

	key[0] = mcube_dim_value(&mcube_config.map->color, pfn);
	key[1] = mcube_dim_value(&mcube_config.map->bank, pfn) +
		 MCUBE_MAX_VALUES;
	spin_lock(&mz->lock);
	for (i = 0; i < ARRAY_SIZE(key); i++) {
		if (!test_bit(key[i], mz->exhausted))
			continue;
		set_exhausted(mz, key[i], false);
		WRITE_ONCE(mz->cursor[key[i]], c);
	}
	spin_unlock(&mz->lock);
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
	unsigned int off;
	bool active, full = false;

	guard(rcu)();
	c = mcube_lookup(pfn);
	if (unlikely(!c))
		return false;

	spin_lock_irqsave(&c->lock, flags);
	active = c->active;
	if (likely(active)) {
		off = pfn & ((1U << c->bins.order) - 1);
		mcube_bins_put(&c->bins, off);
		__mod_mcube_free_pages(c->mz->zone, 1);
		mcube_color_stat_freed(c, off);
		__count_vm_event(PGFREE);
		if (unlikely(READ_ONCE(c->mz->nr_exhausted)))
			no_longer_exhausted(c, pfn);
		if (c->owner < 0 && mcube_container_relist(c))
			full = mcube_bins_full(&c->bins);
	}
	spin_unlock_irqrestore(&c->lock, flags);
	if (unlikely(full))
		mcube_container_release(c);
	return active;
}
