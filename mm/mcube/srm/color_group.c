// SPDX-License-Identifier: GPL-2.0
/*
 * Regions: the cache colors that larger folios have
 *
 * Copyright (C) 2026 The mcube authors
 *
 * An aligned block of 2^k frames has several colors, and which ones it has
 * divides the colors into regions: in a map that is linear over XOR
 *
 *   color(base + i) = color(base) ^ color(i)        base aligned, i < 2^k
 *
 * so two blocks have all their colors in common, or none.
 *
 *   color 0 1 2 3 | 4 5 6 7 | 8 9 10 11 | ...       k = 2, lowest bits
 *         region 0  region 1  region 2
 *
 * A sequence that is given a region instead of a color may have folios of up to
 * 2^k pages, for which it pays with 2^k times the share of the cache.  Where
 * the hash of a sliced cache mixes higher bits in, colors of a region are not
 * adjacent, and where the lowest bits do not count, a region has fewer.
 *
 * The first regions can be reserved for files: memory of programs hops over the
 * colors of the others.  Reserving one of 16 regions:
 *
 *   region     0     1  2  3 ... 15
 *            files   memory;  files when 0 has no free frames
 */

#include <linux/bitmap.h>
#include <linux/bitops.h>
#include <linux/errno.h>
#include <linux/string.h>

#include "color_group.h"

/**
 * mcube_color_groups_init() - divide the colors of a map
 * @r: filled in.
 * @dim: the map's colors.
 * @order: blocks have 2^@order frames, at most MCUBE_GROUP_ORDER_MAX.
 *
 * Return: 0; -EOPNOTSUPP if the map is a table and @order not 0, as blocks can
 * overlap then; -ERANGE if there are fewer than two regions.
 */
int mcube_color_groups_init(struct mcube_color_groups *r, const struct mcube_dim *dim,
		       unsigned int order)
{
	bool seen[MCUBE_MAX_VALUES] = { false };
	u8 span[1U << MCUBE_GROUP_ORDER_MAX];
	unsigned int color, i, value;

	memset(r, 0, sizeof(*r));
	r->order = order;
	if (order && dim->table_len)
		return -EOPNOTSUPP;
	for (i = 0; i < 1U << order; i++) {
		value = order ? mcube_dim_value(dim, i) : 0;
		if (!seen[value])
			span[r->per++] = value;
		seen[value] = true;
	}
	memset(seen, 0, sizeof(seen));
	for (color = 0; color < dim->nr_values; color++) {
		if (seen[color])
			continue;
		for (i = 0; i < r->per; i++) {
			value = color ^ span[i];
			seen[value] = true;
			r->of[value] = r->nr;
			r->color[r->nr * r->per + i] = value;
		}
		r->nr++;
	}
	return r->nr < 2 ? -ERANGE : 0;
}

/**
 * mcube_color_groups_init_auto() - divide the colors of a map so that folios are large
 * @r: filled in, with the highest order that leaves @least regions; with order 0
 *     if none does, or only 1.
 * @dim: the map's colors.
 * @least: number of regions that there shall be.
 *
 * A region then has a sixteenth of the cache at most, which is what pages would
 * have in a cache of 16 colors.  Folios of two pages are not worth it: each is
 * looked for in the buddy lists, and pages are taken by the batch.
 *
 * Return: 0; -ERANGE if there are fewer than two regions.
 */
int mcube_color_groups_init_auto(struct mcube_color_groups *r, const struct mcube_dim *dim,
			    unsigned int least)
{
	unsigned int order;

	for (order = MCUBE_GROUP_ORDER_MAX; order > 1; order--)
		if (!mcube_color_groups_init(r, dim, order) && r->nr >= least)
			return 0;
	return mcube_color_groups_init(r, dim, 0);
}

/**
 * mcube_color_groups_reserve() - reserve some of the regions for files
 * @r: as divided.
 * @share: how many, in parts of @shares, less than all; rounded down.
 * @shares: parts that all regions make up.
 * @colors: bitmap of MCUBE_MAX_VALUES bits, filled in: the reserved colors.
 */
void mcube_color_groups_reserve(struct mcube_color_groups *r, unsigned int share,
			   unsigned int shares, unsigned long *colors)
{
	unsigned int color;

	r->reserved = r->nr * share / shares;
	bitmap_zero(colors, MCUBE_MAX_VALUES);
	for (color = 0; color < r->nr * r->per; color++)
		if (r->of[color] < r->reserved)
			__set_bit(color, colors);
}
