/* SPDX-License-Identifier: GPL-2.0 */
/*
 * UBM: what the detector does to runs; all others see detector.h alone.
 *
 * Copyright (C) 2026 The mcube authors
 *
 * Pure: integers only.  See runs.c for the idea.
 */
#ifndef _MM_MCUBE_UBM_RUNS_H
#define _MM_MCUBE_UBM_RUNS_H

#include "detector.h"

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
