// SPDX-License-Identifier: GPL-2.0
/*
 * A guest whose memory is frames of the host in shuffled order.
 *
 *	guest address ---> host address ---> sets, channels, banks, rows
 *	      ^                 |
 *	      +-----------------+  samples and counts by page frame
 *
 * A host backs a guest by pages of 4 KiB, 2 MiB or 1 GiB, wherever it has some free. So
 * bits of a guest address above the page say nothing about sets and banks. Each frame
 * of the guest gets a frame of the host's BACKING_HOST bytes, by the seed. What the
 * guest reads from the model has its own addresses, as in a guest on hardware.
 */
#include "backing.h"

#include <stdlib.h>

#include "../probe/numbers.h"

/**
 * backing_init - choose the frames of the host
 * @b:		set up here
 * @bytes:	bytes of a frame, a power of two; 0: guest addresses are the host's
 * @seed:	seed of the order
 *
 * Return: false if memory is short.
 */
bool backing_init(struct backing *b, uint64_t bytes, uint64_t seed)
{
	uint64_t state = seed * 0x9e3779b97f4a7c15ull + 0x632be59bd9b4e019ull;

	*b = (struct backing){ };
	if (!bytes)
		return true;
	state |= !state;
	b->shift = __builtin_ctzll(bytes);
	b->frames = BACKING_HOST >> b->shift;
	b->host = malloc(b->frames * sizeof(*b->host));
	b->guest = malloc(b->frames * sizeof(*b->guest));
	if (!b->host || !b->guest) {
		backing_free(b);
		return false;
	}
	for (uint64_t i = 0; i < b->frames; i++)
		b->host[i] = i;
	for (uint64_t i = b->frames - 1; i; i--) {
		uint64_t k = xorshift64s(&state) % (i + 1);
		uint32_t old = b->host[i];

		b->host[i] = b->host[k];
		b->host[k] = old;
	}
	for (uint64_t i = 0; i < b->frames; i++)
		b->guest[b->host[i]] = i;
	return true;
}

/**
 * backing_free - free the tables
 * @b:	the memory
 */
void backing_free(struct backing *b)
{
	free(b->host);
	free(b->guest);
	*b = (struct backing){ };
}
