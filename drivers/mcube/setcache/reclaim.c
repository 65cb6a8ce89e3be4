// SPDX-License-Identifier: GPL-2.0
/*
 * Reclaim: the pool gives memory back when the system is short of it
 *
 * Copyright (C) 2026 The mcube authors
 *
 * Page sets and the page cache are both caches of files, and reclaim takes from the larger
 * one.  So a program that streams files through the page cache does not wear the pool down,
 * and programs that need memory for themselves get it from both:
 *
 *   pool     ##########                    ####
 *   files    ####                  ---->   ####
 *   others   ########                      ##############
 *                 freeable: ######
 *
 * A set that goes moves its pages to the sets beside it, where they compete with the pages
 * there.  So the pages that are used most stay.
 *
 * Files may be larger and yet have nothing to give: a cgroup protects them (memory.min), or they
 * are mapped, locked, or dirty.  So a small share of the pool is freeable at any time, by tasks
 * that reclaim for themselves.  Reclaim takes twice freeable >> priority, where the priority goes
 * from DEF_PRIORITY down to 0 while it finds too little.  The share is less than
 * 1 << DEF_PRIORITY.  So a stream of files, for which reclaim finds enough at once, takes nothing
 * of the share.  A process that would be killed for memory takes all of the share, and then again
 * a share of what is left.  kswapd takes nothing of the share: with the generations of MGLRU it
 * begins at a lower priority, and so a stream would wear the pool down.
 *
 * Reclaim is not told of the pages by mm_account_reclaimed_pages().  It would take 32 pages for
 * enough and stop below the watermark, and a process is killed if reclaim then finds nothing in
 * the page cache.  So it goes on to priority 0, and then looks at free memory.
 *
 * When memory has not been short for a while, the pool grows step by step, from memory
 * that is free, until it has the size that the administrator wrote.
 */

#include <linux/jiffies.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/shrinker.h>
#include <linux/swap.h>
#include <linux/vmstat.h>
#include <linux/workqueue.h>

#include "internal.h"

/* From the last time memory was short, or too short to grow, and from step to step. */
#define PAUSE	(10 * HZ)
#define STEP	HZ

/* A part of the pool that is freeable at any time, and its pages at most. */
#define SHARE		16
#define SHARE_MAX	((1UL << DEF_PRIORITY) - 1)

static struct shrinker *shrinker;

static void regrow(struct work_struct *work);
static DECLARE_DELAYED_WORK(regrow_work, regrow);

static void regrow(struct work_struct *work)
{
	int left = setcache_pool_regrow();

	if (left)
		schedule_delayed_work(&regrow_work, left == -ENOMEM ? PAUSE : STEP);
}

static unsigned long count(struct shrinker *s, struct shrink_control *sc)
{
	unsigned long pool = (unsigned long)setcache_pool_nr() * SETCACHE_WAYS;
	unsigned long files = global_node_page_state(NR_ACTIVE_FILE) +
			      global_node_page_state(NR_INACTIVE_FILE);
	unsigned long least = SETCACHE_SETS_PER_MIB * SETCACHE_WAYS, share = 0;

	if (pool <= least)
		return 0;
	if (!current_is_kswapd())
		share = min3(pool - least, pool / SHARE, SHARE_MAX);
	return max(pool - min(pool, max(files, least)), share);
}

static unsigned long scan(struct shrinker *s, struct shrink_control *sc)
{
	unsigned long sets = DIV_ROUND_UP(sc->nr_to_scan, SETCACHE_WAYS);
	long freed = setcache_pool_take(sets);

	if (freed == -EAGAIN) {
		/* Another task takes memory: let it get on, or this one may be killed. */
		schedule_timeout_uninterruptible(1);
		freed = setcache_pool_take(sets);
	}
	if (freed < 0)
		return SHRINK_STOP;
	setcache_count(SETCACHE_STAT_RECLAIMED, freed);
	mod_delayed_work(system_wq, &regrow_work, PAUSE);
	return freed;
}

/**
 * setcache_reclaim_regrow() - the pool is to have its size again
 */
void setcache_reclaim_regrow(void)
{
	mod_delayed_work(system_wq, &regrow_work, STEP);
}

/**
 * setcache_reclaim_init() - let the system take memory from the pool
 *
 * Return: 0 or -ENOMEM.
 */
int setcache_reclaim_init(void)
{
	shrinker = shrinker_alloc(0, "mcube-setcache");
	if (!shrinker)
		return -ENOMEM;
	shrinker->count_objects = count;
	shrinker->scan_objects = scan;
	shrinker_register(shrinker);
	return 0;
}

/**
 * setcache_reclaim_exit() - the system does not ask any more
 */
void setcache_reclaim_exit(void)
{
	/* Waits for scans; so nobody starts the work again. */
	shrinker_free(shrinker);
	cancel_delayed_work_sync(&regrow_work);
}
