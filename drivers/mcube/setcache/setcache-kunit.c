// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of page sets
 *
 * Copyright (C) 2026 The mcube authors
 *
 * Tests the homes of sets as compiled into the kernel (the user-space tests run much longer).
 * The suite is a part of the module, as no other module can link to these functions.  It runs
 * when the module is loaded, with page sets off.
 */

#include <kunit/test.h>
#include <linux/random.h>
#include <linux/slab.h>

#include "internal.h"

#define SHIFT		SETCACHE_HOME_SHIFT
#define SEGMENTS	128U
#define PAGES		3000U

struct home_test {
	struct setcache_table table;
	void *segment[SEGMENTS];
	struct setcache_set set[SEGMENTS << SHIFT];
};

static void no_lock(struct setcache_set *set)
{
}

static const struct setcache_locks no_locks = { .lock = no_lock, .unlock = no_lock };

/* The pages of a set are numbers that name its home. */
static void *page_of(u32 number, u32 homes)
{
	return (void *)(1UL + setcache_home(number, homes));
}

static int setcache_test_init(struct kunit *test)
{
	struct home_test *t = kvzalloc(sizeof(*t), GFP_KERNEL);

	test->priv = t;
	return t ? 0 : -ENOMEM;
}

static void setcache_test_exit(struct kunit *test)
{
	kvfree(test->priv);
}

static struct home_test *begin(struct kunit *test, u32 homes)
{
	struct home_test *t = test->priv;
	struct setcache_layout layout = {
		.stride = sizeof(struct setcache_set), .segment_shift = SHIFT,
		.max_segments = SEGMENTS, .homes = homes,
	};
	unsigned int i, way;

	layout.segment = t->segment;
	for (i = 0; i < ARRAY_SIZE(t->set); i++) {
		setcache_set_init(&t->set[i]);
		for (way = 0; way < SETCACHE_WAYS; way++)
			t->set[i].entry[way].page = page_of(i, homes);
	}
	setcache_table_init(&t->table, &layout, &no_locks, get_random_u64());
	for (i = 0; i < SEGMENTS; i++)
		setcache_table_add_segment(&t->table, &t->set[i << SHIFT]);
	return t;
}

static void fill(struct kunit *test, struct home_test *t)
{
	unsigned int page, way;

	for (page = 0; page < PAGES; page++) {
		struct setcache_key key = setcache_key(t->table.seed, 1, page);
		struct setcache_set *set = setcache_table_find(&t->table, &key);

		if (setcache_set_reserve(set, &key, SETCACHE_LRU, &way) == SETCACHE_RESERVED)
			KUNIT_ASSERT_TRUE(test, setcache_set_publish(set, way));
		setcache_set_put(set, way);
	}
}

/* While the table grows and shrinks. */
static void no_page_leaves_its_home(struct kunit *test)
{
	unsigned int i, way, resident, found, page;
	struct home_test *t;
	u32 homes;
	int got;

	for (homes = 1; homes <= 5; homes++) {
		t = begin(test, homes);
		while (t->table.nr < SEGMENTS << SHIFT) {
			if (is_power_of_2(t->table.nr))
				fill(test, t);
			setcache_table_grow(&t->table, SETCACHE_LRU);
		}
		fill(test, t);
		while (t->table.nr > 100)
			setcache_table_shrink(&t->table, SETCACHE_LRU);
		for (i = 0, resident = 0; i < ARRAY_SIZE(t->set); i++) {
			resident += hweight16(setcache_set_resident(&t->set[i]));
			for (way = 0; way < SETCACHE_WAYS; way++)
				KUNIT_ASSERT_PTR_EQ(test, t->set[i].entry[way].page,
						    page_of(i, homes));
		}
		for (page = 0, found = 0; page < PAGES; page++) {
			struct setcache_key key = setcache_key(t->table.seed, 1, page);
			struct setcache_set *set = setcache_table_find(&t->table, &key);

			got = setcache_set_get(set, &key, SETCACHE_LRU);
			if (got < 0)
				continue;
			setcache_set_put(set, got);
			found++;
		}
		KUNIT_EXPECT_EQ(test, found, resident);
		KUNIT_EXPECT_GT(test, found, 0);
	}
}

static void the_hash_names_the_home(struct kunit *test)
{
	unsigned int i, nr, place;
	u64 hash;

	for (i = 0; i < 10000; i++) {
		hash = get_random_u64();
		nr = 8192 + get_random_u32_below(100000);
		place = setcache_place(hash, nr);
		/* Sets that came in first have taken the nodes in turn. */
		if (place >= 256)
			KUNIT_ASSERT_EQ(test, setcache_home(place, 4), hash >> 62);
	}
}

static void bundles_are_in_order(struct kunit *test)
{
	u16 home[SETCACHE_BATCH];
	u8 order[SETCACHE_BATCH];
	unsigned int round, i;
	u32 seen;

	for (round = 0; round < 1000; round++) {
		for (i = 0; i < SETCACHE_BATCH; i++)
			home[i] = get_random_u32_below(4);
		setcache_bundle(home, SETCACHE_BATCH, order);
		for (i = 0, seen = 0; i < SETCACHE_BATCH; i++) {
			seen |= BIT(order[i]);
			if (!i)
				continue;
			KUNIT_ASSERT_LE(test, home[order[i - 1]], home[order[i]]);
			if (home[order[i - 1]] == home[order[i]])
				KUNIT_ASSERT_LT(test, order[i - 1], order[i]);
		}
		KUNIT_ASSERT_EQ(test, seen, BIT(SETCACHE_BATCH) - 1);
	}
}

static struct kunit_case setcache_cases[] = {
	KUNIT_CASE(no_page_leaves_its_home),
	KUNIT_CASE(the_hash_names_the_home),
	KUNIT_CASE(bundles_are_in_order),
	{}
};

static struct kunit_suite setcache_suite = {
	.name = "mcube_setcache",
	.init = setcache_test_init,
	.exit = setcache_test_exit,
	.test_cases = setcache_cases,
};

kunit_test_suite(setcache_suite);
