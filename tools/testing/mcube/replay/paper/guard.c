// SPDX-License-Identifier: GPL-2.0
/*
 * UBM guard: bounds the harm against plain LRU
 *
 * Copyright (C) 2026 The mcube authors
 *
 * Whatever was detected may end the next moment, and for some programs nothing is
 * better than LRU.  The ghost stack of all references tells what plain LRU would
 * have in memory.  A page that is loaded although LRU would have it is a loss, a
 * page that is found although LRU would not have it is a gain:
 *
 *   lead     most ........................  UBM has earned: terms are short again
 *             0   --.    .--.
 *                    \__/    \
 *          -slack             \ ..........  UBM lags: plain LRU for a term,
 *                                           the next term is twice as long
 *
 * So UBM loses at most about slack + refill misses per term, and terms grow: the loss
 * becomes small against all references.
 *
 * Source: own; the paper (Kim et al., OSDI 2000) bounds nothing, and loses against
 * LRU where first references look sequential.
 *
 * Both are counted page by page, for the same sampled pages.  If the sums of misses
 * were compared, the noise of the sample, and each reference that is not noted,
 * would be taken for a lead or a lag.
 */

#include <linux/minmax.h>
#include <linux/string.h>

#include "guard.h"

/* Slack and most, in parts of the cache; the shortest term in caches. */
#define SLACK		16
#define MOST		8
#define UNIT		1
/* The longest term in shortest terms. */
#define LONGEST		256

/**
 * mcube_ubm_guard_init() - begin without lead and lag
 * @guard: filled in; call mcube_ubm_guard_resize() next.
 */
void mcube_ubm_guard_init(struct mcube_ubm_guard *guard)
{
	memset(guard, 0, sizeof(*guard));
}

/**
 * mcube_ubm_guard_resize() - guard a cache of another size
 * @guard: the guard.
 * @pages: pages of the cache.
 * @shift: one in 2^@shift pages is sampled.
 */
void mcube_ubm_guard_resize(struct mcube_ubm_guard *guard, u32 pages,
			    unsigned int shift)
{
	u32 sampled = pages >> shift;

	guard->slack = max(sampled / SLACK, 8U);
	guard->most = max(sampled / MOST, 8U);
	guard->unit = max((u64)pages * UNIT, 64ULL);
	guard->term = clamp(guard->term, guard->unit, guard->unit * LONGEST);
}

/**
 * mcube_ubm_guard_gain() - a sampled page was found that LRU would not have
 * @guard: the guard.
 */
void mcube_ubm_guard_gain(struct mcube_ubm_guard *guard)
{
	guard->lead = min(guard->lead + 1, guard->most);
}

/**
 * mcube_ubm_guard_lose() - a sampled page was loaded that LRU would have
 * @guard: the guard.
 */
void mcube_ubm_guard_lose(struct mcube_ubm_guard *guard)
{
	guard->lead = max(guard->lead - 1, -guard->slack - 1);
}

/**
 * mcube_ubm_guard_step() - time goes on
 * @guard: the guard.
 * @refs: references since the last step.
 *
 * Return: true if UBM begins or ends to stand back.
 */
bool mcube_ubm_guard_step(struct mcube_ubm_guard *guard, u32 refs)
{
	if (guard->left) {
		guard->left -= min_t(u64, refs, guard->left);
		if (guard->left)
			return false;
		guard->lead = 0;
		return true;
	}
	if (guard->lead >= guard->most)
		guard->term = guard->unit;
	if (guard->lead >= -guard->slack)
		return false;
	guard->left = guard->term;
	guard->term = min(guard->term * 2, guard->unit * LONGEST);
	guard->trips++;
	return true;
}
