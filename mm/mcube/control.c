// SPDX-License-Identifier: GPL-2.0
/*
 * Switching the store on and off
 *
 * Copyright (C) 2026 The mcube authors
 *
 * On: take a reference on the address map (it is immutable from then on),
 * work out the shape of a container under it, make descriptors for all
 * present memory and a store for every zone, then flip the static key.  Off
 * is the same backwards: flip the key, close the stores, which gives every
 * page back, wait for those who are still looking, free everything.
 *
 * What comes and goes while it is on:
 *
 *   memory      new sections get descriptors, new zones a store.  Offlining
 *               isolates pageblocks first, and that dissolves containers.
 *   CPUs        a dead CPU's container is disowned.
 *   hibernation the image must know free pages from used ones, and looks for
 *               them in the buddy lists: all containers are given back before
 *               and none is taken until it is over.
 *
 * Locks: the policy lock, see policy.c.
 */

#define pr_fmt(fmt) "mcube: " fmt

#include <linux/cpu.h>
#include <linux/cpuhotplug.h>
#include <linux/init.h>
#include <linux/mcube_alloc.h>
#include <linux/memory.h>
#include <linux/memory_hotplug.h>
#include <linux/mutex.h>
#include <linux/notifier.h>
#include <linux/percpu.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/suspend.h>

#include "internal.h"
#include "policy.h"
#include "store.h"

struct mcube_config mcube_config = {
	.order = MCUBE_MAX_ORDER,
	.seed = MCUBE_SEED_SHUFFLE,
};

static LIST_HEAD(stores);
static bool enabled;
static bool hibernating;

static void open_store(struct mcube_store *s, bool open)
{
	spin_lock_irq(&s->zone->lock);
	s->open = open;
	spin_unlock_irq(&s->zone->lock);
}

static int add_store(struct zone *zone)
{
	struct mcube_store *s;

	if (rcu_access_pointer(zone->mcube))
		return 0;
	s = kzalloc_node(sizeof(*s), GFP_KERNEL, zone_to_nid(zone));
	if (!s)
		return -ENOMEM;
	s->cur = alloc_percpu(struct mcube_container *);
	if (!s->cur) {
		kfree(s);
		return -ENOMEM;
	}
	mcube_store_init(s, zone);
	list_add_tail(&s->stores, &stores);
	s->open = !hibernating;
	rcu_assign_pointer(zone->mcube, s);
	return 0;
}

static int make_shape(struct mcube_shape *shape, const struct mcube_dim *dim)
{
	size_t longs = mcube_shape_longs(dim, mcube_config.order);
	unsigned long *mem;

	if (!longs)
		return -EOPNOTSUPP;
	mem = kvcalloc(longs, sizeof(*mem), GFP_KERNEL);
	if (!mem)
		return -ENOMEM;
	mcube_shape_build(shape, dim, mcube_config.order, mem);
	return 0;
}

static void free_shape(struct mcube_shape *shape)
{
	kvfree(shape->sel);
	shape->sel = NULL;
}

/* Worked out once per order; these few KiB stay when the store goes off. */
static int make_fills(void)
{
	enum mcube_seed seed;

	for (seed = 0; seed < MCUBE_NR_SEEDS; seed++) {
		struct mcube_fill *f = mcube_config.fill[seed];

		if (f && f->order == mcube_config.order)
			continue;
		if (!f)
			f = kmalloc(sizeof(*f), GFP_KERNEL);
		if (!f)
			return -ENOMEM;
		mcube_fill_build(f, mcube_config.order, seed, get_random_u64());
		mcube_config.fill[seed] = f;
	}
	return 0;
}

static void switch_off(void)
{
	struct mcube_store *s, *next;

	mcube_policy_disable_all();
	static_branch_disable_cpuslocked(&mcube_alloc_key);
	list_for_each_entry(s, &stores, stores) {
		mcube_store_close(s);
		RCU_INIT_POINTER(s->zone->mcube, NULL);
	}
	/* Waits for readers, of the stores too. */
	mcube_table_free();
	list_for_each_entry_safe(s, next, &stores, stores) {
		list_del(&s->stores);
		free_percpu(s->cur);
		kfree(s);
	}
	free_shape(&mcube_config.color);
	free_shape(&mcube_config.bank);
	mcube_map_put();
	mcube_config.map = NULL;
}

static int switch_on(void)
{
	struct zone *zone;
	int ret;

	mcube_config.map = mcube_map_get();
	ret = make_shape(&mcube_config.color, &mcube_config.map->color);
	if (!ret)
		ret = make_shape(&mcube_config.bank, &mcube_config.map->bank);
	if (!ret)
		ret = make_fills();
	for_each_populated_zone(zone) {
		if (!ret)
			ret = mcube_table_cover(zone->zone_start_pfn,
						zone->spanned_pages);
		if (!ret)
			ret = add_store(zone);
	}
	if (ret)
		switch_off();
	else
		static_branch_enable_cpuslocked(&mcube_alloc_key);
	return ret;
}

/**
 * mcube_alloc_enable() - switch the store on or off
 * @on: which.
 *
 * Context: process, sleeps.
 * Return: 0, -ENOMEM, or -EOPNOTSUPP when the address map has no shape for
 * the container order.
 */
int mcube_alloc_enable(bool on)
{
	int ret = 0;

	mcube_policy_lock();
	if (on && !enabled)
		ret = switch_on();
	else if (!on && enabled)
		switch_off();
	if (!ret)
		enabled = on;
	mcube_policy_unlock();
	return ret;
}

/**
 * mcube_alloc_enabled() - is the store on?
 *
 * Return: true if so; it can change at once.
 */
bool mcube_alloc_enabled(void)
{
	return READ_ONCE(enabled);
}

/**
 * mcube_alloc_set_seed() - choose the order in which new containers are filled
 * @seed: the order; containers that exist keep theirs.
 */
void mcube_alloc_set_seed(enum mcube_seed seed)
{
	WRITE_ONCE(mcube_config.seed, seed);
}

/**
 * mcube_alloc_set_order() - choose the size of containers
 * @order: they have 2^@order pages.
 *
 * Return: 0, -EBUSY while the store is on, or -ERANGE.
 */
int mcube_alloc_set_order(unsigned int order)
{
	if (order < MCUBE_ORDER_MIN || order > MCUBE_ORDER_MAX)
		return -ERANGE;
	guard(mutex)(&mcube_control_lock);
	if (enabled)
		return -EBUSY;
	mcube_config.order = order;
	return 0;
}

/**
 * mcube_alloc_containers() - containers that exist now
 *
 * Return: their number in all zones.
 */
unsigned int mcube_alloc_containers(void)
{
	struct mcube_store *s;
	unsigned int nr = 0;

	guard(mutex)(&mcube_control_lock);
	list_for_each_entry(s, &stores, stores)
		nr += READ_ONCE(s->nr);
	return nr;
}

/**
 * mcube_alloc_free_pages() - free pages in containers
 *
 * With the per-CPU differentials, unlike nr_free_mcube in /proc/vmstat.
 *
 * Return: pages in all zones.
 */
unsigned long mcube_alloc_free_pages(void)
{
	unsigned long nr = 0;
	struct zone *zone;

	for_each_populated_zone(zone)
		nr += zone_page_state_snapshot(zone, NR_FREE_MCUBE_PAGES);
	return nr;
}

static int memory_callback(struct notifier_block *nb, unsigned long action,
			   void *data)
{
	struct memory_notify *arg = data;
	struct zone *zone;

	guard(mutex)(&mcube_control_lock);
	if (!enabled)
		return NOTIFY_OK;
	switch (action) {
	case MEM_GOING_ONLINE:
		if (mcube_table_cover(arg->start_pfn, arg->nr_pages))
			pr_warn("no memory for descriptors: pfn %#lx..%#lx stays outside the store\n",
				arg->start_pfn,
				arg->start_pfn + arg->nr_pages - 1);
		break;
	case MEM_ONLINE:
		for_each_populated_zone(zone)
			if (add_store(zone))
				pr_warn("no memory for the store of node %d zone %s\n",
					zone_to_nid(zone), zone->name);
		break;
	}
	return NOTIFY_OK;
}

static int hibernation_callback(struct notifier_block *nb,
				unsigned long action, void *data)
{
	struct mcube_store *s;

	switch (action) {
	case PM_HIBERNATION_PREPARE:
	case PM_RESTORE_PREPARE:
		mcube_policy_lock();
		hibernating = true;
		list_for_each_entry(s, &stores, stores)
			mcube_store_close(s);
		mcube_policy_unlock();
		break;
	case PM_POST_HIBERNATION:
	case PM_POST_RESTORE:
		mcube_policy_lock();
		hibernating = false;
		list_for_each_entry(s, &stores, stores)
			open_store(s, true);
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
	/* Who is about to own a container in its name has done so then. */
	synchronize_rcu();
	mcube_cpu_release(cpu);
	return 0;
}

static bool on_at_boot __initdata;

static int __init parse_alloc(char *str)
{
	if (kstrtobool(str, &on_at_boot))
		pr_warn("mcube.alloc=%s: expected 0 or 1; ignored\n",
			str ?: "");
	return 0;
}
early_param("mcube.alloc", parse_alloc);

static int __init parse_seed(char *str)
{
	int seed = match_string(mcube_seed_names, MCUBE_NR_SEEDS, str ?: "");

	if (seed < 0)
		pr_warn("mcube.seed=%s: expected shuffle or paper; ignored\n",
			str ?: "");
	else
		mcube_config.seed = seed;
	return 0;
}
early_param("mcube.seed", parse_seed);

static int __init mcube_control_init(void)
{
	int ret;

	/* Where pageblocks are too large for a container it stays off. */
	mcube_config.order = max(min(mcube_config.order, MCUBE_ORDER_MAX),
				 MCUBE_ORDER_MIN);
	ret = cpuhp_setup_state_nocalls(CPUHP_BP_PREPARE_DYN, "mm/mcube:dead",
					NULL, cpu_dead);
	if (ret < 0)
		return ret;
	hotplug_memory_notifier(memory_callback, DEFAULT_CALLBACK_PRI);
	register_pm_notifier(&hibernation_nb);

	if (on_at_boot) {
		ret = mcube_alloc_enable(true);
		if (ret)
			pr_warn("mcube.alloc=1: cannot switch on (%d)\n", ret);
	}
	return 0;
}
late_initcall(mcube_control_init);
