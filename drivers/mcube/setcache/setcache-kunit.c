// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of page sets
 *
 * Copyright (C) 2026 The mcube authors
 *
 * Tests sets, their policies and their homes as compiled into the kernel (the user-space tests
 * run much longer).  The suite is a part of the module, as no other module can link to these
 * functions.  It runs when the module is loaded, with page sets off.
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

static struct setcache_set *begin_set(struct kunit *test)
{
	struct home_test *t = test->priv;

	setcache_set_init(&t->set[0]);
	return &t->set[0];
}

/* A reference to a page; a miss brings it in.  True if it is a hit. */
static bool reference(struct kunit *test, struct setcache_set *set, u64 index,
		      enum setcache_policy policy)
{
	struct setcache_key key = setcache_key(5, 1, index);
	int got = setcache_set_get(set, &key, policy);
	unsigned int way;

	if (got >= 0) {
		setcache_set_put(set, got);
		return true;
	}
	KUNIT_ASSERT_EQ(test, setcache_set_reserve(set, &key, policy, &way), SETCACHE_RESERVED);
	KUNIT_ASSERT_TRUE(test, setcache_set_publish(set, way));
	setcache_set_put(set, way);
	return false;
}

static void a_set_holds_its_ways(struct kunit *test)
{
	static const struct setcache_range all = {
		.cookie_last = U64_MAX, .index_last = U64_MAX,
	};
	struct setcache_set *set;
	enum setcache_policy p;
	u64 i;

	for (p = 0; p < SETCACHE_NR_POLICIES; p++) {
		set = begin_set(test);
		for (i = 0; i < SETCACHE_WAYS; i++)
			KUNIT_EXPECT_FALSE(test, reference(test, set, i, p));
		for (i = 0; i < SETCACHE_WAYS; i++)
			KUNIT_EXPECT_TRUE(test, reference(test, set, i, p));
		/* One more: one goes. */
		KUNIT_EXPECT_FALSE(test, reference(test, set, i, p));
		KUNIT_EXPECT_TRUE(test, reference(test, set, i, p));
		KUNIT_EXPECT_EQ(test, setcache_set_resident(set), SETCACHE_ALL);
		KUNIT_EXPECT_FALSE(test, setcache_set_is_idle(set));
		KUNIT_EXPECT_EQ(test, setcache_set_kill_range(set, &all), SETCACHE_WAYS);
		KUNIT_EXPECT_TRUE(test, setcache_set_is_idle(set));
	}
}

/* A page that is killed while it is filled, or in use, leaves its way with the last pin. */
static void a_killed_page_is_not_published(struct kunit *test)
{
	struct setcache_key key = setcache_key(5, 1, 1);
	struct setcache_set *set = begin_set(test);
	unsigned int way;
	int got;

	KUNIT_ASSERT_EQ(test, setcache_set_reserve(set, &key, SETCACHE_LRU, &way),
			SETCACHE_RESERVED);
	KUNIT_EXPECT_TRUE(test, setcache_set_kill(set, &key));
	KUNIT_EXPECT_FALSE(test, setcache_set_publish(set, way));
	KUNIT_EXPECT_EQ(test, setcache_set_state(set, way), SETCACHE_DOOMED);
	KUNIT_EXPECT_EQ(test, setcache_set_get(set, &key, SETCACHE_LRU), -1);
	setcache_set_put(set, way);
	KUNIT_EXPECT_EQ(test, setcache_set_state(set, way), SETCACHE_FREE);

	reference(test, set, 1, SETCACHE_LRU);
	got = setcache_set_get(set, &key, SETCACHE_LRU);
	KUNIT_ASSERT_GE(test, got, 0);
	KUNIT_EXPECT_TRUE(test, setcache_set_kill(set, &key));
	KUNIT_EXPECT_FALSE(test, setcache_set_is_free(set, got));
	setcache_set_put(set, got);
	KUNIT_EXPECT_TRUE(test, setcache_set_is_free(set, got));
}

/* Pages that are used once come by; two others are used all the time before. */
static void policies_choose_the_victim(struct kunit *test)
{
	struct setcache_set *set;
	enum setcache_policy p;
	unsigned int i;

	for (p = 0; p < SETCACHE_NR_POLICIES; p++) {
		set = begin_set(test);
		for (i = 0; i < 4; i++) {
			reference(test, set, 0, p);
			reference(test, set, 1, p);
		}
		for (i = 0; i < SETCACHE_WAYS; i++)
			reference(test, set, 100 + i, p);
		/* LRU alone forgets them; all keep what came last. */
		KUNIT_EXPECT_TRUE(test, reference(test, set, 100 + i - 1, p));
		KUNIT_EXPECT_EQ(test, reference(test, set, 0, p), p != SETCACHE_LRU);
		KUNIT_EXPECT_EQ(test, reference(test, set, 1, p), p != SETCACHE_LRU);
	}
}

static struct kunit_case setcache_cases[] = {
	KUNIT_CASE(a_set_holds_its_ways),
	KUNIT_CASE(a_killed_page_is_not_published),
	KUNIT_CASE(policies_choose_the_victim),
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
