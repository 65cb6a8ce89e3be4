/* SPDX-License-Identifier: GPL-2.0 */
/*
 * /sys/kernel/debug/mcube.
 *
 * Copyright (C) 2026 The mcube authors
 */
#ifndef _MM_MCUBE_DEBUGFS_H
#define _MM_MCUBE_DEBUGFS_H

#include <linux/seq_file.h>

struct dentry;

struct dentry *mcube_debugfs_dir(const char *room);
struct dentry *mcube_debugfs_file(const char *name, struct dentry *dir,
				  const struct seq_operations *ops);

#endif /* _MM_MCUBE_DEBUGFS_H */
