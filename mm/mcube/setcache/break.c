// SPDX-License-Identifier: GPL-2.0
/*
 * debugfs, mcube/setcache/skip: leave out hooks, for tests of the tests
 *
 * Copyright (C) 2026 The mcube authors
 *
 * Bit N of the number leaves out the hooks whose reason is N in
 * enum mcube_setcache_why.
 */

#include <linux/debugfs.h>
#include <linux/init.h>

#include "../debugfs.h"
#include "engine.h"

u32 mcube_setcache_skip;

static int __init mcube_setcache_break_init(void)
{
	debugfs_create_u32("skip", 0600, mcube_debugfs_dir("setcache"),
			   &mcube_setcache_skip);
	return 0;
}
late_initcall(mcube_setcache_break_init);
