// SPDX-License-Identifier: GPL-2.0
/*
 * debugfs, mcube/setcache/sets: how much each set is in demand
 *
 * Copyright (C) 2026 The mcube authors
 *
 * A line for each set: ways with a page, those of them whose page is being read, ways that
 * are in use at the moment, pages that came in so far, those of them that the set had
 * evicted lately, the node that has the set, and how many of its pages lie on another node.
 */

#include <linux/debugfs.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/seq_file.h>

#include "../../../mm/mcube/debugfs.h"
#include "internal.h"

static struct dentry *file;

static void *sets_start(struct seq_file *m, loff_t *pos)
{
	mutex_lock(&setcache_table_lock);
	if (!*pos)
		return SEQ_START_TOKEN;
	return *pos <= setcache_table.nr ? pos : NULL;
}

static void *sets_next(struct seq_file *m, void *v, loff_t *pos)
{
	++*pos;
	return *pos <= setcache_table.nr ? pos : NULL;
}

static void sets_stop(struct seq_file *m, void *v)
{
	mutex_unlock(&setcache_table_lock);
}

/* The pages stay while the table is locked. */
static unsigned int pages_away(const struct setcache_set *set)
{
	unsigned int way, away = 0;

	for (way = 0; way < SETCACHE_WAYS; way++)
		away += folio_nid(set->entry[way].page) != setcache_nid_of(set);
	return away;
}

static int sets_show(struct seq_file *m, void *v)
{
	struct setcache_pressure p;
	struct setcache_set *set;
	u32 i;

	if (v == SEQ_START_TOKEN) {
		seq_puts(m, "set resident filling pinned fills again node away\n");
		return 0;
	}
	i = *(loff_t *)v - 1;
	set = setcache_table_set_at(&setcache_table, i);
	setcache_pressure(set, &p);
	seq_printf(m, "%u %u %u %u %u %u %d %u\n", i, p.resident, p.filling, p.pinned,
		   p.fills, p.again, setcache_nid_of(set), pages_away(set));
	return 0;
}

static const struct seq_operations sets_sops = {
	.start = sets_start,
	.next = sets_next,
	.stop = sets_stop,
	.show = sets_show,
};

/**
 * setcache_debugfs_init() - make the file
 */
void setcache_debugfs_init(void)
{
	/* The directory stays; a build option of the hooks has a file there too. */
	file = mcube_debugfs_file("sets", mcube_debugfs_dir("setcache"), &sets_sops);
}

/**
 * setcache_debugfs_exit() - remove the file
 *
 * Waits until nobody reads it.
 */
void setcache_debugfs_exit(void)
{
	debugfs_remove(file);
}
