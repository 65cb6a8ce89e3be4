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
#include <linux/fs.h>
#include <linux/init.h>
#include <linux/seq_file.h>

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

static int lines_open(struct inode *inode, struct file *file)
{
	return seq_open(file, inode->i_private);
}

static const struct file_operations lines_fops = {
	.owner = THIS_MODULE,
	.open = lines_open,
	.read = seq_read,
	.llseek = seq_lseek,
	.release = seq_release,
};

/**
 * mcube_debugfs_file() - make a file of lines that only root reads
 * @name: its name.
 * @dir: its directory, of mcube_debugfs_dir().
 * @ops: what prints the lines; may be in a module.
 *
 * A file with operations of a module takes a reference to the module as it is opened:
 * an open file would keep the module from unloading, and full_proxy_open() warns if it
 * meets the module after the last reference went and before the module's state tells so.
 * The operations of this file are built in.  It calls @ops only under debugfs_file_get(),
 * so that debugfs_remove() is all that a module needs before it goes.  A read of an open
 * file then fails with %EIO.
 *
 * Context: process, sleeps.
 * Return: the file, or an error pointer, which debugfs_remove() accepts.
 */
struct dentry *mcube_debugfs_file(const char *name, struct dentry *dir,
				  const struct seq_operations *ops)
{
	return debugfs_create_file(name, 0400, dir, (void *)ops, &lines_fops);
}
EXPORT_SYMBOL_NS_GPL(mcube_debugfs_file, MCUBE);

/* By subsys_initcall(), as the rooms add their files by late_initcall(). */
static int __init mcube_debugfs_init(void)
{
	root = debugfs_create_dir("mcube", NULL);
	return 0;
}
subsys_initcall(mcube_debugfs_init);
