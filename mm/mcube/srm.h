/* SPDX-License-Identifier: GPL-2.0 */
/*
 * SRM-buffer: what its own files share.
 *
 * Copyright (C) 2026 The mcube authors
 */
#ifndef _MM_MCUBE_SRM_H
#define _MM_MCUBE_SRM_H

#include <linux/jump_label.h>
#include <linux/limits.h>
#include <linux/mcube_srm.h>
#include <linux/mcube_hint.h>
#include <linux/percpu.h>
#include <linux/types.h>

#include "region.h"

/**
 * enum mcube_srm_mode - where the color of a long file's page comes from
 * @MCUBE_SRM_RUNS: the file carries a run; a new one is dealt a color with
 *                  free frames.
 * @MCUBE_SRM_STATELESS: hash of the file, plus index / tl.
 * @MCUBE_SRM_NR_MODES: number of modes.
 */
enum mcube_srm_mode {
	MCUBE_SRM_RUNS,
	MCUBE_SRM_STATELESS,
	MCUBE_SRM_NR_MODES,
};

/**
 * enum mcube_srm_stat - events since boot, per CPU
 * @MCUBE_SRM_FILE: pages that got the color of their file's run.
 * @MCUBE_SRM_TASK: pages of short files that got that of their task's run.
 * @MCUBE_SRM_MISSED: pages that got another color than they should have.
 * @MCUBE_SRM_DEALT: runs begun.
 * @MCUBE_SRM_REFILLED: pages evicted so that their color has free frames.
 * @MCUBE_SRM_SPREAD: pages moved to all colors as their file is read again and
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
	MCUBE_SRM_DEALT,
	MCUBE_SRM_REFILLED,
	MCUBE_SRM_SPREAD,
	MCUBE_SRM_HOPPED,
	MCUBE_SRM_UNCOVERED,
	MCUBE_SRM_NR_STATS,
};

struct mcube_srm_stats {
	unsigned long nr[MCUBE_SRM_NR_STATS];
};

DECLARE_PER_CPU(struct mcube_srm_stats, mcube_srm_stats);

/**
 * struct mcube_srm_config - what the policy goes by
 * @tl: pages of a run.
 * @mode: see enum mcube_srm_mode.
 * @vm_hop: shall pages that are no file's hop?
 * @refill: shall pages be evicted for a color that has too few free frames?
 * @reserve: share of the colors that is for files alone, in sixteenths;
 *           constant while the policy is on.
 * @region_order: runs have regions of the colors that 2^@region_order frames
 *                have; constant while the policy is on.  MCUBE_REGION_AUTO: as
 *                mcube_regions_init_auto() divides them.
 * @rescan: pages of each color that a file may have which is spread when it is
 *          read again and again; 0 for never.
 * @nr_colors: of the address map; constant while the policy is on.
 * @epoch: counts how often it was switched on.
 */
struct mcube_srm_config {
	unsigned int tl;
	enum mcube_srm_mode mode;
	bool vm_hop;
	bool refill;
	unsigned int reserve;
	unsigned int region_order;
	unsigned int rescan;
	unsigned int nr_colors;
	u32 epoch;
};

extern struct mcube_srm_config mcube_srm_config;

/* Changes only while the policy is off, a grace period after it went off. */
extern struct mcube_regions mcube_srm_regions;

#define MCUBE_RESCAN_MAX	64U
#define MCUBE_REGION_AUTO	UINT_MAX

int mcube_srm_enable(bool on);
bool mcube_srm_enabled(void);
void mcube_srm_set_hop(bool on);
int mcube_srm_set_region_order(unsigned int order);
int mcube_srm_set_reserve(unsigned int share);
unsigned long mcube_srm_stat(enum mcube_srm_stat stat);

/* refill.c */
void mcube_refill(int nid, const struct mcube_regions *regions,
		  unsigned int region, unsigned long nr);
void mcube_refill_stop(void);

#endif /* _MM_MCUBE_SRM_H */
