/* SPDX-License-Identifier: GPL-2.0 */
/* tools/include has no __ffs64(). */
#ifndef MCUBE_SHIM_BITOPS_H
#define MCUBE_SHIM_BITOPS_H

#include_next <linux/bitops.h>

static inline unsigned int __ffs64(u64 word)
{
	return __builtin_ctzll(word);
}

#endif
