/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The probe: what its files share
 *
 * Copyright (C) 2026 The mcube authors
 */
#ifndef _DRIVERS_MCUBE_PROBE_INTERNAL_H
#define _DRIVERS_MCUBE_PROBE_INTERNAL_H

#include <linux/bits.h>
#include <linux/mmzone.h>
#include <linux/sizes.h>
#include <linux/types.h>
#include <linux/xarray.h>

/* Blocks of whole large pages: uncached, they split no mapping of 2 MiB. */
#define PROBE_ORDER	MAX_PAGE_ORDER
#define PROBE_PAGES	BIT(PROBE_ORDER)
#define PROBE_BYTES	(PAGE_SIZE << PROBE_ORDER)
#define PROBE_MIB	((unsigned int)(PROBE_BYTES / SZ_1M))
#define PROBE_MAX_MIB	1024U
#define PROBE_LINE	64U
/* Pairs with interrupts off; an uncached access takes 100 to 400 ns. */
#define PROBE_PIECE	50U
#define PROBE_REPEAT	500U
#define PROBE_MAX_REPEAT 5000U
#define PROBE_PIECES	(PROBE_MAX_REPEAT / PROBE_PIECE)
#define PROBE_MAX_COUNT	16777216U
#define PROBE_MAX_BYTES	BIT_ULL(46)

/**
 * struct probe_plan - what to measure; bytes count from the first byte of the memory
 * @mib: memory to hold, in MiB.
 * @node: memory node of it.
 * @repeat: how often each pair is accessed, a multiple of %PROBE_PIECE.
 * @base: the line that stays, the paper's CL_1.
 * @start: distance from @base to the first line that moves, CL_2.
 * @step: from one CL_2 to the next.
 * @count: number of pairs.
 */
struct probe_plan {
	unsigned int mib, repeat;
	int node;
	u64 base, start, step, count;
};

/**
 * struct probe_memory - uncached memory
 * @blocks: address of each block by its physical address / %PROBE_BYTES.
 * @first: index from which distances count, where most blocks follow closely.
 * @last: the highest index.
 * @nr: number of blocks.
 * @cached: cost of a pair before the first block became uncached, as of probe_pair().
 * @uncached: cost of the same pair after that.
 */
struct probe_memory {
	struct xarray blocks;
	unsigned long first, last;
	unsigned int nr;
	u64 cached, uncached;
};

/**
 * struct probe_pieces - scratch memory of probe_pair()
 * @cycles: of each piece.
 */
struct probe_pieces {
	u64 cycles[PROBE_PIECES];
};

/* memory.c */
int probe_refused(void);
unsigned int probe_max_mib(int node);
int probe_hold(struct probe_memory *m, int node, unsigned int mib, struct probe_pieces *pieces);
void probe_drop(struct probe_memory *m);
void *probe_at(struct probe_memory *m, u64 offset);
u64 probe_pair(const void *one, const void *other, unsigned int repeat,
	       struct probe_pieces *pieces, u64 *median);
bool probe_is_uncached(const struct probe_memory *m);

/* plan.c */
int probe_parse(char *text, struct probe_plan *plan);

#endif /* _DRIVERS_MCUBE_PROBE_INTERNAL_H */
