/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Memory to time: which pages back it, and what is known of its physical addresses.
 *
 * "Physical" is what this kernel takes for physical.  Under a hypervisor these are
 * guest-physical addresses, and what backs them is for the timing to find out.
 */
#ifndef MCUBE_PROBE_MEMORY_H
#define MCUBE_PROBE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PAGE_SHIFT	12
#define PAGE		(1ul << PAGE_SHIFT)
#define SHIFT_4K	12
#define SHIFT_2M	21
#define SHIFT_1G	30

/**
 * struct memory - a buffer, locked, each page of it touched
 * @base:	start, a multiple of 1 << @shift
 * @bytes:	length, a multiple of 1 << @shift
 * @shift:	what backs all of it for certain: SHIFT_1G, SHIFT_2M or SHIFT_4K
 * @physical:	the frame numbers are known; else address bits from @shift up are unknown
 * @how:	"hugetlb", "thp" or "pages"
 * @unit:	physical address of each unit of 1 << @shift bytes, 0 without @physical
 * @mapped:	the whole mapping, which may begin before @base
 * @mapped_bytes: its length
 */
struct memory {
	char *base;
	size_t bytes;
	unsigned int shift;
	bool physical;
	const char *how;
	uint64_t *unit;
	void *mapped;
	size_t mapped_bytes;
};

/**
 * struct memory_unit - a unit of a buffer
 * @address:	physical address of its first byte
 * @at:		where it is mapped
 */
struct memory_unit {
	uint64_t address;
	char *at;
};

const char *memory_get(struct memory *m, size_t bytes, unsigned int shift);
void memory_put(struct memory *m);
size_t memory_available(void);
struct memory_unit *memory_sort(const struct memory *m);
char *memory_find(const struct memory *m, const struct memory_unit *unit, size_t n,
		  uint64_t address);

/**
 * memory_address - physical address of a byte of the buffer
 * @m:		the buffer
 * @offset:	offset of the byte in it
 *
 * Return: the address; without @m->physical only the bits below @m->shift are right, and
 * the other bits are 0.
 */
static inline uint64_t memory_address(const struct memory *m, size_t offset)
{
	return m->unit[offset >> m->shift] | (offset & ((1ul << m->shift) - 1));
}

#endif
