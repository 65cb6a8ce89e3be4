/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The host memory behind the guest's; backing.c says what for.
 */
#ifndef MCUBE_MODEL_BACKING_H
#define MCUBE_MODEL_BACKING_H

#include <stdbool.h>
#include <stdint.h>

#define BACKING_HOST	(4ull << 30)	/* bytes of memory that the host has */

/**
 * struct backing - which frame of the host backs which frame of the guest
 * @shift:	log2 of the bytes of a frame
 * @frames:	frames of the host, 0: a guest address is the host's address
 * @host:	by frame of the guest
 * @guest:	by frame of the host
 */
struct backing {
	unsigned int shift;
	uint64_t frames;
	uint32_t *host;
	uint32_t *guest;
};

bool backing_init(struct backing *b, uint64_t bytes, uint64_t seed);
void backing_free(struct backing *b);

static inline uint64_t backing_other(const struct backing *b, const uint32_t *frame,
				     uint64_t address)
{
	uint64_t n = address >> b->shift;

	if (n >= b->frames)
		return address;
	return (uint64_t)frame[n] << b->shift | (address & ((1ull << b->shift) - 1));
}

/**
 * backing_host - the address that caches and DRAM see
 * @b:		the memory
 * @address:	physical address in the guest
 *
 * Return: physical address in the host.
 */
static inline uint64_t backing_host(const struct backing *b, uint64_t address)
{
	return backing_other(b, b->host, address);
}

/**
 * backing_guest - the address that the guest knows
 * @b:		the memory
 * @address:	physical address in the host
 *
 * Return: physical address in the guest.
 */
static inline uint64_t backing_guest(const struct backing *b, uint64_t address)
{
	return backing_other(b, b->guest, address);
}

#endif
