// SPDX-License-Identifier: GPL-2.0
/*
 * Merge sort of random integers, bottom up. A round: a sort.
 */

#include <string.h>

#include "victim.h"

static uint64_t *keys, *spare, key_sum;

static size_t sort_setup(size_t bytes)
{
	n = bytes / 2 / sizeof(*keys);
	keys = take(n * sizeof(*keys));
	spare = take(n * sizeof(*spare));
	return n * (3 * (log2_of(n) + 1) + 1);
}

static void merge(const uint64_t *a, size_t na, const uint64_t *b, size_t nb,
		  uint64_t *to)
{
	while (na && nb) {
		if (*b < *a) {
			*to++ = *b++;
			nb--;
		} else {
			*to++ = *a++;
			na--;
		}
	}
	memcpy(to, na ? a : b, (na + nb) * sizeof(*to));
}

static void sort_round(long round)
{
	(void)round;
	key_sum = 0;
	for (size_t i = 0; i < n; i++)
		key_sum += keys[i] = random_number();
	for (size_t width = 1; width < n; width *= 2) {
		uint64_t *old = keys;

		for (size_t i = 0; i < n; i += 2 * width) {
			size_t left = width < n - i ? width : n - i;
			size_t right = width < n - i - left ? width : n - i - left;

			merge(keys + i, left, keys + i + left, right, spare + i);
		}
		keys = spare;
		spare = old;
	}
}

static bool sort_right(void)
{
	uint64_t sum = keys[0];

	for (size_t i = 1; i < n; i++) {
		if (keys[i - 1] > keys[i])
			return false;
		sum += keys[i];
	}
	return sum == key_sum;
}

const struct victim sort = { "sort", sort_setup, sort_round, once, sort_right, NULL };
