// SPDX-License-Identifier: GPL-2.0
/*
 * Times of sets of pages; color.h says which.
 *
 * A chase takes eight lines of each page.  In one chase they lie at the same places in every
 * page, so that pages of a color meet in the same sets.  In the other each page uses places of
 * its own, an eighth of all sets for each: the same pages, so the same misses of the TLB, and
 * no set is short of room.  The difference is what the competition for sets costs.
 * Few pages would stay in the first level, which their places in a page choose the sets of.
 * Other pages, at the same places in both chases, push them out of it.
 * The chases take turns, and the fastest of the repeats counts: what disturbs a chase only
 * makes it slower.
 */
#include "color.h"

#include <stdlib.h>
#include <string.h>

#include "chase.h"
#include "timing.h"

#define LEAST_LOADS	512	/* of a timing, against the cost of the clock */
#define APART_WORD	8	/* of a line: the chase that does not compete uses this word */

static unsigned int color_of(const struct pool *p, uint64_t address)
{
	unsigned int color = 0;

	for (unsigned int i = 0; i < p->masks; i++)
		color |= (unsigned int)__builtin_parityll(address & p->mask[i]) << i;
	return color;
}

/**
 * pool_init - sort the pages of a buffer by color
 * @p:		the pool, set up here
 * @m:		the buffer, which the pool keeps using
 * @mask:	masks, of bits that are known of @m's addresses
 * @masks:	how many, up to 9
 *
 * Return: NULL, or why not.
 */
const char *pool_init(struct pool *p, struct memory *m, const uint64_t *mask, unsigned int masks)
{
	size_t pages = m->bytes >> PAGE_SHIFT, at[MAX_COLORS + 1] = { 0 };

	memset(p, 0, sizeof(*p));
	p->m = m;
	p->masks = masks;
	p->colors = 1u << masks;
	if (p->colors > MAX_COLORS)
		return "more than 512 colors";
	for (unsigned int i = 0; i < masks; i++) {
		p->mask[i] = mask[i] & ~(PAGE - 1);
		if (!m->physical && mask[i] >> m->shift)
			return "the map uses address bits that are hidden from this user";
	}
	p->page = malloc(pages * sizeof(*p->page));
	if (!p->page)
		return "no memory";
	for (size_t i = 0; i < pages; i++)
		at[color_of(p, memory_address(m, i << PAGE_SHIFT)) + 1]++;
	for (unsigned int c = 0; c < p->colors; c++)
		at[c + 1] += at[c];
	memcpy(p->first, at, sizeof(at));
	for (size_t i = 0; i < pages; i++)
		p->page[at[color_of(p, memory_address(m, i << PAGE_SHIFT))]++] = i << PAGE_SHIFT;
	return NULL;
}

/** pool_free - free what pool_init() set up of @p */
void pool_free(struct pool *p)
{
	free(p->page);
	p->page = NULL;
}

/**
 * pool_take - take pages of a color at random
 * @p:		the pool
 * @color:	the color
 * @page:	filled with offsets of different pages
 * @n:		how many
 *
 * Return: how many there were, @n at most.
 */
size_t pool_take(const struct pool *p, unsigned int color, size_t *page, size_t n)
{
	size_t *all = p->page + p->first[color], have = p->first[color + 1] - p->first[color];

	if (n > have)
		n = have;
	for (size_t i = 0; i < n; i++) {
		size_t j = i + random_below(have - i), t = all[i];

		all[i] = all[j];
		all[j] = t;
		page[i] = all[i];
	}
	return n;
}

/**
 * pool_even - take pages at random, as many of each color
 * @p:		the pool
 * @page:	filled with offsets of different pages
 * @n:		how many
 *
 * Return: how many there were; @n if each color has enough.
 */
size_t pool_even(const struct pool *p, size_t *page, size_t n)
{
	unsigned int from = random_below(p->colors);
	size_t got = 0;

	for (unsigned int i = 0; i < p->colors; i++) {
		size_t share = n / p->colors + (i < n % p->colors);

		got += pool_take(p, (from + i) % p->colors, page + got, share);
	}
	return got;
}

/**
 * color_time - what a load costs in some pages
 * @p:		where they are from
 * @c:		the cache
 * @page:	offsets of the pages
 * @n:		how many
 * @others:	the last of @n, which only push the first out of the first level
 * @repeats:	of both chases
 *
 * Return: ticks, of which @others have no part in the difference; 0 if memory is short.
 */
struct timed color_time(const struct pool *p, const struct cache *c, const size_t *page, size_t n,
			size_t others, unsigned int repeats)
{
	size_t lines = PAGE / c->line, step = lines / PAGE_LINES, phase = random_below(step);
	double first = (double)n / (n - others);
	struct timed out = { 0, 0 };
	struct chase plain, apart;
	unsigned int passes;
	size_t *at, *turn;

	at = malloc(n * PAGE_LINES * sizeof(*at));
	turn = malloc(n * sizeof(*turn));
	if (!at || !turn || n == others) {
		free(at);
		free(turn);
		return out;
	}
	/* Places of their own go by turns, and neighbours in @page may have related colors. */
	for (size_t i = 0; i < n; i++)
		turn[i] = i;
	shuffle(turn, n - others);
	for (size_t i = n - others; i < n; i++)
		turn[i] = 0;
	for (size_t i = 0; i < n * PAGE_LINES; i++)
		at[i] = page[i / PAGE_LINES] +
			(phase + i % PAGE_LINES * step) * c->line;
	chase_link(&plain, p->m->base, at, n * PAGE_LINES);
	for (size_t i = 0; i < n * PAGE_LINES; i++)
		at[i] = page[i / PAGE_LINES] + APART_WORD +
			((phase + turn[i / PAGE_LINES]) % step + i % PAGE_LINES * step) * c->line;
	chase_link(&apart, p->m->base, at, n * PAGE_LINES);
	passes = LEAST_LOADS / plain.loads + 1;
	for (unsigned int i = 0; i < repeats; i++) {
		double a = chase_time(&plain, passes), b = chase_time(&apart, passes);

		out.plain = !i || a < out.plain ? a : out.plain;
		out.apart = !i || b < out.apart ? b : out.apart;
	}
	out.apart = out.plain - (out.plain - out.apart) * first;
	free(turn);
	free(at);
	return out;
}
