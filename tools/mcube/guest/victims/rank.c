// SPDX-License-Identifier: GPL-2.0
/*
 * Integer sort by counting, as in the NAS benchmark IS. A round: the ranks of all keys.
 *
 * Keys are counted and placed at random in an array of counts and an array of places, with
 * no order in the accesses.
 */

#include <string.h>

#include "victim.h"

static uint32_t *keys, *counts, *places;
static size_t nr_keys;	/* different keys */

static size_t rank_setup(size_t bytes)
{
	n = (bytes - 4 * 64) / sizeof(*keys) * 4 / 9;
	nr_keys = n / 4;
	keys = take(n * sizeof(*keys));
	places = take(n * sizeof(*places));
	counts = take((nr_keys + 1) * sizeof(*counts));
	for (size_t i = 0; i < n; i++)
		keys[i] = random_number() % nr_keys;
	return n * 7;
}

static void rank_round(long round)
{
	/* Another key each time, so that no round is the same. */
	keys[round % n] = random_number() % nr_keys;
	memset(counts, 0, (nr_keys + 1) * sizeof(*counts));
	for (size_t i = 0; i < n; i++)
		counts[keys[i] + 1]++;
	for (size_t k = 1; k < nr_keys; k++)
		counts[k] += counts[k - 1];
	for (size_t i = 0; i < n; i++)
		places[counts[keys[i]]++] = i;
}

/* Each key has a place, and the places are in the order of the keys. */
static bool rank_right(void)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < n; i++) {
		if (places[i] >= n || (i && keys[places[i - 1]] > keys[places[i]]))
			return false;
		sum += places[i];
	}
	return sum == (uint64_t)n * (n - 1) / 2;
}

const struct victim rank = { "rank", rank_setup, rank_round, twice, rank_right, NULL };
