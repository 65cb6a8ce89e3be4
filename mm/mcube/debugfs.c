// SPDX-License-Identifier: GPL-2.0
/*
 * /sys/kernel/debug/mcube, and the directories of rooms below it
 *
 * Copyright (C) 2026 The mcube authors
 */

#include <linux/dcache.h>
#include <linux/debugfs.h>
#include <linux/err.h>
#include <linux/export.h>
#include <linux/init.h>

#include "debugfs.h"

static struct dentry *root;

/**
 * mcube_debugfs_dir() - the directory of a room
 * @room: its name; NULL for the directory of all.
 *
 * The first call for a room makes the directory; a built-in part and a module may
 * share the directory.  It stays, unless somebody removes it.
 *
 * Context: process, sleeps.
 * Return: the directory, or an error pointer, which debugfs functions accept.
 */
struct dentry *mcube_debugfs_dir(const char *room)
{
	struct dentry *dir;

	if (!room)
		return root;
	dir = debugfs_lookup(room, root);
	/* An error if there is no debugfs. */
	if (IS_ERR_OR_NULL(dir))
		return debugfs_create_dir(room, root);
	/* debugfs holds a reference of its own. */
	dput(dir);
	return dir;
}
EXPORT_SYMBOL_NS_GPL(mcube_debugfs_dir, MCUBE);

/* By subsys_initcall(), as the rooms add their files by late_initcall(). */
static int __init mcube_debugfs_init(void)
{
	root = debugfs_create_dir("mcube", NULL);
	return 0;
}
subsys_initcall(mcube_debugfs_init);
