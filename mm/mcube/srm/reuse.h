/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Reuse: is a file read again and again, and does it fit in the cache?
 *
 * Copyright (C) 2026 The mcube authors
 *
 * Pure: integers only.  See reuse.c for the idea.
 */
#ifndef _MM_MCUBE_SRM_REUSE_H
#define _MM_MCUBE_SRM_REUSE_H

#include <linux/types.h>

/**
 * enum mcube_advice - what a program has said of a file
 * @MCUBE_ADVICE_NONE: no advice, or none that matters here.
 * @MCUBE_ADVICE_SPREAD: the whole file will be needed; it may have all colors.
 * @MCUBE_ADVICE_CONFINE: the file is used once; it keeps to its segments.
 * @MCUBE_ADVICE_EXECUTED: nothing was said, but the page is executed.  Never the
 *                         advice of a file.
 */
enum mcube_advice {
	MCUBE_ADVICE_NONE,
	MCUBE_ADVICE_SPREAD,
	MCUBE_ADVICE_CONFINE,
	MCUBE_ADVICE_EXECUTED,
};

#define MCUBE_REUSE_STAMP_BITS	27
#define MCUBE_REUSE_TIMES_BITS	3

#define MCUBE_REUSE_STAMP_MASK	((1U << MCUBE_REUSE_STAMP_BITS) - 1)
#define MCUBE_REUSE_TIMES_MASK	((1U << MCUBE_REUSE_TIMES_BITS) - 1)

#define MCUBE_REUSE_TIMES_SHIFT	MCUBE_REUSE_STAMP_BITS
#define MCUBE_REUSE_ADVICE_SHIFT	(MCUBE_REUSE_TIMES_SHIFT + MCUBE_REUSE_TIMES_BITS)

/* A file counts as in use after this many reads close together, and late reads end it. */
#define MCUBE_REUSE_ENOUGH	3U
#define MCUBE_REUSE_TIMES_MAX	4U

/**
 * mcube_reuse_advice() - what has been said of a file
 * @reuse: packed state of the file.
 *
 * The state of a file is one u32::
 *
 *   31  30  29   27  26                         0
 *   +------+-------+-----------------------------+
 *   |advice| times |            stamp            |
 *   +------+-------+-----------------------------+
 *
 * The stamp is the clock at the last read that counted; it means nothing if times is 0.
 *
 * Return: enum mcube_advice.
 */
static inline unsigned int mcube_reuse_advice(u32 reuse)
{
	return reuse >> MCUBE_REUSE_ADVICE_SHIFT;
}

/**
 * mcube_reuse_advise() - remember what was said of a file
 * @reuse: packed state of the file.
 * @advice: enum mcube_advice.
 *
 * Return: the new state.
 */
static inline u32 mcube_reuse_advise(u32 reuse, unsigned int advice)
{
	return (reuse & ((1U << MCUBE_REUSE_ADVICE_SHIFT) - 1)) |
	       advice << MCUBE_REUSE_ADVICE_SHIFT;
}

static inline unsigned int mcube_reuse_times(u32 reuse)
{
	return reuse >> MCUBE_REUSE_TIMES_SHIFT & MCUBE_REUSE_TIMES_MASK;
}

/**
 * mcube_reuse_begin() - a file is read from its start, by whomever
 * @reuse: packed state of the file.
 * @now: clock: pages of all files that were begun and may be in use.
 * @limit: pages that the cache can hold.
 *
 * An early read counts, and a late read takes one back.  A file that is surely in use and
 * was begun within the last half of @limit keeps its state: all CPUs may read it, and none
 * writes.  If the next read comes as soon again, it is within @limit of the stamp still.
 *
 * Return: the new state.
 */
static inline u32 mcube_reuse_begin(u32 reuse, u32 now, u32 limit)
{
	u32 between = (now - reuse) & MCUBE_REUSE_STAMP_MASK;
	unsigned int times = mcube_reuse_times(reuse);

	if (!times)
		times = 1;
	else if (between > limit)
		times -= times > 1;
	else if (times < MCUBE_REUSE_TIMES_MAX)
		times++;
	else if (between <= limit / 2)
		return reuse;
	return mcube_reuse_advice(reuse) << MCUBE_REUSE_ADVICE_SHIFT |
	       times << MCUBE_REUSE_TIMES_SHIFT | (now & MCUBE_REUSE_STAMP_MASK);
}

/**
 * mcube_reuse_forget() - a file has become too large to count as in use
 * @reuse: packed state of the file.
 *
 * Return: the new state; the advice stays.
 */
static inline u32 mcube_reuse_forget(u32 reuse)
{
	return reuse & ~(MCUBE_REUSE_TIMES_MASK << MCUBE_REUSE_TIMES_SHIFT);
}

/**
 * mcube_reuse_decides() - the advice that a page follows
 * @reuse: packed state of the file.
 * @said: enum mcube_advice, by the descriptor or the call that needs the page.
 *        It goes before the advice of the file, which all who use it share.
 *
 * Return: enum mcube_advice; %MCUBE_ADVICE_NONE if nothing was said that binds.
 */
static inline unsigned int mcube_reuse_decides(u32 reuse, unsigned int said)
{
	if (said == MCUBE_ADVICE_SPREAD || said == MCUBE_ADVICE_CONFINE)
		return said;
	return mcube_reuse_advice(reuse);
}

/**
 * mcube_reuse_spreads() - shall a page of a file have any color?
 * @reuse: packed state of the file.
 * @said: enum mcube_advice, see mcube_reuse_decides().
 *
 * Return: true if the page shall hop over all colors.
 */
static inline bool mcube_reuse_spreads(u32 reuse, unsigned int said)
{
	unsigned int advice = mcube_reuse_decides(reuse, said);

	if (advice != MCUBE_ADVICE_NONE)
		return advice == MCUBE_ADVICE_SPREAD;
	return said == MCUBE_ADVICE_EXECUTED ||
	       mcube_reuse_times(reuse) >= MCUBE_REUSE_ENOUGH;
}

/**
 * mcube_reuse_confined() - does advice keep a page to its segment?
 * @reuse: packed state of the file.
 * @said: enum mcube_advice, see mcube_reuse_decides().
 *
 * Return: true if the page stays where it is, however often the file is read.
 */
static inline bool mcube_reuse_confined(u32 reuse, unsigned int said)
{
	return mcube_reuse_decides(reuse, said) == MCUBE_ADVICE_CONFINE;
}

#endif /* _MM_MCUBE_SRM_REUSE_H */
