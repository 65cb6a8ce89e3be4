// SPDX-License-Identifier: GPL-2.0
/*
 * SRM-buffer: frames of a color, out of the page cache
 *
 * Copyright (C) 2026 The mcube authors
 *
 * When the page cache has filled memory, free frames are what kswapd has just
 * reclaimed: a few of each color, and a run that needs some hundred of one
 * color ends early.  But then memory is full of pages of earlier runs, which
 * their readers are done with.  So the color whose turn comes next gets
 * frames before it is dealt:
 *
 *   run ends -> deal a color that has tl free frames
 *               the one after it has fewer? -> work item: find pages of that
 *                                              color, evict what is missing
 *
 * It looks at page frames and not at LRU lists, as DAMON's physical address
 * space does: frames of one color are known by their number, and an LRU list
 * has them in no order.  Evicted are single pages of files that are clean, not
 * mapped, and were used once; those used again, read ahead and not used yet,
 * dirty, or mapped stay, whatever their age, and those of a group that has no
 * more than its memory.min or memory.low.  PG_active and PG_workingset say so of
 * pages that are read by read().  With generations (MGLRU) reclaim takes the flags
 * away as it moves such a page to a younger one, so those stay too, until that is
 * the oldest; used once since then, it is for reclaim as for refill like any other.
 *
 * Source: Ding, Wang, Zhang, "SRM-buffer: an OS buffer management technique to
 * prevent last level cache from thrashing in multicores", EuroSys 2011.
 *
 * Differences from the paper: it keeps a list of free pages per color and refills
 * that by eviction.  Here free pages stay the store's, whoever wants them; nobody
 * waits for the work item, and a run that outpaces it ends early.
 */

#include <linux/align.h>
#include <linux/bitmap.h>
#include <linux/list.h>
#include <linux/mcube_map.h>
#include <linux/mcube_hint.h>
#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/mm_inline.h>
#include <linux/mmzone.h>
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

/* What the work item shall do; who asks last is heard. */
static DEFINE_SPINLOCK(request_lock);
static struct request {
	int nid;
	unsigned int group;
	unsigned int nr_colors;
	unsigned long nr;
	u8 color[1U << MCUBE_GROUP_ORDER_MAX];
} request;

/*
 * Frames and blocks looked at for one that is wanted: memory may be full of
 * other things, and the next request goes on where this one ends.
 */
#define LOOK_MAX	32

/* Where the last search ended. */
static unsigned long next_pfn;

/* What groups have been promised, as they share it now: parents come first. */
static void calculate_protection(void)
{
	struct mem_cgroup *memcg = NULL;

	while ((memcg = mem_cgroup_iter(NULL, memcg, NULL)))
		mem_cgroup_calculate_protection(NULL, memcg);
}

/* Has its owner been promised memory, and has no more than that? */
static bool is_protected(struct folio *folio)
{
	struct mem_cgroup *memcg = folio_memcg(folio);

	return mem_cgroup_below_min(NULL, memcg) ||
		mem_cgroup_below_low(NULL, memcg);
}

/* Was it used once, and by nobody who would miss it? */
static bool is_used_up(struct folio *folio)
{
	return folio_test_lru(folio) && folio_is_file_lru(folio) &&
		folio_test_referenced(folio) && !folio_test_workingset(folio) &&
		!folio_test_active(folio) && !folio_test_unevictable(folio) &&
		!folio_test_dirty(folio) && !folio_test_writeback(folio) &&
		!folio_test_locked(folio) && !folio_mapped(folio);
}

#ifdef CONFIG_LRU_GEN
/* Would reclaim begin with its generation?  What it has spared is in a younger one. */
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

static bool isolate_page(struct page *page, struct list_head *list)
{
	struct folio *folio = page_folio(page);
	bool got = false;

	/* Once without a reference: most are not. */
	if (!is_used_up(folio) || !folio_try_get(folio))
		return false;
	if (page_folio(page) == folio && !folio_test_large(folio) &&
	    is_used_up(folio) && is_oldest(folio) && !is_protected(folio))
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
	unsigned long got = 0;
	struct page *base;
	unsigned int off;

	++*looked;
	base = mcube_container_used(pfn, w->color, w->nr_colors, frames);
	if (!base)
		return 0;
	for_each_set_bit(off, frames, mcube_container_pages()) {
		++*looked;
		got += isolate_page(base + off, list);
		if (got == want)
			break;
	}
	return got;
}

static void reclaim_work_fn(struct work_struct *work)
{
	unsigned long block = mcube_container_pages();
	unsigned long start, end, looked = 0, freed = 0;
	LIST_HEAD(list);
	struct request w;

	scoped_guard(spinlock, &request_lock)
		w = request;
	calculate_protection();
	start = ALIGN(node_start_pfn(w.nid), block);
	end = ALIGN_DOWN(node_end_pfn(w.nid), block);
	while (freed < w.nr && looked < w.nr * LOOK_MAX && start < end &&
	       static_branch_likely(&mcube_srm_key)) {
		if (next_pfn < start || next_pfn >= end)
			next_pfn = start;
		if (isolate_block(next_pfn, &w, w.nr - freed, &looked, &list))
			freed += reclaim_pages(&list);
		next_pfn += block;
		cond_resched();
	}
	this_cpu_add(mcube_srm_stats.nr[MCUBE_SRM_RECLAIMED], freed);
	trace_mcube_srm_reclaim(w.nid, w.group, w.nr, freed);
}

/**
 * mcube_srm_reclaim() - let a region's colors have more free frames soon
 * @nid: node that they shall be on.
 * @groups: of the policy.
 * @group: which.
 * @nr: how many frames.
 *
 * Context: any but interrupts; does not wait.
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
 * mcube_srm_reclaim_stop() - nothing is evicted any more
 *
 * Context: process, sleeps, the policy is off.
 */
void mcube_srm_reclaim_stop(void)
{
	cancel_work_sync(&reclaim_work);
}
