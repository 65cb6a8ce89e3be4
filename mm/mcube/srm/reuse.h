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

#define MCUBE_REUSE_STAMP_BITS	20
#define MCUBE_REUSE_TIMES_BITS	2
#define MCUBE_REUSE_TASK_BITS	8

#define MCUBE_REUSE_STAMP_MASK	((1U << MCUBE_REUSE_STAMP_BITS) - 1)
#define MCUBE_REUSE_TIMES_MASK	((1U << MCUBE_REUSE_TIMES_BITS) - 1)
#define MCUBE_REUSE_TASK_MASK	((1U << MCUBE_REUSE_TASK_BITS) - 1)

#define MCUBE_REUSE_TIMES_SHIFT	MCUBE_REUSE_STAMP_BITS
#define MCUBE_REUSE_TASK_SHIFT	(MCUBE_REUSE_TIMES_SHIFT + MCUBE_REUSE_TIMES_BITS)
#define MCUBE_REUSE_ADVICE_SHIFT	(MCUBE_REUSE_TASK_SHIFT + MCUBE_REUSE_TASK_BITS)

/* After this many early re-reads in a row a file counts as in use. */
#define MCUBE_REUSE_ENOUGH	2U

/**
 * mcube_reuse_advice() - what has been said of a file
 * @reuse: packed state of the file.
 *
 * The state of a file is one u32::
 *
 *   31 30  29     22  21 20  19                 0
 *   +-----+---------+-------+--------------------+
 *   |advice|  task  | times |       stamp        |
 *   +-----+---------+-------+--------------------+
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
 * mcube_reuse_begin() - a task reads a file from its start
 * @reuse: packed state of the file.
 * @task: some bits that tell tasks apart.
 * @now: clock of the task: pages of all files that it has begun to read.
 * @limit: pages that the cache can hold.
 *
 * Of two tasks that begin the file in turn, neither counts.  A task that begins the
 * file once does not end what another task does all the time: it takes back one
 * re-read of that task, and becomes the task of the file when none is left.
 *
 * Return: the new state.
 */
static inline u32 mcube_reuse_begin(u32 reuse, u32 task, u32 now, u32 limit)
{
	u32 stamp = now & MCUBE_REUSE_STAMP_MASK;
	u32 between = (stamp - reuse) & MCUBE_REUSE_STAMP_MASK;
	unsigned int times = mcube_reuse_times(reuse);

	task &= MCUBE_REUSE_TASK_MASK;
	if ((reuse >> MCUBE_REUSE_TASK_SHIFT & MCUBE_REUSE_TASK_MASK) != task) {
		if (times)
			return reuse - (1U << MCUBE_REUSE_TIMES_SHIFT);
	} else if (between > limit) {
		times = 0;
	} else if (times < MCUBE_REUSE_TIMES_MASK) {
		times++;
	}
	return mcube_reuse_advice(reuse) << MCUBE_REUSE_ADVICE_SHIFT |
	       task << MCUBE_REUSE_TASK_SHIFT |
	       times << MCUBE_REUSE_TIMES_SHIFT | stamp;
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
