/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The hooks of the set-associative page cache (setcache) in the page cache.
 *
 * Copyright (C) 2026 The mcube authors
 *
 * A hook serves reads from page sets.  All other hooks keep the invariant: no page is
 * in the page cache of its file and in a set, and no page is in a set that differs
 * from the file.  See Documentation/mm/mcube/setcache.rst.
 *
 * The hooks are behind a static key, which is on while the mode is not "off", and
 * vanish with CONFIG_MCUBE_SETCACHE=n.
 */
#ifndef _LINUX_MCUBE_SETCACHE_H
#define _LINUX_MCUBE_SETCACHE_H

#include <linux/fs.h>
#include <linux/types.h>

struct iov_iter;

/**
 * enum mcube_setcache_why - what has happened to pages of a file
 * @MCUBE_SETCACHE_INSERT: they came into the page cache.
 * @MCUBE_SETCACHE_TRUNCATE: they are truncated.
 * @MCUBE_SETCACHE_INVALIDATE: the storage below them changes.
 * @MCUBE_SETCACHE_WRITTEN: a direct write of them is complete.
 * @MCUBE_SETCACHE_DROP: nobody wants them to be cached.
 * @MCUBE_SETCACHE_ASYNC: an asynchronous direct write of a block device begins.
 * @MCUBE_SETCACHE_CLOSE: a block device has been closed, or its blocks get another size.
 */
enum mcube_setcache_why {
	MCUBE_SETCACHE_INSERT,
	MCUBE_SETCACHE_TRUNCATE,
	MCUBE_SETCACHE_INVALIDATE,
	MCUBE_SETCACHE_WRITTEN,
	MCUBE_SETCACHE_DROP,
	MCUBE_SETCACHE_ASYNC,
	MCUBE_SETCACHE_CLOSE,
};

#ifdef CONFIG_MCUBE_SETCACHE_HOOKS

#include <linux/jump_label.h>

DECLARE_STATIC_KEY_FALSE(mcube_setcache_key);
extern bool mcube_setcache_all;

ssize_t __mcube_setcache_read(struct kiocb *iocb, struct iov_iter *to, loff_t *size);
void __mcube_setcache_kill(struct address_space *mapping, pgoff_t first, pgoff_t last,
			   enum mcube_setcache_why why);
void __mcube_setcache_drop(void);
void __mcube_setcache_async(struct address_space *mapping);
void __mcube_setcache_kill_all(struct address_space *mapping, bool closed);
void __mcube_setcache_shake(struct folio *folio);

/**
 * mcube_setcache_read() - read from page sets
 * @iocb: the read.
 * @to: where the data goes.
 * @size: set to the size of the file, if there was something to read.
 *
 * The caller has seen that the position of @iocb is within the file.  The position and
 * @to advance by what has been read.
 *
 * Return: number of bytes; 0 to read through the page cache; an error.
 */
static inline ssize_t mcube_setcache_read(struct kiocb *iocb, struct iov_iter *to,
					  loff_t *size)
{
	const struct file *file = iocb->ki_filp;

	if (static_branch_unlikely(&mcube_setcache_key) &&
	    file->f_op->fop_flags & FOP_MCUBE_SETCACHE &&
	    (file->f_mode & FMODE_RANDOM || READ_ONCE(mcube_setcache_all)))
		return __mcube_setcache_read(iocb, to, size);
	return 0;
}

/**
 * mcube_setcache_kill() - pages must not be in a set any more
 * @mapping: the page cache of the file.
 * @first: index of the first page.
 * @last: index of the last page.
 * @why: what has happened.
 *
 * No read that starts later finds them, and no fill under way brings them in.
 * A full barrier comes first.
 */
static inline void mcube_setcache_kill(struct address_space *mapping, pgoff_t first,
				       pgoff_t last, enum mcube_setcache_why why)
{
	if (static_branch_unlikely(&mcube_setcache_key))
		__mcube_setcache_kill(mapping, first, last, why);
}

/**
 * mcube_setcache_drop() - drop the pages of all files
 */
static inline void mcube_setcache_drop(void)
{
	if (static_branch_unlikely(&mcube_setcache_key))
		__mcube_setcache_drop();
}

/**
 * mcube_setcache_direct_write() - a direct write begins
 * @iocb: the write.
 *
 * An asynchronous direct write of a block device ends in an interrupt, where no page
 * can be killed.  From the first such write until the device is closed by all, its
 * pages are in no set.  That holds even if the mode changes while the write is under
 * way, so there is no static key.
 */
static inline void mcube_setcache_direct_write(struct kiocb *iocb)
{
	struct address_space *mapping = iocb->ki_filp->f_mapping;

	if (!is_sync_kiocb(iocb) && S_ISBLK(mapping->host->i_mode))
		__mcube_setcache_async(mapping);
}

/**
 * mcube_setcache_kill_all() - the page cache of a block device gets empty
 * @mapping: its page cache.
 * @closed: the device has been closed by all; its pages may come into sets again.
 *
 * There is no static key, as for mcube_setcache_direct_write().
 */
static inline void mcube_setcache_kill_all(struct address_space *mapping, bool closed)
{
	if (READ_ONCE(mapping->mcube_setcache))
		__mcube_setcache_kill_all(mapping, closed);
}

/**
 * mcube_setcache_shake() - the kernel wants to take a page out of use
 * @folio: the page, which may be in a set.
 *
 * The page is broken (PG_hwpoison), or is about to be moved elsewhere.
 */
static inline void mcube_setcache_shake(struct folio *folio)
{
	if (static_branch_unlikely(&mcube_setcache_key))
		__mcube_setcache_shake(folio);
}

#else /* CONFIG_MCUBE_SETCACHE_HOOKS */

/* Macros: an inline function would be counted where GCC decides what to inline. */
#define mcube_setcache_read(iocb, to, size)			((ssize_t)0)
#define mcube_setcache_kill(mapping, first, last, why)		do { } while (0)
#define mcube_setcache_drop()					do { } while (0)
#define mcube_setcache_direct_write(iocb)			do { } while (0)
#define mcube_setcache_kill_all(mapping, closed)		do { } while (0)
#define mcube_setcache_shake(folio)				do { } while (0)

#endif /* CONFIG_MCUBE_SETCACHE_HOOKS */

#endif /* _LINUX_MCUBE_SETCACHE_H */
