/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Page profile: how often does the cache miss on each page of a process?
 *
 * Copyright (C) 2026 The mcube authors
 *
 * Pure: no part of the memory management is needed.  See profile.c for the idea.
 */
#ifndef _DRIVERS_MCUBE_ROCS_PROFILE_H
#define _DRIVERS_MCUBE_ROCS_PROFILE_H

#include <linux/bits.h>
#include <linux/types.h>

/* A miss rate is a number from 0 to ROCS_RATE_ONE. */
#define ROCS_RATE_SHIFT		16
#define ROCS_RATE_ONE		((u32)BIT(ROCS_RATE_SHIFT))

/**
 * struct rocs_page - samples of a page
 * @page: virtual address of the page, in pages.
 * @hits: samples that hit the last-level cache.
 * @misses: samples that missed the last-level cache.
 *
 * A slot without samples is free.
 */
struct rocs_page {
	u64 page;
	u32 hits;
	u32 misses;
};

/**
 * struct rocs_profile - samples of the pages of a process
 * @slot: hash table with open addressing, in memory of the caller.
 * @size: number of slots, a power of 2.
 * @nr: slots in use, at most three quarters of @size.
 * @hits: samples that hit, over all pages in @slot.
 * @misses: samples that missed, over all pages in @slot.
 * @dropped: samples of pages that found no slot.
 */
struct rocs_profile {
	struct rocs_page *slot;
	u32 size;
	u32 nr;
	u64 hits;
	u64 misses;
	u64 dropped;
};

/**
 * struct rocs_entry - a page of the miss-rate stack
 * @page: virtual address of the page, in pages.
 * @samples: samples of the page.
 * @misses: samples that missed the last-level cache.
 * @rate: estimated miss rate, 0..ROCS_RATE_ONE.
 */
struct rocs_entry {
	u64 page;
	u32 samples;
	u32 misses;
	u32 rate;
};

void rocs_profile_init(struct rocs_profile *p, struct rocs_page *slot, u32 size);
bool rocs_profile_full(const struct rocs_profile *p);
void rocs_profile_add(struct rocs_profile *p, u64 page, bool miss);
void rocs_profile_move(struct rocs_profile *to, const struct rocs_profile *from);
u32 rocs_profile_rate(const struct rocs_profile *p);
u32 rocs_profile_stack(const struct rocs_profile *p, struct rocs_entry *stack,
		       u32 max, u32 min_rate);

#endif /* _DRIVERS_MCUBE_ROCS_PROFILE_H */
