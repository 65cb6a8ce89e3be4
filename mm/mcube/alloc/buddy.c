// SPDX-License-Identifier: GPL-2.0
/*
 * Frames for a hint, straight out of the buddy lists
 *
 * Copyright (C) 2026 The mcube authors
 *
 * The store takes whole blocks and serves single movable pages.  Two kinds of
 * request for a color it cannot serve:
 *
 *  - for a page when no whole block is left, only pieces of blocks.  Memory
 *    that has been in use for some hours is like that.
 *  - for the page cache: folios of several pages, whose frames must lie side by
 *    side, and pages of block devices, which are not movable.
 *
 * Free pieces have colors too.  Look through the lists from the least order
 * that will do upwards, take the first piece that has what is asked for, and
 * put the rest of it back:
 *
 *   order 0   [2] [9] [4] ...                    no 5 among the first ones
 *   order 1   [0 1] [6 7] ...                    nor here
 *   order 2   [4 5 6 7]  ->  [4]  5  [6 7]       5 is it
 *
 * Small pieces first, as they are what cannot become a large one soon.  All
 * this happens under zone->lock, so it looks at a few dozen of each order only.
 *
 * What was picked is a page like any other: freed, it goes where the page
 * allocator puts it, and nothing remembers it.
 */

#include <linux/align.h>
#include <linux/bitmap.h>
#include <linux/list.h>
#include <linux/mcube_alloc.h>
#include <linux/mcube_map.h>
#include <linux/mcube_hint.h>
#include <linux/mm.h>
#include <linux/mmzone.h>
#include <linux/page-isolation.h>
#include <linux/spinlock.h>

#include "../../internal.h"
#include "internal.h"
#include "policy.h"

/* Blocks of one list that are looked at; more if none of any order will do. */
#define BLOCKS_MIN	4
#define BLOCKS_MAX	32

/*
 * Where in a block of @size is what the hint asks for?  -1 if nowhere.  A folio
 * of @order that contains the color has the others of its region too.
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

/*
 * The first block of the lists from @*size to @end that will do; it is one of
 * @*size, and what is asked for lies at @off in it.
 */
static struct page *look(struct zone *zone, unsigned int order, int migratetype,
			 u32 hint, unsigned int *size, unsigned int end,
			 unsigned long *off, unsigned int most)
{
	for (; *size < end; ++*size) {
		struct list_head *list =
			&zone->free_area[*size].free_list[migratetype];
		unsigned int blocks = most;
		struct page *page;

		list_for_each_entry(page, list, buddy_list) {
			long at = find_in(page_to_pfn(page), *size, order, hint);

			if (at >= 0) {
				*off = at;
				return page;
			}
			if (!--blocks)
				break;
		}
	}
	return NULL;
}

static struct page *find(struct zone *zone, unsigned int order, int migratetype,
			 u32 hint, unsigned int *size, unsigned int end,
			 unsigned long *off)
{
	unsigned int start = *size;
	struct page *page;

	page = look(zone, order, migratetype, hint, size, end, off, BLOCKS_MIN);
	if (page)
		return page;
	*size = start;
	return look(zone, order, migratetype, hint, size, end, off, BLOCKS_MAX);
}

/*
 * What is not movable claims a movable pageblock when its own are used up, as
 * in the page allocator.  Taking half a pageblock or more makes it a movable
 * one, see __isolate_free_page(), so no larger pieces are looked at, and the
 * type is set afterwards.
 */
static struct page *isolate_unmovable(struct zone *zone, unsigned int order,
				      int migratetype, u32 hint,
				      unsigned int *size, unsigned long *off)
{
	struct page *page;

	*size = order;
	page = find(zone, order, migratetype, hint, size, pageblock_order - 1,
		    off);
	if (page)
		return __isolate_free_page(page, *size) ? page : NULL;

	*size = pageblock_order;
	page = find(zone, order, MIGRATE_MOVABLE, hint, size, NR_PAGE_ORDERS,
		    off);
	if (!page || *off >> pageblock_order ||
	    !__isolate_free_page(page, *size))
		return NULL;
	while (*size > pageblock_order) {
		--*size;
		__putback_isolated_page(page + (1UL << *size), *size,
					MIGRATE_MOVABLE);
	}
	set_pageblock_migratetype(page, migratetype);
	return page;
}

static struct page *isolate_block(struct zone *zone, unsigned int order,
			    int migratetype, u32 hint, unsigned int *size,
			    unsigned long *off)
{
	struct page *page;

	if (migratetype != MIGRATE_MOVABLE)
		return isolate_unmovable(zone, order, migratetype, hint, size,
					 off);
	*size = order;
	page = find(zone, order, migratetype, hint, size, NR_PAGE_ORDERS, off);
	return page && __isolate_free_page(page, *size) ? page : NULL;
}

/**
 * mcube_buddy_search() - a free block for a hint, out of the buddy lists
 * @zone: zone that has passed the checks of the request.
 * @order: of the block; more than 0 only with a hint of the page cache.
 * @migratetype: of the request.
 * @hint: color, bank, or both.
 *
 * Leaves the zone its minimum watermark.
 *
 * Context: any but NMI, no lock of the page allocator held, the store on.
 * Return: the block, to be prepared like one from the buddy lists, or NULL.
 */
struct page *mcube_buddy_search(struct zone *zone, unsigned int order, int migratetype,
			u32 hint)
{
	unsigned long flags, off;
	struct page *page;
	unsigned int size;

	spin_lock_irqsave(&zone->lock, flags);
	page = isolate_block(zone, order, migratetype, hint, &size, &off);
	while (page && size > order) {
		unsigned long half = 1UL << --size;

		if (off & half) {
			__putback_isolated_page(page, size, migratetype);
			page += half;
		} else {
			__putback_isolated_page(page + half, size, migratetype);
		}
	}
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
 * mcube_buddy_count() - frames that mcube_buddy_search() would find, by color
 * @zone: in its movable blocks that are smaller than a pageblock.
 * @found: by color, filled in.
 *
 * Looks at the first blocks of each order, as mcube_buddy_search() does.  That is little
 * of all that is free, but the page allocator puts what was freed last there.
 *
 * Context: any but NMI, no lock of the page allocator held, the store on.
 */
void mcube_buddy_count(struct zone *zone, unsigned int *found)
{
	const struct mcube_dim *dim = &mcube_config.map->color;
	unsigned int all = 0, size, blocks, i;
	struct list_head *list;
	unsigned long flags;
	struct page *page;

	memset(found, 0, dim->nr_values * sizeof(*found));
	spin_lock_irqsave(&zone->lock, flags);
	for (size = 0; size < pageblock_order; size++) {
		blocks = max(BLOCKS_MAX >> size, BLOCKS_MIN);
		list = &zone->free_area[size].free_list[MIGRATE_MOVABLE];
		list_for_each_entry(page, list, buddy_list) {
			/* Has all colors, nearly the same of each. */
			if (1U << size >= dim->nr_values)
				all += (1U << size) / dim->nr_values;
			else
				count_frames(dim, page_to_pfn(page), 1U << size,
					     found);
			if (!--blocks)
				break;
		}
	}
	spin_unlock_irqrestore(&zone->lock, flags);
	for (i = 0; i < dim->nr_values; i++)
		found[i] += all;
}
