// SPDX-License-Identifier: GPL-2.0
/*
 * ROCS: the module
 *
 * Copyright (C) 2026 The mcube authors
 *
 * Programs that stream through memory evict from the last-level cache what they and
 * other programs use again.  ROCS (run-time operating system cache-filtering service)
 * finds the pages that do so by samples of the PMU, and moves them to the pollute
 * partition, a few colors of the cache, where they evict each other only:
 *
 *   process            threads                  PMU
 *     |                   |                      |
 *   pick.c  ---------> target.c <------------- event.c, sample.c
 *                         |                      |
 *                      window.c                profile.c      samples by page
 *                         |                      |
 *                       plan.c  <------------- search.c       how many pages
 *                         |
 *                       move.c  ----> mcube_recolor_mm()      pollute partition
 *
 * Source: Soares, Tam and Stumm, "Reducing the harmful effects of last-level cache
 * polluters with an OS-level, software-only pollute buffer", MICRO 2008.
 *
 * Differences from the paper: many processes with many threads; a search with fewer
 * steps; a sampling period that follows a budget; pages move back when a gain does
 * not last.  The files say more.
 */

#include <linux/init.h>
#include <linux/module.h>
#include <linux/mutex.h>

#include "internal.h"

static int __init rocs_init(void)
{
	int ret;

	ret = rocs_control_init();
	if (ret)
		return ret;
	ret = rocs_prefetch_init();
	if (ret)
		goto control;
	ret = rocs_sysfs_init();
	if (ret)
		goto prefetch;
	rocs_debugfs_init();
	return 0;

prefetch:
	rocs_prefetch_exit();
control:
	rocs_control_exit();
	return ret;
}

static void __exit rocs_exit(void)
{
	/* Without its files nobody can switch the policy on. */
	rocs_sysfs_exit();
	rocs_debugfs_exit();
	rocs_control_exit();
	rocs_prefetch_exit();
	scoped_guard(mutex, &rocs_lock)
		rocs_pick_exit();
}

module_init(rocs_init);
module_exit(rocs_exit);

MODULE_AUTHOR("The mcube authors");
MODULE_DESCRIPTION("Move pages that pollute the last-level cache to few cache colors");
MODULE_LICENSE("GPL");
MODULE_IMPORT_NS(MCUBE);
