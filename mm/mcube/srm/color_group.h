/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Regions: the cache colors that larger folios have.
 *
 * Copyright (C) 2026 The mcube authors
 *
 * Pure: integers only.  See region.c for the idea.
 */
#ifndef _MM_MCUBE_SRM_COLOR_GROUP_H
#define _MM_MCUBE_SRM_COLOR_GROUP_H

#include <linux/mcube_map.h>
#include <linux/types.h>

/* Largest region: 64 KiB with 4 KiB pages. */
#define MCUBE_GROUP_ORDER_MAX	4U

/**
 * struct mcube_color_groups - a map's colors, divided
 * @order: blocks of 2^@order frames have the colors of one region.
 * @nr: number of regions.
 * @per: colors of each.
 * @of: by color, the region that it is part of.
 * @color: the colors, group by region.
 * @reserved: so many regions, the first ones, are for files alone.
 */
struct mcube_color_groups {
	unsigned int order;
	unsigned int nr;
	unsigned int per;
	u8 of[MCUBE_MAX_VALUES];
	u8 color[MCUBE_MAX_VALUES];
	unsigned int reserved;
};

int mcube_color_groups_init(struct mcube_color_groups *r, const struct mcube_dim *dim,
		       unsigned int order);
int mcube_color_groups_init_auto(struct mcube_color_groups *r, const struct mcube_dim *dim,
			    unsigned int least);
void mcube_color_groups_reserve(struct mcube_color_groups *r, unsigned int share,
			   unsigned int shares, unsigned long *colors);

/**
 * mcube_color_group_color() - a color of a region
 * @r: the regions.
 * @group: which.
 * @i: any number; in turn it yields all colors of the region.
 *
 * Return: the color.
 */
static inline unsigned int mcube_color_group_color(const struct mcube_color_groups *r,
					      unsigned int group, u64 i)
{
	/* @per is a power of two. */
	return r->color[group * r->per + (i & (r->per - 1))];
}

#endif /* _MM_MCUBE_SRM_COLOR_GROUP_H */
