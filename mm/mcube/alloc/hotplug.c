// SPDX-License-Identifier: GPL-2.0
/*
 * Memory and CPU hotplug, and hibernation, while the mcube allocator is on
 *
 * Copyright (C) 2026 The mcube authors
 *
 *   memory       new sections get descriptors (lookup.c), new zones get a
 *                struct mcube_zone (control.c).  If the allocator is switched on
 *                in between, MEM_ONLINE makes up for MEM_GOING_ONLINE.
 *                Offlining isolates pageblocks first, and isolation breaks up
 *                their containers (release.c).
 *   CPUs         a dead CPU no longer owns containers (container.c).
 *   hibernation  the image needs the free pages, and finds them in the buddy
 *                lists only.  So all containers are broken up before, and no
 *                container is taken until hibernation is over (control.c).
 */

#define pr_fmt(fmt) "mcube: " fmt

#include <linux/cpuhotplug.h>
#include <linux/init.h>
#include <linux/memory.h>
#include <linux/mmzone.h>
#include <linux/mutex.h>
#include <linux/notifier.h>
#include <linux/percpu.h>
#include <linux/printk.h>
#include <linux/rcupdate.h>
#include <linux/suspend.h>

#include "internal.h"
#include "policy.h"

static int memory_callback(struct notifier_block *nb, unsigned long action,
			   void *data)
{
	struct memory_notify *arg = data;

	guard(mutex)(&mcube_control_lock);
	if (!mcube_alloc_enabled())
		return NOTIFY_OK;
	switch (action) {
	case MEM_ONLINE:
		if (mcube_alloc_add_zones())
			pr_warn("no memory for containers of a new zone\n");
		fallthrough;
	case MEM_GOING_ONLINE:
		if (mcube_lookup_cover(arg->start_pfn, arg->nr_pages))
			pr_warn("no memory for descriptors: no containers at pfn %#lx..%#lx\n",
				arg->start_pfn,
				arg->start_pfn + arg->nr_pages - 1);
		break;
	}
	return NOTIFY_OK;
}

static int hibernation_callback(struct notifier_block *nb,
				unsigned long action, void *data)
{
	switch (action) {
	case PM_HIBERNATION_PREPARE:
	case PM_RESTORE_PREPARE:
		mcube_policy_lock();
		mcube_alloc_pause(true);
		mcube_policy_unlock();
		break;
	case PM_POST_HIBERNATION:
	case PM_POST_RESTORE:
		mcube_policy_lock();
		mcube_alloc_pause(false);
		mcube_policy_unlock();
		break;
	}
	return NOTIFY_OK;
}

static struct notifier_block hibernation_nb = {
	.notifier_call = hibernation_callback,
};

static int cpu_dead(unsigned int cpu)
{
	struct mcube_zone_cpu *zc;
	struct mcube_zone *mz;
	struct zone *zone;

	/* CPU hotplug excludes mcube_policy_lock(), so that cannot change. */
	if (!mcube_alloc_enabled())
		return 0;
	/* A task that was making this CPU own a container has finished by then. */
	synchronize_rcu();
	guard(rcu)();
	for_each_zone(zone) {
		mz = rcu_dereference(zone->mcube);
		if (!mz)
			continue;
		zc = per_cpu_ptr(mz->cpu, cpu);
		mcube_container_own(&zc->cur, NULL, cpu);
		mcube_container_own(&zc->home, NULL, cpu);
		/* Other CPUs may search the container that it found last. */
		if (zc->found)
			WRITE_ONCE(zc->found->user, -1);
		zc->found = NULL;
	}
	return 0;
}

static int __init mcube_hotplug_init(void)
{
	int ret = cpuhp_setup_state_nocalls(CPUHP_BP_PREPARE_DYN, "mm/mcube:dead",
					    NULL, cpu_dead);

	if (ret < 0)
		return ret;
	hotplug_memory_notifier(memory_callback, DEFAULT_CALLBACK_PRI);
	register_pm_notifier(&hibernation_nb);
	return 0;
}
late_initcall(mcube_hotplug_init);
