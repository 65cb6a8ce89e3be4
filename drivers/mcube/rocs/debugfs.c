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
 * Each file begins with a line that names its columns.  A long file is read in pieces,
 * and a new profile may take the place of the old one between two pieces.  The files tell
 * addresses of memory of processes, so only root reads them.
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

/**
 * struct table - a file
 * @ops: functions of this file's readers.
 * @columns: their names; the last one is NULL.
 * @lines: tells how many lines a target has.
 * @show: prints a line of a target.
 */
struct table {
	const struct seq_operations ops;
	const char * const *columns;
	u32 (*lines)(const struct rocs_target *t);
	void (*show)(struct seq_file *m, const struct rocs_target *t, u32 line);
};

static const struct table *table_of(const struct seq_file *m)
{
	return container_of_const(m->op, struct table, ops);
}

/* The present line of the reader that holds rocs_lock; no target: the head. */
static struct {
	const struct rocs_target *target;
	u32 line;
} at;

static void *find_line(const struct table *table, loff_t pos)
{
	u32 i, lines;

	at.target = NULL;
	if (!pos--)
		return &at;
	for (i = 0; i < ROCS_TARGETS_MAX; i++) {
		lines = rocs_targets[i] ? table->lines(rocs_targets[i]) : 0;
		if (pos < lines) {
			at.target = rocs_targets[i];
			at.line = pos;
			return &at;
		}
		pos -= lines;
	}
	return NULL;
}

/* Targets come and go while nobody holds the lock, between two pieces of a file. */
static void *start(struct seq_file *m, loff_t *pos)
{
	mutex_lock(&rocs_lock);
	return find_line(table_of(m), *pos);
}

static void *next(struct seq_file *m, void *v, loff_t *pos)
{
	return find_line(table_of(m), ++*pos);
}

static void stop(struct seq_file *m, void *v)
{
	mutex_unlock(&rocs_lock);
}

static int show(struct seq_file *m, void *v)
{
	const struct table *table = table_of(m);
	const char * const *name;

	if (at.target) {
		table->show(m, at.target, at.line);
		return 0;
	}
	for (name = table->columns; *name; name++)
		seq_printf(m, "%s%c", *name, name[1] ? ' ' : '\n');
	return 0;
}

#define TABLE_OPS { .start = start, .next = next, .stop = stop, .show = show }

static const char * const target_columns[] = {
	"pid", "why", "state", "windows", "stack", "mapped", "in", "gain_1024", "searches",
	"rollbacks", "phases", "period", "threads", "cycles", "instructions", "refs", "misses",
	"step", "moved", "comm", NULL
};

static u32 one_line(const struct rocs_target *t)
{
	return 1;
}

static void show_target(struct seq_file *m, const struct rocs_target *t, u32 line)
{
	const struct rocs_plan *p = &t->plan;

	seq_printf(m, "%d %s %s %lu %u %u %u %d %u %u %u %u %u %llu %llu %llu %llu %u %llu ",
		   pid_vnr(t->pid), why_names[t->why],
		   t->leaving ? "leave" : state_names[p->state],
		   t->windows, t->nr_stack, p->mapped, t->in, p->gain, p->searches,
		   p->rollbacks, p->phases, t->period, t->nr_threads, t->last.cycles,
		   t->last.instructions, t->last.refs, t->last.misses, p->search.step,
		   p->search.moved);
	seq_escape(m, t->comm, " \t\n\\");
	seq_putc(m, '\n');
}

static const struct table targets = {
	.ops = TABLE_OPS,
	.columns = target_columns,
	.lines = one_line,
	.show = show_target,
};

static const char * const profile_columns[] = {
	"pid", "address", "samples", "misses", "rate_65536", "mapped", NULL
};

static u32 stack_lines(const struct rocs_target *t)
{
	return t->nr_stack;
}

static void show_page(struct seq_file *m, const struct rocs_target *t, u32 line)
{
	const struct rocs_entry *e = &t->stack[line];

	seq_printf(m, "%d 0x%llx %u %u %u %d\n", pid_vnr(t->pid), e->page << PAGE_SHIFT,
		   e->samples, e->misses, e->rate, line < t->plan.mapped);
}

static const struct table profile = {
	.ops = TABLE_OPS,
	.columns = profile_columns,
	.lines = stack_lines,
	.show = show_page,
};

static const char * const search_columns[] = {
	"pid", "index", "score_1073741824", "times", "best", NULL
};

static u32 search_lines(const struct rocs_target *t)
{
	return t->plan.search.nr;
}

static void show_point(struct seq_file *m, const struct rocs_target *t, u32 line)
{
	const struct rocs_search_point *p = &t->plan.search.point[line];

	seq_printf(m, "%d %u %llu %u %d\n", pid_vnr(t->pid), p->index, p->score, p->times,
		   p->index == t->plan.search.best);
}

static const struct table search = {
	.ops = TABLE_OPS,
	.columns = search_columns,
	.lines = search_lines,
	.show = show_point,
};

/**
 * rocs_debugfs_init() - make the directory
 */
void rocs_debugfs_init(void)
{
	dir = mcube_debugfs_dir("rocs");
	mcube_debugfs_file("targets", dir, &targets.ops);
	mcube_debugfs_file("profile", dir, &profile.ops);
	mcube_debugfs_file("search", dir, &search.ops);
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
