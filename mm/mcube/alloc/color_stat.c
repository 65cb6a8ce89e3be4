// SPDX-License-Identifier: GPL-2.0
/*
 * Free frames of the store by color
 *
 * Copyright (C) 2026 The mcube authors
 *
 * For policies that choose a color with frames enough.  Nobody else needs to
 * know, and it costs the address map and an atomic operation per page, so it
 * is done only while asked for.
 *
 * Containers that exist when counting starts are added one by one while pages
 * come and go.  Each knows whether it is counted, under its lock, so that no
 * frame is counted twice or forgotten.
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

/* By offset, the color in a container whose first frame has parities 0. */
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
	const struct mcube_offset_map *shape = &mcube_config.color;
	unsigned int color, weight;

	lockdep_assert_held(&c->lock);
	if (c->counted == in)
		return;
	c->counted = in;
	for (color = 0; color < shape->nr_values; color++) {
		weight = bitmap_weight_and(c->bins.free,
					   mcube_offset_map_select(shape,
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
 * mcube_color_stat_start() - count from here on
 *
 * Context: process, between mcube_control_begin() and mcube_control_end(),
 * the store on.
 */
void mcube_color_stat_start(void)
{
	unsigned int off;

	for (off = 0; off < ARRAY_SIZE(color_of); off++)
		color_of[off] = mcube_dim_value(&mcube_config.map->color, off);
	mcube_pcp_reset(mcube_config.map->color.nr_values);
	static_branch_enable_cpuslocked(&mcube_color_stat_key);
	/* Who takes a container and does not count it is done by then. */
	synchronize_rcu();
	mcube_lookup_each(count_in);
}

/**
 * mcube_color_stat_stop() - count no longer; all counts are 0 afterwards
 *
 * Frames come and go uncounted as soon as the key is off, so there is nothing
 * that could be subtracted: all is forgotten.
 *
 * Context: as for mcube_color_stat_start().
 */
void mcube_color_stat_stop(void)
{
	struct mcube_zone *mz;
	struct zone *zone;
	unsigned int i;

	static_branch_disable_cpuslocked(&mcube_color_stat_key);
	/* Who still counts is done by then. */
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
 * @free: array of as many numbers as the map has colors, filled in.
 *
 * Context: a policy is in force.
 * Return: false if the zone has no containers at all.
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
