/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Free frames by color, and the frames that a CPU freed last.
 *
 * Copyright (C) 2026 The mcube authors
 *
 * Called for each page, and empty while no policy is in force: see color_stat.c
 * and pcp.c.
 */
#ifndef _MM_MCUBE_ALLOC_COLOR_STAT_H
#define _MM_MCUBE_ALLOC_COLOR_STAT_H

#include <linux/jump_label.h>
#include <linux/types.h>

#include "internal.h"

#ifdef CONFIG_MCUBE_COLOR_STAT

/* color_stat.c */
DECLARE_STATIC_KEY_FALSE(mcube_color_stat_key);

void __mcube_color_stat_taken(struct mcube_container *c, unsigned int off);
void __mcube_color_stat_freed(struct mcube_container *c, unsigned int off);
void __mcube_color_stat_color(struct mcube_container *c, unsigned int color,
			      unsigned int nr);
void __mcube_color_stat_groups(struct mcube_container *c, unsigned int off,
			       unsigned int nr, int groups);
void __mcube_color_stat_all(struct mcube_container *c, bool in);
int mcube_color_stat_exact(struct mcube_zone *mz, unsigned int color);

/**
 * mcube_color_stat_taken() - count that a frame left a container
 * @c: the container, locked.
 * @off: the frame.
 */
static __always_inline void mcube_color_stat_taken(struct mcube_container *c,
						   unsigned int off)
{
	if (static_branch_unlikely(&mcube_color_stat_key))
		__mcube_color_stat_taken(c, off);
}

/**
 * mcube_color_stat_freed() - count that a frame was freed into a container
 * @c: the container, locked.
 * @off: the frame.
 *
 * Remembers the frame for mcube_pcp_pop() as well.
 */
static __always_inline void mcube_color_stat_freed(struct mcube_container *c,
						   unsigned int off)
{
	if (static_branch_unlikely(&mcube_color_stat_key))
		__mcube_color_stat_freed(c, off);
}

/**
 * mcube_color_stat_groups() - count that groups of frames were freed, or left
 * @c: the container, locked.
 * @off: first frame of one of the groups.
 * @nr: number of frames of a group.
 * @groups: number of groups, all of the same colors; negative if they left.
 */
static __always_inline void mcube_color_stat_groups(struct mcube_container *c,
						    unsigned int off,
						    unsigned int nr, int groups)
{
	if (static_branch_unlikely(&mcube_color_stat_key))
		__mcube_color_stat_groups(c, off, nr, groups);
}

/**
 * mcube_color_stat_color() - count that frames of a known color left
 * @c: the container, locked.
 * @color: color of the frames.
 * @nr: number of frames, at most MCUBE_BULK_MAX.
 */
static __always_inline void mcube_color_stat_color(struct mcube_container *c,
						   unsigned int color,
						   unsigned int nr)
{
	if (static_branch_unlikely(&mcube_color_stat_key))
		__mcube_color_stat_color(c, color, nr);
}

/**
 * mcube_color_stat_all() - count the free frames of a container in or out
 * @c: the container, active, locked.
 * @in: true for a new container, false for a container that is broken up.
 */
static inline void mcube_color_stat_all(struct mcube_container *c, bool in)
{
	if (static_branch_unlikely(&mcube_color_stat_key))
		__mcube_color_stat_all(c, in);
}

/* pcp.c */
void mcube_pcp_reset(unsigned int nr_colors);
void mcube_pcp_push(u8 color, unsigned long pfn);
unsigned long __mcube_pcp_pop(u8 color);

/**
 * mcube_pcp_pop() - the frame of a color that this CPU freed last
 * @color: the color.
 *
 * Context: RCU read side, so that the number of colors does not change.
 * Return: the page frame number, perhaps in use by now; 0 if no frame is known.
 */
static __always_inline unsigned long mcube_pcp_pop(unsigned int color)
{
	return static_branch_unlikely(&mcube_color_stat_key) ?
		__mcube_pcp_pop(color) : 0;
}

#else /* CONFIG_MCUBE_COLOR_STAT */

static inline void mcube_color_stat_groups(struct mcube_container *c,
					   unsigned int off, unsigned int nr,
					   int groups)
{
}

static inline void mcube_color_stat_taken(struct mcube_container *c,
					  unsigned int off)
{
}

static inline void mcube_color_stat_freed(struct mcube_container *c,
					  unsigned int off)
{
}

static inline void mcube_color_stat_color(struct mcube_container *c,
					  unsigned int color, unsigned int nr)
{
}

static inline void mcube_color_stat_all(struct mcube_container *c, bool in)
{
}

static inline unsigned long mcube_pcp_pop(unsigned int color)
{
	return 0;
}

#endif /* CONFIG_MCUBE_COLOR_STAT */

#endif /* _MM_MCUBE_ALLOC_COLOR_STAT_H */
