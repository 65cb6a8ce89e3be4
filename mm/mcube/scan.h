/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Scans: is a file read again and again, and does it fit in the cache?
 *
 * Copyright (C) 2026 The mcube authors
 *
 * Pure: integers only.  See rescan.c for the idea.
 */
#ifndef _MM_MCUBE_SCAN_H
#define _MM_MCUBE_SCAN_H

#include <linux/types.h>

/**
 * enum mcube_advice - what a program has said of a file
 * @MCUBE_ADVICE_NONE: nothing, or nothing that matters here.
 * @MCUBE_ADVICE_SPREAD: all of it will be needed: all colors.
 * @MCUBE_ADVICE_CONFINE: it is used once: never more than a color.
 */
enum mcube_advice {
	MCUBE_ADVICE_NONE,
	MCUBE_ADVICE_SPREAD,
	MCUBE_ADVICE_CONFINE,
};

#define MCUBE_SCAN_STAMP_BITS	20
#define MCUBE_SCAN_TIMES_BITS	2
#define MCUBE_SCAN_TASK_BITS	8

#define MCUBE_SCAN_STAMP_MASK	((1U << MCUBE_SCAN_STAMP_BITS) - 1)
#define MCUBE_SCAN_TIMES_MASK	((1U << MCUBE_SCAN_TIMES_BITS) - 1)
#define MCUBE_SCAN_TASK_MASK	((1U << MCUBE_SCAN_TASK_BITS) - 1)

#define MCUBE_SCAN_TIMES_SHIFT	MCUBE_SCAN_STAMP_BITS
#define MCUBE_SCAN_TASK_SHIFT	(MCUBE_SCAN_TIMES_SHIFT + MCUBE_SCAN_TIMES_BITS)
#define MCUBE_SCAN_ADVICE_SHIFT	(MCUBE_SCAN_TASK_SHIFT + MCUBE_SCAN_TASK_BITS)

/* Scans begun anew so soon that the file is taken for one in use. */
#define MCUBE_SCAN_ENOUGH	2U

/**
 * mcube_scan_advice() - what has been said of a file
 * @scan: the file's state.
 *
 * A file carries one u32:
 *
 *   31 30  29     22  21 20  19                 0
 *   +-----+---------+-------+--------------------+
 *   |advice|  task  | times |       stamp        |
 *   +-----+---------+-------+--------------------+
 *
 * Return: enum mcube_advice.
 */
static inline unsigned int mcube_scan_advice(u32 scan)
{
	return scan >> MCUBE_SCAN_ADVICE_SHIFT;
}

/**
 * mcube_scan_advise() - remember what was said of a file
 * @scan: the file's state.
 * @advice: enum mcube_advice.
 *
 * Return: the new state.
 */
static inline u32 mcube_scan_advise(u32 scan, unsigned int advice)
{
	return (scan & ((1U << MCUBE_SCAN_ADVICE_SHIFT) - 1)) |
	       advice << MCUBE_SCAN_ADVICE_SHIFT;
}

static inline unsigned int mcube_scan_times(u32 scan)
{
	return scan >> MCUBE_SCAN_TIMES_SHIFT & MCUBE_SCAN_TIMES_MASK;
}

/**
 * mcube_scan_begin() - a task reads a file from its start
 * @scan: the file's state.
 * @task: some bits that tell tasks apart.
 * @now: the task's clock: pages of all files that it has begun to read.
 * @limit: pages that the cache can hold.
 *
 * Return: the new state.
 */
static inline u32 mcube_scan_begin(u32 scan, u32 task, u32 now, u32 limit)
{
	u32 stamp = now & MCUBE_SCAN_STAMP_MASK;
	u32 between = (stamp - scan) & MCUBE_SCAN_STAMP_MASK;
	unsigned int times = mcube_scan_times(scan);

	task &= MCUBE_SCAN_TASK_MASK;
	if ((scan >> MCUBE_SCAN_TASK_SHIFT & MCUBE_SCAN_TASK_MASK) != task ||
	    between > limit)
		times = 0;
	else if (times < MCUBE_SCAN_TIMES_MASK)
		times++;
	return mcube_scan_advice(scan) << MCUBE_SCAN_ADVICE_SHIFT |
	       task << MCUBE_SCAN_TASK_SHIFT |
	       times << MCUBE_SCAN_TIMES_SHIFT | stamp;
}

/**
 * mcube_scan_forget() - a file has become too large to be one in use
 * @scan: the file's state.
 *
 * Return: the new state: what was said of it stays.
 */
static inline u32 mcube_scan_forget(u32 scan)
{
	return scan & ~(MCUBE_SCAN_TIMES_MASK << MCUBE_SCAN_TIMES_SHIFT);
}

/**
 * mcube_scan_spreads() - shall pages of a file have all colors?
 * @scan: the file's state.
 *
 * Return: true if so.
 */
static inline bool mcube_scan_spreads(u32 scan)
{
	unsigned int advice = mcube_scan_advice(scan);

	return advice == MCUBE_ADVICE_SPREAD ||
	       (advice == MCUBE_ADVICE_NONE &&
		mcube_scan_times(scan) >= MCUBE_SCAN_ENOUGH);
}

#endif /* _MM_MCUBE_SCAN_H */
