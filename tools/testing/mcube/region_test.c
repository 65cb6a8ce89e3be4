// SPDX-License-Identifier: GPL-2.0
/*
 * Regions of colors: examples, and random maps against the definition.
 */
#include "mcube_test.h"

#include <asm/page.h>

#include "region.h"

static struct mcube_regions regions;

static struct mcube_dim dim_of(struct __test_metadata *_metadata,
			       const char *text)
{
	struct mcube_dim dim;

	ASSERT_EQ(mcube_dim_parse(&dim, text, strlen(text), NULL), 0);
	return dim;
}

TEST(order_0_leaves_colors_as_they_are)
{
	struct mcube_dim dim = dim_of(_metadata, "0x1000 0x2000 0x4000 0x8000");
	unsigned int i;

	EXPECT_EQ(mcube_regions_init(&regions, &dim, 0), 0);
	EXPECT_EQ(regions.nr, 16);
	EXPECT_EQ(regions.per, 1);
	for (i = 0; i < 16; i++) {
		EXPECT_EQ(regions.of[i], i);
		EXPECT_EQ(mcube_region_color(&regions, i, 12345 * i), i);
	}
}

TEST(plain_bits_give_adjacent_colors)
{
	struct mcube_dim dim = dim_of(_metadata, "0x1000 0x2000 0x4000 0x8000");
	unsigned int i;

	EXPECT_EQ(mcube_regions_init(&regions, &dim, 2), 0);
	EXPECT_EQ(regions.nr, 4);
	EXPECT_EQ(regions.per, 4);
	for (i = 0; i < 16; i++) {
		EXPECT_EQ(regions.of[i], i / 4);
		EXPECT_EQ(mcube_region_color(&regions, i / 4, i), i);
	}
	/* All colors are in a single region, so there is no choice of regions. */
	EXPECT_EQ(mcube_regions_init(&regions, &dim, 4), -ERANGE);
}

TEST(bits_that_do_not_count_make_regions_smaller)
{
	struct mcube_dim dim = dim_of(_metadata, "0x2000 0x10000");

	EXPECT_EQ(mcube_regions_init(&regions, &dim, 2), 0);
	EXPECT_EQ(regions.nr, 2);
	EXPECT_EQ(regions.per, 2);
	dim = dim_of(_metadata, "0x10000 0x20000");
	EXPECT_EQ(mcube_regions_init(&regions, &dim, 4), 0);
	EXPECT_EQ(regions.nr, 4);
	EXPECT_EQ(regions.per, 1);
}

/* Regions grow while sixteen regions are left.  Bits that do not count cost nothing. */
TEST(auto_leaves_a_region_for_each_share)
{
	static const struct {
		const char *masks;
		unsigned int order, nr, per;
	} cases[] = {
		{ "0x1000", 0, 2, 1 },
		{ "0x1000 0x2000 0x4000 0x8000", 0, 16, 1 },
		{ "0x1000 0x2000 0x4000 0x8000 0x10000", 0, 32, 1 },
		{ "0x1000 0x2000 0x4000 0x8000 0x10000 0x20000", 2, 16, 4 },
		{ "0x1000 0x2000 0x4000 0x8000 0x10000 0x20000 0x40000 0x80000",
		  4, 16, 16 },
		{ "0x4000 0x8000 0x10000 0x20000", 2, 16, 1 },
	};
	struct mcube_dim dim;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		dim = dim_of(_metadata, cases[i].masks);
		EXPECT_EQ(mcube_regions_init_auto(&regions, &dim), 0);
		EXPECT_EQ(regions.order, cases[i].order);
		EXPECT_EQ(regions.nr, cases[i].nr);
		EXPECT_EQ(regions.per, cases[i].per);
	}
}

TEST(tables_have_colors_only)
{
	struct mcube_dim dim;
	const u8 table[] = { 0, 1, 2 };
	u64 mask = 0x1000;

	EXPECT_EQ(mcube_dim_init(&dim, &mask, 1, table, 3, 0, NULL), 0);
	EXPECT_EQ(mcube_regions_init(&regions, &dim, 0), 0);
	EXPECT_EQ(regions.nr, dim.nr_values);
	EXPECT_EQ(mcube_regions_init(&regions, &dim, 1), -EOPNOTSUPP);
	EXPECT_EQ(mcube_regions_init_auto(&regions, &dim), 0);
	EXPECT_EQ(regions.order, 0);
	EXPECT_EQ(regions.nr, dim.nr_values);
}

/* An aligned block has all colors of a region equally often, and no other color. */
static void check_block(struct __test_metadata *_metadata,
			const struct mcube_dim *dim, unsigned int order)
{
	unsigned int n = 1U << order, i, region;
	u64 base = (u64)get_random_u32() << order;
	unsigned int times[MCUBE_MAX_VALUES] = { 0 };

	region = regions.of[mcube_dim_value(dim, base)];
	for (i = 0; i < n; i++)
		times[mcube_dim_value(dim, base + i)]++;
	for (i = 0; i < dim->nr_values; i++) {
		ASSERT_EQ(times[i],
			  regions.of[i] == region ? n / regions.per : 0);
	}
	for (i = 0; i < regions.per; i++) {
		ASSERT_EQ(regions.of[mcube_region_color(&regions, region, i)],
			  region);
	}
}

TEST(random_maps_hold_to_the_definition)
{
	unsigned long round;

	for (round = 0; round < 20000 * test_scale(); round++) {
		unsigned int nr = 1 + get_random_u32_below(MCUBE_MAX_MASKS);
		unsigned int order = get_random_u32_below(MCUBE_REGION_MAX + 1);
		u64 mask[MCUBE_MAX_MASKS];
		struct mcube_dim dim;
		unsigned int i;
		int ret;

		for (i = 0; i < nr; i++)
			mask[i] = (u64)get_random_u32_below(1U << 20) << PAGE_SHIFT;
		if (mcube_dim_init(&dim, mask, nr, NULL, 0, 0, NULL))
			continue;
		ret = mcube_regions_init(&regions, &dim, order);
		ASSERT_EQ(ret, regions.nr < 2 ? -ERANGE : 0);
		ASSERT_EQ(regions.nr * regions.per, dim.nr_values);
		check_block(_metadata, &dim, order);
	}
}

TEST(memory_does_not_hop_over_reserved_colors)
{
	struct mcube_dim dim = dim_of(_metadata, "0x1000 0x2000 0x4000 0x8000");
	unsigned int share, order, i;

	for (order = 0; order < 4; order++) {
		EXPECT_EQ(mcube_regions_init(&regions, &dim, order), 0);
		for (share = 0; share <= MCUBE_RESERVE_MAX; share++) {
			mcube_regions_reserve(&regions, share);
			/* A sixteenth of 16 colors is a color, which may be less than a region. */
			EXPECT_EQ(regions.reserved, share >> order);
			EXPECT_EQ(regions.nr_hop,
				  16 - (regions.reserved << order));
			for (i = 0; i < regions.nr_hop; i++) {
				EXPECT_TRUE(regions.of[regions.hop[i]] >=
					    regions.reserved);
				EXPECT_TRUE(!i || regions.hop[i] > regions.hop[i - 1]);
			}
			EXPECT_EQ(mcube_region_hop(&regions, regions.nr_hop + 3),
				  regions.hop[3]);
		}
	}
	/* As a reader may find it while colors are divided anew. */
	memset(&regions, 0, sizeof(regions));
	EXPECT_EQ(mcube_region_hop(&regions, 12345), 0);
}

TEST(some_color_is_always_left_to_memory)
{
	struct mcube_dim dim = dim_of(_metadata, "0x1000");

	EXPECT_EQ(mcube_regions_init(&regions, &dim, 0), 0);
	mcube_regions_reserve(&regions, MCUBE_RESERVE_MAX);
	EXPECT_EQ(regions.reserved, 1);
	EXPECT_EQ(regions.nr_hop, 1);
	EXPECT_EQ(regions.hop[0], 1);
	mcube_regions_reserve(&regions, MCUBE_RESERVE_MAX - 1);
	EXPECT_EQ(regions.reserved, 0);
	EXPECT_EQ(regions.nr_hop, 2);
}
