// SPDX-License-Identifier: GPL-2.0
/*
 * ROCS: the sampling period
 *
 * Copyright (C) 2026 The mcube authors
 *
 * A sample costs an interrupt, so sampling has a budget: a share of the cycles that
 * the process runs.  How many events of the cache a process has in a cycle is not
 * known before and changes, so the period follows what was counted:
 *
 *   samples in the window x cost of a sample
 *   ---------------------------------------- = share that was spent
 *            cycles of the window
 *
 *   share above the budget: longer period;  below: shorter period
 *
 * A step is a factor of two at most: a window with few samples says little.  Periods
 * are multiples of %ROCS_PERIOD_MIN, which all processors take.
 *
 * Differences from the paper (Soares, Tam and Stumm, MICRO 2008): the paper samples
 * with a fixed rate that costs 1.6 % on average and 3.8 % in the worst case.
 */

#include <linux/math.h>
#include <linux/math64.h>
#include <linux/minmax.h>

#include "period.h"

/**
 * rocs_period_next() - the period of the next window
 * @period: period of the last window, ROCS_PERIOD_MIN..ROCS_PERIOD_MAX.
 * @samples: samples that were taken in the last window.
 * @cycles: cycles that the process ran in the last window, less than 2^53.
 * @cost: cycles that a sample costs, not 0.
 * @permille: share of the cycles that may be spent on samples, 1..1000.
 *
 * Return: the period, a multiple of ROCS_PERIOD_MIN, up to ROCS_PERIOD_MAX.
 */
u32 rocs_period_next(u32 period, u64 samples, u64 cycles, u32 cost, u32 permille)
{
	u64 allowed = min(div64_u64(cycles * permille, 1000ULL * cost),
			  cycles / ROCS_PERIOD_APART);
	u64 next;

	if (samples >= 2 * allowed)
		next = 2ULL * period;
	else if (samples <= allowed / 2)
		next = period / 2;
	else
		next = div64_u64(period * samples, allowed);
	next = clamp(next, (u64)ROCS_PERIOD_MIN, (u64)ROCS_PERIOD_MAX);
	return round_up(next, ROCS_PERIOD_MIN);
}
