// SPDX-License-Identifier: GPL-2.0
/*
 * Color groups: the cache colors that larger folios have
 *
 * Copyright (C) 2026 The mcube authors
 *
 * An aligned block of 2^k frames has several colors.  In a map that is linear
 * over XOR
 *
 *   color(base + i) = color(base) ^ color(i)        base aligned, i < 2^k
 *
 * so two blocks have all their colors in common, or no color: blocks divide the
 * colors into groups.
 *
 *   color 0 1 2 3 | 4 5 6 7 | 8 9 10 11 | ...       k = 2, lowest bits
 *         group 0   group 1   group 2
 *
 * A segment that is given a group instead of a color may have folios of up to
 * 2^k pages, at the price of 2^k times the share of the cache.  If the hash of
 * a sliced cache mixes in higher bits, the colors of a group are not adjacent.
 * If the lowest bits of the frame number do not matter for the color, a group
 * has fewer colors.  While the policy is on, streams get no folios larger than a
 * group allows, since these would have colors of several groups.
 *
 * The first groups can be reserved for files: memory of programs hops over the
 * colors of the other groups.  All policies share the reserved colors, so more
 * groups may be reserved than this policy requests.  One of 16 groups:
 *
 *   group      0     1  2  3 ... 15
 *            files   memory;  files when 0 has no free frames
 *
 * The paper (see place.c) has neither larger folios nor reserved colors.
 */

#include <linux/errno.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "color_group.h"

/* How many colors do aligned blocks of 2^@order frames have? */
static unsigned int colors_of_block(const struct mcube_dim *dim,
				    const u8 *colors, unsigned int order)
{
	unsigned int bit, per = 1;

	for (bit = 0; bit < order; bit++)
		if (!memchr(colors, mcube_dim_value(dim, 1U << bit), per))
			per *= 2;
	return per;
}

/**
 * mcube_color_groups_init() - divide the colors of a map
 * @groups: filled in.
 * @dim: colors of the map.
 * @order: blocks have 2^@order frames, at most MCUBE_GROUP_ORDER_MAX.
 *
 * The groups come in the order of mcube_dim_order(), in which the colors of a
 * block are neighbours.  So the first groups have the colors that all policies
 * reserve first, whatever @order is.
 *
 * Return: 0; -EOPNOTSUPP if the map has a table and @order is not 0, as blocks
 * can have some of their colors in common then; -ERANGE if there are fewer than
 * two groups.
 */
int mcube_color_groups_init(struct mcube_color_groups *groups,
			    const struct mcube_dim *dim, unsigned int order)
{
	unsigned int i;

	memset(groups, 0, sizeof(*groups));
	groups->order = order;
	if (order && dim->nr_tables)
		return -EOPNOTSUPP;
	mcube_dim_order(dim, groups->color);
	groups->per = colors_of_block(dim, groups->color, order);
	groups->nr = dim->nr_values / groups->per;
	for (i = 0; i < dim->nr_values; i++)
		groups->of[groups->color[i]] = i / groups->per;
	return groups->nr < 2 ? -ERANGE : 0;
}

/**
 * mcube_color_groups_init_auto() - divide the colors of a map for large folios
 * @groups: filled in, with the highest order that leaves groups of at most @most
 *          colors.
 * @dim: colors of the map.
 * @most: most colors of a group: the reserved colors, which all streams share;
 *        0 is as good as 1.
 *
 * A stream has the reserved colors, whether it uses one color after the other or
 * all of them at once.  So folios that have all reserved colors cost no more of
 * the cache than single pages do, and are the cheapest.
 *
 * Return: 0; -ERANGE if there are fewer than two groups.
 */
int mcube_color_groups_init_auto(struct mcube_color_groups *groups,
				 const struct mcube_dim *dim, unsigned int most)
{
	unsigned int order;

	for (order = MCUBE_GROUP_ORDER_MAX; order; order--)
		if (!mcube_color_groups_init(groups, dim, order) &&
		    groups->per <= max(most, 1U))
			return 0;
	return mcube_color_groups_init(groups, dim, 0);
}

/**
 * mcube_color_groups_share() - the colors of a share of the groups
 * @groups: groups of mcube_color_groups_init().
 * @share: share of the groups, less than @shares; rounded down to whole groups.
 * @shares: what @share is a part of; stands for all groups.
 *
 * Return: number of colors.
 */
unsigned int mcube_color_groups_share(const struct mcube_color_groups *groups,
				      unsigned int share, unsigned int shares)
{
	return groups->nr * share / shares * groups->per;
}

/**
 * mcube_color_groups_reserve() - reserve the groups that lie in reserved colors
 * @groups: groups of mcube_color_groups_init().
 * @colors: number of colors that are reserved, fewer than all: the first colors
 *          of mcube_dim_order().  A group of which only some colors are reserved
 *          is not reserved.
 */
void mcube_color_groups_reserve(struct mcube_color_groups *groups,
				unsigned int colors)
{
	groups->reserved = colors / groups->per;
}
