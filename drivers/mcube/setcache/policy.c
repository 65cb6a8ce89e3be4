// SPDX-License-Identifier: GPL-2.0
/*
 * Policy: which page of a set goes
 *
 * Copyright (C) 2026 The mcube authors
 *
 * A policy sees a set only.  The set has an order of its ways, a count for each way,
 * a bit for each way that is in the small queue, and ghosts: tags and counts of the
 * pages that were evicted last.
 *
 *                newest            oldest       victim
 *   lru          7 3 0 4 1 6 2 5                oldest in the order of references
 *   lfu          2 9 1 1 4 2 6 1  (counts)      fewest references, then the oldest
 *   nrlfu        the same; a ghost that comes back has its count again
 *   s3fifo       7 3 | 0 4 1 6 2 5              a page that is new goes after a short
 *              small | main                     time, unless referenced again or a ghost
 *
 * S3-FIFO: while the small queue has an eighth of the ways or more, the oldest page of
 * the small queue goes; if it was referenced there, it enters the main queue instead.
 * Else the oldest page of the main queue goes; if it has been referenced, it enters
 * the queue anew and its count falls by 1.  A page that is a ghost enters the main queue.
 *
 * Frequency keeps the pages that are hot for long, and recency follows a working set
 * that moves.  S3-FIFO does both within a set: it counts to 3 only, so that a page
 * that was hot is forgotten after a few turns, and pages used once cannot push out
 * more than an eighth.
 *
 * Sources: Zheng, Burns, Szalay, "A parallel page cache: IOPS and caching for
 * multicore systems", HotStorage 2012 (sets, lru, lfu, nrlfu).  Yang, Zhang, Qiu,
 * Yue, Rashmi, "FIFO queues are all you need for cache eviction", SOSP 2023.
 *
 * Differences from the papers:
 *
 * - Counts are halved when a page has to go while a count is at the limit.  On a hit
 *   there is no lock.
 * - Order and counts of references may lose a reference when two readers come at the
 *   same time.
 * - Ghosts have 16 bits of the hash.  A ghost in 4000 is taken for another page.
 * - S3-FIFO: pages evicted from the main queue become ghosts as well.  In sets of 16 ways
 *   hit ratios are better with these ghosts.
 * - SIEVE (NSDI 2024) was compared within sets, in a simulator of its own: on skewed
 *   references it has fewer hits than S3-FIFO in small caches and more in large caches,
 *   by half a point; where files are read in turns (multi2, multi3) it loses up to 11 points.
 */

#include <linux/bitops.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "policy.h"

/* Ways that S3-FIFO looks at before a victim has to do. */
#define MOST_TURNS	(SETCACHE_WAYS * (SETCACHE_S3FIFO_COUNT + 2))

#define NIBBLES(n)	(0x1111111111111111ULL * (n))
#define SHORTS(n)	(0x0001000100010001ULL * (n))

/**
 * setcache_order_init() - way 0 is the newest, the last way the oldest
 * @set: the set.
 */
void setcache_order_init(struct setcache_set *set)
{
	unsigned int way;

	set->order = 0;
	for (way = 0; way < SETCACHE_WAYS; way++)
		set->order |= (u64)way << (4 * way);
}

/* @way becomes the newest way. */
static u64 to_front(u64 order, unsigned int way)
{
	u64 differ = order ^ NIBBLES(way);
	/* The highest bit of each nibble that is 0, and only of these nibbles. */
	u64 same = ~(((differ & NIBBLES(7)) + NIBBLES(7)) | differ | NIBBLES(7));
	unsigned int shift = __ffs64(same) & ~3U;
	u64 newer = (1ULL << shift) - 1;

	return (order & ~(newer << 4 | 0xf)) | (order & newer) << 4 | way;
}

/**
 * setcache_order_touch() - make a way the newest way
 * @set: the set.
 * @way: the way.
 *
 * Return: false if another CPU changed the order at the same time, and nothing was
 * done.
 */
bool setcache_order_touch(struct setcache_set *set, unsigned int way)
{
	u64 old = READ_ONCE(set->order);

	return cmpxchg(&set->order, old, to_front(old, way)) == old;
}

static void make_newest(struct setcache_set *set, unsigned int way)
{
	while (!setcache_order_touch(set, way))
		;
}

/* The oldest way of @among, which is not empty. */
static unsigned int oldest(u64 order, u16 among)
{
	int shift = 4 * (SETCACHE_WAYS - 1);

	while (shift && !(among >> (order >> shift & 0xf) & 1))
		shift -= 4;
	return order >> shift & 0xf;
}

/* A tag of 0 means that there is no ghost. */
static u16 ghost_tag(u32 tag)
{
	return tag >> 8 & 0xffff ?: 1;
}

static int find_ghost(const struct setcache_set *set, u16 tag)
{
	unsigned int i;

	for (i = 0; i < SETCACHE_GHOSTS / 4; i++) {
		u64 differ = set->ghost_tag[i] ^ SHORTS(tag);
		/* The lowest bit is that of the first tag that matches; bits above may be wrong. */
		u64 same = (differ - SHORTS(1)) & ~differ & SHORTS(0x8000);

		if (same)
			return i * 4 + __ffs64(same) / 16;
	}
	return -1;
}

static void set_ghost(struct setcache_set *set, unsigned int ghost, u16 tag)
{
	unsigned int shift = 16 * (ghost % 4);
	u64 *word = &set->ghost_tag[ghost / 4];

	*word = (*word & ~(0xffffULL << shift)) | (u64)tag << shift;
}

/**
 * setcache_policy_enter() - a page comes into a way
 * @set: the set.
 * @way: the way; its tag is set.
 * @policy: the policy.
 */
void setcache_policy_enter(struct setcache_set *set, unsigned int way,
			   enum setcache_policy policy)
{
	int ghost = find_ghost(set, ghost_tag(set->entry[way].tag));
	u8 count = policy == SETCACHE_S3FIFO ? 0 : 1;

	WRITE_ONCE(set->fills, set->fills + 1);
	WRITE_ONCE(set->awaited, READ_ONCE(set->awaited) & ~BIT(way));
	set->small |= BIT(way);
	if (ghost >= 0) {
		WRITE_ONCE(set->again, set->again + 1);
		if (policy == SETCACHE_NRLFU)
			count = min(set->ghost_count[ghost] + 1, SETCACHE_COUNT_MAX);
		set->small &= ~BIT(way);
		set_ghost(set, ghost, 0);
	}
	WRITE_ONCE(set->count[way], count);
	make_newest(set, way);
}

/**
 * setcache_policy_leave() - a page is evicted from a way
 * @set: the set.
 * @way: the way; its tag is that of the page.
 */
void setcache_policy_leave(struct setcache_set *set, unsigned int way)
{
	set_ghost(set, set->ghost_next, ghost_tag(set->entry[way].tag));
	set->ghost_count[set->ghost_next] = READ_ONCE(set->count[way]);
	set->ghost_next = (set->ghost_next + 1) % SETCACHE_GHOSTS;
}

/**
 * setcache_policy_forget() - forget all ghosts
 * @set: the set.
 */
void setcache_policy_forget(struct setcache_set *set)
{
	memset(set->ghost_tag, 0, sizeof(set->ghost_tag));
}

static void halve(struct setcache_set *set, u16 scope)
{
	unsigned int i;

	for (i = 0; i < SETCACHE_WAYS; i++)
		if (scope >> i & 1)
			WRITE_ONCE(set->count[i], READ_ONCE(set->count[i]) / 2);
	for (i = 0; i < SETCACHE_GHOSTS; i++)
		set->ghost_count[i] /= 2;
}

static unsigned int lfu_victim(struct setcache_set *set, u16 among, u16 scope)
{
	u64 order = READ_ONCE(set->order);
	unsigned int best = 0, fewest = SETCACHE_COUNT_MAX + 1, i, way, count;
	bool full = false;

	/* From the newest way: of ways with equal counts, the oldest is the victim. */
	for (i = 0; i < SETCACHE_WAYS; i++, order >>= 4) {
		way = order & 0xf;
		count = READ_ONCE(set->count[way]);
		full |= scope >> way & 1 && count == SETCACHE_COUNT_MAX;
		if (among >> way & 1 && count <= fewest) {
			fewest = count;
			best = way;
		}
	}
	if (full)
		halve(set, scope);
	return best;
}

static unsigned int s3fifo_victim(struct setcache_set *set, u16 among, u16 scope)
{
	u16 small = set->small & setcache_set_resident(set) & scope, choice;
	/* The small queue has this many ways. */
	unsigned int small_ways = max(hweight16(scope) / 8, 1U);
	unsigned int turns, way, count;

	for (turns = 0; turns < MOST_TURNS; turns++) {
		bool from_small = hweight16(small) >= small_ways;

		choice = among & (from_small ? small : ~small);
		if (!choice) {
			from_small = !from_small;
			choice = among;
		}
		way = oldest(READ_ONCE(set->order), choice);
		count = READ_ONCE(set->count[way]);
		if (!count)
			return way;
		/* Counts of other policies go further. */
		WRITE_ONCE(set->count[way], from_small ? 0 :
			   min(count, SETCACHE_S3FIFO_COUNT) - 1);
		small &= ~BIT(way);
		set->small &= ~BIT(way);
		make_newest(set, way);
	}
	return oldest(READ_ONCE(set->order), among);
}

/**
 * setcache_policy_victim() - the page that shall go
 * @set: the set.
 * @among: ways to choose from, at least one bit.
 * @scope: ways that matter for the choice: those of a user, or all.
 * @policy: the policy.
 *
 * Return: a way of @among.
 */
unsigned int setcache_policy_victim(struct setcache_set *set, u16 among, u16 scope,
				    enum setcache_policy policy)
{
	switch (policy) {
	case SETCACHE_LFU:
	case SETCACHE_NRLFU:
		return lfu_victim(set, among, scope);
	case SETCACHE_S3FIFO:
		return s3fifo_victim(set, among, scope);
	default:
		return oldest(READ_ONCE(set->order), among);
	}
}
