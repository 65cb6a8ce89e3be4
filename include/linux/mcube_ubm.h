/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The hooks of UBM in the page cache, in reclaim and in memory cgroups.
 *
 * Copyright (C) 2026 The mcube authors
 *
 * All hooks are behind static keys, and vanish with CONFIG_MCUBE_UBM=n.  Reclaim
 * asks while UBM is on; references are noted while a memory cgroup has a domain.
 *
 * References are noted by chunks of pages: a read that stays in the chunk of the
 * previous read of its descriptor costs the test in mcube_ubm_leaves() and
 * nothing else.
 */
#ifndef _LINUX_MCUBE_UBM_H
#define _LINUX_MCUBE_UBM_H

#include <linux/fs.h>
#include <linux/types.h>

struct folio;
struct folio_batch;
struct mem_cgroup;
struct vm_fault;

#ifdef CONFIG_MCUBE_UBM

#include <linux/jump_label_ratelimit.h>
#include <linux/pagemap.h>

DECLARE_STATIC_KEY_FALSE(mcube_ubm_key);
extern struct static_key_false_deferred mcube_ubm_refs_key;

/* An aligned block of 16 pages is a chunk. */
#define MCUBE_UBM_CHUNK_SHIFT	4

void __mcube_ubm_read(struct file *file, const struct folio_batch *folios,
		      loff_t prev, loff_t pos, loff_t end, loff_t size);
void __mcube_ubm_splice(struct file *file, struct folio *folio, loff_t pos,
			size_t len, loff_t size);
void __mcube_ubm_fault(const struct vm_fault *vmf, struct folio *folio);
void __mcube_ubm_mapped(const struct vm_fault *vmf, pgoff_t end);
void __mcube_ubm_added(struct address_space *mapping, struct folio *folio);
bool __mcube_ubm_holds(struct folio *folio, const struct mem_cgroup *target,
		       int priority, unsigned long reclaimed);
void __mcube_ubm_offline(struct mem_cgroup *memcg);

/*
 * Does a read up to @end leave the chunk of @prev, or come to the last page of a file?  A
 * small file that a descriptor reads again has been there before.  The reader may need
 * many reads for the last page; the first of them counts.
 */
static inline bool mcube_ubm_leaves(loff_t prev, loff_t pos, loff_t end, loff_t size)
{
	loff_t differ = (prev - 1) ^ (end - 1);

	return differ >> (PAGE_SHIFT + MCUBE_UBM_CHUNK_SHIFT) ||
	       (!(((size - 1) ^ (end - 1)) >> PAGE_SHIFT) &&
		(differ >> PAGE_SHIFT || pos < prev));
}

/**
 * mcube_ubm_read() - pages that read() found or read in are about to be copied
 * @file: the descriptor.
 * @folios: the folios; not empty.
 * @prev: end of the previous read of the descriptor, -1 for none.
 * @pos: where the copy begins.
 * @end: where the copy ends at the latest.
 * @size: size of the file.
 */
static inline void mcube_ubm_read(struct file *file,
				  const struct folio_batch *folios, loff_t prev,
				  loff_t pos, loff_t end, loff_t size)
{
	if (static_branch_unlikely(&mcube_ubm_refs_key.key) &&
	    mcube_ubm_leaves(prev, pos, end, size))
		__mcube_ubm_read(file, folios, prev, pos, end, size);
}

/**
 * mcube_ubm_splice() - a folio goes into a pipe
 * @file: the descriptor, whose f_ra.prev_pos is the end of its previous read.
 * @folio: the folio.
 * @pos: where the copy begins.
 * @len: its length in bytes.
 * @size: size of the file.
 */
static inline void mcube_ubm_splice(struct file *file, struct folio *folio,
				    loff_t pos, size_t len, loff_t size)
{
	if (static_branch_unlikely(&mcube_ubm_refs_key.key) &&
	    mcube_ubm_leaves(file->f_ra.prev_pos, pos, pos + len, size))
		__mcube_ubm_splice(file, folio, pos, len, size);
}

/**
 * mcube_ubm_fault() - a page fault maps a single page of a file
 * @vmf: the fault.
 * @folio: the folio.
 */
static inline void mcube_ubm_fault(const struct vm_fault *vmf,
				   struct folio *folio)
{
	if (static_branch_unlikely(&mcube_ubm_refs_key.key))
		__mcube_ubm_fault(vmf, folio);
}

/**
 * mcube_ubm_mapped() - a page fault has mapped pages that are in the page cache
 * @vmf: the fault.
 * @found: its page is among them.
 * @end: page after the last of them; not behind the page of the fault if a whole folio
 *       was mapped.
 */
static inline void mcube_ubm_mapped(const struct vm_fault *vmf, bool found,
				    pgoff_t end)
{
	if (static_branch_unlikely(&mcube_ubm_refs_key.key) && found)
		__mcube_ubm_mapped(vmf, end);
}

/**
 * mcube_ubm_added() - a folio came into the page cache
 * @mapping: page cache of the file.
 * @folio: the folio, charged.
 * @gfp: flags of filemap_add_folio().
 */
static inline void mcube_ubm_added(struct address_space *mapping,
				   struct folio *folio, gfp_t gfp)
{
	if (static_branch_unlikely(&mcube_ubm_refs_key.key) && !(gfp & __GFP_WRITE))
		__mcube_ubm_added(mapping, folio);
}

/**
 * mcube_ubm_holds() - does reclaim keep a folio, as its file is read in a loop?
 * @folio: the folio, locked.
 * @target: memory cgroup whose limit is reclaimed for, NULL for all.
 * @priority: how urgent reclaim is, scan_control::priority.
 * @reclaimed: pages that this reclaim has freed so far.
 *
 * Return: true if the folio stays.
 */
static inline bool mcube_ubm_holds(struct folio *folio,
				   const struct mem_cgroup *target, int priority,
				   unsigned long reclaimed)
{
	return static_branch_unlikely(&mcube_ubm_key) &&
	       __mcube_ubm_holds(folio, target, priority, reclaimed);
}

/**
 * mcube_ubm_offline() - a memory cgroup goes
 * @memcg: the memory cgroup.
 */
static inline void mcube_ubm_offline(struct mem_cgroup *memcg)
{
	if (static_branch_unlikely(&mcube_ubm_key))
		__mcube_ubm_offline(memcg);
}

#else /* CONFIG_MCUBE_UBM */

static inline void mcube_ubm_read(struct file *file,
				  const struct folio_batch *folios, loff_t prev,
				  loff_t pos, loff_t end, loff_t size)
{
}

static inline void mcube_ubm_splice(struct file *file, struct folio *folio,
				    loff_t pos, size_t len, loff_t size)
{
}

static inline void mcube_ubm_fault(const struct vm_fault *vmf,
				   struct folio *folio)
{
}

static inline void mcube_ubm_mapped(const struct vm_fault *vmf, bool found,
				    pgoff_t end)
{
}

static inline void mcube_ubm_added(struct address_space *mapping,
				   struct folio *folio, gfp_t gfp)
{
}

static inline bool mcube_ubm_holds(struct folio *folio,
				   const struct mem_cgroup *target, int priority,
				   unsigned long reclaimed)
{
	return false;
}

static inline void mcube_ubm_offline(struct mem_cgroup *memcg)
{
}

#endif /* CONFIG_MCUBE_UBM */

#endif /* _LINUX_MCUBE_UBM_H */
