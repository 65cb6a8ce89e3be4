// SPDX-License-Identifier: GPL-2.0
/*
 * The address map: linearity, tables, offset maps, refusals, text, defaults.
 *
 * The same cases run in the kernel (mm/mcube/tests/map-kunit.c).  Here they run for more
 * rounds and for all orders, and the sanitizers see the parser read random text.
 */
#include "map_check.h"

TEST(parities_are_linear)
{
	unsigned long round, rounds = 60000 * test_scale();
	struct rnd_state rnd;
	struct mcube_dim d;
	u64 a, b;

	seed(&rnd);
	for (round = 0; round < rounds; round++) {
		if (round % 100 == 0)
			do
				map_random_dim(&rnd, &d);
			while (d.nr_tables);
		a = map_random_pfn(&rnd);
		b = map_random_pfn(&rnd);
		ASSERT_EQ(mcube_dim_value(&d, a ^ b),
			  mcube_dim_value(&d, a) ^ mcube_dim_value(&d, b));
	}
}

TEST(value_is_the_definition)
{
	unsigned long round, rounds = 60000 * test_scale();
	struct rnd_state rnd;
	struct mcube_dim d;
	u64 pfn;

	seed(&rnd);
	for (round = 0; round < rounds; round++) {
		if (round % 100 == 0)
			map_random_dim(&rnd, &d);
		pfn = map_random_pfn(&rnd);
		ASSERT_EQ(mcube_dim_value(&d, pfn), map_direct_value(&d, pfn));
		ASSERT_LT(mcube_dim_value(&d, pfn), d.nr_values);
	}
}

TEST(three_channels)
{
	struct mcube_dim d = dim(_metadata, "table:0:0,1,2");
	u64 pfn;

	for (pfn = 0; pfn < 100; pfn++)
		EXPECT_EQ(mcube_dim_value(&d, pfn), pfn % 3);
	EXPECT_EQ(mcube_dim_value(&d, (1ULL << 40) - 1), ((1ULL << 40) - 1) % 3);

	d = dim(_metadata, "0x2000 0x8000 table:1:2,0,1");
	EXPECT_EQ(d.nr_values, 12);
	for (pfn = 0; pfn < 1000; pfn++) {
		ASSERT_EQ(mcube_dim_value(&d, pfn),
			  (pfn / 2 + 2) % 3 * 4 + (pfn >> 3 & 1) * 2 + (pfn >> 1 & 1));
	}
}

static void check_all_orders(struct __test_metadata *_metadata, const struct mcube_dim *d,
			     struct rnd_state *rnd, int places)
{
	unsigned int order, i;
	struct mcube_offset_map s;
	unsigned long *mem;
	size_t longs;
	u64 base;

	for (order = 0; order <= MCUBE_MAX_ORDER; order++) {
		longs = mcube_offset_map_longs(d, order);
		ASSERT_TRUE(longs);
		mem = malloc(longs * sizeof(*mem));	/* The exact size, for ASan. */
		memset(mem, 0xa5, longs * sizeof(*mem));
		mcube_offset_map_build(&s, d, order, mem);
		ASSERT_EQ((size_t)s.nr_phases * s.nr_values * s.words, longs);
		for (i = 0; i < places + s.nr_phases * 2U; i++) {
			base = i < places + 0U ? map_random_pfn(rnd) : i - places;
			base = i < places + 0U ? base >> order << order : base << order;
			ASSERT_EQ(map_check_offset_map(&s, d, base), 0);
		}
		free(mem);
	}
}

TEST(offset_maps_give_each_offset_its_value)
{
	unsigned long round, rounds = 30 * test_scale();
	struct rnd_state rnd;
	struct mcube_dim d;

	seed(&rnd);
	for (round = 0; round < rounds; round++) {
		map_random_dim(&rnd, &d);
		check_all_orders(_metadata, &d, &rnd, 4);
	}
}

TEST(offset_maps_of_the_written_cases)
{
	struct rnd_state rnd;
	struct mcube_dim d;
	unsigned int i;

	seed(&rnd);
	for (i = 0; i < ARRAY_SIZE(map_good_text); i++) {
		d = dim(_metadata, map_good_text[i].text);
		check_all_orders(_metadata, &d, &rnd, 4);
	}
}

TEST(phases)
{
	static const struct {
		const char *text;
		unsigned int order, phases;
	} cases[] = {
		{ "none", 10, 1 },
		{ "0x1000 0x2000", 10, 1 },
		{ "table:0:0,1,2", 10, 3 },
		{ "table:0:0,1,2", 0, 3 },
		{ "table:0:0,1", 10, 1 },	/* The period divides the container. */
		{ "table:0:0,1,2,3", 1, 2 },
		{ "table:0:0,1,2,3,4,5", 10, 3 },
		{ "table:9:0,1,2,3,4,5", 10, 3 },
		{ "table:10:0,1,2,0,1,2", 10, 3 },	/* An entry covers a container. */
		{ "table:12:0,0,0,1", 10, 2 },
		{ MAP_PAPER, 10, 3 },			/* The three thirds belong together. */
		{ MAP_PAPER_PAGES, 10, 3 },
		{ MAP_PAPER_PAGES, 8, 3 * 4 },		/* The rank of a container is one. */
		{ "table:0:0,1,2 table:0:0,1,2,3,4", 10, 15 },
		{ "table:0:0,1,2 table:20:0,1,2,3,4", 10, 15 },
	};
	struct mcube_offset_map s;
	unsigned long *mem;
	struct mcube_dim d;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		d = dim(_metadata, cases[i].text);
		mem = malloc(mcube_offset_map_longs(&d, cases[i].order) * sizeof(*mem));
		mcube_offset_map_build(&s, &d, cases[i].order, mem);
		EXPECT_EQ(s.nr_phases, cases[i].phases)
			TH_LOG("case %s", cases[i].text);
		free(mem);
	}
	d = dim(_metadata, "none");
	EXPECT_EQ(mcube_offset_map_longs(&d, MCUBE_MAX_ORDER + 1), 0);
	EXPECT_EQ(mcube_offset_map_longs(&d, 0), 1);
}

TEST(constant_table_leaves_other_values_empty)
{
	struct mcube_dim d = dim(_metadata, "table:20:0,1,2");
	unsigned long *mem = malloc(mcube_offset_map_longs(&d, 10) * sizeof(*mem));
	struct mcube_offset_map s;
	u16 phase, xor;

	mcube_offset_map_build(&s, &d, 10, mem);
	mcube_offset_map_locate(&s, &d, 1ULL << 20, &phase, &xor);
	EXPECT_TRUE(bitmap_empty(mcube_offset_map_select(&s, phase, xor, 0), 1024));
	EXPECT_TRUE(bitmap_full(mcube_offset_map_select(&s, phase, xor, 1), 1024));
	EXPECT_TRUE(bitmap_empty(mcube_offset_map_select(&s, phase, xor, 2), 1024));
	EXPECT_EQ(mcube_offset_map_select(&s, phase, xor, 3), NULL);
	free(mem);
}

TEST(order_is_numeric_where_the_lowest_bits_are_the_color)
{
	static const char * const texts[] = {
		"none", "0x1000", "0x1000 0x2000 0x4000 0x8000", "0x4000 0x8000",
		"0x1000 0x2000 0x4000 0x8000 0x10000 0x20000 0x40000 0x80000",
		"table:0:0,1,2", "0x2000 0x8000 table:1:2,0,1",
	};
	u8 order[MCUBE_MAX_VALUES];
	struct mcube_dim d;
	unsigned int i, k;

	for (i = 0; i < ARRAY_SIZE(texts); i++) {
		d = dim(_metadata, texts[i]);
		mcube_dim_order(&d, order);
		for (k = 0; k < d.nr_values; k++)
			ASSERT_EQ(order[k], k)
				TH_LOG("case %s", texts[i]);
	}
}

TEST(order_of_hashed_maps)
{
	static const struct {
		const char *text;
		u8 order[8];
	} cases[] = {
		/* The highest bit of the color comes from the lowest address bit. */
		{ "0x4000 0x2000 0x1000", { 0, 4, 2, 6, 1, 5, 3, 7 } },
		/* Frames 0 to 3 have colors 0, 1, 1, 0: bit 13 adds no color. */
		{ "0x3000 0x4000 0x8000", { 0, 1, 2, 3, 4, 5, 6, 7 } },
		{ "0x9000 0x2000 0x8000", { 0, 1, 2, 3, 5, 4, 7, 6 } },
		/* Bits of the hash that memory of a few GiB does not have count too. */
		{ "0x1000 0x8000001000 0x10000000000", { 0, 3, 2, 1, 4, 7, 6, 5 } },
	};
	u8 order[MCUBE_MAX_VALUES];
	struct mcube_dim d;
	unsigned int i, k;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		d = dim(_metadata, cases[i].text);
		mcube_dim_order(&d, order);
		for (k = 0; k < 8; k++)
			EXPECT_EQ(order[k], cases[i].order[k])
				TH_LOG("case %s, place %u", cases[i].text, k);
	}
}

/* Every value has one place, and bytes beyond the values are left alone. */
TEST(order_is_a_permutation)
{
	unsigned long round, rounds = 20000 * test_scale();
	DECLARE_BITMAP(seen, MCUBE_MAX_VALUES);
	struct rnd_state rnd;
	struct mcube_dim d;
	unsigned int k;
	u8 *order;

	seed(&rnd);
	for (round = 0; round < rounds; round++) {
		map_random_dim(&rnd, &d);
		order = malloc(d.nr_values);	/* The exact size, for ASan. */
		mcube_dim_order(&d, order);
		bitmap_zero(seen, MCUBE_MAX_VALUES);
		for (k = 0; k < d.nr_values; k++)
			__set_bit(order[k], seen);
		ASSERT_EQ(find_first_zero_bit(seen, MCUBE_MAX_VALUES), d.nr_values);
		free(order);
	}
}

/* How often a block of frames has each value; returns the number of values it has. */
static unsigned int count_block(const struct mcube_dim *d, u64 base, unsigned int nr,
				unsigned int *times)
{
	unsigned int i, distinct = 0;

	memset(times, 0, MCUBE_MAX_VALUES * sizeof(*times));
	for (i = 0; i < nr; i++)
		distinct += !times[map_direct_value(d, base + i)]++;
	return distinct;
}

/*
 * A block of 2^i frames at address 0 has the first values of the order, and any
 * other aligned block has such a row of values, or none of it.
 */
TEST(first_values_of_the_order_are_whole_blocks)
{
	unsigned long round, rounds = 5000 * test_scale();
	unsigned int i, k, nr, times[MCUBE_MAX_VALUES];
	u8 order[MCUBE_MAX_VALUES];
	struct rnd_state rnd;
	struct mcube_dim d;
	u64 base;

	seed(&rnd);
	for (round = 0; round < rounds; round++) {
		do
			map_random_dim(&rnd, &d);
		while (d.nr_tables);
		mcube_dim_order(&d, order);
		for (i = 0; i <= 8; i++) {
			nr = count_block(&d, 0, 1U << i, times);
			for (k = 0; k < d.nr_values; k++)
				ASSERT_EQ(times[order[k]], k < nr ? (1U << i) / nr : 0);
			base = map_random_pfn(&rnd) >> i << i;
			ASSERT_EQ(count_block(&d, base, 1U << i, times), nr);
			for (k = 0; k < d.nr_values; k++)
				ASSERT_EQ(times[order[k]], times[order[k - k % nr]]);
		}
	}
}

TEST(init_refuses)
{
	static const u64 ok[9] = { 1ULL << 12, 1ULL << 13, 1ULL << 14, 1ULL << 15, 1ULL << 16,
				   1ULL << 17, 1ULL << 18, 1ULL << 19, 1ULL << 20 };
	static const u64 far[1] = { 1ULL << 52 };
	static const u8 table[258] = { 0, 1, 2 };
	static const u8 wide[2] = { 0, 255 };
	struct mcube_dim d, was;
	unsigned int i;
	const char *why;

#define REFUSED(call, ...) do {					\
	why = NULL;							\
	was = d;							\
	EXPECT_EQ(call(&d, __VA_ARGS__, &why), -EINVAL);		\
	EXPECT_NE(why, NULL);						\
	EXPECT_FALSE(memcmp(&d, &was, sizeof(d)));			\
} while (0)
	memset(&d, 0x5a, sizeof(d));
	REFUSED(mcube_dim_init, ok, 9);
	EXPECT_EQ(mcube_dim_init(&d, ok, 9, NULL), -EINVAL);
	REFUSED(mcube_dim_init, ok, ~0U);
	REFUSED(mcube_dim_init, ok, 265);
	REFUSED(mcube_dim_init, far, 1);
	EXPECT_EQ(mcube_dim_init(&d, NULL, 0, NULL), 0);
	EXPECT_EQ(d.nr_values, 1);
	EXPECT_EQ(mcube_dim_value(&d, 12345), 0);
	REFUSED(mcube_dim_add_table, table, 0, 0);
	REFUSED(mcube_dim_add_table, table, 1, 0);
	REFUSED(mcube_dim_add_table, table, 257, 0);
	REFUSED(mcube_dim_add_table, table, 65539, 0);
	REFUSED(mcube_dim_add_table, table, 3, 31);
	REFUSED(mcube_dim_add_table, table, 3, 256);
	REFUSED(mcube_dim_add_table, wide, 2, 0);
	EXPECT_EQ(mcube_dim_add_table(&d, table, 256, 0, &why), 0);
	EXPECT_EQ(why, NULL);
	EXPECT_EQ(d.nr_values, 3);
	REFUSED(mcube_dim_add_table, table, 3, 9);
	EXPECT_EQ(mcube_dim_init(&d, ok, 7, NULL), 0);
	REFUSED(mcube_dim_add_table, table, 3, 20);
	EXPECT_EQ(mcube_dim_init(&d, ok, 1, NULL), 0);
	for (i = 0; i < MCUBE_MAX_TABLES; i++)
		EXPECT_EQ(mcube_dim_add_table(&d, table, 2, 10 + i, NULL), 0);
	REFUSED(mcube_dim_add_table, table, 2, 20);
	EXPECT_EQ(mcube_dim_add_table(&d, table, 2, 20, NULL), -EINVAL);

	d.table[1].scale++;
	EXPECT_EQ(mcube_dim_validate(&d, NULL), -EINVAL);
	d.table[1].scale--;
	EXPECT_EQ(mcube_dim_validate(&d, NULL), 0);
	d.table[3].inverse++;
	EXPECT_EQ(mcube_dim_validate(&d, NULL), -EINVAL);

	EXPECT_EQ(mcube_dim_init(&d, ok, 8, &why), 0);
	EXPECT_EQ(why, NULL);
	EXPECT_EQ(mcube_dim_validate(&d, NULL), 0);
	d.nr_values = 255;
	EXPECT_EQ(mcube_dim_validate(&d, NULL), -EINVAL);
	memset(&d, 0, sizeof(d));
	EXPECT_EQ(mcube_dim_validate(&d, NULL), -EINVAL);
}

/* In an accepted map every value has pages: among random pages all values occur. */
TEST(every_value_occurs)
{
	unsigned long round, rounds = 150 * test_scale();
	DECLARE_BITMAP(seen, MCUBE_MAX_VALUES);
	struct rnd_state rnd;
	struct mcube_dim d;
	unsigned int i;

	seed(&rnd);
	for (round = 0; round < rounds; round++) {
		map_random_dim(&rnd, &d);
		bitmap_zero(seen, MCUBE_MAX_VALUES);
		for (i = 0; i < 300000; i++) {
			__set_bit(mcube_dim_value(&d, map_random_pfn(&rnd)), seen);
			if (i % 1024 == 0 && bitmap_full(seen, d.nr_values))
				break;
		}
		ASSERT_TRUE(bitmap_full(seen, d.nr_values));
	}
}

/* A refused map has values without pages.  The maps here are small enough to count. */
TEST(refusal_is_exact)
{
	unsigned long round, rounds = 3000 * test_scale();
	unsigned int i, len, shift, nr, first, refused = 0, several = 0;
	struct mcube_dim d, raw;
	struct rnd_state rnd;
	const char *why;
	u8 entry[12];
	u64 mask[4], end;
	bool ok;

	seed(&rnd);
	for (round = 0; round < rounds; round++) {
		nr = get_random_u32_below(3);
		for (i = 0; i < nr; i++)
			mask[i] = (1 + get_random_u32_below(63)) * PAGE_SIZE;
		if (mcube_dim_init(&d, mask, nr, NULL))
			continue;
		end = 64;
		for (nr = 1 + get_random_u32_below(3); nr; nr--) {
			len = map_random_table(&rnd, entry, d.nr_tables ? 6 : 12);
			shift = get_random_u32_below(4);
			/* The same without the check. */
			raw = d;
			first = d.nr_tables ? raw.table[d.nr_tables - 1].first +
				raw.table[d.nr_tables - 1].len : 0;
			memcpy(raw.entry + first, entry, len);
			raw.table[raw.nr_tables].len = len;
			raw.table[raw.nr_tables++].shift = shift;
			for (i = 0, raw.nr_values = 0; i < len; i++)
				raw.nr_values = max_t(u16, raw.nr_values, entry[i] + 1);
			raw.nr_values *= d.nr_values;
			if (raw.nr_values > MCUBE_MAX_VALUES)
				continue;
			ok = !mcube_dim_add_table(&d, entry, len, shift, &why);
			if (!ok && strstr(why, "too many ways"))
				continue;
			ASSERT_EQ(all_values_below(&raw, raw.nr_values, end * len << shift), ok)
				TH_LOG("%s", why);
			refused += !ok;
			several += ok && d.nr_tables > 1;
			end *= ok ? len << shift : 1;
			if (end > 1 << 12)
				break;
		}
	}
	TH_LOG("of %lu, %u refused, %u with several tables", rounds, refused, several);
	EXPECT_GT(refused, rounds / 100);
	EXPECT_GT(several, rounds / 100);
}

TEST(good_text)
{
	char buf[MCUBE_DIM_TEXT];
	struct mcube_dim d, e;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(map_good_text); i++) {
		d = dim(_metadata, map_good_text[i].text);
		EXPECT_EQ(d.nr_values, map_good_text[i].nr_values);
		EXPECT_EQ(mcube_dim_format(&d, buf, sizeof(buf)),
			  strlen(map_good_text[i].canonical));
		EXPECT_STREQ(buf, map_good_text[i].canonical);
		e = dim(_metadata, buf);
		EXPECT_TRUE(mcube_dim_equal(&d, &e));
	}
}

TEST(bad_text_changes_nothing)
{
	struct mcube_dim d, was;
	const char *why;
	unsigned int i;
	char *exact;
	size_t len;

	memset(&d, 0x5a, sizeof(d));
	was = d;
	for (i = 0; i < ARRAY_SIZE(map_bad_text); i++) {
		len = strlen(map_bad_text[i].text);
		exact = malloc(len ?: 1);	/* No NUL follows, for ASan. */
		memcpy(exact, map_bad_text[i].text, len);
		why = NULL;
		EXPECT_EQ(mcube_dim_parse(&d, exact, len, &why), map_bad_text[i].err)
			TH_LOG("case \"%s\"", map_bad_text[i].text);
		EXPECT_NE(why, NULL)
			TH_LOG("case \"%s\"", map_bad_text[i].text);
		EXPECT_EQ(mcube_dim_parse(&d, exact, len, NULL), map_bad_text[i].err);
		free(exact);
	}
	EXPECT_EQ(mcube_dim_parse(&d, "0x1000\0", 7, NULL), -EINVAL);
	EXPECT_EQ(mcube_dim_parse(&d, "0x1000\0000x2000", 13, NULL), -EINVAL);
	EXPECT_FALSE(memcmp(&d, &was, sizeof(d)));
}

TEST(overlong_text)
{
	size_t i, len = 1 << 16;
	char *text = malloc(len);
	struct mcube_dim d;

	for (i = 0; i < 256; i++) {
		memset(text, i, len);
		EXPECT_NE(mcube_dim_parse(&d, text, len, NULL), 0);
		memcpy(text, "0x1000 ", 7);
		if (!strchr(" \t\n", i) || !i)
			EXPECT_NE(mcube_dim_parse(&d, text, len, NULL), 0);
	}
	for (i = 0; i + 7 <= len; i += 7)
		memcpy(text + i, "0x1000 ", 7);
	EXPECT_EQ(mcube_dim_parse(&d, text, i, NULL), -EINVAL);
	free(text);
}

TEST(round_trip_of_random_maps)
{
	unsigned long round, rounds = 20000 * test_scale();
	char buf[MCUBE_DIM_TEXT];
	struct rnd_state rnd;
	struct mcube_dim d, e;
	size_t longest = 0;
	int len;

	seed(&rnd);
	for (round = 0; round < rounds; round++) {
		map_random_dim(&rnd, &d);
		len = mcube_dim_format(&d, buf, sizeof(buf));
		longest = max_t(size_t, longest, len);
		ASSERT_EQ(mcube_dim_parse(&e, buf, len, NULL), 0);
		ASSERT_TRUE(mcube_dim_equal(&d, &e));
	}
	/* 8 masks of 15 and a blank; 4 times table:30: and a blank; 256 entries of at most 4. */
	EXPECT_LE(longest, 8 * 16 + 4 * 10 + 256 * 4U);
	EXPECT_LT(8 * 16 + 4 * 10 + 256 * 4, MCUBE_DIM_TEXT);
	EXPECT_LT(mcube_dim_format(&d, buf, 3), 3);
}

/* Pieces of valid text in any order give either a valid map or an error. */
TEST(text_at_random)
{
	static const char * const piece[] = {
		"0x", "0x1000", "0x2000", "0x4", "000", "table:", "0:", "1:", "0,1", ",2", ",",
		" ", " ", "\n", "none", "f", "-", ":", "9999999999", "\t", "0x44000", "x", "\0",
	};
	unsigned long round, rounds = 100000 * test_scale();
	unsigned int accepted = 0, nr, i;
	char text[256], *exact;
	struct mcube_dim d;
	size_t len;
	int err;

	for (round = 0; round < rounds; round++) {
		nr = 1 + get_random_u32_below(12);
		for (len = i = 0; i < nr; i++) {
			const char *p = piece[get_random_u32_below(ARRAY_SIZE(piece))];
			size_t n = *p ? strlen(p) : 1;

			memcpy(text + len, p, n);
			len += n;
		}
		exact = malloc(len);
		memcpy(exact, text, len);
		err = mcube_dim_parse(&d, exact, len, NULL);
		if (!err) {
			accepted++;
			ASSERT_EQ(mcube_dim_validate(&d, NULL), 0);
		} else {
			ASSERT_TRUE(err == -EINVAL || err == -ERANGE)
				TH_LOG("returned %d", err);
		}
		free(exact);
	}
	TH_LOG("accepted %u of %lu", accepted, rounds);
	EXPECT_GT(accepted, rounds / 1000);
}

TEST(default_colors_of_cpus)
{
	struct mcube_guess g;
	struct mcube_cpu cpu;
	unsigned int i, m;
	struct mcube_dim d;

	for (i = 0; i < ARRAY_SIZE(map_cpus); i++) {
		map_cpu_of_case(&cpu, i);
		mcube_guess_colors(&g, &cpu);
		EXPECT_EQ(g.how, map_cpus[i].how);
		EXPECT_EQ(g.level, map_cpus[i].level);
		EXPECT_EQ(g.nr_masks, map_cpus[i].nr_masks);
		EXPECT_EQ(g.size, map_cpus[i].size_kib * 1024ULL);
		EXPECT_EQ(g.llc_size, map_cpus[i].llc_kib * 1024ULL);
		for (m = 0; m < g.nr_masks; m++)
			EXPECT_EQ(g.mask[m], 1ULL << (PAGE_SHIFT + m));
		EXPECT_EQ(mcube_dim_init(&d, g.mask, g.nr_masks, NULL), 0);
		ASSERT_EQ(_metadata->exit_code, KSFT_PASS)
			TH_LOG("case %s", map_cpus[i].name);
	}
}

TEST(default_colors_of_any_registers)
{
	unsigned long round, rounds = 100000 * test_scale();
	struct mcube_guess g;
	struct mcube_cpu cpu;
	struct mcube_dim d;
	unsigned int i;

	for (round = 0; round < rounds; round++) {
		memset(&cpu, 0, sizeof(cpu));
		cpu.vendor = get_random_u32_below(3);
		cpu.family = 6;
		cpu.model = get_random_u32();
		cpu.nr_caches = get_random_u32_below(9);
		for (i = 0; i < cpu.nr_caches; i++)
			mcube_cpuid4_decode(&cpu.cache[i], get_random_u32(),
					    get_random_u32() & get_random_u32(),
					    get_random_u32() & 1 ?
					    BIT(get_random_u32_below(32)) - 1 :
					    get_random_u32(), get_random_u32());
		mcube_guess_colors(&g, &cpu);
		ASSERT_EQ(g.how == MCUBE_GUESS_NONE, !g.nr_masks);
		ASSERT_EQ(mcube_dim_init(&d, g.mask, g.nr_masks, NULL), 0);
	}
}
