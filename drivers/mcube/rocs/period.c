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
 * A window with few samples says little, so the period gets shorter only as far as
 * ENOUGH more samples would allow.  It gets longer at once.  The first period takes each
 * access for one that the event counts, so that the first window does not exceed the
 * budget: perf would throttle the event, and samples would come in bursts.  Periods are
 * multiples of %ROCS_PERIOD_MIN, which all processors take.
 *
 * Looks at counters (control.c) cost time as well, however little the processes run.  So
 * each look is followed by a rest that is as much longer as the budget says, a tenth of
 * one CPU being the most.
 *
 * Differences from the paper (Soares, Tam and Stumm, MICRO 2008): the paper samples
 * with a fixed rate that costs 1.6 % on average and 3.8 % in the worst case.
 */

#include <linux/math.h>
#include <linux/math64.h>
#include <linux/minmax.h>

#include "period.h"

/* Samples after which a count is known well enough. */
#define ENOUGH		32U

/* The period gets shorter by this factor at most. */
#define SHORTER		16U

/* Most of the time that looks may take, in permille, and the longest rest in ns. */
#define MOST_LOOKS	100U
#define LONGEST_REST	10000000000ULL

/* Samples that may be taken in so many cycles. */
static u64 allowed_samples(u64 cycles, u32 cost, u32 permille)
{
	u64 allowed = min(div64_u64(cycles * permille, 1000ULL * cost),
			  cycles / ROCS_PERIOD_APART);

	return max(allowed, 1ULL);
}

static u32 round_period(u64 period)
{
	period = clamp(period, (u64)ROCS_PERIOD_MIN, (u64)ROCS_PERIOD_MAX);
	return round_up(period, ROCS_PERIOD_MIN);
}

/**
 * rocs_period_first() - the period of the first window
 * @events: what the sampled events would have counted in a window, at most.
 * @cycles: cycles that the process ran in that window, less than 2^53.
 * @cost: cycles that a sample costs, not 0.
 * @permille: share of the cycles that may be spent on samples, 1..1000.
 *
 * Return: the period, a multiple of ROCS_PERIOD_MIN, up to ROCS_PERIOD_MAX.
 */
u32 rocs_period_first(u64 events, u64 cycles, u32 cost, u32 permille)
{
	return round_period(div64_u64(events, allowed_samples(cycles, cost, permille)));
}

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
	u64 allowed = allowed_samples(cycles, cost, permille);

	if (samples < allowed)
		samples = min(samples + ENOUGH, allowed);
	return round_period(max(div64_u64(period * samples, allowed),
				(u64)period / SHORTER));
}

/**
 * rocs_period_rest() - time from the end of a look to the next look
 * @spent: time that the look took, in ns.
 * @permille: share of the time that looks may take, 1..1000; a tenth is the most.
 *
 * Return: time in ns, ten seconds at most.
 */
u64 rocs_period_rest(u64 spent, u32 permille)
{
	permille = min(permille, MOST_LOOKS);
	spent = min(spent, LONGEST_REST);
	return min(div64_u64(spent * (1000 - permille), permille), LONGEST_REST);
}
