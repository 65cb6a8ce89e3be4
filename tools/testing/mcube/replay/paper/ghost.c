// SPDX-License-Identifier: GPL-2.0
/*
 * UBM ghost stack: how many hits an LRU list of any length would have
 *
 * Copyright (C) 2026 The mcube authors
 *
 * In an LRU list of n pages a reference hits if fewer than n other pages were
 * referenced since the last reference to its page.  So a single stack of page
 * numbers without pages tells the hits of a list of any length: count the hits by
 * depth in the stack.  The stack is cut into regions of equal size; an entry knows
 * its region, and the oldest entry of each region is known:
 *
 *   top   e e e e | e e e e | e e e e | ...   bottom
 *               ^         ^         ^
 *            last[0]   last[1]   last[2]
 *
 * A reference takes the entry out of its region and puts it on top.  In each region
 * above, the oldest entry goes to the next region.  That is a step for each
 * region, and a few instructions if no region gets larger or smaller.
 *
 * Of all pages one in 2^shift is looked at, see mcube_ubm_next_sampled().  A sampled stack
 * of n entries stands for a stack of n * 2^shift pages, and a hit for 2^shift hits.
 *
 * If the depth changes, the regions follow by a step for each reference.
 *
 * Sources: Kim et al., "A low-overhead high-performance unified buffer management
 * scheme that exploits sequential and looping references", OSDI 2000 (ghost
 * buffers); Waldspurger et al., "Efficient MRC construction with SHARDS", FAST 2015
 * (sampling by a hash).
 *
 * Differences from the papers:
 *
 *  - UBM extends the LRU list by some ghosts and learns the hits at two depths.
 *    Here the stack is apart from the list of the kernel, which is not in LRU
 *    order, and tells the whole curve.
 *  - SHARDS finds depths by a tree.  Regions are sufficient to find a slope.
 *  - SHARDS samples pages by a hash of each.  Here sampled pages are evenly apart within
 *    16 pages: a row of pages costs a hash for each 16, and the sample of a loop has no
 *    noise.  Whole chunks as samples had so much that some runs gained nothing.
 */

#include <linux/log2.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "ghost.h"

#define NONE	MCUBE_UBM_GHOSTS

/* Regions move by so many entries for each reference. */
#define MOVES	2

/* All regions are looked at once in so many references. */
#define SETTLE	8

#define SAME_PART	64	/* If the cache differs by less, regions stay. */

/* Entries of a hash slot; with as many slots as entries, chance brings 16 to none. */
#define CHAIN	16

/**
 * mcube_ubm_ghost_shift() - the rate of the sample for a cache
 * @pages: pages of the cache.
 *
 * Each sampled page costs some 400 instructions, so small caches have few entries.
 *
 * Return: one in 2^shift pages is sampled, so that 256 to 511 entries stand for the
 * cache; caches from 2^14 pages on have one in 32 pages and more entries, caches from
 * 2^16 pages on one in 64, and caches beyond 2^21 pages 16384 to 32767 entries.
 */
unsigned int mcube_ubm_ghost_shift(u32 pages)
{
	unsigned int log = ilog2(pages | 1);

	if (log <= 8)
		return 0;
	return log < 16 ? min(log - 8, 5U) : max(log - 14, 6U);
}

/**
 * mcube_ubm_ghost_room() - entries of the stack for a cache
 * @pages: pages of the cache.
 *
 * Return: number of entries, sufficient for twice as many pages.
 */
u32 mcube_ubm_ghost_room(u32 pages)
{
	u64 room = ((u64)pages << 1) >> mcube_ubm_ghost_shift(pages);

	return clamp_t(u64, room, 64, MCUBE_UBM_GHOSTS);
}

/**
 * mcube_ubm_ghost_bytes() - memory of a stack
 * @room: number of entries.
 *
 * Return: bytes for mcube_ubm_ghost_init(), a multiple of 8.
 */
size_t mcube_ubm_ghost_bytes(u32 room)
{
	size_t bytes = room * sizeof(struct mcube_ubm_ghost_entry) +
		       roundup_pow_of_two(room) * sizeof(u16);

	return (bytes + 7) & ~(size_t)7;
}

static void clear(struct mcube_ubm_ghost *g)
{
	unsigned int i;

	for (i = 0; i <= g->mask; i++)
		g->slot[i] = NONE;
	memset(g->count, 0, sizeof(g->count));
	g->newest = NONE;
	g->free = NONE;
	g->used = 0;
	g->nr = 0;
	g->even = false;
}

/**
 * mcube_ubm_ghost_init() - begin an empty stack
 * @ghost: the stack; call mcube_ubm_ghost_resize() next.
 * @memory: mcube_ubm_ghost_bytes(@room) bytes, which belong to the stack.
 * @room: number of entries.
 */
void mcube_ubm_ghost_init(struct mcube_ubm_ghost *ghost, void *memory, u32 room)
{
	memset(ghost, 0, sizeof(*ghost));
	ghost->entry = memory;
	ghost->slot = (u16 *)(ghost->entry + room);
	ghost->room = room;
	ghost->mask = roundup_pow_of_two(room) - 1;
	clear(ghost);
}

/**
 * mcube_ubm_ghost_resize() - let the stack stand for another cache
 * @ghost: the stack.
 * @pages: pages of the cache.
 *
 * The stack is emptied when another rate is required; hits that were counted are
 * kept.
 */
void mcube_ubm_ghost_resize(struct mcube_ubm_ghost *ghost, u32 pages)
{
	unsigned int shift = mcube_ubm_ghost_shift(pages);
	unsigned int i;

	if (max(pages, ghost->pages) - min(pages, ghost->pages) <= ghost->pages / SAME_PART)
		return;
	while (pages >> shift > ghost->room)
		shift++;
	/* A size that goes up and down must not empty the stack each time. */
	if (pages >> ghost->shift > ghost->room || ghost->shift > shift + 1 ||
	    !ghost->pages) {
		if (ghost->shift != shift)
			clear(ghost);
		ghost->shift = shift;
	}
	ghost->even = false;
	ghost->pages = pages;
	ghost->size = pages >> ghost->shift;
	for (i = 0; i < MCUBE_UBM_REGIONS; i++)
		ghost->target[i] = ghost->size * (i + 1) / MCUBE_UBM_REGIONS -
				   ghost->size * i / MCUBE_UBM_REGIONS;
}

static u16 *slot_of(const struct mcube_ubm_ghost *g, u32 print)
{
	return &g->slot[print & g->mask];
}

static u16 find(const struct mcube_ubm_ghost *g, u32 print)
{
	u16 i = *slot_of(g, print);

	while (i != NONE && g->entry[i].print != print)
		i = g->entry[i].next;
	return i;
}

/* Take an entry off the stack; its slot still names it. */
static void unlink(struct mcube_ubm_ghost *g, u16 i)
{
	struct mcube_ubm_ghost_entry *e = &g->entry[i];

	if (--g->count[e->region] && g->last[e->region] == i)
		g->last[e->region] = e->newer;
	if (e->newer != NONE)
		g->entry[e->newer].older = e->older;
	else
		g->newest = e->older;
	if (e->older != NONE)
		g->entry[e->older].newer = e->newer;
	g->nr--;
}

static void unhash(struct mcube_ubm_ghost *g, u16 i)
{
	u16 *link = slot_of(g, g->entry[i].print);

	while (*link != i)
		link = &g->entry[*link].next;
	*link = g->entry[i].next;
}

/* Forget the oldest entry.  Return: the entry, which is free. */
static u16 drop_oldest(struct mcube_ubm_ghost *g)
{
	int r = MCUBE_UBM_REGIONS - 1;
	u16 i;

	while (!g->count[r])
		r--;
	i = g->last[r];
	unlink(g, i);
	unhash(g, i);
	return i;
}

/* An entry for another page. */
static u16 take(struct mcube_ubm_ghost *g)
{
	u16 i = g->free;

	if (i != NONE) {
		g->free = g->entry[i].next;
		return i;
	}
	return g->used < g->room ? g->used++ : drop_oldest(g);
}

static void push(struct mcube_ubm_ghost *g, u16 i)
{
	struct mcube_ubm_ghost_entry *e = &g->entry[i];

	e->newer = NONE;
	e->older = g->newest;
	e->region = 0;
	if (g->newest != NONE)
		g->entry[g->newest].newer = i;
	g->newest = i;
	if (!g->count[0]++)
		g->last[0] = i;
	g->nr++;
}

/* The oldest entry of a region becomes the newest of the next region. */
static void sink(struct mcube_ubm_ghost *g, unsigned int r)
{
	u16 i = g->last[r];

	if (--g->count[r])
		g->last[r] = g->entry[i].newer;
	if (!g->count[r + 1]++)
		g->last[r + 1] = i;
	g->entry[i].region = r + 1;
}

/* The newest entry @i of the region after @r becomes the oldest of @r. */
static void rise(struct mcube_ubm_ghost *g, unsigned int r, u16 i)
{
	g->count[r + 1]--;
	g->count[r]++;
	g->last[r] = i;
	g->entry[i].region = r;
}

static bool is_even(const struct mcube_ubm_ghost *g)
{
	unsigned int r = 0;

	while (r < MCUBE_UBM_REGIONS - 1 && g->count[r] == g->target[r] && g->count[r] > 1)
		r++;
	return r == MCUBE_UBM_REGIONS - 1 && g->count[r] > 1;
}

/* An entry came on top, and region @end has room: the oldest of each region goes down. */
static void shift_all(struct mcube_ubm_ghost *g, unsigned int end)
{
	struct mcube_ubm_ghost_entry *const entry = g->entry, *e;
	unsigned int r;

	for (r = 0; r < end; r++) {
		e = &entry[g->last[r]];
		g->last[r] = e->newer;
		e->region = r + 1;
	}
	g->count[0]--;
	g->count[end]++;
}

/* Let the regions before @end have their sizes, or come closer. */
static void settle(struct mcube_ubm_ghost *g, unsigned int end)
{
	u16 above = NONE;
	unsigned int r, moves;

	for (r = 0; r < end; r++) {
		for (moves = 0; moves < MOVES && g->count[r] > g->target[r]; moves++)
			sink(g, r);
		if (g->count[r])
			above = g->last[r];
		if (g->count[r] < g->target[r] && g->count[r + 1]) {
			above = above == NONE ? g->newest : g->entry[above].older;
			rise(g, r, above);
		}
	}
}

/*
 * Put an entry on top that came from @region, and let the stack have its depth.  The
 * regions beyond have what they had.  Now and then they are looked at as well, as the
 * sizes may have changed.
 */
static void put(struct mcube_ubm_ghost *g, u16 i, unsigned int region)
{
	unsigned int moves;

	push(g, i);
	if (g->even) {
		shift_all(g, min(region, MCUBE_UBM_REGIONS - 1U));
	} else {
		if (!(++g->puts % SETTLE))
			region = MCUBE_UBM_REGIONS;
		settle(g, min(region, MCUBE_UBM_REGIONS - 1U));
		g->even = region == MCUBE_UBM_REGIONS && is_even(g);
	}
	for (moves = 0; moves < MOVES && g->nr > max(g->size, 1U); moves++) {
		i = drop_oldest(g);
		g->entry[i].next = g->free;
		g->free = i;
	}
}

/*
 * An entry of a full hash slot, taken off the stack; NONE if the slot has room.  A user may
 * find pages of one slot, and every look-up there would walk through all of these.
 */
static u16 crowded(struct mcube_ubm_ghost *g, u16 i)
{
	u32 steps;

	for (steps = 1; i != NONE; i = g->entry[i].next) {
		if (steps++ < CHAIN)
			continue;
		unlink(g, i);
		unhash(g, i);
		g->even = false;
		break;
	}
	return i;
}

static void add(struct mcube_ubm_ghost *g, u32 print, bool loaded)
{
	u16 *slot = slot_of(g, print), i = crowded(g, *slot);

	if (i == NONE)
		i = take(g);
	g->entry[i].print = print;
	g->entry[i].loaded = loaded;
	g->entry[i].next = *slot;
	*slot = i;
	put(g, i, MCUBE_UBM_REGIONS);
}

/**
 * mcube_ubm_ghost_ref() - a sampled page is referenced
 * @ghost: the stack.
 * @print: fingerprint of the page: a hash of file and index.
 *
 * Return: region where the page was found, which is counted as a hit there.
 * MCUBE_UBM_LOADED or MCUBE_UBM_ABSENT if an LRU list of the whole depth would have
 * missed.
 */
unsigned int mcube_ubm_ghost_ref(struct mcube_ubm_ghost *ghost, u32 print)
{
	u16 i = find(ghost, print);
	unsigned int region, from;

	if (i == NONE) {
		add(ghost, print, false);
		return MCUBE_UBM_ABSENT;
	}
	from = ghost->entry[i].region;
	region = from;
	if (ghost->entry[i].loaded)
		region = MCUBE_UBM_LOADED;
	else
		ghost->hits[region] += 1ULL << ghost->shift;
	ghost->entry[i].loaded = false;
	unlink(ghost, i);
	put(ghost, i, from);
	return region;
}

/**
 * mcube_ubm_ghost_load() - a sampled page comes into memory
 * @ghost: the stack.
 * @print: fingerprint of the page.
 *
 * Return: true if the page is on the stack: an LRU list would have had it still.
 */
bool mcube_ubm_ghost_load(struct mcube_ubm_ghost *ghost, u32 print)
{
	if (find(ghost, print) != NONE)
		return true;
	add(ghost, print, true);
	return false;
}

/**
 * mcube_ubm_ghost_age() - halve all that was counted
 * @ghost: the stack.
 */
void mcube_ubm_ghost_age(struct mcube_ubm_ghost *ghost)
{
	unsigned int r;

	for (r = 0; r < MCUBE_UBM_REGIONS; r++)
		ghost->hits[r] /= 2;
	ghost->refs /= 2;
}

/**
 * mcube_ubm_ghost_depth() - depth where a region ends
 * @ghost: the stack.
 * @region: the region, less than MCUBE_UBM_REGIONS.
 *
 * Return: pages of an LRU list that would hit in this region and those above.
 */
u32 mcube_ubm_ghost_depth(const struct mcube_ubm_ghost *ghost,
			  unsigned int region)
{
	return ((u64)ghost->size * (region + 1) / MCUBE_UBM_REGIONS) << ghost->shift;
}
