// SPDX-License-Identifier: GPL-2.0
/*
 * SRM-buffer: pages of a file that are needed in a row are allocated together
 *
 * Copyright (C) 2026 The mcube authors
 *
 * To allocate a page of a certain color costs more than to allocate any page.
 * Readahead and buffered writes know how many pages of the file will follow.
 * So the first request allocates a batch of pages, up to where the color
 * changes, and the requests after it take their pages from the batch:
 *
 *   mcube_srm_batch_begin()      mapping, last index
 *   mapping_alloc_folio() ...... 1st: 16 pages from the page allocator, 15 kept
 *   mapping_alloc_folio() ...... 2nd to 16th: a page that was kept
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

/* alloc_pages_bulk() ignores memory policies, cpuset spread and dirty limits. */
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
	/*
	 * If no page was allocated, the segment stays: a single page may
	 * continue it.
	 */
	mcube_srm_chosen(&c, got, hint & MCUBE_HINT_SERVED || !got);
}

/*
 * The next page of a batch; an empty batch is filled first if that is possible.
 */
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
 * @mapping: page cache of the file.
 * @gfp: flags, as for filemap_alloc_folio().
 * @order: order of the folio, as for filemap_alloc_folio().
 * @index: page index that the folio is for.
 *
 * If the caller said by mcube_srm_batch_begin() that more pages will follow,
 * some of them are allocated as well.  A batch costs less than pages that are
 * allocated one by one, which makes up for the cost of asking for a certain
 * color.
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

/* Free the pages that were not needed, as the file had some pages already. */
static void free_batch(struct mcube_srm_batch *batch)
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
	/*
	 * The outer batch may wait long for the inner batch and keeps no pages
	 * meanwhile.
	 */
	if (batch->outer)
		free_batch(batch->outer);
	current->mcube_srm_batch = batch;
}

void __mcube_srm_batch_end(struct mcube_srm_batch *batch)
{
	current->mcube_srm_batch = batch->outer;
	free_batch(batch);
}
