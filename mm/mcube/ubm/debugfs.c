// SPDX-License-Identifier: GPL-2.0
/*
 * /sys/kernel/debug/mcube/ubm/lruvecs: a line for each lruvec that UBM decides about
 *
 * Copyright (C) 2026 The mcube authors
 *
 * The first line names the columns.  Sums fade with the pages that leave, see held.c.
 */

#include <linux/cgroup.h>
#include <linux/debugfs.h>
#include <linux/init.h>
#include <linux/memcontrol.h>
#include <linux/mutex.h>
#include <linux/nodemask.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/spinlock.h>

#include "../debugfs.h"
#include "internal.h"

static void show_path(struct seq_file *m, struct mem_cgroup *memcg)
{
	static char path[512];

	/* The caller shows one lruvec at a time. */
	if (cgroup_path(memcg->css.cgroup, path, sizeof(path)) < 0)
		strscpy(path, "/");
	seq_escape(m, path, " \t\n\\");
}

static void show_lruvec(struct seq_file *m, struct mem_cgroup *memcg, int nid)
{
	struct lruvec *lruvec = mem_cgroup_lruvec(memcg, NODE_DATA(nid));
	static struct mcube_ubm_held h;
	struct mcube_ubm_lruvec *u;

	rcu_read_lock();
	u = rcu_dereference(lruvec->mcube_ubm);
	if (u) {
		spin_lock_irq(&u->lock);
		h = u->held;
		spin_unlock_irq(&u->lock);
	}
	rcu_read_unlock();
	if (!u)
		return;
	seq_printf(m, "%llu ", cgroup_id(memcg->css.cgroup));
	show_path(m, memcg);
	seq_printf(m, " %d %u %u %u %u %u %llu %llu %llu %llu %llu %d\n", nid,
		   mcube_ubm_nr_held(lruvec), mcube_ubm_nr_rest(lruvec), h.rest,
		   h.clock - h.started, h.age, h.misses >> 8, h.again >> 8,
		   h.kept >> 8, h.failed >> 8, h.near >> 8, h.trying);
}

static int lruvecs_show(struct seq_file *m, void *v)
{
	static DEFINE_MUTEX(lock);
	struct mem_cgroup *memcg;
	int nid;

	guard(mutex)(&lock);
	memcg = mem_cgroup_iter(NULL, NULL, NULL);
	seq_puts(m, "memcg cgroup node held rest wanted left age missed again kept failed back trial\n");
	for (; memcg; memcg = mem_cgroup_iter(NULL, memcg, NULL)) {
		for_each_node_state(nid, N_MEMORY)
			show_lruvec(m, memcg, nid);
		cond_resched();
	}
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(lruvecs);

static int __init mcube_debugfs_ubm_init(void)
{
	debugfs_create_file("lruvecs", 0400, mcube_debugfs_dir("ubm"), NULL, &lruvecs_fops);
	return 0;
}
late_initcall(mcube_debugfs_ubm_init);
