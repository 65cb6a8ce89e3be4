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
 * So a read from the start of a file counts if the file was begun before, and
 * the files that were begun since would fit in the cache.  The second such read
 * in a row moves the pages of the file to all colors in turn.  Pages that are
 * read in later hop over the colors too, as memory of programs does (not over
 * reserved colors):
 *
 *   read from 0      first   again   again               again
 *   file's pages     segments -------- moved: colors in turn --
 *
 *   grep over many files: no file is begun anew before all others were read;
 *   a file larger than the cache: a stream, however often it is read.
 *
 * It does not matter who reads: the compilers of a make -j read each header once,
 * and the workers of a server each static file.  The clock is the number of pages
 * of all files that were begun.  Files larger than the cache do not count, as they
 * keep to their segments and evict nothing else, nor do files of which all know
 * that they are in use.  A read of less than a page looks at the head of a file
 * and not at the file, as exec() and the loader of libraries do.
 *
 * Four cases are not recognised: files that are read in pieces of less than a
 * page, reads that may not wait (as reads of io_uring), files that are sent by
 * splice() or sendfile(), and mapped files, which are read without a call.
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
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/percpu.h>

#include "internal.h"
#include "reuse.h"
#include "spread.h"

/*
 * The clock.  A CPU adds up to a 32nd of a cache before the others see it: files that are in
 * use let no CPU write here, but other files may be begun often.
 */
static DEFINE_PER_CPU(u32, begun);
static atomic_t clock;

static void advance(u32 pages, u32 limit)
{
	if (this_cpu_add_return(begun, pages) >= limit / 32)
		atomic_add(this_cpu_xchg(begun, 0), &clock);
}

/* If that cannot be now, the file counts as never read. */
static void ask_to_spread(struct address_space *mapping, u32 reuse, u64 pages)
{
	if (!mcube_srm_spread(mapping, pages))
		cmpxchg(&mapping->mcube_reuse, reuse, mcube_reuse_forget(reuse));
}

/**
 * __mcube_srm_read() - a file is read from its start
 * @iocb: the read.
 * @count: bytes that are wanted.
 *
 * Context: process, sleeps.
 */
void __mcube_srm_read(const struct kiocb *iocb, size_t count)
{
	struct address_space *mapping = iocb->ki_filp->f_mapping;
	u32 limit = mcube_srm_config.nr_colors *
		    READ_ONCE(mcube_srm_config.reuse);
	u64 size = i_size_read(mapping->host);
	u64 pages = min_t(u64, DIV_ROUND_UP_ULL(size, PAGE_SIZE), INT_MAX);
	/* Pairs with cmpxchg() below: the clock is not behind the stamp. */
	u32 old = smp_load_acquire(&mapping->mcube_reuse), new;

	/* A read that may not wait is retried if it gets nothing at once. */
	if (iocb->ki_flags & (IOCB_NOWAIT | IOCB_NOIO))
		return;
	/* A look at the head of the file. */
	if (count < min_t(u64, size, PAGE_SIZE))
		return;
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
	new = mcube_reuse_begin(old, atomic_read(&clock), limit);
	/* All CPUs may read this file, so none writes what is there already. */
	if (new == old)
		return;
	advance(pages, limit);
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
