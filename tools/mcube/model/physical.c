// SPDX-License-Identifier: GPL-2.0
/*
 * Guest physical addresses, fast where QEMU allows it.
 *
 * qemu_plugin_hwaddr_phys_addr() returns an offset into QEMU's address space of
 * RAM blocks. The offset is the physical address if the guest's RAM is the first
 * memory object and lies below 3 GiB; the command line has to ensure that. Offsets
 * past its end belong to video memory, firmware and the memory shared with the
 * guest.
 *
 * The function searches the blocks on each call. To avoid that, the model reads the
 * host address in the opaque structure, learns from LEARN answers of the function
 * where RAM begins in the host, and then subtracts. Once in RECHECK accesses it
 * compares the difference with the function, and after a mismatch it uses the
 * function for good.
 */
#include "physical.h"

#include <stdio.h>

#define LEARN		1000u		/* equal answers before the fast way is used */
#define RECHECK		(1u << 16)	/* accesses between two comparisons */
#define FIRST_MIB	(1ull << 20)	/* below, firmware may be mapped over RAM */

uint64_t physical_ram, physical_base;
unsigned int physical_countdown;

static uint64_t candidate;
static unsigned int agreed;
static bool given_up;

/**
 * physical_init - set the size of the guest's RAM
 * @ram_bytes:	the size
 */
void physical_init(uint64_t ram_bytes)
{
	physical_ram = ram_bytes;
}

static void compare(uint64_t base)
{
	if (given_up)
		return;
	if (physical_base && base != physical_base) {
		fprintf(stderr, "mcube-model: RAM moved; asking QEMU for each address\n");
		given_up = true;
		physical_base = 0;
		return;
	}
	agreed = base == candidate ? agreed + 1 : 0;
	candidate = base;
	if (agreed >= LEARN)
		physical_base = base;
}

/**
 * physical_slow - ask QEMU for a physical address, and learn from the answer
 * @h:	the access, as QEMU describes it
 *
 * Return: the address, or NOT_RAM.
 */
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
