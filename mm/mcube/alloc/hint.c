// SPDX-License-Identifier: GPL-2.0
/*
 * Which frames of a container a hint allows
 *
 * Copyright (C) 2026 The mcube authors
 *
 * The address map is linear over XOR.  So one bitmap of offsets per color and
 * one per bank (struct mcube_offset_map) serve every container, once the values
 * of its first frame are known (struct mcube_block_map).  A hint for a color
 * and a bank allows the intersection of two bitmaps:
 *
 *   hint, block map --> mcube_hint_select() --> bitmaps --> a frame in both
 *
 * hinted.c, container.c and buddy.c select frames in this way.
 */

#include <linux/bitmap.h>
#include <linux/mcube_map.h>
#include <linux/mcube_hint.h>

#include "internal.h"

/**
 * mcube_block_map_init() - locate a block in the color map and the bank map
 * @block_map: filled in.
 * @pfn: first page frame of the block.
 */
void mcube_block_map_init(struct mcube_block_map *block_map, unsigned long pfn)
{
	/* A hint for any color and any bank makes the function fill in both. */
	mcube_block_map_for_hint(block_map, pfn, mcube_hint_make(0, 0));
}

/**
 * mcube_block_map_for_hint() - locate a block as far as a hint needs it
 * @block_map: filled in: the color if the hint names a color, the bank if the
 *             hint names a bank.
 * @pfn: first page frame of the block.
 * @hint: the hint.
 */
void mcube_block_map_for_hint(struct mcube_block_map *block_map,
			      unsigned long pfn, u32 hint)
{
	*block_map = (struct mcube_block_map){};
	if (mcube_hint_color(hint) >= 0)
		mcube_offset_map_locate(&mcube_config.color,
					&mcube_config.map->color, pfn,
					&block_map->color_phase,
					&block_map->color_xor);
	if (mcube_hint_bank(hint) >= 0)
		mcube_offset_map_locate(&mcube_config.bank,
					&mcube_config.map->bank, pfn,
					&block_map->bank_phase,
					&block_map->bank_xor);
}

/**
 * mcube_hint_matches() - does a block have a frame for a hint?
 * @hint: the hint, not 0.
 * @block_map: where the colors and banks of the block lie.
 * @free: bitmap of the free frames of the block, read without a lock; NULL if
 *        all frames are free.
 *
 * Return: true if the block has such a frame, or had one a moment ago.
 */
bool mcube_hint_matches(u32 hint, const struct mcube_block_map *block_map,
			const unsigned long *free)
{
	unsigned int i, words = BITS_TO_LONGS(1U << mcube_config.order);
	const unsigned long *sel, *sel2;

	if (!mcube_hint_select(hint, block_map, &sel, &sel2))
		return false;
	for (i = 0; i < words; i++) {
		unsigned long word = sel[i];

		if (sel2)
			word &= sel2[i];
		if (free)
			word &= READ_ONCE(free[i]);
		if (word)
			return true;
	}
	return false;
}
