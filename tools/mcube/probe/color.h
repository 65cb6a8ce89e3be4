/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Pages by color, and what a load costs in sets of them.
 */
#ifndef MCUBE_PROBE_COLOR_H
#define MCUBE_PROBE_COLOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "memory.h"

#define MAX_COLORS	512
#define PAGE_LINES	8	/* of each page, that a draw uses */

/**
 * struct cache - the cache in question, as it is described
 * @level:	2, 3
 * @bytes:	size
 * @line:	bytes of a line
 */
struct cache {
	unsigned int level;
	size_t bytes;
	size_t line;
};

/**
 * struct pool - pages by color
 * @m:		where they lie
 * @masks:	how many masks
 * @mask:	them, of address bits
 * @colors:	1 << @masks
 * @first:	index in @page of the first page of each color; one more at the end
 * @page:	offsets of all pages in @m, color by color
 */
struct pool {
	struct memory *m;
	unsigned int masks;
	uint64_t mask[16];
	unsigned int colors;
	size_t first[MAX_COLORS + 1];
	size_t *page;
};

/**
 * struct timed - a set of pages
 * @plain:	ticks for a load when the pages compete, if they have a color in common
 * @apart:	the same pages, by lines of other sets for each: they do not compete
 */
struct timed {
	double plain;
	double apart;
};

const char *pool_init(struct pool *p, struct memory *m, const uint64_t *mask,
		      unsigned int masks);
void pool_free(struct pool *p);
size_t pool_take(const struct pool *p, unsigned int color, size_t *page, size_t n);
size_t pool_even(const struct pool *p, size_t *page, size_t n);
struct timed color_time(const struct pool *p, const struct cache *c, const size_t *page, size_t n,
			size_t others, unsigned int repeats);

#endif
