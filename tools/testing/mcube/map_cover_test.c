// SPDX-License-Identifier: GPL-2.0
/*
 * What a map's tables say about memory: the M3 paper's machine, and the containers that
 * have all banks.
 */
#include "map_check.h"

/*
 * What the M3 paper found on its machine (sections 3.2 and 3.3, Figures 4 and 5), with the
 * names of a bank as there: [channel : bank : rank].
 */
static void place_of_the_paper(unsigned int value, unsigned int *bank, unsigned int *rank)
{
	*bank = value % 8;
	*rank = value / 8;
}

TEST(figure_5_of_the_m3_paper)
{
	struct mcube_dim d = dim(_metadata, MAP_PAPER), pages = dim(_metadata, MAP_PAPER_PAGES);
	unsigned int bank, rank, first;
	u64 pfn, line;

	/* Page frames 0 to 2, 3 to 5, ... 21 to 23; then again from 24, 32 times. */
	for (pfn = 0; pfn < 768; pfn++) {
		place_of_the_paper(mcube_dim_value(&d, pfn), &bank, &rank);
		ASSERT_EQ(bank, pfn % 24 / 3);
		ASSERT_EQ(rank, 0);
	}
	/* 768, 769, 770 are bank 0 of rank 1, and so on to 3071, in bank 7 of rank 3. */
	for (pfn = 768; pfn < 3072; pfn++) {
		place_of_the_paper(mcube_dim_value(&d, pfn), &bank, &rank);
		ASSERT_EQ(bank, pfn % 24 / 3);
		ASSERT_EQ(rank, pfn / 768);
	}
	/* The 12 MiB repeat to the end of memory; 12 KiB, 96 KiB and 3 MiB do not. */
	for (pfn = 0; pfn < 16ULL << 18; pfn++)
		ASSERT_EQ(mcube_dim_value(&d, pfn), mcube_dim_value(&d, pfn % 3072));
	first = mcube_dim_value(&d, 0);
	EXPECT_EQ(mcube_dim_value(&d, 2), first);
	EXPECT_NE(mcube_dim_value(&d, (12 << 10) / PAGE_SIZE), first);
	EXPECT_EQ(mcube_dim_value(&d, (96 << 10) / PAGE_SIZE), first);
	EXPECT_NE(mcube_dim_value(&d, (3 << 20) / PAGE_SIZE), first);
	EXPECT_EQ(mcube_dim_value(&d, (12 << 20) / PAGE_SIZE), first);
	/* Bank 7 of rank 3 is the last that memory from 0 on comes to. */
	EXPECT_FALSE(all_values_below(&d, 32, 3 * 768 + 21));
	EXPECT_TRUE(all_values_below(&d, 32, 3 * 768 + 22));

	/*
	 * Lines take turns in the channels, so each page lies in all three: 3 * 32 banks.  With
	 * turns of a page in place of a line, the map tells all 96 apart.
	 */
	EXPECT_EQ(d.nr_values * 3, 96);
	EXPECT_EQ(pages.nr_values, 96);
	for (pfn = 0; pfn < 3072; pfn++) {
		bool channel[3] = { };

		for (line = pfn * 64; line < pfn * 64 + 64; line++)
			channel[line % 3] = true;
		ASSERT_TRUE(channel[0] && channel[1] && channel[2]);
		ASSERT_EQ(mcube_dim_value(&pages, pfn), pfn % 3 + 3 * mcube_dim_value(&d, pfn));
	}
}

TEST(containers_that_cover_all_values)
{
	static const struct {
		const char *text;
		unsigned int order10;
		int smallest;
	} cases[] = {
		{ "none", 1, 0 },
		{ "0x1000 0x2000 0x4000", 8, 3 },
		{ "0x44000 0x88000 0x110000 0x20000", 16, 6 },
		{ "0x400000", 1, 11 },
		{ "0x8000000000000", 1, 40 },
		{ "table:0:0,1,2", 3, 2 },
		/* Two of eight entries, from an odd or from an even one. */
		{ "table:9:0,1,2,3,4,5,6,7", 2, 12 },
		{ "table:12:0,1", 1, 13 },
		/* The 12 MiB of the paper in powers of two are 16; 4 MiB miss ranks. */
		{ MAP_PAPER, 16, 12 },
		{ MAP_PAPER_PAGES, 48, 12 },
		{ "table:0:0,1,2 table:30:0,1", 3, -ERANGE },
	};
	struct mcube_dim d;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		d = dim(_metadata, cases[i].text);
		EXPECT_EQ(mcube_dim_cover(&d, 10), cases[i].order10)
			TH_LOG("case %s", cases[i].text);
		EXPECT_EQ(mcube_dim_cover_order(&d), cases[i].smallest)
			TH_LOG("case %s", cases[i].text);
	}
	d = dim(_metadata, MAP_PAPER);
	EXPECT_EQ(mcube_dim_cover(&d, 11), 16 + 8);
	EXPECT_EQ(mcube_dim_cover(&d, 30), 0);
}

/* No container has fewer values, and some have as few. */
TEST(cover_is_exact)
{
	unsigned long round, rounds = 100 * test_scale();
	unsigned int order, k, off, least, nr;
	DECLARE_BITMAP(seen, MCUBE_MAX_VALUES);
	struct rnd_state rnd;
	struct mcube_dim d;
	u64 base;

	seed(&rnd);
	for (round = 0; round < rounds; round++) {
		map_random_dim(&rnd, &d);
		order = get_random_u32_below(MCUBE_MAX_ORDER + 1);
		least = MCUBE_MAX_VALUES;
		for (k = 0; k < 400; k++) {
			base = k < 200 ? (u64)k << order : map_random_pfn(&rnd) >> order << order;
			bitmap_zero(seen, MCUBE_MAX_VALUES);
			for (off = 0; off < 1U << order; off++)
				__set_bit(mcube_dim_value(&d, base + off), seen);
			nr = bitmap_weight(seen, MCUBE_MAX_VALUES);
			least = min(least, nr);
			ASSERT_GE(nr, mcube_dim_cover(&d, order));
		}
		if (d.nr_tables <= 1)
			ASSERT_EQ(least, mcube_dim_cover(&d, order));
	}
}
