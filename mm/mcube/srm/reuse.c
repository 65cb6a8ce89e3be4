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
 * read.  Three cases are not recognised: files that several tasks begin in
 * turn, reads that may not wait (as reads of io_uring), and mapped files, which
 * are read without a call.
 *
 * The text of a program is used again and again, by every task that runs it.
 * So a file that is mapped to be executed is treated as if the first advice
 * below had been given, unless other advice has been.  A program that knows
 * better says so by posix_fadvise(); the latest advice wins:
 *
 *   POSIX_FADV_WILLNEED, the whole file ... all colors in turn, from now on
 *   POSIX_FADV_NOREUSE .................... never more than its segments
 *   POSIX_FADV_NORMAL ..................... as above
 *
 * None of this is in the paper.
 */

#include <linux/atomic.h>
#include <linux/fadvise.h>
#include <linux/fs.h>
#include <linux/mcube_srm.h>
#include <linux/pagemap.h>
#include <linux/sched.h>

#include "../alloc/recolor.h"
#include "internal.h"
#include "reuse.h"

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
	current->mcube_reuse_clock = now + min(pages, MCUBE_REUSE_STAMP_MASK / 2);
	if (pages > limit) {
		if (mcube_reuse_times(old))
			cmpxchg(&mapping->mcube_reuse, old, mcube_reuse_forget(old));
		return;
	}
	if (!pages)
		return;
	new = mcube_reuse_begin(old, current->pid, now, limit);
	/* Another task begins the file at this moment, or gives advice. */
	if (cmpxchg(&mapping->mcube_reuse, old, new) != old)
		return;
	if (!mcube_reuse_spreads(old) && mcube_reuse_spreads(new))
		this_cpu_add(mcube_srm_stats.nr[MCUBE_SRM_RECOLORED],
			     mcube_recolor(mapping, pages));
}

/**
 * __mcube_srm_program() - a file is mapped to be executed
 * @mapping: page cache of the file.
 *
 * Context: process.
 */
void __mcube_srm_program(struct address_space *mapping)
{
	u32 reuse = READ_ONCE(mapping->mcube_reuse);

	while (mcube_reuse_advice(reuse) == MCUBE_ADVICE_NONE &&
	       !try_cmpxchg(&mapping->mcube_reuse, &reuse,
			    mcube_reuse_advise(reuse, MCUBE_ADVICE_SPREAD)))
		;
}

/**
 * __mcube_srm_advise() - a program says what it does with a file
 * @mapping: page cache of the file.
 * @offset: first byte that the advice is for.
 * @len: number of bytes, 0 for all that follow.
 * @advice: POSIX_FADV_*.
 */
void __mcube_srm_advise(struct address_space *mapping, loff_t offset,
			loff_t len, int advice)
{
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
		break;
	case POSIX_FADV_NOREUSE:
		said = MCUBE_ADVICE_CONFINE;
		break;
	default:
		return;
	}
	while (!try_cmpxchg(&mapping->mcube_reuse, &reuse,
			    mcube_reuse_advise(reuse, said)))
		;
}
