/* SPDX-License-Identifier: GPL-2.0 */
/* tools/include has min() and max() in linux/kernel.h, and no clamp_t() or swap(). */
#ifndef MCUBE_SHIM_MINMAX_H
#define MCUBE_SHIM_MINMAX_H

#include_next <linux/kernel.h>

#define clamp_t(type, value, low, high)	clamp((type)(value), (type)(low), (type)(high))

#define swap(a, b) \
	do { typeof(a) __tmp = (a); (a) = (b); (b) = __tmp; } while (0)

#endif
