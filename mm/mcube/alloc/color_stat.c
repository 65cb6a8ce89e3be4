// SPDX-License-Identifier: GPL-2.0
/*
 * Free frames in containers, by color
 *
 * Copyright (C) 2026 The mcube authors
 *
 * A policy chooses a color that has enough free frames.  Only policies need
 * this count, and it costs an evaluation of the address map and an atomic
 * operation per page.  So frames are counted only while a policy is in force:
 * policy.c starts and stops the count, alloc.c, container.c and release.c
 * report frames, and each frame that is freed goes on to pcp.c.
 *
 * When the count starts, the containers that exist are added one by one while
 * pages are allocated and freed.  Each container knows under its lock whether
 * it is counted, so no frame is counted twice or missed.
 */

#include <linux/atomic.h>
#include <linux/bitmap.h>
#include <linux/mcube_map.h>
#include <linux/mm.h>
#include <linux/mmzone.h>
#include <linux/rcupdate.h>
#include <linux/spinlock.h>

#include "internal.h"
#include "policy.h"

DEFINE_STATIC_KEY_FALSE(mcube_color_stat_key);

/* By offset, the color in a container whose first frame has color 0. */
static u8 color_of[1U << MCUBE_MAX_ORDER];

static unsigned int color_at(const struct mcube_container *c, unsigned int off)
{
	const struct mcube_dim *dim = &mcube_config.map->color;

	if (unlikely(dim->table_len))
		return mcube_dim_value(dim, page_to_pfn(c->bins.base) + off);
	return color_of[off] ^ c->block_map.color_xor;
}

void __mcube_color_stat_taken(struct mcube_container *c, unsigned int off)
{
	lockdep_assert_held(&c->lock);
	if (c->counted)
		atomic_dec(&c->mz->color_free[color_at(c, off)]);
}

void __mcube_color_stat_freed(struct mcube_container *c, unsigned int off)
{
	unsigned int color = color_at(c, off);

	lockdep_assert_held(&c->lock);
	if (c->counted)
		atomic_inc(&c->mz->color_free[color]);
	mcube_pcp_push(color, page_to_pfn(c->bins.base) + off);
}

void __mcube_color_stat_all(struct mcube_container *c, bool in)
{
	const struct mcube_offset_map *map = &mcube_config.color;
	unsigned int color, weight;

	lockdep_assert_held(&c->lock);
	if (c->counted == in)
		return;
	c->counted = in;
	for (color = 0; color < map->nr_values; color++) {
		weight = bitmap_weight_and(c->bins.free,
					   mcube_offset_map_select(map,
								   c->block_map.color_phase,
								   c->block_map.color_xor,
								   color),
					   1U << c->bins.order);
		if (weight)
			atomic_add(in ? (int)weight : -(int)weight,
				   &c->mz->color_free[color]);
	}
}

static void count_in(struct mcube_container *c)
{
	unsigned long flags;

	spin_lock_irqsave(&c->lock, flags);
	if (c->active)
		__mcube_color_stat_all(c, true);
	spin_unlock_irqrestore(&c->lock, flags);
}

static void forget(struct mcube_container *c)
{
	unsigned long flags;

	spin_lock_irqsave(&c->lock, flags);
	c->counted = false;
	spin_unlock_irqrestore(&c->lock, flags);
}

/**
 * mcube_color_stat_start() - start to count
 *
 * Context: process, the policy lock held, the mcube allocator on.
 */
void mcube_color_stat_start(void)
{
	unsigned int off;

	for (off = 0; off < ARRAY_SIZE(color_of); off++)
		color_of[off] = mcube_dim_value(&mcube_config.map->color, off);
	mcube_pcp_reset(mcube_config.map->color.nr_values);
	static_branch_enable_cpuslocked(&mcube_color_stat_key);
	/* A CPU that takes a container without counting it has finished by then. */
	synchronize_rcu();
	mcube_lookup_each(count_in);
}

/**
 * mcube_color_stat_stop() - stop to count; all counts are 0 afterwards
 *
 * As soon as the key is off, frames are taken and freed uncounted.  The counts
 * are wrong from then on, so they are reset instead of counted down.
 *
 * Context: process, the policy lock held, the mcube allocator on.
 */
void mcube_color_stat_stop(void)
{
	struct mcube_zone *mz;
	struct zone *zone;
	unsigned int i;

	static_branch_disable_cpuslocked(&mcube_color_stat_key);
	/* A CPU that still counts has finished by then. */
	synchronize_rcu();
	mcube_lookup_each(forget);
	guard(rcu)();
	for_each_populated_zone(zone) {
		mz = rcu_dereference(zone->mcube);
		for (i = 0; mz && i < ARRAY_SIZE(mz->color_free); i++)
			atomic_set(&mz->color_free[i], 0);
	}
}

/**
 * mcube_color_stat_free() - free frames in the containers of a zone, by color
 * @zone: the zone.
 * @free: number of frames by color, filled in for each color of the map.
 *
 * Context: a policy is in force.
 * Return: false if the mcube allocator does not serve the zone.
 */
bool mcube_color_stat_free(struct zone *zone, unsigned int *free)
{
	struct mcube_zone *mz;
	unsigned int color;

	guard(rcu)();
	mz = rcu_dereference(zone->mcube);
	if (!mz)
		return false;
	for (color = 0; color < mcube_config.color.nr_values; color++)
		free[color] = max(atomic_read(&mz->color_free[color]), 0);
	return true;
}
