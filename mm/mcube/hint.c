// SPDX-License-Identifier: GPL-2.0
/*
 * Which frames of a container a hint allows
 *
 * Copyright (C) 2026 The mcube authors
 *
 * The map is linear over XOR: one bitmap of offsets per color, and one per
 * bank, serves every container once the value of its first frame is known
 * (struct mcube_place).  A hint for a color and a bank is the intersection.
 */

#include <linux/bitmap.h>
#include <linux/mcube_map.h>
#include <linux/mcube_hint.h>

#include "store.h"

/**
 * mcube_place_init() - what a block's address means in the map
 * @place: filled in.
 * @pfn: its first page frame.
 */
void mcube_place_init(struct mcube_place *place, unsigned long pfn)
{
	/* Any color and any bank. */
	mcube_place_for(place, pfn, mcube_hint_make(0, 0));
}

/**
 * mcube_place_for() - likewise, as far as a hint asks for it
 * @place: filled in.
 * @pfn: first page frame of the block.
 * @hint: the hint.
 */
void mcube_place_for(struct mcube_place *place, unsigned long pfn, u32 hint)
{
	*place = (struct mcube_place){};
	if (mcube_hint_color(hint) >= 0)
		mcube_shape_place(&mcube_config.color, &mcube_config.map->color,
				  pfn, &place->color_phase, &place->color_xor);
	if (mcube_hint_bank(hint) >= 0)
		mcube_shape_place(&mcube_config.bank, &mcube_config.map->bank,
				  pfn, &place->bank_phase, &place->bank_xor);
}

/**
 * mcube_hint_matches() - does a block have a frame for a hint?
 * @hint: the hint, not 0.
 * @place: the block's.
 * @free: its free frames, read without a lock, or NULL if all are.
 *
 * Return: true if there is one, or was a moment ago.
 */
bool mcube_hint_matches(u32 hint, const struct mcube_place *place,
			const unsigned long *free)
{
	unsigned int i, words = BITS_TO_LONGS(1U << mcube_config.order);
	const unsigned long *sel, *sel2;

	if (!mcube_hint_select(hint, place, &sel, &sel2))
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
