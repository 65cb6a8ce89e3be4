/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Segments: which cache color the pages of an access sequence get.
 *
 * Copyright (C) 2026 The mcube authors
 *
 * Pure: integers only.  See segment.c for the idea.
 */
#ifndef _MM_MCUBE_SRM_SEGMENT_H
#define _MM_MCUBE_SRM_SEGMENT_H

#include <linux/limits.h>
#include <linux/mcube_map.h>
#include <linux/types.h>

/* Pages of a segment; the packed state has no room for more than the maximum. */
#define MCUBE_SEGMENT_MIN		1U
#define MCUBE_SEGMENT_MAX		4096U
#define MCUBE_SEGMENT_DEFAULT	256U

#define MCUBE_SEGMENT_COLOR_BITS	9
#define MCUBE_SEGMENT_LEFT_BITS	13
#define MCUBE_SEGMENT_EPOCH_BITS	10

/**
 * mcube_segment_make() - pack the state of a segment
 * @epoch: epoch of the policy; only the lowest MCUBE_SEGMENT_EPOCH_BITS count.
 * @color: the color.
 * @left: pages that the segment will still have, 0..MCUBE_SEGMENT_MAX.
 *
 * A file and a task each carry one u32.  0 is no segment:
 *
 *   31       22 21          9 8           0
 *   +----------+-------------+-------------+
 *   |  epoch   |    left     |  color + 1  |
 *   +----------+-------------+-------------+
 *
 * The epoch changes whenever the policy is switched on.  So what files and
 * tasks remember of an earlier time, perhaps of another address map, is void.
 *
 * Return: the state.
 */
static inline u32 mcube_segment_make(u32 epoch, unsigned int color,
				     unsigned int left)
{
	return epoch << (MCUBE_SEGMENT_COLOR_BITS + MCUBE_SEGMENT_LEFT_BITS) |
	       left << MCUBE_SEGMENT_COLOR_BITS | (color + 1);
}

/**
 * mcube_segment_left() - pages that a segment will still have
 * @segment: packed state of the segment.
 * @epoch: present epoch of the policy.
 *
 * Return: number of pages; 0 if @segment is no segment of this epoch.
 */
static inline unsigned int mcube_segment_left(u32 segment, u32 epoch)
{
	u32 now = mcube_segment_make(epoch, 0, 0);
	unsigned int shift = MCUBE_SEGMENT_COLOR_BITS + MCUBE_SEGMENT_LEFT_BITS;

	if (segment >> shift != now >> shift ||
	    !(segment & ((1U << MCUBE_SEGMENT_COLOR_BITS) - 1)))
		return 0;
	return segment >> MCUBE_SEGMENT_COLOR_BITS &
	       ((1U << MCUBE_SEGMENT_LEFT_BITS) - 1);
}

/**
 * mcube_segment_color() - color of a segment
 * @segment: packed state of the segment, not 0.
 *
 * Return: the color.
 */
static inline unsigned int mcube_segment_color(u32 segment)
{
	return (segment & ((1U << MCUBE_SEGMENT_COLOR_BITS) - 1)) - 1;
}

/**
 * mcube_segment_stateless() - color of a page by its place in the file
 * @key: hash of the file.
 * @index: page index within the file.
 * @length: pages of a segment, not 0.
 * @colors: number of colors, not 0.
 *
 * Return: the color.
 */
static inline unsigned int mcube_segment_stateless(u32 key, u64 index,
						   unsigned int length,
						   unsigned int colors)
{
	return (key + (u32)(index / length)) % colors;
}

/**
 * struct mcube_color_selector - selects the colors of new segments
 * @nr: number of colors.
 * @reserved: number of reserved colors: the first colors, selected before all
 *            others.
 * @clock: number of selections so far.
 * @stamp: by color, @clock when the color was last selected; 0 if never.
 */
struct mcube_color_selector {
	unsigned int nr;
	unsigned int reserved;
	u64 clock;
	u64 stamp[MCUBE_MAX_VALUES];
};

void mcube_color_selector_init(struct mcube_color_selector *selector,
			       unsigned int nr, unsigned int reserved);
void mcube_color_selector_reserve(struct mcube_color_selector *selector,
				  unsigned int reserved);
unsigned int mcube_color_selector_select(struct mcube_color_selector *selector,
					 const unsigned long *free,
					 unsigned long enough);
unsigned int
mcube_color_selector_oldest(const struct mcube_color_selector *selector);

/* Number of free frames that stands for more than any segment needs. */
#define MCUBE_PLENTY	ULONG_MAX

#endif /* _MM_MCUBE_SRM_SEGMENT_H */
