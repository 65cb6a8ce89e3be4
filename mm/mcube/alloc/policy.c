// SPDX-License-Identifier: GPL-2.0
/*
 * Placement policies that use the mcube allocator
 *
 * Copyright (C) 2026 The mcube authors
 *
 * A policy comes into force and goes out of force here, so that the rules are
 * the same for all policies:
 *
 *   enable    the allocator must be on; free frames are counted by color from
 *             the first policy on; then the policy starts.
 *   disable   the policy stops; its requests for colors are withdrawn; free
 *             frames are no longer counted after the last policy; spares that
 *             only reserved colors justify are released.
 *
 * Switching the allocator off disables all policies, newest first.
 *
 * Locks: the policy lock is cpus_read_lock(), mem_hotplug_lock and a mutex, in
 * this order; the memory notifier is called with the first two held.
 */

#define pr_fmt(fmt) "mcube: " fmt

#include <linux/cpu.h>
#include <linux/list.h>
#include <linux/memory_hotplug.h>
#include <linux/mutex.h>
#include <linux/printk.h>
#include <linux/rcupdate.h>

#include "internal.h"
#include "policy.h"

/* Guards the settings, the list of zones and all policies. */
DEFINE_MUTEX(mcube_control_lock);

static LIST_HEAD(policies);	/* in force, newest first */

/**
 * mcube_policy_lock() - keep CPUs, memory and policies from coming or going
 *
 * Context: process, sleeps.
 */
void mcube_policy_lock(void)
{
	cpus_read_lock();
	get_online_mems();
	mutex_lock(&mcube_control_lock);
}

/**
 * mcube_policy_unlock() - undo mcube_policy_lock()
 *
 * Context: process.
 */
void mcube_policy_unlock(void)
{
	mutex_unlock(&mcube_control_lock);
	put_online_mems();
	cpus_read_unlock();
}

static int start(struct mcube_policy *p)
{
	int ret;

	INIT_LIST_HEAD(&p->request);
	if (list_empty(&policies))
		mcube_color_stat_start();
	ret = p->start(mcube_config.map);
	if (!ret) {
		list_add(&p->node, &policies);
		WRITE_ONCE(p->on, true);
		return 0;
	}
	mcube_reserve_withdraw(p);
	if (list_empty(&policies))
		mcube_color_stat_stop();
	return ret;
}

static void stop(struct mcube_policy *p)
{
	WRITE_ONCE(p->on, false);
	list_del(&p->node);
	p->stop();
	mcube_reserve_withdraw(p);
	/* Both wait until no CPU is between the policy's key and its tables. */
	if (list_empty(&policies))
		mcube_color_stat_stop();
	else
		synchronize_rcu();
	mcube_shrink_spares();
}

/**
 * mcube_policy_enable() - put a policy in force
 * @p: the policy; nothing happens if it is in force already.
 *
 * Context: process, sleeps.
 * Return: 0, -ENODEV if the allocator is off, or what the policy's start()
 * returns.
 */
int mcube_policy_enable(struct mcube_policy *p)
{
	guard(mcube_policy)();
	if (!mcube_config.map)
		return -ENODEV;
	return p->on ? 0 : start(p);
}

/**
 * mcube_policy_disable() - put a policy out of force
 * @p: the policy; nothing happens if it is not in force.
 *
 * Context: process, sleeps.
 */
void mcube_policy_disable(struct mcube_policy *p)
{
	guard(mcube_policy)();
	if (p->on)
		stop(p);
}

/**
 * mcube_policy_disable_all() - disable all policies, as the allocator goes off
 *
 * Context: process, the policy lock held.
 */
void mcube_policy_disable_all(void)
{
	struct mcube_policy *p, *next;

	list_for_each_entry_safe(p, next, &policies, node) {
		pr_info_ratelimited("%s: off, as the allocator goes off\n", p->name);
		stop(p);
	}
}
