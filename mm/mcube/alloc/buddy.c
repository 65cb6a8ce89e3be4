// SPDX-License-Identifier: GPL-2.0
/*
 * Frames for a hint, directly from the buddy lists
 *
 * Copyright (C) 2026 The mcube authors
 *
 * Containers are whole blocks, and they serve movable pages and folios.
 * Containers cannot serve two kinds of request for a color:
 *
 *  - a request for a page or a folio when no whole block is left to take, only
 *    smaller free blocks.  Memory that has been in use for some hours is in this
 *    state.
 *  - a request of the page cache for a page of a block device, which is not
 *    movable.
 *
 * Small free blocks have colors too.  The buddy search goes through the lists
 * from the least sufficient order upwards, takes the first block that has a
 * frame for the hint, and puts the rest of that block back.  Here it seeks
 * color 5:
 *
 *   order 0   [2] [9] [4] ...                    no 5 in the first blocks
 *   order 1   [0 1] [6 7] ...                    no 5 in the first blocks
 *   order 2   [4 5 6 7]  ->  [4]  5  [6 7]       found
 *
 * Pages of a block device may be anywhere in a pageblock of their own type, and
 * an unmovable page makes a pageblock useless for huge pages.  So the search
 * for them is confined to pageblocks of their type.  Where these have pages of
 * other colors alone, the request gets such a page.
 *
 * Small blocks come first, as they are the least likely to merge into a large
 * block soon.  The search runs under zone->lock with interrupts off, so it
 * examines BLOCKS_MAX blocks at most, and remembers by order which colors it did
 * not find (struct mcube_none).  The next search for such a color skips the
 * order until a block of that order is freed.
 *
 * A page that the search found is a page like any other: when it is freed, it
 * goes where the page allocator puts it, and nothing here remembers the page.
 *
 * alloc.c calls the search last, when pcp.c and the containers have no frame.
 */

#include <linux/align.h>
#include <linux/bitmap.h>
#include <linux/cleanup.h>
#include <linux/list.h>
#include <linux/math.h>
#include <linux/mcube_alloc.h>
#include <linux/mcube_map.h>
#include <linux/mcube_hint.h>
#include <linux/mm.h>
#include <linux/mmzone.h>
#include <linux/page-isolation.h>
#include <linux/percpu.h>
#include <linux/spinlock.h>

#include "../../internal.h"
#include "internal.h"
#include "policy.h"

/* Blocks that a search examines at most. */
#define BLOCKS_MAX	64

/* Blocks that searches take from a list before they examine all colors anew. */
#define TAKEN_MAX	8

/* Largest order of a block whose colors are worked out one by one. */
#define FORGET_ORDER_MAX	3

/**
 * struct search - a search for a free block
 * @zone: the zone, its lock held.
 * @none: what earlier searches learned about the lists of @migratetype.
 * @order: order of the request.
 * @migratetype: type of the request, and of the lists that are searched.
 * @hint: hint of the request.
 * @left: number of blocks that the search may still examine.
 * @size: order of the block that was found.
 * @off: offset of the frame in that block, aligned down to @order.
 */
struct search {
	struct zone *zone;
	struct mcube_none *none;
	unsigned int order;
	int migratetype;
	u32 hint;
	unsigned int left;
	unsigned int size;
	unsigned long off;
};

/*
 * Offset in a block of order @size of an aligned block of @order that has a
 * frame for the hint, or -1.  A folio of @order that contains the color
 * contains the other colors of its color group too.
 */
static long find_in(unsigned long pfn, unsigned int size, unsigned int order,
		    u32 hint)
{
	unsigned long whole = 1UL << mcube_config.order;
	unsigned long base = ALIGN_DOWN(pfn, whole), start = pfn - base;
	unsigned long end = min(start + (1UL << size), whole), at;
	const unsigned long *sel, *sel2;
	struct mcube_block_map block_map;

	mcube_block_map_for_hint(&block_map, base, hint);
	if (!mcube_hint_select(hint, &block_map, &sel, &sel2))
		return -1;
	at = sel2 ? find_next_and_bit(sel, sel2, end, start) :
		    find_next_bit(sel, end, start);
	return at < end ? (long)(ALIGN_DOWN(at, 1UL << order) - start) : -1;
}

static struct list_head *list_of(const struct search *s, int migratetype)
{
	return &s->zone->free_area[s->size].free_list[migratetype];
}

static bool changed(const struct search *s)
{
	const struct mcube_none *none = &s->none[s->size];

	return none->first != list_of(s, s->migratetype)->next ||
		none->nr_free < s->zone->free_area[s->size].nr_free;
}

static void note_state(struct search *s)
{
	struct mcube_none *none = &s->none[s->size];

	none->first = list_of(s, s->migratetype)->next;
	none->nr_free = s->zone->free_area[s->size].nr_free;
}

/*
 * The first block with a frame for the hint in the list of order s->size.  Skips
 * the list if a search for the color found none, and no block was freed since.
 */
static struct page *look(struct search *s, unsigned int most)
{
	int color = mcube_hint_bank(s->hint) < 0 ? mcube_hint_color(s->hint) : -1;
	struct mcube_none *none = &s->none[s->size];
	struct page *page;

	if (changed(s))
		bitmap_zero(none->color, MCUBE_MAX_VALUES);
	note_state(s);
	if (color >= 0 && test_bit(color, none->color))
		return NULL;
	list_for_each_entry(page, list_of(s, s->migratetype), buddy_list) {
		long at;

		if (!most--)
			break;
		s->left--;
		at = find_in(page_to_pfn(page), s->size, s->order, s->hint);
		if (at >= 0) {
			s->off = at;
			return page;
		}
	}
	if (color >= 0)
		__set_bit(color, none->color);
	return NULL;
}

static unsigned int count_lists(struct search *s)
{
	unsigned int nr = 0;

	for (s->size = s->order; s->size < NR_PAGE_ORDERS; s->size++)
		nr += !list_empty(list_of(s, s->migratetype));
	return nr;
}

/*
 * How many blocks of a list to examine, if @left may be examined in @lists lists:
 * half of them, and at least one for each list.  A small block has few colors, so
 * the lists of small blocks come first and get more.
 */
static unsigned int share(unsigned int left, unsigned int lists)
{
	return 1 + DIV_ROUND_UP(left - lists, 2);
}

/* One pass over the lists that have blocks. */
static struct page *find(struct search *s)
{
	unsigned int lists = count_lists(s);
	struct page *page;

	s->left = BLOCKS_MAX;
	for (s->size = s->order; lists; s->size++) {
		if (list_empty(list_of(s, s->migratetype)))
			continue;
		page = look(s, share(s->left, lists--));
		if (page)
			return page;
	}
	return NULL;
}

/* The smallest free block of the type of the request. */
static struct page *find_any(struct search *s)
{
	struct page *page;

	s->off = 0;
	for (s->size = s->order; s->size < NR_PAGE_ORDERS; s->size++) {
		page = list_first_entry_or_null(list_of(s, s->migratetype),
						struct page, buddy_list);
		if (page)
			return page;
	}
	return NULL;
}

static void set_type(struct page *page, unsigned int size, int migratetype)
{
	unsigned long i;

	for (i = 0; i < 1UL << size; i += pageblock_nr_pages)
		set_pageblock_migratetype(page + i, migratetype);
}

/*
 * __isolate_free_page() makes a pageblock movable when half of the pageblock or
 * more is taken, and walks through all of its pages for that, unless the type of the
 * pageblock merges with no other type.
 */
static bool isolate(struct page *page, unsigned int size, int migratetype)
{
	bool done;

	if (size < pageblock_order - 1)
		return __isolate_free_page(page, size);
	set_type(page, size, MIGRATE_MCUBE);
	done = __isolate_free_page(page, size);
	set_type(page, size, migratetype);
	return done;
}

/* Convert a free pageblock to the type of the request. */
static struct page *claim(struct search *s)
{
	struct page *page = NULL;
	long at = -1;

	for (s->size = pageblock_order; !page && s->size < NR_PAGE_ORDERS; s->size++)
		page = list_first_entry_or_null(list_of(s, MIGRATE_MOVABLE),
						struct page, buddy_list);
	if (!page)
		return NULL;
	at = find_in(page_to_pfn(page), pageblock_order, s->order, s->hint);
	if (at < 0 || !isolate(page, --s->size, MIGRATE_MOVABLE))
		return NULL;
	while (s->size > pageblock_order) {
		s->size--;
		__putback_isolated_page(page + (1UL << s->size), s->size,
					MIGRATE_MOVABLE);
	}
	set_pageblock_migratetype(page, s->migratetype);
	s->off = at;
	return page;
}

/* The list of order s->size has the colors of this block now. */
static void forget_none(struct search *s, struct page *page)
{
	const struct mcube_dim *dim = &mcube_config.map->color;
	struct mcube_none *none = &s->none[s->size];
	unsigned long pfn = page_to_pfn(page), end = pfn + (1UL << s->size);

	if (s->size > FORGET_ORDER_MAX)
		bitmap_zero(none->color, MCUBE_MAX_VALUES);
	else
		for (; pfn < end; pfn++)
			__clear_bit(mcube_dim_value(dim, pfn), none->color);
}

static void put_back(struct search *s, struct page *page)
{
	bool known = !changed(s);

	__putback_isolated_page(page, s->size, s->migratetype);
	if (known) {
		forget_none(s, page);
		note_state(s);
	}
}

/* Put back what the request does not need of a block off the buddy lists. */
static struct page *split(struct search *s, struct page *page)
{
	while (page && s->size > s->order) {
		unsigned long half = 1UL << --s->size;

		if (s->off & half) {
			put_back(s, page);
			page += half;
		} else {
			put_back(s, page + half);
		}
	}
	return page;
}

/*
 * Take the block that was found off its list.  Blocks move up then, among them
 * blocks that no search has examined.
 */
static struct page *take(struct search *s, struct page *page)
{
	struct mcube_none *none = &s->none[s->size];

	if (!isolate(page, s->size, s->migratetype))
		return NULL;
	if (++none->taken == TAKEN_MAX) {
		bitmap_zero(none->color, MCUBE_MAX_VALUES);
		none->taken = 0;
	}
	return split(s, page);
}

/* Are there pages of the type on this CPU's list?  A guess without its lock. */
static bool pcp_has_page(const struct search *s)
{
	return !list_empty(&raw_cpu_ptr(s->zone->per_cpu_pageset)->lists[s->migratetype]);
}

/**
 * mcube_buddy_search() - take a free block for a hint from the buddy lists
 * @zone: zone that has passed the checks of the request.
 * @order: order of the block; more than 0 only for a hint of the page cache.
 * @migratetype: type of the request.
 * @hint: color, bank, or both.
 *
 * Searches the lists of @migratetype alone.  A page that is not movable must not
 * convert a movable pageblock for the sake of its color: a pageblock has only a
 * few frames of each color.  A pageblock is converted when no page of the type
 * is free, as in the page allocator.
 *
 * Leaves the zone its minimum watermark.
 *
 * Context: any but NMI, RCU read side in which zone->mcube was found;
 * zone->lock is not held.
 * Return: the block, to be prepared like any block from the buddy lists, or
 * NULL.
 */
struct page *mcube_buddy_search(struct zone *zone, unsigned int order,
				int migratetype, u32 hint)
{
	struct mcube_zone *mz = rcu_dereference(zone->mcube);
	struct search s = {
		.zone = zone,
		.order = order,
		.migratetype = migratetype,
		.hint = hint,
	};
	struct page *page;
	unsigned long flags;

	if (!mz)
		return NULL;
	s.none = mz->none[migratetype];
	spin_lock_irqsave(&zone->lock, flags);
	page = find(&s);
	if (page)
		page = take(&s, page);
	else if (migratetype != MIGRATE_MOVABLE && !order && !pcp_has_page(&s) &&
		 !find_any(&s))
		page = split(&s, claim(&s));
	spin_unlock_irqrestore(&zone->lock, flags);
	return page;
}

/**
 * mcube_buddy_take_any() - take a page that is not movable from the buddy lists
 * @zone: zone that has passed the checks of the request.
 * @migratetype: type of the request, not MIGRATE_MOVABLE.
 *
 * For a request whose color mcube_buddy_search() did not find.  The page
 * allocator would move dozens of pages to a per-CPU list, and the next request
 * would not find their colors either.
 *
 * Context: as mcube_buddy_search().
 * Return: a page, to be prepared like any page from the buddy lists; NULL if the
 * per-CPU list has pages, or if no page of the type is free.
 */
struct page *mcube_buddy_take_any(struct zone *zone, int migratetype)
{
	struct mcube_zone *mz = rcu_dereference(zone->mcube);
	struct search s = { .zone = zone, .migratetype = migratetype };
	struct page *page;
	unsigned long flags;

	if (!mz)
		return NULL;
	s.none = mz->none[migratetype];
	spin_lock_irqsave(&zone->lock, flags);
	page = pcp_has_page(&s) ? NULL : find_any(&s);
	if (page)
		page = take(&s, page);
	spin_unlock_irqrestore(&zone->lock, flags);
	return page;
}

static void count_frames(const struct mcube_dim *dim, unsigned long pfn,
			 unsigned int nr, unsigned int *found)
{
	while (nr--)
		found[mcube_dim_value(dim, pfn++)]++;
}

/**
 * mcube_buddy_count() - count the frames that mcube_buddy_search() would find
 * @zone: the zone; its movable blocks smaller than a pageblock are counted.
 * @found: number of frames by color, filled in.
 *
 * Examines the first blocks of each order, as mcube_buddy_search() does.  These
 * are few of all free blocks, but the page allocator puts the blocks that were
 * freed last there.
 *
 * Context: any but NMI, no lock of the page allocator held, the mcube allocator
 * on.
 */
void mcube_buddy_count(struct zone *zone, unsigned int *found)
{
	const struct mcube_dim *dim = &mcube_config.map->color;
	unsigned int left = BLOCKS_MAX, all = 0, size, blocks, i;
	struct list_head *list;
	unsigned long flags;
	struct page *page;

	memset(found, 0, dim->nr_values * sizeof(*found));
	spin_lock_irqsave(&zone->lock, flags);
	for (size = 0; size < pageblock_order; size++) {
		blocks = share(left, pageblock_order - size);
		list = &zone->free_area[size].free_list[MIGRATE_MOVABLE];
		list_for_each_entry(page, list, buddy_list) {
			/* The block has nearly the same number of each color. */
			if (1U << size >= dim->nr_values)
				all += (1U << size) / dim->nr_values;
			else
				count_frames(dim, page_to_pfn(page), 1U << size,
					     found);
			left--;
			if (!--blocks)
				break;
		}
	}
	spin_unlock_irqrestore(&zone->lock, flags);
	for (i = 0; i < dim->nr_values; i++)
		found[i] += all;
}
