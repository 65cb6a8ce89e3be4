/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which pages of a list stay, by how soon they came back: see held.c
 *
 * Copyright (C) 2026 The mcube authors
 */
#ifndef _MCUBE_UBM_HELD_H
#define _MCUBE_UBM_HELD_H

#include <linux/types.h>

/* Marks of pushes, one each capacity / MCUBE_UBM_HELD_STEPS; they reach back four times that. */
#define MCUBE_UBM_HELD_STEPS	64U
#define MCUBE_UBM_HELD_MARKS	(4 * MCUBE_UBM_HELD_STEPS)
/* Gaps are counted in this many bins, up to twice the pages of both lists. */
#define MCUBE_UBM_HELD_BINS	64U

/**
 * struct mcube_ubm_held - decisions about the pages of one lruvec, some 1.7 KiB
 * @capacity: pages that both lists may have.
 * @batch: pages that reclaim wants at a time.
 * @floor: the rest never gets fewer pages than this.
 * @least: nor than this, which grows as pages reach the end of the rest before they are used.
 * @rest: pages that the rest is to have.
 * @most: the most that it may have; if @rest is that, it follows the size of the cache.
 * @full: the most pages that both lists had lately.
 * @clock: pages that left; it wraps.
 * @started: the clock at the start.
 * @age: clocks since the tail of held was pushed, at the turn that was at @turned.
 * @turned: see @age.
 * @may_hold: pages that reclaim may still hold before the next turn.
 * @excess: the rest has clearly more pages than it is to have.
 * @leaving: pages that held gave up and that have not left yet; they leave first.
 * @step: pushes from a mark to the next.
 * @pushes: pages that were pushed to held.
 * @marked: number of the last mark.
 * @mark: the clock at each mark, a ring.
 * @misses: pages that came in, as many as left; this and all below are sums in 1/256 that fade.
 * @gone: pages that left.
 * @again: pages of the rest that reclaim found used again.
 * @kept: pages at the tail of held that were found used.
 * @failed: pages at the tail of held that were not, though they were held longer than the rest
 *          would have kept them.
 * @near: pages that came back before long.
 * @worth: sum of 2^32 / gap over these.
 * @gaps: pages that came back, by gap.
 * @next: the clock of the next evaluation.
 * @trying: the rest grew at the clock @trial, from @before, for @promised pages that came back.
 * @trial: see @trying.
 * @before: see @trying.
 * @wait: how many capacities to wait after the next trial that fails.
 * @hold: the clock before which the rest does not grow again.
 * @promised: see @trying.
 * @settled: a quarter of the capacity has left since the start.
 */
struct mcube_ubm_held {
	u32 capacity;
	u32 batch;
	u32 floor;
	u32 least;
	u32 rest;
	u32 most;
	u32 full;
	u32 clock;
	u32 started;
	u32 age;
	u32 turned;
	u32 may_hold;
	u32 leaving;
	u32 step;
	u64 pushes;
	u64 marked;
	u32 mark[MCUBE_UBM_HELD_MARKS];
	u64 misses;
	u64 gone;
	u64 again;
	u64 kept;
	u64 failed;
	u64 near;
	u64 worth;
	u64 gaps[MCUBE_UBM_HELD_BINS];
	u32 next;
	u32 trial;
	u32 before;
	u32 wait;
	u32 hold;
	u64 promised;
	bool excess;
	bool trying;
	bool settled;
};

void mcube_ubm_held_init(struct mcube_ubm_held *h, u32 capacity, u32 batch, u32 clock);
void mcube_ubm_held_resize(struct mcube_ubm_held *h, u32 capacity);

void mcube_ubm_held_passed(struct mcube_ubm_held *h, u32 nr);
u32 mcube_ubm_held_stamp(struct mcube_ubm_held *h, u32 clock, u32 nr);
bool mcube_ubm_held_back(struct mcube_ubm_held *h, u32 stamp, u32 nr, u32 nr_held, u32 nr_rest);
bool mcube_ubm_held_recent(const struct mcube_ubm_held *h, u32 gap, bool active);
void mcube_ubm_held_pushed(struct mcube_ubm_held *h, u32 nr);
void mcube_ubm_held_kept(struct mcube_ubm_held *h, u32 nr);
void mcube_ubm_held_again(struct mcube_ubm_held *h, u32 nr);
void mcube_ubm_held_demoted(struct mcube_ubm_held *h, u32 nr, u32 nr_rest);
u32 mcube_ubm_held_turn(struct mcube_ubm_held *h, u32 nr_held, u32 nr_rest, bool idle);
void mcube_ubm_held_unused(struct mcube_ubm_held *h, u32 nr);
bool mcube_ubm_held_small(const struct mcube_ubm_held *h);
bool mcube_ubm_held_takes(struct mcube_ubm_held *h, u32 nr, u32 nr_rest, bool again);

#endif /* _MCUBE_UBM_HELD_H */
