// SPDX-License-Identifier: GPL-2.0
/*
 * SRM-buffer: switching it on and off, and settings that need the policy lock
 *
 * Copyright (C) 2026 The mcube authors
 *
 * Switching on divides the colors of the address map into groups, requests that
 * the allocator reserve the first groups and let memory hop over the other
 * colors, and enables the static key.  While another policy has more colors
 * reserved, files have the groups in these colors too.  Switching off disables the key and waits
 * for the work items of reclaim.c, spread.c and lend.c.  The allocator then withdraws the requests
 * and waits for a grace period, in which CPUs that still choose colors finish.
 */

#include <linux/errno.h>
#include <linux/jump_label.h>
#include <linux/mcube_map.h>
#include <linux/mcube_srm.h>
#include <linux/percpu_counter.h>

#include "../alloc/policy.h"
#include "../map/map.h"
#include "internal.h"
#include "spread.h"

static struct mcube_policy policy;

/* Number of colors that the policy asks for; set by prepare(). */
static unsigned int reserved;

static int prepare(const struct mcube_map *map)
{
	const struct mcube_dim *dim = &map->color;

	if (dim->nr_values < 2)
		return -EOPNOTSUPP;
	if (mcube_map_need_last_level(map, "srm/enabled"))
		return -ENXIO;
	if (!percpu_counter_initialized(&mcube_srm_ahead))
		return -ENOMEM;
	return mcube_srm_select_init(dim, &reserved);
}

static void start(const struct mcube_map *map)
{
	mcube_srm_config.nr_colors = map->color.nr_values;
	mcube_srm_config.epoch++;
	mcube_reserve_request(&policy, reserved);
	/* Another policy may have reserved as many colors before. */
	mcube_srm_select_reserve(mcube_reserve_nr());
	mcube_reserve_hop(&policy, mcube_srm_config.vm_hop);
	mcube_srm_lend_start(&policy);
	static_branch_enable_cpuslocked(&mcube_srm_key);
}

static void stop(void)
{
	static_branch_disable_cpuslocked(&mcube_srm_key);
	mcube_srm_reclaim_stop();
	mcube_srm_spread_stop();
	mcube_srm_lend_stop();
}

static struct mcube_policy policy = {
	.name = "srm",
	.prepare = prepare,
	.start = start,
	.stop = stop,
	.partition = mcube_srm_select_reserve,
};

/**
 * mcube_srm_enable() - switch the policy on or off
 * @on: true to switch it on.
 *
 * Context: process, sleeps.
 * Return: 0; -EINTR if a signal came before anything changed, -ENODEV if the
 * mcube allocator is off, -ENOMEM if boot had no memory for a counter,
 * -EOPNOTSUPP if the address map has only one color, -ENXIO if its colors are those
 * of L2 alone, -ERANGE if group_order needs
 * more colors than the map has, or a map without a table.
 */
int mcube_srm_enable(bool on)
{
	return on ? mcube_policy_enable(&policy) :
		    mcube_policy_disable(&policy);
}

/**
 * mcube_srm_enabled() - is the policy on?
 *
 * Return: true if the policy is on; that can change at once.
 */
bool mcube_srm_enabled(void)
{
	return mcube_policy_enabled(&policy);
}

static int set_while_off(unsigned int *what, unsigned int value)
{
	int ret = mcube_policy_lock_interruptible();

	if (ret)
		return ret;
	if (mcube_policy_enabled(&policy))
		ret = -EBUSY;
	else
		*what = value;
	mcube_policy_unlock();
	return ret;
}

/**
 * mcube_srm_set_group_order() - set how large folios of a segment may be
 * @order: color groups have room for folios of up to 2^@order pages; 0..4, or
 *         MCUBE_GROUP_ORDER_AUTO.
 *
 * Context: process, sleeps.
 * Return: 0, -EBUSY while the policy is on, or -EINTR.
 */
int mcube_srm_set_group_order(unsigned int order)
{
	return set_while_off(&mcube_srm_config.group_order, order);
}

/**
 * mcube_srm_set_reserve() - set how many colors are reserved for files
 * @share: in sixteenths of all colors, 0..MCUBE_RESERVE_MAX; rounded down to
 *         whole color groups.
 *
 * Context: process, sleeps.
 * Return: 0, -EBUSY while the policy is on, or -EINTR.
 */
int mcube_srm_set_reserve(unsigned int share)
{
	return set_while_off(&mcube_srm_config.reserve, share);
}

/**
 * mcube_srm_set_hop() - let pages that belong to no file hop over the colors
 * @on: 1 if they hop, 0 if not.
 *
 * Context: process, sleeps.
 * Return: 0, or -EINTR.
 */
int mcube_srm_set_hop(unsigned int on)
{
	int ret = mcube_policy_lock_interruptible();

	if (ret)
		return ret;
	mcube_srm_config.vm_hop = on;
	if (mcube_policy_enabled(&policy))
		mcube_reserve_hop(&policy, on);
	mcube_policy_unlock();
	return 0;
}
