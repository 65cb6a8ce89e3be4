// SPDX-License-Identifier: GPL-2.0
/*
 * What fill_order=auto chooses: on the maps of the modelled machines, and on random maps
 * against the colors of each frame.
 */
#include "mcube_test.h"

#include "alloc/bins.h"

static const char * const turns = "neighbouring pages share rows or take turns in banks";
static const char * const unknown = "banks are unknown";

static void set_dim(struct __test_metadata *_metadata, struct mcube_dim *d, const u64 *mask,
		    unsigned int nr, unsigned int table_len)
{
	static const u8 channels[] = { 0, 1, 2 };
	const char *why;

	ASSERT_EQ(mcube_dim_init(d, mask, nr, &why), 0);
	if (table_len)
		ASSERT_EQ(mcube_dim_add_table(d, channels, table_len, 0, &why), 0);
}

static void check_choice(struct __test_metadata *_metadata, const struct mcube_map *map,
			 unsigned int order, unsigned int cluster, unsigned int colors,
			 const char *why)
{
	struct mcube_fill_choice p;

	mcube_fill_choose(&p, map, order);
	EXPECT_EQ(p.fill_order, colors > 1 ? MCUBE_FILL_EVEN : MCUBE_FILL_SHUFFLE);
	EXPECT_EQ(p.cluster, cluster);
	EXPECT_EQ(p.colors, colors);
	EXPECT_STREQ(p.why, why);
}

TEST(maps_of_machines)
{
	static const u64 colors[] = {
		0x1000, 0x2000, 0x4000, 0x8000, 0x10000, 0x20000, 0x40000
	};
	static const u64 skylake[] = { 0x4080, 0x88000, 0x110000, 0x220000, 0x440000, 0xc3300 };
	static const u64 x5570[] = { 0x44000, 0x88000, 0x110000, 0x20000 };
	struct mcube_map map;

	set_dim(_metadata, &map.color, colors, 5, 0);
	set_dim(_metadata, &map.bank, skylake, 6, 0);
	check_choice(_metadata, &map, MCUBE_MAX_ORDER, 5, 32, turns);
	set_dim(_metadata, &map.color, colors, 7, 0);
	set_dim(_metadata, &map.bank, x5570, 4, 3);
	check_choice(_metadata, &map, MCUBE_MAX_ORDER, 5, 128, turns);
	/* A container has fewer colors than the map, and is a single cluster at most. */
	check_choice(_metadata, &map, 3, 3, 8, turns);
	check_choice(_metadata, &map, 0, 0, 1, turns);
	set_dim(_metadata, &map.bank, NULL, 0, 0);
	check_choice(_metadata, &map, MCUBE_MAX_ORDER, 0, 128, unknown);
	set_dim(_metadata, &map.color, NULL, 0, 0);
	check_choice(_metadata, &map, MCUBE_MAX_ORDER, 0, 1, unknown);
	set_dim(_metadata, &map.bank, x5570, 4, 0);
	check_choice(_metadata, &map, MCUBE_MAX_ORDER, 5, 1, turns);
}

TEST(random_maps_against_the_colors_of_each_frame)
{
	unsigned int round, nr, i, order, off, colors, several = 0;
	u64 mask[MCUBE_MAX_MASKS];
	struct mcube_map map;
	const char *why;

	set_dim(_metadata, &map.bank, NULL, 0, 0);
	for (round = 0; round < 500 * test_scale(); round++) {
		bool seen[MCUBE_MAX_VALUES] = { };

		do {
			nr = 1 + get_random_u32_below(MCUBE_MAX_MASKS);
			for (i = 0; i < nr; i++)
				mask[i] = (u64)BIT(12 + get_random_u32_below(12)) |
					  BIT(12 + get_random_u32_below(12));
		} while (mcube_dim_init(&map.color, mask, nr, &why));
		order = get_random_u32_below(MCUBE_MAX_ORDER + 1);
		for (off = 0, colors = 0; off < 1U << order; off++) {
			unsigned int color = mcube_dim_value(&map.color, off);

			colors += !seen[color];
			seen[color] = true;
		}
		several += colors > 1;
		check_choice(_metadata, &map, order, 0, colors, unknown);
	}
	EXPECT_GE(several, round / 2);
}
