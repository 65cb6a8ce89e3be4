/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the files of UBM's glue share.
 *
 * Copyright (C) 2026 The mcube authors
 */
#ifndef _MM_MCUBE_UBM_INTERNAL_H
#define _MM_MCUBE_UBM_INTERNAL_H

#include <linux/atomic.h>
#include <linux/bitops.h>
#include <linux/build_bug.h>
#include <linux/cache.h>
#include <linux/mcube_ubm.h>
#include <linux/memcontrol.h>
#include <linux/mmzone.h>
#include <linux/mm_types.h>
#include <linux/percpu.h>
#include <linux/rcupdate.h>
#include <linux/spinlock.h>
#include <linux/types.h>

#include "held.h"

/**
 * enum mcube_ubm_stat - counters
 * @MCUBE_UBM_HELD: pages that were held.
 * @MCUBE_UBM_GIVEN: pages that were held, and were given up.
 * @MCUBE_UBM_BACK: pages that came back soon enough to be held.
 * @MCUBE_UBM_LRUVECS: lists that UBM began to decide about.
 * @MCUBE_UBM_NO_MEMORY: times that it did not begin for want of memory.
 * @MCUBE_UBM_NR_STATS: number of counters.
 */
enum mcube_ubm_stat {
	MCUBE_UBM_HELD,
	MCUBE_UBM_GIVEN,
	MCUBE_UBM_BACK,
	MCUBE_UBM_LRUVECS,
	MCUBE_UBM_NO_MEMORY,
	MCUBE_UBM_NR_STATS,
};

struct mcube_ubm_stats {
	unsigned long nr[MCUBE_UBM_NR_STATS];
};

DECLARE_PER_CPU(struct mcube_ubm_stats, mcube_ubm_stats);

static inline void mcube_ubm_count(enum mcube_ubm_stat stat, long nr)
{
	this_cpu_add(mcube_ubm_stats.nr[stat], nr);
}

unsigned long mcube_ubm_stat(enum mcube_ubm_stat stat);

/**
 * struct mcube_ubm_lruvec - what UBM knows of one lruvec
 * @held: the decisions, whose clock is that of the last turn or the last folio that came back.
 * @max_seq: youngest generation at the last turn: under lru_lock.
 * @aged: the clock when a turn saw @max_seq change: under lru_lock.
 * @looked: the clock when page tables were looked at last: under lru_lock.
 * @own: the last reclaim was for the limit of this memory cgroup; written under lru_lock.  If
 *       not, nothing but the clock goes on.
 * @gave: the last turn gave held folios to the oldest generation; written under lru_lock.
 * @nr_held: pages of held after the last turn.
 * @nr_rest: pages of the rest then.
 * @rcu: frees it.
 * @lock: protects @held, @nr_held and @nr_rest.  Taken within lru_lock and within the lock of a
 *        page cache, for bounded work.
 * @clock: pages that left; each CPU that reclaims adds to it.
 * @again: of these, pages that MGLRU found used again since the last turn.
 * @ahead: folios near the end of the rest that the last turn has looked at for reclaim after
 *         its own; each has a page at least.
 */
struct mcube_ubm_lruvec {
	struct mcube_ubm_held held;
	unsigned long max_seq;
	u32 aged;
	u32 looked;
	bool own;
	bool gave;
	u32 nr_held;
	u32 nr_rest;
	struct rcu_head rcu;
	spinlock_t lock; /* of @held, @nr_held, @nr_rest */

	atomic_t clock ____cacheline_aligned_in_smp;
	atomic_t again;
	atomic_t ahead;
};

/* What a folio is marked as, by the bits that MGLRU counts references with: see turn.c. */
enum mcube_ubm_mark {
	MCUBE_UBM_NO_MARK,
	MCUBE_UBM_CANDIDATE,
	MCUBE_UBM_AGAIN,
	MCUBE_UBM_USED = MCUBE_UBM_AGAIN,
	MCUBE_UBM_IS_HELD,
	MCUBE_UBM_UNUSED = MCUBE_UBM_IS_HELD,
};

static inline void mcube_ubm_mark(struct folio *folio, enum mcube_ubm_mark mark)
{
	BUILD_BUG_ON(LRU_REFS_WIDTH < 2);
	set_mask_bits(&folio->flags, LRU_REFS_MASK, (unsigned long)mark << LRU_REFS_PGOFF);
}

static inline enum mcube_ubm_mark mcube_ubm_mark_of(const struct folio *folio)
{
	return (READ_ONCE(folio->flags) & LRU_REFS_MASK) >> LRU_REFS_PGOFF;
}

/* The active list of files has the held pages: see turn.c. */
static inline struct list_head *mcube_ubm_held_list(struct lruvec *lruvec)
{
	return &lruvec->lists[LRU_ACTIVE_FILE];
}

/* lruvec.c */
extern bool mcube_ubm_may_begin;
struct mcube_ubm_lruvec *mcube_ubm_begin(struct lruvec *lruvec);
bool mcube_ubm_is_own(struct lruvec *lruvec, const struct mem_cgroup *target);
bool mcube_ubm_is_urgent(struct lruvec *lruvec, int priority);
u32 mcube_ubm_nr_held(struct lruvec *lruvec);
u32 mcube_ubm_nr_rest(struct lruvec *lruvec);
void mcube_ubm_sync(struct mcube_ubm_lruvec *u);

/* control.c */
int mcube_ubm_enable(bool on);
bool mcube_ubm_enabled(void);

#endif /* _MM_MCUBE_UBM_INTERNAL_H */
