// SPDX-License-Identifier: GPL-2.0
/*
 * Table: page sets that grow and shrink in number
 *
 * Copyright (C) 2026 The mcube authors
 *
 * The table grows by one set at a time, and only the sets beside the new set lose
 * pages.  With plain linear hashing a set that has been split has half as many pages
 * to serve as a set that has not: of two sets, one is short of room while the other
 * has too much.  So sets are split in groups, from 8 sets to 9, then 10, up to 16.  The
 * picture has groups of 4, to be small:
 *
 *   group 0      group 1      group 2      group 3
 *   a b c d      e f g h      i j k l      m n o p       16 sets
 *   a b c d +    e f g h      i j k l      m n o p       17 sets: group 0 has 5
 *   a b c d +    e f g h +    i j k l      m n o p       18 sets
 *   ...
 *   a b c d+++   e f g h+++   i j k l+++   m n o p+++    28 sets: all groups have 7
 *   a b c d++++  ...                                     29 sets
 *   a b c d|++++ e f g h|++++ i j k l|++++ m n o p|++++  32 sets: 8 groups of 4
 *
 * So a set has at most 9/8 as many pages to serve as another set.
 *
 * The upper bits of the hash name the group.  The bits that follow, as a fraction x of 1,
 * name the position in the group: floor(x * sets of the group).  When the groups have 16
 * sets each, the next upper bits of the hash are the positions, so the group may
 * be taken for 2 groups of 8.  When a group grows, a page stays in its position or goes
 * to the next one; when it shrinks, it stays or goes to the one before.
 *
 * Sets are numbered as they come in.  Position 8 or more of a group came in when there
 * were as many groups as now, and has the number position * groups + group.  Positions
 * 0 to 7 of an even group are those of a group of half the number; of an odd group
 * they are positions 8 to 15 of a group of half the number, which came in then.
 *
 * What covers what:
 *
 *   a page, its state, its key     lock of the set that setcache_table_find() gives.
 *                                  Lock it, then ask setcache_table_is_at(); if the
 *                                  answer is no, unlock and find again.
 *   @nr                            changes only while all sets of the group that grows
 *                                  or shrinks are locked.  So while a set is locked,
 *                                  the keys that belong to the set stay the same.
 *   grow, shrink, segments         a mutex of the caller.
 *   memory of sets                 RCU or the like of the caller: a set that shrinking
 *                                  takes away, or its segment, may be freed after
 *                                  a grace period, and when the set is idle.
 *
 * Lookups of pages in other groups go on, and lookups without a lock even in the group.
 *
 * Sources: Litwin, "Linear hashing", VLDB 1980; Larson, "Linear hashing with partial
 * expansions", VLDB 1980.  Zheng, Burns and Szalay (HotStorage 2012) leave a cache that
 * changes its size to later work.
 *
 * Differences from the papers:
 *
 * - Positions are fractions of the hash.  With a series of hash functions, as Larson has
 *   them, an address costs a loop over all expansions so far.
 * - Sets have a fixed size: a page that finds no room in its new set is evicted, or
 *   evicts another page there.
 */

#include <linux/bitops.h>
#include <linux/string.h>

#include "home.h"
#include "table.h"

/**
 * setcache_table_init() - a table without sets
 * @t: the table.
 * @layout: where it has its sets.
 * @locks: how sets are locked.
 * @seed: random bits, a secret.
 *
 * The caller adds the first segment next.
 */
void setcache_table_init(struct setcache_table *t, const struct setcache_layout *layout,
			 const struct setcache_locks *locks, u64 seed)
{
	memset(t, 0, sizeof(*t));
	t->seed = seed;
	t->stride = layout->stride;
	t->offset = layout->offset;
	t->segment_shift = layout->segment_shift;
	t->max_segments = layout->max_segments;
	t->segment = layout->segment;
	t->homes = layout->homes;
	t->locks = locks;
}

/**
 * setcache_table_add_segment() - give the table memory for more sets
 * @t: the table.
 * @memory: 2^segment_shift sets, each initialized by setcache_set_init().
 *
 * With its first segment the table has %SETCACHE_GROUP sets.
 *
 * Return: false if the table cannot have more segments.
 */
bool setcache_table_add_segment(struct setcache_table *t, void *memory)
{
	if (t->nr_segments == t->max_segments)
		return false;
	t->segment[t->nr_segments++] = memory;
	if (!t->nr)
		t->nr = SETCACHE_GROUP;
	return true;
}

/**
 * setcache_table_take_segment() - take back memory that has no set of the table
 * @t: the table.
 *
 * Return: the last segment, or NULL if there is a set in it.  The caller frees the segment
 * after a grace period, and when its sets are idle.
 */
void *setcache_table_take_segment(struct setcache_table *t)
{
	if (t->nr_segments < 2 || t->nr > (t->nr_segments - 1) << t->segment_shift)
		return NULL;
	return t->segment[--t->nr_segments];
}

/**
 * setcache_table_next() - the set that comes in when the table grows
 * @t: the table.
 *
 * The caller may give it pages before.
 *
 * Return: the set; NULL if the table needs another segment first.
 */
struct setcache_set *setcache_table_next(struct setcache_table *t)
{
	if (t->nr >= t->nr_segments << t->segment_shift)
		return NULL;
	return setcache_table_set_at(t, t->nr);
}

/* The sets of a group, by position. */
struct group {
	struct setcache_set *set[2 * SETCACHE_GROUP];
	u32 number[2 * SETCACHE_GROUP];
	u32 nr;
};

/*
 * The group in which the set with the number @last comes in, with that set as its last
 * position.
 */
static void group_of(const struct setcache_table *t, u32 last, struct group *g)
{
	u32 level = ilog2(last) - SETCACHE_GROUP_SHIFT;
	u64 group = last & ((1U << level) - 1);
	u32 pos;

	g->nr = (last >> level) + 1;
	for (pos = 0; pos < g->nr; pos++) {
		/* A hash in the middle of the position. */
		u64 x = ((2 * pos + 1ULL) << 31) / g->nr;

		/* The group fills the upper bits; at level 0 it has none. */
		g->number[pos] = setcache_place((level ? group << (64 - level) : 0) |
						x << 32 >> level, last + 1);
		g->set[pos] = setcache_table_set_at(t, g->number[pos]);
	}
}

static void lock_group(const struct setcache_table *t, const struct group *g)
{
	u32 i;

	for (i = 0; i < g->nr; i++)
		t->locks->lock(g->set[i]);
}

static void unlock_group(const struct setcache_table *t, const struct group *g)
{
	u32 i;

	for (i = 0; i < g->nr; i++)
		t->locks->unlock(g->set[i]);
}

/* Returns false if the page could not go with its key. */
static bool move_page(const struct setcache_table *t, const struct group *g, u32 pos,
		      unsigned int way, u32 to, enum setcache_policy policy)
{
	const struct setcache_entry *e = &g->set[pos]->entry[way];
	struct setcache_key key;

	if (t->homes < 2 || setcache_home(g->number[pos], t->homes) ==
			    setcache_home(g->number[to], t->homes))
		return setcache_set_move(g->set[pos], way, g->set[to], policy);
	key = setcache_key(t->seed, e->cookie, e->index);
	setcache_set_kill(g->set[pos], &key);
	return false;
}

/* The pages of position @pos that belong to the position @to now go there. */
static void move_pages(struct setcache_table *t, const struct group *g, u32 pos, u32 to,
		       enum setcache_policy policy)
{
	struct setcache_set *set = g->set[pos];
	u64 order = READ_ONCE(set->order);
	u16 resident = setcache_set_resident(set);
	int shift;

	/* The oldest page first, so that the order stays the same. */
	for (shift = 4 * (SETCACHE_WAYS - 1); shift >= 0; shift -= 4) {
		unsigned int way = order >> shift & 0xf;
		const struct setcache_entry *e = &set->entry[way];

		if (!(resident >> way & 1) ||
		    setcache_place(setcache_hash(t->seed, e->cookie, e->index), t->nr) !=
		    g->number[to])
			continue;
		if (move_page(t, g, pos, way, to, policy))
			t->moved++;
		else
			t->dropped++;
	}
}

static void begin_exchange(struct setcache_table *t, u32 nr)
{
	WRITE_ONCE(t->turn, t->turn + 1);
	/* Pairs with setcache_table_may_have(): pages leave their sets after this. */
	smp_wmb();
	/* Pairs with setcache_table_find(): the new set is complete. */
	smp_store_release(&t->nr, nr);
}

static void end_exchange(struct setcache_table *t)
{
	/* Pairs with setcache_table_may_have(): the pages have arrived. */
	smp_store_release(&t->turn, t->turn + 1);
}

/**
 * setcache_table_grow() - one more set
 * @t: the table.
 * @policy: the policy.
 *
 * A page that is pinned or FILLING and belongs to another set now is doomed.
 *
 * Context: the mutex of the caller; no lock of a set.
 * Return: false if the table needs another segment first.
 */
bool setcache_table_grow(struct setcache_table *t, enum setcache_policy policy)
{
	struct group g;
	u32 pos;

	if (!setcache_table_next(t))
		return false;
	group_of(t, t->nr, &g);
	lock_group(t, &g);
	begin_exchange(t, t->nr + 1);
	for (pos = g.nr - 1; pos; pos--)
		move_pages(t, &g, pos - 1, pos, policy);
	end_exchange(t);
	unlock_group(t, &g);
	return true;
}

/**
 * setcache_table_shrink() - one set less
 * @t: the table.
 * @policy: the policy.
 *
 * As setcache_table_grow().
 *
 * Context: the mutex of the caller; no lock of a set.
 * Return: the set that went; its pages are the caller's when setcache_set_is_idle() after
 * a grace period.  NULL if the table has as few sets as it can have.
 */
struct setcache_set *setcache_table_shrink(struct setcache_table *t,
					   enum setcache_policy policy)
{
	struct group g;
	u32 pos;

	if (t->nr <= SETCACHE_GROUP)
		return NULL;
	group_of(t, t->nr - 1, &g);
	lock_group(t, &g);
	begin_exchange(t, t->nr - 1);
	for (pos = 1; pos < g.nr; pos++)
		move_pages(t, &g, pos, pos - 1, policy);
	end_exchange(t);
	unlock_group(t, &g);
	return g.set[g.nr - 1];
}

/**
 * setcache_pressure() - how much a set is in demand
 * @set: the set.
 * @p: filled in; a guess without the lock of the set.
 */
void setcache_pressure(const struct setcache_set *set, struct setcache_pressure *p)
{
	unsigned int way;

	*p = (struct setcache_pressure){
		.resident = hweight16(setcache_set_resident(set)),
		.filling = hweight16(READ_ONCE(set->filling)),
		.fills = READ_ONCE(set->fills),
		.again = READ_ONCE(set->again),
	};
	for (way = 0; way < SETCACHE_WAYS; way++)
		p->pinned += !!atomic_read(&set->entry[way].pins);
}
