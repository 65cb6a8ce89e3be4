/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Color groups: the cache colors that larger folios have.
 *
 * Copyright (C) 2026 The mcube authors
 *
 * Pure: integers only.  See color_group.c for the idea.
 */
#ifndef _MM_MCUBE_SRM_COLOR_GROUP_H
#define _MM_MCUBE_SRM_COLOR_GROUP_H

#include <linux/mcube_map.h>
#include <linux/types.h>

/* Largest folio that a group allows: 64 KiB with 4 KiB pages. */
#define MCUBE_GROUP_ORDER_MAX	4U

/**
 * struct mcube_color_groups - the colors of a map, divided into groups
 * @order: aligned blocks of 2^@order frames have the colors of one group.
 * @nr: number of groups.
 * @per: number of colors in each group.
 * @of: by color, the group that the color is in.
 * @color: all colors, group after group: the order of mcube_dim_order().
 * @reserved: number of groups that are reserved for files, the first groups.
 */
struct mcube_color_groups {
	unsigned int order;
	unsigned int nr;
	unsigned int per;
	u8 of[MCUBE_MAX_VALUES];
	u8 color[MCUBE_MAX_VALUES];
	unsigned int reserved;
};

int mcube_color_groups_init(struct mcube_color_groups *groups,
			    const struct mcube_dim *dim, unsigned int order);
int mcube_color_groups_init_auto(struct mcube_color_groups *groups,
				 const struct mcube_dim *dim, unsigned int most);
unsigned int mcube_color_groups_share(const struct mcube_color_groups *groups,
				      unsigned int share, unsigned int shares);
void mcube_color_groups_reserve(struct mcube_color_groups *groups,
				unsigned int colors);

/**
 * mcube_color_group_color() - a color of a group
 * @groups: the groups.
 * @group: number of the group.
 * @i: any number; successive numbers give all colors of the group in turn.
 *
 * Return: the color.
 */
static inline unsigned int
mcube_color_group_color(const struct mcube_color_groups *groups,
			unsigned int group, u64 i)
{
	/* @per is a power of two. */
	return groups->color[group * groups->per + (i & (groups->per - 1))];
}

/**
 * mcube_color_group_run() - pages of a segment that have one color before the next color
 * @groups: the groups.
 * @batch: pages that are allocated at a time, a power of two.
 *
 * Each color of a group holds a part of what a single color of the same share of the cache
 * would hold.  A short file that is read twice should find all of its pages there.  So
 * @batch pages in a row have all colors of the group.
 *
 * Return: the number of pages, a power of two.
 */
static inline unsigned int
mcube_color_group_run(const struct mcube_color_groups *groups, unsigned int batch)
{
	return groups->per < batch ? batch / groups->per : 1;
}

#endif /* _MM_MCUBE_SRM_COLOR_GROUP_H */
