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

#include "store.h"

#include <trace/events/mcube.h>

/* Containers looked at in one search before it goes to the buddy lists. */
#define SEARCH_MAX	64

/*
 * Containers without a free pair have few free frames (below 3 % if they are
 * spread evenly) and are soon used up again: a CPU takes them last.
 */
#define WORTHWHILE_LEVEL	1

DEFINE_STATIC_KEY_FALSE(mcube_alloc_key);

/*
 * A pointer to a container may have outlived its block: check that it is
 * active, and that memory hotplug has not moved it to another zone.
 */
static bool usable(const struct mcube_container *c,
		   const struct mcube_store *s)
{
	return likely(c->active && c->store == s);
}

static __always_inline struct page *take_any(struct mcube_store *s,
					     struct mcube_container *c)
{
	unsigned long flags;
	int off = -1;

	spin_lock_irqsave(&c->lock, flags);
	if (usable(c, s)) {
		off = mcube_bins_take(&c->bins);
		if (likely(off >= 0)) {
			__mod_mcube_free_pages(s->zone, -1);
			mcube_count_taken(c, off);
		}
		/* Disowned meanwhile, as by a CPU going offline. */
		if (unlikely(c->owner < 0))
			mcube_relist(c);
	}
	spin_unlock_irqrestore(&c->lock, flags);
	return off < 0 ? NULL : c->bins.base + off;
}

static void own(struct mcube_store *s, struct mcube_container *c, int cpu)
{
	struct mcube_container *old;

	old = xchg(per_cpu_ptr(s->cur, cpu), c);
	if (old && old != c)
		mcube_disown(old, cpu);
}

static noinline struct page *refill(struct mcube_store *s)
{
	int cpu = raw_smp_processor_id();
	struct mcube_container *c;

	c = mcube_claim(s, WORTHWHILE_LEVEL, cpu);
	if (!c)
		c = mcube_take(s, cpu, 0);
	if (!c)
		c = mcube_claim(s, 0, cpu);
	if (!c)
		return NULL;
	own(s, c, cpu);
	return take_any(s, c);
}

static __always_inline struct page *alloc_any(struct mcube_store *s)
{
	struct mcube_container *c = this_cpu_read(*s->cur);
	struct page *page = NULL;

	if (likely(c))
		page = take_any(s, c);
	if (unlikely(!page))
		page = refill(s);
	return page;
}

/* A frame has been taken for a hint; its color is known if it was in that. */
static __always_inline void account_hinted(struct mcube_container *c,
					   unsigned int off, int color)
{
	__mod_mcube_free_pages(c->store->zone, -1);
	if (color >= 0)
		mcube_count_color(c, color);
	else
		mcube_count_taken(c, off);
	mcube_relist(c);
}

static __always_inline struct page *take_hinted(struct mcube_store *s,
						struct mcube_container *c,
						u32 hint)
{
	const unsigned long *sel, *sel2;
	unsigned long flags;
	int off = -1;

	spin_lock_irqsave(&c->lock, flags);
	if (usable(c, s) && mcube_hint_select(hint, &c->place, &sel, &sel2)) {
		off = mcube_bins_take_from(&c->bins, sel, sel2);
		if (off >= 0)
			account_hinted(c, off, mcube_hint_color(hint));
	}
	spin_unlock_irqrestore(&c->lock, flags);
	return off < 0 ? NULL : c->bins.base + off;
}

/* That very frame, if it is free and the zone's. */
static struct page *take_frame(struct mcube_store *s, unsigned long pfn,
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
	taken = usable(c, s) && test_bit(off, c->bins.free);
	if (likely(taken)) {
		mcube_bins_remove(&c->bins, off);
		account_hinted(c, off, color);
	}
	spin_unlock_irqrestore(&c->lock, flags);
	return taken ? pfn_to_page(pfn) : NULL;
}

/* One that this CPU has just freed. */
static struct page *take_recent(struct mcube_store *s, u32 hint)
{
	int color = mcube_hint_color(hint);
	struct page *page = NULL;
	unsigned long pfn;

	if (color < 0 || mcube_hint_bank(hint) >= 0)
		return NULL;
	while (!page && (pfn = mcube_recent_pop(color)))
		page = take_frame(s, pfn, color);
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

static void set_dry(struct mcube_store *s, unsigned int key, bool dry)
{
	lockdep_assert_held(&s->lock);
	if (dry == test_bit(key, s->dry))
		return;
	__change_bit(key, s->dry);
	WRITE_ONCE(s->nr_dry, dry ? s->nr_dry + 1 : s->nr_dry - 1);
}

/*
 * Walk on from the cursor, a bounded number of steps.  When as many containers
 * as there are have not matched in a row, the key is dry until a frame of it
 * is freed or a container is taken.  A frame freed behind the walk's back may
 * be missed; the next one sets it right.
 */
static struct mcube_container *search(struct mcube_store *s, u32 hint)
{
	unsigned int key = hint_key(hint), left;
	struct mcube_container *c, *found = NULL;
	unsigned long flags;

	spin_lock_irqsave(&s->lock, flags);
	c = s->cursor[key];
	if (!c || c->store != s || list_empty(&c->all))
		c = list_entry(&s->all, struct mcube_container, all);
	for (left = min(s->nr, SEARCH_MAX); left && !found; left--) {
		c = list_next_entry_circular(c, &s->all, all);
		s->missed[key]++;
		if (mcube_hint_matches(hint, &c->place, c->bins.free))
			found = c;
	}
	if (s->nr)
		WRITE_ONCE(s->cursor[key], c);
	if (found) {
		s->missed[key] = 0;
	} else if (s->missed[key] >= s->nr) {
		s->missed[key] = 0;
		if (hint_is_single(hint))
			set_dry(s, key, true);
	}
	spin_unlock_irqrestore(&s->lock, flags);
	return found;
}

/*
 * Take a block for the hint and let the cursor point there.  If its key was
 * dry the new container is all that there is, and nobody need search the
 * others once it is used up: dry again.  Not so if someone else, who moved the
 * cursor, has taken one at the same time.
 */
static struct mcube_container *take_for(struct mcube_store *s, u32 hint)
{
	unsigned int key = hint_key(hint);
	struct mcube_container *old = READ_ONCE(s->cursor[key]), *c;
	bool dry = hint_is_single(hint) && test_bit(key, s->dry);
	unsigned long flags;

	c = mcube_take(s, -1, hint);
	if (!c)
		return NULL;
	spin_lock_irqsave(&s->lock, flags);
	set_dry(s, key, dry && s->cursor[key] == old);
	WRITE_ONCE(s->cursor[key], c);
	spin_unlock_irqrestore(&s->lock, flags);
	return c;
}

/* Once the cursor's container has none: another one that has, or a new one. */
static noinline struct page *refill_hinted(struct mcube_store *s, u32 hint)
{
	unsigned int key = hint_key(hint);
	struct mcube_container *c;
	struct page *page;

	while (!test_bit(key, s->dry)) {
		c = search(s, hint);
		if (!c)
			break;
		page = take_hinted(s, c, hint);
		if (page)
			return page;
	}
	c = take_for(s, hint);
	return c ? take_hinted(s, c, hint) : NULL;
}

static noinline struct page *alloc_hinted(struct mcube_store *s, u32 hint)
{
	struct page *page = take_recent(s, hint);
	struct mcube_container *c;

	if (page)
		return page;
	c = READ_ONCE(s->cursor[hint_key(hint)]);
	if (likely(c))
		page = take_hinted(s, c, hint);
	return likely(page) ? page : refill_hinted(s, hint);
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
static struct page *serve_hinted(struct mcube_store *s, int migratetype, u32 hint)
{
	struct page *page = NULL;

	if (unlikely(!mcube_hint_fits(hint)))
		return NULL;
	if (likely(migratetype == MIGRATE_MOVABLE))
		page = alloc_hinted(s, hint);
	if (unlikely(!page))
		page = mcube_pick(s->zone, 0, migratetype, hint);
	if (likely(page))
		count_hinted(hint);
	return page;
}

/* A request that only the buddy lists can serve. */
static struct page *pick(struct zone *zone, unsigned int order, int migratetype)
{
	u32 hint = task_hint();
	struct page *page = NULL;

	if (!(hint & MCUBE_HINT_FILE))
		return NULL;
	if (likely(mcube_hint_fits(hint)))
		page = mcube_pick(zone, order, migratetype, hint);
	else
		this_cpu_inc(mcube_stats.nr[MCUBE_FALLBACK]);
	if (page)
		count_hinted(hint);
	return page;
}

/**
 * mcube_rmqueue_large() - a block of more than a page
 * @zone: zone that has passed watermark, cpuset and dirty checks.
 * @order: not 0.
 * @migratetype: of the request.
 *
 * Context: any but NMI, no lock of the page allocator held.
 * Return: a free block for the page cache, to be prepared like one from the
 * buddy lists; NULL for all others.
 */
struct page *mcube_rmqueue_large(struct zone *zone, unsigned int order,
				 int migratetype)
{
	struct page *page;

	guard(rcu)();
	page = rcu_access_pointer(zone->mcube) ?
		pick(zone, order, migratetype) : NULL;
	if (!page)
		this_cpu_inc(mcube_stats.nr[MCUBE_UNCOVERED]);
	return page;
}

/**
 * mcube_rmqueue() - a page of the store
 * @zone: zone that has passed watermark, cpuset and dirty checks.
 * @migratetype: of the request.
 *
 * Context: any but NMI, no lock of the page allocator held.
 * Return: a free page, to be prepared like one from the buddy lists, or NULL.
 */
struct page *mcube_rmqueue(struct zone *zone, int migratetype)
{
	struct page *page = NULL;
	struct mcube_store *s;
	u32 hint;

	guard(rcu)();
	s = rcu_dereference(zone->mcube);
	if (unlikely(!s)) {
		this_cpu_inc(mcube_stats.nr[MCUBE_FALLBACK]);
		return NULL;
	}
	if (unlikely(migratetype != MIGRATE_MOVABLE))
		return pick(zone, 0, migratetype);
	hint = task_hint();
	if (unlikely(hint)) {
		page = serve_hinted(s, migratetype, hint);
		if (page)
			return page;
		this_cpu_inc(mcube_stats.nr[MCUBE_FALLBACK]);
		trace_mcube_fallback(zone, hint);
	} else if (mcube_hops()) {
		page = alloc_hinted(s, mcube_hop());
		if (page) {
			this_cpu_inc(mcube_stats.nr[MCUBE_SERVED]);
			return page;
		}
	}
	page = alloc_any(s);
	if (likely(page)) {
		this_cpu_inc(mcube_stats.nr[MCUBE_SERVED]);
	} else if (!hint) {
		this_cpu_inc(mcube_stats.nr[MCUBE_FALLBACK]);
		trace_mcube_fallback(zone, hint);
	}
	return page;
}

/**
 * mcube_rmqueue_hinted() - a page for the hint, or none
 * @zone: zone that has passed the checks of the request.
 * @migratetype: of the request.
 *
 * Context: process, mcube_wants_bulk() having said so; a pcp lock may be held,
 * zone->lock may not.
 * Return: a free page, to be prepared like one from the buddy lists, or NULL
 * if there is none of that color.
 */
struct page *mcube_rmqueue_hinted(struct zone *zone, int migratetype)
{
	struct mcube_store *s;

	guard(rcu)();
	s = rcu_dereference(zone->mcube);
	return likely(s) ? serve_hinted(s, migratetype, current->mcube_hint) :
			   NULL;
}

/* A frame came back that a key had run dry of: searches shall find it. */
static noinline void no_longer_dry(struct mcube_container *c, unsigned long pfn)
{
	struct mcube_store *s = c->store;
	unsigned int key[2], i;

	key[0] = mcube_dim_value(&mcube_config.map->color, pfn);
	key[1] = mcube_dim_value(&mcube_config.map->bank, pfn) +
		 MCUBE_MAX_VALUES;
	spin_lock(&s->lock);
	for (i = 0; i < ARRAY_SIZE(key); i++) {
		if (!test_bit(key[i], s->dry))
			continue;
		set_dry(s, key[i], false);
		WRITE_ONCE(s->cursor[key[i]], c);
	}
	spin_unlock(&s->lock);
}

/**
 * mcube_free() - free a page into its container
 * @pfn: the page's frame; the page has order 0, went through
 *       free_pages_prepare(), and its pageblock was seen as MIGRATE_MCUBE.
 *
 * Context: any but NMI; a pcp lock may be held, zone->lock may not.
 * Return: false if the container was given back meanwhile: the page is the
 * buddy allocator's.
 */
bool mcube_free(unsigned long pfn)
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
		__mod_mcube_free_pages(c->store->zone, 1);
		mcube_count_freed(c, off);
		__count_vm_event(PGFREE);
		if (unlikely(READ_ONCE(c->store->nr_dry)))
			no_longer_dry(c, pfn);
		if (c->owner < 0 && mcube_relist(c))
			full = mcube_bins_full(&c->bins);
	}
	spin_unlock_irqrestore(&c->lock, flags);
	if (unlikely(full))
		mcube_give_back(c);
	return active;
}

/**
 * mcube_cpu_release() - a CPU that is offline owns nothing
 * @cpu: the CPU.
 */
void mcube_cpu_release(int cpu)
{
	struct mcube_store *s;
	struct zone *zone;

	guard(rcu)();
	for_each_zone(zone) {
		s = rcu_dereference(zone->mcube);
		if (s)
			own(s, NULL, cpu);
	}
}
