/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Runs: which cache color the pages of an access sequence get.
 *
 * Copyright (C) 2026 The mcube authors
 *
 * Pure: integers only.  See runs.c for the idea.
 */
#ifndef _MM_MCUBE_RUNS_H
#define _MM_MCUBE_RUNS_H

#include <linux/limits.h>
#include <linux/mcube_map.h>
#include <linux/types.h>

/* Pages of a run; the upper bound is what the packed state has room for. */
#define MCUBE_RUN_MIN		1U
#define MCUBE_RUN_MAX		4096U
#define MCUBE_RUN_DEFAULT	256U

#define MCUBE_RUN_COLOR_BITS	9
#define MCUBE_RUN_LEFT_BITS	13
#define MCUBE_RUN_EPOCH_BITS	10

/**
 * mcube_run_make() - pack the state of a run
 * @epoch: of the policy; only the lowest MCUBE_RUN_EPOCH_BITS count.
 * @color: the color.
 * @left: pages that it will still have, 0..MCUBE_RUN_MAX.
 *
 * A file and a task each carry one u32.  0 is no run:
 *
 *   31       22 21          9 8           0
 *   +----------+-------------+-------------+
 *   |  epoch   |    left     |  color + 1  |
 *   +----------+-------------+-------------+
 *
 * The epoch changes whenever the policy is switched on, so that what files and
 * tasks remember of another time, perhaps of another address map, is void.
 *
 * Return: the state.
 */
static inline u32 mcube_run_make(u32 epoch, unsigned int color,
				 unsigned int left)
{
	return epoch << (MCUBE_RUN_COLOR_BITS + MCUBE_RUN_LEFT_BITS) |
	       left << MCUBE_RUN_COLOR_BITS | (color + 1);
}

/**
 * mcube_run_left() - pages that a run still has
 * @run: the state.
 * @epoch: the epoch now.
 *
 * Return: their number; 0 if it is no run of this epoch.
 */
static inline unsigned int mcube_run_left(u32 run, u32 epoch)
{
	u32 now = mcube_run_make(epoch, 0, 0);
	unsigned int shift = MCUBE_RUN_COLOR_BITS + MCUBE_RUN_LEFT_BITS;

	if (run >> shift != now >> shift ||
	    !(run & ((1U << MCUBE_RUN_COLOR_BITS) - 1)))
		return 0;
	return run >> MCUBE_RUN_COLOR_BITS & ((1U << MCUBE_RUN_LEFT_BITS) - 1);
}

/**
 * mcube_run_color() - color of a run
 * @run: the state, not 0.
 *
 * Return: the color.
 */
static inline unsigned int mcube_run_color(u32 run)
{
	return (run & ((1U << MCUBE_RUN_COLOR_BITS) - 1)) - 1;
}

/**
 * mcube_run_stateless() - color of a page that follows from where it is
 * @key: hash of the file.
 * @index: page index within it.
 * @length: pages of a run, not 0.
 * @colors: number of colors, not 0.
 *
 * Return: the color.
 */
static inline unsigned int mcube_run_stateless(u32 key, u64 index,
					       unsigned int length,
					       unsigned int colors)
{
	return (key + (u32)(index / length)) % colors;
}

/**
 * struct mcube_palette - the colors, as runs are dealt them
 * @nr: number of colors.
 * @reserved: so many of them, the first ones, come before the others.
 * @clock: runs dealt so far.
 * @stamp: by color, @clock when a run last got it; 0 if none has.
 */
struct mcube_palette {
	unsigned int nr;
	unsigned int reserved;
	u64 clock;
	u64 stamp[MCUBE_MAX_VALUES];
};

void mcube_palette_init(struct mcube_palette *p, unsigned int nr,
			unsigned int reserved);
unsigned int mcube_palette_deal(struct mcube_palette *p,
				const unsigned long *free, unsigned long enough);
unsigned int mcube_palette_oldest(const struct mcube_palette *p);

/* Free frames, where there are more than any run has. */
#define MCUBE_PLENTY	ULONG_MAX

#endif /* _MM_MCUBE_RUNS_H */
