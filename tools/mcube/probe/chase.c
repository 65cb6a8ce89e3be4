// SPDX-License-Identifier: GPL-2.0
/* Pointer chases; chase.h says what for. */
#include "chase.h"

#include "numbers.h"

static uint64_t random_state = 88172645463325252ull;

/** random_seed - begin another sequence of random numbers: @seed, not 0 */
void random_seed(uint64_t seed)
{
	random_state = seed * 0x9e3779b97f4a7c15ull | 1;
}

/** random_u64 - Return: a random number */
uint64_t random_u64(void)
{
	return xorshift64s(&random_state);
}

/** random_below - Return: a random number below @n, which is below 2^32 */
size_t random_below(size_t n)
{
	return ((random_u64() >> 32) * n) >> 32;
}

/** shuffle - bring @n numbers @x into random order */
void shuffle(size_t *x, size_t n)
{
	for (size_t i = n; i > 1; i--) {
		size_t j = random_below(i), t = x[j];

		x[j] = x[i - 1];
		x[i - 1] = t;
	}
}

/**
 * chase_link - link lines into a ring of random order
 * @c:		the ring, set up here
 * @base:	start of the buffer
 * @at:		offsets of the words to use, which come out shuffled
 * @n:		how many, at least one
 *
 * No prefetcher can guess the order, and each load has to wait for the one before.
 */
void chase_link(struct chase *c, char *base, size_t *at, size_t n)
{
	shuffle(at, n);
	for (size_t i = 0; i < n; i++)
		*(void **)(base + at[i]) = base + at[(i + 1) % n];
	c->first = (void **)(base + at[0]);
	c->loads = n;
}
