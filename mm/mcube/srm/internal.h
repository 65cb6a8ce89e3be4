/* SPDX-License-Identifier: GPL-2.0 */
/*
 * SRM-buffer: what the files of srm/ share.
 *
 * Copyright (C) 2026 The mcube authors
 */
#ifndef _MM_MCUBE_SRM_INTERNAL_H
#define _MM_MCUBE_SRM_INTERNAL_H

#include <linux/gfp_types.h>
#include <linux/jump_label.h>
#include <linux/limits.h>
#include <linux/mcube_srm.h>
#include <linux/percpu.h>
#include <linux/percpu_counter.h>
#include <linux/sched.h>
#include <linux/types.h>

#include "color_group.h"

struct mcube_policy;

/**
 * enum mcube_srm_mode - where the color of a long file's page comes from
 * @MCUBE_SRM_SEGMENTED: the file carries a segment; a new segment gets a color
 *                       with free frames.
 * @MCUBE_SRM_STATELESS: hash of the file, plus index / tl.
 * @MCUBE_SRM_NR_MODES: number of modes.
 */
enum mcube_srm_mode {
	MCUBE_SRM_SEGMENTED,
	MCUBE_SRM_STATELESS,
	MCUBE_SRM_NR_MODES,
};

/**
 * enum mcube_srm_stat - events since boot, per CPU
 * @MCUBE_SRM_FILE: pages placed by the segment of their file.
 * @MCUBE_SRM_TASK: pages of short files placed by the segment of the task.
 * @MCUBE_SRM_MISSED: pages that got another color than the one chosen.
 * @MCUBE_SRM_SEGMENTS: segments begun.
 * @MCUBE_SRM_RECLAIMED: pages evicted to free frames of their color.
 * @MCUBE_SRM_RECOLORED: pages moved to all colors because their file is read
 *                       again and again.
 * @MCUBE_SRM_HOPPED: pages of files that may have all colors, which hopped over
 *                    the colors when they were allocated.
 * @MCUBE_SRM_UNCOVERED: page-cache folios that the policy leaves alone: larger
 *                       than a color group allows; neither movable nor of a
 *                       block device; metadata; requested by a task with a
 *                       hint.
 * @MCUBE_SRM_VACATED: pages of memory moved out of the reserved colors.
 * @MCUBE_SRM_READ: pages of files that were read from their start and do not hop.
 * @MCUBE_SRM_SAMPLED: page frames that lending has looked at, to find mapped streams.
 * @MCUBE_SRM_NR_STATS: number of counters.
 */
enum mcube_srm_stat {
	MCUBE_SRM_FILE,
	MCUBE_SRM_TASK,
	MCUBE_SRM_MISSED,
	MCUBE_SRM_SEGMENTS,
	MCUBE_SRM_RECLAIMED,
	MCUBE_SRM_RECOLORED,
	MCUBE_SRM_HOPPED,
	MCUBE_SRM_UNCOVERED,
	MCUBE_SRM_VACATED,
	MCUBE_SRM_READ,
	MCUBE_SRM_SAMPLED,
	MCUBE_SRM_NR_STATS,
};

struct mcube_srm_stats {
	unsigned long nr[MCUBE_SRM_NR_STATS];
};

DECLARE_PER_CPU(struct mcube_srm_stats, mcube_srm_stats);

static inline void mcube_srm_count(enum mcube_srm_stat stat, long nr)
{
	this_cpu_add(mcube_srm_stats.nr[stat], nr);
}

/**
 * struct mcube_srm_config - settings of the policy
 * @tl: pages of a segment.
 * @mode: see enum mcube_srm_mode.
 * @vm_hop: pages that belong to no file hop over the colors.
 * @reclaim: pages are evicted for a color that has too few free frames.
 * @reserve: share of the colors reserved for files, in sixteenths; constant
 *           while the policy is on.
 * @lend: seconds without a stream after which memory gets the reserved colors, too; 0
 *        for never.
 * @group_order: a color group has the colors of 2^@group_order aligned frames;
 *               constant while the policy is on.  With MCUBE_GROUP_ORDER_AUTO
 *               mcube_color_groups_init_auto() chooses the order.
 * @reuse: a file that is read again and again is spread over the colors if it
 *         has at most @reuse pages for each color; 0 for never.
 * @nr_colors: colors of the address map; constant while the policy is on.
 * @epoch: counts how often the policy was switched on.
 */
struct mcube_srm_config {
	unsigned int tl;
	enum mcube_srm_mode mode;
	unsigned int vm_hop;
	unsigned int reclaim;
	unsigned int reserve;
	unsigned int lend;
	unsigned int group_order;
	unsigned int reuse;
	unsigned int nr_colors;
	u32 epoch;
};

extern struct mcube_srm_config mcube_srm_config;

/*
 * Changes only while the policy is off and a grace period has passed, but for the
 * number of reserved groups, which select.c alone uses.
 */
extern struct mcube_color_groups mcube_srm_groups;

#define MCUBE_REUSE_PAGES_MAX	64U
#define MCUBE_LEND_MAX		3600U
#define MCUBE_GROUP_ORDER_AUTO	UINT_MAX

unsigned long mcube_srm_stat(enum mcube_srm_stat stat);

/* control.c */
int mcube_srm_enable(bool on);
bool mcube_srm_enabled(void);
int mcube_srm_set_hop(unsigned int on);
int mcube_srm_set_group_order(unsigned int order);
int mcube_srm_set_reserve(unsigned int share);

/* select.c */
int mcube_srm_select_init(const struct mcube_dim *dim, unsigned int *reserved);
void mcube_srm_select_reserve(unsigned int colors);
unsigned int mcube_srm_select(unsigned int tl, gfp_t gfp);

/* place.c */

/*
 * Most pages that a task may hold in a batch while it reads or writes.  So many single
 * pages of a segment have all colors of its group.
 */
#define MCUBE_SRM_BATCH		16UL
/* The same for larger folios: the window of readahead. */
#define MCUBE_SRM_BATCH_LARGE	32UL

/**
 * struct mcube_srm_choice - the color chosen for the next pages of a file
 * @group: color group.
 * @left: pages that the group holds for.
 * @run: single pages that the color holds for, see mcube_color_group_run(); not set if the
 *       pages hop.
 * @segment: where the state of the segment lies; NULL if the color follows from
 *           the index of the page, or if the pages hop.
 * @epoch: epoch of the choice; the policy may go off and on again, with other
 *         color groups, while pages are allocated.
 * @hint: hint for the allocator.
 * @stat: counter of the pages.
 * @goes_on: the segment does not end with a page that misses its color.
 */
struct mcube_srm_choice {
	unsigned int group;
	unsigned int left;
	unsigned int run;
	u32 *segment;
	u32 epoch;
	u32 hint;
	enum mcube_srm_stat stat;
	bool goes_on;
};

bool mcube_srm_choose(struct mcube_srm_choice *c, struct address_space *mapping,
		      pgoff_t index, unsigned int order);
unsigned int mcube_srm_choose_next(struct mcube_srm_choice *c, unsigned int nr);
void mcube_srm_chosen(const struct mcube_srm_choice *c, unsigned int nr,
		      bool served);
void mcube_srm_unused(u32 *segment, u32 epoch, unsigned int group,
		      unsigned int nr);
bool mcube_srm_spreads(const struct address_space *mapping,
		       const struct file *file);
bool mcube_srm_covers(const struct inode *inode, gfp_t gfp, unsigned int order);
struct folio *mcube_srm_place(struct address_space *mapping, gfp_t gfp,
			      unsigned int order, pgoff_t index, bool spread);

/**
 * mcube_srm_has_mempolicy() - may the task's pages come from another node?
 *
 * Return: true if the task has a memory policy.
 */
static inline bool mcube_srm_has_mempolicy(void)
{
#ifdef CONFIG_NUMA
	return current->mempolicy;
#else
	return false;
#endif
}

/* batch.c */
extern struct percpu_counter mcube_srm_ahead;
s64 mcube_srm_ahead_max(void);
void mcube_srm_advised_begin(struct mcube_srm_batch *batch,
			     struct address_space *mapping, unsigned int advice);

/* reclaim.c */
void mcube_srm_reclaim(int nid, const struct mcube_color_groups *groups,
		       unsigned int group, unsigned long nr);
unsigned long mcube_srm_reclaim_next(int nid, unsigned long start,
				     unsigned long end);
void mcube_srm_reclaim_stop(void);

/* lend.c */
void mcube_srm_lend_start(struct mcube_policy *p);
void mcube_srm_lend_stop(void);
void mcube_srm_lend_hurry(void);
bool mcube_srm_is_mapped_file(const struct page *page);

#endif /* _MM_MCUBE_SRM_INTERNAL_H */
