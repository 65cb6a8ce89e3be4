// SPDX-License-Identifier: GPL-2.0
/*
 * Segments: which cache color the pages of an access sequence get
 *
 * Copyright (C) 2026 The mcube authors
 *
 * The pages that a program streams through are used once.  If they lie all over
 * the cache, they evict what other programs use again and again.  If they share
 * one color, they evict each other and the rest of the cache stays whole:
 *
 *   color     0    1    2    3    4    5 ...
 *            ---- ---- ---- ---- ---- ----
 *   stream                  ####                the first tl pages
 *            ####                               the next tl
 *                                ####           ...
 *
 * One color does not last for ever, as it has only so many page frames.  So the
 * sequence is cut into segments of tl pages, and the color selector chooses
 * another color for each new segment:
 *
 *  - a color reserved for files, if it has enough free frames for a segment.
 *    No memory of programs is there that the segment could harm.
 *  - of the other colors with enough free frames, the color whose last segment
 *    began longest ago.  The pages of that segment are the oldest in the page
 *    cache, so reclaim frees them first: the color is the next to have enough.
 *  - if no color has enough free frames, the color that has most free frames.
 *
 * With color groups (color_group.c) the selector chooses a group instead.
 *
 * Source: Ding, Wang, Zhang, "SRM-buffer: an OS buffer management technique to
 * prevent last level cache from thrashing in multicores", EuroSys 2011.
 *
 * Differences from the paper:
 *
 *  - In the paper memory hops over all colors, so the color that a stream has
 *    at the moment is lost to other programs.  With 16 colors one in 16 of all
 *    their references misses, 20 to 30 % of what the stream costs them without
 *    the policy.  So a share of the colors can be reserved (color_group.c).
 *  - The age of a color is a stamp taken when a segment gets the color.  The
 *    paper marks the color lists that are in use and takes any list without a
 *    mark (Figure 7); stamps take the one that was left longest ago, and need
 *    no list of pages per color.
 *  - The paper keeps free lists per color and refills them by eviction.  Here
 *    free frames are those of the mcube allocator, counted per color, and
 *    pieces of blocks in the buddy lists, which are counted when the allocator
 *    has few; see select.c and reclaim.c.
 */

#include <linux/minmax.h>
#include <linux/string.h>

#include "segment.h"

/**
 * mcube_color_selector_init() - begin with no color selected yet
 * @selector: filled in.
 * @nr: number of colors, 1..MCUBE_MAX_VALUES.
 * @reserved: number of reserved colors, less than @nr: the first colors,
 *            selected before all others.
 */
void mcube_color_selector_init(struct mcube_color_selector *selector,
			       unsigned int nr, unsigned int reserved)
{
	memset(selector, 0, sizeof(*selector));
	selector->nr = nr;
	selector->reserved = reserved;
}

/**
 * mcube_color_selector_reserve() - reserve more colors, or fewer
 * @selector: the selector; it keeps what it knows about the age of the colors.
 * @reserved: number of reserved colors, see mcube_color_selector_init().
 */
void mcube_color_selector_reserve(struct mcube_color_selector *selector,
				  unsigned int reserved)
{
	selector->reserved = reserved;
}

/* From @from to @to: the oldest color with enough frames, else the richest. */
static unsigned int best_of(const struct mcube_color_selector *selector,
			    const unsigned long *free, unsigned long enough,
			    unsigned int from, unsigned int to)
{
	unsigned int color, best = from;

	for (color = from + 1; color < to; color++) {
		/* Frames beyond @enough make no difference. */
		unsigned long mine = min(free[color], enough);
		unsigned long its = min(free[best], enough);

		if (mine > its ||
		    (mine == its && selector->stamp[color] < selector->stamp[best]))
			best = color;
	}
	return best;
}

/**
 * mcube_color_selector_select() - the color of a new segment
 * @selector: the selector.
 * @free: free frames by color.
 * @enough: frames that the segment needs.
 *
 * Return: the color, which is the youngest from now on.
 */
unsigned int mcube_color_selector_select(struct mcube_color_selector *selector,
					 const unsigned long *free,
					 unsigned long enough)
{
	unsigned int best = best_of(selector, free, enough, 0, selector->reserved);

	if (!selector->reserved || free[best] < enough)
		best = best_of(selector, free, enough, selector->reserved,
			       selector->nr);
	if (free[best] < enough)
		best = best_of(selector, free, enough, 0, selector->nr);
	selector->stamp[best] = ++selector->clock;
	return best;
}

/**
 * mcube_color_selector_oldest() - the color selected longest ago
 * @selector: the selector.
 *
 * Return: the color, not a reserved one; it is selected next if it has enough
 * frames then.
 */
unsigned int
mcube_color_selector_oldest(const struct mcube_color_selector *selector)
{
	unsigned int color, best = selector->reserved;

	for (color = best + 1; color < selector->nr; color++)
		if (selector->stamp[color] < selector->stamp[best])
			best = color;
	return best;
}
