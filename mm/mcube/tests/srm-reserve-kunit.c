// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of SRM-buffer and the reserved colors
 *
 * Copyright (C) 2026 The mcube authors
 *
 * There is one partition of reserved colors for all policies.  With a made-up
 * policy beside SRM-buffer, the color groups of files follow the partition; and
 * the partition tells how many of its frames are free.  Memory hops over the other colors.
 * The sample that looks for mapped streams takes no reference.
 */

#include <kunit/test.h>
#include <linux/bits.h>
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/gfp.h>
#include <linux/list.h>
#include <linux/math.h>
#include <linux/mm.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/string.h>

#include "../alloc/color_stat.h"
#include "../alloc/internal.h"
#include "../alloc/policy.h"
#include "../srm/internal.h"
#include "../srm/segment.h"
#include "srm-fixture.h"

static void start_other(const struct mcube_map *map)
{
}

static int prepare_other(const struct mcube_map *map)
{
	return 0;
}

static void stop_other(void)
{
}

static struct mcube_policy other = {
	.name = "other",
	.prepare = prepare_other,
	.start = start_other,
	.stop = stop_other,
};

static void other_requests(unsigned int nr)
{
	mcube_policy_lock();
	mcube_reserve_request(&other, nr);
	mcube_policy_unlock();
}

/* Do new segments get the first @groups groups, and no other? */
static void segments_are_in(struct kunit *test, unsigned int groups)
{
	unsigned int i, group;
	unsigned long seen = 0;

	KUNIT_EXPECT_EQ(test, mcube_srm_groups.reserved, groups);
	guard(rcu)();
	for (i = 0; i < 64; i++) {
		group = mcube_srm_select(MCUBE_SEGMENT_MIN, GFP_HIGHUSER_MOVABLE);
		seen |= BIT(group);
	}
	KUNIT_EXPECT_EQ(test, seen, BIT(groups) - 1);
}

/* There is one partition: files use what another policy has reserved. */
static void reserved_groups_follow_the_partition(struct kunit *test)
{
	KUNIT_ASSERT_EQ(test, mcube_srm_set_group_order(1), 0);
	KUNIT_ASSERT_EQ(test, mcube_srm_set_reserve(2), 0);
	KUNIT_ASSERT_EQ(test, mcube_srm_enable(true), 0);
	/* Two of 16 colors are a group. */
	segments_are_in(test, 1);
	KUNIT_ASSERT_EQ(test, mcube_policy_enable(&other), 0);
	other_requests(8);
	segments_are_in(test, 4);
	/* A group with a color that is not reserved is not reserved. */
	other_requests(7);
	segments_are_in(test, 3);
	/* The partition is there when the policy comes. */
	KUNIT_ASSERT_EQ(test, mcube_srm_enable(false), 0);
	other_requests(8);
	KUNIT_ASSERT_EQ(test, mcube_srm_enable(true), 0);
	segments_are_in(test, 4);
	KUNIT_ASSERT_EQ(test, mcube_policy_disable(&other), 0);
	segments_are_in(test, 1);
	KUNIT_ASSERT_EQ(test, mcube_srm_enable(false), 0);
	KUNIT_EXPECT_EQ(test, mcube_reserve_nr(), 0);
}

static unsigned long count_reserved(void)
{
	unsigned long sum = 0;
	struct mcube_zone *mz;
	struct zone *zone;
	unsigned int i;

	guard(rcu)();
	for_each_populated_zone(zone) {
		mz = rcu_dereference(zone->mcube);
		for (i = 0; mz && i < mcube_reserve_nr(); i++)
			sum += mcube_color_stat_exact(mz, mcube_reserve_polluting(i));
	}
	return sum;
}

/* What CPUs have yet to add to a count: below 16 frames for each CPU and color. */
static unsigned long margin(void)
{
	return 16UL * num_online_cpus() * mcube_reserve_nr();
}

#define PAGES	1000U

/* Take @PAGES frames of the reserved colors. */
static void take_reserved(struct kunit *test, struct list_head *pages)
{
	struct page *page;
	unsigned int i;
	u32 hint;

	for (i = 0; i < PAGES; i++) {
		hint = mcube_hint_save(mcube_hint_make(mcube_reserve_polluting(i), -1));
		page = alloc_page(GFP_HIGHUSER_MOVABLE);
		mcube_hint_restore(hint);
		if (page)
			list_add(&page->lru, pages);
	}
	KUNIT_EXPECT_EQ(test, list_count_nodes(pages), PAGES);
}

static void free_all(struct list_head *pages)
{
	struct page *page, *next;

	list_for_each_entry_safe(page, next, pages, lru)
		__free_page(page);
}

/* Other tasks allocate meanwhile, a few frames. */
static void partition_says_how_full_it_is(struct kunit *test)
{
	unsigned long before, full, after;
	LIST_HEAD(pages);

	KUNIT_EXPECT_EQ(test, mcube_color_stat_reserved(), 0);
	KUNIT_ASSERT_EQ(test, mcube_srm_set_reserve(4), 0);
	KUNIT_ASSERT_EQ(test, mcube_srm_enable(true), 0);
	/* Containers are taken for the first pages, and stay as spares. */
	take_reserved(test, &pages);
	free_all(&pages);
	INIT_LIST_HEAD(&pages);
	before = mcube_color_stat_reserved();
	KUNIT_EXPECT_LE(test, abs_diff(before, count_reserved()), margin());
	take_reserved(test, &pages);
	full = mcube_color_stat_reserved();
	KUNIT_EXPECT_LE(test, abs_diff(full, count_reserved()), margin());
	free_all(&pages);
	after = mcube_color_stat_reserved();
	KUNIT_EXPECT_GE(test, after, full + PAGES / 2);
}

#define ROUNDS	24U

/* The color of a page that hops; @COLORS if there is no page. */
static unsigned int take_page(struct kunit *test, struct list_head *pages)
{
	struct page *page = alloc_page(GFP_HIGHUSER_MOVABLE);

	if (!page)
		return COLORS;
	list_add(&page->lru, pages);
	return mcube_dim_value(&mcube_config.map->color, page_to_pfn(page));
}

/*
 * Memory hops over the colors from @first on: the colors below are reserved.  In each
 * round each color comes once, in another order each time.
 */
static void hop_from(struct kunit *test, unsigned int first)
{
	unsigned int i, round, fair = 0, alike = 0, period = COLORS - first;
	u8 was[COLORS] = { 0 }, is[COLORS];
	LIST_HEAD(pages);

	KUNIT_ASSERT_EQ(test, mcube_srm_enable(false), 0);
	KUNIT_ASSERT_EQ(test, mcube_srm_set_reserve(first), 0);
	KUNIT_ASSERT_EQ(test, mcube_srm_enable(true), 0);
	KUNIT_EXPECT_EQ(test, mcube_srm_set_reserve(first), -EBUSY);
	for (i = 0; i < 2 * COLORS; i++) {
		take_page(test, &pages);
		if (current->mcube_hop % MCUBE_MAX_VALUES == period - 1)
			break;
	}
	KUNIT_EXPECT_LT(test, i, 2 * COLORS);
	for (round = 0; round < ROUNDS; round++) {
		unsigned long seen = 0;

		for (i = 0; i < period; i++) {
			is[i] = take_page(test, &pages);
			seen |= BIT(is[i]);
		}
		fair += seen == GENMASK(COLORS - 1, first);
		alike += !memcmp(was, is, period);
		memcpy(was, is, sizeof(was));
	}
	free_all(&pages);
	/* A page or two may come another way. */
	KUNIT_EXPECT_GE(test, fair, ROUNDS - 2);
	KUNIT_EXPECT_LE(test, alike, ROUNDS / 2);
}

static void memory_hops_over_the_colors(struct kunit *test)
{
	hop_from(test, 0);
	hop_from(test, 1);
	hop_from(test, 8);
}

/* A folio whose count is 0 is frozen or being freed: no reference can be had, nor is needed. */
static void a_sample_takes_no_reference(struct kunit *test)
{
	static const struct {
		unsigned long flags, mapping;
		int mapcount;
		bool yes;
	} small[] = {
		{ BIT(PG_lru), 0, 0, true },
		{ BIT(PG_lru) | BIT(PG_active), 0, 5, true },
		{ BIT(PG_lru), 0, -1, false },
		{ 0, 0, 0, false },
		{ BIT(PG_lru), PAGE_MAPPING_ANON, 0, false },
		{ BIT(PG_lru) | BIT(PG_swapbacked), 0, 0, false },
	};
	struct page *page = kunit_kcalloc(test, 4, sizeof(*page), GFP_KERNEL);
	struct folio *folio = (struct folio *)page;
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, page);
	for (i = 0; i < ARRAY_SIZE(small); i++) {
		page->flags = small[i].flags;
		page->mapping = (void *)(0x1000 | small[i].mapping);
		atomic_set(&page->_mapcount, small[i].mapcount);
		KUNIT_EXPECT_EQ(test, mcube_srm_is_mapped_file(page), small[i].yes);
	}
	/* A large folio is asked by its head, whichever of its pages is mapped. */
	page->flags = BIT(PG_lru) | BIT(PG_head);
	page->mapping = (void *)0x1000;
	atomic_set(&page->_mapcount, -1);
	for (i = 1; i < 4; i++)
		page[i].compound_head = (unsigned long)page + 1;
	for (i = 0; i < 4; i++) {
		atomic_set(&folio->_large_mapcount, 0);
		KUNIT_EXPECT_TRUE(test, mcube_srm_is_mapped_file(page + i));
		atomic_set(&folio->_large_mapcount, -1);
		KUNIT_EXPECT_FALSE(test, mcube_srm_is_mapped_file(page + i));
	}
	KUNIT_EXPECT_EQ(test, page_ref_count(page), 0);
}

static struct kunit_case reserve_cases[] = {
	KUNIT_CASE(reserved_groups_follow_the_partition),
	KUNIT_CASE(partition_says_how_full_it_is),
	KUNIT_CASE(memory_hops_over_the_colors),
	KUNIT_CASE(a_sample_takes_no_reference),
	{}
};

static struct kunit_suite reserve_suite = {
	.name = "mcube-srm-reserve",
	.init = srm_fixture_test_init,
	.exit = srm_fixture_test_exit,
	.test_cases = reserve_cases,
};

kunit_test_suite(reserve_suite);
