// SPDX-License-Identifier: GPL-2.0
/*
 * The lists of containers in a zone
 *
 * Copyright (C) 2026 The mcube authors
 *
 * Containers that no CPU owns are in a list by the size of their largest free
 * group, struct mcube_zone.level:
 *
 *   level[0]       only single frames are free: nearly used up
 *   level[l]       the largest free group has 2^l frames
 *   level[order]   spares: containers that are wholly free
 *
 * container.c claims from the low levels, release.c breaks up from the high
 * levels, and alloc.c and hinted.c move a container when its largest free group
 * changes.
 *
 * The zone also knows of which colors no container has a free group, so that
 * large.c need not search for them.
 */

#include <linux/align.h>
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/mcube_alloc.h>
#include <linux/mcube_map.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/mmzone.h>
#include <linux/page-isolation.h>
#include <linux/spinlock.h>

#include "../../internal.h"
#include "internal.h"

/* Spares may make up one part in 2^6 of a zone, about 1.5 %. */
#define SPARE_SHIFT	6

/*
 * While colors are reserved, spares may make up a quarter.  Files in these colors
 * occupy one frame in sixteen of many containers, and when the files are dropped
 * all these containers become wholly free.
 */
#define SPARE_SHIFT_RESERVED	2

/**
 * mcube_zone_init() - initialize a struct mcube_zone, without containers
 * @mz: zeroed memory, @mz->cpu allocated; @mz->open stays false.
 * @zone: the zone.
 */
void mcube_zone_init(struct mcube_zone *mz, struct zone *zone)
{
	int level;

	mz->zone = zone;
	spin_lock_init(&mz->lock);
	INIT_LIST_HEAD(&mz->searched);
	INIT_LIST_HEAD(&mz->full);
	INIT_LIST_HEAD(&mz->zones);
	for (level = 0; level <= MCUBE_MAX_ORDER; level++)
		INIT_LIST_HEAD(&mz->level[level]);
}

/**
 * mcube_zone_add() - add a container that became active
 * @c: the container; mz->lock is held.
 */
void mcube_zone_add(struct mcube_container *c)
{
	struct mcube_zone *mz = c->mz;

	lockdep_assert_held(&mz->lock);
	list_add(&c->all, &mz->searched);
	c->full = false;
	mz->nr++;
	mz->nr_searched++;
}

/**
 * mcube_zone_del() - remove a container that is broken up
 * @c: the container, in the list of no level; mz->lock is held.
 */
void mcube_zone_del(struct mcube_container *c)
{
	struct mcube_zone *mz = c->mz;

	lockdep_assert_held(&mz->lock);
	list_del_init(&c->all);
	mz->nr--;
	mz->nr_searched -= !c->full;
}

/*
 * A search has nothing to look for in a container without free frames.  One with an
 * owner stays: frames of its open cluster, and frames that are freed while it has an
 * owner, change no list.
 */
static void move_full(struct mcube_container *c)
{
	bool full = c->level < 0 && c->owner < 0;
	struct mcube_zone *mz = c->mz;

	if (full == c->full)
		return;
	c->full = full;
	if (full) {
		list_move(&c->all, &mz->full);
		mz->nr_searched--;
	} else {
		/* A search that begins anew meets first what has become free. */
		list_move(&c->all, &mz->searched);
		mz->nr_searched++;
	}
}

/**
 * mcube_zone_move() - move a container to the lists that it belongs on
 * @c: the container, locked; mz->lock is held.
 * @level: the list of mz->level[], or -1 for none.
 */
void mcube_zone_move(struct mcube_container *c, int level)
{
	struct mcube_zone *mz = c->mz;

	lockdep_assert_held(&mz->lock);
	if (c->level >= 0) {
		list_del_init(&c->node);
		if (list_empty(&mz->level[c->level]))
			WRITE_ONCE(mz->levels, mz->levels & ~BIT(c->level));
		if (c->level == (int)c->bins.order)
			WRITE_ONCE(mz->nr_spares, mz->nr_spares - 1);
	}
	c->level = level;
	if (level >= 0) {
		list_add_tail(&c->node, &mz->level[level]);
		WRITE_ONCE(mz->levels, mz->levels | BIT(level));
		if (level == (int)c->bins.order)
			WRITE_ONCE(mz->nr_spares, mz->nr_spares + 1);
	}
	move_full(c);
}

void __mcube_container_relist(struct mcube_container *c, int level)
{
	spin_lock(&c->mz->lock);
	mcube_zone_move(c, level);
	spin_unlock(&c->mz->lock);
}

/**
 * mcube_search_start() - where a search goes on
 * @mz: containers of the zone, mz->lock held.
 * @c: the container where the last search ended, or NULL; may be inactive or full
 *     by now.
 * @missed: number of containers in a row that did not match, set to 0 if they are
 *          no longer known.
 *
 * Return: the container after which the search begins, or the head of the list.
 */
struct mcube_container *mcube_search_start(struct mcube_zone *mz, struct mcube_container *c,
					   unsigned int *missed)
{
	lockdep_assert_held(&mz->lock);
	if (c && c->mz == mz && !c->full && !list_empty(&c->all))
		return c;
	*missed = 0;
	return list_entry(&mz->searched, struct mcube_container, all);
}

/* A CPU lets 2^PAUSE_SHIFT requests pass at most before it searches again. */
#define PAUSE_SHIFT	4U

/**
 * mcube_search_pauses() - shall a request of this CPU do without a search?
 * @mz: containers of the zone.
 * @key: what the request is for, see @missed of struct mcube_zone_cpu.
 *
 * Return: true while the last searches of the CPU for @key found nothing, for a number
 * of requests that doubles with each such search.
 */
bool mcube_search_pauses(struct mcube_zone *mz, unsigned int key)
{
	struct mcube_zone_cpu *zc = raw_cpu_ptr(mz->cpu);
	unsigned int pause = READ_ONCE(zc->pause);

	if (!pause || READ_ONCE(zc->missed) != key)
		return false;
	WRITE_ONCE(zc->pause, pause - 1);
	return true;
}

/**
 * mcube_search_misses() - note how a search of this CPU ended
 * @mz: containers of the zone.
 * @key: what the search was for.
 * @missed: the search found nothing.
 *
 * Racy, as the task may move to another CPU meanwhile: what is noted costs a search
 * or saves one.
 */
void mcube_search_misses(struct mcube_zone *mz, unsigned int key, bool missed)
{
	struct mcube_zone_cpu *zc = raw_cpu_ptr(mz->cpu);
	unsigned int misses = READ_ONCE(zc->missed) == key ? READ_ONCE(zc->misses) : 0;

	misses = missed ? min(misses + 1, PAUSE_SHIFT) : 0;
	WRITE_ONCE(zc->missed, key);
	WRITE_ONCE(zc->misses, misses);
	WRITE_ONCE(zc->pause, BIT(misses) - 1);
}

/**
 * mcube_set_block_type() - set the type of all pageblocks of a container
 * @page: first page of the container; zone->lock is held.
 * @migratetype: the type.
 */
void mcube_set_block_type(struct page *page, int migratetype)
{
	unsigned int i;

	for (i = 0; i < 1U << mcube_config.order; i += pageblock_nr_pages)
		set_pageblock_migratetype(page + i, migratetype);
}

/**
 * mcube_zone_max_spares() - wholly free containers that a zone may keep
 * @mz: containers of the zone.
 *
 * Return: number of containers; 0 in a small zone.
 */
unsigned int mcube_zone_max_spares(struct mcube_zone *mz)
{
	unsigned int shift = READ_ONCE(mcube_reserve.nr) ? SPARE_SHIFT_RESERVED :
						    SPARE_SHIFT;

	return zone_managed_pages(mz->zone) >> (shift + mcube_config.order);
}

/**
 * mcube_zone_has_block() - is a large block free in the buddy lists?
 * @zone: the zone.
 * @order: least order of the block.
 *
 * Return: true if so; a guess unless zone->lock is held.
 */
bool mcube_zone_has_block(struct zone *zone, unsigned int order)
{
	int type;

	for (; order < NR_PAGE_ORDERS; order++)
		for (type = 0; type < MIGRATE_PCPTYPES; type++)
			if (!free_area_empty(&zone->free_area[order], type))
				return true;
	return false;
}

/**
 * mcube_large_set_exhausted() - note where folios cannot come from
 * @mz: containers of the zone, mz->lock held.
 * @color: the color.
 * @order: least order of which no container has a group; 0 if there is none.
 */
void mcube_large_set_exhausted(struct mcube_zone *mz, unsigned int color,
			       unsigned int order)
{
	struct mcube_large *l = &mz->large;
	int more;

	lockdep_assert_held(&mz->lock);
	more = !!order - !!l->exhausted[color];
	WRITE_ONCE(l->nr_exhausted, l->nr_exhausted + more);
	WRITE_ONCE(mz->nr_exhausted, mz->nr_exhausted + more);
	WRITE_ONCE(l->exhausted[color], order);
}

/**
 * mcube_large_freed() - frames were freed: let searches for groups find them
 * @c: the container, locked.
 * @off: one of the frames.
 * @level: level of the largest free group around it.
 */
void mcube_large_freed(struct mcube_container *c, unsigned int off,
		       unsigned int level)
{
	const struct mcube_dim *dim = &mcube_config.map->color;
	unsigned long pfn = page_to_pfn(c->bins.base) + off, end;
	struct mcube_zone *mz = c->mz;
	unsigned int color;

	level = min(level, MCUBE_LARGE_MAX);
	pfn = ALIGN_DOWN(pfn, 1UL << level);
	spin_lock(&mz->lock);
	for (end = pfn + (1UL << level); pfn < end; pfn++) {
		color = mcube_dim_value(dim, pfn);
		if (!mcube_large_is_exhausted(mz, color, level))
			continue;
		mcube_large_set_exhausted(mz, color, 0);
		WRITE_ONCE(mz->large.cursor[color], c);
	}
	spin_unlock(&mz->lock);
}
