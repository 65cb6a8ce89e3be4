/* SPDX-License-Identifier: GPL-2.0 */
/* Dimensions of an address map, for its tests. */
#ifndef MCUBE_MAP_CHECK_H
#define MCUBE_MAP_CHECK_H

#include "mcube_test.h"

#include "tests/map-cases.h"

/* Each test begins at another place of the random numbers. */
static inline void seed(struct rnd_state *rnd)
{
	prandom_seed_state(rnd, get_random_u64());
	while (prandom_u32_state(rnd) & 0xf)
		;
}

static inline struct mcube_dim dim(struct __test_metadata *_metadata, const char *text)
{
	struct mcube_dim d = { };
	const char *why;

	ASSERT_EQ(mcube_dim_parse(&d, text, strlen(text), &why), 0)
		TH_LOG("\"%s\": %s", text, why);
	return d;
}

/* Are there frames of all values below @end? */
static inline bool all_values_below(const struct mcube_dim *d, unsigned int nr_values,
				    u64 end)
{
	DECLARE_BITMAP(seen, MCUBE_MAX_VALUES);
	u64 pfn;

	bitmap_zero(seen, MCUBE_MAX_VALUES);
	for (pfn = 0; pfn < end; pfn++) {
		__set_bit(map_direct_value(d, pfn), seen);
		if (pfn % 256 == 255 && bitmap_full(seen, nr_values))
			return true;
	}
	return bitmap_full(seen, nr_values);
}

#endif
