// SPDX-License-Identifier: GPL-2.0
/*
 * Fills: pages that come from the device into sets
 *
 * Copyright (C) 2026 The mcube authors
 *
 * A fill reserves a way for each page of the read, as far as it can, and reads all of
 * them under one plug.  The folios are in no page cache: they have the mapping and the
 * index of their file just while ->read_folio() works on them, which brings holes,
 * bytes after the end of the file and blocks of all sizes along.  For block devices
 * see block.c.
 *
 * From the reservation until the pages are read the fill holds the invalidate lock of
 * the file, so that no block is freed meanwhile.  It waits for the device in any case:
 * a page that is being read cannot be given to somebody else.
 *
 * A fill that holds reservations never waits for another fill; so fills do not wait in
 * a circle.
 */

#include <linux/blkdev.h>
#include <linux/fs.h>
#include <linux/hash.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/sched/signal.h>
#include <linux/uaccess.h>
#include <linux/uio.h>
#include <linux/wait.h>

#include <trace/events/mcube_setcache.h>

#include "../../../mm/mcube/setcache/engine.h"
#include "copy.h"
#include "fill.h"

/* Tasks that wait for a fill by another task, by the hash of the page. */
#define QUEUE_BITS	6
static wait_queue_head_t queues[1 << QUEUE_BITS];

/* Why a fill has no pages. */
enum obstacle {
	NO_OBSTACLE,
	CACHED,
	BUSY,
	FULL,
};

static wait_queue_head_t *queue_of(u64 hash)
{
	return &queues[hash_64(hash, QUEUE_BITS)];
}

static bool is_cached(struct address_space *mapping, pgoff_t index)
{
	void *entry;

	/* Counted before the barrier of an inserter, as the page is stored. */
	if (!READ_ONCE(mapping->nrpages))
		return false;
	entry = xa_load(&mapping->i_pages, index);
	return entry && !xa_is_value(entry);
}

/* May pages of the file be in sets at all? */
static bool is_fit(const struct inode *inode)
{
	return !IS_DAX(inode) && !IS_SWAPFILE(inode) && !IS_ENCRYPTED(inode) &&
		!IS_VERITY(inode) && !mapping_min_folio_order(inode->i_mapping) &&
		(S_ISREG(inode->i_mode) || S_ISBLK(inode->i_mode));
}

/*
 * Pages of the file that may be in sets.  A block device may grow in its last page, and
 * says so to nobody.
 */
static pgoff_t pages_of(const struct inode *inode, loff_t size)
{
	return S_ISBLK(inode->i_mode) ? size >> PAGE_SHIFT : DIV_ROUND_UP(size, PAGE_SIZE);
}

/* The way is not FILLING any more; tasks that wait for the page may look again. */
static void end_reservation(struct setcache_part *part, bool publish)
{
	bool doomed = false;

	spin_lock(&setcache_slot(part->set)->lock);
	if (publish)
		doomed = !setcache_set_publish(part->set, part->way);
	else
		setcache_set_abort(part->set, part->way);
	spin_unlock(&setcache_slot(part->set)->lock);
	if (doomed)
		setcache_count(SETCACHE_STAT_DOOMED, 1);
	if (wq_has_sleeper(queue_of(part->hash)))
		wake_up_all(queue_of(part->hash));
}

/* Pin the page, or reserve a way for it. */
static enum obstacle reserve(struct setcache_fill *fill, struct setcache_key *key)
{
	struct setcache_part *part = &fill->part[fill->nr];
	enum setcache_reserved what;
	unsigned int way;

	part->set = setcache_lock(key);
	what = setcache_set_reserve(part->set, key, READ_ONCE(setcache_config.policy),
				    &way);
	setcache_unlock(part->set);
	if (what == SETCACHE_BUSY)
		return BUSY;
	if (what == SETCACHE_FULL)
		return FULL;
	part->way = way;
	part->hash = key->hash;
	part->reserved = what == SETCACHE_RESERVED;
	part->failed = false;
	if (part->reserved) {
		/* Pairs with the barrier of the hooks: the way comes before the look. */
		smp_mb();
		if (is_cached(fill->mapping, key->index) ||
		    READ_ONCE(fill->mapping->mcube_setcache) == MCUBE_SETCACHE_NEVER) {
			end_reservation(part, false);
			setcache_set_put(part->set, way);
			return CACHED;
		}
	}
	fill->nr++;
	fill->reserved += part->reserved;
	return NO_OBSTACLE;
}

/* Begin to read a page; the folio is unlocked when it is done. */
static void submit(struct setcache_fill *fill, unsigned int i)
{
	struct address_space *mapping = fill->mapping;
	struct setcache_part *part = &fill->part[i];
	struct folio *folio = setcache_folio(part);

	__folio_set_locked(folio);
	folio_clear_uptodate(folio);
	folio_clear_mappedtodisk(folio);
	folio->mapping = mapping;
	folio->index = fill->first + i;
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

/* Read the pages that have been reserved, by the file system. */
static void read_file(struct setcache_fill *fill)
{
	struct blk_plug plug;
	unsigned int i;

	if (fill->reserved > 1)
		blk_start_plug(&plug);
	for (i = 0; i < fill->nr; i++)
		if (fill->part[i].reserved)
			submit(fill, i);
	if (fill->reserved > 1)
		blk_finish_plug(&plug);
	for (i = 0; i < fill->nr; i++)
		if (fill->part[i].reserved)
			finish(&fill->part[i]);
}

/* Read the pages that have been reserved; others may find them then. */
static void read_reserved(struct setcache_fill *fill)
{
	struct setcache_part *part;

	if (S_ISBLK(fill->mapping->host->i_mode))
		setcache_read_block(fill);
	else
		read_file(fill);
	for (part = fill->part; part < fill->part + fill->nr; part++) {
		if (!part->reserved)
			continue;
		if (part->failed)
			setcache_count(SETCACHE_STAT_ERRORS, 1);
		end_reservation(part, !part->failed);
	}
}

/*
 * Reserve and read the pages from @key up to the index @last.  All parts are pinned
 * afterwards.
 */
static enum obstacle read_pages(struct setcache_fill *fill, struct setcache_key *key,
				pgoff_t last)
{
	enum obstacle obstacle;

	fill->nr = 0;
	fill->reserved = 0;
	filemap_invalidate_lock_shared(fill->mapping);
	obstacle = reserve(fill, key);
	while (!obstacle && fill->nr < SETCACHE_BATCH && fill->first + fill->nr <= last) {
		struct setcache_key next = setcache_name(fill->cookie,
							 fill->first + fill->nr);

		obstacle = reserve(fill, &next);
	}
	if (fill->reserved)
		read_reserved(fill);
	filemap_invalidate_unlock_shared(fill->mapping);
	if (!fill->nr)
		return obstacle;
	trace_mcube_setcache_fill(fill->mapping->host, fill->first, fill->nr,
				  fill->reserved);
	setcache_count(SETCACHE_STAT_FILLS, fill->reserved);
	if (fill->nr > fill->reserved)
		setcache_count(SETCACHE_STAT_HITS, fill->nr - fill->reserved);
	return NO_OBSTACLE;
}

/* As read_pages(); waits while another task fills the first page. */
static enum obstacle wait_and_read(struct setcache_fill *fill, struct setcache_key *key,
				   pgoff_t last)
{
	DEFINE_WAIT_FUNC(wait, woken_wake_function);
	enum obstacle obstacle;

	setcache_count(SETCACHE_STAT_WAITS, 1);
	add_wait_queue(queue_of(key->hash), &wait);
	for (;;) {
		obstacle = read_pages(fill, key, last);
		if (obstacle != BUSY || fatal_signal_pending(current))
			break;
		wait_woken(&wait, TASK_KILLABLE, MAX_SCHEDULE_TIMEOUT);
	}
	remove_wait_queue(queue_of(key->hash), &wait);
	return obstacle;
}

/* Copy the pages in order, and drop their pins. */
static ssize_t copy_pages(struct setcache_fill *fill, struct kiocb *iocb, struct iov_iter *to,
			  loff_t size)
{
	ssize_t got = 1, done = 0;
	unsigned int i;

	pagefault_disable();
	for (i = 0; i < fill->nr; i++) {
		struct setcache_part *part = &fill->part[i];

		if (got > 0 && part->failed)
			got = -EIO;
		/* A copy that ended early has not come to this page. */
		if (got > 0 && iocb->ki_pos >> PAGE_SHIFT == fill->first + i) {
			got = setcache_copy(part->set, part->way, iocb, to, size);
			done += max(got, 0L);
		}
		setcache_set_put(part->set, part->way);
	}
	pagefault_enable();
	return done ?: got;
}

/**
 * setcache_fill() - read pages that are not in sets
 * @iocb: as for mcube_setcache_read().
 * @to: as for mcube_setcache_read().
 * @size: as for mcube_setcache_read().
 * @key: the first page, which the caller has not found.
 *
 * Return: as setcache_read().
 */
ssize_t setcache_fill(struct kiocb *iocb, struct iov_iter *to, loff_t *size,
		      struct setcache_key *key)
{
	struct setcache_fill fill __uninitialized;
	enum obstacle obstacle;
	pgoff_t last, nr;

	fill.file = iocb->ki_filp;
	fill.mapping = iocb->ki_filp->f_mapping;
	fill.first = iocb->ki_pos >> PAGE_SHIFT;
	if (!is_fit(fill.mapping->host) || iocb->ki_flags & IOCB_NOIO)
		return 0;
	if (is_cached(fill.mapping, fill.first)) {
		setcache_count(SETCACHE_STAT_BYPASSED, 1);
		return 0;
	}
	fill.cookie = mcube_setcache_cookie(fill.mapping);
	if (fill.cookie == MCUBE_SETCACHE_NEVER)
		return 0;
	/* The file had no cookie, or has another one now. */
	if (fill.cookie != key->cookie)
		*key = setcache_name(fill.cookie, fill.first);
	if (iocb->ki_flags & (IOCB_NOWAIT | IOCB_WAITQ)) {
		setcache_count(SETCACHE_STAT_NOWAIT, 1);
		return -EAGAIN;
	}
	*size = i_size_read(fill.mapping->host);
	nr = pages_of(fill.mapping->host, *size);
	if (fill.first >= nr)
		return 0;
	last = min((pgoff_t)(iocb->ki_pos + iov_iter_count(to) - 1) >> PAGE_SHIFT, nr - 1);
	obstacle = read_pages(&fill, key, last);
	if (obstacle == BUSY)
		obstacle = wait_and_read(&fill, key, last);
	if (obstacle == BUSY)
		return -EINTR;
	if (obstacle == FULL)
		setcache_count(SETCACHE_STAT_FULL, 1);
	if (obstacle)
		return 0;
	*size = min(*size, i_size_read(fill.mapping->host));
	return copy_pages(&fill, iocb, to, *size);
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
