// SPDX-License-Identifier: GPL-2.0
/*
 * Free frames in containers, by color
 *
 * Copyright (C) 2026 The mcube authors
 *
 * A policy chooses a color that has enough free frames.  Only policies need
 * this count, and it costs an evaluation of the address map per page.  So
 * frames are counted only while a policy is in force: policy.c starts and stops
 * the count, alloc.c, hinted.c, container.c and release.c report frames, and
 * each frame that is freed goes on to pcp.c.
 *
 * The counts of a zone would be cache lines that every CPU writes for each page.
 * So a CPU counts by itself, and adds 16 frames of a color at a time:
 *
 *   CPU 0  color_delta[]   +3  -7  +15 --+
 *   CPU 1  color_delta[]   -2  +9   +1   |  +16
 *                                        v
 *   zone   color_free[]    812 790 801 817 ...
 *
 * A policy reads the counts of the zone.  They may be wrong by 15 frames for each
 * CPU, as the counters of vmstat are.  Where a color has so few frames that this
 * matters, the counts of the CPUs are added to the number that is read.  Frames of a
 * CPU's open cluster count, 32 at most, although no hint gets them.
 *
 * When the count starts, the containers that exist are added one by one while
 * pages are allocated and freed.  Each container knows under its lock whether
 * it is counted, so no frame is counted twice or missed.
 */

#include <linux/atomic.h>
#include <linux/bitmap.h>
#include <linux/cpumask.h>
#include <linux/math.h>
#include <linux/mcube_alloc.h>
#include <linux/mcube_map.h>
#include <linux/mm.h>
#include <linux/mmzone.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/rcupdate.h>
#include <linux/spinlock.h>
#include <linux/string.h>

#include "color_stat.h"
#include "internal.h"
#include "policy.h"

DEFINE_STATIC_KEY_FALSE(mcube_color_stat_key);

/*
 * May containers be counted in?  The places that test the key are patched one
 * after the other.  A container that is counted in too early could lose frames
 * at a place that is not patched yet, and gain the frames back at a place that is.
 */
static bool counting;

/* What a CPU adds to color_free[] at a time. */
#define BATCH	16

/* A delta is below BATCH, and must have room for the frames of a bulk. */
static_assert(BATCH + MCUBE_BULK_MAX <= S8_MAX);

/* By offset, the color in a container whose first frame has color 0. */
static u8 color_of[1U << MCUBE_MAX_ORDER];

static unsigned int color_at(const struct mcube_container *c, unsigned int off)
{
	const struct mcube_dim *dim = &mcube_config.map->color;

	if (unlikely(dim->nr_tables))
		return mcube_dim_value(dim, page_to_pfn(c->bins.base) + off);
	return color_of[off] ^ c->block_map.color_xor;
}

/* Interrupts are off; @nr is at most MCUBE_BULK_MAX, negative if frames left. */
static void add(struct mcube_zone *mz, unsigned int color, int nr)
{
	s8 *delta;

	/* With PREEMPT_RT a container's lock leaves preemption on. */
	preempt_disable_nested();
	delta = &this_cpu_ptr(mz->cpu)->color_delta[color];
	*delta += nr;
	if (unlikely(abs(*delta) >= BATCH)) {
		atomic_add(*delta, &mz->color_free[color]);
		*delta = 0;
	}
	preempt_enable_nested();
}

void __mcube_color_stat_color(struct mcube_container *c, unsigned int color,
			      unsigned int nr)
{
	lockdep_assert_held(&c->lock);
	if (c->counted)
		add(c->mz, color, -(int)nr);
}

void __mcube_color_stat_taken(struct mcube_container *c, unsigned int off)
{
	lockdep_assert_held(&c->lock);
	if (c->counted)
		add(c->mz, color_at(c, off), -1);
}

void __mcube_color_stat_freed(struct mcube_container *c, unsigned int off)
{
	unsigned int color = color_at(c, off);

	lockdep_assert_held(&c->lock);
	if (c->counted)
		add(c->mz, color, 1);
	mcube_pcp_push(color, page_to_pfn(c->bins.base) + off);
}

/* The frames of a group that was freed are not for pcp.c: they stay together. */
void __mcube_color_stat_groups(struct mcube_container *c, unsigned int off,
			       unsigned int nr, int groups)
{
	lockdep_assert_held(&c->lock);
	if (!c->counted)
		return;
	for (; nr; nr--, off++)
		add(c->mz, color_at(c, off), groups);
}

void __mcube_color_stat_all(struct mcube_container *c, bool in)
{
	const struct mcube_offset_map *map = &mcube_config.color;
	unsigned int color, weight;

	lockdep_assert_held(&c->lock);
	if (c->counted == in || (in && !READ_ONCE(counting)))
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
	if (c->active) {
		mcube_container_close(c);
		__mcube_color_stat_all(c, true);
	}
	spin_unlock_irqrestore(&c->lock, flags);
}

/* No CPU counts any more. */
static void reset(struct mcube_zone *mz)
{
	unsigned int i;
	int cpu;

	for (i = 0; i < ARRAY_SIZE(mz->color_free); i++)
		atomic_set(&mz->color_free[i], 0);
	for_each_possible_cpu(cpu) {
		struct mcube_zone_cpu *zc = per_cpu_ptr(mz->cpu, cpu);

		memset(zc->color_delta, 0, sizeof(zc->color_delta));
	}
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
	/* A CPU that takes or frees a frame without counting it has finished by then. */
	synchronize_rcu();
	WRITE_ONCE(counting, true);
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

	WRITE_ONCE(counting, false);
	static_branch_disable_cpuslocked(&mcube_color_stat_key);
	/* A CPU that still counts has finished by then. */
	synchronize_rcu();
	mcube_lookup_each(forget);
	guard(rcu)();
	/* A zone that has lost its memory meanwhile may get memory again. */
	for_each_zone(zone) {
		mz = rcu_dereference(zone->mcube);
		if (mz)
			reset(mz);
	}
}

/**
 * mcube_color_stat_exact() - free frames of a color, with those of all CPUs
 * @mz: containers of the zone.
 * @color: the color.
 *
 * Context: any; reads a cache line of each CPU.
 * Return: number of frames, wrong only if frames are taken or freed meanwhile.
 */
int mcube_color_stat_exact(struct mcube_zone *mz, unsigned int color)
{
	int nr = atomic_read(&mz->color_free[color]), cpu;

	for_each_possible_cpu(cpu)
		nr += READ_ONCE(per_cpu_ptr(mz->cpu, cpu)->color_delta[color]);
	return nr;
}

static unsigned int count(struct mcube_zone *mz, unsigned int color)
{
	int nr = atomic_read(&mz->color_free[color]);

	if (nr < 2 * BATCH * (int)num_online_cpus())
		nr = mcube_color_stat_exact(mz, color);
	return max(nr, 0);
}

/**
 * mcube_color_stat_free() - free frames in the containers of a zone, by color
 * @zone: the zone.
 * @free: number of frames by color, filled in for each color of the map.
 *
 * A large number leaves out what each CPU has yet to add, less than BATCH frames;
 * it is wrong by half at most.
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
		free[color] = count(mz, color);
	return true;
}

/**
 * mcube_color_stat_reserved() - free frames of the reserved colors
 *
 * As exact as mcube_color_stat_free().
 *
 * Context: any.
 * Return: number of frames in the containers of all zones; 0 if no color is
 * reserved.
 */
unsigned long mcube_color_stat_reserved(void)
{
	unsigned int nr = mcube_reserve_nr(), i;
	struct mcube_zone *mz;
	unsigned long sum = 0;
	struct zone *zone;

	guard(rcu)();
	for_each_populated_zone(zone) {
		mz = rcu_dereference(zone->mcube);
		for (i = 0; mz && i < nr; i++)
			sum += count(mz, mcube_reserve_polluting(i));
	}
	return sum;
}
