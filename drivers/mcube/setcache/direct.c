// SPDX-License-Identifier: GPL-2.0
/*
 * Direct reads: adjacent pages of a file by one request
 *
 * Copyright (C) 2026 The mcube authors
 *
 * ->read_folio() maps a block and makes a bio for each page.  A direct read of the file system
 * maps an extent, and makes one bio for all pages.  So a fill hands adjacent pages to
 * ->read_iter() as the memory of a direct read (IOCB_DIRECT).  Where that does not bring a
 * page, ->read_folio() does.
 *
 * Why it is coherent: the pages are reserved, and in no page cache, as for ->read_folio().  The
 * direct read asks for the blocks in the same way, in the same section of the invalidate lock.
 * It refuses where the page cache has changes of the range; then the fill is doomed.
 *
 * Why it does not deadlock:
 *
 * - A direct read takes the lock of the inode, shared, which comes before the invalidate lock
 *   that the fill holds.  With IOCB_NOWAIT it only tries, and fails while a writer holds the
 *   lock or waits for it, be it that the reader has it already, as on xfs.
 * - Truncation and others wait for direct reads (inode_dio_wait()), some with the invalidate
 *   lock held exclusively.  The fill gives that lock back after its direct reads have ended, and
 *   these need nothing but the device to end.
 * - The work queue that file systems have for direct I/O is made before the fill takes any lock:
 *   to make it takes the lock of CPU hotplug, which may be held while a task waits for a page
 *   fault, which takes the invalidate lock.
 *
 * Why there is no recursion: ext4 reads through the page cache where it cannot do so directly
 * (journalled or inline data), and comes to setcache_read() then.  With IOCB_NOIO nothing is
 * filled there, nor read into the page cache, which would take the invalidate lock again.
 *
 * The end of the file: the direct read says where the file has ended, and the rest of the page is
 * zeroed.  The file cannot shrink meanwhile, as truncation takes the invalidate lock.  If the file
 * grows, the file has zeros there as well, until a task writes into the page.  Such a write dooms
 * the fill.
 *
 * A page is locked until it has been read, as by ->read_folio().  So the fill waits for both in
 * the same way, and a task that is to die leaves both behind (orphan.c).  The request is no part
 * of the fill or the stack of the task: it goes when the file system has come back from
 * ->read_iter() and has called ->ki_complete().  The bio has no copy of the vector of pages, so
 * that goes with the request.
 */

#include <linux/bio.h>
#include <linux/bvec.h>
#include <linux/fs.h>
#include <linux/highmem.h>
#include <linux/minmax.h>
#include <linux/pagemap.h>
#include <linux/refcount.h>
#include <linux/slab.h>
#include <linux/uio.h>

#include "../../../fs/internal.h"
#include "fill.h"

/* A direct read of adjacent pages. */
struct direct {
	struct kiocb iocb;
	refcount_t users;	/* the submitter, and the file system */
	unsigned int nr;
	loff_t start;
	loff_t size;		/* of the file, before the read */
	void (*done)(void *private);
	void *private;
	struct bio_vec vec[];
};

static void put(struct direct *d)
{
	if (refcount_dec_and_test(&d->users))
		kfree(d);
}

/*
 * The first @got bytes have been read.  What is left of the last page is zeroed, if it lies behind
 * the end of the file.  The fill may be gone as soon as the last page is unlocked, or @done
 * was called.
 */
static void end(struct direct *d, long got)
{
	size_t read = max(got, 0L), tail = offset_in_page(read);
	void (*done)(void *private) = d->done;
	void *private = d->private;
	unsigned int i, whole;

	if (tail && d->start + read >= d->size) {
		memzero_page(d->vec[read >> PAGE_SHIFT].bv_page, tail, PAGE_SIZE - tail);
		read += PAGE_SIZE - tail;
	}
	whole = read >> PAGE_SHIFT;
	for (i = 0; i < d->nr; i++)
		folio_end_read(page_folio(d->vec[i].bv_page), i < whole);
	if (done)
		done(private);
}

static void complete_direct(struct kiocb *iocb, long ret)
{
	struct direct *d = container_of(iocb, struct direct, iocb);

	end(d, ret);
	put(d);
}

static struct direct *make(struct setcache_fill *fill, unsigned int first, unsigned int nr)
{
	struct direct *d = kmalloc(struct_size(d, vec, nr), GFP_NOFS | __GFP_NORETRY |
				   __GFP_NOWARN);
	unsigned int i;

	if (!d)
		return NULL;
	d->start = (loff_t)(fill->first + first) << PAGE_SHIFT;
	d->size = i_size_read(fill->mapping->host);
	d->nr = nr;
	refcount_set(&d->users, 2);
	d->iocb = (struct kiocb) {
		.ki_filp = fill->file,
		.ki_pos = d->start,
		.ki_flags = IOCB_DIRECT | IOCB_NOWAIT | IOCB_NOIO,
		.ki_complete = complete_direct,
	};
	for (i = 0; i < nr; i++) {
		struct folio *folio = setcache_folio(&fill->part[first + i]);

		__folio_set_locked(folio);
		folio_clear_uptodate(folio);
		bvec_set_folio(&d->vec[i], folio, PAGE_SIZE, 0);
	}
	return d;
}

/* Begin to read; false if the pages have to be read in another way. */
static bool submit(struct direct *d, struct file *file)
{
	struct iov_iter iter;
	ssize_t ret;

	iov_iter_bvec(&iter, ITER_DEST, d->vec, d->nr, d->nr * PAGE_SIZE);
	ret = file->f_op->read_iter(&d->iocb, &iter);
	if (ret == -EIOCBQUEUED) {
		put(d);
		return true;
	}
	if (ret <= 0)
		d->done = NULL;
	end(d, ret);
	kfree(d);
	return ret > 0;
}

/**
 * setcache_direct_fits() - may direct reads bring pages of a file?
 * @file: the file.
 *
 * Where a file is mapped and written to, a direct read may meet a block that a page fault has
 * just asked for, and the kernel would complain.
 *
 * Context: process, sleeps, without the invalidate lock of the file.
 * Return: true if so.
 */
bool setcache_direct_fits(struct file *file)
{
	struct super_block *sb = file->f_mapping->host->i_sb;
	fmode_t need = FMODE_NOWAIT | FMODE_CAN_ODIRECT;

	return S_ISREG(file->f_mapping->host->i_mode) && (file->f_mode & need) == need &&
	       !mapping_writably_mapped(file->f_mapping) &&
	       (READ_ONCE(sb->s_dio_done_wq) || !sb_init_dio_done_wq(sb));
}

/**
 * setcache_submit_direct() - begin to read pages of a file that are adjacent
 * @fill: the fill; @direct is set in the part of each page that a direct read is to bring.
 * @left: incremented for each direct read, if not NULL.
 * @done: called when a direct read has ended, if not NULL.
 * @private: for @done.
 *
 * The folios are unlocked when they have been read, or could not be: then PG_uptodate is clear.
 *
 * Context: process, holds the invalidate lock of the file; waits for memory and requests, not
 * until the pages have been read.
 * Return: number of pages that have been begun.
 */
unsigned int setcache_submit_direct(struct setcache_fill *fill, atomic_t *left,
				    void (*done)(void *private), void *private)
{
	unsigned int first, i, nr, begun = 0;
	struct direct *d;

	for (first = 0; first < fill->nr; first += max(nr, 1U)) {
		nr = setcache_run_at(fill, first);
		if (nr < 2)
			continue;
		d = make(fill, first, nr);
		if (!d)
			break;
		d->done = done;
		d->private = private;
		if (left)
			atomic_inc(left);
		if (!submit(d, fill->file)) {
			if (left)
				atomic_dec(left);
			break;
		}
		for (i = 0; i < nr; i++)
			fill->part[first + i].direct = nr - i;
		begun += nr;
	}
	return begun;
}

/**
 * setcache_direct_mend() - read pages one by one that direct reads could not bring
 * @fill: the fill; its direct reads have ended, or the task is to die.
 *
 * So a bad sector fails its page and no other.
 *
 * Context: process, sleeps, holds the invalidate lock of the file.
 * Return: true if there are such pages.
 */
bool setcache_direct_mend(struct setcache_fill *fill)
{
	unsigned int i, last;
	struct folio *folio;
	bool any = false;

	for (i = 0; i < fill->nr; i = last + 1) {
		last = setcache_last_with(fill, i);
		if (!fill->part[i].direct)
			continue;
		folio = setcache_folio(&fill->part[last]);
		folio_wait_locked(folio);
		if (likely(folio_test_uptodate(folio)))
			continue;
		any = true;
		for (; i <= last; i++) {
			fill->part[i].direct = 0;
			if (!folio_test_uptodate(setcache_folio(&fill->part[i])))
				setcache_fill_submit(fill, i, NULL);
		}
	}
	return any;
}
