// SPDX-License-Identifier: GPL-2.0
/*
 * What fill_order=auto chooses: on the maps of the modelled machines, and on random maps
 * against the banks of each byte.
 */
#include "mcube_test.h"

#include <linux/log2.h>

#include "alloc/bins.h"

static const u8 channels[] = { 0, 1, 2 };

static void set_dim(struct __test_metadata *_metadata, struct mcube_dim *d, const u64 *mask,
		    unsigned int nr, unsigned int table_len, unsigned int shift)
{
	const char *why;

	ASSERT_EQ(mcube_dim_init(d, mask, nr, table_len ? channels : NULL, table_len, shift,
				 &why), 0);
}

static void check_choice(struct __test_metadata *_metadata, const struct mcube_map *map,
			 enum mcube_fill_order fill_order, unsigned int cluster,
			 unsigned int colors, const char *why)
{
	struct mcube_fill_choice p;

	mcube_fill_choose(&p, map, MCUBE_MAX_ORDER);
	EXPECT_EQ(p.fill_order, fill_order);
	EXPECT_EQ(p.cluster, cluster);
	EXPECT_EQ(p.colors, colors);
	EXPECT_STREQ(p.why, why);
}

TEST(maps_of_machines)
{
	static const u64 colors[] = {
		0x1000, 0x2000, 0x4000, 0x8000, 0x10000, 0x20000, 0x40000
	};
	static const u64 client[] = { 0x24000, 0x48000, 0x90000, 0x2040 };
	static const u64 skylake[] = { 0x4080, 0x88000, 0x110000, 0x220000, 0x440000, 0xc3300 };
	static const u64 x5570[] = { 0x44000, 0x88000, 0x110000, 0x20000 };
	static const u64 page[] = { 0x1000, 0x2000 };
	struct mcube_map map;

	set_dim(_metadata, &map.color, colors, 5, 0, 0);
	set_dim(_metadata, &map.bank, client, 4, 0, 0);
	check_choice(_metadata, &map, MCUBE_FILL_EVEN, 2, 32,
		     "neighbouring pages share DRAM rows");
	set_dim(_metadata, &map.bank, skylake, 6, 0, 0);
	check_choice(_metadata, &map, MCUBE_FILL_EVEN, 3, 32,
		     "neighbouring pages share DRAM rows");
	set_dim(_metadata, &map.color, colors, 7, 0, 0);
	set_dim(_metadata, &map.bank, x5570, 4, 3, 0);
	check_choice(_metadata, &map, MCUBE_FILL_EVEN, 5, 128,
		     "neighbouring pages take turns in the channels");
	set_dim(_metadata, &map.bank, page, 2, 0, 0);
	check_choice(_metadata, &map, MCUBE_FILL_EVEN, 0, 128,
		     "neighbouring pages lie in different rows");
	set_dim(_metadata, &map.bank, NULL, 0, 0, 0);
	check_choice(_metadata, &map, MCUBE_FILL_EVEN, 0, 128, "banks are unknown");
	/* In larger granules than a cluster, neighbours are in one channel. */
	set_dim(_metadata, &map.bank, x5570, 4, 3, 5);
	check_choice(_metadata, &map, MCUBE_FILL_EVEN, 1, 128,
		     "neighbouring pages share DRAM rows");
	set_dim(_metadata, &map.color, NULL, 0, 0, 0);
	check_choice(_metadata, &map, MCUBE_FILL_SHUFFLE, 1, 1,
		     "neighbouring pages share DRAM rows");
}

/* The banks in which a page lies, as a bitmap. */
static void banks_of(const struct mcube_dim *bank, u64 pfn, unsigned long *banks)
{
	unsigned int byte, i, value;

	bitmap_zero(banks, MCUBE_MAX_VALUES);
	for (byte = 0; byte < 4096; byte += 16) {
		for (i = 0, value = 0; i < bank->nr_masks; i++)
			value |= (hweight64((pfn << 12 | byte) & bank->mask[i]) & 1) << i;
		__set_bit(value, banks);
	}
}

static bool same_banks(const struct mcube_dim *bank, unsigned int order)
{
	DECLARE_BITMAP(first, MCUBE_MAX_VALUES);
	DECLARE_BITMAP(other, MCUBE_MAX_VALUES);
	unsigned int pfn;

	banks_of(bank, 0, first);
	for (pfn = 1; pfn < 1U << order; pfn++) {
		banks_of(bank, pfn, other);
		if (!bitmap_equal(first, other, MCUBE_MAX_VALUES))
			return false;
	}
	return true;
}

/* Pages of a cluster lie in the same banks, and the cluster is as large as can be. */
TEST(random_maps_against_the_banks_of_each_byte)
{
	unsigned int round, nr, i, most, by_order[MCUBE_CLUSTER_MAX + 1] = { };
	DECLARE_BITMAP(banks, MCUBE_MAX_VALUES);
	u64 mask[MCUBE_MAX_MASKS];
	struct mcube_map map;
	struct mcube_fill_choice p;
	const char *why;

	set_dim(_metadata, &map.color, NULL, 0, 0, 0);
	for (round = 0; round < 2000 * test_scale(); round++) {
		do {
			nr = 1 + get_random_u32_below(MCUBE_MAX_MASKS);
			for (i = 0; i < nr; i++)
				mask[i] = (u64)BIT(12 + get_random_u32_below(10)) |
					  BIT(4 + get_random_u32_below(18));
		} while (mcube_dim_init(&map.bank, mask, nr, NULL, 0, 0, &why));
		mcube_fill_choose(&p, &map, MCUBE_MAX_ORDER);
		banks_of(&map.bank, 0, banks);
		/* Rows of two pages, each of which holds a part of each page. */
		most = 1 + ilog2(bitmap_weight(banks, MCUBE_MAX_VALUES));
		most = min(most, MCUBE_CLUSTER_MAX);
		ASSERT_LE(p.cluster, most);
		ASSERT_TRUE(same_banks(&map.bank, p.cluster));
		ASSERT_FALSE(p.cluster < most && same_banks(&map.bank, p.cluster + 1));
		by_order[p.cluster]++;
	}
	for (i = 0; i <= MCUBE_CLUSTER_MAX; i++)
		TH_LOG("clusters of %u pages: %u maps", 1U << i, by_order[i]);
}
