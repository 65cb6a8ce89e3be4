// SPDX-License-Identifier: GPL-2.0
/*
 * /sys/kernel/debug/mcube/ubm/: what UBM knows of each domain
 *
 * Copyright (C) 2026 The mcube authors
 *
 *   domains    a line for each domain: sizes of its partitions, gains, the guard
 *   runs       a line for each run of a file
 *   curve      a line for each depth of an LRU list: hits that the list would have
 *
 * Each file begins with a line that names its columns.  The files tell which files
 * are read, so only root reads them.  Gains are hits per 2^20 references and page.
 */

#include <linux/cgroup.h>
#include <linux/debugfs.h>
#include <linux/init.h>
#include <linux/kdev_t.h>
#include <linux/memcontrol.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

#include "../debugfs.h"
#include "internal.h"

/* Records of files that are looked at while the list of domains is locked. */
#define WALK	1024

static const char * const class_names[] = {
	[MCUBE_UBM_OTHER]	= "other",
	[MCUBE_UBM_SEQ]		= "seq",
	[MCUBE_UBM_LOOP]	= "loop",
};

static u64 gain_of(u64 gain)
{
	return gain >> (MCUBE_UBM_GAIN_SHIFT - 20);
}

static void show_path(struct seq_file *m, const struct mcube_ubm_domain *d)
{
	static char path[512];

	/* The list of domains is locked, so nobody else uses the buffer. */
	if (!d->memcg || cgroup_path(d->memcg->css.cgroup, path, sizeof(path)) < 0)
		strscpy(path, "/");
	seq_escape(m, path, " \t\n\\");
}

static void show_domain(struct seq_file *m, struct mcube_ubm_domain *d)
{
	const struct mcube_ubm_core *core = d->core;
	const struct mcube_ubm_runs *runs = &core->table.runs;
	u64 now, missed, lru_missed, loop, rest, left, held = 0;
	struct mcube_ubm_shares shares;
	u32 capacity, nr_runs, nr_files, used, i;

	spin_lock(&d->lock);
	capacity = core->capacity;
	now = core->now;
	missed = core->missed;
	lru_missed = core->lru_missed;
	loop = runs->loops.all;
	shares = core->shares;
	nr_runs = runs->nr;
	nr_files = core->table.nr;
	used = runs->used;
	left = core->guard.left;
	spin_unlock(&d->lock);
	for (i = 0; i < used; i++)
		/* Runs change meanwhile: it is a long way through all of them. */
		held += data_race(runs->run[i].held) != 0;
	rest = loop + shares.other;
	rest = capacity > rest ? capacity - rest : 0;
	seq_printf(m, "%llu ", mcube_ubm_domain_id(d));
	show_path(m, d);
	seq_printf(m, " %u %llu %llu %llu %llu %u %llu %llu %u %u %llu %llu %u %llu\n",
		   capacity, now, missed, lru_missed, loop, shares.other, rest,
		   held, nr_runs, nr_files, gain_of(shares.mg_other),
		   gain_of(shares.mg_loop), shares.cutoff, left);
}

static int domains_show(struct seq_file *m, void *v)
{
	struct mcube_ubm_domain *d;

	guard(mutex)(&mcube_ubm_domains_lock);
	seq_puts(m, "memcg cgroup capacity references misses lru_misses loop other seq held_loops runs files mg_other_1048576 mg_loop_1048576 cutoff guard\n");
	list_for_each_entry(d, &mcube_ubm_domains, node)
		show_domain(m, d);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(domains);

/**
 * struct spot - where the walk through all runs stands
 * @domain: number of the domain, struct mcube_ubm_domain::serial.
 * @file: record in its table.
 * @id: number of the domain to show.
 * @now: its clock.
 * @key: the file.
 * @nr: number of its runs.
 * @run: its runs.
 */
struct spot {
	u64 domain;
	u32 file;
	u64 id;
	u32 now;
	struct mcube_ubm_key key;
	unsigned int nr;
	struct mcube_ubm_run run[MCUBE_UBM_FILE_RUNS];
};

/* Copy the runs of the file at a spot. */
static void copy_runs(struct mcube_ubm_domain *d, struct spot *spot)
{
	const struct mcube_ubm_table *table = &d->core->table;
	const struct mcube_ubm_file *file = &table->file[spot->file];
	u32 r;

	spot->nr = 0;
	spin_lock(&d->lock);
	spot->key = file->key;
	spot->now = d->core->now;
	if (file->used)
		for (r = file->trail.runs; r != MCUBE_UBM_NONE &&
		     spot->nr < MCUBE_UBM_FILE_RUNS; r = spot->run[spot->nr++].next)
			spot->run[spot->nr] = table->runs.run[r];
	spin_unlock(&d->lock);
}

/*
 * Go on to the next file that has runs, by WALK records at most.  The list of domains is
 * not locked between two calls, so a memory cgroup that goes offline need not wait for
 * a reader.  Return: false at the end.
 */
static bool next_runs(struct spot *spot)
{
	struct mcube_ubm_domain *d;
	unsigned int steps;

	guard(mutex)(&mcube_ubm_domains_lock);
	list_for_each_entry(d, &mcube_ubm_domains, node) {
		if (d->serial < spot->domain)
			continue;
		if (d->serial > spot->domain)
			spot->file = 0;
		spot->domain = d->serial;
		spot->id = mcube_ubm_domain_id(d);
		for (steps = 0; spot->file < d->core->table.size; spot->file++) {
			copy_runs(d, spot);
			if (!spot->nr && ++steps < WALK)
				continue;
			spot->file++;
			return true;
		}
	}
	return false;
}

static int runs_show(struct seq_file *m, void *v)
{
	struct spot *spot = kzalloc(sizeof(*spot), GFP_KERNEL);
	const struct mcube_ubm_run *r;

	if (!spot)
		return -ENOMEM;
	seq_puts(m, "memcg major minor ino start end cursor period passes class held seen\n");
	while (next_runs(spot)) {
		for (r = spot->run; r < spot->run + spot->nr; r++)
			seq_printf(m, "%llu %u %u %llu %u %u %u %u %u %s %u %u\n",
				   spot->id, MAJOR(spot->key.dev),
				   MINOR(spot->key.dev), spot->key.ino, r->start,
				   r->end, r->cursor, r->period, r->passes,
				   class_names[r->class], r->held,
				   spot->now - r->last);
		cond_resched();
	}
	kfree(spot);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(runs);

static void show_curve(struct seq_file *m, struct mcube_ubm_domain *d)
{
	u64 other[MCUBE_UBM_REGIONS], all[MCUBE_UBM_REGIONS];
	u32 depth[MCUBE_UBM_REGIONS], i;

	spin_lock(&d->lock);
	for (i = 0; i < MCUBE_UBM_REGIONS; i++) {
		depth[i] = mcube_ubm_ghost_depth(&d->core->lru, i);
		other[i] = d->core->other.hits[i] + (i ? other[i - 1] : 0);
		all[i] = d->core->lru.hits[i] + (i ? all[i - 1] : 0);
	}
	spin_unlock(&d->lock);
	for (i = 0; i < MCUBE_UBM_REGIONS; i++)
		seq_printf(m, "%llu %u %llu %llu\n", mcube_ubm_domain_id(d),
			   depth[i], other[i], all[i]);
}

static int curve_show(struct seq_file *m, void *v)
{
	struct mcube_ubm_domain *d;

	guard(mutex)(&mcube_ubm_domains_lock);
	seq_puts(m, "memcg depth other all\n");
	list_for_each_entry(d, &mcube_ubm_domains, node)
		show_curve(m, d);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(curve);

static int __init mcube_debugfs_ubm_init(void)
{
	struct dentry *dir = mcube_debugfs_dir("ubm");

	debugfs_create_file("domains", 0400, dir, NULL, &domains_fops);
	debugfs_create_file("runs", 0400, dir, NULL, &runs_fops);
	debugfs_create_file("curve", 0400, dir, NULL, &curve_fops);
	return 0;
}
late_initcall(mcube_debugfs_ubm_init);
