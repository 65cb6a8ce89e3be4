// SPDX-License-Identifier: GPL-2.0
/*
 * Misses: reads of pages that are in no set
 *
 * Copyright (C) 2026 The mcube authors
 *
 * The pages are filled, or read through the page cache where they cannot be in a set.  The
 * reader waits for the device, or is woken later (async.c).
 */

#include <linux/blkdev.h>
#include <linux/fs.h>
#include <linux/minmax.h>
#include <linux/pagemap.h>
#include <linux/rwsem.h>
#include <linux/sched/signal.h>
#include <linux/uaccess.h>
#include <linux/uio.h>
#include <linux/wait.h>

#include "copy.h"
#include "fill.h"

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

/* Begin to read the pages that have been reserved, by the file system. */
static void begin_file(struct setcache_fill *fill)
{
	unsigned int left = fill->reserved, i;
	struct blk_plug plug;

	if (fill->direct)
		left -= setcache_submit_direct(fill, NULL, NULL, NULL);
	if (!left)
		return;
	if (left > 1)
		blk_start_plug(&plug);
	for (i = 0; i < fill->nr; i++)
		if (fill->part[i].reserved && !fill->part[i].direct)
			setcache_fill_submit(fill, i, NULL);
	if (left > 1)
		blk_finish_plug(&plug);
}

/* Wait for the pages; false if the task is to die, and a work item waits for them. */
static bool await_file(const struct setcache_fill *fill)
{
	return likely(setcache_fill_await(fill)) || !setcache_fill_leave(fill);
}

/* As await_file(), but reads the pages that have been reserved. */
static bool read_file(struct setcache_fill *fill)
{
	begin_file(fill);
	if (!await_file(fill))
		return false;
	if (fill->direct && setcache_direct_mend(fill) && !await_file(fill))
		return false;
	setcache_fill_finish(fill);
	return true;
}

/*
 * Reserve and read the pages from @key up to the index @last.  All parts are pinned
 * afterwards.  SETCACHE_IS_BUSY with a signal pending that is fatal if the task is to die.
 */
static enum setcache_obstacle read_pages(struct setcache_fill *fill, struct setcache_key *key,
					 pgoff_t last)
{
	enum setcache_obstacle obstacle;

	/* A task that truncates the file holds the lock, and its device may not answer. */
	if (down_read_killable(&fill->mapping->invalidate_lock))
		return SETCACHE_IS_BUSY;
	obstacle = setcache_fill_reserve(fill, key, last);
	if (fill->reserved && S_ISBLK(fill->mapping->host->i_mode))
		setcache_read_block(fill);
	else if (fill->reserved && !read_file(fill))
		return SETCACHE_IS_BUSY;
	if (fill->nr)
		setcache_fill_publish(fill);
	filemap_invalidate_unlock_shared(fill->mapping);
	return fill->nr ? SETCACHE_NO_OBSTACLE : obstacle;
}

/* As read_pages(); waits while another task fills the first page. */
static enum setcache_obstacle wait_and_read(struct setcache_fill *fill,
					    struct setcache_key *key, pgoff_t last)
{
	DEFINE_WAIT_FUNC(wait, woken_wake_function);
	enum setcache_obstacle obstacle;

	setcache_count(SETCACHE_STAT_WAITS, 1);
	add_wait_queue(setcache_fill_queue(key->hash), &wait);
	for (;;) {
		obstacle = read_pages(fill, key, last);
		if (obstacle != SETCACHE_IS_BUSY || fatal_signal_pending(current))
			break;
		wait_woken(&wait, TASK_KILLABLE, MAX_SCHEDULE_TIMEOUT);
	}
	remove_wait_queue(setcache_fill_queue(key->hash), &wait);
	return obstacle;
}

/*
 * Copy the pages in order, and drop their pins.  0 if the first page has to come through the
 * page cache, where the read goes on in any case: a second fill might be doomed as well.
 */
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
		/* The page cache has the page, or brings it in: its blocks may have moved. */
		if (got > 0 && part->doomed)
			got = 0;
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
 * setcache_miss() - read pages that are not in sets
 * @iocb: as for mcube_setcache_read().
 * @to: as for mcube_setcache_read().
 * @size: as for mcube_setcache_read().
 * @key: the first page, which the caller has not found.
 *
 * Return: as setcache_read(), or %SETCACHE_LOOK_AGAIN.
 */
ssize_t setcache_miss(struct kiocb *iocb, struct iov_iter *to, loff_t *size,
		      struct setcache_key *key)
{
	struct setcache_fill fill __uninitialized;
	enum setcache_obstacle obstacle;
	pgoff_t last, nr;
	int user;

	fill.file = iocb->ki_filp;
	fill.mapping = iocb->ki_filp->f_mapping;
	fill.first = iocb->ki_pos >> PAGE_SHIFT;
	fill.later = false;
	if (!is_fit(fill.mapping->host) || iocb->ki_flags & IOCB_NOIO)
		return 0;
	if (setcache_is_cached(fill.mapping, fill.first)) {
		setcache_count(SETCACHE_STAT_BYPASSED, 1);
		return 0;
	}
	fill.cookie = mcube_setcache_cookie(fill.mapping);
	if (fill.cookie == MCUBE_SETCACHE_NEVER)
		return 0;
	/* The file had no cookie, or has another one now. */
	if (fill.cookie != key->cookie)
		*key = setcache_name(fill.cookie, fill.first);
	*size = i_size_read(fill.mapping->host);
	nr = pages_of(fill.mapping->host, *size);
	if (fill.first >= nr)
		return 0;
	/* With both flags, the read has copied something, and nobody is to be woken. */
	if (iocb->ki_flags & IOCB_NOWAIT) {
		setcache_count(SETCACHE_STAT_NOWAIT, 1);
		return -EAGAIN;
	}
	user = setcache_user(fill.file, &key->share);
	if (user < 0) {
		setcache_count(SETCACHE_STAT_FULL, 1);
		return 0;
	}
	key->user = user;
	last = min((pgoff_t)(iocb->ki_pos + iov_iter_count(to) - 1) >> PAGE_SHIFT, nr - 1);
	fill.direct = last > fill.first && setcache_direct_fits(fill.file);
	if (iocb->ki_flags & IOCB_WAITQ)
		return setcache_fill_later(iocb, &fill, key, last);
	obstacle = read_pages(&fill, key, last);
	if (obstacle == SETCACHE_IS_BUSY && !fatal_signal_pending(current))
		obstacle = wait_and_read(&fill, key, last);
	if (obstacle == SETCACHE_IS_BUSY)
		return -EINTR;
	if (obstacle == SETCACHE_IS_FULL)
		setcache_count(SETCACHE_STAT_FULL, 1);
	if (obstacle)
		return 0;
	*size = min(*size, i_size_read(fill.mapping->host));
	return copy_pages(&fill, iocb, to, *size);
}
