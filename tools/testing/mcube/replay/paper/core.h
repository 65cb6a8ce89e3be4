/* SPDX-License-Identifier: GPL-2.0 */
/*
 * UBM core: all that a domain knows, behind a few calls.
 *
 * Copyright (C) 2026 The mcube authors
 *
 * Pure: integers only.  See core.c for the idea.
 */
#ifndef _MM_MCUBE_UBM_CORE_H
#define _MM_MCUBE_UBM_CORE_H

#include <linux/types.h>

#include "gain.h"
#include "ghost.h"
#include "guard.h"
#include "partition.h"
#include "table.h"

/* Ranges that a note proposes at most. */
#define MCUBE_UBM_PROPOSALS	3

/**
 * struct mcube_ubm_tuning - what can be set
 * @rules: what the detector takes for a run.
 * @lag: pages behind the cursor that are not proposed yet.
 * @ahead: pages before the cursor that a stream has read ahead.
 * @model: where the gain of the other pages comes from.
 * @guard: whether harm is bounded by the guard.
 */
struct mcube_ubm_tuning {
	struct mcube_ubm_rules rules;
	u32 lag;
	u32 ahead;
	enum mcube_ubm_model model;
	bool guard;
};

/* Least scan_control::priority at which held pages stay in any case. */
#define MCUBE_UBM_KEPT_FROM	3

/* More urgent reclaim passes by held pages if it looks at no more pages at a time. */
#define MCUBE_UBM_KEPT_LOOKS	1024

/*
 * For a kernel that notes references by chunks of 16 pages, and reads two windows of 32 pages
 * ahead: the next window is read when the reader comes to the present window.
 */
#define MCUBE_UBM_TUNING_DEFAULT {					\
	.rules = { .gap = 4, .min = 8, .age = 12, .mixed = 64,	\
		   .chunk_shift = 4 },					\
	.lag = 32,							\
	.ahead = 64,							\
	.model = MCUBE_UBM_HISTOGRAM,					\
	.guard = true,							\
}

/**
 * struct mcube_ubm_refs - references to a row of pages of a file
 * @key: the file.
 * @hash: hash of @key.
 * @first: index of the first page.
 * @end: index after the last page; @first for no page.
 * @prev: index after the page that the descriptor referenced before, or
 *        MCUBE_UBM_NO_PREV.
 * @eof: the row ends with the file.
 */
struct mcube_ubm_refs {
	struct mcube_ubm_key key;
	u32 hash;
	u32 first;
	u32 end;
	u32 prev;
	bool eof;
};

/**
 * struct mcube_ubm_range - pages [from, to) of a file
 * @from: first page.
 * @to: page after the last page.
 * @used: pages [@used, @from) may go as well; they were proposed before, but a folio
 *        stays until the last of its pages may go.
 * @once: the run was read once, so a page that was used more often is of others.
 * @brief: the run is less than half of the cache, and loops are rare: LRU may have the pages
 *         the next time.
 */
struct mcube_ubm_range {
	u32 from;
	u32 to;
	u32 used;
	bool once;
	bool brief;
};

/**
 * struct mcube_ubm_verdict - what follows from a note
 * @class: how the pages are referenced.
 * @from: first page that was referenced.
 * @refs: pages that the note stands for.
 * @shift: the file is read at random: until further notice note only reads of pages
 *         that mcube_ubm_next_sampled() finds with this shift, and reads that go
 *         on where the descriptor's last read has ended; 0: note all.
 * @run: run that was read last, NULL if none; valid until the next call.
 * @changed: the run is new or has changed its class.
 * @balanced: the sizes of the partitions were computed.
 * @guard_changed: the guard begins or ends to hold UBM back.
 * @propose: pages of the file that have been used and may leave memory.
 * @nr_propose: number of ranges in @propose.
 */
struct mcube_ubm_verdict {
	enum mcube_ubm_class class;
	u32 from;
	u32 refs;
	u32 shift;
	const struct mcube_ubm_run *run;
	bool changed;
	bool balanced;
	bool guard_changed;
	struct mcube_ubm_range propose[MCUBE_UBM_PROPOSALS];
	u32 nr_propose;
};

/**
 * struct mcube_ubm_core - a domain
 * @tuning: what can be set.
 * @table: files and runs.
 * @other: ghost stack of the other references, and of sequences if these return.
 * @other_refs: other references, halved with what the ghost stack has counted.
 * @lru: ghost stack of all references: what plain LRU would hit.
 * @first: sampled references to pages of runs in their first pass.
 * @returned: those that plain LRU hits, as the domain found out later.
 * @explained: misses of pages that were referenced later.
 * @quiet_from: time when a page was referenced again last.
 * @quiet_other: references out of order by then.
 * @gain: marginal gain of the other pages.
 * @shares: sizes of the partitions.
 * @guard: bounds the harm.
 * @capacity: pages of the cache.
 * @now: the clock: references so far.
 * @balance_at: time when the sizes are computed next.
 * @missed: misses so far.
 * @lru_missed: misses that plain LRU would have had, estimated from the sample.
 * @refs: references so far by enum mcube_ubm_class.
 */
struct mcube_ubm_core {
	struct mcube_ubm_tuning tuning;
	struct mcube_ubm_table table;
	struct mcube_ubm_ghost other;
	u64 other_refs;
	struct mcube_ubm_ghost lru;
	u32 first;
	u32 returned;
	u64 explained;
	u64 quiet_from;
	u64 quiet_other;
	struct mcube_ubm_gain gain;
	struct mcube_ubm_shares shares;
	struct mcube_ubm_guard guard;
	u32 capacity;
	u64 now;
	u64 balance_at;
	u64 missed;
	u64 lru_missed;
	u64 refs[3];
};

/**
 * mcube_ubm_kept_urgently() - does reclaim leave held pages alone when it is urgent?
 * @capacity: pages of the cache.
 * @held: pages that all loops hold.
 * @row: held pages that reclaim came by in a row.
 * @priority: how urgent reclaim is, below MCUBE_UBM_KEPT_FROM.
 * @found: reclaim has found other pages in this cache.
 *
 * Return: true if held pages stay.
 */
static inline bool mcube_ubm_kept_urgently(u32 capacity, u64 held, u64 row, int priority,
					   bool found)
{
	return capacity >> priority <= MCUBE_UBM_KEPT_LOOKS &&
	       (found || (priority && row <= held));
}

/**
 * mcube_ubm_kept_enough() - has reclaim kept so much that nothing stays any more?
 * @capacity: pages of the cache.
 * @held: pages that all loops hold.
 * @kept: pages that reclaim has kept since a held loop was last read.
 *
 * Return: true if nothing stays until a held loop is read again.
 */
static inline bool mcube_ubm_kept_enough(u32 capacity, u64 held, u64 kept)
{
	return kept >= capacity / 2 + held;
}

size_t mcube_ubm_core_bytes(u64 capacity);
void mcube_ubm_core_init(struct mcube_ubm_core *core, u64 capacity,
			 const struct mcube_ubm_tuning *tuning);
void mcube_ubm_core_tune(struct mcube_ubm_core *core,
			 const struct mcube_ubm_tuning *tuning);
void mcube_ubm_core_resize(struct mcube_ubm_core *core, u64 capacity);
void mcube_ubm_core_note(struct mcube_ubm_core *core,
			 const struct mcube_ubm_refs *refs, bool away,
			 struct mcube_ubm_verdict *verdict);
bool mcube_ubm_core_held(const struct mcube_ubm_core *core,
			 const struct mcube_ubm_key *key, u32 hash, u32 index);
void mcube_ubm_core_missed(struct mcube_ubm_core *core, u32 hash, u32 first,
			   u32 nr);

#endif /* _MM_MCUBE_UBM_CORE_H */
