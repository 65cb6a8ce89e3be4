// SPDX-License-Identifier: GPL-2.0
/*
 * ROCS: page profile and miss-rate stack
 *
 * Copyright (C) 2026 The mcube authors
 *
 * The PMU samples accesses that reach the last-level cache, with their data
 * address.  The profile counts hits and misses of each page.  The pages, sorted
 * by miss rate, are the miss-rate stack:
 *
 *   samples          profile                 stack
 *   7 miss           page  hits  misses      rate  page
 *   2 hit               2     9       1       .95     7   <- pages from the top
 *   7 miss       -->    7     1      19  -->  .50     4      are mapped to the
 *   4 hit               4     5       5       .10     2      pollute partition
 *
 * A page whose lines are used once and never again while they are in the cache
 * is at the top.  Whether the cache gains if this page competes with other such
 * pages only is not to be seen from the profile; the search (search.c) tries it.
 *
 * Source: Soares, Tam and Stumm, "Reducing the harmful effects of last-level
 * cache polluters with an OS-level, software-only pollute buffer", MICRO 2008,
 * sections 3.1 and 5.
 *
 * Differences from the paper:
 *
 * - The rate of a page with few samples is drawn to the rate of the whole
 *   process, as if it had ROCS_PRIOR more samples at that rate.  Without this,
 *   pages with a single sample fill both ends of the stack.
 * - The profile has a bound; samples of pages beyond the bound are counted.
 */

#include <linux/hash.h>
#include <linux/limits.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/sort.h>
#include <linux/string.h>

#include "profile.h"

/*
 * Samples at the rate of the process that each page is given beside its own.  More would
 * rank pages that always miss by their number of samples.
 */
#define ROCS_PRIOR	1U

/**
 * rocs_profile_init() - begin an empty profile
 * @p: the profile.
 * @slot: room for @size slots; the profile uses it until the next call.
 * @size: number of slots, a power of 2, at least 4.
 */
void rocs_profile_init(struct rocs_profile *p, struct rocs_page *slot, u32 size)
{
	memset(slot, 0, size * sizeof(*slot));
	*p = (struct rocs_profile){ .slot = slot, .size = size };
}

/**
 * rocs_profile_full() - has the profile no room for another page?
 * @p: the profile.
 *
 * Return: true if samples of pages that are not in the profile are dropped.
 */
bool rocs_profile_full(const struct rocs_profile *p)
{
	return p->nr >= p->size / 4 * 3;
}

static bool in_use(const struct rocs_page *s)
{
	return s->hits | s->misses;
}

/* The slot of a page, or the free slot where the page belongs. */
static struct rocs_page *find(const struct rocs_profile *p, u64 page)
{
	u32 i = hash_64(page, 32) & (p->size - 1);

	while (in_use(&p->slot[i]) && p->slot[i].page != page)
		i = (i + 1) & (p->size - 1);
	return &p->slot[i];
}

static void add(struct rocs_profile *p, u64 page, u32 hits, u32 misses)
{
	struct rocs_page *s = find(p, page);

	if (!in_use(s)) {
		if (rocs_profile_full(p)) {
			p->dropped += hits + misses;
			return;
		}
		s->page = page;
		p->nr++;
	}
	/* A count that has reached the end stays there, and does not wrap to free. */
	s->hits += min(hits, U32_MAX - s->hits);
	s->misses += min(misses, U32_MAX - s->misses);
	p->hits += hits;
	p->misses += misses;
}

/**
 * rocs_profile_add() - count a sample
 * @p: the profile.
 * @page: virtual address that was sampled, in pages.
 * @miss: whether the access missed the last-level cache.
 */
void rocs_profile_add(struct rocs_profile *p, u64 page, bool miss)
{
	add(p, page, !miss, miss);
}

/**
 * rocs_profile_move() - take over the samples of a smaller profile
 * @to: a new profile.
 * @from: the profile that @to replaces; its slots can be freed afterwards.
 */
void rocs_profile_move(struct rocs_profile *to, const struct rocs_profile *from)
{
	const struct rocs_page *s;

	to->dropped += from->dropped;
	for (s = from->slot; s < from->slot + from->size; s++) {
		if (in_use(s))
			add(to, s->page, s->hits, s->misses);
	}
}

/**
 * rocs_profile_rate() - miss rate of the process
 * @p: the profile.
 *
 * Return: misses among all samples, 0..ROCS_RATE_ONE; 0 without samples.
 */
u32 rocs_profile_rate(const struct rocs_profile *p)
{
	u64 all = p->hits + p->misses;

	return all ? div64_u64(p->misses << ROCS_RATE_SHIFT, all) : 0;
}

/* The page that pollutes more comes first; the order of equals is fixed. */
static int compare(const void *a, const void *b)
{
	const struct rocs_entry *x = a, *y = b;

	if (x->rate != y->rate)
		return x->rate < y->rate ? 1 : -1;
	if (x->samples != y->samples)
		return x->samples < y->samples ? 1 : -1;
	return x->page < y->page ? -1 : x->page > y->page;
}

/**
 * rocs_profile_stack() - the pages with the highest miss rates
 * @p: the profile.
 * @stack: room for @max pages.
 * @max: pages that fit; @p->nr is enough.
 * @min_rate: leave out pages below this rate, 0..ROCS_RATE_ONE.
 *
 * Return: number of pages in @stack, highest rate first.
 */
u32 rocs_profile_stack(const struct rocs_profile *p, struct rocs_entry *stack,
		       u32 max, u32 min_rate)
{
	u64 prior = (u64)ROCS_PRIOR * rocs_profile_rate(p);
	const struct rocs_page *s;
	u32 nr = 0, rate;
	u64 all;

	for (s = p->slot; s < p->slot + p->size && nr < max; s++) {
		all = (u64)s->hits + s->misses;
		if (!all)
			continue;
		rate = div64_u64(((u64)s->misses << ROCS_RATE_SHIFT) + prior,
				 all + ROCS_PRIOR);
		if (rate < min_rate)
			continue;
		stack[nr++] = (struct rocs_entry){
			.page = s->page,
			.samples = min_t(u64, all, U32_MAX),
			.misses = s->misses,
			.rate = rate,
		};
	}
	sort(stack, nr, sizeof(*stack), compare, NULL);
	return nr;
}
