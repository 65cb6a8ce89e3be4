// SPDX-License-Identifier: GPL-2.0
/*
 * SRM-buffer: pages that will follow each other are allocated together
 *
 * Copyright (C) 2026 The mcube authors
 *
 * A page of a certain color costs more than any page.  Readahead and buffered
 * writes know how many pages of the file will follow, so some of them are taken
 * along, up to where the color changes:
 *
 *   mcube_srm_batch_begin()      mapping, last index
 *   mapping_alloc_folio() ...... 1st: 16 pages from the page allocator, 15 kept
 *   mapping_alloc_folio() ...... 2nd to 16th: one of those kept
 *   mcube_srm_batch_end()        pages that were not needed are freed
 */

#include <linux/cpuset.h>
#include <linux/fs.h>
#include <linux/gfp.h>
#include <linux/list.h>
#include <linux/mcube_hint.h>
#include <linux/mcube_srm.h>
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/sched.h>
#include <linux/topology.h>
#include <linux/writeback.h>

#include "internal.h"
#include "reuse.h"

/* alloc_pages_bulk() knows nothing of these. */
static bool has_policy(gfp_t gfp)
{
	return mcube_srm_has_mempolicy() || cpuset_do_page_mem_spread() ||
		(gfp & __GFP_WRITE && !node_dirty_ok(NODE_DATA(numa_mem_id())));
}

static void fill_batch(struct mcube_srm_batch *batch, gfp_t gfp, pgoff_t index)
{
	struct mcube_srm_choice c;
	unsigned int got;
	u32 hint;

	if (!mcube_srm_choose(&c, batch->mapping, index))
		return;
	hint = mcube_hint_save(c.hint);
	got = alloc_pages_bulk_noprof(gfp, numa_mem_id(), NULL,
				      min3(batch->last - index + 1,
					   (unsigned long)c.left, MCUBE_SRM_BATCH),
				      &batch->folios, NULL);
	hint = mcube_hint_restore(hint);
	batch->stat = c.stat;
	/* If there was nothing, the one that is asked for now has the run. */
	mcube_srm_chosen(&c, got, hint & MCUBE_HINT_SERVED || !got);
}

/* The next of a batch, which is filled first if it is empty and can be. */
static struct folio *take_batched(struct mcube_srm_batch *batch, gfp_t gfp,
				  pgoff_t index)
{
	struct address_space *mapping = batch->mapping;
	struct folio *folio;

	if (list_empty(&batch->folios) && index < batch->last &&
	    mcube_srm_covers(mapping->host, gfp, 0) && !has_policy(gfp) &&
	    !mcube_reuse_spreads(READ_ONCE(mapping->mcube_reuse)))
		fill_batch(batch, gfp, index);
	folio = list_first_entry_or_null(&batch->folios, struct folio, lru);
	if (folio)
		list_del(&folio->lru);
	return folio;
}

/**
 * mcube_srm_alloc_folio() - a folio for the page cache
 * @mapping: the file's.
 * @gfp: as for filemap_alloc_folio().
 * @order: likewise.
 * @index: page index that it is for.
 *
 * Where the caller said by mcube_srm_batch_begin() that more will follow, some of those
 * are taken along: that costs less than one by one, and makes up for what a
 * certain color costs.
 *
 * Context: process, as @gfp says.
 * Return: the folio, or NULL.
 */
struct folio *mcube_srm_alloc_folio(struct address_space *mapping, gfp_t gfp,
				    unsigned int order, pgoff_t index)
{
	struct mcube_srm_batch *batch = current->mcube_srm_batch;
	struct folio *folio = NULL;

	if (batch && batch->mapping == mapping && !order)
		folio = take_batched(batch, gfp, index);
	return folio ?: mcube_srm_place(mapping, gfp, order, index);
}
EXPORT_SYMBOL_GPL(mcube_srm_alloc_folio);

/* What was not needed, as it was there already, is free again. */
static void give_back(struct mcube_srm_batch *batch)
{
	struct folio *folio, *next;

	list_for_each_entry_safe(folio, next, &batch->folios, lru) {
		mcube_srm_count(batch->stat, -1);
		list_del(&folio->lru);
		folio_put(folio);
	}
}

/* See mcube_srm_batch_begin(). */
void __mcube_srm_batch_begin(struct mcube_srm_batch *batch,
			 struct address_space *mapping, pgoff_t last)
{
	batch->mapping = mapping;
	batch->last = last;
	INIT_LIST_HEAD(&batch->folios);
	batch->outer = current->mcube_srm_batch;
	/* It may wait long for this one: nothing shall wait with it. */
	if (batch->outer)
		give_back(batch->outer);
	current->mcube_srm_batch = batch;
}

void __mcube_srm_batch_end(struct mcube_srm_batch *batch)
{
	current->mcube_srm_batch = batch->outer;
	give_back(batch);
}
