// SPDX-License-Identifier: GPL-2.0
/*
 * SRM-buffer: the color group of a new segment
 *
 * Copyright (C) 2026 The mcube authors
 *
 * A segment gets a color group that has enough free frames for it.  The free
 * frames are those of the mcube allocator, counted by color; where the
 * allocator has few, pieces of blocks in the buddy lists count as well:
 *
 *   mcube_color_stat_free(), mcube_buddy_count()    free frames by color
 *        |
 *        v
 *   add_frames()                                    free frames by color group
 *        |
 *        v
 *   mcube_color_selector_select()                   group of the segment
 *   mcube_color_selector_oldest()                   group that is next: too few
 *                                                   frames -> mcube_srm_reclaim()
 */

#include <linux/cpuset.h>
#include <linux/gfp.h>
#include <linux/lockdep.h>
#include <linux/mcube_alloc.h>
#include <linux/mm.h>
#include <linux/mmzone.h>
#include <linux/spinlock.h>
#include <linux/topology.h>

#include "../alloc/policy.h"
#include "color_group.h"
#include "internal.h"
#include "segment.h"

#include <trace/events/mcube_srm.h>

/* Taken once per segment; a page that misses its color ends its segment. */
static DEFINE_SPINLOCK(selector_lock);
static struct mcube_color_selector selector;
static unsigned int last_group;				/* selected last */
static unsigned long group_free[MCUBE_MAX_VALUES];	/* of the allocator */
static unsigned long group_found[MCUBE_MAX_VALUES];	/* and of pieces */

/* By color, to be added up by color group. */
static unsigned int color_frames[MCUBE_MAX_VALUES];

static void add_frames(unsigned long *sum)
{
	unsigned int color;

	lockdep_assert_held(&selector_lock);
	for (color = 0; color < mcube_srm_config.nr_colors; color++)
		sum[mcube_srm_groups.of[color]] += color_frames[color];
}

/*
 * The allocator may take more blocks, and a block has all colors.  Segments of
 * reserved groups use only their own colors of each block.  Once the allocator
 * holds three quarters of free memory, a reserved group has only the frames
 * that are there, so that blocks are left for large pages.
 */
static void blocks_too(struct zone *zone)
{
	unsigned int group = mcube_srm_groups.reserved;

	if (mcube_alloc_nr_free(zone) < zone_page_state(zone, NR_FREE_PAGES) / 4 * 3)
		group = 0;
	for (; group < mcube_srm_groups.nr; group++)
		group_free[group] = MCUBE_PLENTY;
}

/*
 * If no group has enough frames in the allocator, free memory may lie in pieces
 * in the buddy lists.  Count the pieces that mcube_buddy_search() looks at
 * first.
 */
static void find_pieces(struct zone *zone, unsigned int tl)
{
	unsigned int i;

	for (i = 0; i < mcube_srm_groups.nr; i++)
		if (group_free[i] >= tl)
			return;
	mcube_buddy_count(zone, color_frames);
	add_frames(group_found);
}

/*
 * The zone that the page allocator will use for the request: the first zone above
 * its low watermark, else the first above its min watermark.  If no zone is
 * above its min watermark, the task reclaims pages, and allocates from the
 * first zone once that zone has some.  NULL if the mcube allocator covers no
 * zone of the task.
 */
static struct zone *zone_in_turn(gfp_t gfp)
{
	struct zone *zone, *above_min = NULL, *first = NULL;
	int idx = gfp_zone(gfp);
	struct zoneref *ref;

	for_each_zone_zonelist(zone, ref, node_zonelist(numa_mem_id(), gfp), idx) {
		if (!mcube_zone_covered(zone) ||
		    !cpuset_zone_allowed(zone, gfp))
			continue;
		if (zone_watermark_ok(zone, 0, low_wmark_pages(zone), idx, 0))
			return zone;
		if (!above_min &&
		    zone_watermark_ok(zone, 0, min_wmark_pages(zone), idx, 0))
			above_min = zone;
		if (!first)
			first = zone;
	}
	return above_min ?: first;
}

/*
 * Pages that a color group should have free: those of a segment.  All groups
 * together may ask for a small part of the zone.  Otherwise a small zone would be
 * full at any time, and keep no page that was used once.
 */
static unsigned long enough(struct zone *zone, unsigned int tl)
{
	return min(tl, zone_managed_pages(zone) / 16 / mcube_srm_groups.nr);
}

/*
 * Is so little memory free that some color may have no free frame?  With more
 * free memory, each color group has about as many frames as a segment takes, in
 * the allocator or in pieces.
 */
static bool is_full(struct zone *zone, unsigned int tl)
{
	return zone_page_state(zone, NR_FREE_PAGES) <
		high_wmark_pages(zone) + enough(zone, tl) * mcube_srm_groups.nr;
}

/*
 * Count the free frames of zone_in_turn() by color group: the frames in the
 * allocator and, if a segment of @tl pages needs more, the pieces in the buddy
 * lists.  The task would not use frames of other zones.
 * Return: the zone if its frames run short; else NULL.
 */
static struct zone *count_free(unsigned int tl, gfp_t gfp)
{
	size_t size = mcube_srm_groups.nr * sizeof(group_free[0]);
	bool served, blocks = false;
	struct zone *zone;

	memset(group_free, 0, size);
	zone = zone_in_turn(gfp);
	served = zone && mcube_color_stat_free(zone, color_frames);
	if (served) {
		add_frames(group_free);
		blocks = mcube_container_may_take(zone);
		if (blocks)
			blocks_too(zone);
	}
	memcpy(group_found, group_free, size);
	if (!served || blocks)
		return NULL;
	find_pieces(zone, tl);
	return is_full(zone, tl) ? zone : NULL;
}

/*
 * Request free frames for a group.  Those of movable pages alone help: a page of
 * a block device gets no frame of a movable block.
 */
static void request_frames(struct zone *zone, gfp_t gfp, unsigned int group,
			   unsigned long lacking)
{
	/* A task with a memory policy may never allocate on that node. */
	if (gfp & __GFP_MOVABLE && !mcube_srm_has_mempolicy() &&
	    READ_ONCE(mcube_srm_config.reclaim))
		mcube_srm_reclaim(zone_to_nid(zone), &mcube_srm_groups, group,
				  lacking);
}

/* Select a group, and find out what the group after it lacks, in zone *@zone. */
static unsigned int select_group(unsigned int tl, gfp_t gfp, struct zone **zone,
				 unsigned int *next, unsigned long *lacking)
{
	unsigned int group;

	lockdep_assert_held(&selector_lock);
	*zone = count_free(tl, gfp);
	group = mcube_color_selector_select(&selector, group_found, tl);
	WRITE_ONCE(last_group, group);
	*next = mcube_color_selector_oldest(&selector);
	if (*zone)
		*lacking = enough(*zone, tl) -
			min(enough(*zone, tl), group_free[*next]);
	return group;
}

/**
 * mcube_srm_select() - the color group of a new segment
 * @tl: pages that the segment will have.
 * @gfp: zones and mobility of the pages.
 *
 * If the group that comes next has too few free frames, this requests frames by
 * mcube_srm_reclaim().  While another CPU counts, the segment gets the group that
 * was selected last: where pages miss their color, a segment may have one page, and
 * many CPUs would wait for each other.
 *
 * Context: RCU read side, the policy on.
 * Return: the group.
 */
unsigned int mcube_srm_select(unsigned int tl, gfp_t gfp)
{
	unsigned int group = READ_ONCE(last_group), next = 0;
	unsigned long lacking = 0;
	struct zone *zone = NULL;

	scoped_guard(spinlock_try, &selector_lock)
		group = select_group(tl, gfp, &zone, &next, &lacking);
	if (lacking)
		request_frames(zone, gfp, next, lacking);
	mcube_srm_count(MCUBE_SRM_SEGMENTS, 1);
	mcube_srm_lend_hurry();
	trace_mcube_srm_segment(group, mcube_color_group_color(&mcube_srm_groups,
							       group, 0));
	return group;
}

static int divide(const struct mcube_dim *dim)
{
	unsigned int order = mcube_srm_config.group_order;
	unsigned int reserved = dim->nr_values * mcube_srm_config.reserve /
				MCUBE_SHARES;

	return order == MCUBE_GROUP_ORDER_AUTO ?
		mcube_color_groups_init_auto(&mcube_srm_groups, dim, reserved) :
		mcube_color_groups_init(&mcube_srm_groups, dim, order);
}

/**
 * mcube_srm_select_init() - divide the colors of a map, none selected yet
 * @dim: colors of the address map.
 * @reserved: set to the number of colors that shall be reserved: whole groups.
 *
 * Context: process, the policy off.
 * Return: 0, or -ERANGE if the map has too few colors for the settings.
 */
int mcube_srm_select_init(const struct mcube_dim *dim, unsigned int *reserved)
{
	int ret;

	scoped_guard(spinlock, &selector_lock) {
		ret = divide(dim);
		*reserved = mcube_color_groups_share(&mcube_srm_groups,
						     mcube_srm_config.reserve,
						     MCUBE_SHARES);
		mcube_color_selector_init(&selector, mcube_srm_groups.nr, 0);
		last_group = 0;
	}
	return ret ? -ERANGE : 0;
}

/**
 * mcube_srm_select_reserve() - new segments prefer other groups from now on
 * @colors: number of reserved colors.
 *
 * Segments in flight keep their groups.
 *
 * Context: process, after mcube_srm_select_init().
 */
void mcube_srm_select_reserve(unsigned int colors)
{
	scoped_guard(spinlock, &selector_lock) {
		mcube_color_groups_reserve(&mcube_srm_groups, colors);
		mcube_color_selector_reserve(&selector, mcube_srm_groups.reserved);
	}
}
