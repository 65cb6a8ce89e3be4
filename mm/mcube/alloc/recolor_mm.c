// SPDX-License-Identifier: GPL-2.0
/*
 * Recoloring: pages of a process, known by their addresses
 *
 * Copyright (C) 2026 The mcube authors
 *
 *   addresses
 *      |            mmap lock, page table lock of each address
 *      |            large folios get a reference
 *      v
 *   split_large()   without these locks: split_folio()
 *      |
 *      |            mmap lock, page table lock of each address
 *      v
 *   isolate()       refused | there already | taken off the LRU list
 *      |
 *      |            without these locks
 *      v
 *   mcube_recolor() moved | refused
 *
 * While the page table lock is held, the page stays mapped, so it is not freed.
 * After that the isolated page has a reference of its own, and migrate_pages() copes
 * with a page that is unmapped or freed meanwhile.  Nothing of the first look is
 * remembered but the folio that shall be split: its page may have moved or have gone
 * when isolate() looks again.
 *
 * The process that owns the pages may want its mmap lock, so mcube_recolor_mm() never
 * waits for this lock and holds it for a few pages at a time.
 *
 * Pages that several processes have mapped are spread, but not gathered in the
 * reserved colors: a page that pollutes the cache in one process may be used
 * again in another process.
 *
 * Pages of files do not move, those of shared memory included.  They belong to all who
 * use the file, now or later, and outlive the process: nobody would move them back.
 * Where pages of a file lie is for SRM-buffer to decide.
 */

#include <linux/errno.h>
#include <linux/export.h>
#include <linux/gfp.h>
#include <linux/ksm.h>
#include <linux/list.h>
#include <linux/mcube_map.h>
#include <linux/memremap.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/mmap_lock.h>
#include <linux/pagewalk.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/swap.h>

#include "../map/map.h"
#include "policy.h"
#include "recolor.h"

/**
 * struct place - a mapped page, with its page table locked
 * @dim: colors of the address map.
 * @vma: the mapping.
 * @walk: the page, see folio_walk_start().
 * @folio: the folio that the page is in.
 */
struct place {
	const struct mcube_dim *dim;
	struct vm_area_struct *vma;
	struct folio_walk walk;
	struct folio *folio;
};

/* Go to the page at an address; false if no page is there that could move. */
static bool enter(struct place *p, struct mm_struct *mm, unsigned long addr)
{
	p->vma = vma_lookup(mm, addr);
	if (!p->vma)
		return false;
	p->folio = folio_walk_start(&p->walk, p->vma, addr, 0);
	return p->folio;
}

static void leave(struct place *p)
{
	/* Sparse is not told that folio_walk_start() takes locks. */
#ifndef __CHECKER__
	folio_walk_end(&p->walk, p->vma);
#endif
}

static bool is_there(const struct place *p, enum mcube_recolor_to to)
{
	unsigned int color = mcube_dim_value(p->dim, page_to_pfn(p->walk.page));

	return mcube_reserve_has(color) == (to == MCUBE_RECOLOR_POLLUTE);
}

static bool may_move(const struct place *p, enum mcube_recolor_to to)
{
	return folio_test_anon(p->folio) && !folio_test_hugetlb(p->folio) &&
		!folio_is_zone_device(p->folio) && !folio_test_ksm(p->folio) &&
		/* A page that was locked just now may not be marked yet. */
		!(p->vma->vm_flags & VM_LOCKED) &&
		mcube_recolor_may(p->folio) &&
		(to == MCUBE_RECOLOR_SPREAD ||
		 !folio_likely_mapped_shared(p->folio));
}

static bool is_among(struct folio **folios, unsigned int nr, struct folio *folio)
{
	while (nr)
		if (folios[--nr] == folio)
			return true;
	return false;
}

/*
 * Get a reference to each large folio that has a page to be moved.  A second
 * reference would make the split fail.
 * Return: number of folios, or -EAGAIN.
 */
static int get_large(struct mm_struct *mm, const struct mcube_dim *dim,
		     const unsigned long *addr, unsigned int nr,
		     enum mcube_recolor_to to, struct folio **large)
{
	struct place p = { .dim = dim };
	unsigned int i, n = 0;

	if (!mmap_read_trylock(mm))
		return -EAGAIN;
	for (i = 0; i < nr; i++) {
		if (!enter(&p, mm, addr[i]))
			continue;
		if (folio_test_large(p.folio) && !is_there(&p, to) &&
		    may_move(&p, to) && !is_among(large, n, p.folio)) {
			folio_get(p.folio);
			large[n++] = p.folio;
		}
		leave(&p);
	}
	mmap_read_unlock(mm);
	return n;
}

static int split_large(struct mm_struct *mm, const struct mcube_dim *dim,
		       const unsigned long *addr, unsigned int nr,
		       enum mcube_recolor_to to,
		       struct mcube_recolor_result *result)
{
	struct folio *large[MCUBE_RECOLOR_BATCH];
	int i, n = get_large(mm, dim, addr, nr, to, large);

	for (i = 0; i < n; i++) {
		if (folio_trylock(large[i])) {
			if (folio_test_large(large[i]) && !split_folio(large[i]))
				result->split++;
			folio_unlock(large[i]);
		}
		folio_put(large[i]);
		cond_resched();
	}
	return min(n, 0);
}

/* Take the pages that shall move off their LRU lists; return their number. */
static int isolate(struct mm_struct *mm, const struct mcube_dim *dim,
		   const unsigned long *addr, unsigned int nr,
		   enum mcube_recolor_to to,
		   struct mcube_recolor_result *result, struct list_head *list)
{
	unsigned int i, taken = 0, there = 0;
	struct place p = { .dim = dim };

	if (!mmap_read_trylock(mm))
		return -EAGAIN;
	for (i = 0; i < nr; i++) {
		if (!enter(&p, mm, addr[i]))
			continue;
		if (is_there(&p, to))
			there++;
		else if (!folio_test_large(p.folio) && may_move(&p, to) &&
			 mcube_recolor_isolate(p.folio, list))
			taken++;
		leave(&p);
	}
	mmap_read_unlock(mm);
	result->there += there;
	result->refused += nr - there - taken;
	return taken;
}

/**
 * mcube_recolor_mm() - move pages of a process to colors that are reserved, or
 *                      are not
 * @mm: memory of the process; the caller holds mm_users.
 * @addr: addresses of the pages, multiples of PAGE_SIZE.
 * @nr: number of addresses, at most MCUBE_RECOLOR_BATCH.
 * @to: the colors.
 * @split: large folios are split, and the pages at these addresses move; else
 *         large folios stay.
 * @next: the pages get these colors from number *@next on; updated.
 * @result: each address is added to the count of what became of it, and each folio
 *          that was split to @result->split.
 *
 * Anonymous pages move, within their node.  A page that is of a file, locked, under
 * writeback, pinned, mlocked, of KSM, hugetlb or a device, or not on an LRU list is
 * refused, as is an address without a page.  For %MCUBE_RECOLOR_POLLUTE so is a page
 * that several processes have mapped.
 *
 * Without reserved colors, all pages have a color of %MCUBE_RECOLOR_SPREAD.
 *
 * Context: process, sleeps, no folio and no mmap lock held.
 * Return: 0; -EAGAIN if the mmap lock was taken, or -EINVAL if there are too many
 * addresses: no page was moved then, but folios may have been split.
 */
int mcube_recolor_mm(struct mm_struct *mm, const unsigned long *addr,
		     unsigned int nr, enum mcube_recolor_to to, bool split,
		     unsigned int *next, struct mcube_recolor_result *result)
{
	const struct mcube_dim *dim;
	unsigned int moved;
	LIST_HEAD(list);
	int ret = 0;

	if (WARN_ON_ONCE(nr > MCUBE_RECOLOR_BATCH))
		return -EINVAL;
	if (to == MCUBE_RECOLOR_POLLUTE && !mcube_reserve_nr()) {
		result->refused += nr;
		return 0;
	}
	/* Of the pages that wait in the batches of CPUs, only those of this CPU. */
	lru_add_drain();
	dim = &mcube_map_get()->color;
	if (split)
		ret = split_large(mm, dim, addr, nr, to, result);
	if (!ret)
		ret = isolate(mm, dim, addr, nr, to, result, &list);
	mcube_map_put();
	if (ret < 0)
		return ret;
	/* A page that waits in the batch of a CPU could not move back from another CPU. */
	migrate_disable();
	moved = mcube_recolor(&list, GFP_HIGHUSER_MOVABLE, to, next);
	lru_add_drain();
	migrate_enable();
	result->moved += moved;
	result->refused += ret - moved;
	return 0;
}
EXPORT_SYMBOL_NS_GPL(mcube_recolor_mm, MCUBE);
