/* SPDX-License-Identifier: GPL-2.0 */
/* tools/include only declares struct page; alloc/bins.h tells which words are used. */
#ifndef MCUBE_SHIM_MM_TYPES_H
#define MCUBE_SHIM_MM_TYPES_H

#include <linux/types.h>

struct page {
	unsigned long private;
	unsigned long index;
	struct list_head lru;
};

#endif
