/* SPDX-License-Identifier: GPL-2.0 */
/* tools/include has no greatest common divisor. */
#ifndef MCUBE_SHIM_GCD_H
#define MCUBE_SHIM_GCD_H

static inline unsigned long gcd(unsigned long a, unsigned long b)
{
	while (b) {
		unsigned long rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

#endif
