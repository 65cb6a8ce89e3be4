// SPDX-License-Identifier: GPL-2.0
/*
 * Set-associative page cache: the module
 *
 * Copyright (C) 2026 The mcube authors
 *
 * A page of a file that is read at random can be in a place of one small set only:
 *
 *   read()               hooks, built in         module
 *     |                     |                      |
 *   filemap_read() ----> mm/mcube/setcache/ ---> read.c       pages in sets
 *                           ^                    ask.c        the same, by another node
 *                           |                    miss.c       pages from the device
 *   page cache,             |                      |
 *   truncation,  -----------+  kills             async.c      the same, nobody waits
 *   direct writes                                  v
 *                                                set.c, policy.c, table.c
 *                                                  ^
 *                                                pool.c       memory and locks of sets
 *                                                numa.c       nodes of that memory
 *                                                  ^
 *   reclaim  -----------------------------------> reclaim.c   gives memory back
 *
 * Source: Zheng, Burns, Szalay, "A parallel page cache: IOPS and caching for
 * multicore systems", HotStorage 2012.
 *
 * Differences from the paper: this is the page cache of the kernel, beside the usual
 * one, and coherent with it, where the paper has a library over direct I/O.  Also see
 * set.c, policy.c and table.c.
 */

#include <linux/module.h>

#include "fill.h"

static int __init setcache_init(void)
{
	int ret;

	setcache_fill_init();
	ret = setcache_orphan_init();
	if (ret)
		return ret;
	ret = setcache_async_init();
	if (ret)
		goto no_async;
	ret = setcache_pool_init();
	if (ret)
		goto no_pool;
	ret = setcache_reclaim_init();
	if (ret)
		goto no_reclaim;
	ret = setcache_sysfs_init();
	if (ret)
		goto no_sysfs;
	setcache_debugfs_init();
	return 0;

no_sysfs:
	setcache_reclaim_exit();
no_reclaim:
	setcache_pool_exit();
no_pool:
	setcache_async_exit();
no_async:
	setcache_orphan_exit();
	return ret;
}

static void __exit setcache_exit(void)
{
	/* Without its files nobody can switch it on. */
	setcache_sysfs_exit();
	setcache_debugfs_exit();
	setcache_control_exit();
	setcache_reclaim_exit();
	setcache_pool_exit();
	setcache_async_exit();
	setcache_orphan_exit();
}

module_init(setcache_init);
module_exit(setcache_exit);

MODULE_AUTHOR("The mcube authors");
MODULE_DESCRIPTION("Serve random reads from a set-associative page cache");
MODULE_LICENSE("GPL");
MODULE_IMPORT_NS(MCUBE);
