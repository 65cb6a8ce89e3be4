// SPDX-License-Identifier: GPL-2.0
/*
 * SRM-buffer: evicting page-cache pages to free frames of a color
 *
 * Copyright (C) 2026 The mcube authors
 *
 * When the page cache has filled memory, the free frames are those that kswapd
 * has just reclaimed.  These are a few of each color, and a segment, which
 * needs some hundred frames of one color, ends early.  But memory is then full
 * of pages of earlier segments, whose readers no longer need them.  So frames
 * of the color group that is next are freed before a segment gets the group:
 *
 *   segment ends -> select a color group that has tl free frames (select.c)
 *                   does the group after it have fewer?
 *                     -> work item: find pages of that group, evict what is
 *                        missing
 *
 * The work item walks page frames and not LRU lists, as DAMON's physical
 * address space does: the frames of one color are known by their number, and an
 * LRU list has them in no order.  It evicts single pages of files that are
 * clean, not mapped, and were used once.  Pages stay, whatever their age, if
 * they were used again, were read ahead and not used yet, are dirty, or are
 * mapped.  Pages of a cgroup that has no more than its memory.min or memory.low
 * stay as well.
 *
 * PG_active and PG_workingset mark pages that read() has used again.  With
 * generations (MGLRU) reclaim clears these flags when it moves such a page to a
 * younger generation.  So pages of younger generations stay too, until their
 * generation is the oldest.  A page that was used only once since then is
 * evicted like any other, by reclaim as well as by this work item.
 *
 * Source: Ding, Wang, Zhang, "SRM-buffer: an OS buffer management technique to
 * prevent last level cache from thrashing in multicores", EuroSys 2011.
 *
 * Differences from the paper: the paper keeps a list of free pages per color
 * and refills the list by eviction.  Here the pages that are freed stay free
 * for any allocation; no task waits for the work item, and a segment that
 * outpaces it ends early.
 */

#include <linux/align.h>
#include <linux/bitmap.h>
#include <linux/cgroup.h>
#include <linux/list.h>
#include <linux/mcube_map.h>
#include <linux/mcube_hint.h>
#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/mm_inline.h>
#include <linux/mmzone.h>
#include <linux/numa.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

#include "../../internal.h"
#include "../alloc/policy.h"
#include "color_group.h"
#include "internal.h"

#include <trace/events/mcube_srm.h>

static void reclaim_work_fn(struct work_struct *work);

static DECLARE_WORK(reclaim_work, reclaim_work_fn);

/* The request to the work item; a new request replaces the last request. */
static DEFINE_SPINLOCK(request_lock);
static struct request {
	int nid;
	unsigned int group;
	unsigned int nr_colors;
	unsigned long nr;
	u8 color[1U << MCUBE_GROUP_ORDER_MAX];
} request;

/*
 * Frames and blocks that the work item looks at for each frame wanted.  Memory
 * may be full of pages that stay; the next request goes on where the last
 * request ended.
 */
#define LOOK_MAX	32

/* By node: where the last search ended. */
static unsigned long next_pfn[MAX_NUMNODES];

/**
 * mcube_srm_reclaim_next() - the block to search next
 * @nid: node of the blocks.
 * @start: first page frame of the first block of the node.
 * @end: first page frame behind the last block; more than @start.
 *
 * Context: the work item, or a test that names nodes that do not exist.
 * Return: first page frame of the block; the blocks of a node come in turn.
 */
unsigned long mcube_srm_reclaim_next(int nid, unsigned long start,
				     unsigned long end)
{
	unsigned long pfn = next_pfn[nid];

	if (pfn < start || pfn >= end)
		pfn = start;
	next_pfn[nid] = pfn + mcube_container_pages();
	return pfn;
}

#ifdef CONFIG_MEMCG
/*
 * Update what memory.min and memory.low protect of a cgroup's memory.  What is
 * left for a cgroup follows from what is left for its parent.
 */
static void calculate_protection(struct mem_cgroup *memcg)
{
	struct cgroup *cgroup = memcg->css.cgroup;
	struct cgroup_subsys_state *css;
	int level;

	for (level = 1; level < cgroup->level; level++) {
		css = rcu_dereference(cgroup_ancestor(cgroup, level)->subsys[memory_cgrp_id]);
		/* NULL for a cgroup that has been removed. */
		if (css)
			mem_cgroup_calculate_protection(NULL, mem_cgroup_from_css(css));
	}
	mem_cgroup_calculate_protection(NULL, memcg);
}
#else
static void calculate_protection(struct mem_cgroup *memcg)
{
}
#endif

/*
 * Has the folio's cgroup no more memory than its memory.min or memory.low?  Few
 * of all cgroups have pages among those that are looked at, and these pages often
 * lie together: @known is the cgroup that was met last.
 */
static bool is_protected(struct folio *folio, struct mem_cgroup **known)
{
	struct mem_cgroup *memcg = folio_memcg(folio);

	if (!memcg)
		return false;
	if (memcg != *known)
		calculate_protection(memcg);
	*known = memcg;
	return mem_cgroup_below_min(NULL, memcg) ||
		mem_cgroup_below_low(NULL, memcg);
}

/*
 * Can the page be used up, by its flags alone?  The caller has no reference, so the
 * page may become a tail page at any time, of which folio_test_*() must not ask.
 */
static bool may_be_used_up(const struct page *page)
{
	const unsigned long set = BIT(PG_lru) | BIT(PG_referenced);
	const unsigned long clear = BIT(PG_head) | BIT(PG_swapbacked) |
		BIT(PG_workingset) | BIT(PG_active) | BIT(PG_unevictable) |
		BIT(PG_dirty) | BIT(PG_writeback) | BIT(PG_locked);

	return (READ_ONCE(page->flags) & (set | clear)) == set;
}

/* Does the folio belong to a file, clean, unmapped and used only once? */
static bool is_used_up(struct folio *folio)
{
	return folio_test_lru(folio) && folio_is_file_lru(folio) &&
		folio_test_referenced(folio) && !folio_test_workingset(folio) &&
		!folio_test_active(folio) && !folio_test_unevictable(folio) &&
		!folio_test_dirty(folio) && !folio_test_writeback(folio) &&
		!folio_test_locked(folio) && !folio_mapped(folio);
}

#ifdef CONFIG_LRU_GEN
/*
 * Is the generation of the folio the oldest?  Reclaim moves folios that it
 * spares to younger generations.
 */
static bool is_oldest(struct folio *folio)
{
	struct lruvec *lruvec;

	if (!lru_gen_enabled())
		return true;
	lruvec = folio_lruvec(folio);
	return folio_lru_gen(folio) ==
		lru_gen_from_seq(READ_ONCE(lruvec->lrugen.min_seq[LRU_GEN_FILE]));
}
#else
static bool is_oldest(struct folio *folio)
{
	return true;
}
#endif

static bool isolate_page(struct page *page, struct mem_cgroup **known,
			 struct list_head *list)
{
	struct folio *folio = (struct folio *)page;
	bool got = false;

	/* Test first without a reference, since most pages fail the test. */
	if (!may_be_used_up(page) || !folio_try_get(folio))
		return false;
	/* A page with a reference is no tail page. */
	if (!folio_test_large(folio) && is_used_up(folio) && is_oldest(folio) &&
	    !is_protected(folio, known))
		got = folio_isolate_lru(folio);
	if (got)
		list_add(&folio->lru, list);
	folio_put(folio);
	return got;
}

/* Take up to @want pages of the block at @pfn off their LRU lists. */
static unsigned long isolate_block(unsigned long pfn, const struct request *w,
				   unsigned long want, unsigned long *looked,
				   struct list_head *list)
{
	DECLARE_BITMAP(frames, BIT(MCUBE_MAX_ORDER));
	struct mem_cgroup *known = NULL;
	unsigned long got = 0;
	struct page *base;
	unsigned int off;

	++*looked;
	/* The cgroup of a folio may change at any time; RCU keeps the old one. */
	guard(rcu)();
	base = mcube_container_used(pfn, w->color, w->nr_colors, frames);
	if (!base)
		return 0;
	for_each_set_bit(off, frames, mcube_container_pages()) {
		++*looked;
		got += isolate_page(base + off, &known, list);
		if (got == want)
			break;
	}
	return got;
}

static void reclaim_work_fn(struct work_struct *work)
{
	unsigned long block = mcube_container_pages();
	unsigned long start, end, pfn, looked = 0, freed = 0;
	LIST_HEAD(list);
	struct request w;

	scoped_guard(spinlock, &request_lock)
		w = request;
	start = ALIGN(node_start_pfn(w.nid), block);
	end = ALIGN_DOWN(node_end_pfn(w.nid), block);
	while (freed < w.nr && looked < w.nr * LOOK_MAX && start < end &&
	       static_branch_likely(&mcube_srm_key)) {
		pfn = mcube_srm_reclaim_next(w.nid, start, end);
		if (isolate_block(pfn, &w, w.nr - freed, &looked, &list))
			freed += reclaim_pages(&list);
		cond_resched();
	}
	this_cpu_add(mcube_srm_stats.nr[MCUBE_SRM_RECLAIMED], freed);
	trace_mcube_srm_reclaim(w.nid, w.group, w.nr, freed);
}

/**
 * mcube_srm_reclaim() - request more free frames of a color group
 * @nid: node of the frames.
 * @groups: color groups of the policy.
 * @group: number of the group.
 * @nr: number of frames.
 *
 * Context: any but interrupts; does not wait for the frames.
 */
void mcube_srm_reclaim(int nid, const struct mcube_color_groups *groups,
		       unsigned int group, unsigned long nr)
{
	unsigned int i;

	scoped_guard(spinlock, &request_lock) {
		request.nid = nid;
		request.group = group;
		request.nr = nr;
		request.nr_colors = groups->per;
		for (i = 0; i < groups->per; i++)
			request.color[i] = mcube_color_group_color(groups, group, i);
	}
	queue_work(system_unbound_wq, &reclaim_work);
}

/**
 * mcube_srm_reclaim_stop() - end the eviction that was requested
 *
 * Context: process, sleeps; the static key is off.
 */
void mcube_srm_reclaim_stop(void)
{
	cancel_work_sync(&reclaim_work);
}
