// SPDX-License-Identifier: GPL-2.0
/*
 * /sys/kernel/debug/mcube/rocs/: what ROCS knows of its targets
 *
 * Copyright (C) 2026 The mcube authors
 *
 *   targets    a line for each target: its plan and its last window
 *   profile    a line for each page of a miss-rate stack, the highest rate first
 *   search     a line for each point that the last search measured
 *
 * Each file begins with a line that names its columns.  The files tell addresses of
 * memory of processes, so only root reads them.
 */

#include <linux/debugfs.h>
#include <linux/mm_types.h>
#include <linux/mutex.h>
#include <linux/pid.h>
#include <linux/seq_file.h>

#include "../../../mm/mcube/debugfs.h"
#include "internal.h"

static struct dentry *dir;

static const char * const state_names[] = {
	[ROCS_WATCH]	= "watch",
	[ROCS_PROFILE]	= "profile",
	[ROCS_SEARCH]	= "search",
	[ROCS_HOLD]	= "hold",
};

static const char * const why_names[] = {
	[ROCS_CHOSEN]	= "pid",
	[ROCS_CGROUP]	= "cgroup",
	[ROCS_AUTO]	= "auto",
};

/* The lines of a file are printed at once, as the targets may be others later. */
static void *all_start(struct seq_file *m, loff_t *pos)
{
	mutex_lock(&rocs_lock);
	return *pos ? NULL : SEQ_START_TOKEN;
}

static void *all_next(struct seq_file *m, void *v, loff_t *pos)
{
	++*pos;
	return NULL;
}

static void all_stop(struct seq_file *m, void *v)
{
	mutex_unlock(&rocs_lock);
}

#define ALL_OPS(name)					\
static const struct seq_operations name##_ops = {	\
	.start = all_start,				\
	.next = all_next,				\
	.stop = all_stop,				\
	.show = name##_show,				\
}

static void show_target(struct seq_file *m, const struct rocs_target *t)
{
	const struct rocs_plan *p = &t->plan;

	seq_printf(m, "%d %s %s %lu %u %u %u %d %u %u %u %u %u %llu %llu %llu %llu ",
		   pid_vnr(t->pid), why_names[t->why], state_names[p->state],
		   t->windows, t->nr_stack, p->mapped, t->in, p->gain, p->searches,
		   p->rollbacks, p->phases, t->period, t->nr_threads, t->last.cycles,
		   t->last.instructions, t->last.refs, t->last.misses);
	seq_escape(m, t->comm, " \t\n\\");
	seq_putc(m, '\n');
}

static int targets_show(struct seq_file *m, void *v)
{
	unsigned int i;

	seq_puts(m, "pid why state windows stack mapped in gain_1024 searches rollbacks phases period threads cycles instructions refs misses comm\n");
	for (i = 0; i < ROCS_TARGETS_MAX; i++)
		if (rocs_targets[i])
			show_target(m, rocs_targets[i]);
	return 0;
}

ALL_OPS(targets);

static void show_profile(struct seq_file *m, const struct rocs_target *t)
{
	u32 i;

	for (i = 0; i < t->nr_stack; i++)
		seq_printf(m, "%d 0x%llx %u %u %u %d\n", pid_vnr(t->pid),
			   t->stack[i].page << PAGE_SHIFT, t->stack[i].samples,
			   t->stack[i].misses, t->stack[i].rate,
			   i < t->plan.mapped);
}

static int profile_show(struct seq_file *m, void *v)
{
	unsigned int i;

	seq_puts(m, "pid address samples misses rate_65536 mapped\n");
	for (i = 0; i < ROCS_TARGETS_MAX; i++)
		if (rocs_targets[i])
			show_profile(m, rocs_targets[i]);
	return 0;
}

ALL_OPS(profile);

static void show_search(struct seq_file *m, const struct rocs_target *t)
{
	const struct rocs_search *s = &t->plan.search;
	u32 i;

	for (i = 0; i < s->nr; i++)
		seq_printf(m, "%d %u %llu %u\n", pid_vnr(t->pid), s->point[i].index,
			   s->point[i].score, s->point[i].times);
}

static int search_show(struct seq_file *m, void *v)
{
	unsigned int i;

	seq_puts(m, "pid index score_1073741824 times\n");
	for (i = 0; i < ROCS_TARGETS_MAX; i++)
		if (rocs_targets[i])
			show_search(m, rocs_targets[i]);
	return 0;
}

ALL_OPS(search);

/**
 * rocs_debugfs_init() - make the directory
 */
void rocs_debugfs_init(void)
{
	dir = mcube_debugfs_dir("rocs");
	mcube_debugfs_file("targets", dir, &targets_ops);
	mcube_debugfs_file("profile", dir, &profile_ops);
	mcube_debugfs_file("search", dir, &search_ops);
}

/**
 * rocs_debugfs_exit() - remove the directory
 *
 * Waits until nobody reads a file of the directory.
 */
void rocs_debugfs_exit(void)
{
	debugfs_remove(dir);
}
