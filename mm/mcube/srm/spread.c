// SPDX-License-Identifier: GPL-2.0
/*
 * SRM-buffer: moving the pages of a file to all colors
 *
 * Copyright (C) 2026 The mcube authors
 *
 * A file that turns out to be read again and again (reuse.c) lies in segments of
 * one color each.  A work item moves its cached pages to one color after the
 * other.  The reader does not wait for it: one page read for the third time must
 * not cost the reader a migration of 16384 pages.
 *
 *   reader                     work item
 *   mcube_srm_spread()  --->   queue: a request for each user, at most 16
 *                              some pages of the first request; then it is the
 *                              turn of the next request
 *                              mcube_recolor_grant() says 0: go on in a second
 *
 * A user has one request at a time, and requests take turns.  So no user delays
 * the files of another user by more than the share of a queue.  (A user with subordinate
 * ids counts as several.)  A file that finds no room is requested anew when it has been
 * read some more times.
 *
 * A request holds no inode, as an inode in use would make umount fail.  It holds
 * one cached page of the file.  While that page is locked and still belongs to
 * a file, the file cannot go away.  When the page has been truncated, or the file
 * system unmounted, the request is over.  This page cannot be moved while the
 * request holds it, so it is moved last.  Where another task has locked the page, other
 * requests go on; the work item sleeps only if all requests wait for such a page.
 *
 * Mapped pages stay: to move them costs all processes that have mapped them.  A
 * page whose neighbours have other colors is well placed already.
 */

#include <linux/cred.h>
#include <linux/jiffies.h>
#include <linux/jump_label.h>
#include <linux/list.h>
#include <linux/mcube_map.h>
#include <linux/mcube_srm.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/pagevec.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/swap.h>
#include <linux/uidgid.h>
#include <linux/workqueue.h>

#include "../alloc/recolor.h"
#include "../map/map.h"
#include "internal.h"
#include "spread.h"

#define REQUESTS_MAX	16U

/* A page may stay locked as long as a FUSE server likes. */
#define TRIES_MAX	8U
#define TRY_DELAY	(HZ / 10)

/*
 * Users decide by what they read which pages move: so many pages in a second, in
 * all files together.
 */
#define PAGES_PER_SECOND	4096U

static DEFINE_MCUBE_RECOLOR_BUDGET(budget);

static unsigned int grant(unsigned int want)
{
	return mcube_recolor_grant(&budget, PAGES_PER_SECOND, want);
}

/**
 * struct request - a file whose pages shall be moved
 * @node: place in the queue.
 * @uid: user who reads the file.
 * @folio: a cached page of the file, referenced.
 * @next: page index to go on with.
 * @last: last page index of the file.
 * @gfp: where pages of the file may lie; 0 before the first turn.
 * @tries: times in a row, TRY_DELAY apart, at which @folio was locked.
 * @retry: when the next time counts, in jiffies.
 */
struct request {
	struct list_head node;
	kuid_t uid;
	struct folio *folio;
	pgoff_t next;
	pgoff_t last;
	gfp_t gfp;
	unsigned int tries;
	unsigned long retry;
};

static void spread_work_fn(struct work_struct *work);

static DECLARE_DELAYED_WORK(spread_work, spread_work_fn);

/* Number of the color that the next page gets, of whatever file; of the work item. */
static unsigned int next_color;

/* Readers add requests; the work item alone removes requests. */
static LIST_HEAD(queue);
static DEFINE_SPINLOCK(queue_lock);

/* The lowest color of a folio: the same for all folios of the same colors. */
static unsigned int color_of(const struct mcube_dim *dim, struct folio *folio)
{
	unsigned long pfn = folio_pfn(folio);
	unsigned int color = mcube_dim_value(dim, pfn), i;

	for (i = 1; i < folio_nr_pages(folio) && i < dim->nr_values; i++)
		color = min(color, mcube_dim_value(dim, pfn + i));
	return color;
}

/* Does the folio have the colors of the folio before it or after it? */
static bool lies_in_segment(const struct mcube_dim *dim,
			    struct folio_batch *batch, unsigned int i)
{
	unsigned int color = color_of(dim, batch->folios[i]);

	if (folio_batch_count(batch) == 1)
		return true;
	return (i && color_of(dim, batch->folios[i - 1]) == color) ||
		(i + 1 < folio_batch_count(batch) &&
		 color_of(dim, batch->folios[i + 1]) == color);
}

/*
 * The page of a request is locked.
 * Return: false if it was for so long that the request is given up.
 */
static bool may_wait(struct request *r)
{
	if (time_after_eq(jiffies, r->retry)) {
		r->retry = jiffies + TRY_DELAY;
		r->tries++;
	}
	return r->tries < TRIES_MAX;
}

/*
 * The next cached pages of a file, referenced.
 * Return: false if there are none, or if the file has gone; true without pages
 * if the next turn may find some.
 */
static bool get_pages(struct request *r, struct folio_batch *batch)
{
	struct address_space *mapping;

	if (!folio_trylock(r->folio))
		return may_wait(r);
	r->tries = 0;
	mapping = r->folio->mapping;
	if (mapping) {
		r->gfp = mapping_gfp_mask(mapping);
		filemap_get_folios(mapping, &r->next, r->last, batch);
	}
	folio_unlock(r->folio);
	return folio_batch_count(batch);
}

/* A folio with as many pages as there are colors has all colors already. */
static bool may_move(const struct mcube_dim *dim, struct folio *folio)
{
	return !folio_mapped(folio) && folio_nr_pages(folio) < dim->nr_values;
}

/*
 * Move some pages of a file.  A page was granted for each folio of a batch.
 * Return: false if that was the end of it.
 */
static bool move_some(struct request *r, const struct mcube_dim *dim)
{
	struct folio_batch batch;
	unsigned int i, more;
	LIST_HEAD(list);

	folio_batch_init(&batch);
	if (!get_pages(r, &batch))
		return false;
	for (i = 0; i < folio_batch_count(&batch); i++) {
		/* The request's own reference would make the migration fail. */
		if (batch.folios[i] == r->folio ||
		    !may_move(dim, batch.folios[i]) ||
		    !lies_in_segment(dim, &batch, i))
			continue;
		more = folio_nr_pages(batch.folios[i]) - 1;
		if (more && grant(more) < more) {
			r->next = folio_pgoff(batch.folios[i]);
			break;
		}
		mcube_recolor_isolate(batch.folios[i], &list);
	}
	folio_batch_release(&batch);
	mcube_srm_count(MCUBE_SRM_RECOLORED,
			mcube_recolor(&list, r->gfp, MCUBE_RECOLOR_SPREAD,
				      &next_color));
	return r->next <= r->last;
}

/* End a request, which is in no queue; its page moves if @move says so. */
static void end_request(struct request *r, const struct mcube_dim *dim, bool move)
{
	unsigned int pages = folio_nr_pages(r->folio);
	LIST_HEAD(list);

	if (move && r->gfp && may_move(dim, r->folio) &&
	    grant(pages) == pages)
		mcube_recolor_isolate(r->folio, &list);
	folio_put(r->folio);
	mcube_srm_count(MCUBE_SRM_RECOLORED,
			mcube_recolor(&list, r->gfp, MCUBE_RECOLOR_SPREAD,
				      &next_color));
	kfree(r);
}

static struct request *first_request(void)
{
	struct request *r;

	scoped_guard(spinlock, &queue_lock)
		r = list_first_entry_or_null(&queue, struct request, node);
	return r;
}

/* It is the turn of the next request; a request that is done leaves.  Return: requests left. */
static unsigned int next_turn(struct request *r, bool more)
{
	unsigned int nr;

	scoped_guard(spinlock, &queue_lock) {
		if (more)
			list_move_tail(&r->node, &queue);
		else
			list_del(&r->node);
		nr = list_count_nodes(&queue);
	}
	return nr;
}

static void spread_work_fn(struct work_struct *work)
{
	unsigned int waiting = 0, nr;
	struct mcube_map_info info;
	bool on, more, locked;
	struct request *r;

	mcube_map_info(&info);
	while ((r = first_request())) {
		on = static_branch_likely(&mcube_srm_key);
		/* A request that waits takes nothing of the budget. */
		locked = folio_test_locked(r->folio);
		if (on && !locked && grant(PAGEVEC_SIZE) < PAGEVEC_SIZE) {
			queue_delayed_work(system_unbound_wq, &spread_work, HZ);
			return;
		}
		more = on && (locked ? may_wait(r) : move_some(r, &info.map.color));
		waiting = more && locked ? waiting + 1 : 0;
		nr = next_turn(r, more);
		if (!more)
			end_request(r, &info.map.color, on);
		if (waiting && waiting >= nr) {
			queue_delayed_work(system_unbound_wq, &spread_work, TRY_DELAY);
			return;
		}
		cond_resched();
	}
}

/* Has the user no request yet, and the queue room for one? */
static bool add_request(struct request *r)
{
	unsigned int nr = 0;
	struct request *other;
	bool room = true;

	scoped_guard(spinlock, &queue_lock) {
		list_for_each_entry(other, &queue, node)
			if (++nr == REQUESTS_MAX || uid_eq(other->uid, r->uid))
				room = false;
		if (room)
			list_add_tail(&r->node, &queue);
	}
	return room;
}

/* Any page of the file that is cached, with a reference; or NULL. */
static struct folio *cached_page(struct address_space *mapping, pgoff_t last)
{
	struct folio *folio = NULL;
	struct folio_batch batch;
	pgoff_t start = 0;

	folio_batch_init(&batch);
	if (filemap_get_folios(mapping, &start, last, &batch)) {
		folio = batch.folios[0];
		folio_get(folio);
	}
	folio_batch_release(&batch);
	return folio;
}

/**
 * mcube_srm_spread() - move the cached pages of a file to all colors
 * @mapping: page cache of the file.
 * @pages: number of pages from the start of the file, not 0.
 *
 * Context: process, sleeps; does not wait for the pages to be moved.
 * Return: false if there was no room for the request.
 */
bool mcube_srm_spread(struct address_space *mapping, pgoff_t pages)
{
	struct folio *folio = cached_page(mapping, pages - 1);
	struct request *r;

	if (!folio)
		return true;
	r = kzalloc(sizeof(*r), GFP_KERNEL);
	if (r) {
		/* Stacked file systems and servers read with other credentials. */
		r->uid = task_uid(current);
		r->retry = jiffies;
		r->folio = folio;
		r->last = pages - 1;
		/* Pages read just now wait in this CPU's batch for the LRU lists. */
		lru_add_drain();
	}
	if (!r || !add_request(r)) {
		kfree(r);
		folio_put(folio);
		return false;
	}
	queue_delayed_work(system_unbound_wq, &spread_work, 0);
	return true;
}

/**
 * mcube_srm_spread_stop() - drop all requests
 *
 * Context: process, sleeps; the static key is off.
 */
void mcube_srm_spread_stop(void)
{
	/* With the key off, the work item removes the requests. */
	mod_delayed_work(system_unbound_wq, &spread_work, 0);
	flush_delayed_work(&spread_work);
}
