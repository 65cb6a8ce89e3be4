// SPDX-License-Identifier: GPL-2.0
/*
 * Moving pages of the page cache to other colors
 *
 * Copyright (C) 2026 The mcube authors
 *
 * Page migration, with a hint to the store for each new page.  What cannot be
 * had at once stays where it is: pages that are locked, under writeback, not
 * on an LRU list or part of a larger folio, and all of them once there is no
 * free page on their node.  Pages of which the neighbours have other colors lie
 * well already: some other task has had them moved.
 */

#include <linux/list.h>
#include <linux/mcube_alloc.h>
#include <linux/mcube_map.h>
#include <linux/mcube_hint.h>
#include <linux/migrate.h>
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/pagevec.h>
#include <linux/sched.h>
#include <linux/swap.h>

#include "../../internal.h"
#include "../map/map.h"
#include "policy.h"
#include "recolor.h"

struct move {
	struct mcube_dim color;
	gfp_t gfp;
	unsigned int next;
};

static struct folio *new_folio(struct folio *src, unsigned long private)
{
	struct move *m = (struct move *)private;
	unsigned int color = mcube_reserve_color(m->next++);
	struct folio *folio;
	u32 hint;

	hint = mcube_hint_save(mcube_hint_make(color, -1) | MCUBE_HINT_FILE);
	folio = __folio_alloc_node(m->gfp, 0, folio_nid(src));
	mcube_hint_restore(hint);
	return folio;
}

static unsigned int color_of(const struct move *m, struct folio *folio)
{
	return mcube_dim_value(&m->color, folio_pfn(folio));
}

/* Has it the color of the page before, or of the one after? */
static bool lies_in_run(const struct move *m, struct folio_batch *batch,
			unsigned int i)
{
	unsigned int color = color_of(m, batch->folios[i]);

	if (folio_batch_count(batch) == 1)
		return true;
	return (i && color_of(m, batch->folios[i - 1]) == color) ||
		(i + 1 < folio_batch_count(batch) &&
		 color_of(m, batch->folios[i + 1]) == color);
}

static void isolate_batch(const struct move *m, struct folio_batch *batch,
		    struct list_head *list)
{
	unsigned int i;

	for (i = 0; i < folio_batch_count(batch); i++)
		if (!folio_test_large(batch->folios[i]) &&
		    lies_in_run(m, batch, i))
			isolate_folio_to_list(batch->folios[i], list);
}

/**
 * mcube_recolor() - move a file's cached pages, one color after the other
 * @mapping: the file's.
 * @pages: how many pages from its start on.
 *
 * Context: process, sleeps, no folio of the file locked or referenced.
 * Return: number of pages moved.
 */
unsigned int mcube_recolor(struct address_space *mapping, unsigned long pages)
{
	struct mcube_map_info info;
	unsigned int moved = 0, nr;
	struct folio_batch batch;
	struct move m = { };
	pgoff_t next = 0;
	LIST_HEAD(list);

	mcube_map_info(&info);
	m.color = info.map.color;
	m.gfp = (mapping_gfp_mask(mapping) | __GFP_THISNODE | __GFP_NORETRY |
		 __GFP_NOWARN | __GFP_NOMEMALLOC) & ~__GFP_RECLAIM;
	/* Pages just read in are on this CPU's way to the LRU lists. */
	lru_add_drain();
	folio_batch_init(&batch);
	while (filemap_get_folios(mapping, &next, pages - 1, &batch)) {
		isolate_batch(&m, &batch, &list);
		folio_batch_release(&batch);
		if (!list_empty(&list)) {
			nr = 0;
			migrate_pages(&list, new_folio, NULL, (unsigned long)&m,
				      MIGRATE_ASYNC, MR_MEMPOLICY_MBIND, &nr);
			moved += nr;
			putback_movable_pages(&list);
		}
		cond_resched();
	}
	return moved;
}
