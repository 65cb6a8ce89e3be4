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
 * Locks: the policy lock is cpus_read_lock() and a mutex, in this order.  It
 * keeps CPUs from coming or going, but not memory: offlining holds
 * mem_hotplug_lock while it migrates pages, maybe for ever.  The memory
 * notifier (hotplug.c) takes the mutex with mem_hotplug_lock held.
 */

#define pr_fmt(fmt) "mcube: " fmt

#include <linux/cpu.h>
#include <linux/export.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/printk.h>
#include <linux/rcupdate.h>

#include "internal.h"
#include "policy.h"

/* Guards the settings, the list of zones and all policies. */
DEFINE_MUTEX(mcube_control_lock);

/**
 * mcube_policy_lock() - keep CPUs and policies from coming or going
 *
 * Context: process, sleeps.
 */
void mcube_policy_lock(void)
{
	cpus_read_lock();
	mutex_lock(&mcube_control_lock);
}
EXPORT_SYMBOL_NS_GPL(mcube_policy_lock, MCUBE);

/**
 * mcube_policy_lock_interruptible() - mcube_policy_lock() for a user's request
 *
 * Context: process, sleeps.
 * Return: 0, or -EINTR without the lock if a signal came meanwhile.
 */
int mcube_policy_lock_interruptible(void)
{
	int ret;

	/* Waits for one CPU to come or go at most. */
	cpus_read_lock();
	ret = mutex_lock_interruptible(&mcube_control_lock);
	if (ret)
		cpus_read_unlock();
	return ret;
}
EXPORT_SYMBOL_NS_GPL(mcube_policy_lock_interruptible, MCUBE);

/**
 * mcube_policy_unlock() - undo mcube_policy_lock()
 *
 * Context: process.
 */
void mcube_policy_unlock(void)
{
	mutex_unlock(&mcube_control_lock);
	cpus_read_unlock();
}
EXPORT_SYMBOL_NS_GPL(mcube_policy_unlock, MCUBE);

static int start(struct mcube_policy *p)
{
	/* A policy that refuses does so before anything waits for RCU. */
	int ret = p->prepare(mcube_config.map);

	if (ret)
		return ret;
	if (list_empty(&mcube_policies))
		mcube_color_stat_start();
	/* In the list first: what start() requests counts at once. */
	list_add(&p->node, &mcube_policies);
	p->start(mcube_config.map);
	WRITE_ONCE(p->on, true);
	return 0;
}

static void stop(struct mcube_policy *p)
{
	WRITE_ONCE(p->on, false);
	list_del(&p->node);
	p->stop();
	mcube_reserve_withdraw(p);
	/* Both wait until no CPU is between the policy's key and its tables. */
	if (list_empty(&mcube_policies))
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
 * Return: 0; -EINTR if a signal came before anything changed, -ENODEV if the
 * allocator is off, or what the policy's prepare() returns.
 */
int mcube_policy_enable(struct mcube_policy *p)
{
	int ret = mcube_policy_lock_interruptible();

	if (ret)
		return ret;
	if (!mcube_config.map)
		ret = -ENODEV;
	else if (!p->on)
		ret = start(p);
	mcube_policy_unlock();
	return ret;
}
EXPORT_SYMBOL_NS_GPL(mcube_policy_enable, MCUBE);

/**
 * mcube_policy_disable() - put a policy out of force
 * @p: the policy; nothing happens if it is not in force.
 *
 * Context: process, sleeps.
 * Return: 0, or -EINTR if a signal came before anything changed.
 */
int mcube_policy_disable(struct mcube_policy *p)
{
	int ret = mcube_policy_lock_interruptible();

	if (ret)
		return ret;
	if (p->on)
		stop(p);
	mcube_policy_unlock();
	return 0;
}
EXPORT_SYMBOL_NS_GPL(mcube_policy_disable, MCUBE);

/**
 * mcube_policy_remove() - put a policy out of force for good
 * @p: the policy, of a module that is being unloaded; nothing happens if it is not in
 *     force.
 *
 * Context: process, sleeps; signals do not interrupt it.
 */
void mcube_policy_remove(struct mcube_policy *p)
{
	mcube_policy_lock();
	if (p->on)
		stop(p);
	mcube_policy_unlock();
}
EXPORT_SYMBOL_NS_GPL(mcube_policy_remove, MCUBE);

/**
 * mcube_policy_disable_all() - disable all policies, as the allocator goes off
 *
 * Context: process, the policy lock held.
 */
void mcube_policy_disable_all(void)
{
	struct mcube_policy *p, *next;

	list_for_each_entry_safe(p, next, &mcube_policies, node) {
		pr_info_ratelimited("%s: off, as the allocator goes off\n", p->name);
		stop(p);
	}
}
