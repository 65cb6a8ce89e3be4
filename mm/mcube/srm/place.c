// SPDX-License-Identifier: GPL-2.0
/*
 * SRM-buffer: pages of an access sequence share a cache color
 *
 * Copyright (C) 2026 The mcube authors
 *
 * A program that streams through files uses each page once or seldom, and on
 * its way through the last-level cache it evicts what others use all the time.
 * The page cache knows who it is allocating for, so it can see to it that such
 * pages compete with each other only (see runs.c), while memory of programs
 * gets all colors:
 *
 *   read(), write(), mmap() of a file
 *     longer than tl pages .............. run of the file, or by page index
 *     shorter ........................... run of the task: it reads many
 *     read again and again (rescan.c) ... as memory
 *     executed .......................... as memory
 *   all else: anonymous memory, shmem ... hop over the colors, one by one,
 *                                         but for those reserved for files
 *
 *   mapping_alloc_folio() -> mcube_srm_alloc_folio()
 *        |  current->mcube_hint = color of the run
 *        v
 *   page allocator -> mcube_alloc_rmqueue() -> a frame of that color, if there is
 *
 * The hint is all that the store is told.  Where it has no frame of the color,
 * and the buddy lists neither (pick.c), the page gets another, and the run
 * ends: the next one is dealt a color with more frames.  So that there is one,
 * pages that were used once are evicted ahead (refill.c).
 *
 * State: one u32 in struct address_space, one in task_struct that children
 * inherit, so that the greps that a shell script starts one after the other
 * share a run.  Both are advice, written without a lock: two readers of a file
 * may lengthen its run by a few pages.
 *
 * Source: Ding, Wang, Zhang, "SRM-buffer: an OS buffer management technique to
 * prevent last level cache from thrashing in multicores", EuroSys 2011.
 *
 * Differences from the paper (for those of the runs see runs.c):
 *
 *  - Folios of more than a page span several colors.  While the policy is on,
 *    files that could have larger ones get pages; or runs of regions of several
 *    colors (region.c), and folios that fit there.
 *  - The text of a program is used again and again, by whoever runs it.  A file
 *    that is mapped to be executed has pages all over the colors from then on.
 *  - Pages of block devices have colors too, when they are read through the
 *    device node.  Metadata of a mounted file system lies in the same mapping;
 *    it is used again, and hops as memory does.
 *  - A mode without state for long files, for comparison: it has no races and
 *    gives a page its color back after eviction, but cannot avoid a color of
 *    which no frame is free.
 */

#include <linux/fs.h>
#include <linux/gfp.h>
#include <linux/hash.h>
#include <linux/mcube_hint.h>
#include <linux/mcube_srm.h>
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/stat.h>

#include "../alloc/policy.h"
#include "color_group.h"
#include "internal.h"
#include "reuse.h"
#include "segment.h"

static u32 file_key(const struct inode *inode)
{
	return hash_64(inode->i_ino ^ ((u64)inode->i_sb->s_dev << 32), 32);
}

static bool is_long(const struct inode *inode, unsigned int tl)
{
	return i_size_read(inode) > (loff_t)tl << PAGE_SHIFT;
}

static void choose_group(struct mcube_srm_choice *c, struct address_space *mapping,
			  pgoff_t index)
{
	unsigned int tl = READ_ONCE(mcube_srm_config.tl);
	u32 old;

	c->segment = &current->mcube_segment;
	c->stat = MCUBE_SRM_TASK;
	if (is_long(mapping->host, tl)) {
		c->segment = &mapping->mcube_segment;
		c->stat = MCUBE_SRM_FILE;
		if (READ_ONCE(mcube_srm_config.mode) == MCUBE_SRM_STATELESS) {
			c->segment = NULL;
			c->group = mcube_segment_stateless(file_key(mapping->host),
							index, tl,
							mcube_srm_groups.nr);
			c->left = tl - index % tl;
			return;
		}
	}
	old = READ_ONCE(*c->segment);
	/* tl may have become less. */
	c->left = min(mcube_segment_left(old, c->epoch), tl);
	/* Epochs come round. */
	if (c->left && mcube_segment_color(old) < mcube_srm_groups.nr) {
		c->group = mcube_segment_color(old);
	} else {
		c->group = mcube_srm_select(tl);
		c->left = tl;
	}
}

/**
 * mcube_srm_choose() - choose the color for the next pages of a file
 * @c: filled in.
 * @mapping: the file's.
 * @index: page index of the first of them.
 *
 * Context: process.
 * Return: false if the policy has gone off.
 */
bool mcube_srm_choose(struct mcube_srm_choice *c, struct address_space *mapping,
		      pgoff_t index)
{
	unsigned int color;

	/* Regions change only when all who are in here have left. */
	guard(rcu)();
	if (!static_branch_likely(&mcube_srm_key))
		return false;
	c->epoch = mcube_srm_config.epoch;
	if (mcube_reuse_spreads(READ_ONCE(mapping->mcube_reuse))) {
		/* Part of a working set: one color after the other, as memory. */
		c->segment = NULL;
		c->left = 1;
		c->stat = MCUBE_SRM_HOPPED;
		color = mcube_reserve_color(index);
	} else {
		choose_group(c, mapping, index);
		color = mcube_color_group_color(&mcube_srm_groups, c->group,
					   c->left / MCUBE_SRM_BATCH);
	}
	c->hint = mcube_hint_make(color, -1) | MCUBE_HINT_FILE;
	return true;
}

/**
 * mcube_srm_chosen() - pages were allocated as chosen
 * @c: the choice.
 * @nr: number of pages.
 * @served: false if the pages have other colors: then the run ends.
 *
 * Context: process.
 */
void mcube_srm_chosen(const struct mcube_srm_choice *c, unsigned int nr,
		      bool served)
{
	u32 segment = 0;

	mcube_srm_count(c->stat, nr);
	if (!served && c->stat != MCUBE_SRM_HOPPED)
		mcube_srm_count(MCUBE_SRM_MISSED, nr);
	if (!c->segment)
		return;
	if (served)
		segment = mcube_segment_make(c->epoch, c->group,
				     c->left - min(c->left, nr));
	WRITE_ONCE(*c->segment, segment);
}

/**
 * mcube_srm_max_order() - the order that a folio may have
 * @mapping: of the file that it is for.
 * @order: the order that it would have otherwise.
 *
 * Return: the lesser of @order and the regions', but not less than the file
 * demands.
 */
unsigned int mcube_srm_max_order(struct address_space *mapping,
				 unsigned int order)
{
	return max(min(order, mcube_srm_groups.order),
		   mapping_min_folio_order(mapping));
}

/**
 * mcube_srm_covers() - may a folio be given a color?
 * @inode: of its file.
 * @gfp: of the request.
 * @order: likewise.
 *
 * Return: false if the folio is too large, of a kind that the policy leaves
 * alone, or asked for by a task with a hint of its own.
 */
bool mcube_srm_covers(const struct inode *inode, gfp_t gfp, unsigned int order)
{
	bool movable = gfp_migratetype(gfp) == MIGRATE_MOVABLE;

	/* Of a device, metadata is asked for as movable, data is not. */
	return order <= mcube_srm_groups.order && !current->mcube_hint &&
		movable != S_ISBLK(inode->i_mode);
}

/**
 * mcube_srm_place() - allocate one folio for the page cache, of the color chosen
 * @mapping: the file's.
 * @gfp: as for filemap_alloc_folio().
 * @order: likewise.
 * @index: page index that it is for.
 *
 * Context: process, as @gfp says.
 * Return: the folio, or NULL.
 */
struct folio *mcube_srm_place(struct address_space *mapping, gfp_t gfp,
			      unsigned int order, pgoff_t index)
{
	struct folio *folio;
	struct mcube_srm_choice c;
	u32 hint;

	if (!mcube_srm_covers(mapping->host, gfp, order)) {
		mcube_srm_count(MCUBE_SRM_UNCOVERED, 1);
		return filemap_alloc_folio_noprof(gfp, order);
	}
	if (!mcube_srm_choose(&c, mapping, index))
		return filemap_alloc_folio_noprof(gfp, order);
	hint = mcube_hint_save(c.hint);
	folio = filemap_alloc_folio_noprof(gfp, order);
	hint = mcube_hint_restore(hint);
	if (folio)
		mcube_srm_chosen(&c, 1U << order, hint & MCUBE_HINT_SERVED);
	return folio;
}
