// SPDX-License-Identifier: GPL-2.0
/*
 * Color groups: examples, and random maps against the definition.
 */
#include "mcube_test.h"

#include <asm/page.h>

#include "srm/color_group.h"

/* Parts of the colors that can be reserved. */
#define SHARES	16U

static struct mcube_color_groups groups;

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

	EXPECT_EQ(mcube_color_groups_init(&groups, &dim, 0), 0);
	EXPECT_EQ(groups.nr, 16);
	EXPECT_EQ(groups.per, 1);
	for (i = 0; i < 16; i++) {
		EXPECT_EQ(groups.of[i], i);
		EXPECT_EQ(mcube_color_group_color(&groups, i, 12345 * i), i);
	}
}

TEST(plain_bits_give_adjacent_colors)
{
	struct mcube_dim dim = dim_of(_metadata, "0x1000 0x2000 0x4000 0x8000");
	unsigned int i;

	EXPECT_EQ(mcube_color_groups_init(&groups, &dim, 2), 0);
	EXPECT_EQ(groups.nr, 4);
	EXPECT_EQ(groups.per, 4);
	for (i = 0; i < 16; i++) {
		EXPECT_EQ(groups.of[i], i / 4);
		EXPECT_EQ(mcube_color_group_color(&groups, i / 4, i), i);
	}
	/* All colors are in a single group, so there is no choice. */
	EXPECT_EQ(mcube_color_groups_init(&groups, &dim, 4), -ERANGE);
}

TEST(bits_that_do_not_count_make_groups_smaller)
{
	struct mcube_dim dim = dim_of(_metadata, "0x2000 0x10000");

	EXPECT_EQ(mcube_color_groups_init(&groups, &dim, 2), 0);
	EXPECT_EQ(groups.nr, 2);
	EXPECT_EQ(groups.per, 2);
	dim = dim_of(_metadata, "0x10000 0x20000");
	EXPECT_EQ(mcube_color_groups_init(&groups, &dim, 4), 0);
	EXPECT_EQ(groups.nr, 4);
	EXPECT_EQ(groups.per, 1);
}

/* Groups grow up to the reserved colors.  Bits that do not count cost nothing. */
TEST(auto_keeps_to_the_reserved_colors)
{
#define COLORS_16	"0x1000 0x2000 0x4000 0x8000"
#define COLORS_32	COLORS_16 " 0x10000"
#define COLORS_64	COLORS_32 " 0x20000"
#define COLORS_256	COLORS_64 " 0x40000 0x80000"
	static const struct {
		const char *masks;
		unsigned int most, order, nr, per;
	} cases[] = {
		{ "0x1000", 1, 0, 2, 1 },
		{ COLORS_16, 1, 0, 16, 1 },
		{ COLORS_16, 2, 1, 8, 2 },
		{ COLORS_32, 0, 0, 32, 1 },
		{ COLORS_32, 2, 1, 16, 2 },
		{ COLORS_32, 4, 2, 8, 4 },
		{ COLORS_32, 6, 2, 8, 4 },
		{ COLORS_64, 4, 2, 16, 4 },
		{ COLORS_64, 8, 3, 8, 8 },
		{ COLORS_256, 16, 4, 16, 16 },
		{ COLORS_256, 64, 4, 16, 16 },
		{ "0x4000 0x8000 0x10000 0x20000", 1, 2, 16, 1 },
		{ "0x4000 0x8000 0x10000 0x20000", 0, 2, 16, 1 },
	};
	struct mcube_dim dim;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		dim = dim_of(_metadata, cases[i].masks);
		EXPECT_EQ(mcube_color_groups_init_auto(&groups, &dim, cases[i].most), 0);
		EXPECT_EQ(groups.order, cases[i].order);
		EXPECT_EQ(groups.nr, cases[i].nr);
		EXPECT_EQ(groups.per, cases[i].per);
	}
}

TEST(tables_have_colors_only)
{
	struct mcube_dim dim;
	const u8 table[] = { 0, 1, 2 };
	u64 mask = 0x1000;

	EXPECT_EQ(mcube_dim_init(&dim, &mask, 1, NULL), 0);
	EXPECT_EQ(mcube_dim_add_table(&dim, table, 3, 0, NULL), 0);
	EXPECT_EQ(mcube_color_groups_init(&groups, &dim, 0), 0);
	EXPECT_EQ(groups.nr, dim.nr_values);
	EXPECT_EQ(mcube_color_groups_init(&groups, &dim, 1), -EOPNOTSUPP);
	EXPECT_EQ(mcube_color_groups_init_auto(&groups, &dim, SHARES), 0);
	EXPECT_EQ(groups.order, 0);
	EXPECT_EQ(groups.nr, dim.nr_values);
}

/* An aligned block has all colors of a group equally often, and no other color. */
static void check_block(struct __test_metadata *_metadata,
			const struct mcube_dim *dim, unsigned int order)
{
	unsigned int n = 1U << order, i, group;
	u64 base = (u64)get_random_u32() << order;
	unsigned int times[MCUBE_MAX_VALUES] = { 0 };

	group = groups.of[mcube_dim_value(dim, base)];
	for (i = 0; i < n; i++)
		times[mcube_dim_value(dim, base + i)]++;
	for (i = 0; i < dim->nr_values; i++) {
		ASSERT_EQ(times[i],
			  groups.of[i] == group ? n / groups.per : 0);
	}
	for (i = 0; i < groups.per; i++) {
		ASSERT_EQ(groups.of[mcube_color_group_color(&groups, group, i)],
			  group);
	}
}

TEST(random_maps_hold_to_the_definition)
{
	unsigned long round;

	for (round = 0; round < 20000 * test_scale(); round++) {
		unsigned int nr = 1 + get_random_u32_below(MCUBE_MAX_MASKS);
		unsigned int order = get_random_u32_below(MCUBE_GROUP_ORDER_MAX + 1);
		u64 mask[MCUBE_MAX_MASKS];
		struct mcube_dim dim;
		unsigned int i;
		int ret;

		for (i = 0; i < nr; i++)
			mask[i] = (u64)get_random_u32_below(1U << 20) << PAGE_SHIFT;
		if (mcube_dim_init(&dim, mask, nr, NULL))
			continue;
		ret = mcube_color_groups_init(&groups, &dim, order);
		ASSERT_EQ(ret, groups.nr < 2 ? -ERANGE : 0);
		ASSERT_EQ(groups.nr * groups.per, dim.nr_values);
		check_block(_metadata, &dim, order);
	}
}

/* The first colors of the order are those of the first groups, and only those. */
static void check_reserved(struct __test_metadata *_metadata,
			   const struct mcube_dim *dim, unsigned int colors)
{
	u8 order[MCUBE_MAX_VALUES];
	unsigned int i;

	EXPECT_EQ(colors, groups.reserved * groups.per);
	mcube_dim_order(dim, order);
	for (i = 0; i < dim->nr_values; i++)
		ASSERT_EQ(i < colors, groups.of[order[i]] < groups.reserved);
}

TEST(first_groups_are_reserved)
{
	struct mcube_dim dim = dim_of(_metadata, "0x1000 0x2000 0x4000 0x8000");
	unsigned int share, order, colors;

	for (order = 0; order < 4; order++) {
		EXPECT_EQ(mcube_color_groups_init(&groups, &dim, order), 0);
		for (share = 0; share <= SHARES / 2; share++) {
			colors = mcube_color_groups_share(&groups, share, SHARES);
			mcube_color_groups_reserve(&groups, colors);
			/* A sixteenth of 16 colors is a color, which may be less than a group. */
			EXPECT_EQ(groups.reserved, share >> order);
			check_reserved(_metadata, &dim, colors);
		}
	}
}

TEST(some_color_is_always_left_to_memory)
{
	struct mcube_dim dim = dim_of(_metadata, "0x1000");
	unsigned int colors;

	EXPECT_EQ(mcube_color_groups_init(&groups, &dim, 0), 0);
	colors = mcube_color_groups_share(&groups, SHARES / 2, SHARES);
	mcube_color_groups_reserve(&groups, colors);
	EXPECT_EQ(groups.reserved, 1);
	check_reserved(_metadata, &dim, colors);
	EXPECT_NE(groups.of[1], 0);
	colors = mcube_color_groups_share(&groups, SHARES / 2 - 1, SHARES);
	mcube_color_groups_reserve(&groups, colors);
	EXPECT_EQ(groups.reserved, 0);
	check_reserved(_metadata, &dim, colors);
}

/* Another policy may reserve colors that are no whole number of groups. */
TEST(groups_follow_any_number_of_reserved_colors)
{
	struct mcube_dim dim = dim_of(_metadata, "0x9000 0x2000 0x4000 0x8000");
	u8 order[MCUBE_MAX_VALUES];
	unsigned int k, colors, i;

	mcube_dim_order(&dim, order);
	for (k = 0; k < 4; k++) {
		EXPECT_EQ(mcube_color_groups_init(&groups, &dim, k), 0);
		for (colors = 0; colors < 16; colors++) {
			mcube_color_groups_reserve(&groups, colors);
			EXPECT_EQ(groups.reserved, colors >> k);
			EXPECT_LT(groups.reserved, groups.nr);
			/* Each color of a reserved group is reserved. */
			for (i = colors; i < 16; i++)
				EXPECT_GE(groups.of[order[i]], groups.reserved);
		}
	}
}

/*
 * Policies with groups of any order find their first groups in the same colors.
 * In numeric order they would not: a hash may have a low address bit in a high
 * bit of the color.
 */
TEST(groups_of_all_orders_nest)
{
	unsigned long round;

	for (round = 0; round < 20000 * test_scale(); round++) {
		unsigned int nr = 1 + get_random_u32_below(MCUBE_MAX_MASKS);
		struct mcube_color_groups fine;
		u64 mask[MCUBE_MAX_MASKS];
		struct mcube_dim dim;
		unsigned int i, k;

		for (i = 0; i < nr; i++)
			mask[i] = (u64)get_random_u32_below(1U << 20) << PAGE_SHIFT;
		if (mcube_dim_init(&dim, mask, nr, NULL))
			continue;
		for (k = 0; k < MCUBE_GROUP_ORDER_MAX; k++) {
			if (mcube_color_groups_init(&groups, &dim, k + 1))
				break;
			ASSERT_EQ(mcube_color_groups_init(&fine, &dim, k), 0);
			for (i = 0; i < dim.nr_values; i++)
				ASSERT_EQ(groups.of[i], fine.of[i] * fine.per / groups.per);
		}
	}
}

/* Pages of a batch have all colors of their group, as many pages of each. */
TEST(a_batch_has_all_colors_of_a_group)
{
	struct mcube_dim dim;
	u64 mask[8];
	unsigned int i, k, left, run;

	for (i = 0; i < 8; i++)
		mask[i] = (u64)PAGE_SIZE << i;
	ASSERT_EQ(mcube_dim_init(&dim, mask, 8, NULL), 0);
	for (k = 0; k <= MCUBE_GROUP_ORDER_MAX; k++) {
		unsigned int seen[256] = { 0 };

		ASSERT_EQ(mcube_color_groups_init(&groups, &dim, k), 0);
		run = mcube_color_group_run(&groups, 16);
		ASSERT_LE(1, run);
		for (left = 256; left > 240; left--)
			seen[mcube_color_group_color(&groups, 3, left / run)]++;
		for (i = 0; i < 256; i++)
			EXPECT_EQ(seen[i], groups.of[i] == 3 ? 16 >> k : 0);
	}
}
