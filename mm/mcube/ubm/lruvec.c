// SPDX-License-Identifier: GPL-2.0
/*
 * UBM: the lists that it decides about
 *
 * Copyright (C) 2026 The mcube authors
 *
 * Each memory cgroup has a lruvec on each node.  UBM decides about a lruvec from the first time
 * that its memory cgroup reclaims for its own limit:
 *
 *	first own turn -> published in the lruvec -> UBM off, lists become generations: no page
 *	  allocates         under lru_lock           is held, freed after a grace period
 *	                                          -> the memory cgroup goes, with no page left
 *
 * Reclaim for a limit above, or for the whole system, wants pages of many memory cgroups, and to
 * hold pages there would take them from others.  A memory cgroup with children reclaims for
 * them too.  UBM gives held pages back then.
 *
 * The struct is charged to the parent, as struct mem_cgroup is: it takes nothing of the limit
 * that is reclaimed for.
 */

#include <linux/limits.h>
#include <linux/memcontrol.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/mm_inline.h>
#include <linux/mmzone.h>
#include <linux/nodemask.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/swap.h>

#include "internal.h"

/* At this priority and above reclaim has not tried much yet, see scan_control::priority. */
#define NOT_URGENT	(DEF_PRIORITY - 2)

/* Pages of files on a node below which nothing is held. */
#define LEAST	(16 * SWAP_CLUSTER_MAX)

/* Folios that change lists while interrupts are off. */
#define BATCH	64

/* Cleared before all lists are visited to forget: written without a lock, read under lru_lock. */
bool mcube_ubm_may_begin;

/**
 * mcube_ubm_nr_held() - pages on the active list of files
 * @lruvec: the lists.
 *
 * Return: the number, as it was lately if the lists are not locked.
 */
u32 mcube_ubm_nr_held(struct lruvec *lruvec)
{
	unsigned long nr = 0;
	int zone;

	for (zone = 0; zone < MAX_NR_ZONES; zone++)
		nr += mem_cgroup_get_zone_lru_size(lruvec, LRU_ACTIVE_FILE, zone);
	return min_t(unsigned long, nr, S32_MAX);
}

/**
 * mcube_ubm_nr_rest() - all other pages of files
 * @lruvec: the lists.
 *
 * Return: the number, as it was lately if the lists are not locked.
 */
u32 mcube_ubm_nr_rest(struct lruvec *lruvec)
{
	long nr = 0;
	int gen, zone, gens = lru_gen_enabled() ? MAX_NR_GENS : 0;

	for (zone = 0; zone < MAX_NR_ZONES; zone++) {
		nr += mem_cgroup_get_zone_lru_size(lruvec, LRU_INACTIVE_FILE, zone);
		for (gen = 0; gen < gens; gen++)
			nr += READ_ONCE(lruvec->lrugen.nr_pages[gen][LRU_GEN_FILE][zone]);
	}
	return clamp(nr, 0L, (long)S32_MAX);
}

static u32 nr_files(struct lruvec *lruvec)
{
	return mcube_ubm_nr_held(lruvec) + mcube_ubm_nr_rest(lruvec);
}

/**
 * mcube_ubm_is_own() - does a memory cgroup reclaim for itself alone?
 * @lruvec: its lists.
 * @target: memory cgroup whose limit is reclaimed for, NULL for all.
 *
 * Below LEAST pages nothing is held, and the classic lists are to have their active part.
 *
 * Return: true if UBM may hold pages.
 */
bool mcube_ubm_is_own(struct lruvec *lruvec, const struct mem_cgroup *target)
{
	struct mem_cgroup *memcg = lruvec_memcg(lruvec);

	return memcg && (target == memcg || (!target && mem_cgroup_is_root(memcg))) &&
	       list_empty(&memcg->css.children) &&
	       (lru_gen_enabled() || nr_files(lruvec) >= LEAST);
}

/**
 * mcube_ubm_is_urgent() - are held pages to be given up?
 * @lruvec: the lists.
 * @priority: how urgent reclaim is.
 *
 * At priority p reclaim scans 1 / 2^p of the pages.  It is urgent if it has scanned 16 batches and
 * still needs more.  Two to four batches are usual where mapped pages were used.  No priority
 * scans as many of less than LEAST pages.
 *
 * Return: true if reclaim frees too little, or there are too few pages.
 */
bool mcube_ubm_is_urgent(struct lruvec *lruvec, int priority)
{
	u32 nr = nr_files(lruvec);

	return nr < LEAST ||
	       (priority < NOT_URGENT && nr >> (priority + 4) >= SWAP_CLUSTER_MAX);
}

/**
 * mcube_ubm_begin() - decide about a lruvec from now on
 * @lruvec: the lists, not locked.
 *
 * Context: reclaim, so no memory is waited for.
 * Return: what is not published yet, or NULL.
 */
struct mcube_ubm_lruvec *mcube_ubm_begin(struct lruvec *lruvec)
{
	const gfp_t gfp = GFP_NOWAIT | __GFP_ACCOUNT | __GFP_NOMEMALLOC | __GFP_NOWARN;
	struct mem_cgroup *memcg = lruvec_memcg(lruvec);
	struct mem_cgroup *before = set_active_memcg(parent_mem_cgroup(memcg));
	struct mcube_ubm_lruvec *u;

	u = kzalloc_node(sizeof(*u), gfp, lruvec_pgdat(lruvec)->node_id);
	set_active_memcg(before);
	if (!u) {
		mcube_ubm_count(MCUBE_UBM_NO_MEMORY, 1);
		return NULL;
	}
	spin_lock_init(&u->lock);
	return u;
}

/* See mcube_ubm_forget(). */
void __mcube_ubm_forget(struct lruvec *lruvec)
{
	struct list_head *held = mcube_ubm_held_list(lruvec);
	struct mcube_ubm_lruvec *u;
	unsigned int left = BATCH;

	spin_lock_irq(&lruvec->lru_lock);
	u = rcu_dereference_protected(lruvec->mcube_ubm, lockdep_is_held(&lruvec->lru_lock));
	RCU_INIT_POINTER(lruvec->mcube_ubm, NULL);
	/* On the classic lists held pages are active pages, and nothing else. */
	while (lruvec->lrugen.enabled && !list_empty(held)) {
		struct folio *folio = lru_to_folio(held);

		lruvec_del_folio(lruvec, folio);
		lruvec_add_folio(lruvec, folio);
		if (--left)
			continue;
		spin_unlock_irq(&lruvec->lru_lock);
		cond_resched();
		left = BATCH;
		spin_lock_irq(&lruvec->lru_lock);
	}
	spin_unlock_irq(&lruvec->lru_lock);
	if (u)
		kfree_rcu(u, rcu);
}

/**
 * mcube_ubm_free() - a memory cgroup goes, and no folio is left on its lists
 * @memcg: the memory cgroup; no reader under rcu_read_lock() finds it any more.
 *
 * UBM may be off again since it began with these lists.
 */
void mcube_ubm_free(struct mem_cgroup *memcg)
{
	int nid;

	for_each_node(nid)
		kfree(rcu_dereference_protected(memcg->nodeinfo[nid]->lruvec.mcube_ubm, true));
}

/*
 * If the rest is short, MGLRU would age every few pages: that walks page tables, and makes
 * anonymous pages look old.  So aging waits until as many pages have left since the last aging as
 * without UBM.
 */
static bool ages_later(struct mcube_ubm_lruvec *u)
{
	/* A wrong answer now and then costs an aging. */
	return data_race(mcube_ubm_held_small(&u->held) &&
			 atomic_read(&u->clock) - u->aged < u->held.capacity / 4);
}

static bool files_have_third_gen(struct lruvec *lruvec)
{
	struct lru_gen_folio *lrugen = &lruvec->lrugen;

	return READ_ONCE(lrugen->max_seq) - READ_ONCE(lrugen->min_seq[LRU_GEN_FILE]) >=
	       MIN_NR_GENS;
}

static bool oldest_has_files(struct lruvec *lruvec)
{
	struct lru_gen_folio *lrugen = &lruvec->lrugen;
	int gen = lru_gen_from_seq(READ_ONCE(lrugen->min_seq[LRU_GEN_FILE])), zone;
	long nr = 0;

	for (zone = 0; zone < MAX_NR_ZONES; zone++)
		nr += READ_ONCE(lrugen->nr_pages[gen][LRU_GEN_FILE][zone]);
	return nr > 0;
}

/* See mcube_ubm_one_gen(). */
bool __mcube_ubm_one_gen(struct lruvec *lruvec, int type)
{
	struct mcube_ubm_lruvec *u;
	bool yes;

	if (type != LRU_GEN_FILE || files_have_third_gen(lruvec) || !oldest_has_files(lruvec))
		return false;
	rcu_read_lock();
	u = rcu_dereference(lruvec->mcube_ubm);
	yes = u && READ_ONCE(u->own) && (READ_ONCE(u->gave) || ages_later(u));
	rcu_read_unlock();
	return yes;
}

/* See mcube_ubm_held_pages(). */
unsigned long __mcube_ubm_held_pages(struct lruvec *lruvec)
{
	struct mcube_ubm_lruvec *u;
	unsigned long nr = 0;

	rcu_read_lock();
	u = rcu_dereference(lruvec->mcube_ubm);
	/* For others the classic lists are balanced, and the active list is seen. */
	if (u && (lru_gen_enabled() || READ_ONCE(u->own)))
		nr = mcube_ubm_nr_held(lruvec);
	rcu_read_unlock();
	return nr;
}

/*
 * See mcube_ubm_to_scan().  Files may have a third generation without folios, until anonymous
 * folios have left that generation: then reclaim looks at these once more, which rescues what was
 * used.
 *
 * If reclaim is urgent, or nothing but held folios is left, a turn gives held folios, and aging
 * would not.  A task cannot rely on aging either: it gets nothing at any priority while another
 * task walks the page tables.
 */
bool __mcube_ubm_to_scan(struct lruvec *lruvec, int priority, unsigned long *nr)
{
	bool third = files_have_third_gen(lruvec), later = false;
	u32 held = mcube_ubm_nr_held(lruvec), rest = mcube_ubm_nr_rest(lruvec);
	struct mcube_ubm_lruvec *u;

	rcu_read_lock();
	u = rcu_dereference(lruvec->mcube_ubm);
	if (!u) {
		rcu_read_unlock();
		return false;
	}
	if (READ_ONCE(u->own)) {
		if (!rest || mcube_ubm_is_urgent(lruvec, priority))
			later = held;
		else
			later = ages_later(u) && (third || oldest_has_files(lruvec));
	}
	rcu_read_unlock();
	if (later && !*nr)
		*nr = rest;
	/* 0 of two generations makes reclaim age, in a memory cgroup that was removed too. */
	if (later || *nr || third)
		*nr += held;
	return later;
}

/* See mcube_ubm_decides(). */
bool __mcube_ubm_decides(struct lruvec *lruvec, const struct mem_cgroup *target, int priority)
{
	return rcu_access_pointer(lruvec->mcube_ubm) &&
	       mcube_ubm_is_own(lruvec, target) && !mcube_ubm_is_urgent(lruvec, priority);
}

/**
 * mcube_ubm_sync() - let the decisions know what left
 * @u: the lists, whose lock is held.
 */
void mcube_ubm_sync(struct mcube_ubm_lruvec *u)
{
	u32 clock = atomic_read(&u->clock), again = atomic_xchg(&u->again, 0);

	if (u->own) {
		mcube_ubm_held_passed(&u->held, clock - u->held.clock);
		mcube_ubm_held_again(&u->held, again);
	}
	u->held.clock = clock;
}

/* Did a folio leave without a use, so that its stamp is to be one of long ago? */
static bool is_unused(struct mcube_ubm_lruvec *u, struct folio *folio, bool again)
{
	if (!lru_gen_enabled())
		return mcube_ubm_mark_of(folio) == MCUBE_UBM_UNUSED;
	return READ_ONCE(u->own) && !again && !mcube_ubm_mark_of(folio);
}

/* See mcube_ubm_stamp().  Most folios take no lock here: CPUs that reclaim would wait for it. */
unsigned long __mcube_ubm_stamp(struct lruvec *lruvec, struct folio *folio, unsigned long token,
				bool again)
{
	u32 nr = folio_nr_pages(folio), clock;
	struct mcube_ubm_lruvec *u;

	/* The bits of a shadow that are left, see mm/workingset.c. */
	BUILD_BUG_ON(MCUBE_UBM_TOKEN_BITS + MCUBE_UBM_CLOCK_BITS >
		     BITS_PER_LONG - 2 - NODES_SHIFT - MEM_CGROUP_ID_SHIFT);

	if (!folio_is_file_lru(folio) || lruvec != folio_lruvec(folio))
		return token;
	rcu_read_lock();
	u = rcu_dereference(lruvec->mcube_ubm);
	if (u) {
		if (again)
			atomic_add(nr, &u->again);
		clock = atomic_add_return(nr, &u->clock);
		/* Which of some folios gets the older stamp is no matter. */
		if (data_race(u->held.leaving)) {
			spin_lock(&u->lock);
			clock = mcube_ubm_held_stamp(&u->held, clock, nr);
			spin_unlock(&u->lock);
		} else if (is_unused(u, folio, again)) {
			clock -= 1U << (MCUBE_UBM_CLOCK_BITS - 1);
		}
		clock &= (1U << MCUBE_UBM_CLOCK_BITS) - 1;
		token = (unsigned long)clock << MCUBE_UBM_TOKEN_BITS |
			(token & MCUBE_UBM_TOKEN_MASK);
	}
	rcu_read_unlock();
	return token;
}

/* A folio that left the classic lists comes back: as workingset_refault() does it. */
static void back_on_lists(struct folio *folio, bool own, bool soon, bool recent, bool workingset)
{
	struct lruvec *lruvec = folio_lruvec(folio);
	long nr = folio_nr_pages(folio);

	if (!own && recent) {
		folio_set_active(folio);
		workingset_age_nonresident(lruvec, nr);
	}
	if (soon || (!own && recent))
		mod_lruvec_state(lruvec, WORKINGSET_ACTIVATE_FILE, nr);
	if (workingset && (soon || recent)) {
		folio_set_workingset(folio);
		lru_note_cost_refault(folio);
		mod_lruvec_state(lruvec, WORKINGSET_RESTORE_FILE, nr);
	}
}

/**
 * mcube_ubm_back() - a folio of a file comes back to a memory cgroup that it left
 * @lruvec: the lists that it left, maybe on another node.
 * @folio: the folio, on no list yet.
 * @token: from its shadow.
 * @workingset: from its shadow: it had been active.
 * @recent: set to whether it left not long ago.
 *
 * On the classic lists all is done that workingset_refault() does for such a folio.
 *
 * Return: false if UBM does not know the lists; then @recent is as before.
 */
bool mcube_ubm_back(struct lruvec *lruvec, struct folio *folio, unsigned long token,
		    bool workingset, bool *recent)
{
	u32 stamp = token >> MCUBE_UBM_TOKEN_BITS, nr = folio_nr_pages(folio), gap;
	bool own, soon = false, generations = lru_gen_enabled();
	unsigned long oldest = READ_ONCE(lruvec->lrugen.min_seq[LRU_GEN_FILE]);
	struct mcube_ubm_lruvec *u;
	unsigned long flags;

	rcu_read_lock();
	u = rcu_dereference(lruvec->mcube_ubm);
	if (!u) {
		rcu_read_unlock();
		return false;
	}
	spin_lock_irqsave(&u->lock, flags);
	mcube_ubm_sync(u);
	/* The clock may have wrapped since, in the bits that the shadow has. */
	gap = (u->held.clock - stamp) & ((1U << MCUBE_UBM_CLOCK_BITS) - 1);
	own = u->own;
	if (own)
		soon = mcube_ubm_held_back(&u->held, u->held.clock - gap, nr,
					   u->nr_held, u->nr_rest);
	*recent = mcube_ubm_held_recent(&u->held, gap, workingset && !generations);
	spin_unlock_irqrestore(&u->lock, flags);
	rcu_read_unlock();
	if (soon) {
		mcube_ubm_mark(folio, MCUBE_UBM_CANDIDATE);
		mcube_ubm_count(MCUBE_UBM_BACK, nr);
	}
	/* MGLRU counts by itself, and takes PG_workingset for a reference. */
	if (generations)
		*recent &= !(((token >> LRU_REFS_WIDTH) ^ oldest) &
			     (MCUBE_UBM_TOKEN_MASK >> LRU_REFS_WIDTH));
	else
		back_on_lists(folio, own, soon, *recent, workingset);
	return true;
}
