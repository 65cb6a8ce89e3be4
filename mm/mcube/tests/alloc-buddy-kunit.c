// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of searches for a color, in the buddy lists (buddy.c) and in containers
 *
 * Copyright (C) 2026 The mcube authors
 *
 * The search remembers which colors a list lacks.  It must see the blocks that
 * are freed later.  The tests use the lists of reclaimable pages: these have few
 * pages, so that a color is soon exhausted.  Searches in containers look at few, and
 * pause after a miss.
 */

#include <kunit/test.h>
#include <linux/gfp.h>
#include <linux/mcube_alloc.h>
#include <linux/mcube_hint.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "../../internal.h"
#include "../alloc/internal.h"
#include "alloc-fixture.h"

#define MOST	4096
#define TRIES	16

struct buddy_test {
	struct alloc_fixture fixture;
	struct zone *zone;
	struct page *page[MOST];
	unsigned int nr;
};

static int buddy_test_init(struct kunit *test)
{
	struct buddy_test *t = kvzalloc(sizeof(*t), GFP_KERNEL);
	struct page *page;

	if (!t)
		return -ENOMEM;
	test->priv = t;
	page = alloc_page(GFP_KERNEL | __GFP_RECLAIMABLE);
	if (!page)
		return -ENOMEM;
	t->zone = page_zone(page);
	__free_page(page);
	return alloc_fixture_init(&t->fixture);
}

static void put_back(struct buddy_test *t, struct page *page)
{
	unsigned long flags;

	spin_lock_irqsave(&t->zone->lock, flags);
	__putback_isolated_page(page, 0, MIGRATE_RECLAIMABLE);
	spin_unlock_irqrestore(&t->zone->lock, flags);
}

static void buddy_test_exit(struct kunit *test)
{
	struct buddy_test *t = test->priv;

	if (!t)
		return;
	while (t->nr)
		put_back(t, t->page[--t->nr]);
	mcube_alloc_enable(false);
	alloc_fixture_exit(&t->fixture);
	kvfree(t);
}

static struct page *search(struct buddy_test *t, unsigned int color)
{
	guard(rcu)();
	return mcube_buddy_search(t->zone, 0, MIGRATE_RECLAIMABLE,
				  mcube_hint_make(color, -1) | MCUBE_HINT_FILE);
}

/* Take all pages of a color, free a page, and find that page again. */
static void search_sees_what_was_freed(struct kunit *test)
{
	struct buddy_test *t = test->priv;
	unsigned int color, tries, found = 0;
	struct page *page;

	for (color = 0; color < 4; color++) {
		while (t->nr < MOST) {
			page = search(t, color);
			if (!page)
				break;
			KUNIT_EXPECT_EQ(test, color,
					mcube_dim_value(&mcube_config.map->color,
							page_to_pfn(page)));
			t->page[t->nr++] = page;
		}
		KUNIT_ASSERT_GT(test, t->nr, 0);
		KUNIT_ASSERT_LT(test, t->nr, MOST);
		/* Another CPU may take the page first, but not each time. */
		for (tries = 0; tries < TRIES; tries++) {
			page = t->page[--t->nr];
			put_back(t, page);
			page = search(t, color);
			if (page)
				t->page[t->nr++] = page;
			found += !!page;
			if (!t->nr)
				break;
		}
	}
	KUNIT_EXPECT_GE(test, found, 4 * TRIES - 4);
}

#define FULL	20U

/* Searches look at containers that have free frames or an owner, and at no other. */
static void searches_pass_full_containers(struct kunit *test)
{
	unsigned int i, full = 0, nr = 0, wrong = 0;
	struct page *page, *next;
	struct mcube_container *c;
	struct mcube_zone *mz;
	struct zone *zone;
	LIST_HEAD(pages);

	for (i = 0; i < FULL << mcube_config.order; i++) {
		page = alloc_page(GFP_HIGHUSER_MOVABLE | __GFP_NOWARN);
		if (!page)
			break;
		list_add(&page->lru, &pages);
	}
	rcu_read_lock();
	for_each_populated_zone(zone) {
		mz = rcu_dereference(zone->mcube);
		if (!mz)
			continue;
		spin_lock_irq(&mz->lock);
		nr = mz->nr;
		list_for_each_entry(c, &mz->searched, all) {
			wrong += c->full;
			nr--;
		}
		list_for_each_entry(c, &mz->full, all) {
			wrong += !c->full || c->level >= 0;
			full++;
			nr--;
		}
		wrong += nr;
		spin_unlock_irq(&mz->lock);
	}
	rcu_read_unlock();
	KUNIT_EXPECT_GE(test, full, FULL / 2);
	KUNIT_EXPECT_EQ(test, wrong, 0);
	list_for_each_entry_safe(page, next, &pages, lru)
		__free_page(page);
}

/* After a search without success the CPU searches less often, until one succeeds. */
static void searches_pause_after_misses(struct kunit *test)
{
	struct mcube_zone *mz = kunit_kzalloc(test, sizeof(*mz), GFP_KERNEL);
	unsigned int i, n, most = 0;
	bool other = false;

	KUNIT_ASSERT_NOT_NULL(test, mz);
	mz->cpu = alloc_percpu(struct mcube_zone_cpu);
	KUNIT_ASSERT_TRUE(test, mz->cpu);
	preempt_disable();
	for (i = 1; i < 10; i++) {
		mcube_search_misses(mz, 1, true);
		other |= mcube_search_pauses(mz, 2);
		for (n = 0; n < 100 && mcube_search_pauses(mz, 1); n++)
			;
		most = max(most, n);
		if (i == 1)
			KUNIT_EXPECT_EQ(test, n, 1);
	}
	mcube_search_misses(mz, 1, false);
	n = mcube_search_pauses(mz, 1);
	preempt_enable();
	free_percpu(mz->cpu);
	KUNIT_EXPECT_EQ(test, most, 15);
	KUNIT_EXPECT_FALSE(test, other);
	KUNIT_EXPECT_EQ(test, n, 0);
}

static struct kunit_case buddy_cases[] = {
	KUNIT_CASE(search_sees_what_was_freed),
	KUNIT_CASE(searches_pass_full_containers),
	KUNIT_CASE(searches_pause_after_misses),
	{}
};

static struct kunit_suite buddy_suite = {
	.name = "mcube-alloc-buddy",
	.init = buddy_test_init,
	.exit = buddy_test_exit,
	.test_cases = buddy_cases,
};

kunit_test_suite(buddy_suite);
