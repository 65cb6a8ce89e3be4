/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Arithmetic of a dimension, for map.c and offset.c.
 *
 * Copyright (C) 2026 The mcube authors
 */
#ifndef _MM_MCUBE_MAP_DIM_H
#define _MM_MCUBE_MAP_DIM_H

#include <asm/page.h>
#include <linux/bitops.h>
#include <linux/math64.h>
#include <linux/mcube_map.h>

/* Most pages that are looked at to find out about combinations of tables. */
#define MCUBE_MAX_TRIES	BIT(18)

static inline unsigned int mcube_parities(const struct mcube_dim *d, u64 pfn)
{
	unsigned int i, value = 0;

	for (i = 0; i < d->nr_masks; i++)
		value |= (hweight64((pfn << PAGE_SHIFT) & d->mask[i]) & 1) << i;
	return value;
}

/* @n % @len, with @inverse = 2^64 / @len rounded up; exact if n * len <= 2^64. */
static inline u32 mcube_modulo(u64 n, u32 len, u64 inverse)
{
	return n - mul_u64_u64_shr(n, inverse, 64) * len;
}

static inline u64 mcube_inverse(unsigned int len)
{
	return div64_u64(U64_MAX, len) + 1;
}

/* What a table adds to the value of a page. */
static inline unsigned int mcube_table_part(const struct mcube_dim *d,
					    const struct mcube_table *t, u64 pfn)
{
	u32 index = mcube_modulo(pfn >> t->shift, t->len, t->inverse);

	return d->entry[t->first + index] * t->scale;
}

/* The element of @w + span that has none of the leading bits of the span. */
static inline unsigned int mcube_reduce(const u8 *span, unsigned int w)
{
	int bit;

	for (bit = MCUBE_MAX_MASKS - 1; bit >= 0; bit--)
		if (w & BIT(bit))
			w ^= span[bit];
	return w;
}

/* Add @w to the span; false if it is in the span. */
static inline bool mcube_span_add(u8 *span, unsigned int w)
{
	w = mcube_reduce(span, w);
	if (w)
		span[fls(w) - 1] = w;
	return w;
}

#endif /* _MM_MCUBE_MAP_DIM_H */
