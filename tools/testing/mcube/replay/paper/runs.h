/* SPDX-License-Identifier: GPL-2.0 */
/*
 * UBM runs: pages of a file that are read in order, and how often.
 *
 * Copyright (C) 2026 The mcube authors
 *
 * Pure: integers only.  See runs.c for the idea, and detector.c for how runs are found.
 */
#ifndef _MM_MCUBE_UBM_RUNS_H
#define _MM_MCUBE_UBM_RUNS_H

#include <linux/types.h>

#include "partition.h"

/* Streams of a file that may begin at the same time. */
#define MCUBE_UBM_CURSORS	4

/* Most runs that a file remembers. */
#define MCUBE_UBM_FILE_RUNS	64

/* Most runs that a note visits; it counts no pages beyond. */
#define MCUBE_UBM_STEPS		8

/* No run, the end of a list of runs. */
#define MCUBE_UBM_NONE		(~0U)

/* No previous read of the same descriptor. */
#define MCUBE_UBM_NO_PREV	(~0U)

/**
 * enum mcube_ubm_class - how pages are referenced
 * @MCUBE_UBM_OTHER: neither in order, nor known yet.
 * @MCUBE_UBM_SEQ: in order, once.
 * @MCUBE_UBM_LOOP: in order, again and again.
 */
enum mcube_ubm_class {
	MCUBE_UBM_OTHER,
	MCUBE_UBM_SEQ,
	MCUBE_UBM_LOOP,
};

/**
 * struct mcube_ubm_rules - what the detector takes for a run
 * @gap: pages that a stream may jump over, or go back, and remain the stream.
 * @min: pages that make a run.  A file that is read whole is a run at any size.
 * @age: a loop is dead when it has not been referenced for @age / 2 periods; until
 *       then a loop that is late counts as a loop of a longer period.
 * @mixed: a file is read at random as well if struct mcube_ubm_trail::mixed is above;
 *         0: never.
 * @chunk_shift: references are noted by chunks of 2^@chunk_shift pages; 0 if each
 *               page is noted.
 */
struct mcube_ubm_rules {
	u32 gap;
	u32 min;
	u32 age;
	u32 mixed;
	u32 chunk_shift;
};

/**
 * struct mcube_ubm_run - pages [start, end) of a file that are read in order
 * @start: first page.
 * @end: page after the last page.
 * @cursor: the pass that began last reads this page next.
 * @proposed: pages of this pass before @proposed were proposed as victims.
 * @began: time when the pass began, in references of the domain.
 * @last: time of the last reference.
 * @period: references of the domain from pass to pass, a moving mean; 0 before
 *          the second pass.
 * @reach: pages [start, start + reach) have been passed twice.
 * @held: pages [start, start + held) are to stay in memory, at most @reach.
 * @next: next run of the file, or in the list of free runs.
 * @passes: number of passes, up to 65535.
 * @class: enum mcube_ubm_class.
 * @bucket: bucket of the loop, MCUBE_UBM_BUCKETS if the run is no loop.
 *
 * Runs of a file do not overlap.  Times wrap: a domain looks at each run more
 * often than every 2^31 references.
 */
struct mcube_ubm_run {
	u32 start;
	u32 end;
	u32 cursor;
	u32 proposed;
	u32 began;
	u32 last;
	u32 period;
	u32 reach;
	u32 held;
	u32 next;
	u16 passes;
	u8 class;
	u8 bucket;
};

/**
 * struct mcube_ubm_cursor - a stream that is not a run yet
 * @start: first page.
 * @next: page that the stream reads next; equal to @start if the cursor is free.
 * @began: time of its first reference.
 * @steps: number of its notes, up to 255.
 * @went_on: its descriptor has read on from where it was, which a reader at random does
 *           not.
 */
struct mcube_ubm_cursor {
	u32 start;
	u32 next;
	u32 began;
	u16 steps;
	bool went_on;
};

/**
 * struct mcube_ubm_trail - what is known of the references to a file
 * @cursor: streams that may become runs, the youngest first.
 * @runs: first run of the file, the most recently referenced run first.
 * @nr: number of runs.
 * @random: notes since a stream went on, up to 255.
 * @mixed: streams that began less steps of streams that went on, 0 to 255.
 * @shift: the file is read at random: only reads of sampled pages are noted, and each of
 *         these pages stands for 2^@shift; 0 if all are noted.
 */
struct mcube_ubm_trail {
	struct mcube_ubm_cursor cursor[MCUBE_UBM_CURSORS];
	u32 runs;
	u8 nr;
	u8 random;
	u8 mixed;
	u8 shift;
};

/**
 * struct mcube_ubm_runs - all runs of a domain
 * @run: room for @size runs.
 * @size: number of runs.
 * @used: runs from @used on were never used.
 * @free: first run that was used and is free.
 * @nr: number of runs in use.
 * @loops: the loops among the runs, by period.
 * @rules: what a run is.
 */
struct mcube_ubm_runs {
	struct mcube_ubm_run *run;
	u32 size;
	u32 used;
	u32 free;
	u32 nr;
	struct mcube_ubm_loops loops;
	struct mcube_ubm_rules rules;
};

void mcube_ubm_runs_init(struct mcube_ubm_runs *runs, struct mcube_ubm_run *run,
			 u32 size, const struct mcube_ubm_rules *rules);
void mcube_ubm_trail_init(struct mcube_ubm_trail *trail);
void mcube_ubm_trail_forget(struct mcube_ubm_runs *runs,
			    struct mcube_ubm_trail *trail);
void mcube_ubm_trail_age(struct mcube_ubm_runs *runs,
			 struct mcube_ubm_trail *trail, u32 now);
u32 mcube_ubm_trail_held(const struct mcube_ubm_runs *runs,
			 const struct mcube_ubm_trail *trail);
bool mcube_ubm_trail_holds(const struct mcube_ubm_runs *runs,
			   const struct mcube_ubm_trail *trail, u32 index);
void mcube_ubm_run_hold(struct mcube_ubm_runs *runs, struct mcube_ubm_run *run,
			u32 held);

/**
 * mcube_ubm_run_at() - the run of a number
 * @runs: the runs of the domain.
 * @id: number of the run.
 *
 * Return: the run.
 */
static inline struct mcube_ubm_run *mcube_ubm_run_at(const struct mcube_ubm_runs *runs,
						     u32 id)
{
	return &runs->run[id];
}

/**
 * mcube_ubm_distance() - how far two pages or times are apart
 * @a: a page or a time.
 * @b: another.
 *
 * Return: the distance.
 */
static inline u32 mcube_ubm_distance(u32 a, u32 b)
{
	return a < b ? b - a : a - b;
}

void mcube_ubm_run_uncount(struct mcube_ubm_runs *runs, const struct mcube_ubm_run *r);
void mcube_ubm_run_count(struct mcube_ubm_runs *runs, const struct mcube_ubm_run *r);
u32 mcube_ubm_run_add(struct mcube_ubm_runs *runs, struct mcube_ubm_trail *trail,
		      u32 start, u32 end, u32 now, u32 keep);
u32 mcube_ubm_run_split(struct mcube_ubm_runs *runs, struct mcube_ubm_trail *trail,
			u32 id, u32 at);
void mcube_ubm_run_pass(struct mcube_ubm_runs *runs, struct mcube_ubm_trail *trail,
			u32 id, u32 began);
void mcube_ubm_run_merge(struct mcube_ubm_runs *runs, struct mcube_ubm_trail *trail,
			 u32 id, u32 next);
u32 mcube_ubm_run_before(const struct mcube_ubm_runs *runs,
			 const struct mcube_ubm_trail *trail, u32 id);
void mcube_ubm_run_front(const struct mcube_ubm_runs *runs, struct mcube_ubm_trail *trail,
			 u32 id);

#endif /* _MM_MCUBE_UBM_RUNS_H */
