// SPDX-License-Identifier: GPL-2.0
/*
 * SRM-buffer: the color of the next pages of a file
 *
 * Copyright (C) 2026 The mcube authors
 *
 * A program that streams through files uses each page once or seldom.  On their
 * way through the last-level cache these pages evict what other programs use
 * all the time.  The page cache knows the file and the task that it allocates a
 * page for, so it can give the pages of one access sequence the same cache
 * color.  Then they compete only with each other (see segment.c), and the
 * memory of programs gets all colors:
 *
 *   read(), write(), mmap() of a file
 *     longer than tl pages .............. segment of the file, or by page index
 *     shorter ........................... segment of the task, for many files
 *     read again and again (reuse.c) .... hops over the colors
 *     page is executed (reuse.c) ........ hops over the colors
 *   all else: anonymous memory, shmem ... hops over the colors, page by page,
 *                                         but not over reserved colors
 *
 *   mapping_alloc_folio() -> mcube_srm_alloc_folio()     batch.c
 *        |  current->mcube_hint = color of the segment   mcube_srm_choose()
 *        v
 *   page allocator -> mcube_alloc_rmqueue() -> a frame of that color, if any
 *        |
 *        v
 *   the segment goes on, or ends                         mcube_srm_chosen()
 *
 * The hint is all that the allocator is told.  If neither a container nor the
 * buddy lists (../alloc/buddy.c) have a frame of the color, the page gets
 * another color and the segment ends.  The next segment gets a color with more
 * free frames (select.c), for which pages that were used once are evicted ahead
 * of time (reclaim.c).  The segment of a block device goes on: its pages come from
 * a few small lists, most of them miss, and another color would do no better.
 *
 * The segment of a file is one u32 in struct address_space, the segment of a
 * task is one u32 in task_struct.  Children inherit the task's segment, so the
 * greps that a shell script starts one after the other share a segment.  Both
 * words are advice, written without a lock: two readers of a file may lengthen
 * its segment by a batch each time that they race.
 *
 * Source: Ding, Wang, Zhang, "SRM-buffer: an OS buffer management technique to
 * prevent last level cache from thrashing in multicores", EuroSys 2011.
 *
 * Differences from the paper (segment.c, color_group.c, reclaim.c and reuse.c
 * list their own):
 *
 *  - Pages of block devices have colors too, when they are read through the
 *    device node.  Metadata of a mounted file system lies in the same mapping;
 *    metadata is used again, so it hops as memory does.
 *  - For comparison, long files have a mode without state.  It has no races and
 *    gives a page the same color again after eviction, but it cannot avoid a
 *    color that has no free frame.
 */

#include <linux/fs.h>
#include <linux/gfp.h>
#include <linux/hash.h>
#include <linux/mcube_hint.h>
#include <linux/mcube_srm.h>
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/pgtable.h>
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

static __always_inline void choose_group(struct mcube_srm_choice *c,
					 struct address_space *mapping,
					 pgoff_t index)
{
	unsigned int tl = READ_ONCE(mcube_srm_config.tl);
	bool device = S_ISBLK(mapping->host->i_mode);
	u32 old;

	c->goes_on = device;
	c->run = mcube_color_group_run(&mcube_srm_groups, MCUBE_SRM_BATCH);
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
	/* tl may have been lowered since the segment began. */
	c->left = min(mcube_segment_left(old, c->epoch), tl);
	/* The epoch wraps: an old segment may name a group that is gone. */
	if (c->left && mcube_segment_color(old) < mcube_srm_groups.nr) {
		c->group = mcube_segment_color(old);
	} else {
		/* As mcube_srm_covers() has it, and the zones of both. */
		c->group = mcube_srm_select(tl, device ? GFP_USER :
						GFP_HIGHUSER_MOVABLE);
		/*
		 * The first color of the group may be exhausted, and the group be selected
		 * again for its other colors.  So each page in turn has another first color.
		 */
		c->left = tl - min(index % mcube_srm_groups.per * c->run, tl - 1);
	}
}

/*
 * The color of the folio after which @left - 2^@order pages of the segment are left.  The
 * first color of a folio's colors stands for the others.
 */
static __always_inline unsigned int color_at(const struct mcube_srm_choice *c,
					     unsigned int left, unsigned int order)
{
	return mcube_color_group_color(&mcube_srm_groups, c->group,
				       left / c->run & ~((1U << order) - 1));
}

/* See mcube_srm_choose(); inline, as single pages pass here one by one. */
static __always_inline bool choose(struct mcube_srm_choice *c,
				   struct address_space *mapping, pgoff_t index,
				   unsigned int order, bool spread)
{
	unsigned int color;

	/* Color groups change a grace period after the policy went off. */
	guard(rcu)();
	if (!static_branch_likely(&mcube_srm_key))
		return false;
	c->epoch = mcube_srm_config.epoch;
	if (spread) {
		/*
		 * The page is used again: it hops, as memory does.  The first pages of many
		 * short files have different colors.
		 */
		c->segment = NULL;
		c->left = 1;
		c->stat = MCUBE_SRM_HOPPED;
		color = mcube_reserve_color((u32)index + file_key(mapping->host));
	} else {
		choose_group(c, mapping, index);
		color = color_at(c, c->left, order);
	}
	c->hint = mcube_hint_make(color, -1) | MCUBE_HINT_FILE;
	return true;
}

/* See mcube_srm_chosen(). */
static __always_inline void chosen(const struct mcube_srm_choice *c,
				   unsigned int nr, bool served)
{
	u32 segment = 0;

	mcube_srm_count(c->stat, nr);
	if (!served && c->stat != MCUBE_SRM_HOPPED)
		mcube_srm_count(MCUBE_SRM_MISSED, nr);
	if (!c->segment)
		return;
	if (served || c->goes_on)
		segment = mcube_segment_make(c->epoch, c->group,
					     c->left - min(c->left, nr));
	WRITE_ONCE(*c->segment, segment);
}

/**
 * mcube_srm_choose() - choose the color for the next pages of a stream
 * @c: filled in.
 * @mapping: page cache of the file.
 * @index: page index of the first of these pages.
 * @order: order of the folios that the pages will be in.
 *
 * Context: process.
 * Return: false if the policy was switched off meanwhile.
 */
bool mcube_srm_choose(struct mcube_srm_choice *c, struct address_space *mapping,
		      pgoff_t index, unsigned int order)
{
	return choose(c, mapping, index, order, false);
}

/**
 * mcube_srm_choose_next() - choose the color for further single pages of a segment
 * @c: the choice of mcube_srm_choose(); its hint is updated.
 * @nr: pages that have been allocated as chosen since.
 *
 * Context: process.
 * Return: number of pages that the color holds for; 0 if the segment has no more, or if the
 * policy was switched off meanwhile.
 */
unsigned int mcube_srm_choose_next(struct mcube_srm_choice *c, unsigned int nr)
{
	unsigned int left = c->left - nr;

	/* Color groups change a grace period after the policy went off. */
	guard(rcu)();
	if (!left || !static_branch_likely(&mcube_srm_key) ||
	    c->epoch != mcube_srm_config.epoch)
		return 0;
	c->hint = mcube_hint_make(color_at(c, left, 0), -1) | MCUBE_HINT_FILE;
	return left % c->run + 1;
}

/**
 * mcube_srm_chosen() - pages were allocated as chosen
 * @c: the choice.
 * @nr: number of pages.
 * @served: false if the pages have other colors; the segment ends then.
 *
 * Context: process.
 */
void mcube_srm_chosen(const struct mcube_srm_choice *c, unsigned int nr,
		      bool served)
{
	chosen(c, nr, served);
}

/**
 * mcube_srm_unused() - pages that were chosen are freed again, unused
 * @segment: segment of the choice.
 * @epoch: epoch of the choice.
 * @group: color group of the choice.
 * @nr: number of pages.
 *
 * A task that sleeps after each page frees most of each batch.  Without this, each
 * page would use up a batch of its segment.
 *
 * Context: any; the owner of the segment is in use.
 */
void mcube_srm_unused(u32 *segment, u32 epoch, unsigned int group,
		      unsigned int nr)
{
	u32 old = READ_ONCE(*segment);
	unsigned int left = mcube_segment_left(old, epoch);

	/* A segment of this epoch and group, also if it has no page left. */
	if (old != mcube_segment_make(epoch, group, left))
		return;
	left = min(left + nr, READ_ONCE(mcube_srm_config.tl));
	WRITE_ONCE(*segment, mcube_segment_make(epoch, group, left));
}

/* What the call, or else the descriptor, says of the pages that it needs. */
static unsigned int advice_of(const struct address_space *mapping,
			      const struct file *file)
{
	const struct mcube_srm_batch *batch = current->mcube_srm_batch;

	if (batch && batch->mapping == mapping &&
	    batch->advice != MCUBE_ADVICE_NONE)
		return batch->advice;
	return file && file->f_mode & FMODE_NOREUSE ? MCUBE_ADVICE_CONFINE :
						      MCUBE_ADVICE_NONE;
}

/**
 * mcube_srm_spreads() - shall pages of a file hop over the colors?
 * @mapping: page cache of the file.
 * @file: the descriptor that pages are read in for; NULL if it is not known.
 *
 * Return: true if the file or the page fault says so; false if the pages belong
 * to a segment.
 */
bool mcube_srm_spreads(const struct address_space *mapping,
		       const struct file *file)
{
	return mcube_reuse_spreads(READ_ONCE(mapping->mcube_reuse),
				   advice_of(mapping, file));
}

static unsigned int max_order(struct address_space *mapping, bool spread,
			      unsigned int order)
{
	if (spread)
		return order;
	return max(min(order, mcube_srm_groups.order),
		   mapping_min_folio_order(mapping));
}

/**
 * mcube_srm_max_order() - the order that a folio may have
 * @mapping: page cache of the file.
 * @order: the order that the folio would have without the policy.
 *
 * A file that is read again and again, or executed, has all colors, and so has
 * any folio of it that is as large as the order of the page cache allows.
 *
 * Return: the lesser of @order and the order of the color groups, but not less
 * than the file demands.
 */
unsigned int mcube_srm_max_order(struct address_space *mapping,
				 unsigned int order)
{
	return max_order(mapping, mcube_srm_spreads(mapping, NULL), order);
}

/* Is the file too large to be spread because it is read again and again? */
static bool is_stream(const struct inode *inode)
{
	return is_long(inode, mcube_srm_config.nr_colors *
			      READ_ONCE(mcube_srm_config.reuse));
}

/**
 * mcube_srm_max_ra_order() - the order that folios may have in readahead
 * @ractl: the readahead.
 * @order: the order that the folios would have without the policy.
 *
 * Folios of a whole PMD are what MADV_HUGEPAGE asks for.  Readahead by itself
 * enlarges its folios step by step, and so gets no further than the color group.
 * A file that could be spread one day (reuse.c) gets single pages, which can be
 * moved to other colors.  Pages that advice keeps to their segment need not be
 * single.
 *
 * Return: the order, not less than the file demands.
 */
unsigned int mcube_srm_max_ra_order(const struct readahead_control *ractl,
				    unsigned int order)
{
	struct address_space *mapping = ractl->mapping;
	u32 reuse = READ_ONCE(mapping->mcube_reuse);
	unsigned int said;
	bool spread;

	if (order >= PMD_ORDER)
		return order;
	said = advice_of(mapping, ractl->file);
	spread = mcube_reuse_spreads(reuse, said);
	if (!spread && !is_stream(mapping->host) &&
	    !mcube_reuse_confined(reuse, said))
		return mapping_min_folio_order(mapping);
	return max_order(mapping, spread, order);
}

/**
 * mcube_srm_covers() - may a folio be given a color?
 * @inode: inode of the file that the folio is for.
 * @gfp: flags of the request.
 * @order: order of the folio.
 *
 * Return: false if the folio is too large, of a kind that the policy leaves
 * alone, or asked for by a task with a hint of its own.
 */
bool mcube_srm_covers(const struct inode *inode, gfp_t gfp, unsigned int order)
{
	bool movable = gfp_migratetype(gfp) == MIGRATE_MOVABLE;

	/* A block device's metadata is requested as movable, its data is not. */
	return order <= mcube_srm_groups.order && !current->mcube_hint &&
		movable != S_ISBLK(inode->i_mode);
}

/**
 * mcube_srm_place() - allocate one folio of the color that is chosen for it
 * @mapping: page cache of the file.
 * @gfp: flags, as for filemap_alloc_folio().
 * @order: order of the folio, as for filemap_alloc_folio().
 * @index: page index that the folio is for.
 * @spread: the folio hops over the colors instead of joining a segment.
 *
 * Context: process, as @gfp says.
 * Return: the folio, or NULL.
 */
struct folio *mcube_srm_place(struct address_space *mapping, gfp_t gfp,
			      unsigned int order, pgoff_t index, bool spread)
{
	struct folio *folio;
	struct mcube_srm_choice c;
	u32 hint;

	if (!mcube_srm_covers(mapping->host, gfp, order)) {
		mcube_srm_count(MCUBE_SRM_UNCOVERED, 1);
		return filemap_alloc_folio_noprof(gfp, order);
	}
	if (!choose(&c, mapping, index, order, spread))
		return filemap_alloc_folio_noprof(gfp, order);
	hint = mcube_hint_save(c.hint);
	folio = filemap_alloc_folio_noprof(gfp, order);
	hint = mcube_hint_restore(hint);
	if (folio)
		chosen(&c, 1U << order, hint & MCUBE_HINT_SERVED);
	return folio;
}
