// SPDX-License-Identifier: GPL-2.0
/*
 * UBM: switching it on and off
 *
 * Copyright (C) 2026 The mcube authors
 *
 * Switching on enables the hooks; UBM begins with each memory cgroup when that reclaims.
 * Switching off visits all lists: folios that were held are active folios then, or in the
 * youngest generation.
 */

#include <linux/jump_label.h>
#include <linux/mcube_ubm.h>
#include <linux/memcontrol.h>
#include <linux/mutex.h>
#include <linux/sched.h>

#include "internal.h"

static DEFINE_MUTEX(switch_lock);

static void forget_all(void)
{
	struct mem_cgroup *memcg = mem_cgroup_iter(NULL, NULL, NULL);
	int nid;

	for (; memcg; memcg = mem_cgroup_iter(NULL, memcg, NULL)) {
		for_each_node(nid)
			__mcube_ubm_forget(mem_cgroup_lruvec(memcg, NODE_DATA(nid)));
		cond_resched();
	}
}

/**
 * mcube_ubm_enable() - switch the policy on or off
 * @on: true to switch it on.
 *
 * Context: process, sleeps.
 * Return: 0; -EINTR if a signal came before anything changed; -EOPNOTSUPP without memory
 * cgroups (cgroup_disable=memory).
 */
int mcube_ubm_enable(bool on)
{
	int ret;

	if (on && mem_cgroup_disabled())
		return -EOPNOTSUPP;
	ret = mutex_lock_interruptible(&switch_lock);
	if (ret)
		return ret;
	if (on && !mcube_ubm_enabled()) {
		static_branch_enable(&mcube_ubm_key);
		WRITE_ONCE(mcube_ubm_may_begin, true);
	} else if (!on && mcube_ubm_enabled()) {
		WRITE_ONCE(mcube_ubm_may_begin, false);
		forget_all();
		static_branch_disable(&mcube_ubm_key);
	}
	mutex_unlock(&switch_lock);
	return 0;
}

/**
 * mcube_ubm_enabled() - is the policy on?
 *
 * Return: true if the policy is on; that can change at once.
 */
bool mcube_ubm_enabled(void)
{
	return static_key_enabled(&mcube_ubm_key);
}
