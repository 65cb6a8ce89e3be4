// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of clusters in the allocator of the running system
 *
 * Copyright (C) 2026 The mcube authors
 *
 * The frames of an open cluster are free, but in no bin.  All who look for free memory
 * have to find these frames.
 */

#include <kunit/test.h>
#include <linux/gfp.h>
#include <linux/mcube_alloc.h>
#include <linux/mm.h>
#include <linux/preempt.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>

#include "../alloc/color_stat.h"
#include "../alloc/internal.h"
#include "../alloc/policy.h"
#include "alloc-fixture.h"

#define CLUSTER		BIT(MCUBE_CLUSTER_MAX)
#define PAGES		2048
/* Other tasks take and free pages meanwhile: one of so many tries must match. */
#define TRIES		100

struct cluster_test {
	struct alloc_fixture fixture;
	unsigned int cluster_order;
	struct page *page[PAGES];
	unsigned int nr;
};

static int cluster_test_init(struct kunit *test)
{
	struct cluster_test *t = kvzalloc(sizeof(*t), GFP_KERNEL);

	if (!t)
		return -ENOMEM;
	test->priv = t;
	t->cluster_order = mcube_config.cluster_order;
	return alloc_fixture_off(&t->fixture) ?:
	       mcube_alloc_set_cluster_order(MCUBE_CLUSTER_MAX) ?: mcube_alloc_enable(true);
}

static void cluster_test_exit(struct kunit *test)
{
	struct cluster_test *t = test->priv;

	if (!t)
		return;
	while (t->nr)
		__free_page(t->page[--t->nr]);
	mcube_alloc_enable(false);
	mcube_alloc_set_cluster_order(t->cluster_order);
	alloc_fixture_exit(&t->fixture);
	kvfree(t);
}

static struct page *take_page(struct kunit *test)
{
	struct cluster_test *t = test->priv;
	struct page *page = alloc_page(GFP_HIGHUSER_MOVABLE);

	KUNIT_ASSERT_NOT_NULL(test, page);
	KUNIT_ASSERT_LT(test, t->nr, PAGES);
	t->page[t->nr++] = page;
	return page;
}

/* Take pages until this CPU has an open cluster with a free frame; returns that frame. */
static struct page *open_frame(struct kunit *test, struct mcube_container **c)
{
	struct page *page, *found = NULL;
	struct mcube_bins *b;
	unsigned int i;

	for (i = 0; i < CLUSTER && !found; i++) {
		page = take_page(test);
		guard(rcu)();
		*c = mcube_lookup(page_to_pfn(page));
		b = &(*c)->bins;
		spin_lock_irq(&(*c)->lock);
		if ((*c)->active && b->open_free)
			found = b->base + b->open * BITS_PER_LONG + __ffs(b->open_free);
		spin_unlock_irq(&(*c)->lock);
	}
	KUNIT_ASSERT_NOT_NULL(test, found);
	return found;
}

/* Memory failure asks whether a page is free. */
static void frames_of_an_open_cluster_are_free(struct kunit *test)
{
	struct mcube_container *c;
	struct page *page;
	bool free = false;
	unsigned int try;

	for (try = 0; try < TRIES / 10 && !free; try++) {
		page = open_frame(test, &c);
		free = is_free_buddy_page(page);
	}
	KUNIT_EXPECT_TRUE(test, free);
}

/* Breaking up returns the frames to the buddy lists. */
static void breaking_up_returns_the_open_cluster(struct kunit *test)
{
	struct mcube_container *c;
	bool buddy = false;
	unsigned int try;
	struct page *page;

	for (try = 0; try < TRIES / 10 && !buddy; try++) {
		KUNIT_ASSERT_EQ(test, 0, mcube_alloc_enable(true));
		page = open_frame(test, &c);
		KUNIT_ASSERT_EQ(test, 0, mcube_alloc_enable(false));
		buddy = is_free_buddy_page(page);
	}
	KUNIT_EXPECT_TRUE(test, buddy);
}

/*
 * Nothing is left in the bins of this CPU's container, only its cluster is open: a
 * request that would fail gets these frames.
 */
static void pressure_finds_the_open_cluster(struct kunit *test)
{
	struct mcube_container *c = NULL;
	bool alone = false, done = true;
	struct page *page = NULL;
	struct zone *zone;

	migrate_disable();
	while (!alone) {
		page = take_page(test);
		guard(rcu)();
		c = mcube_lookup(page_to_pfn(page));
		spin_lock_irq(&c->lock);
		alone = c->active && c->bins.open_free && !c->bins.nonempty;
		spin_unlock_irq(&c->lock);
	}
	zone = page_zone(page);
	guard(rcu)();
	spin_lock_irq(&zone->lock);
	while (done && READ_ONCE(c->active))
		done = mcube_alloc_break_up(zone, 0);
	spin_unlock_irq(&zone->lock);
	migrate_enable();
	KUNIT_EXPECT_TRUE(test, done);
}

/* Does closing the cluster of a free frame make the frame's color available? */
static bool closing_ends_exhaustion(struct mcube_container *c, unsigned int off)
{
	unsigned int color = mcube_dim_value(&mcube_config.map->color,
					     page_to_pfn(c->bins.base) + off);
	struct mcube_zone *mz = c->mz;
	bool ended = false;

	spin_lock_irq(&c->lock);
	if (mcube_container_usable(c, mz) && mcube_bins_is_free(&c->bins, off)) {
		spin_lock(&mz->lock);
		mcube_exhausted_set(mz, color, true);
		spin_unlock(&mz->lock);
		mcube_container_close(c);
		ended = !test_bit(color, mz->exhausted);
	}
	spin_unlock_irq(&c->lock);
	return ended;
}

static void letting_go_ends_exhaustion(struct kunit *test)
{
	struct mcube_container *c;
	bool ended = false;
	struct page *page;
	unsigned int try;

	for (try = 0; try < TRIES / 10 && !ended; try++) {
		page = open_frame(test, &c);
		guard(rcu)();
		ended = closing_ends_exhaustion(c, page - c->bins.base);
	}
	KUNIT_EXPECT_TRUE(test, ended);
}

#ifdef CONFIG_MCUBE_COLOR_STAT
static unsigned long counted_frames(void)
{
	struct mcube_zone *mz;
	struct zone *zone;
	unsigned long sum = 0;
	int i;

	guard(rcu)();
	for_each_populated_zone(zone) {
		mz = rcu_dereference(zone->mcube);
		for (i = 0; mz && i < COLORS; i++)
			sum += mcube_color_stat_exact(mz, i);
	}
	return sum;
}

/* Counting starts while clusters are open. */
static void colors_of_open_clusters_count(struct kunit *test)
{
	struct mcube_container *c;
	unsigned int i, try;
	bool same = false;

	open_frame(test, &c);
	mcube_policy_lock();
	mcube_color_stat_start();
	for (i = 0; i < 2 * CLUSTER; i++)
		take_page(test);
	for (try = 0; try < TRIES && !same; try++)
		same = counted_frames() == mcube_alloc_free_pages();
	mcube_color_stat_stop();
	mcube_policy_unlock();
	KUNIT_EXPECT_TRUE(test, same);
}
#endif

static struct kunit_case cluster_cases[] = {
	KUNIT_CASE(frames_of_an_open_cluster_are_free),
	KUNIT_CASE(breaking_up_returns_the_open_cluster),
	KUNIT_CASE(pressure_finds_the_open_cluster),
	KUNIT_CASE(letting_go_ends_exhaustion),
#ifdef CONFIG_MCUBE_COLOR_STAT
	KUNIT_CASE(colors_of_open_clusters_count),
#endif
	{}
};

static struct kunit_suite cluster_suite = {
	.name = "mcube-alloc-clusters",
	.init = cluster_test_init,
	.exit = cluster_test_exit,
	.test_cases = cluster_cases,
};

kunit_test_suite(cluster_suite);
