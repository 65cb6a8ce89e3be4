// SPDX-License-Identifier: GPL-2.0
/*
 * Switching the mcube allocator on and off
 *
 * Copyright (C) 2026 The mcube authors
 *
 *   on     take a reference on the address map, which is immutable from then
 *          on; compute the offset maps of a container (hint.c) and the fill
 *          orders (fill.c); make descriptors for all present memory (lookup.c)
 *          and a struct mcube_zone for every zone (zone.c); enable the static
 *          key.
 *   off    disable all policies (policy.c); disable the static key; drain all
 *          zones (release.c), so that every page returns to the buddy lists;
 *          wait for RCU readers; free everything.
 *
 * hotplug.c handles memory and CPUs that come or go while the allocator is on.
 *
 * Locks: the policy lock, see policy.c.
 */

#define pr_fmt(fmt) "mcube: " fmt

#include <linux/cleanup.h>
#include <linux/cpu.h>
#include <linux/cpumask.h>
#include <linux/init.h>
#include <linux/mcube_alloc.h>
#include <linux/memory_hotplug.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/random.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/topology.h>

#include "../map/map.h"
#include "internal.h"
#include "policy.h"

static LIST_HEAD(zones);
static bool enabled;
static bool hibernating;

static void open_zone(struct mcube_zone *mz)
{
	spin_lock_irq(&mz->zone->lock);
	mz->open = true;
	spin_unlock_irq(&mz->zone->lock);
}

static void free_zone(struct mcube_zone *mz)
{
	int cpu;

	if (mz->cpu)
		for_each_possible_cpu(cpu)
			kfree(per_cpu_ptr(mz->cpu, cpu)->cursor);
	free_percpu(mz->cpu);
	kfree(mz);
}

/* What each CPU has of the zone; false if there is no memory. */
static bool alloc_cpus(struct mcube_zone *mz)
{
	int cpu;

	mz->cpu = alloc_percpu(struct mcube_zone_cpu);
	if (!mz->cpu)
		return false;
	for_each_possible_cpu(cpu) {
		struct mcube_zone_cpu *zc = per_cpu_ptr(mz->cpu, cpu);

		zc->cursor = kcalloc_node(mcube_nr_keys(), sizeof(*zc->cursor),
					  GFP_KERNEL, cpu_to_node(cpu));
		if (!zc->cursor)
			return false;
	}
	return true;
}

static int add_zone(struct zone *zone)
{
	struct mcube_zone *mz;

	if (rcu_access_pointer(zone->mcube))
		return 0;
	mz = kzalloc_node(sizeof(*mz), GFP_KERNEL, zone_to_nid(zone));
	if (!mz)
		return -ENOMEM;
	if (!alloc_cpus(mz)) {
		free_zone(mz);
		return -ENOMEM;
	}
	mcube_zone_init(mz, zone);
	list_add_tail(&mz->zones, &zones);
	mz->open = !hibernating;
	rcu_assign_pointer(zone->mcube, mz);
	return 0;
}

/**
 * mcube_alloc_add_zones() - serve every zone that has pages by now
 *
 * Context: process, mcube_control_lock held.
 * Return: 0, or -ENOMEM if there was no memory for some of the zones.
 */
int mcube_alloc_add_zones(void)
{
	struct zone *zone;
	int ret = 0;

	for_each_populated_zone(zone)
		ret = add_zone(zone) ?: ret;
	return ret;
}

/**
 * mcube_alloc_pause() - break up all containers and take none for a while
 * @pause: true to begin the pause, false to end it.
 *
 * Context: process, the policy lock held.
 */
void mcube_alloc_pause(bool pause)
{
	struct mcube_zone *mz;

	hibernating = pause;
	list_for_each_entry(mz, &zones, zones) {
		if (pause)
			mcube_zone_drain(mz);
		else
			open_zone(mz);
	}
}

static int make_offset_map(struct mcube_offset_map *map,
			   const struct mcube_dim *dim)
{
	size_t longs = mcube_offset_map_longs(dim, mcube_config.order);
	unsigned long *mem;

	if (!longs)
		return -EOPNOTSUPP;
	mem = kvcalloc(longs, sizeof(*mem), GFP_KERNEL);
	if (!mem)
		return -ENOMEM;
	mcube_offset_map_build(map, dim, mcube_config.order, mem);
	return 0;
}

static void free_offset_map(struct mcube_offset_map *map)
{
	kvfree(map->sel);
	map->sel = NULL;
}

static void make_fill(struct mcube_fill *f, enum mcube_fill_order fill_order)
{
	unsigned int order = mcube_config.order, cluster = mcube_config.cluster_order;
	u64 key = get_random_u64();
	struct mcube_fill_choice choice;

	if (fill_order == MCUBE_FILL_AUTO) {
		mcube_fill_choose(&choice, mcube_config.map, order);
		fill_order = choice.fill_order;
		cluster = choice.cluster;
	}
	if (fill_order == MCUBE_FILL_EVEN)
		mcube_even_build(f, order, cluster, mcube_config.map, key);
	else
		mcube_fill_build(f, order, fill_order, key);
	f->cluster = cluster;
}

/* They follow from the settings and the map, and stay when the allocator goes off. */
static int make_fills(void)
{
	enum mcube_fill_order i;

	for (i = 0; i < MCUBE_NR_FILL_ORDERS; i++) {
		struct mcube_fill *f = mcube_config.fill[i];

		if (!f)
			f = kmalloc(sizeof(*f), GFP_KERNEL);
		if (!f)
			return -ENOMEM;
		make_fill(f, i);
		mcube_config.fill[i] = f;
	}
	return 0;
}

static void switch_off(void)
{
	struct mcube_zone *mz, *next;

	mcube_policy_disable_all();
	static_branch_disable_cpuslocked(&mcube_alloc_key);
	list_for_each_entry(mz, &zones, zones) {
		mcube_zone_drain(mz);
		RCU_INIT_POINTER(mz->zone->mcube, NULL);
	}
	/* Waits for RCU readers, which may use a struct mcube_zone too. */
	mcube_lookup_free();
	list_for_each_entry_safe(mz, next, &zones, zones) {
		list_del(&mz->zones);
		free_zone(mz);
	}
	free_offset_map(&mcube_config.color);
	free_offset_map(&mcube_config.bank);
	mcube_map_put();
	mcube_config.map = NULL;
}

/*
 * Descriptors for the sections that a zone spans by now.  For sections that
 * come later, the memory notifier makes descriptors.
 */
static int cover_zone(struct zone *zone)
{
	unsigned long pfn, end;
	unsigned int seq;
	int ret = 0;

	do {
		seq = zone_span_seqbegin(zone);
		pfn = zone->zone_start_pfn;
		end = zone_end_pfn(zone);
	} while (zone_span_seqretry(zone, seq));

	for (; pfn < end && !ret; pfn = SECTION_ALIGN_UP(pfn + 1)) {
		if (signal_pending(current))
			return -EINTR;
		ret = mcube_lookup_cover(pfn, 1);
	}
	return ret;
}

/* M3's container covers all banks; say so where ours does not. */
static void report_cover(void)
{
	const struct mcube_dim *bank = &mcube_config.map->bank;
	unsigned int nr = mcube_dim_cover(bank, mcube_config.order);
	int order = mcube_dim_cover_order(bank);

	if (nr == bank->nr_values)
		return;
	if (!nr || order < 0)
		pr_info_ratelimited("alloc: whether a container of order %u has all %u banks takes too long to find out\n",
				    mcube_config.order, bank->nr_values);
	else
		pr_info_ratelimited("alloc: some containers of order %u have %u of %u banks; from order %d on all have all\n",
				    mcube_config.order, nr, bank->nr_values, order);
}

static int switch_on(void)
{
	struct zone *zone;
	int ret;

	mcube_config.map = mcube_map_get();
	ret = make_offset_map(&mcube_config.color, &mcube_config.map->color);
	if (!ret)
		ret = make_offset_map(&mcube_config.bank, &mcube_config.map->bank);
	if (!ret)
		ret = make_fills();
	for_each_populated_zone(zone)
		if (!ret)
			ret = cover_zone(zone);
	if (!ret)
		ret = mcube_alloc_add_zones();
	/* The last moment at which nothing has changed yet. */
	if (!ret && signal_pending(current))
		ret = -EINTR;
	if (ret) {
		switch_off();
		return ret;
	}
	static_branch_enable_cpuslocked(&mcube_alloc_key);
	report_cover();
	return 0;
}

/**
 * mcube_alloc_enable() - switch the mcube allocator on or off
 * @on: true to switch it on.
 *
 * Context: process, sleeps.
 * Return: 0, -ENOMEM, -EINTR if a signal came before anything changed, or
 * -EOPNOTSUPP if the container order is too large for an offset map.
 */
int mcube_alloc_enable(bool on)
{
	int ret = mcube_policy_lock_interruptible();

	if (ret)
		return ret;
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
 * mcube_alloc_enabled() - is the mcube allocator on?
 *
 * Return: true if it is on; without mcube_control_lock that can change at once.
 */
bool mcube_alloc_enabled(void)
{
	return READ_ONCE(enabled);
}

static int set_while_off(unsigned int *setting, unsigned int value)
{
	scoped_cond_guard(mutex_intr, return -EINTR, &mcube_control_lock) {
		if (enabled)
			return -EBUSY;
		*setting = value;
	}
	return 0;
}

/**
 * mcube_alloc_set_order() - choose the size of containers
 * @order: containers have 2^@order pages.
 *
 * Return: 0, -EBUSY while the allocator is on, -EINTR, or -ERANGE.
 */
int mcube_alloc_set_order(unsigned int order)
{
	if (order < MCUBE_ORDER_MIN || order > MCUBE_ORDER_MAX)
		return -ERANGE;
	return set_while_off(&mcube_config.order, order);
}

/**
 * mcube_alloc_set_cluster_order() - choose how many neighbours stay together
 * @order: clusters have 2^@order pages; 0 for single pages.
 *
 * Return: 0, -EBUSY while the allocator is on, -EINTR, or -ERANGE.
 */
int mcube_alloc_set_cluster_order(unsigned int order)
{
	if (order > MCUBE_CLUSTER_MAX)
		return -ERANGE;
	return set_while_off(&mcube_config.cluster_order, order);
}

/**
 * mcube_alloc_containers() - number of active containers
 *
 * Return: the sum over all zones.
 */
unsigned int mcube_alloc_containers(void)
{
	struct mcube_zone *mz;
	unsigned int nr = 0;
	struct zone *zone;

	guard(rcu)();
	for_each_populated_zone(zone) {
		mz = rcu_dereference(zone->mcube);
		nr += mz ? READ_ONCE(mz->nr) : 0;
	}
	return nr;
}

/**
 * mcube_alloc_free_pages() - number of free pages in containers
 *
 * Includes the per-CPU differentials, unlike nr_free_mcube in /proc/vmstat.
 *
 * Return: the sum over all zones.
 */
unsigned long mcube_alloc_free_pages(void)
{
	unsigned long nr = 0;
	struct zone *zone;

	for_each_populated_zone(zone)
		nr += zone_page_state_snapshot(zone, NR_FREE_MCUBE_PAGES);
	return nr;
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

static int __init parse_fill_order(char *str)
{
	int fill_order = match_string(mcube_fill_order_names,
				      MCUBE_NR_FILL_ORDERS, str ?: "");

	if (fill_order < 0)
		pr_warn("mcube.fill_order=%s: expected shuffle, paper, even or auto; ignored\n",
			str ?: "");
	else
		mcube_config.fill_order = fill_order;
	return 0;
}
early_param("mcube.fill_order", parse_fill_order);

static int __init parse_cluster_order(char *str)
{
	unsigned int order;

	if (kstrtouint(str ?: "", 0, &order) || order > MCUBE_CLUSTER_MAX)
		pr_warn("mcube.cluster_order=%s: expected 0 to %u; ignored\n",
			str ?: "", MCUBE_CLUSTER_MAX);
	else
		mcube_config.cluster_order = order;
	return 0;
}
early_param("mcube.cluster_order", parse_cluster_order);

static int __init mcube_control_init(void)
{
	/*
	 * If a pageblock is larger than the largest container, the order is
	 * that of a pageblock and the allocator cannot be switched on.
	 */
	mcube_config.order = max(min(mcube_config.order, MCUBE_ORDER_MAX),
				 MCUBE_ORDER_MIN);
	if (on_at_boot) {
		int ret = mcube_alloc_enable(true);

		if (ret)
			pr_warn("mcube.alloc=1: cannot switch on (%d)\n", ret);
	}
	return 0;
}
late_initcall(mcube_control_init);
