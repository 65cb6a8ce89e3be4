/* SPDX-License-Identifier: GPL-2.0 */
/* tools/include has no bitmap_set(). */
#ifndef MCUBE_SHIM_BITMAP_H
#define MCUBE_SHIM_BITMAP_H

#include_next <linux/bitmap.h>

static inline void bitmap_set(unsigned long *map, unsigned int start, unsigned int nbits)
{
	while (nbits--)
		__set_bit(start++, map);
}

#endif
