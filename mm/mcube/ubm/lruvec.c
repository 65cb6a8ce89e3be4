// SPDX-License-Identifier: GPL-2.0
/*
 * UBM: the lists that it decides about
 *
 * Copyright (C) 2026 The mcube authors
 *
 * Each memory cgroup has a lruvec on each node.  UBM decides about a lruvec from the first time
 * that its memory cgroup reclaims for its own limit:
 *
 *	first own turn -> published in the lruvec -> memory cgroup goes offline, UBM off,
 *	  allocates         under lru_lock           lists become generations: no page is held,
 *	                                             freed after a grace period
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
#include <linux/random.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/swap.h>

#include "internal.h"

/* At this priority and above reclaim has not tried much yet, see scan_control::priority. */
#define NOT_URGENT	(DEF_PRIORITY - 2)

/* Folios that change lists while interrupts are off. */
#define BATCH	64

/* Cleared before all lists are visited to forget: written without a lock, read under lru_lock. */
bool mcube_ubm_may_begin;

/**
 * mcube_ubm_is_own() - does a memory cgroup reclaim for itself alone?
 * @lruvec: its lists.
 * @target: memory cgroup whose limit is reclaimed for, NULL for all.
 *
 * Return: true if UBM may hold pages.
 */
bool mcube_ubm_is_own(struct lruvec *lruvec, const struct mem_cgroup *target)
{
	struct mem_cgroup *memcg = lruvec_memcg(lruvec);

	return memcg && (target == memcg || (!target && mem_cgroup_is_root(memcg))) &&
	       list_empty(&memcg->css.children);
}

/**
 * mcube_ubm_is_urgent() - does reclaim free too little?
 * @lruvec: the lists.
 * @priority: how urgent reclaim is.
 *
 * At a priority reclaim looks at 1 / 2^priority of the pages, so it needs a smaller number where
 * there are few pages.  Mapped pages that were used, which reclaim does not free at first, need
 * twice or four times as many.
 *
 * Return: true if it is to look at 16 times as many pages as it wants.
 */
bool mcube_ubm_is_urgent(struct lruvec *lruvec, int priority)
{
	u32 all = mcube_ubm_nr_held(lruvec) + mcube_ubm_nr_rest(lruvec);

	return priority < NOT_URGENT && (!priority || all >> (priority + 4) >= SWAP_CLUSTER_MAX);
}

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
	int gen, zone;

	for (zone = 0; zone < MAX_NR_ZONES; zone++) {
		nr += mem_cgroup_get_zone_lru_size(lruvec, LRU_INACTIVE_FILE, zone);
		for (gen = 0; gen < MAX_NR_GENS; gen++)
			nr += READ_ONCE(lruvec->lrugen.nr_pages[gen][LRU_GEN_FILE][zone]);
	}
	return clamp(nr, 0L, (long)S32_MAX);
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

/* See mcube_ubm_offline().  CSS_DYING is set by now, so that nothing begins again. */
void __mcube_ubm_offline(struct mem_cgroup *memcg)
{
	int nid;

	for_each_node(nid)
		__mcube_ubm_forget(mem_cgroup_lruvec(memcg, NODE_DATA(nid)));
}

/*
 * See mcube_ubm_one_gen().  A short rest would be aged every few pages, which walks page tables,
 * and makes all anonymous pages look old.  So pages leave from the same generation, until as many
 * have left as without UBM from one aging to the next.
 */
bool __mcube_ubm_one_gen(struct lruvec *lruvec, int type)
{
	struct lru_gen_folio *lrugen = &lruvec->lrugen;
	unsigned long oldest = READ_ONCE(lrugen->min_seq[LRU_GEN_FILE]);
	struct mcube_ubm_lruvec *u;
	bool yes = false;
	long nr = 0;
	int zone;

	if (type != LRU_GEN_FILE || READ_ONCE(lrugen->max_seq) - oldest + 1 != MIN_NR_GENS)
		return false;
	for (zone = 0; zone < MAX_NR_ZONES; zone++)
		nr += READ_ONCE(lrugen->nr_pages[lru_gen_from_seq(oldest)][LRU_GEN_FILE][zone]);
	rcu_read_lock();
	u = rcu_dereference(lruvec->mcube_ubm);
	if (u)
		/* A wrong answer now and then costs an aging. */
		yes = data_race(u->own && mcube_ubm_held_small(&u->held) &&
				atomic_read(&u->clock) - u->aged < u->held.capacity / 4);
	rcu_read_unlock();
	return yes && nr > 0;
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
	/* MGLRU counts no pages of the two youngest generations. */
	if (lru_gen_enabled() && __mcube_ubm_one_gen(lruvec, LRU_GEN_FILE))
		nr += mcube_ubm_nr_rest(lruvec);
	rcu_read_unlock();
	return nr;
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

/* See mcube_ubm_stamp().  A lock per folio would be what CPUs that reclaim wait for. */
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
		}
		clock &= (1U << MCUBE_UBM_CLOCK_BITS) - 1;
		token = (unsigned long)clock << MCUBE_UBM_TOKEN_BITS |
			(token & MCUBE_UBM_TOKEN_MASK);
	}
	rcu_read_unlock();
	return token;
}

/* See mcube_ubm_knows(). */
bool __mcube_ubm_knows(struct lruvec *lruvec)
{
	return rcu_access_pointer(lruvec->mcube_ubm);
}

/* See mcube_ubm_back(). */
void __mcube_ubm_back(struct lruvec *lruvec, struct folio *folio, unsigned long token,
		      bool workingset)
{
	u32 stamp = token >> MCUBE_UBM_TOKEN_BITS, nr = folio_nr_pages(folio);
	struct mcube_ubm_lruvec *u;
	unsigned long flags;
	bool soon = false;

	rcu_read_lock();
	u = rcu_dereference(lruvec->mcube_ubm);
	if (u && READ_ONCE(u->own)) {
		spin_lock_irqsave(&u->lock, flags);
		mcube_ubm_sync(u);
		/* The clock may have wrapped since, in the bits that the shadow has. */
		stamp = u->held.clock -
			((u->held.clock - stamp) & ((1U << MCUBE_UBM_CLOCK_BITS) - 1));
		soon = mcube_ubm_held_back(&u->held, stamp, nr, mcube_ubm_nr_held(lruvec),
					   mcube_ubm_nr_rest(lruvec));
		spin_unlock_irqrestore(&u->lock, flags);
	}
	rcu_read_unlock();
	if (!soon)
		return;
	mcube_ubm_mark(folio, MCUBE_UBM_CANDIDATE);
	mcube_ubm_count(MCUBE_UBM_BACK, nr);
	/* MGLRU counts by itself, and takes PG_workingset for a reference. */
	if (lru_gen_enabled())
		return;
	/* As workingset_refault() does for a folio that it activates. */
	mod_lruvec_state(lruvec, WORKINGSET_ACTIVATE_FILE, nr);
	if (workingset) {
		folio_set_workingset(folio);
		lru_note_cost_refault(folio);
		mod_lruvec_state(lruvec, WORKINGSET_RESTORE_FILE, nr);
	}
}
