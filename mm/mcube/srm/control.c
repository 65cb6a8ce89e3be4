// SPDX-License-Identifier: GPL-2.0
/*
 * Switching SRM-buffer on and off, and its settings
 *
 * Copyright (C) 2026 The mcube authors
 *
 * On: divide the colors of the address map into groups, ask the allocator for the
 * reserved ones and for memory to hop over the others, flip the key.  Off is the
 * same backwards; the allocator waits for those that are still placing pages.
 */

#include <linux/bitmap.h>
#include <linux/errno.h>
#include <linux/jump_label.h>
#include <linux/mcube_map.h>
#include <linux/mcube_srm.h>

#include "../alloc/policy.h"
#include "internal.h"

static struct mcube_policy policy;

static int start(const struct mcube_map *map)
{
	DECLARE_BITMAP(reserved, MCUBE_MAX_VALUES);
	const struct mcube_dim *dim = &map->color;
	int ret;

	if (dim->nr_values < 2)
		return -EOPNOTSUPP;
	ret = mcube_srm_select_init(dim, reserved);
	if (ret)
		return ret;
	mcube_srm_config.nr_colors = dim->nr_values;
	mcube_srm_config.epoch++;
	mcube_reserve_request(&policy, mcube_srm_config.reserve, reserved);
	mcube_reserve_hop(&policy, mcube_srm_config.vm_hop);
	static_branch_enable_cpuslocked(&mcube_srm_key);
	return 0;
}

static void stop(void)
{
	static_branch_disable_cpuslocked(&mcube_srm_key);
	mcube_srm_reclaim_stop();
}

static struct mcube_policy policy = {
	.name = "srm",
	.start = start,
	.stop = stop,
};

/**
 * mcube_srm_enable() - switch the policy on or off
 * @on: which.
 *
 * Context: process, sleeps.
 * Return: 0; -ENODEV if the store is off, -EOPNOTSUPP if the address map has
 * but one color, -ERANGE if it has too few for group_order, or is a table.
 */
int mcube_srm_enable(bool on)
{
	if (on)
		return mcube_policy_enable(&policy);
	mcube_policy_disable(&policy);
	return 0;
}

/**
 * mcube_srm_enabled() - is the policy on?
 *
 * Return: true if so; it can change at once.
 */
bool mcube_srm_enabled(void)
{
	return mcube_policy_enabled(&policy);
}

static int set_while_off(unsigned int *what, unsigned int value)
{
	guard(mcube_policy)();
	if (mcube_policy_enabled(&policy))
		return -EBUSY;
	*what = value;
	return 0;
}

/**
 * mcube_srm_set_group_order() - shall runs have regions of several colors?
 * @order: folios of up to 2^@order pages have their place there; 0..4, or
 *         MCUBE_GROUP_ORDER_AUTO.
 *
 * Context: process, sleeps.
 * Return: 0, or -EBUSY while the policy is on.
 */
int mcube_srm_set_group_order(unsigned int order)
{
	return set_while_off(&mcube_srm_config.group_order, order);
}

/**
 * mcube_srm_set_reserve() - how many colors shall be for files alone?
 * @share: in sixteenths of all, 0..MCUBE_RESERVE_MAX; rounded down.
 *
 * Context: process, sleeps.
 * Return: 0, or -EBUSY while the policy is on.
 */
int mcube_srm_set_reserve(unsigned int share)
{
	return set_while_off(&mcube_srm_config.reserve, share);
}

/**
 * mcube_srm_set_hop() - shall pages that are no file's hop over the colors?
 * @on: whether.
 *
 * Context: process, sleeps.
 */
void mcube_srm_set_hop(bool on)
{
	guard(mcube_policy)();
	mcube_srm_config.vm_hop = on;
	if (mcube_policy_enabled(&policy))
		mcube_reserve_hop(&policy, on);
}
