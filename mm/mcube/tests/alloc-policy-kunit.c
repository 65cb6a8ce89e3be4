// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of policies and reserved colors (policy.c, reserve.c)
 *
 * Copyright (C) 2026 The mcube authors
 *
 * Two made-up policies on the running system: the larger request for reserved
 * colors holds, policies hear of each change, all requests end with their policy,
 * and no policy outlives the allocator.
 */

#include <kunit/test.h>
#include <linux/errno.h>
#include <linux/mcube_alloc.h>
#include <linux/mm.h>
#include <linux/rcupdate.h>
#include <linux/string.h>

#include "../alloc/internal.h"
#include "../alloc/policy.h"
#include "../map/map.h"
#include "alloc-fixture.h"

static int prepare(const struct mcube_map *map);
static void start_one(const struct mcube_map *map);
static void start_two(const struct mcube_map *map);
static void note_stop_one(void);
static void note_stop_two(void);
static void note_partition(unsigned int nr);

static struct mcube_policy one = {
	.name = "one",
	.prepare = prepare,
	.start = start_one,
	.stop = note_stop_one,
	.partition = note_partition,
};

static struct mcube_policy two = {
	.name = "two",
	.prepare = prepare,
	.start = start_two,
	.stop = note_stop_two,
};

/* What start() of each policy requests, and the order in which they stopped. */
static unsigned int nr_one, nr_two;
static bool hop_one, hop_two;
static int fail;
static char stopped[8];

/* What policy one was told, and how often. */
static unsigned int told, times_told;

static void note_partition(unsigned int nr)
{
	told = nr;
	times_told++;
}

static int prepare(const struct mcube_map *map)
{
	return fail;
}

static void request(struct mcube_policy *p, unsigned int nr, bool hop)
{
	mcube_reserve_request(p, nr);
	mcube_reserve_hop(p, hop);
}

static void start_one(const struct mcube_map *map)
{
	request(&one, nr_one, hop_one);
}

static void start_two(const struct mcube_map *map)
{
	request(&two, nr_two, hop_two);
}

static void note_stop_one(void)
{
	strlcat(stopped, "1", sizeof(stopped));
}

static void note_stop_two(void)
{
	strlcat(stopped, "2", sizeof(stopped));
}

static int policy_test_init(struct kunit *test)
{
	struct alloc_fixture *f = kunit_kzalloc(test, sizeof(*f), GFP_KERNEL);

	if (!f)
		return -ENOMEM;
	test->priv = f;
	nr_one = 1;
	nr_two = 4;
	hop_one = false;
	hop_two = false;
	fail = 0;
	stopped[0] = '\0';
	times_told = 0;
	return alloc_fixture_init(f);
}

static void policy_test_exit(struct kunit *test)
{
	if (!test->priv)
		return;
	mcube_alloc_enable(false);
	alloc_fixture_exit(test->priv);
}

/* The first @nr colors are reserved, and memory hops over the other colors. */
static void reserved_is(struct kunit *test, unsigned int nr)
{
	unsigned int i;

	KUNIT_EXPECT_EQ(test, mcube_reserve.nr, nr);
	KUNIT_EXPECT_EQ(test, mcube_reserve_nr(), nr);
	KUNIT_ASSERT_EQ(test, mcube_reserve.nr_hop, COLORS - nr);
	for (i = 0; i < 2 * (COLORS - nr); i++)
		KUNIT_EXPECT_EQ(test, mcube_reserve_color(i),
				nr + i % (COLORS - nr));
	for (i = 0; i < 2 * nr; i++)
		KUNIT_EXPECT_EQ(test, mcube_reserve_polluting(i), i % nr);
	for (i = 0; i < MCUBE_MAX_VALUES; i++)
		KUNIT_EXPECT_EQ(test, mcube_reserve_has(i), i < nr);
	if (!nr)
		KUNIT_EXPECT_EQ(test, mcube_reserve_polluting(7), 0);
}

static void largest_request_holds(struct kunit *test)
{
	KUNIT_ASSERT_EQ(test, mcube_policy_enable(&one), 0);
	reserved_is(test, 1);
	KUNIT_ASSERT_EQ(test, mcube_policy_enable(&two), 0);
	reserved_is(test, 4);
	mcube_policy_disable(&two);
	reserved_is(test, 1);
	KUNIT_ASSERT_EQ(test, mcube_policy_enable(&two), 0);
	mcube_policy_disable(&one);
	reserved_is(test, 4);
	mcube_policy_disable(&two);
	reserved_is(test, 0);
}

static void request_again(struct mcube_policy *p, unsigned int nr)
{
	mcube_policy_lock();
	mcube_reserve_request(p, nr);
	mcube_policy_unlock();
}

static void requests_change_while_on(struct kunit *test)
{
	KUNIT_ASSERT_EQ(test, mcube_policy_enable(&two), 0);
	KUNIT_ASSERT_EQ(test, mcube_policy_enable(&one), 0);
	reserved_is(test, 4);
	request_again(&one, 6);
	reserved_is(test, 6);
	request_again(&two, 2);
	reserved_is(test, 6);
	request_again(&one, 0);
	reserved_is(test, 2);
	mcube_policy_disable(&two);
	reserved_is(test, 0);
	request_again(&one, 3);
	reserved_is(test, 3);
	mcube_policy_disable(&one);
	reserved_is(test, 0);
}

static void a_color_is_always_left(struct kunit *test)
{
	nr_one = UINT_MAX;
	KUNIT_ASSERT_EQ(test, mcube_policy_enable(&one), 0);
	reserved_is(test, COLORS - 1);
	KUNIT_EXPECT_EQ(test, told, COLORS - 1);
	mcube_policy_disable(&one);
}

/* Was policy one told of @nr colors since it was asked last? */
static void was_told(struct kunit *test, unsigned int nr)
{
	KUNIT_EXPECT_EQ(test, times_told, 1);
	KUNIT_EXPECT_EQ(test, told, nr);
	times_told = 0;
}

static void policies_hear_of_each_change(struct kunit *test)
{
	KUNIT_ASSERT_EQ(test, mcube_policy_enable(&one), 0);
	was_told(test, 1);
	KUNIT_ASSERT_EQ(test, mcube_policy_enable(&two), 0);
	was_told(test, 4);
	request_again(&two, 5);
	was_told(test, 5);
	mcube_policy_disable(&two);
	was_told(test, 1);
	request_again(&one, 1);
	KUNIT_EXPECT_EQ(test, times_told, 0);
	/* A policy that stops does not hear of its own withdrawal. */
	mcube_policy_disable(&one);
	KUNIT_EXPECT_EQ(test, times_told, 0);
	KUNIT_ASSERT_EQ(test, mcube_policy_enable(&two), 0);
	KUNIT_EXPECT_EQ(test, times_told, 0);
	/* The partition has enough colors already. */
	KUNIT_ASSERT_EQ(test, mcube_policy_enable(&one), 0);
	KUNIT_EXPECT_EQ(test, times_told, 0);
	mcube_policy_disable(&two);
	was_told(test, 1);
	mcube_policy_disable(&one);
}

/* Colors are reserved in the order of the frames that have them. */
static void order_follows_the_map(struct kunit *test)
{
	static const u64 mask[] = { 0x4000, 0x2000, 0x1000 };
	static const u8 order[] = { 0, 4, 2, 6, 1, 5, 3, 7 };
	struct mcube_map map;
	unsigned int i;

	KUNIT_ASSERT_EQ(test, mcube_alloc_enable(false), 0);
	KUNIT_ASSERT_EQ(test, mcube_dim_init(&map.color, mask, 3, NULL), 0);
	KUNIT_ASSERT_EQ(test, mcube_map_set_dims(&map.color, NULL, MCUBE_SOURCE_SYSFS), 0);
	KUNIT_ASSERT_EQ(test, mcube_alloc_enable(true), 0);
	nr_one = 3;
	KUNIT_ASSERT_EQ(test, mcube_policy_enable(&one), 0);
	for (i = 0; i < 3; i++)
		KUNIT_EXPECT_EQ(test, mcube_reserve_polluting(i), order[i]);
	for (i = 3; i < 8; i++)
		KUNIT_EXPECT_EQ(test, mcube_reserve_color(i - 3), order[i]);
	for (i = 0; i < 8; i++)
		KUNIT_EXPECT_EQ(test, mcube_reserve_has(order[i]), i < 3);
	/* Of the earlier map, which had more colors, no color is left. */
	for (i = 0; i < ARRAY_SIZE(mcube_reserve.order); i++) {
		KUNIT_EXPECT_LT(test, mcube_reserve.order[i], 8);
		KUNIT_EXPECT_LT(test, mcube_reserve.hop[i], 8);
	}
	mcube_policy_disable(&one);
}

static void smaller_request_changes_nothing(struct kunit *test)
{
	nr_one = 8;
	KUNIT_ASSERT_EQ(test, mcube_policy_enable(&one), 0);
	KUNIT_ASSERT_EQ(test, mcube_policy_enable(&two), 0);
	reserved_is(test, 8);
	mcube_policy_disable(&two);
	reserved_is(test, 8);
	mcube_policy_disable(&one);
}

static void memory_hops_while_a_policy_wants_it(struct kunit *test)
{
	hop_two = true;
	KUNIT_ASSERT_EQ(test, mcube_policy_enable(&one), 0);
	KUNIT_EXPECT_FALSE(test, static_key_enabled(&mcube_hop_key));
	KUNIT_ASSERT_EQ(test, mcube_policy_enable(&two), 0);
	KUNIT_EXPECT_TRUE(test, static_key_enabled(&mcube_hop_key));
	mcube_policy_lock();
	mcube_reserve_hop(&one, true);
	mcube_reserve_hop(&two, false);
	mcube_policy_unlock();
	KUNIT_EXPECT_TRUE(test, static_key_enabled(&mcube_hop_key));
	mcube_policy_disable(&one);
	KUNIT_EXPECT_FALSE(test, static_key_enabled(&mcube_hop_key));
	mcube_policy_disable(&two);
}

static bool shared(struct mcube_policy *p)
{
	bool ret;

	mcube_policy_lock();
	ret = mcube_reserve_shared(p);
	mcube_policy_unlock();
	return ret;
}

static void lend(struct mcube_policy *p, bool on)
{
	mcube_policy_lock();
	mcube_reserve_lend(p, on);
	mcube_policy_unlock();
}

/* Memory hops over all colors, the reserved colors last. */
static void lent_is(struct kunit *test, unsigned int nr)
{
	unsigned int i;

	KUNIT_EXPECT_TRUE(test, mcube_reserve_lent());
	KUNIT_EXPECT_EQ(test, mcube_reserve_nr(), nr);
	KUNIT_ASSERT_EQ(test, mcube_reserve.nr_hop, COLORS);
	for (i = 0; i < COLORS; i++)
		KUNIT_EXPECT_EQ(test, mcube_reserve.hop[i], (nr + i) % COLORS);
	/* Pages that must not pollute keep out. */
	for (i = 0; i < COLORS; i++)
		KUNIT_EXPECT_FALSE(test, mcube_reserve_has(mcube_reserve_color(i)));
}

/* A policy that needs its colors is enough to end the lending of another policy. */
static void colors_are_lent_by_all_who_asked(struct kunit *test)
{
	KUNIT_ASSERT_EQ(test, mcube_policy_enable(&one), 0);
	reserved_is(test, 1);
	lend(&one, true);
	lent_is(test, 1);
	KUNIT_EXPECT_FALSE(test, shared(&one));
	KUNIT_EXPECT_TRUE(test, shared(&two));
	KUNIT_ASSERT_EQ(test, mcube_policy_enable(&two), 0);
	KUNIT_EXPECT_TRUE(test, shared(&one));
	KUNIT_EXPECT_FALSE(test, mcube_reserve_lent());
	reserved_is(test, 4);
	lend(&two, true);
	lent_is(test, 4);
	lend(&one, false);
	reserved_is(test, 4);
	mcube_policy_disable(&one);
	lent_is(test, 4);
	mcube_policy_disable(&two);
	KUNIT_EXPECT_FALSE(test, mcube_reserve_lent());
	/* A policy that comes again lends nothing yet. */
	KUNIT_ASSERT_EQ(test, mcube_policy_enable(&two), 0);
	reserved_is(test, 4);
	mcube_policy_disable(&two);
}

static void allocator_stops_policies_newest_first(struct kunit *test)
{
	KUNIT_ASSERT_EQ(test, mcube_policy_enable(&one), 0);
	KUNIT_ASSERT_EQ(test, mcube_policy_enable(&two), 0);
	KUNIT_ASSERT_EQ(test, mcube_alloc_enable(false), 0);
	KUNIT_EXPECT_STREQ(test, stopped, "21");
	KUNIT_EXPECT_FALSE(test, mcube_policy_enabled(&one));
	KUNIT_EXPECT_FALSE(test, mcube_policy_enabled(&two));
	KUNIT_EXPECT_EQ(test, mcube_policy_enable(&one), -ENODEV);
	mcube_policy_disable(&one);
	KUNIT_EXPECT_STREQ(test, stopped, "21");
}

static void refused_policy_leaves_nothing(struct kunit *test)
{
	hop_one = true;
	fail = -ERANGE;
	KUNIT_EXPECT_EQ(test, mcube_policy_enable(&one), -ERANGE);
	KUNIT_EXPECT_FALSE(test, mcube_policy_enabled(&one));
	KUNIT_EXPECT_FALSE(test, static_key_enabled(&mcube_hop_key));
	reserved_is(test, 0);
	fail = 0;
	KUNIT_EXPECT_EQ(test, mcube_policy_enable(&one), 0);
	KUNIT_EXPECT_EQ(test, mcube_policy_enable(&one), 0);
	mcube_policy_disable(&one);
	mcube_policy_disable(&one);
	KUNIT_EXPECT_STREQ(test, stopped, "1");
}

/* A grace period may pass for another reason: one of many tries must do. */
static void refusal_waits_for_no_grace_period(struct kunit *test)
{
	bool waited = true;
	unsigned long gp;
	int try;

	fail = -ERANGE;
	for (try = 0; try < 100 && waited; try++) {
		gp = get_state_synchronize_rcu();
		KUNIT_ASSERT_EQ(test, mcube_policy_enable(&one), -ERANGE);
		waited = poll_state_synchronize_rcu(gp);
	}
	KUNIT_EXPECT_FALSE(test, waited);
}

static struct kunit_case policy_cases[] = {
	KUNIT_CASE(largest_request_holds),
	KUNIT_CASE(requests_change_while_on),
	KUNIT_CASE(a_color_is_always_left),
	KUNIT_CASE(policies_hear_of_each_change),
	KUNIT_CASE(order_follows_the_map),
	KUNIT_CASE(smaller_request_changes_nothing),
	KUNIT_CASE(memory_hops_while_a_policy_wants_it),
	KUNIT_CASE(colors_are_lent_by_all_who_asked),
	KUNIT_CASE(allocator_stops_policies_newest_first),
	KUNIT_CASE(refused_policy_leaves_nothing),
	KUNIT_CASE(refusal_waits_for_no_grace_period),
	{}
};

static struct kunit_suite policy_suite = {
	.name = "mcube-policy",
	.init = policy_test_init,
	.exit = policy_test_exit,
	.test_cases = policy_cases,
};

kunit_test_suite(policy_suite);
