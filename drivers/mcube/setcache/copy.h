/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copies from pages of sets to readers
 *
 * Copyright (C) 2026 The mcube authors
 */
#ifndef _DRIVERS_MCUBE_SETCACHE_COPY_H
#define _DRIVERS_MCUBE_SETCACHE_COPY_H

#include <linux/fs.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/uaccess.h>
#include <linux/uio.h>

#include "layout.h"

/**
 * setcache_copy() - copy from a page to the reader
 * @set: the set.
 * @way: the way of the page, pinned by the caller.
 * @iocb: the read; its position advances.
 * @to: where the data goes.
 * @size: size of the file at a time before the page was looked up or filled.
 *
 * Context: page faults are disabled, so that a pin is never held for longer than a
 * copy: a fault may wait for a user program.
 * Return: number of bytes; 0 if the file ends before; -EFAULT if there was a page fault
 * at the first byte.
 */
static inline ssize_t setcache_copy(const struct setcache_set *set, unsigned int way,
				    struct kiocb *iocb, struct iov_iter *to, loff_t size)
{
	size_t offset = offset_in_page(iocb->ki_pos), bytes, copied;
	const void *from = folio_address(set->entry[way].page) + offset;
	loff_t left = size - iocb->ki_pos;

	if (left <= 0)
		return 0;
	bytes = min3(left, (loff_t)(PAGE_SIZE - offset), (loff_t)iov_iter_count(to));
	if (likely(iter_is_ubuf(to))) {
		/* One buffer, which was checked when it came in: no segments to look for. */
		copied = bytes - __copy_to_user_inatomic(to->ubuf + to->iov_offset, from, bytes);
		iov_iter_advance(to, copied);
	} else {
		/* Within a page, so the checks of copy_to_iter() would find nothing. */
		copied = _copy_to_iter(from, bytes, to);
	}
	iocb->ki_pos += copied;
	return copied ?: -EFAULT;
}

#endif /* _DRIVERS_MCUBE_SETCACHE_COPY_H */
