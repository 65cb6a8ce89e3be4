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
 * there is a bio for each page.
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
#include <linux/uio.h>
#include <linux/wait.h>

#include <trace/events/mcube_setcache.h>

#include "../../../mm/mcube/setcache/engine.h"
#include "internal.h"

/* Tasks that wait for a fill by another task, by the hash of the page. */
#define QUEUE_BITS	6
static wait_queue_head_t queues[1 << QUEUE_BITS];

/* A page of a fill: a way that the fill has pinned. */
struct part {
	struct setcache_set *set;
	u64 hash;
	u8 way;
	bool reserved;
	bool failed;
};

/**
 * struct fill - pages that are filled together
 * @mapping: the file.
 * @file: its descriptor.
 * @cookie: its cookie.
 * @first: index of the first page.
 * @nr: number of pages.
 * @part: the pages.
 */
struct fill {
	struct address_space *mapping;
	struct file *file;
	u64 cookie;
	pgoff_t first;
	unsigned int nr;
	struct part part[SETCACHE_BATCH];
};

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

static struct folio *folio_of(const struct part *part)
{
	return part->set->entry[part->way].page;
}

static bool is_cached(struct address_space *mapping, pgoff_t index)
{
	void *entry = xa_load(&mapping->i_pages, index);

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
static void end_reservation(struct part *part, bool publish)
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
static enum obstacle reserve(struct fill *fill, pgoff_t index)
{
	struct setcache_key key = setcache_name(fill->cookie, index);
	struct part *part = &fill->part[fill->nr];
	enum setcache_reserved what;
	unsigned int way;

	part->set = setcache_lock(&key);
	what = setcache_set_reserve(part->set, &key, READ_ONCE(setcache_config.policy),
				    &way);
	setcache_unlock(part->set);
	if (what == SETCACHE_BUSY)
		return BUSY;
	if (what == SETCACHE_FULL)
		return FULL;
	part->way = way;
	part->hash = key.hash;
	part->reserved = what == SETCACHE_RESERVED;
	part->failed = false;
	if (part->reserved) {
		/* Pairs with the barrier of the hooks: the way comes before the look. */
		smp_mb();
		if (is_cached(fill->mapping, index) ||
		    READ_ONCE(fill->mapping->mcube_setcache) == MCUBE_SETCACHE_NEVER) {
			end_reservation(part, false);
			setcache_set_put(part->set, way);
			return CACHED;
		}
	}
	fill->nr++;
	return NO_OBSTACLE;
}

/* Begin to read a page; the folio is unlocked when it is done. */
static void submit(struct fill *fill, unsigned int i)
{
	struct address_space *mapping = fill->mapping;
	struct part *part = &fill->part[i];
	struct folio *folio = folio_of(part);

	__folio_set_locked(folio);
	folio_clear_uptodate(folio);
	folio_clear_mappedtodisk(folio);
	folio->mapping = mapping;
	folio->index = fill->first + i;
	if (S_ISBLK(mapping->host->i_mode))
		mcube_setcache_read_block(I_BDEV(mapping->host), folio);
	else if (mapping->a_ops->read_folio(fill->file, folio))
		part->failed = true;
}

/* Wait until a page has been read, and take the folio from its file. */
static void finish(struct part *part)
{
	struct folio *folio = folio_of(part);

	folio_wait_locked(folio);
	if (!folio_test_uptodate(folio))
		part->failed = true;
	folio_lock(folio);
	if (WARN_ON_ONCE(!filemap_release_folio(folio, GFP_NOFS)))
		part->failed = true;
	folio->mapping = NULL;
	folio_unlock(folio);
	if (part->failed)
		setcache_count(SETCACHE_STAT_ERRORS, 1);
	end_reservation(part, !part->failed);
}

/* Reserve and read the pages up to the index @last.  All parts are pinned afterwards. */
static enum obstacle read_pages(struct fill *fill, pgoff_t last)
{
	enum obstacle obstacle = NO_OBSTACLE;
	unsigned int i, fills = 0;
	struct blk_plug plug;

	fill->nr = 0;
	filemap_invalidate_lock_shared(fill->mapping);
	while (!obstacle && fill->nr < SETCACHE_BATCH && fill->first + fill->nr <= last)
		obstacle = reserve(fill, fill->first + fill->nr);
	blk_start_plug(&plug);
	for (i = 0; i < fill->nr; i++)
		if (fill->part[i].reserved)
			submit(fill, i);
	blk_finish_plug(&plug);
	for (i = 0; i < fill->nr; i++) {
		if (!fill->part[i].reserved)
			continue;
		finish(&fill->part[i]);
		fills++;
	}
	filemap_invalidate_unlock_shared(fill->mapping);
	trace_mcube_setcache_fill(fill->mapping->host, fill->first, fill->nr, fills);
	setcache_count(SETCACHE_STAT_FILLS, fills);
	setcache_count(SETCACHE_STAT_HITS, fill->nr - fills);
	return fill->nr ? NO_OBSTACLE : obstacle;
}

/* As read_pages(); waits while another task fills the first page. */
static enum obstacle wait_and_read(struct fill *fill, pgoff_t last)
{
	struct setcache_key key = setcache_name(fill->cookie, fill->first);
	DEFINE_WAIT_FUNC(wait, woken_wake_function);
	enum obstacle obstacle;

	setcache_count(SETCACHE_STAT_WAITS, 1);
	add_wait_queue(queue_of(key.hash), &wait);
	for (;;) {
		obstacle = read_pages(fill, last);
		if (obstacle != BUSY || fatal_signal_pending(current))
			break;
		wait_woken(&wait, TASK_KILLABLE, MAX_SCHEDULE_TIMEOUT);
	}
	remove_wait_queue(queue_of(key.hash), &wait);
	return obstacle;
}

/* Copy the pages in order, and drop their pins. */
static ssize_t copy_pages(struct fill *fill, struct kiocb *iocb, struct iov_iter *to,
			  loff_t size)
{
	ssize_t got = 1, done = 0;
	unsigned int i;

	for (i = 0; i < fill->nr; i++) {
		struct part *part = &fill->part[i];

		if (got > 0 && part->failed)
			got = -EIO;
		/* A copy that ended early has not come to this page. */
		if (got > 0 && iocb->ki_pos >> PAGE_SHIFT == fill->first + i) {
			got = setcache_copy(part->set, part->way, iocb, to, size);
			done += max(got, 0L);
		}
		setcache_set_put(part->set, part->way);
	}
	return done ?: got;
}

/**
 * setcache_fill() - read pages that are not in sets
 * @iocb: as for mcube_setcache_read().
 * @to: as for mcube_setcache_read().
 * @size: as for mcube_setcache_read().
 *
 * Return: as setcache_read().
 */
ssize_t setcache_fill(struct kiocb *iocb, struct iov_iter *to, loff_t *size)
{
	struct fill fill = {
		.mapping = iocb->ki_filp->f_mapping,
		.file = iocb->ki_filp,
		.first = iocb->ki_pos >> PAGE_SHIFT,
	};
	enum obstacle obstacle;
	pgoff_t last, nr;

	if (!is_fit(fill.mapping->host) || iocb->ki_flags & IOCB_NOIO)
		return 0;
	if (is_cached(fill.mapping, fill.first)) {
		setcache_count(SETCACHE_STAT_BYPASSED, 1);
		return 0;
	}
	fill.cookie = mcube_setcache_cookie(fill.mapping);
	if (fill.cookie == MCUBE_SETCACHE_NEVER)
		return 0;
	if (iocb->ki_flags & (IOCB_NOWAIT | IOCB_WAITQ)) {
		setcache_count(SETCACHE_STAT_NOWAIT, 1);
		return -EAGAIN;
	}
	*size = i_size_read(fill.mapping->host);
	nr = pages_of(fill.mapping->host, *size);
	if (fill.first >= nr)
		return 0;
	last = min((pgoff_t)(iocb->ki_pos + iov_iter_count(to) - 1) >> PAGE_SHIFT, nr - 1);
	obstacle = read_pages(&fill, last);
	if (obstacle == BUSY)
		obstacle = wait_and_read(&fill, last);
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
