// SPDX-License-Identifier: GPL-2.0
/*
 * Several folios for a hint at a time
 *
 * Copyright (C) 2026 The mcube authors
 *
 * To find a page of a certain color costs more than to find any page.  The page
 * cache often knows that it needs many pages in a row.  It takes them together:
 * under one acquisition of a container's lock, and without a call of the page
 * allocator for each page:
 *
 *   ../srm/batch.c
 *     |
 *   mcube_alloc_folios()       bulk_zone(): zone, cpuset, watermark
 *     |
 *     +- single pages:         mcube_hinted_bulk()    hinted.c
 *     |                        mcube_buddy_search()   buddy.c
 *     +- folios of 2^k pages:  mcube_large_take()     large.c
 *
 * This is alloc_pages_bulk() for pages that follow a hint, which has no per-CPU
 * list to take pages from.  As alloc_pages_bulk() does, it ignores memory
 * policies.  It gives up instead of reclaiming memory; the caller then asks the
 * page allocator for a single folio.
 */

#include <linux/cpuset.h>
#include <linux/fault-inject.h>
#include <linux/kmsan.h>
#include <linux/list.h>
#include <linux/mcube_alloc.h>
#include <linux/mcube_hint.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/mmzone.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/topology.h>
#include <linux/vmstat.h>

#include "../../internal.h"
#include "internal.h"
#include "policy.h"

#include <trace/events/kmem.h>

/*
 * The zone for a bulk allocation: the first zone of this node that the task may
 * use and that stays above its low watermark.  NULL if a zone of another node
 * comes first.
 */
static struct zone *bulk_zone(gfp_t gfp, unsigned long pages)
{
	int nid = numa_mem_id(), idx = gfp_zone(gfp);
	struct zoneref *ref;
	struct zone *zone;

	for_each_zone_zonelist(zone, ref, node_zonelist(nid, gfp), idx) {
		if (!cpuset_zone_allowed(zone, gfp | __GFP_HARDWALL))
			continue;
		if (zone_to_nid(zone) != nid)
			return NULL;
		if (zone_watermark_ok(zone, 0, low_wmark_pages(zone) + pages,
				      idx, 0))
			return zone;
	}
	return NULL;
}

static void count_bulk(struct zone *zone, unsigned int order, unsigned int nr)
{
	__count_zid_vm_events(PGALLOC, zone_idx(zone), nr << order);
#ifdef CONFIG_NUMA
	if (static_branch_likely(&vm_numa_stat_key)) {
		__count_numa_events(zone, NUMA_HIT, nr);
		__count_numa_events(zone, NUMA_LOCAL, nr);
	}
#endif
}

/*
 * Single pages: the containers first, the lists of pcp.c are passed by, because
 * their frames lie in many containers.
 */
static unsigned int take_pages(struct mcube_zone *mz, int migratetype, u32 hint,
			       struct page **pages, unsigned int nr)
{
	unsigned int got = 0, more = 1;

	if (likely(migratetype == MIGRATE_MOVABLE)) {
		for (; got < nr && more; got += more)
			more = mcube_hinted_bulk(mz, hint, pages + got, nr - got);
	}
	for (; got < nr; got++) {
		pages[got] = mcube_buddy_search(mz->zone, 0, migratetype, hint);
		if (!pages[got])
			break;
	}
	return got;
}

static unsigned int take(struct zone *zone, int migratetype, u32 hint,
			 unsigned int order, struct page **pages,
			 unsigned int nr)
{
	struct mcube_zone *mz;

	guard(rcu)();
	mz = rcu_dereference(zone->mcube);
	if (unlikely(!mz || !mcube_hint_fits(hint)))
		return 0;
	if (!order)
		return take_pages(mz, migratetype, hint, pages, nr);
	return migratetype == MIGRATE_MOVABLE ?
		mcube_large_take(mz, hint, order, pages, nr) : 0;
}

/* What prep_new_page() and its callers do. */
static struct folio *make_folio(struct page *page, unsigned int order, gfp_t gfp)
{
	post_alloc_hook(page, order, gfp);
	trace_mm_page_alloc(page, order, gfp, gfp_migratetype(gfp));
	kmsan_alloc_page(page, order, gfp);
	set_page_count(page, 1);
	clear_page_pfmemalloc(page);
	if (!order)
		return page_folio(page);
	prep_compound_page(page, order);
	return page_rmappable_folio(page);
}

/**
 * mcube_alloc_folios() - allocate folios that follow the task's hint
 * @gfp: flags of the request.
 * @order: order of the folios.
 * @nr: number of folios wanted; a call allocates MCUBE_BULK_MAX at most.
 * @folios: list, the folios are added to its end.
 *
 * Context: process, within mcube_hint_save() for a hint of the page cache.
 * Return: number of folios; 0 if the caller should ask the page allocator for a
 * single folio.
 */
unsigned int mcube_alloc_folios(gfp_t gfp, unsigned int order, unsigned int nr,
				struct list_head *folios)
{
	struct page *pages[MCUBE_BULK_MAX];
	u32 hint = mcube_task_hint();
	struct zone *zone;
	unsigned int i, good = 0;

	gfp = current_gfp_context(gfp) & gfp_allowed_mask;
	if (!(hint & MCUBE_HINT_FILE) || should_fail_alloc_page(gfp, order))
		return 0;
	nr = min(nr, MCUBE_BULK_MAX);
	zone = bulk_zone(gfp, (unsigned long)nr << order);
	if (!zone)
		return 0;
	nr = take(zone, gfp_migratetype(gfp), hint, order, pages, nr);
	for (i = 0; i < nr; i++) {
		/* A bad page is lost, as in the page allocator. */
		if (unlikely(mcube_alloc_check_pages(pages[i], order)))
			continue;
		list_add_tail(&make_folio(pages[i], order, gfp)->lru, folios);
		good++;
	}
	if (good) {
		count_bulk(zone, order, good);
		mcube_hinted_count(hint, good);
	}
	return good;
}
