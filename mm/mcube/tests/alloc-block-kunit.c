// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of requests for blocks that are larger than a container
 *
 * Copyright (C) 2026 The mcube authors
 *
 * A container of half the size of the largest blocks: a request for such a block
 * needs two free neighbours.  The tests take all of the largest blocks, and make
 * containers of the upper halves of some of these blocks:
 *
 *   block     [ lower half | upper half ]
 *               in use       container, wholly free
 */

#include <kunit/test.h>
#include <linux/gfp.h>
#include <linux/mcube_alloc.h>
#include <linux/mm.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>

#include "../../internal.h"
#include "../alloc/internal.h"
#include "alloc-fixture.h"

#define MOST		2048
#define HALVES		64
#define BROKEN_UP_MAX	8

struct block_test {
	struct alloc_fixture fixture;
	unsigned int order;
	struct page *block[MOST];
	unsigned int nr, nr_halves;
	struct zone *zone;
};

static struct page *alloc_block(gfp_t gfp)
{
	return alloc_pages(gfp | __GFP_NOWARN | __GFP_THISNODE, MAX_PAGE_ORDER);
}

static void free_half(struct page *page)
{
	__free_pages(page, MAX_PAGE_ORDER - 1);
}

static int block_test_init(struct kunit *test)
{
	struct block_test *t = kvzalloc(sizeof(*t), GFP_KERNEL);

	if (!t)
		return -ENOMEM;
	test->priv = t;
	t->order = mcube_config.order;
	return alloc_fixture_off(&t->fixture) ?: mcube_alloc_set_order(MCUBE_ORDER_MIN) ?:
	       mcube_alloc_enable(true);
}

static void block_test_exit(struct kunit *test)
{
	struct block_test *t = test->priv;
	unsigned int i;

	if (!t)
		return;
	for (i = 0; i < t->nr; i++) {
		if (i >= t->nr_halves)
			__free_pages(t->block[i], MAX_PAGE_ORDER);
		else if (t->block[i])
			free_half(t->block[i]);
	}
	mcube_alloc_enable(false);
	mcube_alloc_set_order(t->order);
	alloc_fixture_exit(&t->fixture);
	kvfree(t);
}

static void make_containers(struct kunit *test)
{
	struct block_test *t = test->priv;
	unsigned int i;

	guard(rcu)();
	for (i = 0; i < HALVES; i++)
		mcube_container_take(rcu_dereference(t->zone->mcube), -1, 0);
}

static unsigned int spares(struct kunit *test)
{
	struct block_test *t = test->priv;

	guard(rcu)();
	return READ_ONCE(rcu_dereference(t->zone->mcube)->nr_spares);
}

static void take_blocks(struct block_test *t)
{
	while (t->nr < MOST) {
		struct page *page = alloc_block(GFP_HIGHUSER_MOVABLE & ~__GFP_RECLAIM);

		if (!page)
			break;
		t->block[t->nr++] = page;
	}
}

/* Returns the number of spares, whose neighbours are in use. */
static unsigned int arrange(struct kunit *test)
{
	struct block_test *t = test->priv;
	struct page *page;

	if (MCUBE_ORDER_MIN + 1 != MAX_PAGE_ORDER)
		kunit_skip(test, "a container is not half a block");
	take_blocks(t);
	if (t->nr < 2 * HALVES || t->nr == MOST)
		kunit_skip(test, "too little or too much memory");
	t->zone = page_zone(t->block[0]);
	while (t->nr_halves < HALVES) {
		page = t->block[t->nr_halves++] + (1UL << (MAX_PAGE_ORDER - 1));
		set_page_refcounted(page);
		free_half(page);
	}
	drain_all_pages(t->zone);
	/* The watermark had kept some. */
	take_blocks(t);
	make_containers(test);
	KUNIT_ASSERT_GE(test, spares(test), HALVES / 2);
	return spares(test);
}

/* Free the lower half below the container that would be broken up last. */
static struct page *free_neighbour(struct kunit *test)
{
	struct block_test *t = test->priv;
	struct mcube_zone *mz;
	unsigned long pfn;
	struct page *page;
	unsigned int i;

	rcu_read_lock();
	mz = rcu_dereference(t->zone->mcube);
	spin_lock_irq(&mz->lock);
	pfn = page_to_pfn(list_last_entry(&mz->level[mcube_config.order],
					  struct mcube_container, node)->bins.base);
	spin_unlock_irq(&mz->lock);
	rcu_read_unlock();
	for (i = 0; i < t->nr_halves; i++) {
		page = t->block[i];
		if (page && page_to_pfn(page) == ALIGN_DOWN(pfn, 1UL << MAX_PAGE_ORDER)) {
			t->block[i] = NULL;
			free_half(page);
			drain_all_pages(t->zone);
			return page;
		}
	}
	return NULL;
}

static void expect_block(struct kunit *test, struct page *want)
{
	unsigned long broken_up = mcube_alloc_stat(MCUBE_BROKEN_UP);
	struct page *page = alloc_block(GFP_NOWAIT);

	broken_up = mcube_alloc_stat(MCUBE_BROKEN_UP) - broken_up;
	if (page)
		__free_pages(page, MAX_PAGE_ORDER);
	KUNIT_EXPECT_PTR_EQ(test, page, want);
	KUNIT_EXPECT_LE(test, broken_up, BROKEN_UP_MAX);
}

/* No two free neighbours: the request fails, and few containers go for it. */
static void block_without_neighbours(struct kunit *test)
{
	unsigned int before = arrange(test);
	struct block_test *t = test->priv;

	expect_block(test, NULL);
	KUNIT_EXPECT_GE(test, spares(test), before - BROKEN_UP_MAX);
	/* Compaction, which can free neighbours, would see no need to. */
	KUNIT_EXPECT_FALSE(test, mcube_alloc_has_order(t->zone, MAX_PAGE_ORDER));
}

/* The neighbour of a free container is free in the buddy lists. */
static void block_with_free_neighbour(struct kunit *test)
{
	struct block_test *t = test->priv;
	struct page *page;

	arrange(test);
	page = free_neighbour(test);
	KUNIT_ASSERT_NOT_NULL(test, page);
	KUNIT_EXPECT_TRUE(test, mcube_alloc_has_order(t->zone, MAX_PAGE_ORDER));
	expect_block(test, page);
}

/* Two free containers are neighbours. */
static void block_of_two_containers(struct kunit *test)
{
	struct block_test *t = test->priv;
	struct page *page;

	arrange(test);
	page = free_neighbour(test);
	KUNIT_ASSERT_NOT_NULL(test, page);
	make_containers(test);
	KUNIT_ASSERT_EQ(test, get_pageblock_migratetype(page), MIGRATE_MCUBE);
	KUNIT_EXPECT_TRUE(test, mcube_alloc_has_order(t->zone, MAX_PAGE_ORDER));
	expect_block(test, page);
}

static struct kunit_case block_cases[] = {
	KUNIT_CASE(block_without_neighbours),
	KUNIT_CASE(block_with_free_neighbour),
	KUNIT_CASE(block_of_two_containers),
	{}
};

static struct kunit_suite block_suite = {
	.name = "mcube-alloc-block",
	.init = block_test_init,
	.exit = block_test_exit,
	.test_cases = block_cases,
};

kunit_test_suite(block_suite);
