/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A pointer chase over chosen lines: what a load costs while they compete.
 */
#ifndef MCUBE_PROBE_CHASE_H
#define MCUBE_PROBE_CHASE_H

#include <stddef.h>
#include <stdint.h>

/**
 * struct chase - lines that name each other in one ring
 * @first:	any of them
 * @loads:	how many
 */
struct chase {
	void **first;
	size_t loads;
};

uint64_t random_u64(void);
size_t random_below(size_t n);
void random_seed(uint64_t seed);
void shuffle(size_t *x, size_t n);

void chase_link(struct chase *c, char *base, size_t *at, size_t n);
double chase_time(const struct chase *c, unsigned int passes);

#endif
