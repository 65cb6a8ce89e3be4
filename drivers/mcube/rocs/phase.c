// SPDX-License-Identifier: GPL-2.0
/*
 * ROCS: phases of a program
 *
 * Copyright (C) 2026 The mcube authors
 *
 * A program does one thing for a while, and then another thing with other pages.
 * Pages that were chosen for the first phase are wrong in the second phase.  The
 * misses per thousand instructions of each window of some 10^9 cycles tell:
 *
 *   misses  ______                    ________
 *                 \   /\             /  x x x     x: unusual
 *                  ---  -----------   |     |
 *          usual follows slowly       |     confirmed: a new phase
 *                                     first unusual window
 *
 * A single unusual window is not a new phase: the program may have waited, or
 * have been beside another program.
 *
 * Source: Soares, Tam and Stumm, MICRO 2008, section 5.1.  The paper does not say
 * how it compares windows.
 */

#include <linux/minmax.h>

#include "phase.h"

/* The average takes over 1/2^FOLLOW of the difference in each window. */
#define FOLLOW	3

/**
 * rocs_phase_window() - the value of another window
 * @p: what is usual; all zero before the first window.
 * @value: the value of the window, below 2^48.
 * @percent: a value is unusual if it differs by more than this from what is
 *           usual.
 * @confirm: unusual windows in a row that make a new phase, at least 1.
 *
 * Return: true if a new phase has begun; the value is what is usual now.
 */
bool rocs_phase_window(struct rocs_phase *p, u64 value, u32 percent, u32 confirm)
{
	u64 apart = max(p->usual, value) - min(p->usual, value);

	if (!p->known) {
		p->known = true;
		p->usual = value;
		return false;
	}
	if (apart * 100 > p->usual * percent) {
		if (++p->unusual < confirm)
			return false;
		p->usual = value;
		p->unusual = 0;
		return true;
	}
	p->unusual = 0;
	if (value > p->usual)
		p->usual += apart >> FOLLOW;
	else
		p->usual -= apart >> FOLLOW;
	return false;
}
