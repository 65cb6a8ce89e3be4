/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The hooks of SRM-buffer in the page cache.
 *
 * Copyright (C) 2026 The mcube authors
 *
 * All hooks are behind a static key, and vanish with CONFIG_MCUBE_SRM=n.
 */
#ifndef _LINUX_MCUBE_SRM_H
#define _LINUX_MCUBE_SRM_H

#include <linux/cleanup.h>
#include <linux/compiler.h>
#include <linux/fs.h>
#include <linux/jump_label.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/types.h>

#ifdef CONFIG_MCUBE_SRM

#include <linux/pagemap.h>

DECLARE_STATIC_KEY_FALSE(mcube_srm_key);

struct folio *mcube_srm_alloc_folio(struct address_space *mapping,
				    const struct file *file, gfp_t gfp,
				    unsigned int order, pgoff_t index);
unsigned int mcube_srm_max_order(struct address_space *mapping,
				 unsigned int order);
unsigned int mcube_srm_max_ra_order(const struct readahead_control *ractl,
				    unsigned int order);

/**
 * mapping_alloc_folio() - a folio for the page cache of a file
 * @mapping: page cache of the file.
 * @file: the descriptor that the folio is read in for; NULL if it is not known.
 * @gfp: flags, as for filemap_alloc_folio().
 * @order: order of the folio, as for filemap_alloc_folio().
 * @index: page index that the folio is for.
 *
 * A macro around mapping_alloc_folio_noprof(), so that memory allocation
 * profiling sees the caller.
 *
 * Return: the folio, or NULL.
 */
static inline struct folio *
mapping_alloc_folio_noprof(struct address_space *mapping,
			   const struct file *file, gfp_t gfp,
			   unsigned int order, pgoff_t index)
{
	if (static_branch_unlikely(&mcube_srm_key))
		return mcube_srm_alloc_folio(mapping, file, gfp, order, index);
	return filemap_alloc_folio_noprof(gfp, order);
}

#define mapping_alloc_folio(...)					\
	alloc_hooks(mapping_alloc_folio_noprof(__VA_ARGS__))

/**
 * struct mcube_srm_batch - a row of pages that this task will allocate for a file
 * @mapping: page cache of the file; NULL if the policy is off.
 * @last: page index of the last page.
 * @folios: pages that were allocated ahead; empty while the task waits for the
 *          handler of a fault, unless the policy was switched off meanwhile.
 * @ahead: pages that were allocated ahead last, if they may be there still.
 * @segment: segment that these pages belong to; NULL if they have none.
 * @epoch: epoch of the policy when they were allocated.
 * @group: their color group.
 * @order: order of these folios.
 * @stat: counter that these pages were counted in.
 * @advice: what is said of all pages of the file that the task allocates in the
 *          scope, enum mcube_advice.
 * @outer: the row that this row interrupts, for example when a page fault on
 *         the source of a write() starts readahead.
 */
struct mcube_srm_batch {
	struct address_space *mapping;
	pgoff_t last;
	struct list_head folios;
	unsigned int ahead;
	u32 *segment;
	u32 epoch;
	unsigned int group;
	unsigned int order;
	unsigned int stat;
	unsigned int advice;
	struct mcube_srm_batch *outer;
};

void __mcube_srm_batch_begin(struct mcube_srm_batch *batch,
			     struct address_space *mapping, pgoff_t last);
void __mcube_srm_batch_end(struct mcube_srm_batch *batch);
void __mcube_srm_batch_release(struct mcube_srm_batch *batch);

/**
 * mcube_srm_batch_begin() - this task will allocate pages of a file in a row
 * @batch: storage for the scope.
 * @mapping: page cache of the file.
 * @last: page index of the last page.
 *
 * mapping_alloc_folio() may allocate several pages at once in the scope:
 *
 *	struct mcube_srm_batch batch;
 *	CLASS(mcube_srm_batch, scope)(&batch, mapping, last);
 *
 * Return: @batch.
 */
static inline struct mcube_srm_batch *
mcube_srm_batch_begin(struct mcube_srm_batch *batch,
		      struct address_space *mapping, pgoff_t last)
{
	batch->mapping = NULL;
	if (static_branch_unlikely(&mcube_srm_key))
		__mcube_srm_batch_begin(batch, mapping, last);
	return batch;
}

/**
 * mcube_srm_batch_end() - end of the scope; frees pages that were not used
 * @batch: batch of mcube_srm_batch_begin().
 */
static inline void mcube_srm_batch_end(struct mcube_srm_batch *batch)
{
	if (unlikely(batch->mapping))
		__mcube_srm_batch_end(batch);
}

/**
 * mcube_srm_batch_release() - this task waits for as long as another process likes
 *
 * Frees the pages that the task has allocated ahead, as they are charged to no cgroup.
 *
 * Context: process, also as it is about to sleep: takes spinlocks alone.
 */
static inline void mcube_srm_batch_release(void)
{
	if (static_branch_unlikely(&mcube_srm_key) && current->mcube_srm_batch)
		__mcube_srm_batch_release(current->mcube_srm_batch);
}

/**
 * mcube_srm_order() - order of a folio that will be allocated for a file
 * @mapping: page cache of the file.
 * @order: the order that the folio would have without the policy.
 *
 * A folio larger than a color group allows has colors of other groups as well.
 *
 * Return: @order, or the largest order that keeps to one color group, but not
 * less than the file demands.
 */
static inline unsigned int mcube_srm_order(struct address_space *mapping,
					   unsigned int order)
{
	return static_branch_unlikely(&mcube_srm_key) ?
		mcube_srm_max_order(mapping, order) : order;
}

/**
 * mcube_srm_ra_order() - order of folios that readahead will allocate
 * @ractl: the readahead.
 * @order: the order that the folios would have without the policy.
 *
 * Return: see mcube_srm_order(); @order for MADV_HUGEPAGE.
 */
static inline unsigned int
mcube_srm_ra_order(const struct readahead_control *ractl, unsigned int order)
{
	return static_branch_unlikely(&mcube_srm_key) ?
		mcube_srm_max_ra_order(ractl, order) : order;
}

void __mcube_srm_read(const struct kiocb *iocb, size_t count);
void __mcube_srm_advise(struct mcube_srm_batch *batch, const struct file *file,
			loff_t offset, loff_t len, int advice);
void __mcube_srm_fault(struct mcube_srm_batch *batch,
		       const struct vm_fault *vmf);

/**
 * mcube_srm_read() - page cache is about to be read
 * @iocb: the read.
 * @count: bytes that are wanted.
 */
static inline void mcube_srm_read(const struct kiocb *iocb, size_t count)
{
	if (static_branch_unlikely(&mcube_srm_key) && !iocb->ki_pos)
		__mcube_srm_read(iocb, count);
}

/**
 * mcube_srm_advise_begin() - a program says what it does with a file
 * @batch: storage for the scope, up to mcube_srm_batch_end(), in which the advice
 *         is followed.
 * @file: the descriptor that the advice is for.
 * @offset: first byte that the advice is for.
 * @len: number of bytes, 0 for all that follow.
 * @advice: POSIX_FADV_*.
 *
 * Return: @batch.
 */
static inline struct mcube_srm_batch *
mcube_srm_advise_begin(struct mcube_srm_batch *batch, const struct file *file,
		       loff_t offset, loff_t len, int advice)
{
	batch->mapping = NULL;
	if (static_branch_unlikely(&mcube_srm_key))
		__mcube_srm_advise(batch, file, offset, len, advice);
	return batch;
}

/**
 * mcube_srm_fault_begin() - a page of a mapped file is needed
 * @batch: storage for the scope, up to mcube_srm_batch_end(), in which pages of
 *         the file may be read in.
 * @vmf: the fault.
 *
 * Return: @batch.
 */
static inline struct mcube_srm_batch *
mcube_srm_fault_begin(struct mcube_srm_batch *batch, const struct vm_fault *vmf)
{
	batch->mapping = NULL;
	if (static_branch_unlikely(&mcube_srm_key) &&
	    (vmf->flags & FAULT_FLAG_INSTRUCTION ||
	     vmf->vma->vm_file->f_mode & FMODE_NOREUSE))
		__mcube_srm_fault(batch, vmf);
	return batch;
}

#else /* CONFIG_MCUBE_SRM */

struct mcube_srm_batch {
};

static inline struct mcube_srm_batch *
mcube_srm_batch_begin(struct mcube_srm_batch *batch,
		      struct address_space *mapping, pgoff_t last)
{
	return batch;
}

static inline void mcube_srm_batch_end(struct mcube_srm_batch *batch)
{
}

static inline void mcube_srm_batch_release(void)
{
}

static inline struct mcube_srm_batch *
mcube_srm_advise_begin(struct mcube_srm_batch *batch, const struct file *file,
		       loff_t offset, loff_t len, int advice)
{
	return batch;
}

static inline struct mcube_srm_batch *
mcube_srm_fault_begin(struct mcube_srm_batch *batch, const struct vm_fault *vmf)
{
	return batch;
}

#define mcube_srm_read(iocb, count)	((void)(iocb), (void)(count))
#define mapping_alloc_folio(mapping, file, gfp, order, index)		\
	((void)(mapping), (void)(file), (void)(index),			\
	 filemap_alloc_folio(gfp, order))
#define mcube_srm_order(mapping, order)	((void)(mapping), (order))
#define mcube_srm_ra_order(ractl, order)	((void)(ractl), (order))

#endif /* CONFIG_MCUBE_SRM */

DEFINE_CLASS(mcube_srm_batch, struct mcube_srm_batch *,
	     mcube_srm_batch_end(_T), mcube_srm_batch_begin(batch, mapping, last),
	     struct mcube_srm_batch *batch, struct address_space *mapping,
	     pgoff_t last)

DEFINE_CLASS(mcube_srm_advise, struct mcube_srm_batch *,
	     mcube_srm_batch_end(_T),
	     mcube_srm_advise_begin(batch, file, offset, len, advice),
	     struct mcube_srm_batch *batch, const struct file *file,
	     loff_t offset, loff_t len, int advice)

DEFINE_CLASS(mcube_srm_fault, struct mcube_srm_batch *,
	     mcube_srm_batch_end(_T), mcube_srm_fault_begin(batch, vmf),
	     struct mcube_srm_batch *batch, const struct vm_fault *vmf)

#endif /* _LINUX_MCUBE_SRM_H */
