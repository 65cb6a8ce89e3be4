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
 * colors of the other groups.  Reserving one of 16 groups:
 *
 *   group      0     1  2  3 ... 15
 *            files   memory;  files when 0 has no free frames
 *
 * The paper (see place.c) has neither larger folios nor reserved colors.
 */

#include <linux/bitmap.h>
#include <linux/bitops.h>
#include <linux/errno.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "color_group.h"

/**
 * mcube_color_groups_init() - divide the colors of a map
 * @groups: filled in.
 * @dim: colors of the map.
 * @order: blocks have 2^@order frames, at most MCUBE_GROUP_ORDER_MAX.
 *
 * Return: 0; -EOPNOTSUPP if the map has a table and @order is not 0, as blocks
 * can have some of their colors in common then; -ERANGE if there are fewer than
 * two groups.
 */
int mcube_color_groups_init(struct mcube_color_groups *groups,
			    const struct mcube_dim *dim, unsigned int order)
{
	bool seen[MCUBE_MAX_VALUES] = { false };
	u8 span[1U << MCUBE_GROUP_ORDER_MAX];
	unsigned int color, i, value;

	memset(groups, 0, sizeof(*groups));
	groups->order = order;
	if (order && dim->table_len)
		return -EOPNOTSUPP;
	for (i = 0; i < 1U << order; i++) {
		value = order ? mcube_dim_value(dim, i) : 0;
		if (!seen[value])
			span[groups->per++] = value;
		seen[value] = true;
	}
	memset(seen, 0, sizeof(seen));
	for (color = 0; color < dim->nr_values; color++) {
		if (seen[color])
			continue;
		for (i = 0; i < groups->per; i++) {
			value = color ^ span[i];
			seen[value] = true;
			groups->of[value] = groups->nr;
			groups->color[groups->nr * groups->per + i] = value;
		}
		groups->nr++;
	}
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
 * mcube_color_groups_reserve() - reserve some of the groups for files
 * @groups: groups of mcube_color_groups_init().
 * @share: share of the groups, less than @shares; rounded down to whole groups.
 * @shares: what @share is a part of; stands for all groups.
 * @colors: bitmap of MCUBE_MAX_VALUES bits, filled in with the reserved colors.
 */
void mcube_color_groups_reserve(struct mcube_color_groups *groups,
				unsigned int share, unsigned int shares,
				unsigned long *colors)
{
	unsigned int color;

	groups->reserved = groups->nr * share / shares;
	bitmap_zero(colors, MCUBE_MAX_VALUES);
	for (color = 0; color < groups->nr * groups->per; color++)
		if (groups->of[color] < groups->reserved)
			__set_bit(color, colors);
}
