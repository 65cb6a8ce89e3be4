/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Sampling period: as many samples as the budget allows.
 *
 * Copyright (C) 2026 The mcube authors
 *
 * Pure: integers only.  See period.c for the idea.
 */
#ifndef _DRIVERS_MCUBE_ROCS_PERIOD_H
#define _DRIVERS_MCUBE_ROCS_PERIOD_H

#include <linux/bits.h>
#include <linux/types.h>

/*
 * Events between two samples.  Intel's Haswell takes no period below 32, and AMD's IBS
 * takes multiples of 16 only.
 */
#define ROCS_PERIOD_MIN		32U
#define ROCS_PERIOD_MAX		((u32)BIT(24))

/* Cycles that lie between two samples at least, on average. */
#define ROCS_PERIOD_APART	5000U

u32 rocs_period_first(u64 events, u64 cycles, u32 cost, u32 permille);
u32 rocs_period_next(u32 period, u64 samples, u64 cycles, u32 cost, u32 permille);
u64 rocs_period_rest(u64 spent, u32 permille);

#endif /* _DRIVERS_MCUBE_ROCS_PERIOD_H */
