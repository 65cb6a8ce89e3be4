// SPDX-License-Identifier: GPL-2.0
/*
 * Allocating and freeing pages of the store
 *
 * Copyright (C) 2026 The mcube authors
 *
 * What the hooks in the page allocator call.  Two ways in:
 *
 *   no hint    downward search in the container that this CPU owns; when it
 *              is used up, the next one: a nearly full container that nobody
 *              owns, else a block from the buddy lists, else the rest.
 *   a hint     a frame of the color, or bank, or both, from any container of
 *              the zone: one that this CPU has just freed (recent.c), else
 *              from where there are more.  A container has few of each (16 of
 *              1024 with 64 colors).  Per key (see hint_key()) a cursor
 *              remembers where the last one was found, and a bit that there
 *              are none.  Then the pieces of blocks in the buddy lists are
 *              looked through.
 *
 * SRM-buffer (srm.c) gives hints for pages of files, and has all others hop
 * over the colors.
 *
 * Whoever cannot be served gets NULL and goes on to the buddy allocator, and
 * a counter says so.
 *
 * Pages arrive here from free_pages_prepare() and leave for prep_new_page(),
 * so poisoning, KASAN, page_owner and init_on_alloc need nothing of us.
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

/* Containers looked at in one search before it goes to the buddy lists. */
#define SEARCH_MAX	64

/*
 * Containers without a free pair have few free frames (below 3 % if they are
 * spread evenly) and are soon used up again: a CPU takes them last.
 */
#define WORTHWHILE_LEVEL	1

/*
 * A pointer to a container may have outlived its block: check that it is
 * active, and that memory hotplug has not moved it to another zone.
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
		/* Disowned meanwhile, as by a CPU going offline. */
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

/* A frame has been taken for a hint; its color is known if it was in that. */
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

/* That very frame, if it is free and the zone's. */
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

/* One that this CPU has just freed. */
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

/* Cursors and dry bits: by color, or by bank for hints without a color. */
static unsigned int hint_key(u32 hint)
{
	int color = mcube_hint_color(hint);

	return color >= 0 ? color : MCUBE_MAX_VALUES + mcube_hint_bank(hint);
}

static bool hint_is_single(u32 hint)
{
	return mcube_hint_color(hint) < 0 || mcube_hint_bank(hint) < 0;
}

static void set_exhausted(struct mcube_zone *mz, unsigned int key, bool exhausted)
{
	lockdep_assert_held(&mz->lock);
	if (exhausted == test_bit(key, mz->exhausted))
		return;
	__change_bit(key, mz->exhausted);
	WRITE_ONCE(mz->nr_exhausted, exhausted ? mz->nr_exhausted + 1 : mz->nr_exhausted - 1);
}

/*
 * Walk on from the cursor, a bounded number of steps.  When as many containers
 * as there are have not matched in a row, the key is dry until a frame of it
 * is freed or a container is taken.  A frame freed behind the walk's back may
 * be missed; the next one sets it right.
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
 * Take a block for the hint and let the cursor point there.  If its key was
 * dry the new container is all that there is, and nobody need search the
 * others once it is used up: dry again.  Not so if someone else, who moved the
 * cursor, has taken one at the same time.
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

/* Once the cursor's container has none: another one that has, or a new one. */
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

/* is_migrate_special() relies on it. */
static_assert(MIGRATE_MCUBE + 1 + IS_ENABLED(CONFIG_MEMORY_ISOLATION) ==
	      MIGRATE_TYPES);

/* What an interrupt, or reclaim on the way, allocates is not what is meant. */
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

/* What the hint asks for: of the store, else out of the buddy lists. */
static struct page *serve_hinted(struct mcube_zone *mz, int migratetype, u32 hint)
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

/* A request that only the buddy lists can serve. */
static struct page *search_buddy(struct zone *zone, unsigned int order, int migratetype)
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
 * mcube_alloc_rmqueue_large() - a block of more than a page
 * @zone: zone that has passed watermark, cpuset and dirty checks.
 * @order: not 0.
 * @migratetype: of the request.
 *
 * Context: any but NMI, no lock of the page allocator held.
 * Return: a free block for the page cache, to be prepared like one from the
 * buddy lists; NULL for all others.
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
 * mcube_alloc_rmqueue() - a page of the store
 * @zone: zone that has passed watermark, cpuset and dirty checks.
 * @migratetype: of the request.
 *
 * Context: any but NMI, no lock of the page allocator held.
 * Return: a free page, to be prepared like one from the buddy lists, or NULL.
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
 * mcube_alloc_rmqueue_hinted() - a page for the hint, or none
 * @zone: zone that has passed the checks of the request.
 * @migratetype: of the request.
 *
 * Context: process, mcube_alloc_wants_bulk() having said so; a pcp lock may be held,
 * zone->lock may not.
 * Return: a free page, to be prepared like one from the buddy lists, or NULL
 * if there is none of that color.
 */
struct page *mcube_alloc_rmqueue_hinted(struct zone *zone, int migratetype)
{
	struct mcube_zone *mz;

	guard(rcu)();
	mz = rcu_dereference(zone->mcube);
	return likely(mz) ? serve_hinted(mz, migratetype, current->mcube_hint) :
			   NULL;
}

/* A frame came back that a key had run dry of: searches shall find it. */
static noinline void no_longer_exhausted(struct mcube_container *c, unsigned long pfn)
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
 * Return: false if the container was given back meanwhile: the page is the
 * buddy allocator's.
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
