/* SPDX-License-Identifier: GPL-2.0 */
/* tools/include has no divisions, and of multiplications only some. */
#ifndef MCUBE_SHIM_MATH64_H
#define MCUBE_SHIM_MATH64_H

#include_next <linux/math64.h>

static inline u64 div_u64_rem(u64 dividend, u32 divisor, u32 *remainder)
{
	*remainder = dividend % divisor;
	return dividend / divisor;
}

static inline u64 div_u64(u64 dividend, u32 divisor)
{
	return dividend / divisor;
}

static inline u64 mul_u64_u64_shr(u64 a, u64 b, unsigned int shift)
{
	return (__uint128_t)a * b >> shift;
}

static inline u64 div64_u64(u64 dividend, u64 divisor)
{
	return dividend / divisor;
}

#define do_div(n, base) ({ u32 __rem = (n) % (base); (n) /= (base); __rem; })

#endif
