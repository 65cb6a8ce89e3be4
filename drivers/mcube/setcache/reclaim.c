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
 * Each node is compared by itself: where it is short of memory, files on other nodes are of no
 * use to it.
 *
 * A set that goes moves its pages to the sets beside it, where they compete with the pages
 * there.  So the pages that are used most stay.
 *
 * Files may be larger and yet have nothing to give: a cgroup protects them (memory.min), or they
 * are mapped, locked, or dirty.  So the pool also gives a small share of its pages each time the
 * kernel is about to kill a process for memory.  The kernel then tries again to allocate.
 *
 * A shrinker cannot give the share.  It learns the priority of reclaim and nothing else, and a
 * task can come to the last priorities while there is much to reclaim: with MGLRU a task gets
 * nothing at any priority while another task ages the pages.
 *
 * When memory has not been short for a while, the pool grows step by step, from memory
 * that is free, until it has the size that the administrator wrote.  A write to drop_caches
 * asks the shrinker as well, but memory is not short then; so the pool grows soon, and without
 * rests between the steps.
 */

#include <linux/jiffies.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/notifier.h>
#include <linux/oom.h>
#include <linux/sched.h>
#include <linux/shrinker.h>
#include <linux/vmstat.h>
#include <linux/workqueue.h>

#include "internal.h"

/* From the last time memory was short, or too short to grow, and from step to step. */
#define PAUSE	(10 * HZ)
#define STEP	HZ

/* From step to step: STEP, or less after drop_caches. */
static unsigned long rest = STEP;

/* The part of the pool that goes before a process is killed, and its pages at most. */
#define SHARE		16
#define SHARE_MAX	4096UL

/* Ticks for which a task waits before a kill while another task has the lock of the table. */
#define WAIT		10

/* Pages of the smallest pool. */
#define LEAST		((unsigned long)SETCACHE_SETS_PER_MIB * SETCACHE_WAYS)

static struct shrinker *shrinker;

static void regrow(struct work_struct *work);
static DECLARE_DELAYED_WORK(regrow_work, regrow);

static void regrow(struct work_struct *work)
{
	int left = setcache_pool_regrow();

	if (left)
		schedule_delayed_work(&regrow_work, left == -ENOMEM ? PAUSE :
						    left == -EBUSY ? STEP : READ_ONCE(rest));
	else
		WRITE_ONCE(rest, STEP);
}

/* node_page_state() is for the kernel's core alone. */
static unsigned long on_node(int nid, enum node_stat_item item)
{
	return max(atomic_long_read(&NODE_DATA(nid)->vm_stat[item]), 0L);
}

static unsigned long count(struct shrinker *s, struct shrink_control *sc)
{
	unsigned long files = on_node(sc->nid, NR_ACTIVE_FILE) +
			      on_node(sc->nid, NR_INACTIVE_FILE);
	unsigned long pool = on_node(sc->nid, NR_KERNEL_MISC_RECLAIMABLE);

	if (setcache_pool_nr() <= SETCACHE_SETS_PER_MIB)
		return 0;
	return pool - min(pool, files);
}

/*
 * @short_of: the system is short of memory.
 *
 * Return: as setcache_pool_take().
 */
static long take(unsigned long pages, int nid, bool short_of)
{
	long freed = setcache_pool_take(DIV_ROUND_UP(pages, SETCACHE_WAYS), nid);

	if (freed >= 0) {
		WRITE_ONCE(rest, short_of ? STEP : 1);
		mod_delayed_work(system_wq, &regrow_work, short_of ? PAUSE : STEP);
	}
	return freed;
}

static unsigned long scan(struct shrinker *s, struct shrink_control *sc)
{
	/* Each way of reclaim has the flag; drop_caches has not. */
	bool short_of = current->flags & PF_MEMALLOC;
	long freed = take(sc->nr_to_scan, sc->nid, short_of);

	if (freed == -EAGAIN) {
		/* Another task takes memory: let it get on, or this one may be killed. */
		schedule_timeout_uninterruptible(1);
		freed = take(sc->nr_to_scan, sc->nid, short_of);
	}
	return freed < 0 ? SHRINK_STOP : freed;
}

/* Called with the lock of the OOM killer, so a single task is here.  @freed: of pages. */
static int before_kill(struct notifier_block *nb, unsigned long unused, void *freed)
{
	unsigned long pool = (unsigned long)setcache_pool_nr() * SETCACHE_WAYS;
	unsigned int ticks;
	long got;

	if (pool <= LEAST)
		return NOTIFY_DONE;
	for (ticks = 0; ticks < WAIT; ticks++) {
		got = take(min(pool / SHARE, SHARE_MAX), NUMA_NO_NODE, true);
		if (got >= 0) {
			*(unsigned long *)freed += got;
			break;
		}
		/* The pool grows, perhaps: that ends soon, as it takes free memory. */
		schedule_timeout_uninterruptible(1);
	}
	return NOTIFY_OK;
}

static struct notifier_block before_kill_nb = { .notifier_call = before_kill };

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
	int ret;

	shrinker = shrinker_alloc(SHRINKER_NUMA_AWARE, "mcube-setcache");
	if (!shrinker)
		return -ENOMEM;
	shrinker->count_objects = count;
	shrinker->scan_objects = scan;
	ret = register_oom_notifier(&before_kill_nb);
	if (ret) {
		shrinker_free(shrinker);
		return ret;
	}
	shrinker_register(shrinker);
	return 0;
}

/**
 * setcache_reclaim_exit() - the system does not ask any more
 */
void setcache_reclaim_exit(void)
{
	/* Both wait for tasks that take memory; so nobody starts the work again. */
	unregister_oom_notifier(&before_kill_nb);
	shrinker_free(shrinker);
	cancel_delayed_work_sync(&regrow_work);
}
