// SPDX-License-Identifier: GPL-2.0
/*
 * UBM: from a read to the policy
 *
 * Copyright (C) 2026 The mcube authors
 *
 *   read(), splice(), fault
 *     |  left its chunk of 16 pages, or reached the last page of the file?  (inline)
 *     v
 *   file read at random?  only reads of sampled pages pass
 *     v
 *   domain of the folio; nothing more if it has not reclaimed lately
 *     v
 *   row of pages of this CPU ---- the same reader goes on: the row grows
 *     |  another file, end of the file, or a quantum of pages
 *     v
 *   core, for a part of the row at a time, under the lock of the domain: runs, partitions
 *     v
 *   pages that may go now -> reclaim.c, by the page cache of the caller
 *
 * So a CPU takes the lock of a domain once for a quantum of pages that are read in
 * a row.  The domain keeps no pointer to a file: files are known by device, inode
 * number and generation, and pages are looked for only in the file that the caller
 * has open.
 *
 * A mapped file is noted when a fault maps pages.  If the page of the fault is in
 * the page cache, the kernel maps the pages around it too (see do_fault_around()),
 * and no further fault tells which of them are used.  The pages from that of the fault
 * on are noted, unless the program said MADV_RANDOM: a program that reads in order
 * has used all pages before, and they were noted then.
 */

#include <linux/bits.h>
#include <linux/cgroup.h>
#include <linux/fs.h>
#include <linux/jiffies.h>
#include <linux/mcube_ubm.h>
#include <linux/memcontrol.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/pagevec.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/rcupdate.h>
#include <linux/shmem_fs.h>
#include <linux/spinlock.h>
#include <trace/events/mcube_ubm.h>

#include "internal.h"

#define CHUNK_PAGES	BIT_ULL(MCUBE_UBM_CHUNK_SHIFT)

/* Pages that the core is told of under the lock of a domain at a time. */
#define PART		256U

static bool same_file(const struct mcube_ubm_refs *a,
		      const struct mcube_ubm_refs *b)
{
	return a->hash == b->hash && a->key.ino == b->key.ino &&
	       a->key.dev == b->key.dev && a->key.gen == b->key.gen;
}

/*
 * Add references to the row of this CPU.  Readers that take turns never let a row grow:
 * a file that was not read here last is not collected, as its own pages can be moved
 * now, and cannot when the row makes room for another file.  Return: the number of rows
 * that are done and taken out into @done.
 */
static unsigned int collect(struct mcube_ubm_domain *d,
			    const struct mcube_ubm_refs *new,
			    struct mcube_ubm_refs done[2])
{
	struct mcube_ubm_refs *row = &get_cpu_ptr(d->cpu)->refs;
	unsigned int nr = 0;
	bool other = false;

	if (row->first < row->end && same_file(row, new) &&
	    new->prev == new->first && new->first >= row->end &&
	    new->first - row->end < CHUNK_PAGES) {
		row->end = new->end;
		row->eof = new->eof;
	} else {
		other = !same_file(row, new);
		if (row->first < row->end)
			done[nr++] = *row;
		*row = *new;
	}
	if (other || row->eof || row->end - row->first >= READ_ONCE(d->quantum)) {
		done[nr++] = *row;
		row->first = row->end;
	}
	put_cpu_ptr(d->cpu);
	return nr;
}

static void trace(const struct mcube_ubm_domain *d,
		  const struct mcube_ubm_refs *refs,
		  const struct mcube_ubm_verdict *v)
{
	u64 id = mcube_ubm_domain_id(d);

	trace_mcube_ubm_note(id, &refs->key, v->from, refs->end, v->class);
	if (v->changed && v->run)
		trace_mcube_ubm_run(id, &refs->key, v->run);
	if (v->balanced)
		trace_mcube_ubm_balance(id, d->core);
	if (v->guard_changed)
		trace_mcube_ubm_guard(id, mcube_ubm_guard_on(&d->core->guard));
}

/* Tell the core of a part of a row. */
static void tell(struct mcube_ubm_domain *d, const struct mcube_ubm_refs *refs,
		 bool away, struct mcube_ubm_verdict *v)
{
	unsigned long missed = this_cpu_xchg(d->cpu->missed, 0);

	spin_lock(&d->lock);
	d->core->missed += missed;
	mcube_ubm_core_note(d->core, refs, away, v);
	if (v->run && v->run->held && READ_ONCE(d->kept))
		WRITE_ONCE(d->kept, 0);
	if (v->balanced)
		mcube_ubm_domain_resized(d, mcube_ubm_domain_capacity(d->memcg));
	WRITE_ONCE(d->quiet, d->quiet + min(v->refs, ~d->quiet));
	WRITE_ONCE(d->noted, jiffies);
	trace(d, refs, v);
	if (v->guard_changed && mcube_ubm_guard_on(&d->core->guard))
		mcube_ubm_count(MCUBE_UBM_GUARDED, 1);
	spin_unlock(&d->lock);
	mcube_ubm_count(MCUBE_UBM_NOTED, refs->end - refs->first);
}

/*
 * Is a read left out?  A reader that goes on is always noted.  Reads beyond the block of
 * the first page are too long to matter; the core looks at all their pages.  Inline, so
 * that __mcube_ubm_read() is a leaf.
 */
static __always_inline bool left_out(const struct address_space *mapping, loff_t prev,
				     loff_t pos, loff_t end)
{
	u64 word = READ_ONCE(mapping->mcube_ubm);
	pgoff_t first = pos >> PAGE_SHIFT, last = (end - 1) >> PAGE_SHIFT;

	return word & MCUBE_UBM_SHIFT && pos != prev &&
	       !((first ^ last) >> MCUBE_UBM_BLOCK_SHIFT) &&
	       mcube_ubm_unsampled(word >> 32, first, word & MCUBE_UBM_SHIFT) > last - first;
}

/* Does the domain of a folio want to know of references? */
static inline bool wanted(struct folio *folio)
{
	const struct mcube_ubm_domain *d;
	bool ret;

	rcu_read_lock();
	d = mcube_ubm_domain_of(folio);
	ret = d && !mcube_ubm_domain_idle(d);
	rcu_read_unlock();
	return ret;
}

/* Index after the page that a position lies behind. */
static u32 page_after(loff_t pos)
{
	return pos < 0 ? MCUBE_UBM_NO_PREV : DIV_ROUND_UP_ULL(pos, PAGE_SIZE);
}

/* Pages that a read from @pos to @end references; @prev as in mcube_ubm_read(). */
static struct mcube_ubm_refs refs_of(loff_t prev, loff_t pos, loff_t end,
				     loff_t size)
{
	struct mcube_ubm_refs refs = { };

	/* The core counts pages in 32 bits. */
	if (unlikely(max(end, prev) >> PAGE_SHIFT >= MCUBE_UBM_NO_PREV))
		return refs;
	refs.prev = page_after(prev);
	/* A reader that goes on within a page has referenced that page before. */
	refs.first = pos == prev ? refs.prev : pos >> PAGE_SHIFT;
	refs.end = page_after(end);
	refs.eof = (end - 1) >> PAGE_SHIFT >= (size - 1) >> PAGE_SHIFT;
	return refs;
}

/*
 * Tell the core of a row.  Large folios make a row of thousands of pages; the lock is
 * taken for PART of them at a time.  @away: @mapping is not that of the file.
 */
static void hand_over(struct mcube_ubm_domain *d, struct address_space *mapping,
		      const struct mcube_ubm_refs *row, bool away,
		      const struct mcube_ubm_hand *hand)
{
	struct mcube_ubm_refs part = *row;
	struct mcube_ubm_verdict v;
	unsigned int i;
	u64 word;

	for (; part.first < row->end; part.first = part.end, part.prev = part.end) {
		part.end = part.first + min(row->end - part.first, PART);
		part.eof = row->eof && part.end == row->end;
		tell(d, &part, away, &v);
		if (away)
			continue;
		word = mcube_ubm_word(row->hash, v.shift);
		if (READ_ONCE(mapping->mcube_ubm) != word)
			WRITE_ONCE(mapping->mcube_ubm, word);
		for (i = 0; i < v.nr_propose; i++)
			mcube_ubm_propose(d, mapping, &v.propose[i], hand);
	}
}

/* The caller has a reference of the folios of @new, and of the page @at before these. */
static void note(struct address_space *mapping, struct folio *folio,
		 struct mcube_ubm_refs *new, pgoff_t at)
{
	const struct mcube_ubm_hand hand = { .first = at, .end = new->end };
	struct inode *inode = mapping->host;
	struct mcube_ubm_refs done[2];
	struct mcube_ubm_domain *d;
	unsigned int i, nr;

	if (!S_ISREG(inode->i_mode) || new->first >= new->end)
		return;
	rcu_read_lock();
	d = mcube_ubm_domain_of(folio);
	if (d && !mcube_ubm_domain_idle(d)) {
		new->key = mcube_ubm_key_of(inode);
		new->hash = mcube_ubm_hash_of(mapping, &new->key);
		nr = collect(d, new, done);
		for (i = 0; i < nr; i++)
			hand_over(d, mapping, &done[i], !same_file(&done[i], new), &hand);
	}
	rcu_read_unlock();
}

static noinline __noclone void
note_read(struct file *file, const struct folio_batch *folios, loff_t prev,
	  loff_t pos, loff_t end, loff_t size)
{
	struct folio *last = folios->folios[folios->nr - 1];
	loff_t have = folio_pos(last) + folio_size(last);
	struct mcube_ubm_refs refs;

	/* A long read comes by again with the next folios. */
	refs = refs_of(prev, pos, min(have, end), size);
	note(file->f_mapping, folios->folios[0], &refs, pos >> PAGE_SHIFT);
}

/* See mcube_ubm_read().  A leaf that saves no register if nothing is noted. */
void __mcube_ubm_read(struct file *file, const struct folio_batch *folios,
		      loff_t prev, loff_t pos, loff_t end, loff_t size)
{
	if (!left_out(file->f_mapping, prev, pos, end) && wanted(folios->folios[0]))
		note_read(file, folios, prev, pos, end, size);
}

/* See mcube_ubm_splice(). */
void __mcube_ubm_splice(struct file *file, struct folio *folio, loff_t pos,
			size_t len, loff_t size)
{
	loff_t prev = file->f_ra.prev_pos;
	struct mcube_ubm_refs refs;

	if (left_out(file->f_mapping, prev, pos, pos + len) || !wanted(folio))
		return;
	refs = refs_of(prev, pos, pos + len, size);
	note(file->f_mapping, folio, &refs, pos >> PAGE_SHIFT);
}

/* A fault at its page has mapped the pages up to @end, which is behind the page. */
static void note_fault(const struct vm_fault *vmf, struct address_space *mapping,
		       struct folio *folio, pgoff_t end)
{
	struct mcube_ubm_refs refs = { .prev = MCUBE_UBM_NO_PREV };

	if (end >= MCUBE_UBM_NO_PREV)
		return;
	refs.first = vmf->pgoff;
	refs.end = end;
	refs.eof = end >= DIV_ROUND_UP_ULL(i_size_read(mapping->host), PAGE_SIZE);
	note(mapping, folio, &refs, vmf->pgoff);
}

static bool fault_left_out(const struct address_space *mapping,
			   const struct vm_fault *vmf, pgoff_t end)
{
	return left_out(mapping, -1, (loff_t)vmf->pgoff << PAGE_SHIFT, (loff_t)end << PAGE_SHIFT);
}

/* See mcube_ubm_fault(). */
void __mcube_ubm_fault(const struct vm_fault *vmf, struct folio *folio)
{
	if (!fault_left_out(folio->mapping, vmf, vmf->pgoff + 1) && wanted(folio))
		note_fault(vmf, folio->mapping, folio, vmf->pgoff + 1);
}

/* See mcube_ubm_mapped(). */
void __mcube_ubm_mapped(const struct vm_fault *vmf, pgoff_t end)
{
	struct address_space *mapping = vmf->vma->vm_file->f_mapping;
	struct folio *folio;

	/* A folio that is mapped as a whole gives no @end, and is noted in any case. */
	if (shmem_mapping(mapping) || (end > vmf->pgoff && fault_left_out(mapping, vmf, end)))
		return;
	folio = filemap_get_folio(mapping, vmf->pgoff);
	if (IS_ERR(folio))
		return;
	if (wanted(folio)) {
		if (vmf->vma->vm_flags & VM_RAND_READ)
			end = vmf->pgoff + 1;
		else if (end <= vmf->pgoff)
			end = folio_next_index(folio);
		note_fault(vmf, mapping, folio, end);
	}
	folio_put(folio);
}

/* See mcube_ubm_added(). */
void __mcube_ubm_added(struct address_space *mapping, struct folio *folio)
{
	const unsigned long pages = folio_nr_pages(folio);
	const pgoff_t next = folio_next_index(folio);
	struct mcube_ubm_domain *d;
	struct mcube_ubm_key key;
	unsigned long at;
	u32 hash;

	if (!S_ISREG(mapping->host->i_mode) ||
	    next >= MCUBE_UBM_NO_PREV)
		return;
	rcu_read_lock();
	d = mcube_ubm_domain_of(folio);
	if (d && !mcube_ubm_domain_idle(d)) {
		mcube_ubm_count(MCUBE_UBM_ADDED, pages);
		key = mcube_ubm_key_of(mapping->host);
		hash = mcube_ubm_hash_of(mapping, &key);
		if (mcube_ubm_next_sampled(hash, folio->index, next,
					   READ_ONCE(d->core->lru.shift)) < next) {
			for (at = 0; at < pages; at += PART) {
				spin_lock(&d->lock);
				mcube_ubm_core_missed(d->core, hash, folio->index + at,
						      min(pages - at, (unsigned long)PART));
				spin_unlock(&d->lock);
			}
		} else {
			this_cpu_add(d->cpu->missed, pages);
		}
	}
	rcu_read_unlock();
}
