// SPDX-License-Identifier: GPL-2.0
/*
 * Fill order and size of clusters that suit an address map: fill_order=auto
 *
 * Copyright (C) 2026 The mcube authors
 *
 * The order is even if a container has several colors, as an even order fills the cache
 * as evenly as neighbouring frames do.  Without colors there is nothing to hand out.
 *
 * Clusters are as large as neighbouring pages share their DRAM rows.  The lowest address
 * bits of a page number are column bits of DRAM, or choose among banks in which each of
 * the pages lies anyway:
 *
 *   bit   ...  15  14  13  12 | 11   ...   7 ...
 *   bank   other   |   as bits 7, 8 and 9    a page lies in all banks of these bits
 *   bank      other bits   |  none           the bit chooses a column
 *
 * A row has 8 KiB on all current DIMMs, two pages.  A page that lies in 2^s banks has a
 * 2^s-th of itself in each bank, so 2^(s + 1) pages share 2^s rows.
 *
 * A table has granules of pages take turns in the channels.  A program that faults two
 * arrays in side by side then works on two channels at a time if it gets neighbours, and
 * often on one if it gets single pages at random.  So clusters are as large as can be.
 */

#include <asm/page.h>
#include <linux/bits.h>
#include <linux/log2.h>
#include <linux/minmax.h>

#include "bins.h"

/* Pages of a DRAM row, as a power of two. */
#define ROW_ORDER	(PAGE_SHIFT < 13 ? 13 - PAGE_SHIFT : 0)

/* What a bit of the address changes of the bank, reduced by the basis of other bits. */
static unsigned int reduced(const struct mcube_dim *bank, unsigned int bit, const u8 *basis)
{
	unsigned int i, value = 0;

	for (i = 0; i < bank->nr_masks; i++)
		value |= (bank->mask[i] >> bit & 1) << i;
	for (i = bank->nr_masks; i--;)
		if (value & BIT(i))
			value ^= basis[i];
	return value;
}

/* Do neighbouring pages lie in other channels, which take turns within a cluster? */
static bool takes_turns(const struct mcube_dim *bank)
{
	return bank->table_len && bank->table_shift < MCUBE_CLUSTER_MAX;
}

/* 2^(the result) neighbouring pages share their rows. */
static unsigned int share_rows(const struct mcube_dim *bank)
{
	unsigned int bit, most = ROW_ORDER, value, order;
	u8 basis[MCUBE_MAX_MASKS] = { };

	if (!bank->nr_masks)
		return 0;
	for (bit = 0; bit < PAGE_SHIFT; bit++) {
		value = reduced(bank, bit, basis);
		if (!value)
			continue;
		basis[ilog2(value)] = value;
		most++;
	}
	most = min(most, MCUBE_CLUSTER_MAX);
	for (order = 0; order < most; order++)
		if (reduced(bank, PAGE_SHIFT + order, basis))
			break;
	return order;
}

/* Colors that a container has by the masks. */
static unsigned int count_colors(const struct mcube_dim *color, unsigned int order)
{
	u8 basis[MCUBE_MAX_MASKS] = { };
	unsigned int bit, value, nr = 1;

	for (bit = PAGE_SHIFT; bit < PAGE_SHIFT + order; bit++) {
		value = reduced(color, bit, basis);
		if (!value)
			continue;
		basis[ilog2(value)] = value;
		nr *= 2;
	}
	return nr;
}

/**
 * mcube_fill_choose() - choose fill order and size of clusters for a map
 * @p: filled in.
 * @map: the map.
 * @order: order of the containers.
 */
void mcube_fill_choose(struct mcube_fill_choice *p, const struct mcube_map *map,
		       unsigned int order)
{
	p->colors = count_colors(&map->color, order);
	p->fill_order = p->colors > 1 ? MCUBE_FILL_EVEN : MCUBE_FILL_SHUFFLE;
	p->cluster = takes_turns(&map->bank) ? MCUBE_CLUSTER_MAX : share_rows(&map->bank);
	p->cluster = min(p->cluster, order);
	if (takes_turns(&map->bank))
		p->why = "neighbouring pages take turns in the channels";
	else if (p->cluster)
		p->why = "neighbouring pages share DRAM rows";
	else if (map->bank.nr_values == 1)
		p->why = "banks are unknown";
	else
		p->why = "neighbouring pages lie in different rows";
}
