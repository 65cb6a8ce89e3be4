/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The hooks of the mcube allocator in the page allocator.
 *
 * Copyright (C) 2026 The mcube authors
 *
 * There are two kinds of hooks.  On the path of every allocation, a static key
 * decides, and costs a NOP while the allocator is off.  On a rare or slow path,
 * the hook checks the type of the pageblock or zone->mcube instead: while the
 * allocator is being switched off, containers outlive the key for a moment.
 *
 * With CONFIG_MCUBE_ALLOC=n all hooks vanish.
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
/* MIGRATE_MCUBE or MIGRATE_ISOLATE, the last two types, in one comparison. */
#define is_migrate_special(mt)	unlikely((mt) >= MIGRATE_MCUBE)

struct page *mcube_alloc_rmqueue(struct zone *zone, int migratetype);
struct page *mcube_alloc_rmqueue_large(struct zone *zone, unsigned int order,
				       int migratetype);
bool mcube_alloc_free(unsigned long pfn);
bool __mcube_alloc_yield_pageblock(struct zone *zone, unsigned int order);
bool __mcube_alloc_break_up(struct zone *zone, unsigned int order);
bool mcube_large_free(unsigned long pfn, unsigned int order);
void __mcube_alloc_break_up_page(struct zone *zone, struct page *page);
bool __mcube_alloc_has_order(struct zone *zone, unsigned int order);
void __mcube_alloc_shrink(struct zone *zone, unsigned long enough,
			  unsigned long start_pfn, unsigned long end_pfn);
bool mcube_alloc_check_pages(struct page *page, unsigned int order);
bool mcube_alloc_page_is_free(const struct page *page);

/**
 * mcube_alloc_wants() - ask the mcube allocator before the per-CPU lists?
 * @migratetype: type of the request.  Requests that are not movable are served
 *               only for the page cache, which marks the task's hint with
 *               MCUBE_HINT_FILE.
 *
 * Return: true if the mcube allocator shall be asked.
 */
static __always_inline bool mcube_alloc_wants(int migratetype)
{
	return static_branch_unlikely(&mcube_alloc_key) &&
		(migratetype == MIGRATE_MOVABLE ||
		 current->mcube_hint & MCUBE_HINT_FILE);
}

/**
 * mcube_alloc_yield_pageblock() - break up a container before pieces are taken
 * @zone: the zone, its lock held.
 * @order: order of a request that found nothing on the lists of its own type.
 *
 * A container with a free pageblock must go before pieces of other pageblocks.
 *
 * Return: true if the buddy lists had no free pageblock and have gained one,
 * which is movable.
 */
static inline bool mcube_alloc_yield_pageblock(struct zone *zone,
					       unsigned int order)
{
	return unlikely(rcu_access_pointer(zone->mcube)) &&
		__mcube_alloc_yield_pageblock(zone, order);
}

/**
 * mcube_alloc_break_up() - break up a container before an allocation fails
 * @zone: the zone, its lock held.
 * @order: least order of a free group that the container must have.
 *
 * Once per request, and not in rmqueue_bulk(), which would break up container
 * after container to fill a per-CPU list.
 *
 * Return: true if the buddy lists have gained a block of @order.
 */
static inline bool mcube_alloc_break_up(struct zone *zone, unsigned int order)
{
	return unlikely(rcu_access_pointer(zone->mcube)) &&
		__mcube_alloc_break_up(zone, order);
}

/**
 * mcube_alloc_take_back() - free a block into the container that it lies in
 * @pfn: first frame of the block, which went through free_pages_prepare(), and
 *       whose pageblock was seen as MIGRATE_MCUBE.
 * @order: order of the block.
 *
 * Return: false if the block belongs to the buddy allocator.
 */
static __always_inline bool mcube_alloc_take_back(unsigned long pfn,
						  unsigned int order)
{
	return likely(!order) ? mcube_alloc_free(pfn) :
				mcube_large_free(pfn, order);
}

/**
 * mcube_alloc_free_block() - free a block that the per-CPU lists do not take
 * @zone: zone of the block, its lock not held.
 * @page: first page of the block, which went through free_pages_prepare().
 * @order: order of the block.
 *
 * Return: false if the block belongs to the buddy allocator.
 */
static inline bool mcube_alloc_free_block(struct zone *zone, struct page *page,
					  unsigned int order)
{
	return unlikely(rcu_access_pointer(zone->mcube)) &&
		is_migrate_mcube(get_pageblock_migratetype(page)) &&
		mcube_alloc_take_back(page_to_pfn(page), order);
}

/**
 * mcube_alloc_break_up_page() - break up the container around a page
 * @zone: zone of the page, its lock held.
 * @page: any page.
 *
 * For page isolation and memory failure, which must find free pages in the
 * buddy lists.
 */
static inline void mcube_alloc_break_up_page(struct zone *zone,
					     struct page *page)
{
	if (rcu_access_pointer(zone->mcube))
		__mcube_alloc_break_up_page(zone, page);
}

/**
 * mcube_alloc_has_order() - could mcube_alloc_break_up() yield a large block?
 * @zone: the zone.
 * @order: order of the block.
 *
 * Lockless, hence a guess.
 *
 * Return: true if it probably could yield a block of @order.
 */
static inline bool mcube_alloc_has_order(struct zone *zone, unsigned int order)
{
	return unlikely(rcu_access_pointer(zone->mcube)) &&
		__mcube_alloc_has_order(zone, order);
}

/**
 * mcube_alloc_shrink() - break up a container if compaction lacks free pages
 * @zone: the zone, its lock not held.
 * @enough: number of free pages that compaction needs in the buddy lists;
 *          compaction does not find free pages in containers.
 * @start_pfn: where compaction takes pages to migrate.
 * @end_pfn: where compaction looks for free pages, downwards.
 *
 * For a compaction that is under way.  A container between the two places is
 * broken up, so that its pages are still to be found.
 */
static inline void mcube_alloc_shrink(struct zone *zone, unsigned long enough,
				      unsigned long start_pfn, unsigned long end_pfn)
{
	if (unlikely(rcu_access_pointer(zone->mcube)))
		__mcube_alloc_shrink(zone, enough, start_pfn, end_pfn);
}

/**
 * mcube_alloc_nr_free() - number of free pages of a zone that lie in containers
 * @zone: the zone.
 *
 * These pages are part of NR_FREE_PAGES, but code that takes pages off the
 * buddy lists itself does not find them there.
 *
 * Return: the number, without the per-CPU differentials.
 */
static inline unsigned long mcube_alloc_nr_free(struct zone *zone)
{
	return zone_page_state(zone, NR_FREE_MCUBE_PAGES);
}

#else /* CONFIG_MCUBE_ALLOC */

/*
 * Macros instead of empty inline functions: even an empty inline function
 * leaves the compiler with variables, which change the register or stack slot
 * of other variables.  Without the option the objects must be identical to the
 * last byte.
 */
#define is_migrate_mcube(mt)		((void)(mt), false)
#define is_migrate_special(mt)		is_migrate_isolate(mt)
#define mcube_alloc_wants(mt)			((void)(mt), false)
#define mcube_alloc_rmqueue(zone, mt)						\
	((void)(zone), (void)(mt), (struct page *)NULL)
#define mcube_alloc_rmqueue_large(zone, order, mt)				\
	((void)(zone), (void)(order), (void)(mt), (struct page *)NULL)
#define mcube_alloc_yield_pageblock(zone, order)				\
	((void)(zone), (void)(order), false)
#define mcube_alloc_break_up(zone, order)	((void)(zone), (void)(order), false)
#define mcube_alloc_take_back(pfn, order)	((void)(pfn), (void)(order), false)
#define mcube_alloc_free_block(zone, page, order)				\
	((void)(zone), (void)(page), (void)(order), false)
#define mcube_alloc_break_up_page(zone, page)	((void)(zone), (void)(page))
#define mcube_alloc_has_order(zone, order)	((void)(zone), (void)(order), false)
#define mcube_alloc_shrink(zone, enough, start, end)				\
	((void)(zone), (void)(enough), (void)(start), (void)(end))
#define mcube_alloc_nr_free(zone)		((void)(zone), 0UL)
#define mcube_alloc_page_is_free(page)	((void)(page), false)

#endif /* CONFIG_MCUBE_ALLOC */

#endif /* _LINUX_MCUBE_ALLOC_H */
