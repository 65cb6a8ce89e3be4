/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The kernel's generator, so a seed gives the same numbers as in the kernel.
 * tools/include has no generator, and lib/random32.c does not build outside the kernel;
 * shim.c defines the two functions.
 */
#ifndef MCUBE_SHIM_PRANDOM_H
#define MCUBE_SHIM_PRANDOM_H

#include <linux/types.h>

struct rnd_state {
	__u32 s1, s2, s3, s4;
};

u32 prandom_u32_state(struct rnd_state *state);
void prandom_seed_state(struct rnd_state *state, u64 seed);

#endif
