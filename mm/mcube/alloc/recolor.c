// SPDX-License-Identifier: GPL-2.0
/*
 * Recoloring: migrate pages to other colors
 *
 * Copyright (C) 2026 The mcube authors
 *
 *   color of the pages that a policy gives           0 0 0 0 0 0
 *   hints by mcube_reserve_color() (0 is reserved)   1 2 3 4 5 6
 *   color after migrate_pages()                      1 2 3 4 5 6
 *
 * A policy says which pages shall move.  It moves them from a work item of its
 * own, a few at a time:
 *
 *   mcube_recolor_grant()      how many pages may be tried now
 *   mcube_recolor_isolate()    takes each page off its LRU list
 *   mcube_recolor()            migrates these pages, each under a hint
 *
 * To copy a page costs more than many accesses to a badly placed page, so
 * recoloring pays only if it is rare.  Users decide by what they read which
 * pages are recolored.  So all policies together try MCUBE_RECOLOR_PER_SECOND
 * pages at most in a second, which is a small part of one CPU.
 *
 * A page stays where it is if it cannot be migrated at once: a page that is
 * locked, under writeback, pinned or not on an LRU list, and every page once its
 * node has no free page.  Unevictable pages stay as well:
 * who locks memory wants no page faults, and vm.compact_unevictable_allowed
 * exists for that reason.
 *
 * A folio of several pages moves as a whole to the frames around the next color:
 * four folios of four pages have 16 colors as well as 16 pages do.
 *
 * Policies call this file, see recolor.h.  No other file here uses it.
 */

#include <linux/jiffies.h>
#include <linux/list.h>
#include <linux/mcube_hint.h>
#include <linux/migrate.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/spinlock.h>

#include "../../internal.h"
#include "policy.h"
#include "recolor.h"

/* Pages tried in the second that began at @start, in jiffies. */
static DEFINE_SPINLOCK(budget_lock);
static struct {
	unsigned long start;
	unsigned int tried;
} budget;

/**
 * mcube_recolor_grant() - how many pages may be tried now?
 * @want: number of pages that the caller wants to try.
 *
 * Context: process.
 * Return: number of pages, at most @want; 0 if no page is left until the next
 * second.
 */
unsigned int mcube_recolor_grant(unsigned int want)
{
	scoped_guard(spinlock, &budget_lock) {
		if (!budget.start || time_after_eq(jiffies, budget.start + HZ)) {
			budget.start = jiffies;
			budget.tried = 0;
		}
		want = min(want, MCUBE_RECOLOR_PER_SECOND - budget.tried);
		budget.tried += want;
	}
	return want;
}

/**
 * mcube_recolor_isolate() - take a page off its LRU list, to be recolored
 * @folio: the page; the caller has a reference and keeps it.
 * @list: list that the page is added to.
 *
 * Context: process.
 * Return: true if the page is in @list now.
 */
bool mcube_recolor_isolate(struct folio *folio, struct list_head *list)
{
	return !folio_test_unevictable(folio) && !folio_test_mlocked(folio) &&
		!folio_maybe_dma_pinned(folio) &&
		isolate_folio_to_list(folio, list);
}

struct move {
	gfp_t gfp;
	unsigned int next;
};

static struct folio *new_folio(struct folio *src, unsigned long private)
{
	struct move *m = (struct move *)private;
	unsigned int color = mcube_reserve_color(m->next);
	struct folio *folio;
	u32 hint;

	m->next += folio_nr_pages(src);
	hint = mcube_hint_save(mcube_hint_make(color, -1) | MCUBE_HINT_FILE);
	folio = __folio_alloc_node(m->gfp, folio_order(src), folio_nid(src));
	mcube_hint_restore(hint);
	return folio;
}

/**
 * mcube_recolor() - spread pages over the colors that are not reserved
 * @list: pages of mcube_recolor_isolate(); empty afterwards.
 * @gfp: where the pages may lie, as for their first allocation.
 * @next: the pages get the colors from number *@next on; updated.
 *
 * Context: process, sleeps, no folio locked.
 * Return: number of pages moved.
 */
unsigned int mcube_recolor(struct list_head *list, gfp_t gfp,
			   unsigned int *next)
{
	struct move m = {
		.gfp = (gfp | __GFP_THISNODE | __GFP_NORETRY | __GFP_NOWARN |
			__GFP_NOMEMALLOC) & ~__GFP_RECLAIM,
		.next = *next,
	};
	unsigned int moved = 0;

	if (list_empty(list))
		return 0;
	/* For this reason alone a folio is not split for want of a large one. */
	migrate_pages(list, new_folio, NULL, (unsigned long)&m, MIGRATE_ASYNC,
		      MR_NUMA_MISPLACED, &moved);
	putback_movable_pages(list);
	*next = m.next;
	return moved;
}
