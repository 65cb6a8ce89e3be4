// SPDX-License-Identifier: GPL-2.0
/*
 * A set-associative cache; cache.h says how it works.
 */
#include "cache.h"

#include <stdlib.h>
#include <string.h>

/**
 * cache_init - set up an empty cache
 * @c:	the cache
 * @l:	its description, with sets worked out
 *
 * Return: false if memory is short.
 */
bool cache_init(struct cache *c, const struct level *l)
{
	c->ways = l->ways;
	c->sets = l->sets;
	c->mask = l->sets & (l->sets - 1) ? 0 : l->sets - 1;
	c->srrip = l->policy == POLICY_SRRIP;
	c->set = calloc(l->sets, l->ways * sizeof(*c->set));
	return c->set;
}

/**
 * cache_free - free the memory of a cache
 * @c:	the cache
 */
void cache_free(struct cache *c)
{
	free(c->set);
}

/**
 * cache_clear - drop all lines, dirty lines too
 * @c:	the cache, may lack its memory
 */
void cache_clear(struct cache *c)
{
	if (c->set)
		memset(c->set, 0, (size_t)c->sets * c->ways * sizeof(*c->set));
}

/**
 * cache_lookup_rest - cache_lookup() if the first entry of an LRU set is another line
 * @c:		the cache
 * @set:	entries of the set
 * @want:	line number and LINE_VALID
 *
 * Return: the entry, NULL on a miss.
 */
uint64_t *cache_lookup_rest(struct cache *c, uint64_t *set, uint64_t want)
{
	for (unsigned int i = 0; i < c->ways; i++) {
		uint64_t entry = set[i];

		if ((entry ^ want) & (LINE_NUMBER | LINE_VALID))
			continue;
		if (c->srrip) {
			set[i] &= ~(uint64_t)LINE_RRPV;
			return set + i;
		}
		for (; i; i--)
			set[i] = set[i - 1];
		set[0] = entry;
		return set;
	}
	return NULL;
}

static unsigned int srrip_victim(uint64_t *set, unsigned int ways)
{
	unsigned int i;

	for (i = 0; i < ways; i++)
		if (!(set[i] & LINE_VALID))
			return i;
	for (;;) {
		for (i = 0; i < ways; i++)
			if ((set[i] & LINE_RRPV) == LINE_RRPV)
				return i;
		for (i = 0; i < ways; i++)
			set[i] += RRPV_STEP;
	}
}

/**
 * cache_fill - put a line that is not in the cache into its set
 * @c:		the cache
 * @index:	index of the set
 * @entry:	the entry
 *
 * Return: the victim, 0 if the set had room.
 */
uint64_t cache_fill(struct cache *c, unsigned int index, uint64_t entry)
{
	uint64_t *set = c->set + (uint64_t)index * c->ways;
	unsigned int i = c->ways - 1;
	uint64_t victim;

	if (c->srrip) {
		i = srrip_victim(set, c->ways);
		victim = set[i];
		set[i] = entry | LINE_VALID | RRPV_LONG;
		return victim;
	}
	victim = set[i];
	for (; i; i--)
		set[i] = set[i - 1];
	set[0] = entry | LINE_VALID;
	return victim;
}

/**
 * cache_drop - empty the entry of a line, if the cache has the line
 * @c:		the cache
 * @index:	index of its set
 * @line:	line number
 */
void cache_drop(struct cache *c, unsigned int index, uint64_t line)
{
	uint64_t *entry = cache_peek(c, index, line);
	uint64_t *last = c->set + (uint64_t)index * c->ways + c->ways - 1;

	if (!entry)
		return;
	/* LRU evicts the last entry of a set. */
	for (; !c->srrip && entry < last; entry++)
		*entry = entry[1];
	*entry = 0;
}
