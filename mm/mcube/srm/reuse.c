// SPDX-License-Identifier: GPL-2.0
/*
 * SRM-buffer: files that are read again and again
 *
 * Copyright (C) 2026 The mcube authors
 *
 * A file that would fit in the cache and is read over and over is no stream,
 * but a working set.  In runs of one color it would miss all the time, as each
 * color has but a few pages of the cache.  The paper reports 12 to 17 % lost.
 *
 * So: when a task begins a file anew, and what it has read since it last did
 * so would fit in the cache, that counts.  The second time in a row the file's
 * pages are moved, one color after the other, and what is read in later gets
 * them in turn too, as memory of programs does (not those reserved for files):
 *
 *   read from 0      first   again   again               again
 *   file's pages     runs ------------ moved: in turn ---------
 *
 *   grep, over many files: none is begun anew before all others were read;
 *   a file of more than the cache: a stream, however often it is read.
 *
 * A task's clock is the sizes of the files that it has begun to read, in pages.
 * Files begun by several tasks in turn are not recognised, nor reads that may not
 * wait (of io_uring), nor mapped files, which are read without a call, unless they
 * are mapped to be executed: that is taken for the first advice below.  A program
 * that knows better says so by posix_fadvise(), and the last one to say something
 * wins:
 *
 *   POSIX_FADV_WILLNEED, the whole file ... in turn, from now on
 *   POSIX_FADV_NOREUSE .................... never more than its run
 *   POSIX_FADV_NORMAL ..................... as above
 *
 * This is not in the paper.
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
 * @iocb: of the read.
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

	/* It will be tried again if it does not get what it wants at once. */
	if (iocb->ki_flags & (IOCB_NOWAIT | IOCB_NOIO))
		return;
	/* One that is large has gone past the cache however large it is. */
	current->mcube_reuse_clock = now + min(pages, MCUBE_REUSE_STAMP_MASK / 2);
	if (pages > limit) {
		if (mcube_reuse_times(old))
			cmpxchg(&mapping->mcube_reuse, old, mcube_reuse_forget(old));
		return;
	}
	if (!pages)
		return;
	new = mcube_reuse_begin(old, current->pid, now, limit);
	/* Others begin it at this moment, or say what they do with it. */
	if (cmpxchg(&mapping->mcube_reuse, old, new) != old)
		return;
	if (!mcube_reuse_spreads(old) && mcube_reuse_spreads(new))
		this_cpu_add(mcube_srm_stats.nr[MCUBE_SRM_RECOLORED],
			     mcube_recolor(mapping, pages));
}

/**
 * __mcube_srm_program() - a file is mapped to be executed
 * @mapping: the file's.
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
 * @mapping: the file's.
 * @offset: what it speaks of,
 * @len: 0 for all that follows.
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
