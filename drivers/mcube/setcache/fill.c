// SPDX-License-Identifier: GPL-2.0
/*
 * Fills: pages that come from the device into sets
 *
 * Copyright (C) 2026 The mcube authors
 *
 * A fill reserves a way for each page of the read, as far as it can, and reads all of
 * them under one plug.  The folios are in no page cache: they have the mapping and the
 * index of their file just while ->read_folio() works on them, which brings holes,
 * bytes after the end of the file and blocks of all sizes along.  For adjacent pages see
 * direct.c, and for block devices block.c.
 *
 * From the reservation until the pages are read the fill holds the invalidate lock of
 * the file, so that truncation frees no block meanwhile.  Others move or free blocks without
 * that lock: ext4 when it defragments (EXT4_IOC_MOVE_EXT), xfs when a write to shared blocks
 * has ended.  They rely on a page in the page cache, or are direct writes, so they have killed
 * the page before: the fill is doomed, or the file has another cookie.  Then the block may
 * have been another file's when the device read it, and nobody sees what was read.
 *
 * The task waits for the device (miss.c), or a work item goes on when the device is done
 * (async.c), or the task is to die, and a work item waits for the device (orphan.c): the pool
 * cannot give a page to another user while the device writes into the page.
 *
 * A fill that holds reservations never waits for another fill; so fills do not wait in
 * a circle.
 */

#include <linux/fs.h>
#include <linux/hash.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/wait.h>

#include <trace/events/mcube_setcache.h>

#include "fill.h"

/* Tasks that wait for a fill by another task, by the hash of the page. */
#define QUEUE_BITS	6
static wait_queue_head_t queues[1 << QUEUE_BITS];

/**
 * setcache_fill_queue() - where to wait for a fill by another task
 * @hash: of the page.
 *
 * Return: the wait queue; it is woken when such a page has been filled, or cannot be.
 */
wait_queue_head_t *setcache_fill_queue(u64 hash)
{
	return &queues[hash_64(hash, QUEUE_BITS)];
}

/**
 * setcache_is_cached() - is a page in the page cache?
 * @mapping: the file.
 * @index: the page.
 *
 * Return: true if so.
 */
bool setcache_is_cached(struct address_space *mapping, pgoff_t index)
{
	void *entry;

	/* Counted before the barrier of an inserter, as the page is stored. */
	if (!READ_ONCE(mapping->nrpages))
		return false;
	entry = xa_load(&mapping->i_pages, index);
	return entry && !xa_is_value(entry);
}

/*
 * The way is not FILLING any more; tasks that wait for the page may look again.  Returns
 * true if the page is VALID now.
 */
static bool end_reservation(const struct setcache_fill *fill, struct setcache_part *part,
			    bool publish)
{
	spin_lock(&setcache_slot(part->set)->lock);
	if (publish)
		publish = setcache_set_publish(part->set, part->way);
	else
		setcache_set_abort(part->set, part->way);
	if (publish && fill->later)
		setcache_set_await(part->set, part->way);
	spin_unlock(&setcache_slot(part->set)->lock);
	if (wq_has_sleeper(setcache_fill_queue(part->hash)))
		wake_up_all(setcache_fill_queue(part->hash));
	return publish;
}

/*
 * May the page of a way be filled?  A broken page is replaced by another page.  No other task
 * looks at the page of a way that is FILLING.
 */
static bool is_sound(struct setcache_part *part)
{
	struct folio *old = setcache_folio(part), *new;

	if (likely(!folio_test_hwpoison(old)))
		return true;
	new = __folio_alloc_node(GFP_NOFS | __GFP_NORETRY | __GFP_NOWARN, 0, folio_nid(old));
	if (!new)
		return false;
	folio_put(setcache_exchange(part->set, part->way, new));
	return true;
}

/* Find the page, or a way for it; never a page that is broken. */
static enum setcache_reserved find_or_reserve(struct setcache_part *part,
					      struct setcache_key *key, bool later)
{
	enum setcache_reserved what;
	struct setcache_set *set;
	unsigned int way = 0;
	bool broken;

	do {
		set = setcache_lock(key);
		setcache_set_bury(set, &setcache_dead);
		what = setcache_set_reserve(set, key, READ_ONCE(setcache_config.policy), &way);
		broken = what == SETCACHE_HIT && folio_test_hwpoison(set->entry[way].page);
		if (broken) {
			setcache_set_expel(set, way);
			setcache_set_put(set, way);
		} else if (what == SETCACHE_HIT && later) {
			/* The reader comes back, and references the page once. */
			setcache_set_await(set, way);
		}
		setcache_unlock(set);
	} while (broken);
	part->set = set;
	part->way = way;
	return what;
}

/* Pin the page, or reserve a way for it. */
static enum setcache_obstacle reserve(struct setcache_fill *fill, struct setcache_key *key)
{
	struct setcache_part *part = &fill->part[fill->nr];
	enum setcache_reserved what = find_or_reserve(part, key, fill->later);

	if (what == SETCACHE_BUSY)
		return SETCACHE_IS_BUSY;
	if (what == SETCACHE_FULL)
		return SETCACHE_IS_FULL;
	part->hash = key->hash;
	part->reserved = what == SETCACHE_RESERVED;
	part->direct = 0;
	part->failed = false;
	part->doomed = false;
	if (part->reserved && !is_sound(part)) {
		end_reservation(fill, part, false);
		setcache_set_put(part->set, part->way);
		return SETCACHE_IS_FULL;
	}
	if (part->reserved) {
		/* Pairs with the barrier of the hooks: the way comes before the look. */
		smp_mb();
		if (setcache_is_cached(fill->mapping, key->index) ||
		    READ_ONCE(fill->mapping->mcube_setcache) == MCUBE_SETCACHE_NEVER) {
			end_reservation(fill, part, false);
			setcache_set_put(part->set, part->way);
			return SETCACHE_IS_CACHED;
		}
	}
	fill->nr++;
	fill->reserved += part->reserved;
	return SETCACHE_NO_OBSTACLE;
}

/**
 * setcache_fill_submit() - begin to read a page of a file
 * @fill: the fill.
 * @i: the page, which is reserved.
 * @waiter: added to the wait queue of the folio before the read begins, if not NULL.
 *
 * The folio is unlocked when it has been read.
 */
void setcache_fill_submit(struct setcache_fill *fill, unsigned int i,
			  wait_queue_entry_t *waiter)
{
	struct address_space *mapping = fill->mapping;
	struct setcache_part *part = &fill->part[i];
	struct folio *folio = setcache_folio(part);

	__folio_set_locked(folio);
	folio_clear_uptodate(folio);
	folio_clear_mappedtodisk(folio);
	folio->mapping = mapping;
	folio->index = fill->first + i;
	if (waiter)
		folio_add_wait_queue(folio, waiter);
	if (mapping->a_ops->read_folio(fill->file, folio))
		part->failed = true;
}

/* Wait until a page has been read, and take the folio from its file. */
static void finish(struct setcache_part *part)
{
	struct folio *folio = setcache_folio(part);

	folio_wait_locked(folio);
	if (!folio_test_uptodate(folio))
		part->failed = true;
	if (folio_test_private(folio)) {
		folio_lock(folio);
		if (WARN_ON_ONCE(!filemap_release_folio(folio, GFP_NOFS)))
			part->failed = true;
		folio_unlock(folio);
	}
	folio->mapping = NULL;
}

/**
 * setcache_fill_await() - wait until pages of a file have been read, or the task is to die
 * @fill: the fill.
 *
 * Return: false if the task is to die, and a page may still be being read.
 */
bool setcache_fill_await(const struct setcache_fill *fill)
{
	unsigned int i, last;

	for (i = 0; i < fill->nr; i = last + 1) {
		last = setcache_last_with(fill, i);
		if (fill->part[i].reserved &&
		    folio_wait_locked_killable(setcache_folio(&fill->part[last])))
			return false;
	}
	return true;
}

/**
 * setcache_fill_finish() - wait until pages of a file have been read
 * @fill: the fill; those that could not be read are marked.
 */
void setcache_fill_finish(struct setcache_fill *fill)
{
	unsigned int i, last;

	for (i = 0; i < fill->nr; i = last + 1) {
		last = setcache_last_with(fill, i);
		if (!fill->part[i].reserved)
			continue;
		finish(&fill->part[last]);
		for (; i < last && fill->part[last].failed; i++)
			finish(&fill->part[i]);
	}
}

/**
 * setcache_fill_publish() - others may find the pages
 * @fill: the fill, with one page at least; the reserved pages have been read.
 */
void setcache_fill_publish(struct setcache_fill *fill)
{
	struct setcache_part *part;
	unsigned int published = 0;
	bool killed;

	/* The pages have been read before.  A kill of many pages takes the cookie, and no way. */
	killed = mcube_setcache_cookie_of(READ_ONCE(fill->mapping->mcube_setcache)) !=
		 fill->cookie;
	for (part = fill->part; part < fill->part + fill->nr; part++) {
		if (!part->reserved)
			continue;
		/* A worker reads later, and counts. */
		if (part->failed && !fill->later)
			setcache_count(SETCACHE_STAT_ERRORS, 1);
		if (end_reservation(fill, part, !part->failed && !killed &&
				    !folio_test_hwpoison(setcache_folio(part)))) {
			published++;
		} else if (!part->failed) {
			part->doomed = true;
			setcache_count(SETCACHE_STAT_DOOMED, 1);
		}
	}
	trace_mcube_setcache_fill(fill->mapping->host, fill->first, fill->nr,
				  fill->reserved);
	setcache_count(SETCACHE_STAT_FILLS, published);
	if (fill->later)
		setcache_count(SETCACHE_STAT_ASYNC, published);
	else if (fill->nr > fill->reserved)
		setcache_count(SETCACHE_STAT_HITS, fill->nr - fill->reserved);
}

/**
 * setcache_fill_put() - drop the pins of a fill
 * @fill: the fill, published or without reservations.
 */
void setcache_fill_put(const struct setcache_fill *fill)
{
	const struct setcache_part *part;

	for (part = fill->part; part < fill->part + fill->nr; part++)
		setcache_set_put(part->set, part->way);
}

/**
 * setcache_fill_reserve() - pin pages, and reserve ways for those that are in no set
 * @fill: the fill; its file and first page are set.
 * @key: the first page.
 * @last: index of the last page.
 *
 * Context: the caller holds the invalidate lock of the file.
 * Return: what the fill met after its pages, or instead of them.
 */
enum setcache_obstacle setcache_fill_reserve(struct setcache_fill *fill,
					     struct setcache_key *key, pgoff_t last)
{
	enum setcache_obstacle obstacle;

	fill->nr = 0;
	fill->reserved = 0;
	mcube_setcache_fills(fill->mapping, fill->cookie,
			     min(last, fill->first + SETCACHE_BATCH - 1));
	obstacle = reserve(fill, key);
	while (!obstacle && fill->nr < SETCACHE_BATCH && fill->first + fill->nr <= last) {
		struct setcache_key next = setcache_name(fill->cookie,
							 fill->first + fill->nr);

		next.user = key->user;
		next.share = key->share;
		obstacle = reserve(fill, &next);
	}
	return obstacle;
}

/**
 * setcache_fill_init() - prepare to wait for fills
 */
void setcache_fill_init(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(queues); i++)
		init_waitqueue_head(&queues[i]);
}
