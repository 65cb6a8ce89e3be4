// SPDX-License-Identifier: GPL-2.0
/*
 * Moving pages of the page cache to other colors
 *
 * Copyright (C) 2026 The mcube authors
 *
 * Page migration, with a hint to the store for each new page.  What cannot be
 * had at once stays where it is: pages that are locked, under writeback, not
 * on an LRU list or part of a larger folio.
 */

#include <linux/list.h>
#include <linux/mcube.h>
#include <linux/mcube_types.h>
#include <linux/migrate.h>
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/pagevec.h>
#include <linux/sched.h>
#include <linux/swap.h>

#include "../internal.h"
#include "remap.h"
#include "srm.h"

static struct folio *new_folio(struct folio *src, unsigned long private)
{
	const gfp_t gfp = GFP_HIGHUSER_MOVABLE | __GFP_NORETRY | __GFP_NOWARN;
	unsigned int color, *next = (unsigned int *)private;
	u32 hint = current->mcube_hint;
	struct folio *folio;

	color = mcube_region_hop(&mcube_srm_regions, (*next)++);
	current->mcube_hint = mcube_hint_make(color, -1);
	folio = __folio_alloc_node(gfp, 0, folio_nid(src));
	current->mcube_hint = hint;
	return folio;
}

static void isolate(struct folio_batch *batch, struct list_head *list)
{
	unsigned int i;

	for (i = 0; i < folio_batch_count(batch); i++)
		if (!folio_test_large(batch->folios[i]))
			isolate_folio_to_list(batch->folios[i], list);
}

/**
 * mcube_remap() - move a file's cached pages, one color after the other
 * @mapping: the file's.
 * @pages: how many pages from its start on.
 *
 * Context: process, sleeps, no folio of the file locked or referenced.
 * Return: number of pages moved.
 */
unsigned int mcube_remap(struct address_space *mapping, unsigned long pages)
{
	unsigned int moved = 0, color = 0, nr;
	struct folio_batch batch;
	pgoff_t next = 0;
	LIST_HEAD(list);

	/* Pages just read in are on this CPU's way to the LRU lists. */
	lru_add_drain();
	folio_batch_init(&batch);
	while (filemap_get_folios(mapping, &next, pages - 1, &batch)) {
		isolate(&batch, &list);
		folio_batch_release(&batch);
		if (!list_empty(&list)) {
			nr = 0;
			migrate_pages(&list, new_folio, NULL, (unsigned long)&color,
				      MIGRATE_ASYNC, MR_MEMPOLICY_MBIND, &nr);
			moved += nr;
			putback_movable_pages(&list);
		}
		cond_resched();
	}
	return moved;
}
