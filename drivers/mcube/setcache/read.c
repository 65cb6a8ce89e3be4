// SPDX-License-Identifier: GPL-2.0
/*
 * Reads: pages that are in sets
 *
 * Copyright (C) 2026 The mcube authors
 *
 * A hit takes a pin on the page, and no lock.
 *
 * The size of the file is read before the page is looked up and again after.  The
 * smaller one holds: a page may be older than an extension of the file that comes in
 * between, and younger than a truncation.
 */

#include <linux/fs.h>
#include <linux/minmax.h>
#include <linux/pagemap.h>
#include <linux/rcupdate.h>
#include <linux/uaccess.h>
#include <linux/uio.h>

#include "copy.h"
#include "internal.h"

/*
 * Copy pages that are in sets, until @key, the first one that is not.  *@got is what the
 * last copy returned, or 1 for none.
 */
static ssize_t copy_hits(struct kiocb *iocb, struct iov_iter *to, loff_t *size,
			 struct setcache_key *key, ssize_t *got)
{
	struct address_space *mapping = iocb->ki_filp->f_mapping;
	enum setcache_policy policy = READ_ONCE(setcache_config.policy);
	u64 cookie = mcube_setcache_cookie_of(READ_ONCE(mapping->mcube_setcache));
	loff_t before = i_size_read(mapping->host);
	unsigned int hits = 0, remote = 0;
	bool nodes = setcache_nodes.nr > 1;
	ssize_t done = 0;

	*got = 1;
	rcu_read_lock();
	pagefault_disable();
	while (hits < SETCACHE_BATCH && iov_iter_count(to)) {
		struct setcache_set *set;
		int way;

		*key = setcache_name(cookie, iocb->ki_pos >> PAGE_SHIFT);
		set = setcache_table_find(&setcache_table, key);
		way = setcache_get(set, key, policy);
		if (way < 0)
			break;
		*size = min(before, i_size_read(mapping->host));
		*got = setcache_copy(set, way, iocb, to, *size);
		if (nodes)
			remote += setcache_is_remote(key, set, way, false);
		setcache_set_put(set, way);
		if (*got <= 0)
			break;
		done += *got;
		hits++;
	}
	pagefault_enable();
	rcu_read_unlock();
	if (hits)
		setcache_count(SETCACHE_STAT_HITS, hits);
	if (remote)
		setcache_count(SETCACHE_STAT_REMOTE, remote);
	return done;
}

/**
 * setcache_read() - read from page sets
 * @iocb: as for mcube_setcache_read().
 * @to: as for mcube_setcache_read().
 * @size: as for mcube_setcache_read().
 *
 * Return: as mcube_setcache_read(); -EFAULT after a page fault at the first byte.
 */
ssize_t setcache_read(struct kiocb *iocb, struct iov_iter *to, loff_t *size)
{
	struct setcache_key key;
	ssize_t got, done;

	setcache_user_reads(iocb->ki_filp);
	do {
		if (READ_ONCE(setcache_config.numa) == SETCACHE_MESSAGE && setcache_nodes.nr > 1)
			done = setcache_ask(iocb, to, size, &key, &got);
		else
			done = copy_hits(iocb, to, size, &key, &got);
		if (done || got <= 0)
			return done ?: got;
		done = setcache_miss(iocb, to, size, &key);
	} while (done == SETCACHE_LOOK_AGAIN);
	return done;
}
