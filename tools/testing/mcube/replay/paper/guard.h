/* SPDX-License-Identifier: GPL-2.0 */
/*
 * UBM guard: bounds the harm against plain LRU.
 *
 * Copyright (C) 2026 The mcube authors
 *
 * Pure: integers only.  See guard.c for the idea.
 */
#ifndef _MM_MCUBE_UBM_GUARD_H
#define _MM_MCUBE_UBM_GUARD_H

#include <linux/types.h>

/**
 * struct mcube_ubm_guard - UBM against plain LRU
 * @lead: sampled pages that UBM has gained less those that it has lost, from just
 *        below -@slack to @most.
 * @slack: UBM stands back when it lags by more.
 * @most: lead that is remembered.
 * @unit: references of the shortest term.
 * @term: references of the next term.
 * @left: references for which UBM stands back still; 0 if it does not.
 * @trips: number of times that UBM has stood back.
 */
struct mcube_ubm_guard {
	s32 lead;
	s32 slack;
	s32 most;
	u64 unit;
	u64 term;
	u64 left;
	u32 trips;
};

void mcube_ubm_guard_init(struct mcube_ubm_guard *guard);
void mcube_ubm_guard_resize(struct mcube_ubm_guard *guard, u32 pages,
			    unsigned int shift);
void mcube_ubm_guard_gain(struct mcube_ubm_guard *guard);
void mcube_ubm_guard_lose(struct mcube_ubm_guard *guard);
bool mcube_ubm_guard_step(struct mcube_ubm_guard *guard, u32 refs);

/**
 * mcube_ubm_guard_on() - does UBM stand back?
 * @guard: the guard.
 *
 * Return: true while nothing may be held or proposed.
 */
static inline bool mcube_ubm_guard_on(const struct mcube_ubm_guard *guard)
{
	return guard->left;
}

#endif /* _MM_MCUBE_UBM_GUARD_H */
