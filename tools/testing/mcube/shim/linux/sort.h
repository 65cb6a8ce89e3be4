/* SPDX-License-Identifier: GPL-2.0 */
/* tools/include has no sort(). */
#ifndef MCUBE_SHIM_SORT_H
#define MCUBE_SHIM_SORT_H

#include <stdlib.h>

#include <linux/types.h>

/* The kernel's sort() without a function that swaps. */
static inline void sort(void *base, size_t num, size_t size,
			int (*cmp)(const void *, const void *), void *swap)
{
	if (num)
		qsort(base, num, size, cmp);
}

#endif
