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
 * are mapped, locked, or dirty.  So there is a second shrinker, which has a small share of the pool
 * to give at any time to tasks that reclaim for themselves.  Reclaim asks for twice the
 * share >> priority, where the priority goes from DEF_PRIORITY down to 0 while it finds too little.
 * The batch of the shrinker is larger than the share, so reclaim gets nothing until it asks for
 * the whole share: at the last two or three priorities.  So a stream of files, for which reclaim
 * finds enough before, takes nothing of the share.  A process that would be killed for memory
 * takes all of the share, and then again a share of what is left.  kswapd takes nothing of the
 * share.
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
#define SHARE_MAX	4095UL

/* Pages of the smallest pool. */
#define LEAST		((unsigned long)SETCACHE_SETS_PER_MIB * SETCACHE_WAYS)

static struct shrinker *shrinker, *last_resort;

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

	return pool - min(pool, max(files, LEAST));
}

static unsigned long count_share(struct shrinker *s, struct shrink_control *sc)
{
	unsigned long pool = (unsigned long)setcache_pool_nr() * SETCACHE_WAYS;

	if (pool <= LEAST || current_is_kswapd())
		return 0;
	return min3(pool - LEAST, pool / SHARE, SHARE_MAX);
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

static struct shrinker *alloc(const char *name,
			      unsigned long (*how_many)(struct shrinker *s,
							struct shrink_control *sc))
{
	struct shrinker *s = shrinker_alloc(0, "%s", name);

	if (s) {
		s->count_objects = how_many;
		s->scan_objects = scan;
	}
	return s;
}

/**
 * setcache_reclaim_init() - let the system take memory from the pool
 *
 * Return: 0 or -ENOMEM.
 */
int setcache_reclaim_init(void)
{
	shrinker = alloc("mcube-setcache", count);
	last_resort = alloc("mcube-setcache-last", count_share);
	if (!shrinker || !last_resort) {
		shrinker_free(shrinker);
		shrinker_free(last_resort);
		return -ENOMEM;
	}
	last_resort->batch = SHARE_MAX + 1;
	shrinker_register(shrinker);
	shrinker_register(last_resort);
	return 0;
}

/**
 * setcache_reclaim_exit() - the system does not ask any more
 */
void setcache_reclaim_exit(void)
{
	/* Waits for scans; so nobody starts the work again. */
	shrinker_free(last_resort);
	shrinker_free(shrinker);
	cancel_delayed_work_sync(&regrow_work);
}
