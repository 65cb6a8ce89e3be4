/* SPDX-License-Identifier: GPL-2.0 */
/*
 * SRM-buffer: what its own files share.
 *
 * Copyright (C) 2026 The mcube authors
 */
#ifndef _MM_MCUBE_SRM_INTERNAL_H
#define _MM_MCUBE_SRM_INTERNAL_H

#include <linux/jump_label.h>
#include <linux/limits.h>
#include <linux/mcube_srm.h>
#include <linux/percpu.h>
#include <linux/sched.h>
#include <linux/types.h>

#include "color_group.h"

/**
 * enum mcube_srm_mode - where the color of a long file's page comes from
 * @MCUBE_SRM_SEGMENTED: the file carries a run; a new one is dealt a color with
 *                  free frames.
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
 * @MCUBE_SRM_FILE: pages that got the color of their file's run.
 * @MCUBE_SRM_TASK: pages of short files that got that of their task's run.
 * @MCUBE_SRM_MISSED: pages that got another color than they should have.
 * @MCUBE_SRM_SEGMENTS: runs begun.
 * @MCUBE_SRM_RECLAIMED: pages evicted so that their color has free frames.
 * @MCUBE_SRM_RECOLORED: pages moved to all colors as their file is read again and
 *                    again.
 * @MCUBE_SRM_HOPPED: other pages, which hop over the colors.
 * @MCUBE_SRM_UNCOVERED: page-cache folios that are larger than a region, not
 *                       movable and no device's, metadata, or asked for by a
 *                       task with a hint.
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
 * struct mcube_srm_config - what the policy goes by
 * @tl: pages of a run.
 * @mode: see enum mcube_srm_mode.
 * @vm_hop: shall pages that are no file's hop?
 * @reclaim: shall pages be evicted for a color that has too few free frames?
 * @reserve: share of the colors that is for files alone, in sixteenths;
 *           constant while the policy is on.
 * @group_order: runs have regions of the colors that 2^@group_order frames
 *                have; constant while the policy is on.  MCUBE_GROUP_ORDER_AUTO: as
 *                mcube_color_groups_init_auto() divides them.
 * @reuse: pages of each color that a file may have which is spread when it is
 *          read again and again; 0 for never.
 * @nr_colors: of the address map; constant while the policy is on.
 * @epoch: counts how often it was switched on.
 */
struct mcube_srm_config {
	unsigned int tl;
	enum mcube_srm_mode mode;
	bool vm_hop;
	bool reclaim;
	unsigned int reserve;
	unsigned int group_order;
	unsigned int reuse;
	unsigned int nr_colors;
	u32 epoch;
};

extern struct mcube_srm_config mcube_srm_config;

/* Changes only while the policy is off, a grace period after it went off. */
extern struct mcube_color_groups mcube_srm_groups;

#define MCUBE_REUSE_PAGES_MAX	64U
#define MCUBE_GROUP_ORDER_AUTO	UINT_MAX

unsigned long mcube_srm_stat(enum mcube_srm_stat stat);

/* control.c */
int mcube_srm_enable(bool on);
bool mcube_srm_enabled(void);
void mcube_srm_set_hop(bool on);
int mcube_srm_set_group_order(unsigned int order);
int mcube_srm_set_reserve(unsigned int share);

/* select.c */
int mcube_srm_select_init(const struct mcube_dim *dim, unsigned long *reserved);
unsigned int mcube_srm_select(unsigned int tl);

/* place.c */

/*
 * What a task may hold of free memory while it reads or writes.  So many pages
 * have one color of a region before the next one's turn comes.
 */
#define MCUBE_SRM_BATCH		16UL

/**
 * struct mcube_srm_choice - what the next pages of a file shall have
 * @group: the region.
 * @left: how many pages of it.
 * @segment: where the sequence remembers it; NULL if it follows from the page's
 *       index, or if they are placed as memory.
 * @epoch: the policy may go off and on again while pages are allocated, with
 *         other regions: when the choice was made.
 * @hint: what the allocator is told.
 * @stat: what the pages are counted as.
 */
struct mcube_srm_choice {
	unsigned int group;
	unsigned int left;
	u32 *segment;
	u32 epoch;
	u32 hint;
	enum mcube_srm_stat stat;
};

bool mcube_srm_choose(struct mcube_srm_choice *c, struct address_space *mapping,
		      pgoff_t index);
void mcube_srm_chosen(const struct mcube_srm_choice *c, unsigned int nr,
		      bool served);
bool mcube_srm_covers(const struct inode *inode, gfp_t gfp, unsigned int order);
struct folio *mcube_srm_place(struct address_space *mapping, gfp_t gfp,
			      unsigned int order, pgoff_t index);

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

/* reclaim.c */
void mcube_srm_reclaim(int nid, const struct mcube_color_groups *groups,
		  unsigned int group, unsigned long nr);
void mcube_srm_reclaim_stop(void);

#endif /* _MM_MCUBE_SRM_INTERNAL_H */
