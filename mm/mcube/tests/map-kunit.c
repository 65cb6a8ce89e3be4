// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of the address map
 *
 * Copyright (C) 2026 The mcube authors
 *
 * Runs the cases of map-cases.h on the code as compiled into the kernel, and
 * tests the rules for changing the map.  The user-space test runs more rounds.
 */

#include <kunit/test.h>
#include <linux/slab.h>

#include "../map/map.h"
#include "map-cases.h"

#define ROUNDS 300

static void map_is_linear(struct kunit *test)
{
	struct rnd_state rnd;
	struct mcube_dim d;
	unsigned int i;
	u64 a, b;

	prandom_seed_state(&rnd, 1);
	for (i = 0; i < ROUNDS; i++) {
		map_random_dim(&rnd, &d);
		a = map_random_pfn(&rnd);
		b = map_random_pfn(&rnd);
		KUNIT_ASSERT_EQ(test, mcube_dim_value(&d, a), map_direct_value(&d, a));
		if (!d.nr_tables)
			KUNIT_ASSERT_EQ(test, mcube_dim_value(&d, a ^ b),
					mcube_dim_value(&d, a) ^ mcube_dim_value(&d, b));
	}
}

static void map_with_three_channels(struct kunit *test)
{
	struct mcube_dim d;
	u64 pfn;

	KUNIT_ASSERT_EQ(test, mcube_dim_parse(&d, "table:0:0,1,2", 13, NULL), 0);
	KUNIT_EXPECT_EQ(test, d.nr_values, 3);
	for (pfn = 0; pfn < 100; pfn++)
		KUNIT_EXPECT_EQ(test, mcube_dim_value(&d, pfn), (u32)pfn % 3);
}

/* The M3 paper's Figure 5: 3 pages in a bank, 8 banks 32 times, 4 ranks; 4 MiB miss ranks. */
static void map_of_the_m3_paper(struct kunit *test)
{
	struct mcube_dim d;
	u64 pfn;

	KUNIT_ASSERT_EQ(test, mcube_dim_parse(&d, MAP_PAPER, strlen(MAP_PAPER), NULL), 0);
	for (pfn = 0; pfn < 8192; pfn++)
		KUNIT_EXPECT_EQ(test, mcube_dim_value(&d, pfn),
				(u32)pfn / 3 % 8 + (u32)pfn / 768 % 4 * 8);
	KUNIT_EXPECT_EQ(test, mcube_dim_cover(&d, 9), 8);
	KUNIT_EXPECT_EQ(test, mcube_dim_cover(&d, 10), 16);
	KUNIT_EXPECT_EQ(test, mcube_dim_cover(&d, 11), 24);
	KUNIT_EXPECT_EQ(test, mcube_dim_cover_order(&d), 12);
}

static void check_offset_map(struct kunit *test, const struct mcube_dim *d, unsigned int order,
			     struct rnd_state *rnd)
{
	struct mcube_offset_map s;
	unsigned long *mem;
	unsigned int i;

	mem = kvcalloc(mcube_offset_map_longs(d, order), sizeof(*mem), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, mem);
	mcube_offset_map_build(&s, d, order, mem);
	for (i = 0; i < 4; i++)
		KUNIT_EXPECT_EQ(test, 0,
				map_check_offset_map(&s, d,
						     map_random_pfn(rnd) >> order << order));
	kvfree(mem);
}

static void offset_map_gives_each_offset_its_value(struct kunit *test)
{
	struct rnd_state rnd;
	struct mcube_dim d;
	unsigned int i;

	prandom_seed_state(&rnd, 2);
	for (i = 0; i < 40; i++) {
		map_random_dim(&rnd, &d);
		check_offset_map(test, &d, MCUBE_MAX_ORDER - i % 2, &rnd);
	}
	for (i = 0; i < ARRAY_SIZE(map_good_text); i++) {
		KUNIT_ASSERT_EQ(test, 0, mcube_dim_parse(&d, map_good_text[i].text,
							 strlen(map_good_text[i].text), NULL));
		check_offset_map(test, &d, MCUBE_MAX_ORDER, &rnd);
		check_offset_map(test, &d, i % MCUBE_MAX_ORDER, &rnd);
	}
	KUNIT_EXPECT_EQ(test, mcube_offset_map_longs(&d, MCUBE_MAX_ORDER + 1), 0);
}

static void text_is_read_back(struct kunit *test)
{
	char buf[MCUBE_DIM_TEXT];
	struct mcube_dim d;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(map_good_text); i++) {
		KUNIT_ASSERT_EQ_MSG(test, 0,
				    mcube_dim_parse(&d, map_good_text[i].text,
						    strlen(map_good_text[i].text), NULL),
				    "\"%s\"", map_good_text[i].text);
		KUNIT_EXPECT_EQ(test, d.nr_values, map_good_text[i].nr_values);
		mcube_dim_format(&d, buf, sizeof(buf));
		KUNIT_EXPECT_STREQ(test, buf, map_good_text[i].canonical);
	}
}

static void bad_text_is_refused(struct kunit *test)
{
	struct mcube_dim d, was;
	unsigned int i;

	memset(&d, 0x5a, sizeof(d));
	was = d;
	for (i = 0; i < ARRAY_SIZE(map_bad_text); i++)
		KUNIT_EXPECT_EQ_MSG(test, map_bad_text[i].err,
				    mcube_dim_parse(&d, map_bad_text[i].text,
						    strlen(map_bad_text[i].text), NULL),
				    "\"%s\"", map_bad_text[i].text);
	KUNIT_EXPECT_MEMEQ(test, &d, &was, sizeof(d));
}

static void default_colors_of_cpus(struct kunit *test)
{
	struct mcube_guess g;
	struct mcube_cpu cpu;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(map_cpus); i++) {
		map_cpu_of_case(&cpu, i);
		mcube_guess_colors(&g, &cpu);
		KUNIT_EXPECT_EQ_MSG(test, g.how, map_cpus[i].how, "%s", map_cpus[i].name);
		KUNIT_EXPECT_EQ_MSG(test, g.level, map_cpus[i].level, "%s", map_cpus[i].name);
		KUNIT_EXPECT_EQ_MSG(test, g.nr_masks, map_cpus[i].nr_masks, "%s",
				    map_cpus[i].name);
		KUNIT_EXPECT_EQ_MSG(test, g.llc_size, map_cpus[i].llc_kib * 1024ULL, "%s",
				    map_cpus[i].name);
	}
}

/* The map cannot change while it is used; otherwise it becomes the map that is set. */
static void map_is_fixed_while_used(struct kunit *test)
{
	static const u64 mask[] = { 1ULL << 20, 1ULL << 21 };
	static struct mcube_map_info was, now;
	const struct mcube_map *map;
	static struct mcube_map new;

	mcube_map_info(&was);
	if (mcube_map_set(&was.map, was.color_source) == -EBUSY)
		kunit_skip(test, "the map is in use");

	KUNIT_ASSERT_EQ(test, 0, mcube_dim_init(&new.color, mask, 2, NULL));
	KUNIT_ASSERT_EQ(test, 0, mcube_dim_init(&new.bank, mask, 1, NULL));

	map = mcube_map_get();
	KUNIT_EXPECT_EQ(test, mcube_map_set(&new, MCUBE_SOURCE_SYSFS), -EBUSY);
	KUNIT_EXPECT_TRUE(test, mcube_dim_equal(&map->color, &was.map.color));
	mcube_map_put();

	KUNIT_EXPECT_EQ(test, mcube_map_set(&new, MCUBE_SOURCE_SYSFS), 0);
	mcube_map_info(&now);
	KUNIT_EXPECT_TRUE(test, mcube_dim_equal(&now.map.color, &new.color));
	KUNIT_EXPECT_TRUE(test, mcube_dim_equal(&now.map.bank, &new.bank));
	KUNIT_EXPECT_EQ(test, now.color_source, MCUBE_SOURCE_SYSFS);
	KUNIT_EXPECT_EQ(test, now.map.level, MCUBE_LEVEL_GIVEN);
	KUNIT_EXPECT_EQ(test, mcube_map_need_last_level(&now.map, "test"), 0);
	now.map.level = MCUBE_LEVEL_L2;
	KUNIT_EXPECT_EQ(test, mcube_map_need_last_level(&now.map, "test"), -ENXIO);

	new.color.nr_values++;
	KUNIT_EXPECT_EQ(test, mcube_map_set(&new, MCUBE_SOURCE_SYSFS), -EINVAL);

	KUNIT_EXPECT_EQ(test, 0, mcube_map_set_dims(&was.map.color, NULL, was.color_source));
	KUNIT_EXPECT_EQ(test, 0, mcube_map_set_dims(NULL, &was.map.bank, was.bank_source));
	mcube_map_info(&now);
	KUNIT_EXPECT_EQ(test, now.map.level, was.map.level);
}

static struct kunit_case map_test_cases[] = {
	KUNIT_CASE(map_is_linear),
	KUNIT_CASE(map_with_three_channels),
	KUNIT_CASE(map_of_the_m3_paper),
	KUNIT_CASE(offset_map_gives_each_offset_its_value),
	KUNIT_CASE(text_is_read_back),
	KUNIT_CASE(bad_text_is_refused),
	KUNIT_CASE(default_colors_of_cpus),
	KUNIT_CASE(map_is_fixed_while_used),
	{}
};

static struct kunit_suite map_test_suite = {
	.name = "mcube-map",
	.test_cases = map_test_cases,
};

kunit_test_suite(map_test_suite);

MODULE_DESCRIPTION("Tests of mcube's address map");
MODULE_LICENSE("GPL");
