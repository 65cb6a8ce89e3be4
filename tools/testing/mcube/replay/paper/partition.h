/* SPDX-License-Identifier: GPL-2.0 */
/*
 * UBM partition: which loops are held in memory, and how far.
 *
 * Copyright (C) 2026 The mcube authors
 *
 * Pure: integers only.  See partition.c for the idea.
 */
#ifndef _MM_MCUBE_UBM_PARTITION_H
#define _MM_MCUBE_UBM_PARTITION_H

#include <linux/types.h>

#include "gain.h"

/* Buckets of periods, four for each octave of 32 bits. */
#define MCUBE_UBM_BUCKETS	128U

/**
 * struct mcube_ubm_loops - loops by period
 * @wanted: pages of the loops of a bucket.
 * @held: pages of them that are held.
 * @all: pages that are held, of all buckets.
 */
struct mcube_ubm_loops {
	u64 wanted[MCUBE_UBM_BUCKETS];
	u64 held[MCUBE_UBM_BUCKETS];
	u64 all;
};

/**
 * struct mcube_ubm_shares - how a cache is shared out
 * @cutoff: loops of buckets below are held whole, loops of buckets above are
 *          not held; MCUBE_UBM_BUCKETS if all loops are held whole.
 * @grant: pages for the loops of bucket @cutoff.
 * @loop: pages for loops.
 * @other: pages for all other pages.
 * @mg_loop: gain of another page for the loops.
 * @mg_other: gain of the last page of the other pages.
 */
struct mcube_ubm_shares {
	u32 cutoff;
	u32 grant;
	u32 loop;
	u32 other;
	u64 mg_loop;
	u64 mg_other;
};

u32 mcube_ubm_bucket(u32 period);
u32 mcube_ubm_bucket_keep(u32 bucket, u32 period);
u64 mcube_ubm_bucket_gain(u32 bucket);
void mcube_ubm_loops_add(struct mcube_ubm_loops *loops, u32 bucket, u32 wanted,
			 u32 held);
void mcube_ubm_loops_remove(struct mcube_ubm_loops *loops, u32 bucket,
			    u32 wanted, u32 held);
void mcube_ubm_shares_compute(struct mcube_ubm_shares *shares,
			      const struct mcube_ubm_loops *loops,
			      const struct mcube_ubm_gain *gain, u32 pages);
u32 mcube_ubm_shares_hold(const struct mcube_ubm_shares *shares,
			  const struct mcube_ubm_loops *loops, u32 bucket,
			  u32 wanted, u32 held);

#endif /* _MM_MCUBE_UBM_PARTITION_H */
