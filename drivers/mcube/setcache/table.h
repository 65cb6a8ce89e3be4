/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Table: page sets that grow and shrink in number
 *
 * Copyright (C) 2026 The mcube authors
 *
 * Pure: arithmetic and the caller's locks.  See table.c for the idea.
 */
#ifndef _DRIVERS_MCUBE_SETCACHE_TABLE_H
#define _DRIVERS_MCUBE_SETCACHE_TABLE_H

#include <linux/compiler.h>
#include <linux/log2.h>
#include <linux/types.h>

#include "set.h"

/* A group of the table has this many sets, or more, up to twice as many less one. */
#define SETCACHE_GROUP		8U
#define SETCACHE_GROUP_SHIFT	3

struct setcache_table;

/**
 * struct setcache_locks - how a table locks sets while it grows or shrinks
 * @lock: lock a set.
 * @unlock: unlock a set.
 *
 * Up to 2 * %SETCACHE_GROUP sets are locked at a time, in no order.  As no other code
 * may lock a second set, there is no deadlock.
 */
struct setcache_locks {
	void (*lock)(struct setcache_set *set);
	void (*unlock)(struct setcache_set *set);
};

/**
 * struct setcache_table - sets by hash
 * @nr: number of sets, at least %SETCACHE_GROUP.
 * @turn: odd while sets exchange pages.
 * @seed: see setcache_hash().
 * @stride: bytes from a set to the next set of a segment.
 * @offset: bytes from the start of a segment to its first set.
 * @segment_shift: a segment has 2^@segment_shift sets, at least %SETCACHE_GROUP.
 * @nr_segments: segments that the table has.
 * @max_segments: places of @segment.
 * @segment: memory of the sets, given by the caller.
 * @homes: nodes that have homes of sets; with 0 or 1, a page may go to any set.
 * @locks: how sets are locked.
 * @moved: pages that went to another set when the table grew or shrank.
 * @dropped: pages that did not find room in the other set, were pinned, or had to go to
 *           another home.
 */
struct setcache_table {
	u32 nr;
	u32 turn;
	u64 seed;
	u32 stride;
	u32 offset;
	u32 segment_shift;
	u32 nr_segments;
	u32 max_segments;
	void **segment;
	u32 homes;
	const struct setcache_locks *locks;
	u64 moved;
	u64 dropped;
};

/**
 * struct setcache_layout - where a table has its sets
 * @stride: see struct setcache_table.
 * @offset: see struct setcache_table.
 * @segment_shift: see struct setcache_table.
 * @max_segments: see struct setcache_table.
 * @segment: see struct setcache_table.
 * @homes: see struct setcache_table.
 */
struct setcache_layout {
	u32 stride;
	u32 offset;
	u32 segment_shift;
	u32 max_segments;
	void **segment;
	u32 homes;
};

/**
 * struct setcache_pressure - how much a set is in demand
 * @resident: ways that are FILLING or VALID.
 * @filling: ways that are FILLING.
 * @pinned: ways that have pins.
 * @fills: see struct setcache_set.
 * @again: see struct setcache_set.
 */
struct setcache_pressure {
	u32 resident;
	u32 filling;
	u32 pinned;
	u32 fills;
	u32 again;
};

void setcache_table_init(struct setcache_table *t, const struct setcache_layout *layout,
			 const struct setcache_locks *locks, u64 seed);
bool setcache_table_add_segment(struct setcache_table *t, void *memory);
void *setcache_table_take_segment(struct setcache_table *t);
struct setcache_set *setcache_table_next(struct setcache_table *t);
bool setcache_table_grow(struct setcache_table *t, enum setcache_policy policy);
struct setcache_set *setcache_table_shrink(struct setcache_table *t,
					   enum setcache_policy policy);
void setcache_pressure(const struct setcache_set *set, struct setcache_pressure *p);

/**
 * setcache_table_set_at() - a set by number
 * @t: the table.
 * @i: number of the set.
 *
 * Return: the set.
 */
static inline struct setcache_set *
setcache_table_set_at(const struct setcache_table *t, u32 i)
{
	char *base = t->segment[i >> t->segment_shift];

	return (void *)(base + (size_t)t->stride * (i & ((1U << t->segment_shift) - 1)) +
			t->offset);
}

/**
 * setcache_place() - number of the set that belongs to a hash
 * @hash: the hash.
 * @nr: number of sets.
 *
 * See the head of table.c.
 *
 * Return: less than @nr.
 */
static inline u32 setcache_place(u64 hash, u32 nr)
{
	u32 level = ilog2(nr) - SETCACHE_GROUP_SHIFT;
	/* A shift by 64 is not defined. */
	u32 group = hash >> 1 >> (63 - level);
	u32 sets = (nr >> level) + (group < (nr & ((1U << level) - 1)));
	u32 pos = ((hash << level >> 32) * sets) >> 32;
	u32 up;

	if (pos >= SETCACHE_GROUP)
		return (pos << level) + group;
	if (!group)
		return pos;
	/* The set came in when there were fewer groups, with another position. */
	up = __builtin_ctz(group) + 1;
	return ((pos + SETCACHE_GROUP) << (level - up)) + (group >> up);
}

/**
 * setcache_table_find() - the set that belongs to a key
 * @t: the table.
 * @key: the key; it remembers the place, for the next call.
 *
 * Needs no lock, but a read-side section that keeps segments from being freed.
 *
 * Return: the set.
 */
static inline struct setcache_set *
setcache_table_find(const struct setcache_table *t, struct setcache_key *key)
{
	/* Pairs with the release when the number changes: the segment is complete. */
	u32 nr = smp_load_acquire(&t->nr);

	if (key->nr != nr) {
		key->nr = nr;
		key->place = setcache_place(key->hash, nr);
	}
	return setcache_table_set_at(t, key->place);
}

/**
 * setcache_table_is_at() - does a set still belong to a key?
 * @t: the table.
 * @key: the key.
 * @set: the set that setcache_table_find() gave, locked meanwhile.
 *
 * Return: true if so, until the set is unlocked; false if the caller has to find the
 * set again.
 */
static inline bool setcache_table_is_at(const struct setcache_table *t,
					struct setcache_key *key,
					const struct setcache_set *set)
{
	return setcache_table_find(t, key) == set;
}

/**
 * setcache_table_may_have() - can a page be in the table?
 * @t: the table.
 * @key: the page.
 *
 * As setcache_set_may_have().  While sets exchange pages the result is always true.
 *
 * Return: false if the page is neither VALID nor FILLING.
 */
static inline bool setcache_table_may_have(const struct setcache_table *t,
					   struct setcache_key *key)
{
	/* Pairs with the release when the exchange ends: the pages have arrived. */
	u32 turn = smp_load_acquire(&t->turn);

	if (turn & 1 || setcache_set_may_have(setcache_table_find(t, key), key))
		return true;
	/* Pairs with the barrier before the exchange: nothing has left its set so far. */
	smp_rmb();
	return READ_ONCE(t->turn) != turn;
}

#endif /* _DRIVERS_MCUBE_SETCACHE_TABLE_H */
