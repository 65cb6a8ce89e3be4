// SPDX-License-Identifier: GPL-2.0
/*
 * Guest physical addresses, fast where QEMU allows it.
 *
 * qemu_plugin_hwaddr_phys_addr() returns an offset into QEMU's address space of
 * RAM blocks. That is the physical address if the guest's RAM was the first memory
 * object to be made and lies below 3 GiB, which the command line has to see to;
 * offsets past its end belong to video memory, firmware and the page shared
 * with the guest. The function searches the blocks each time. So the model
 * looks at the host address inside the opaque structure, learns from the
 * function where RAM begins, and from then on subtracts. It goes on comparing
 * the two once in a while, and never subtracts again after they differ.
 */
#include "physical.h"

#include <stdio.h>

#define LEARN		1000u		/* equal answers before they are believed */
#define RECHECK		(1u << 16)	/* fast answers from one comparison to the next */
#define FIRST_MIB	(1ull << 20)	/* below it, firmware may be mapped over RAM */

uint64_t physical_ram, physical_base;
unsigned int physical_countdown;

static uint64_t candidate;
static unsigned int agreed;
static bool given_up;

void physical_init(uint64_t ram_bytes)
{
	physical_ram = ram_bytes;
}

static void compare(uint64_t base)
{
	if (given_up)
		return;
	if (physical_base && base != physical_base) {
		fprintf(stderr, "mcube-model: RAM moved; using the slow way to addresses\n");
		given_up = true;
		physical_base = 0;
		return;
	}
	agreed = base == candidate ? agreed + 1 : 0;
	candidate = base;
	if (agreed >= LEARN)
		physical_base = base;
}

/* Ask QEMU, and learn. */
uint64_t physical_slow(const struct qemu_plugin_hwaddr *h)
{
	const struct hwaddr_guess *guess = (const void *)h;
	uint64_t address;

	physical_countdown = RECHECK;
	if (!h || qemu_plugin_hwaddr_is_io(h))
		return NOT_RAM;
	address = qemu_plugin_hwaddr_phys_addr(h);
	if (address >= physical_ram)
		return NOT_RAM;
	if (address >= FIRST_MIB)
		compare(guess->is_io ? 0 : guess->host - address);
	return address;
}
