/* SPDX-License-Identifier: GPL-2.0 */
/*
 * /sys/kernel/debug/mcube.
 *
 * Copyright (C) 2026 The mcube authors
 */
#ifndef _MM_MCUBE_DEBUGFS_H
#define _MM_MCUBE_DEBUGFS_H

struct dentry;

struct dentry *mcube_debugfs_dir(const char *room);

#endif /* _MM_MCUBE_DEBUGFS_H */
