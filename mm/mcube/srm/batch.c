// SPDX-License-Identifier: GPL-2.0
/*
 * SRM-buffer: pages of a file that are needed in a row are allocated together
 *
 * Copyright (C) 2026 The mcube authors
 *
 * To allocate a page of a certain color costs more than to allocate any page.
 * Readahead and buffered writes know how many pages of the file will follow.
 * So the first request allocates a batch of pages, up to where the color group
 * changes, and the requests after it take their pages from the batch:
 *
 *   mcube_srm_batch_begin()      mapping, last index
 *   mapping_alloc_folio() ...... 1st: 16 pages from the page allocator, 15 kept
 *   mapping_alloc_folio() ...... 2nd to 16th: a page that was kept
 *   mcube_srm_batch_end()        pages that were not needed are freed
 *
 * A page that is kept is on no LRU list and charged to no cgroup, so nothing but
 * its task can free it.  A task that is preempted, or that waits for a lock, for a
 * device or in balance_dirty_pages(), keeps its batch, and there may be thousands
 * of such tasks.  So all batches together have a limit, beyond which pages are
 * allocated one by one.  One user's tasks can use up the limit, which costs the
 * others time and no memory.
 *
 * A write() may also wait for the fault on its source, as long as another process
 * likes.  So it frees what it keeps before it waits in these places, and allocates
 * again afterwards.  Elsewhere, as where a FUSE server reads a page that readahead
 * has left out, the limit has to do:
 *
 *   handle_userfault() -> mcube_srm_batch_release()
 *   filemap_fault() -> page_cache_ra_order()         a file, perhaps of a FUSE server
 *
 * Switching the policy off does not wait for tasks that sleep within a scope.  What
 * such a task keeps, it frees at the end of its scope.
 *
 * The same holds for larger folios, which come from containers
 * (../alloc/large.c).  A batch has folios of one order.  Readahead and writes ask
 * for smaller folios where the row begins or ends within a folio; these folios
 * are allocated one by one.
 */

#include <linux/cpumask.h>
#include <linux/cpuset.h>
#include <linux/fs.h>
#include <linux/gfp.h>
#include <linux/init.h>
#include <linux/list.h>
#include <linux/mcube_hint.h>
#include <linux/mcube_srm.h>
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/percpu_counter.h>
#include <linux/sched.h>
#include <linux/topology.h>
#include <linux/writeback.h>

#include "../alloc/policy.h"
#include "internal.h"
#include "reuse.h"

/*
 * Pages in the batches of all tasks.  A CPU adds its share to the sum when the
 * share exceeds AHEAD_PER_CPU, hence seldom, as tasks empty what they fill.
 */
#define AHEAD_PER_CPU	(8 * (int)MCUBE_SRM_BATCH_LARGE)

struct percpu_counter mcube_srm_ahead;

/**
 * mcube_srm_ahead_max() - limit for the pages in all batches
 *
 * Return: the limit, which the sum may exceed by AHEAD_PER_CPU for each CPU.
 */
s64 mcube_srm_ahead_max(void)
{
	return num_online_cpus() * AHEAD_PER_CPU;
}

static void count_ahead(struct mcube_srm_batch *batch, unsigned int pages)
{
	percpu_counter_add_batch(&mcube_srm_ahead,
				 (int)pages - (int)batch->ahead, AHEAD_PER_CPU);
	batch->ahead = pages;
}

/* mcube_alloc_folios() ignores memory policies, cpuset spread and dirty limits. */
static bool has_policy(gfp_t gfp)
{
	return mcube_srm_has_mempolicy() || cpuset_do_page_mem_spread() ||
		(gfp & __GFP_WRITE && !node_dirty_ok(NODE_DATA(numa_mem_id())));
}

/* Allocate at most so many pages, but at least a folio; the number of pages. */
static unsigned int alloc_bulk(gfp_t gfp, unsigned int order,
			       unsigned long pages, struct list_head *folios)
{
	pages = clamp(pages, 1UL << order, order ? MCUBE_SRM_BATCH_LARGE :
						   MCUBE_SRM_BATCH);
	return mcube_alloc_folios(gfp, order, pages >> order, folios) << order;
}

/*
 * Allocate as the choice says; single pages have the colors of the group in turn.
 * Return: the number of pages; @served tells if they have their colors.
 */
static unsigned int alloc_row(struct mcube_srm_choice *c, gfp_t gfp, unsigned int order,
			      unsigned long pages, struct list_head *folios, bool *served)
{
	unsigned int run = order ? pages : c->left % c->run + 1, done = 0, got;
	u32 hint;

	if (!order)
		pages = min(pages, MCUBE_SRM_BATCH);
	do {
		hint = mcube_hint_save(c->hint);
		got = alloc_bulk(gfp, order, min(pages - done, (unsigned long)run), folios);
		hint = mcube_hint_restore(hint);
		*served = hint & MCUBE_HINT_SERVED;
		done += got;
	} while (!order && got && *served && done < pages &&
		 (run = mcube_srm_choose_next(c, done)));
	/* Pages that were allocated before are there, whatever happens to the next page. */
	*served = *served || (done && !got);
	return done;
}

/* A readahead window may reach beyond the end of the file, a write extends it. */
static pgoff_t last_index(const struct mcube_srm_batch *batch, gfp_t gfp)
{
	loff_t size = i_size_read(batch->mapping->host);

	if (gfp & __GFP_WRITE || !size)
		return batch->last;
	return min(batch->last, (pgoff_t)(size - 1) >> PAGE_SHIFT);
}

static void fill_batch(struct mcube_srm_batch *batch, gfp_t gfp,
		       unsigned int order, pgoff_t index)
{
	pgoff_t last = last_index(batch, gfp), end = index + (1UL << order) - 1;
	struct address_space *mapping = batch->mapping;
	struct mcube_srm_choice c;
	LIST_HEAD(folios);
	unsigned int got;
	bool served;

	/* The next folio is larger: this folio lies where the row begins. */
	if (order < READ_ONCE(mcube_srm_groups.order) && index & 1UL << order)
		return;
	if (percpu_counter_read(&mcube_srm_ahead) > mcube_srm_ahead_max()) {
		count_ahead(batch, 0);
		return;
	}
	/* A single page is not worth a batch, one larger folio is. */
	if ((order ? end > last : end >= last) || has_policy(gfp) ||
	    !mcube_srm_covers(mapping->host, gfp, order) ||
	    !mcube_srm_choose(&c, mapping, index, order))
		return;
	got = alloc_row(&c, gfp, order, min(last - index + 1, (unsigned long)c.left),
			&folios, &served);
	list_splice(&folios, &batch->folios);
	count_ahead(batch, got);
	batch->order = order;
	batch->stat = c.stat;
	batch->segment = c.segment;
	batch->epoch = c.epoch;
	batch->group = c.group;
	/*
	 * If no page was allocated, the segment stays: a single page may
	 * continue it.
	 */
	mcube_srm_chosen(&c, got, served || !got);
}

/*
 * The next folio of a batch; an empty batch is filled first if that is possible.
 */
static struct folio *take_batched(struct mcube_srm_batch *batch, gfp_t gfp,
				  unsigned int order, pgoff_t index)
{
	struct folio *folio;

	if (list_empty(&batch->folios))
		fill_batch(batch, gfp, order, index);
	folio = list_first_entry_or_null(&batch->folios, struct folio, lru);
	if (!folio || batch->order != order)
		return NULL;
	list_del(&folio->lru);
	return folio;
}

/**
 * mcube_srm_alloc_folio() - a folio for the page cache
 * @mapping: page cache of the file.
 * @file: the descriptor that the folio is read in for; NULL if it is not known.
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
struct folio *mcube_srm_alloc_folio(struct address_space *mapping,
				    const struct file *file, gfp_t gfp,
				    unsigned int order, pgoff_t index)
{
	struct mcube_srm_batch *batch = current->mcube_srm_batch;
	struct folio *folio = NULL;
	bool spread = mcube_srm_spreads(mapping, file);

	if (batch && batch->mapping == mapping && !spread)
		folio = take_batched(batch, gfp, order, index);
	return folio ?: mcube_srm_place(mapping, gfp, order, index, spread);
}

/* Free the pages that were allocated ahead. */
static void free_batch(struct mcube_srm_batch *batch)
{
	struct folio *folio, *next;
	unsigned int unused = 0;

	list_for_each_entry_safe(folio, next, &batch->folios, lru) {
		unused += folio_nr_pages(folio);
		list_del(&folio->lru);
		folio_put(folio);
	}
	if (unused) {
		mcube_srm_count(batch->stat, -(long)unused);
		if (batch->segment)
			mcube_srm_unused(batch->segment, batch->epoch,
					 batch->group, unused);
	}
	if (batch->ahead)
		count_ahead(batch, 0);
}

static void begin(struct mcube_srm_batch *batch, struct address_space *mapping,
		  pgoff_t last, unsigned int advice)
{
	struct mcube_srm_batch *outer = current->mcube_srm_batch;

	batch->mapping = mapping;
	batch->last = last;
	batch->advice = advice;
	INIT_LIST_HEAD(&batch->folios);
	batch->ahead = 0;
	batch->outer = outer;
	/*
	 * The outer batch may wait long for the inner batch and keeps no pages
	 * meanwhile.
	 */
	if (outer)
		free_batch(outer);
	current->mcube_srm_batch = batch;
}

/* See mcube_srm_batch_begin().  Readahead follows the advice it is called with. */
void __mcube_srm_batch_begin(struct mcube_srm_batch *batch,
			     struct address_space *mapping, pgoff_t last)
{
	struct mcube_srm_batch *outer = current->mcube_srm_batch;

	begin(batch, mapping, last, outer && outer->mapping == mapping ?
				    outer->advice : MCUBE_ADVICE_NONE);
}

/**
 * mcube_srm_advised_begin() - pages of a file come in under advice
 * @batch: storage for the scope.
 * @mapping: page cache of the file.
 * @advice: enum mcube_advice, for all pages up to mcube_srm_batch_end().
 *
 * Context: process.
 */
void mcube_srm_advised_begin(struct mcube_srm_batch *batch,
			     struct address_space *mapping, unsigned int advice)
{
	begin(batch, mapping, 0, advice);
}

/* See mcube_srm_batch_end().  The file may have had some of the pages already. */
void __mcube_srm_batch_end(struct mcube_srm_batch *batch)
{
	current->mcube_srm_batch = batch->outer;
	free_batch(batch);
}

/* See mcube_srm_batch_release().  Outer batches are empty. */
void __mcube_srm_batch_release(struct mcube_srm_batch *batch)
{
	free_batch(batch);
}

static int __init mcube_srm_batch_init(void)
{
	return percpu_counter_init(&mcube_srm_ahead, 0, GFP_KERNEL);
}
subsys_initcall(mcube_srm_batch_init);
