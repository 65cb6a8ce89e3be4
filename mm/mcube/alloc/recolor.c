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
 * or the other way round: hints by mcube_reserve_polluting() gather pages in the
 * reserved colors.
 *
 * A policy says which pages shall move.  It moves them from a work item of its
 * own, a few at a time:
 *
 *   mcube_recolor_grant()      how many pages may be tried now
 *   mcube_recolor_isolate()    takes each page off its LRU list
 *   mcube_recolor()            migrates these pages, each under a hint
 *
 *   mcube_recolor_mm()         does the last two steps for pages that are known
 *                              by their addresses in a process (recolor_mm.c)
 *
 * To copy a page costs more than many accesses to a badly placed page, so
 * recoloring pays only if it is rare.  Users decide by what they read, or by what
 * their programs do, which pages are recolored.  So each cause has a budget of
 * pages that it may try in a second, which is a small part of one CPU.
 *
 * A page stays where it is if it cannot be migrated at once: a page that is
 * locked, under writeback, pinned or not on an LRU list, and every page once its
 * node has no free page.  Unevictable pages stay as well: who locks memory wants
 * no page faults, and vm.compact_unevictable_allowed exists for that reason.  A
 * page also stays if its node has no free page of the colors that it shall have.
 *
 * A folio of several pages moves as a whole to the frames around the next color:
 * four folios of four pages have 16 colors as well as 16 pages do.
 *
 * Policies call this file, see recolor.h.  No other file here but recolor_mm.c
 * uses it.
 *
 * Source: Zhang, Dwarkadas, Shen, "Towards practical page coloring-based
 * multi-core cache management", EuroSys 2009, for what recoloring costs.
 */

#include <linux/export.h>
#include <linux/jiffies.h>
#include <linux/list.h>
#include <linux/mcube_hint.h>
#include <linux/mcube_map.h>
#include <linux/migrate.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/spinlock.h>

#include "../../internal.h"
#include "../map/map.h"
#include "policy.h"
#include "recolor.h"

/* A color may have no free frame; another color has, for how many tries? */
#define TRIES_MAX	4U

/**
 * mcube_recolor_grant() - how many pages may be tried now?
 * @b: budget of the policy.
 * @per_second: pages that the policy may try in a second.
 * @want: number of pages that the caller wants to try.
 *
 * Context: process.
 * Return: number of pages, at most @want; 0 if no page is left until the next
 * second.
 */
unsigned int mcube_recolor_grant(struct mcube_recolor_budget *b,
				 unsigned int per_second, unsigned int want)
{
	scoped_guard(spinlock, &b->lock) {
		if (!b->start || time_after_eq(jiffies, b->start + HZ)) {
			b->start = jiffies;
			b->tried = 0;
		}
		/* The policy may have lowered its limit within this second. */
		want = min(want, per_second - min(per_second, b->tried));
		b->tried += want;
	}
	return want;
}
EXPORT_SYMBOL_NS_GPL(mcube_recolor_grant, MCUBE);

/**
 * mcube_recolor_may() - may a page be moved at all?
 * @folio: the page; the caller keeps it from being freed.
 *
 * Context: any.
 * Return: false if the page is unevictable or pinned.
 */
bool mcube_recolor_may(struct folio *folio)
{
	return !folio_test_unevictable(folio) && !folio_test_mlocked(folio) &&
		!folio_maybe_dma_pinned(folio);
}

/**
 * mcube_recolor_isolate() - take a page off its LRU list, to be recolored
 * @folio: the page; the caller keeps it from being freed.
 * @list: list that the page is added to.
 *
 * Context: process.
 * Return: true if the page is in @list now.
 */
bool mcube_recolor_isolate(struct folio *folio, struct list_head *list)
{
	return mcube_recolor_may(folio) && isolate_folio_to_list(folio, list);
}

/* What new_folio() knows, and that it found no frame for a page. */
struct move {
	const struct mcube_dim *dim;
	gfp_t gfp;
	enum mcube_recolor_to to;
	unsigned int next;
	bool no_frame;
};

static struct folio *alloc_color(const struct move *m, struct folio *src,
				 unsigned int color)
{
	u32 hint = mcube_hint_make(color, -1);
	struct folio *folio;

	if (!folio_test_anon(src))
		hint |= MCUBE_HINT_FILE;
	hint = mcube_hint_save(hint);
	folio = __folio_alloc_node(m->gfp, folio_order(src), folio_nid(src));
	mcube_hint_restore(hint);
	return folio;
}

static struct folio *new_folio(struct folio *src, unsigned long private)
{
	struct move *m = (struct move *)private;
	bool pollute = m->to == MCUBE_RECOLOR_POLLUTE;
	struct folio *folio;
	unsigned int i, color;

	for (i = 0; i < TRIES_MAX; i++) {
		color = pollute ? mcube_reserve_polluting(m->next) :
				  mcube_reserve_color(m->next);
		m->next += folio_nr_pages(src);
		folio = alloc_color(m, src, color);
		/* Without a free frame of the color, the hint was not followed. */
		if (!folio)
			break;
		if (mcube_reserve_has(mcube_dim_value(m->dim, folio_pfn(folio))) == pollute)
			return folio;
		folio_put(folio);
	}
	m->no_frame = true;
	return NULL;
}

/**
 * mcube_recolor() - move pages to colors that are reserved, or are not
 * @list: pages of mcube_recolor_isolate(); empty afterwards.
 * @gfp: where the pages may lie, as for their first allocation.
 * @to: the colors.
 * @next: the pages get these colors from number *@next on; updated.
 *
 * Context: process, sleeps, no folio locked.
 * Return: number of pages moved; each has one of these colors, if no policy has
 * changed the partition meanwhile.
 */
unsigned int mcube_recolor(struct list_head *list, gfp_t gfp,
			   enum mcube_recolor_to to, unsigned int *next)
{
	struct move m = {
		.gfp = (gfp | __GFP_THISNODE | __GFP_NORETRY | __GFP_NOWARN |
			__GFP_NOMEMALLOC) & ~__GFP_RECLAIM,
		.to = to,
		.next = *next,
	};
	unsigned int moved = 0, some;
	LIST_HEAD(stay);

	if (list_empty(list))
		return 0;
	/* The allocator may go off meanwhile, but the map stays. */
	m.dim = &mcube_map_get()->color;
	do {
		m.no_frame = false;
		some = 0;
		/* For this reason alone a folio is not split for want of a large one. */
		migrate_pages(list, new_folio, NULL, (unsigned long)&m, MIGRATE_ASYNC,
			      MR_NUMA_MISPLACED, &some);
		moved += some;
		/* A page without a frame ends migrate_pages(): go on without that page. */
		if (!list_empty(list))
			list_move(list->next, &stay);
	} while (m.no_frame && !list_empty(list));
	putback_movable_pages(list);
	putback_movable_pages(&stay);
	mcube_map_put();
	*next = m.next;
	return moved;
}
