// SPDX-License-Identifier: GPL-2.0
/*
 * phases: two phases in turn, in which different arrays pollute the cache.
 *
 *	phase 0		table 0 is looked up at random, stream 1 is read once
 *	phase 1		table 1 is looked up at random, stream 0 is read once
 *
 * It stands for no program. It tests whether a change of phase is found: the pages
 * that were moved away from the cache in one phase are those that are reused in the
 * next. A phase has --phase iterations.
 *
 * Each table has 3/4 of the cache; the table of one phase is part of the stream of
 * the other phase.
 */
#include "load.h"

#define LOOKUPS		8192
#define STRIDE		2	/* lookups for each line of the stream */

static uint64_t *half[2];
static size_t words, at;
unsigned long phase_iterations = 200;

static void setup(size_t cache)
{
	words = cache * 3 / 2 / sizeof(uint64_t);
	at = 0;
	for (int i = 0; i < 2; i++) {
		half[i] = take(words * sizeof(uint64_t), REUSED);
		for (size_t k = 0; k < words; k++)
			half[i][k] = random_number();
	}
}

static void iterate(unsigned long n)
{
	unsigned int phase = n / phase_iterations % 2;
	uint64_t *table = half[phase], *stream = half[!phase];

	for (unsigned int i = 0; i < LOOKUPS; i++) {
		uint64_t k = random_number();

		table[k % (words / 2)] += k;
		if (i % STRIDE)
			continue;
		stream[at] ^= k;
		at = (at + LINE / sizeof(*stream)) % words;
	}
}

const struct load phases = { "phases", setup, iterate };
