/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Numbers at random, and numbers in order: what files of the probe and the model share.
 */
#ifndef MCUBE_PROBE_NUMBERS_H
#define MCUBE_PROBE_NUMBERS_H

#include <stdint.h>

/**
 * xorshift64s - the next random number, by xorshift64* (Marsaglia, 2003; Vigna, 2016)
 * @x:	the state, not 0
 *
 * Return: the number; its high bits are the better ones.
 */
static inline uint64_t xorshift64s(uint64_t *x)
{
	*x ^= *x >> 12;
	*x ^= *x << 25;
	*x ^= *x >> 27;
	return *x * 0x2545f4914f6cdd1dull;
}

/** by_double - Return: the order of two doubles, for qsort(): @a, @b */
static inline int by_double(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/** by_u64 - Return: the order of two structs that begin with a uint64_t, for qsort(): @a, @b */
static inline int by_u64(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

#endif
