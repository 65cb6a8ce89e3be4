// SPDX-License-Identifier: GPL-2.0
/*
 * Fill order and size of clusters that suit an address map: fill_order=auto
 *
 * Copyright (C) 2026 The mcube authors
 *
 * The order is even if a container has several colors, as an even order fills the cache
 * as evenly as neighbouring frames do.  Without colors there is nothing to hand out.
 *
 * Clusters are as large as can be where banks are known.  Neighbouring pages share DRAM
 * rows, or take turns in channels and banks:
 *
 *   page       0   1   2   3   4   5   6   7
 *   channel    0   0   1   1   0   0   1   1
 *
 * Threads that go through memory in step lose time on the modelled machines if single
 * pages at random take these turns away, see Documentation/mm/mcube/model.rst.  Clusters
 * that are spread keep the turns, and still part arrays that lie a power of two apart.
 */

#include <linux/minmax.h>

#include "bins.h"

/**
 * mcube_fill_choose() - choose fill order and size of clusters for a map
 * @p: filled in.
 * @map: the map.
 * @order: order of the containers.
 */
void mcube_fill_choose(struct mcube_fill_choice *p, const struct mcube_map *map,
		       unsigned int order)
{
	p->colors = mcube_even_colors(&map->color, order);
	p->fill_order = p->colors > 1 ? MCUBE_FILL_EVEN : MCUBE_FILL_SHUFFLE;
	if (map->bank.nr_values > 1) {
		p->cluster = min(order, MCUBE_CLUSTER_MAX);
		p->why = "neighbouring pages share rows or take turns in banks";
	} else {
		p->cluster = 0;
		p->why = "banks are unknown";
	}
}
