// SPDX-License-Identifier: GPL-2.0
/*
 * Frames for a hint, directly from the buddy lists
 *
 * Copyright (C) 2026 The mcube authors
 *
 * Containers are whole blocks, and they serve single movable pages.  Containers
 * cannot serve two kinds of request for a color:
 *
 *  - a request for a page when no whole block is left to take, only smaller
 *    free blocks.  Memory that has been in use for some hours is in this
 *    state.
 *  - a request of the page cache for a folio of several pages, whose frames
 *    must lie side by side, or for a page of a block device, which is not
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
 * Small blocks come first, as they are the least likely to merge into a large
 * block soon.  The search runs under zone->lock, so it examines only a few
 * dozen blocks of each order.
 *
 * A page that the search found is a page like any other: when it is freed, it
 * goes where the page allocator puts it, and nothing here remembers the page.
 *
 * alloc.c calls the search last, when pcp.c and the containers have no frame.
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

/* Blocks examined per list: in the first pass, and if that found none. */
#define BLOCKS_MIN	4
#define BLOCKS_MAX	32

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

/*
 * The first block with a frame for the hint in the lists of order @*size to
 * @end - 1.  @*size is set to the order of that block, @*off to the offset of
 * the frame in that block, aligned down to @order.
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
 * A request that is not movable converts a movable pageblock when the
 * pageblocks of its own type have no frame, as in the page allocator.  Taking
 * half a pageblock or more makes the pageblock movable, see
 * __isolate_free_page().  So the first search stops below that size, and after
 * the second search the type is set last.
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
 * mcube_buddy_search() - take a free block for a hint from the buddy lists
 * @zone: zone that has passed the checks of the request.
 * @order: order of the block; more than 0 only for a hint of the page cache.
 * @migratetype: type of the request.
 * @hint: color, bank, or both.
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
			/* The block has nearly the same number of each color. */
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
