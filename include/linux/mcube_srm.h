/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The hooks of SRM-buffer in the page cache.
 *
 * Copyright (C) 2026 The mcube authors
 *
 * Behind a static key; with CONFIG_MCUBE_SRM=n all of them vanish.
 */
#ifndef _LINUX_MCUBE_SRM_H
#define _LINUX_MCUBE_SRM_H

#include <linux/cleanup.h>
#include <linux/compiler.h>
#include <linux/fs.h>
#include <linux/jump_label.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/types.h>

#ifdef CONFIG_MCUBE_SRM

#include <linux/pagemap.h>

DECLARE_STATIC_KEY_FALSE(mcube_srm_key);

struct folio *mcube_srm_alloc_folio(struct address_space *mapping, gfp_t gfp,
				    unsigned int order, pgoff_t index);
unsigned int mcube_srm_max_order(struct address_space *mapping,
				 unsigned int order);

/**
 * mapping_alloc_folio() - a folio for the page cache of a file
 * @mapping: the file's.
 * @gfp: as for filemap_alloc_folio().
 * @order: likewise.
 * @index: page index that the folio is for.
 *
 * A macro around this, so that memory allocation profiling sees the caller.
 *
 * Return: the folio, or NULL.
 */
static inline struct folio *
mapping_alloc_folio_noprof(struct address_space *mapping, gfp_t gfp,
			   unsigned int order, pgoff_t index)
{
	if (static_branch_unlikely(&mcube_srm_key))
		return mcube_srm_alloc_folio(mapping, gfp, order, index);
	return filemap_alloc_folio_noprof(gfp, order);
}

#define mapping_alloc_folio(...)					\
	alloc_hooks(mapping_alloc_folio_noprof(__VA_ARGS__))

/**
 * struct mcube_srm_batch - a row of pages of a file that this task will allocate
 * @mapping: the file's; NULL: nothing is known of it.
 * @last: page index of the last.
 * @folios: some of them, allocated ahead.
 * @stat: what they were counted as.
 * @outer: the row that this one interrupts: readahead in a page fault of
 *         write()'s source.
 */
struct mcube_srm_batch {
	struct address_space *mapping;
	pgoff_t last;
	struct list_head folios;
	unsigned int stat;
	struct mcube_srm_batch *outer;
};

void __mcube_srm_batch_begin(struct mcube_srm_batch *batch,
			 struct address_space *mapping, pgoff_t last);
void __mcube_srm_batch_end(struct mcube_srm_batch *batch);

/**
 * mcube_srm_batch_begin() - this task will allocate pages of a file in a row
 * @batch: storage for the scope.
 * @mapping: the file's.
 * @last: page index of the last page.
 *
 * mapping_alloc_folio() may take several pages at once while the scope lasts:
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
 * mcube_srm_batch_end() - end of the scope; pages that were not used are freed
 * @batch: of mcube_srm_batch_begin().
 */
static inline void mcube_srm_batch_end(struct mcube_srm_batch *batch)
{
	if (unlikely(batch->mapping))
		__mcube_srm_batch_end(batch);
}

/**
 * mcube_srm_order() - order of a folio that is to be allocated for a file
 * @mapping: the file's.
 * @order: what would be right otherwise.
 *
 * What is larger than a region has colors that its sequence should not have.
 *
 * Return: @order, or the most that has one region, or the least that the file
 * allows.
 */
static inline unsigned int mcube_srm_order(struct address_space *mapping,
					   unsigned int order)
{
	return static_branch_unlikely(&mcube_srm_key) ?
		mcube_srm_max_order(mapping, order) : order;
}

void __mcube_srm_read(const struct kiocb *iocb);
void __mcube_srm_advise(struct address_space *mapping, loff_t offset,
			loff_t len, int advice);

/**
 * mcube_srm_read() - page cache is about to be read
 * @iocb: of the read.
 */
static inline void mcube_srm_read(const struct kiocb *iocb)
{
	if (static_branch_unlikely(&mcube_srm_key) && !iocb->ki_pos)
		__mcube_srm_read(iocb);
}

/**
 * mcube_srm_advise() - a program says what it does with a file
 * @mapping: the file's.
 * @offset: what it speaks of,
 * @len: 0 for all that follows.
 * @advice: POSIX_FADV_*.
 */
static inline void mcube_srm_advise(struct address_space *mapping,
				    loff_t offset, loff_t len, int advice)
{
	if (static_branch_unlikely(&mcube_srm_key))
		__mcube_srm_advise(mapping, offset, len, advice);
}

void __mcube_srm_program(struct address_space *mapping);

/**
 * mcube_srm_mmap() - a task is about to map something
 * @file: what; NULL for anonymous memory.
 * @vm_flags: of the mapping.
 */
static inline void mcube_srm_mmap(const struct file *file,
				  vm_flags_t vm_flags)
{
	if (static_branch_unlikely(&mcube_srm_key) && file &&
	    vm_flags & VM_EXEC)
		__mcube_srm_program(file->f_mapping);
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

#define mcube_srm_read(iocb)		((void)(iocb))
#define mcube_srm_mmap(file, vm_flags)	((void)(file), (void)(vm_flags))
#define mcube_srm_advise(mapping, offset, len, advice)			\
	((void)(mapping), (void)(offset), (void)(len), (void)(advice))
#define mapping_alloc_folio(mapping, gfp, order, index)			\
	((void)(mapping), (void)(index), filemap_alloc_folio(gfp, order))
#define mcube_srm_order(mapping, order)	((void)(mapping), (order))

#endif /* CONFIG_MCUBE_SRM */

DEFINE_CLASS(mcube_srm_batch, struct mcube_srm_batch *,
	     mcube_srm_batch_end(_T), mcube_srm_batch_begin(batch, mapping, last),
	     struct mcube_srm_batch *batch, struct address_space *mapping,
	     pgoff_t last)

#endif /* _LINUX_MCUBE_SRM_H */
