/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The hooks of the mcube allocator in the page allocator.
 *
 * Copyright (C) 2026 The mcube authors
 *
 * Two kinds.  Where every allocation passes, a static key decides, and off
 * costs a NOP.  Where something is rare or already slow, the hook looks at
 * the pageblock's type or at zone->mcube instead: containers can outlive the
 * key for a moment while the store is being switched off.
 *
 * With CONFIG_MCUBE_ALLOC=n all of them vanish.
 */
#ifndef _LINUX_MCUBE_ALLOC_H
#define _LINUX_MCUBE_ALLOC_H

#include <linux/compiler.h>
#include <linux/jump_label.h>
#include <linux/mcube_hint.h>
#include <linux/mm.h>
#include <linux/mmzone.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/types.h>
#include <linux/vmstat.h>

struct page;

#ifdef CONFIG_MCUBE_ALLOC

DECLARE_STATIC_KEY_FALSE(mcube_alloc_key);

#define is_migrate_mcube(mt)	unlikely((mt) == MIGRATE_MCUBE)
/* MIGRATE_MCUBE or MIGRATE_ISOLATE, the last two, in one comparison. */
#define is_migrate_special(mt)	unlikely((mt) >= MIGRATE_MCUBE)

struct page *mcube_alloc_rmqueue(struct zone *zone, int migratetype);
struct page *mcube_alloc_rmqueue_large(struct zone *zone, unsigned int order,
				 int migratetype);
struct page *mcube_alloc_rmqueue_hinted(struct zone *zone, int migratetype);
bool mcube_alloc_free(unsigned long pfn);
bool __mcube_alloc_break_up(struct zone *zone, unsigned int order);
void __mcube_alloc_break_up_page(struct zone *zone, struct page *page);
bool __mcube_alloc_has_order(struct zone *zone, unsigned int order);
unsigned long __mcube_alloc_shrink(struct zone *zone, unsigned long enough);
bool mcube_alloc_page_is_free(const struct page *page);

#ifdef CONFIG_SMP
/* mm/vmstat.c */
void __mod_mcube_free_pages(struct zone *zone, int delta);
#else
static inline void __mod_mcube_free_pages(struct zone *zone, int delta)
{
	__mod_zone_page_state(zone, NR_FREE_PAGES, delta);
	__mod_zone_page_state(zone, NR_FREE_MCUBE_PAGES, delta);
}
#endif

/**
 * mcube_alloc_wants() - shall the store be asked before the per-CPU lists?
 * @migratetype: type of the request; of those that are not movable only the
 *               page cache's are served, which says so in the task's hint.
 *
 * Test for order 0 before, not after: the compiler then sees that single
 * pages need none of the tests of the order that follow, which is worth as
 * much as the hook costs.
 *
 * Return: true if so.
 */
static __always_inline bool mcube_alloc_wants(int migratetype)
{
	return static_branch_unlikely(&mcube_alloc_key) &&
		(migratetype == MIGRATE_MOVABLE ||
		 current->mcube_hint & MCUBE_HINT_FILE);
}

/**
 * mcube_alloc_wants_bulk() - shall pages that are asked for together be the store's?
 *
 * Only those of the page cache, see struct mcube_srm_batch.
 *
 * Return: true if so.
 */
static __always_inline bool mcube_alloc_wants_bulk(void)
{
	return static_branch_unlikely(&mcube_alloc_key) && in_task() &&
		current->mcube_hint & MCUBE_HINT_FILE &&
		!(current->flags & PF_MEMALLOC);
}

/**
 * mcube_alloc_break_up() - give a container back before an allocation fails
 * @zone: the zone, its lock held.
 * @order: least size of a free group that the container must have.
 *
 * Return: true if the buddy lists have gained a block of @order, or one of a
 * whole container if that is smaller.
 */
static inline bool mcube_alloc_break_up(struct zone *zone, unsigned int order)
{
	return unlikely(rcu_access_pointer(zone->mcube)) &&
		__mcube_alloc_break_up(zone, order);
}

/**
 * mcube_alloc_break_up_page() - give the container around a page back
 * @zone: the page's zone, its lock held.
 * @page: any page.
 *
 * For those who need to find free pages in the buddy lists: page isolation
 * and memory failure.
 */
static inline void mcube_alloc_break_up_page(struct zone *zone, struct page *page)
{
	if (rcu_access_pointer(zone->mcube))
		__mcube_alloc_break_up_page(zone, page);
}

/**
 * mcube_alloc_has_order() - could mcube_alloc_break_up() yield a block of that order?
 * @zone: the zone.
 * @order: the order.
 *
 * Lockless, hence a guess.
 *
 * Return: true if probably so.
 */
static inline bool mcube_alloc_has_order(struct zone *zone, unsigned int order)
{
	return unlikely(rcu_access_pointer(zone->mcube)) &&
		__mcube_alloc_has_order(zone, order);
}

/**
 * mcube_alloc_shrink() - give containers back until the buddy lists have enough
 * @zone: the zone, its lock not held.
 * @enough: free pages that compaction needs, of which it finds none in
 *          containers.
 *
 * Nothing is given back where all that is free would not be enough.
 *
 * Return: free pages that are out of compaction's reach after that.
 */
static inline unsigned long mcube_alloc_shrink(struct zone *zone, unsigned long enough)
{
	return unlikely(rcu_access_pointer(zone->mcube)) ?
		__mcube_alloc_shrink(zone, enough) : 0;
}

/**
 * mcube_alloc_nr_free() - free pages of the zone that lie in containers
 * @zone: the zone.
 *
 * They are part of NR_FREE_PAGES, but whoever takes pages off the buddy
 * lists himself will not find them there.
 *
 * Return: their number, give or take the per-CPU differentials.
 */
static inline unsigned long mcube_alloc_nr_free(struct zone *zone)
{
	return zone_page_state(zone, NR_FREE_MCUBE_PAGES);
}

#else /* CONFIG_MCUBE_ALLOC */

/*
 * Macros: even an empty inline function leaves the compiler with variables
 * that change which register or stack slot others get.  Without the option
 * the objects shall be identical to the last byte.
 */
#define is_migrate_mcube(mt)		((void)(mt), false)
#define is_migrate_special(mt)		is_migrate_isolate(mt)
#define mcube_alloc_wants(mt)			((void)(mt), false)
#define mcube_alloc_rmqueue(zone, mt)						\
	((void)(zone), (void)(mt), (struct page *)NULL)
#define mcube_alloc_rmqueue_large(zone, order, mt)				\
	((void)(zone), (void)(order), (void)(mt), (struct page *)NULL)
#define mcube_alloc_wants_bulk()		false
#define mcube_alloc_rmqueue_hinted(zone, mt)					\
	((void)(zone), (void)(mt), (struct page *)NULL)
#define mcube_alloc_free(pfn)			((void)(pfn), false)
#define mcube_alloc_break_up(zone, order)	((void)(zone), (void)(order), false)
#define mcube_alloc_break_up_page(zone, page)	((void)(zone), (void)(page))
#define mcube_alloc_has_order(zone, order)	((void)(zone), (void)(order), false)
#define mcube_alloc_shrink(zone, enough)	((void)(zone), (void)(enough), 0UL)
#define mcube_alloc_nr_free(zone)		((void)(zone), 0UL)
#define mcube_alloc_page_is_free(page)	((void)(page), false)

#endif /* CONFIG_MCUBE_ALLOC */

#endif /* _LINUX_MCUBE_ALLOC_H */
