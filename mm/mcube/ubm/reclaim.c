// SPDX-License-Identifier: GPL-2.0
/*
 * UBM: what reclaim keeps, and what it takes first
 *
 * Copyright (C) 2026 The mcube authors
 *
 *            start        start + held        cursor - 32      cursor
 *   a loop     |--- held ------|--- next victims ----|............|------
 *                    |                   |
 *        folio_check_references()   to the end of their list when the reader
 *        answers "activate"         has gone on
 *
 * UBM has no lists of pages.  Held pages stay on the lists of the kernel, and
 * reclaim activates them when it comes by, as it does with pages that are used
 * again and again.  Next victims move to the tail of the inactive list, or to the
 * oldest generation.  Both the classic lists and MGLRU do the rest.
 *
 * Only clean pages of regular files that no process maps are UBM's concern.  All
 * others go the way that they go without UBM: dirty pages, pages under writeback,
 * mapped and mlocked pages, memory of programs, shmem, block devices, metadata.
 * Pages that memory.min or memory.low protect never come here, as reclaim passes by
 * their cgroup.
 *
 * Urgent reclaim.  Reclaim begins with a small part of the lists, 1/4096, and
 * doubles the part while it gets too little, until it looks at all pages.  Held
 * pages stay for as long as reclaim has looked at less than an eighth at a time
 * (MCUBE_UBM_KEPT_FROM), and so at less than a quarter in sum.  In a cache of few pages they stay
 * for as long as reclaim finds others (MCUBE_UBM_KEPT_LOOKS).  After that reclaim does what
 * it does without UBM, three times, for the last seven quarters of the lists.  An
 * allocation fails, or a cgroup is out of memory, only after these rounds: no
 * earlier than without UBM.
 *
 * A loop that nobody reads any more.  Time in a domain is counted in references, and
 * stands still when nothing is read.  So what reclaim keeps is bounded: when it has kept
 * all held pages once, and half of the page cache more, nothing stays until a held loop is
 * read again.
 *
 * Reclaim for others.  A cgroup shares out its own limit.  Where reclaim frees memory
 * for a cgroup above or for the whole system, a held page stays at every second look
 * only, or who reads in loops would have still more of the memory of who does not.  With the
 * classic lists no held page stays then: a page that stays becomes active, and by the sums
 * of the parent the kernel then deactivates pages of all children.
 *
 * Next victims of MGLRU.  When files of first passes were made victims there, a program that
 * reads some of its files now and again read a tenth more, and with no held pages a third more.
 * A likely reason: MGLRU protects pages that were read several times if these come back more
 * often than pages that were read once, and victims that come back spoil this measure.  So pages
 * of first passes are left alone there while loops are rare, but for streams that could fill
 * half of the cache.
 *
 * Source: Kim, Choi, Kim, Noh, Min, Cho, Kim, "A low-overhead high-performance
 * unified buffer management scheme that exploits sequential and looping
 * references", OSDI 2000.
 *
 * Differences from the paper:
 *
 * - The paper has lists for each partition, and replaces pages of a loop by MRU.
 *   In a loop the pages that MRU keeps are a prefix, so a number per run does.
 * - The paper replaces a sequential page at once.  Here the page becomes the next
 *   victim 32 pages behind the reader: only then has the page left the per-CPU
 *   batches in which pages come to the LRU lists.
 */

#include <linux/compiler.h>
#include <linux/fs.h>
#include <linux/jiffies.h>
#include <linux/mcube_ubm.h>
#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/mm_inline.h>
#include <linux/nodemask.h>
#include <linux/pagemap.h>
#include <linux/pagevec.h>
#include <linux/rcupdate.h>
#include <linux/swap.h>
#include <trace/events/mcube_ubm.h>

#include "../../internal.h"
#include "internal.h"

static bool is_concern(struct folio *folio)
{
	return !folio_test_dirty(folio) && !folio_test_writeback(folio) &&
	       !folio_mapped(folio);
}

/* Pages that all loops of a domain hold, without the lock. */
static u64 all_held(const struct mcube_ubm_domain *d)
{
	return READ_ONCE(d->core->table.runs.loops.all);
}

/*
 * Without the lock: runs are read while they change.  Then a folio may stay that
 * could go, or go that could stay, as it is with every mark on an LRU list.
 */
static bool is_held(const struct mcube_ubm_domain *d, struct address_space *mapping,
		    pgoff_t index)
{
	struct mcube_ubm_key key;
	u32 hash;

	if (!all_held(d) || index >= MCUBE_UBM_NO_PREV)
		return false;
	key = mcube_ubm_key_of(mapping->host);
	hash = mcube_ubm_hash_of(mapping, &key);
	/* A wrong answer now and then does no harm, see above. */
	return data_race(mcube_ubm_core_held(d->core, &key, hash, index));
}

/*
 * Does reclaim free memory for this cgroup, and for no other?  The cgroups below
 * lose pages for the same limit, and so do removed cgroups whose pages are still there.
 */
static bool is_own(struct mem_cgroup *memcg, const struct mem_cgroup *target)
{
	if (!memcg)
		return true;
	return (target == memcg || (!target && mem_cgroup_is_root(memcg))) &&
	       list_empty(&memcg->css.children);
}

/*
 * Reclaim came by a held folio.  Return: true if the folio stays.  Counts get lost if
 * CPUs reclaim at the same time; they bound a share, and need not be exact.
 */
static bool stays(struct mcube_ubm_domain *d, const struct folio *folio,
		  const struct mem_cgroup *target)
{
	unsigned long kept = READ_ONCE(d->kept);
	u32 looks;

	if (mcube_ubm_kept_enough(READ_ONCE(d->core->capacity), all_held(d), kept))
		return false;
	if (!is_own(d->memcg, target)) {
		if (!lru_gen_enabled())
			return false;
		looks = READ_ONCE(d->looks);
		WRITE_ONCE(d->looks, looks + 1);
		if (looks & 1)
			return false;
	}
	WRITE_ONCE(d->kept, kept + folio_nr_pages(folio));
	WRITE_ONCE(d->row, READ_ONCE(d->row) + folio_nr_pages(folio));
	return true;
}

/*
 * Does reclaim leave held pages alone still?  A list of 700 pages is so short that reclaim
 * looks at most of them before it has the 32 pages that it wants.  As long as it has found
 * some in this domain, the allocation that waits for it is tried again, and does not fail.
 * What reclaim for others has found may be of any cgroup, and does not count.  If it has
 * found none, held pages may lie in a row: MGLRU puts them all into one generation, and
 * becomes more urgent with each generation that it makes.  Reclaim may come by all held
 * pages once; at priority 0 it takes what it finds.
 */
static bool has_others(const struct mcube_ubm_domain *d, const struct mem_cgroup *target,
		       int priority, unsigned long reclaimed)
{
	if (priority >= MCUBE_UBM_KEPT_FROM)
		return true;
	return mcube_ubm_kept_urgently(READ_ONCE(d->core->capacity), all_held(d),
				       READ_ONCE(d->row), priority,
				       reclaimed && is_own(d->memcg, target));
}

/* See mcube_ubm_holds(). */
bool __mcube_ubm_holds(struct folio *folio, const struct mem_cgroup *target,
		       int priority, unsigned long reclaimed)
{
	const unsigned long now = jiffies;
	struct mcube_ubm_domain *d;
	bool held = false;

	if (folio_test_anon(folio) || folio_test_swapbacked(folio) ||
	    !folio->mapping)
		return false;
	if (!S_ISREG(folio->mapping->host->i_mode))
		return false;
	rcu_read_lock();
	d = mcube_ubm_domain_of(folio);
	if (!d) {
		struct mem_cgroup *memcg = folio_memcg_rcu(folio);

		/* Elsewhere no page would stay, see "Reclaim for others". */
		if (lru_gen_enabled() || is_own(memcg, target))
			mcube_ubm_domain_want(memcg);
	} else {
		if (READ_ONCE(d->reclaimed) != now)
			WRITE_ONCE(d->reclaimed, now);
		if (READ_ONCE(d->quiet))
			WRITE_ONCE(d->quiet, 0);
		if (!is_held(d, folio->mapping, folio->index)) {
			if (READ_ONCE(d->row))
				WRITE_ONCE(d->row, 0);
		} else {
			held = has_others(d, target, priority, reclaimed) &&
			       is_concern(folio) && stays(d, folio, target);
		}
	}
	rcu_read_unlock();
	if (held)
		mcube_ubm_count(MCUBE_UBM_HELD, 1);
	return held;
}

/*
 * Do others use a folio?  References are those of the page cache, of the caller, and of
 * the reader for the folios in hand: a long read has large folios in hand beyond the lag.
 * Beyond these there are pins, pipes and sockets.  In the first pass of a run, the reader
 * has used each page once.
 */
static bool is_shared(struct folio *folio, const struct mcube_ubm_range *range,
		      const struct mcube_ubm_hand *hand)
{
	bool in_hand = folio->index < hand->end && folio_next_index(folio) > hand->first;
	int refs = folio_nr_pages(folio) + folio_has_private(folio) + 1 + in_hand;

	if (folio_ref_count(folio) > refs)
		return true;
	return range->once && (folio_test_active(folio) ||
			       (lru_gen_enabled() && folio_lru_refs(folio)));
}

/*
 * Pages that were read ahead and not used yet stay.  A large folio may have begun in
 * ranges before; it goes with the range that has its last page.
 */
static bool may_go(const struct mcube_ubm_domain *d, struct folio *folio,
		   const struct mcube_ubm_range *range)
{
	return folio->index >= range->used &&
	       folio_next_index(folio) <= range->to &&
	       folio_test_uptodate(folio) && !folio_test_locked(folio) &&
	       !folio_test_unevictable(folio) && is_concern(folio) &&
	       mcube_ubm_domain_of(folio) == d;
}

/*
 * The list where reclaim looks first, if the folio is in it: then the folio moves to its
 * end, and no size changes.  NULL if the folio is in another list of @lruvec, which is
 * locked.
 */
static struct list_head *first_list(struct lruvec *lruvec, struct folio *folio)
{
#ifdef CONFIG_LRU_GEN
	struct lru_gen_folio *lrugen = &lruvec->lrugen;
	int gen = folio_lru_gen(folio);

	if (gen >= 0)
		return gen == lru_gen_from_seq(lrugen->min_seq[LRU_GEN_FILE]) ?
		       &lrugen->folios[gen][LRU_GEN_FILE][folio_zonenum(folio)] : NULL;
#endif
	return folio_test_active(folio) ? NULL : &lruvec->lists[LRU_INACTIVE_FILE];
}

/* Move a folio to the end of the first list; false if it is in another list. */
static bool move_within(struct lruvec *lruvec, struct folio *folio)
{
	struct list_head *list = first_list(lruvec, folio);

	if (!list)
		return false;
	folio_clear_referenced(folio);
	list_move_tail(&folio->lru, list);
	return true;
}

/*
 * Make folios of the domain that are on a node the next victims.  Most of them are in the
 * right list, as they came in lately.  Return: pages that were moved.
 */
static unsigned long move(const struct mcube_ubm_domain *d, struct folio **folios,
			  unsigned int nr, int nid)
{
	struct lruvec *lruvec = mem_cgroup_lruvec(d->memcg, NODE_DATA(nid));
	unsigned long moved = 0, fast = 0;
	struct folio *slow[PAGEVEC_SIZE];
	unsigned int i, nr_slow = 0;

	spin_lock_irq(&lruvec->lru_lock);
	for (i = 0; i < nr; i++) {
		struct folio *folio = folios[i];

		/* Another CPU may have taken the folio, or moved it to another cgroup. */
		if (folio_nid(folio) != nid || !folio_test_lru(folio) ||
		    folio_test_unevictable(folio) || !folio_is_file_lru(folio) ||
		    !folio_matches_lruvec(folio, lruvec))
			continue;
		if (move_within(lruvec, folio))
			fast += folio_nr_pages(folio);
		else
			slow[nr_slow++] = folio;
	}
	spin_unlock_irq(&lruvec->lru_lock);
	count_vm_events(PGROTATED, fast);
	for (i = 0; i < nr_slow; i++) {
		deactivate_file_folio(slow[i]);
		moved += folio_nr_pages(slow[i]);
	}
	return moved + fast;
}

/* The same for folios on any nodes: a file lies on few. */
static unsigned long move_all(const struct mcube_ubm_domain *d, struct folio **folios,
			      unsigned int nr)
{
	nodemask_t nodes = NODE_MASK_NONE;
	unsigned long moved = 0;
	unsigned int i;
	int nid;

	for (i = 0; i < nr; i++)
		node_set(folio_nid(folios[i]), nodes);
	for_each_node_mask(nid, nodes)
		moved += move(d, folios, nr, nid);
	return moved;
}

/**
 * mcube_ubm_propose() - make pages the next victims of reclaim
 * @d: the domain; pages of other domains stay.
 * @mapping: page cache of the file.
 * @range: the pages.
 * @hand: the pages that the reader has in hand.
 *
 * Context: RCU read section; the caller bounds the range.
 */
void mcube_ubm_propose(const struct mcube_ubm_domain *d,
		       struct address_space *mapping,
		       const struct mcube_ubm_range *range,
		       const struct mcube_ubm_hand *hand)
{
	struct folio *go[PAGEVEC_SIZE];
	pgoff_t next = range->from;
	struct folio_batch batch;
	unsigned long moved = 0;
	unsigned int i, nr, nr_go;
	bool drained = false;

	/* See "Next victims of MGLRU" above. */
	if (range->once && range->brief && lru_gen_enabled())
		return;
	folio_batch_init(&batch);
	while (next < range->to) {
		nr = filemap_get_folios(mapping, &next, range->to - 1, &batch);
		if (!nr)
			break;
		for (i = 0, nr_go = 0; i < nr; i++) {
			struct folio *folio = batch.folios[i];

			if (!may_go(d, folio, range))
				continue;
			/* Pages that have just come in wait in batches. */
			if (!folio_test_lru(folio) && !drained) {
				lru_add_drain();
				drained = true;
			}
			if (!is_shared(folio, range, hand))
				go[nr_go++] = folio;
		}
		moved += move_all(d, go, nr_go);
		/* No need to drain the batches of the CPU, as release would. */
		batch.percpu_pvec_drained = true;
		folio_batch_release(&batch);
	}
	mcube_ubm_count(MCUBE_UBM_PROPOSED, moved);
	trace_mcube_ubm_propose(mapping->host->i_sb->s_dev, mapping->host->i_ino,
				range, moved);
}
