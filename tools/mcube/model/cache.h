/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A set-associative cache: the lines in it, and the order in which they are evicted.
 *
 *	entry:	63          16 15      8 7    4 3    2  1     0
 *		line number    owner     cpu    rrpv   dirty valid
 *			       watched			in private levels
 *
 * LRU keeps a set in the order of use, most recent first: a hit moves its entry to
 * the front, a fill evicts the last entry. SRRIP (Jaleel et al., High Performance
 * Cache Replacement Using Re-Reference Interval Prediction, ISCA 2010; hit priority,
 * 2 bits) leaves entries where they are. A fill predicts a long interval (2), a hit
 * a near interval (0). The victim is the first entry that predicts a distant
 * interval (3). If no entry does, all predictions grow by 1 until an entry does.
 */
#ifndef MCUBE_MODEL_CACHE_H
#define MCUBE_MODEL_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "machine.h"

#define LINE_VALID	1u
#define LINE_DIRTY	2u
#define LINE_RRPV	0xcu
#define LINE_WATCHED	0x100u		/* private levels: see coherence.c */
#define RRPV_STEP	0x4u
#define RRPV_LONG	0x8u
#define CPU_SHIFT	4
#define OWNER_SHIFT	8
#define LINE_SHIFT	16
#define LINE_NUMBER	(~0ull << LINE_SHIFT)

#define line_number(entry)	((entry) >> LINE_SHIFT)
#define line_cpu(entry)		((unsigned int)(entry) >> CPU_SHIFT & 15)
#define line_owner(entry)	((unsigned int)(entry) >> OWNER_SHIFT & 255)

/**
 * struct cache - a cache
 * @set:	the entries, @ways for each set
 * @ways:	associativity
 * @sets:	number of sets
 * @mask:	@sets - 1 if @sets is a power of two, else 0
 * @srrip:	replacement is SRRIP, not LRU
 */
struct cache {
	uint64_t *set;
	unsigned int ways;
	unsigned int sets;
	unsigned int mask;
	bool srrip;
};

bool cache_init(struct cache *c, const struct level *l);
void cache_free(struct cache *c);
void cache_clear(struct cache *c);
uint64_t *cache_lookup_rest(struct cache *c, uint64_t *set, uint64_t want);
uint64_t cache_fill(struct cache *c, unsigned int index, uint64_t entry);
void cache_drop(struct cache *c, unsigned int index, uint64_t line);

static inline unsigned int cache_index(const struct cache *c, uint64_t line)
{
	return c->mask ? line & c->mask : line % c->sets;
}

/**
 * cache_lookup - find a line, and count that as a use of the line
 * @c:		the cache
 * @index:	index of its set
 * @line:	line number
 *
 * Return: the entry, NULL on a miss.
 */
static inline uint64_t *cache_lookup(struct cache *c, unsigned int index, uint64_t line)
{
	uint64_t *set = c->set + (uint64_t)index * c->ways;
	uint64_t want = line << LINE_SHIFT | LINE_VALID;

	if (!c->srrip && !((*set ^ want) & (LINE_NUMBER | LINE_VALID)))
		return set;
	return cache_lookup_rest(c, set, want);
}

/**
 * cache_peek - find a line without a use of the line
 * @c:		the cache
 * @index:	index of its set
 * @line:	line number
 *
 * Return: the entry, NULL on a miss.
 */
static inline uint64_t *cache_peek(struct cache *c, unsigned int index, uint64_t line)
{
	uint64_t *set = c->set + (uint64_t)index * c->ways;
	uint64_t want = line << LINE_SHIFT | LINE_VALID;

	for (unsigned int i = 0; i < c->ways; i++)
		if (!((set[i] ^ want) & (LINE_NUMBER | LINE_VALID)))
			return set + i;
	return NULL;
}

#endif
