// SPDX-License-Identifier: GPL-2.0
/*
 * SRM-buffer: files that are read again and again
 *
 * Copyright (C) 2026 The mcube authors
 *
 * A file that would fit in the cache and is read over and over is not a stream
 * but a working set.  In segments of one color its pages would miss all the
 * time, as each color has only a few pages of the cache.  The paper reports 12
 * to 17 % lost.
 *
 * So a read from the start of a file counts if the same task began the file
 * before, and what it has begun to read since would fit in the cache.  The
 * second such read in a row moves the pages of the file to all colors in turn.
 * Pages that are read in later hop over the colors too, as memory of programs
 * does (not over reserved colors):
 *
 *   read from 0      first   again   again               again
 *   file's pages     segments -------- moved: colors in turn --
 *
 *   grep over many files: no file is begun anew before all others were read;
 *   a file larger than the cache: a stream, however often it is read.
 *
 * The clock of a task is the number of pages of all files that it has begun to
 * read.  Four cases are not recognised: files that several tasks begin in turn,
 * reads that may not wait (as reads of io_uring), files that are sent by splice()
 * or sendfile(), and mapped files, which are read without a call.
 *
 * Advice.  A program that knows better says so by posix_fadvise().  Pages are
 * shared by all who read the file, so what one reader says must not decide for
 * the others.  Advice binds the descriptor that gave it.  The advice binds the
 * file, and thus all its readers, only if it comes from a task that may write
 * the file: such a task could give the file other contents as well.
 *
 *   POSIX_FADV_NOREUSE ....... of a reader: what this descriptor reads in keeps
 *                              to its segments (FMODE_NOREUSE), and its reads do
 *                              not count above.  Of a writer: the whole file,
 *                              for all readers.
 *   POSIX_FADV_WILLNEED ...... the whole file.  Of a reader: what this call reads
 *                              in hops.  Of a writer: the file, from now on.
 *   POSIX_FADV_NORMAL ........ as without advice
 *
 * Programs.  The text of a program is used again and again by every task that
 * runs it, whether or not one task reads it twice.  What counts is that a page is
 * executed, not that it may be: anybody can map his own stream with PROT_EXEC and
 * then read it, by the mapping or by read().  So a page is text if it comes in by
 * the fault of an instruction fetch, as does the readahead that starts with the
 * fault.  All else that comes in keeps to its segments.  To get around this a task
 * must jump into its data every few dozen pages, and gains no more than by a copy
 * of the data in anonymous memory, which hops at any time.  Advice goes before.
 *
 * None of this is in the paper.
 */

#include <linux/atomic.h>
#include <linux/cred.h>
#include <linux/fadvise.h>
#include <linux/fs.h>
#include <linux/mcube_srm.h>
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/sched.h>

#include "internal.h"
#include "reuse.h"
#include "spread.h"

/* If that cannot be now, the file counts as read for the first time. */
static void ask_to_spread(struct address_space *mapping, u32 reuse, u64 pages)
{
	if (!mcube_srm_spread(mapping, pages))
		cmpxchg(&mapping->mcube_reuse, reuse, mcube_reuse_forget(reuse));
}

/**
 * __mcube_srm_read() - a file is read from its start
 * @iocb: the read.
 *
 * Context: process, sleeps.
 */
void __mcube_srm_read(const struct kiocb *iocb)
{
	struct address_space *mapping = iocb->ki_filp->f_mapping;
	u32 limit = mcube_srm_config.nr_colors *
		    READ_ONCE(mcube_srm_config.reuse);
	u64 pages = DIV_ROUND_UP_ULL(i_size_read(mapping->host), PAGE_SIZE);
	u32 old = READ_ONCE(mapping->mcube_reuse), new, now = current->mcube_reuse_clock;

	/* A read that may not wait is retried if it gets nothing at once. */
	if (iocb->ki_flags & (IOCB_NOWAIT | IOCB_NOIO))
		return;
	/*
	 * A file counts for at most half the range of the clock: more than any
	 * cache holds, and no wrap.
	 */
	pages = min(pages, MCUBE_REUSE_STAMP_MASK / 2);
	current->mcube_reuse_clock = now + pages;
	if (!mcube_reuse_spreads(old, MCUBE_ADVICE_NONE))
		mcube_srm_count(MCUBE_SRM_READ, pages);
	mcube_srm_lend_hurry();
	if (pages > limit) {
		if (mcube_reuse_times(old))
			cmpxchg(&mapping->mcube_reuse, old, mcube_reuse_forget(old));
		return;
	}
	if (!pages || iocb->ki_filp->f_mode & FMODE_NOREUSE)
		return;
	new = mcube_reuse_begin(old, current->pid, now, limit);
	/* Another task begins the file at this moment, or gives advice. */
	if (cmpxchg(&mapping->mcube_reuse, old, new) != old)
		return;
	if (!mcube_reuse_spreads(old, MCUBE_ADVICE_NONE) &&
	    mcube_reuse_spreads(new, MCUBE_ADVICE_NONE))
		ask_to_spread(mapping, new, pages);
}

/* May the task decide for all who use the file?  As for madvise(MADV_PAGEOUT). */
static bool may_decide(const struct file *file)
{
	if (file->f_mode & FMODE_WRITE)
		return true;
	/* A stacked file system asks with the rights of its mounter. */
	if (current_cred() != current_real_cred())
		return false;
	return inode_owner_or_capable(file_mnt_idmap(file), file_inode(file)) ||
		!inode_permission(file_mnt_idmap(file), file_inode(file), MAY_WRITE);
}

/* See mcube_srm_advise_begin(); sleeps. */
void __mcube_srm_advise(struct mcube_srm_batch *batch, const struct file *file,
			loff_t offset, loff_t len, int advice)
{
	struct address_space *mapping = file->f_mapping;
	u32 reuse = READ_ONCE(mapping->mcube_reuse);
	unsigned int said;

	switch (advice) {
	case POSIX_FADV_NORMAL:
		said = MCUBE_ADVICE_NONE;
		break;
	case POSIX_FADV_WILLNEED:
		if (offset || len)
			return;
		said = MCUBE_ADVICE_SPREAD;
		mcube_srm_advised_begin(batch, mapping, said);
		break;
	case POSIX_FADV_NOREUSE:
		said = MCUBE_ADVICE_CONFINE;
		break;
	default:
		return;
	}
	if (!may_decide(file))
		return;
	while (!try_cmpxchg(&mapping->mcube_reuse, &reuse,
			    mcube_reuse_advise(reuse, said)))
		;
}

/* See mcube_srm_fault_begin(). */
void __mcube_srm_fault(struct mcube_srm_batch *batch,
		       const struct vm_fault *vmf)
{
	struct file *file = vmf->vma->vm_file;

	mcube_srm_advised_begin(batch, file->f_mapping,
				file->f_mode & FMODE_NOREUSE ?
				MCUBE_ADVICE_CONFINE : MCUBE_ADVICE_EXECUTED);
}
