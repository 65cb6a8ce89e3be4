// SPDX-License-Identifier: GPL-2.0
/*
 * Recoloring: migrate pages of the page cache to other colors
 *
 * Copyright (C) 2026 The mcube authors
 *
 *   color of consecutive pages of a file             0 0 0 0 0 0
 *   hints by mcube_reserve_color() (0 is reserved)   1 2 3 4 5 6
 *   color after migrate_pages()                      1 2 3 4 5 6
 *
 * Each new page is allocated under a hint.  A page that cannot be migrated at
 * once stays where it is: a page that is locked, under writeback, not on an LRU
 * list or part of a larger folio, and every page once its node has no free
 * page.  A page whose neighbours have other colors is well placed already:
 * another task has recolored it.
 *
 * Policies call this file, see recolor.h.  No other file here uses it.
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

/* Does the page have the color of the page before it or after it? */
static bool lies_in_segment(const struct move *m, struct folio_batch *batch,
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
		    lies_in_segment(m, batch, i))
			isolate_folio_to_list(batch->folios[i], list);
}

/**
 * mcube_recolor() - spread the cached pages of a file over the colors
 * @mapping: page cache of the file.
 * @pages: number of pages from the start of the file.
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
	/* Pages read just now wait in a per-CPU batch for the LRU lists. */
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
