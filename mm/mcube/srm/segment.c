// SPDX-License-Identifier: GPL-2.0
/*
 * Runs: which cache color the pages of an access sequence get
 *
 * Copyright (C) 2026 The mcube authors
 *
 * Pages that a program streams through are used once.  If they lie all over
 * the cache they evict what its neighbours use again and again; if they share
 * one color, they evict each other and the rest of the cache stays whole:
 *
 *   color     0    1    2    3    4    5 ...
 *            ---- ---- ---- ---- ---- ----
 *   stream                  ####                the first Tl pages
 *            ####                               the next Tl
 *                                ####           ...
 *
 * One color cannot do for ever, as it has only so many page frames.  So the
 * sequence is cut into runs of Tl pages, and a new run is dealt another color:
 *
 *  - one of those reserved for files, if it has enough free frames for a run:
 *    no memory of programs is there that it could harm.
 *  - of the others with enough, the one whose last run began longest ago.  Its
 *    pages are the oldest in the page cache, so they are the first that reclaim
 *    gives back, all of one color: the next to have enough.
 *  - if none has enough, the one that has most.
 *
 * Source: Ding, Wang, Zhang, "SRM-buffer: an OS buffer management technique to
 * prevent last level cache from thrashing in multicores", EuroSys 2011.
 *
 * Differences from the paper:
 *
 *  - In the paper memory hops over all colors, hence what a stream has at the
 *    moment is lost to its neighbours: with 16 colors one in 16 of all their
 *    references misses, 20 to 30 % of what the stream costs them otherwise.  So a
 *    share of the colors can be reserved (region.c).
 *  - A color's age is a stamp taken when a run gets it.  The paper marks pages
 *    and looks at them on eviction; stamps need no hook there, and no list of
 *    pages per color.
 *  - The paper keeps free lists per color and refills them by eviction.  Here
 *    free frames are those of the store, counted per color, and pieces that are
 *    looked at when it has few; see refill.c and pick.c.
 */

#include <linux/minmax.h>
#include <linux/string.h>

#include "segment.h"

/**
 * mcube_color_selector_init() - all colors, none dealt yet
 * @p: filled in.
 * @nr: number of colors, 1..MCUBE_MAX_VALUES.
 * @reserved: so many of them, the first ones, are dealt before the others;
 *            fewer than @nr.
 */
void mcube_color_selector_init(struct mcube_color_selector *p, unsigned int nr,
			unsigned int reserved)
{
	memset(p, 0, sizeof(*p));
	p->nr = nr;
	p->reserved = reserved;
}

/* Of the colors from @from to @to: the oldest with enough, or the richest. */
static unsigned int best_of(const struct mcube_color_selector *p,
			    const unsigned long *free, unsigned long enough,
			    unsigned int from, unsigned int to)
{
	unsigned int color, best = from;

	for (color = from + 1; color < to; color++) {
		/* Beyond what is enough, more makes no difference. */
		unsigned long mine = min(free[color], enough);
		unsigned long its = min(free[best], enough);

		if (mine > its ||
		    (mine == its && p->stamp[color] < p->stamp[best]))
			best = color;
	}
	return best;
}

/**
 * mcube_color_selector_select() - the color of a new run
 * @p: the selector.
 * @free: free frames by color.
 * @enough: frames that a color should have left.
 *
 * Return: the color; it counts as dealt.
 */
unsigned int mcube_color_selector_select(struct mcube_color_selector *p,
				const unsigned long *free, unsigned long enough)
{
	unsigned int best = best_of(p, free, enough, 0, p->reserved);

	if (!p->reserved || free[best] < enough)
		best = best_of(p, free, enough, p->reserved, p->nr);
	if (free[best] < enough)
		best = best_of(p, free, enough, 0, p->nr);
	p->stamp[best] = ++p->clock;
	return best;
}

/**
 * mcube_color_selector_oldest() - the color dealt longest ago, but for reserved ones
 * @p: the selector.
 *
 * Return: the color; it has its turn next if it has frames enough then.
 */
unsigned int mcube_color_selector_oldest(const struct mcube_color_selector *p)
{
	unsigned int color, best = p->reserved;

	for (color = best + 1; color < p->nr; color++)
		if (p->stamp[color] < p->stamp[best])
			best = color;
	return best;
}
