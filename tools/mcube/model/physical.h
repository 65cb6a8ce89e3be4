/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The guest physical address of an access that QEMU reports.
 */
#ifndef MCUBE_MODEL_PHYSICAL_H
#define MCUBE_MODEL_PHYSICAL_H

#include "qemu-plugin-api.h"

#define NOT_RAM		(~0ull)

void physical_init(uint64_t ram_bytes);
uint64_t physical_slow(const struct qemu_plugin_hwaddr *h);

extern uint64_t physical_ram, physical_base;
extern unsigned int physical_countdown;

/*
 * struct qemu_plugin_hwaddr of QEMU 6.0 to 8.2, for RAM. The guest's RAM is one piece
 * of host memory, so host address less start of RAM is the physical address.
 */
struct hwaddr_guess {
	bool is_io;
	uint64_t host;
};

/**
 * physical - the physical address of an access
 * @info:	the access
 * @vaddr:	its virtual address
 *
 * Return: the address, or NOT_RAM for devices and other memory than the guest's RAM.
 */
static inline uint64_t physical(qemu_plugin_meminfo_t info, uint64_t vaddr)
{
	struct qemu_plugin_hwaddr *h = qemu_plugin_get_hwaddr(info, vaddr);
	const struct hwaddr_guess *guess = (const void *)h;
	uint64_t offset;

	if (__builtin_expect(!physical_base || !h || !--physical_countdown, 0))
		return physical_slow(h);
	if (guess->is_io)
		return NOT_RAM;
	offset = guess->host - physical_base;
	return offset < physical_ram ? offset : NOT_RAM;
}

#endif
