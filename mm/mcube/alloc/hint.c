// SPDX-License-Identifier: GPL-2.0
/*
 * Which frames of a container a hint allows
 *
 * Copyright (C) 2026 The mcube authors
 *
 * The map is linear over XOR: one bitmap of offsets per color, and one per
 * bank, serves every container once the value of its first frame is known
 * (struct mcube_block_map).  A hint for a color and a bank is the intersection.
 */

#include <linux/bitmap.h>
#include <linux/mcube_map.h>
#include <linux/mcube_hint.h>

#include "internal.h"

/**
 * mcube_block_map_init() - what a block's address means in the map
 * @block_map: filled in.
 * @pfn: its first page frame.
 */
void mcube_block_map_init(struct mcube_block_map *block_map, unsigned long pfn)
{
	/* Any color and any bank. */
	mcube_block_map_for_hint(block_map, pfn, mcube_hint_make(0, 0));
}

/**
 * mcube_block_map_for_hint() - likewise, as far as a hint asks for it
 * @block_map: filled in.
 * @pfn: first page frame of the block.
 * @hint: the hint.
 */
void mcube_block_map_for_hint(struct mcube_block_map *block_map, unsigned long pfn, u32 hint)
{
	*block_map = (struct mcube_block_map){};
	if (mcube_hint_color(hint) >= 0)
		mcube_offset_map_locate(&mcube_config.color, &mcube_config.map->color,
				  pfn, &block_map->color_phase, &block_map->color_xor);
	if (mcube_hint_bank(hint) >= 0)
		mcube_offset_map_locate(&mcube_config.bank, &mcube_config.map->bank,
				  pfn, &block_map->bank_phase, &block_map->bank_xor);
}

/**
 * mcube_hint_matches() - does a block have a frame for a hint?
 * @hint: the hint, not 0.
 * @block_map: the block's.
 * @free: its free frames, read without a lock, or NULL if all are.
 *
 * Return: true if there is one, or was a moment ago.
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
