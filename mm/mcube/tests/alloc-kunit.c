// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of the mcube allocator, on the running system
 *
 * Copyright (C) 2026 The mcube authors
 *
 * Switches the mcube allocator of the machine on, allocates pages through the
 * page allocator, checks where the pages lie, and restores the previous state.
 */

#include <kunit/test.h>
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/gfp.h>
#include <linux/irqflags.h>
#include <linux/kthread.h>
#include <linux/mcube_alloc.h>
#include <linux/mcube_hint.h>
#include <linux/mm.h>
#include <linux/pagevec.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/compaction.h>

#include "../../internal.h"
#include "../alloc/internal.h"
#include "../alloc/policy.h"
#include "../srm/internal.h"
#include "alloc-fixture.h"

#define PAGES	1024

struct alloc_test {
	struct alloc_fixture fixture;
	enum mcube_fill_order fill_order;
	unsigned int order;
	struct page *page[PAGES];
	unsigned int nr;
};

static int alloc_test_init(struct kunit *test)
{
	struct alloc_test *t = kvzalloc(sizeof(*t), GFP_KERNEL);

	if (!t)
		return -ENOMEM;
	test->priv = t;
	t->fill_order = mcube_config.fill_order;
	t->order = mcube_config.order;
	return alloc_fixture_init(&t->fixture);
}

static void free_pages_of(struct alloc_test *t)
{
	while (t->nr)
		__free_page(t->page[--t->nr]);
}

static void alloc_test_exit(struct kunit *test)
{
	struct alloc_test *t = test->priv;

	if (!t)
		return;
	free_pages_of(t);
	mcube_alloc_enable(false);
	WRITE_ONCE(mcube_config.fill_order, t->fill_order);
	mcube_alloc_set_order(t->order);
	alloc_fixture_exit(&t->fixture);
	kvfree(t);
}

static void take_pages(struct kunit *test, unsigned int nr)
{
	struct alloc_test *t = test->priv;

	while (t->nr < nr) {
		struct page *page = alloc_page(GFP_HIGHUSER_MOVABLE);

		KUNIT_ASSERT_NOT_NULL(test, page);
		t->page[t->nr++] = page;
	}
}

static void alloc_serves_and_takes_back(struct kunit *test)
{
	unsigned long served = mcube_alloc_stat(MCUBE_SERVED), free, adjacent = 0;
	struct alloc_test *t = test->priv;
	unsigned int i;

	take_pages(test, PAGES);
	served = mcube_alloc_stat(MCUBE_SERVED) - served;
	KUNIT_EXPECT_GE(test, served, PAGES - PAGES / 20);
	KUNIT_EXPECT_GE(test, mcube_alloc_containers(), 1);
	for (i = 1; i < PAGES; i++)
		adjacent += page_to_pfn(t->page[i]) ==
			page_to_pfn(t->page[i - 1]) + 1;
	KUNIT_EXPECT_LE(test, adjacent, PAGES / 20);

	/* Pages that are freed return to their containers. */
	free = mcube_alloc_free_pages();
	for (i = 0; i < PAGES / 2; i++)
		__free_page(t->page[--t->nr]);
	KUNIT_EXPECT_GE(test, mcube_alloc_free_pages(), free + PAGES / 4);
}

/* A page in a bin counts as a free page, a page in use does not. */
static void alloc_pages_are_free_pages(struct kunit *test)
{
	struct alloc_test *t = test->priv;
	struct page *page;

	take_pages(test, 64);
	page = t->page[--t->nr];
	KUNIT_ASSERT_EQ(test, get_pageblock_migratetype(page), MIGRATE_MCUBE);
	KUNIT_EXPECT_FALSE(test, mcube_alloc_page_is_free(page));
	KUNIT_EXPECT_FALSE(test, is_free_buddy_page(page));
	__free_page(page);
	KUNIT_EXPECT_TRUE(test, mcube_alloc_page_is_free(page));
	KUNIT_EXPECT_TRUE(test, is_free_buddy_page(page));
}

static void alloc_follows_hints(struct kunit *test)
{
	static const struct { int color, bank; } hint[] = {
		{ 0, -1 }, { 15, -1 }, { 7, -1 }, { -1, 0 }, { -1, 7 }, { 5, 3 },
	};
	struct alloc_test *t = test->priv;
	unsigned long fallback;
	unsigned int i, k, wrong;
	u32 old;

	for (k = 0; k < ARRAY_SIZE(hint); k++) {
		fallback = mcube_alloc_stat(MCUBE_FALLBACK);
		old = mcube_hint_save(mcube_hint_make(hint[k].color, hint[k].bank));
		take_pages(test, 128);
		mcube_hint_restore(old);
		fallback = mcube_alloc_stat(MCUBE_FALLBACK) - fallback;
		for (wrong = 0, i = 0; i < t->nr; i++) {
			u64 pfn = page_to_pfn(t->page[i]);

			wrong += (hint[k].color >= 0 && hint[k].color !=
				  mcube_dim_value(&mcube_config.map->color, pfn)) ||
				 (hint[k].bank >= 0 && hint[k].bank !=
				  mcube_dim_value(&mcube_config.map->bank, pfn));
		}
		KUNIT_EXPECT_LE(test, wrong, fallback);
		KUNIT_EXPECT_LE(test, fallback, 12);
		free_pages_of(t);
	}
}

/* Hints of an earlier map: the present map does not have the color or bank. */
static void alloc_refuses_stale_hints(struct kunit *test)
{
	static const struct { int color, bank; } hint[] = {
		{ 16, -1 }, { 255, -1 }, { -1, 8 }, { -1, 255 }, { 3, 255 },
		{ MCUBE_HINT_MASK - 1, -1 }, { -1, MCUBE_HINT_MASK - 1 },
	};
	unsigned long fallback, colored;
	unsigned int k;
	u32 old;

	for (k = 0; k < ARRAY_SIZE(hint); k++) {
		struct alloc_test *t = test->priv;

		fallback = mcube_alloc_stat(MCUBE_FALLBACK);
		colored = mcube_alloc_stat(MCUBE_COLORED);
		old = mcube_hint_save(mcube_hint_make(hint[k].color, hint[k].bank));
		KUNIT_EXPECT_FALSE(test, mcube_hint_fits(current->mcube_hint));
		take_pages(test, 32);
		mcube_hint_restore(old);
		KUNIT_EXPECT_GE(test, mcube_alloc_stat(MCUBE_FALLBACK) - fallback, 32);
		KUNIT_EXPECT_EQ(test, mcube_alloc_stat(MCUBE_COLORED), colored);
		free_pages_of(t);
	}
}

static void alloc_leaves_no_trace(struct kunit *test)
{
	struct alloc_test *t = test->priv;
	unsigned int i;
	struct zone *zone;

	/* Some pages are in use when the allocator goes off. */
	take_pages(test, PAGES);
	for (i = 0; i < PAGES / 2; i++)
		__free_page(t->page[--t->nr]);
	KUNIT_ASSERT_EQ(test, mcube_alloc_enable(false), 0);
	KUNIT_EXPECT_EQ(test, mcube_alloc_containers(), 0);
	KUNIT_EXPECT_EQ(test, mcube_alloc_free_pages(), 0);
	for_each_populated_zone(zone) {
		KUNIT_EXPECT_PTR_EQ(test, rcu_access_pointer(zone->mcube), NULL);
		KUNIT_EXPECT_EQ(test, zone_page_state_snapshot(zone, NR_FREE_MCUBE_PAGES), 0);
	}
	for (i = 0; i < t->nr; i++)
		KUNIT_EXPECT_EQ(test, get_pageblock_migratetype(t->page[i]),
				MIGRATE_MOVABLE);
	free_pages_of(t);
}

static void alloc_order_is_checked(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, mcube_alloc_set_order(MCUBE_ORDER_MIN), -EBUSY);
	KUNIT_ASSERT_EQ(test, mcube_alloc_enable(false), 0);
	KUNIT_EXPECT_EQ(test, mcube_alloc_set_order(MCUBE_ORDER_MAX + 1), -ERANGE);
	KUNIT_EXPECT_EQ(test, mcube_alloc_set_order(MCUBE_ORDER_MIN - 1), -ERANGE);
	KUNIT_EXPECT_EQ(test, mcube_alloc_set_order(MCUBE_ORDER_MIN), 0);
	KUNIT_ASSERT_EQ(test, mcube_alloc_enable(true), 0);
	take_pages(test, 64);
}

/* Number of spares of all zones; @most is set to the number allowed. */
static unsigned int count_spares(unsigned int *most)
{
	unsigned int nr = 0;
	struct zone *zone;

	*most = 0;
	guard(rcu)();
	for_each_populated_zone(zone) {
		struct mcube_zone *mz = rcu_dereference(zone->mcube);

		nr += READ_ONCE(mz->nr_spares);
		*most += mcube_zone_max_spares(mz);
	}
	return nr;
}

/* Use and free the pages of @containers; returns the number of spares then. */
static unsigned int make_spares(struct kunit *test, unsigned int containers)
{
	unsigned long i, nr = (unsigned long)containers << mcube_config.order;
	struct page *page, *next;
	unsigned int most;
	LIST_HEAD(pages);

	for (i = 0; i < nr; i++) {
		page = alloc_page(GFP_HIGHUSER_MOVABLE | __GFP_NOWARN);
		if (!page)
			break;
		list_add(&page->lru, &pages);
	}
	KUNIT_EXPECT_EQ(test, i, nr);
	list_for_each_entry_safe(page, next, &pages, lru)
		__free_page(page);
	return count_spares(&most);
}

/* Some containers that become wholly free stay as spares and are used first. */
static void alloc_keeps_spares(struct kunit *test)
{
	unsigned long released = mcube_alloc_stat(MCUBE_RELEASED), taken;
	unsigned int spares, most;

	count_spares(&most);
	if (!most)
		kunit_skip(test, "no zone is large enough");
	spares = make_spares(test, most + 4);
	KUNIT_EXPECT_GE(test, spares, 1);
	KUNIT_EXPECT_LE(test, spares, most);
	KUNIT_EXPECT_GT(test, mcube_alloc_stat(MCUBE_RELEASED), released);
	KUNIT_EXPECT_LE(test, mcube_alloc_containers(),
			spares + 2 * num_online_cpus() + 2);

	taken = mcube_alloc_stat(MCUBE_TAKEN);
	take_pages(test, 1U << (mcube_config.order - 1));
	KUNIT_EXPECT_EQ(test, mcube_alloc_stat(MCUBE_TAKEN), taken);

	KUNIT_ASSERT_EQ(test, mcube_alloc_enable(false), 0);
	KUNIT_EXPECT_EQ(test, mcube_alloc_containers(), 0);
	KUNIT_EXPECT_EQ(test, mcube_alloc_free_pages(), 0);
}

#ifdef CONFIG_MCUBE_SRM
/* More spares may stay while colors are reserved for files. */
static void alloc_keeps_more_while_colors_are_reserved(struct kunit *test)
{
	unsigned int reserve = mcube_srm_config.reserve, few, many, spares;

	count_spares(&few);
	KUNIT_ASSERT_EQ(test, mcube_srm_set_reserve(1), 0);
	KUNIT_ASSERT_EQ(test, mcube_srm_enable(true), 0);
	count_spares(&many);
	KUNIT_EXPECT_GT(test, many, few);
	spares = make_spares(test, few + 8);
	KUNIT_EXPECT_GT(test, spares, few);
	KUNIT_EXPECT_EQ(test, mcube_srm_enable(false), 0);
	spares = count_spares(&many);
	KUNIT_EXPECT_EQ(test, many, few);
	KUNIT_EXPECT_LE(test, spares, few);
	KUNIT_EXPECT_EQ(test, mcube_srm_set_reserve(reserve), 0);
}
#endif

#define BLOCKS	24U

/*
 * Half of all blocks have no frame of a color.  Streams that use the other color alone
 * leave these blocks in front, more of them than a search looks at.
 */
static void alloc_passes_blocks_without_the_color(struct kunit *test)
{
	static const char colors[] = "0x400000";
	struct alloc_test *t = test->priv;
	unsigned int i, got = 0;
	struct mcube_dim color;
	struct zone *zone;

	take_pages(test, 1);
	zone = page_zone(t->page[0]);
	free_pages_of(t);
	KUNIT_ASSERT_EQ(test, mcube_alloc_enable(false), 0);
	if (zone_page_state(zone, NR_FREE_PAGES) < 4 * BLOCKS * MAX_ORDER_NR_PAGES)
		kunit_skip(test, "too little memory is free");
	KUNIT_ASSERT_EQ(test, mcube_dim_parse(&color, colors, strlen(colors), NULL), 0);
	KUNIT_ASSERT_EQ(test, mcube_map_set_dims(&color, NULL, MCUBE_SOURCE_SYSFS), 0);
	KUNIT_ASSERT_EQ(test, mcube_alloc_enable(true), 0);
	guard(rcu)();
	/* A search may find none where many such blocks lie in a row; the next goes on. */
	for (i = 0; i < 2 * BLOCKS && got < BLOCKS; i++)
		got += !!mcube_container_take(rcu_dereference(zone->mcube), -1,
					      mcube_hint_make(1, -1));
	KUNIT_EXPECT_EQ(test, got, BLOCKS);
}

/* A spare yields a block of its order to an allocation that would fail. */
static void alloc_yields_spares(struct kunit *test)
{
	unsigned int order = mcube_config.order, most, blocks;
	struct zone *zone;
	bool found = false;

	count_spares(&most);
	if (!most)
		kunit_skip(test, "no zone is large enough");
	KUNIT_ASSERT_GE(test, make_spares(test, most), 1);
	for_each_populated_zone(zone) {
		struct mcube_zone *mz = rcu_access_pointer(zone->mcube);
		unsigned int spares, left, more;
		bool done;

		if (!READ_ONCE(mz->nr_spares))
			continue;
		found = true;
		KUNIT_EXPECT_TRUE(test, mcube_alloc_has_order(zone, MAX_PAGE_ORDER));
		spin_lock_irq(&zone->lock);
		spares = mz->nr_spares;
		blocks = zone->free_area[order].nr_free;
		done = mcube_alloc_break_up(zone, order);
		left = mz->nr_spares;
		more = zone->free_area[order].nr_free;
		spin_unlock_irq(&zone->lock);
		KUNIT_EXPECT_TRUE(test, done);
		KUNIT_EXPECT_LT(test, left, spares);
		/* The largest blocks do not merge any further. */
		if (order == MAX_PAGE_ORDER)
			KUNIT_EXPECT_EQ(test, more, blocks + 1);
	}
	KUNIT_EXPECT_TRUE(test, found);
}

/*
 * A page that is freed while the per-CPU list is locked, as by an interrupt,
 * must return to its container too.  On the buddy list of its type the page
 * would be stranded, as nothing allocates from that list.
 */
static void alloc_takes_pages_back_under_pcp_lock(struct kunit *test)
{
	struct alloc_test *t = test->priv;
	struct page *page[PAGEVEC_SIZE];
	struct per_cpu_pages *pcp;
	struct folio_batch batch;
	bool stranded = false;
	unsigned int i, order;
	struct zone *zone;

	take_pages(test, ARRAY_SIZE(page));
	folio_batch_init(&batch);
	zone = page_zone(t->page[0]);
	for (i = 0; i < ARRAY_SIZE(page); i++) {
		page[i] = t->page[--t->nr];
		KUNIT_EXPECT_EQ(test, get_pageblock_migratetype(page[i]),
				MIGRATE_MCUBE);
		KUNIT_EXPECT_PTR_EQ(test, page_zone(page[i]), zone);
		KUNIT_EXPECT_TRUE(test, put_page_testzero(page[i]));
		folio_batch_add(&batch, page_folio(page[i]));
	}
	preempt_disable();
	pcp = this_cpu_ptr(zone->per_cpu_pageset);
	spin_lock(&pcp->lock);
	free_unref_folios(&batch);
	spin_unlock(&pcp->lock);
	preempt_enable();
	for (i = 0; i < ARRAY_SIZE(page); i++)
		KUNIT_EXPECT_TRUE(test, mcube_alloc_page_is_free(page[i]));
	spin_lock_irq(&zone->lock);
	for (order = 0; order < NR_PAGE_ORDERS; order++)
		stranded |= !free_area_empty(&zone->free_area[order],
					     MIGRATE_MCUBE);
	spin_unlock_irq(&zone->lock);
	KUNIT_EXPECT_FALSE(test, stranded);
}

#ifdef CONFIG_CONTIG_ALLOC
/* Isolation breaks up a container and finds its pages in the buddy lists. */
static void alloc_breaks_up_for_isolation(struct kunit *test)
{
	unsigned long broken_up = mcube_alloc_stat(MCUBE_BROKEN_UP), pfn;
	struct alloc_test *t = test->priv;
	unsigned int nr = 1U << mcube_config.order;
	int ret;

	take_pages(test, 64);
	pfn = page_to_pfn(t->page[63]) & ~(nr - 1UL);
	free_pages_of(t);
	KUNIT_ASSERT_EQ(test, get_pageblock_migratetype(pfn_to_page(pfn)),
			MIGRATE_MCUBE);
	ret = alloc_contig_range(pfn, pfn + nr, MIGRATE_MOVABLE, GFP_KERNEL);
	KUNIT_ASSERT_EQ(test, ret, 0);
	KUNIT_EXPECT_GT(test, mcube_alloc_stat(MCUBE_BROKEN_UP), broken_up);
	KUNIT_EXPECT_EQ(test, get_pageblock_migratetype(pfn_to_page(pfn)),
			MIGRATE_MOVABLE);
	free_contig_range(pfn, nr);
}
#endif

/* Takes and frees pages until told to stop, every fourth round with a hint. */
static int churn(void *data)
{
	struct page *page[64];
	unsigned int i, n, round = 0;
	u32 hint;

	while (!kthread_should_stop()) {
		hint = mcube_hint_save(round % 4 ? 0 :
				       mcube_hint_make(round / 4 % 16, -1));
		for (n = 0; n < ARRAY_SIZE(page); n++) {
			page[n] = alloc_page(GFP_HIGHUSER_MOVABLE | __GFP_NOWARN);
			if (!page[n])
				break;
			page[n]->private = (unsigned long)page[n];
		}
		mcube_hint_restore(hint);
		for (i = 0; i < n; i++) {
			if (page[i]->private != (unsigned long)page[i])
				atomic_inc(data);
			page[i]->private = 0;
			__free_page(page[i]);
		}
		round++;
		cond_resched();
	}
	return 0;
}

/* A container that a CPU owns yields a block, too. */
static void alloc_yields_owned(struct kunit *test)
{
	struct alloc_test *t = test->priv;
	unsigned int order = mcube_config.order - 1;
	struct zone *zone;
	bool done;

	take_pages(test, 1);
	zone = page_zone(t->page[0]);
	KUNIT_EXPECT_TRUE(test, mcube_alloc_has_order(zone, order));
	spin_lock_irq(&zone->lock);
	done = mcube_alloc_break_up(zone, order);
	spin_unlock_irq(&zone->lock);
	KUNIT_EXPECT_TRUE(test, done);
}

/* Reserve so much of a zone against the requests that higher zones could serve. */
static void reserve(struct zone *zone, long pages, long *saved)
{
	unsigned int i;

	for (i = 0; i < MAX_NR_ZONES; i++) {
		if (saved)
			saved[i] = zone->lowmem_reserve[i];
		zone->lowmem_reserve[i] = pages;
	}
}

static void reserve_restore(struct zone *zone, const long *saved)
{
	unsigned int i;

	for (i = 0; i < MAX_NR_ZONES; i++)
		zone->lowmem_reserve[i] = saved[i];
}

/* A zone of which a good part of the free pages is in containers. */
static struct zone *hold_pages(struct kunit *test, unsigned long *free, unsigned long *held)
{
	struct alloc_test *t = test->priv;
	struct zone *zone;
	unsigned int most;

	count_spares(&most);
	make_spares(test, most);
	take_pages(test, 64);
	zone = page_zone(t->page[0]);
	*free = zone_page_state(zone, NR_FREE_PAGES);
	*held = mcube_alloc_nr_free(zone);
	return zone;
}

/*
 * Reclaim asks whether compaction could go ahead, and does not compact: free pages
 * in containers count, and no container is broken up.
 */
static void alloc_answers_compaction(struct kunit *test)
{
	unsigned long free, held, broken_up;
	long saved[MAX_NR_ZONES];
	struct zone *zone;
	bool suitable;

	zone = hold_pages(test, &free, &held);
	KUNIT_ASSERT_GT(test, held, 512);
	broken_up = mcube_alloc_stat(MCUBE_BROKEN_UP);
	reserve(zone, free - held / 2 - low_wmark_pages(zone) - compact_gap(1), saved);
	suitable = compaction_suitable(zone, 1, zone_idx(zone));
	reserve_restore(zone, saved);
	KUNIT_EXPECT_TRUE(test, suitable);
	KUNIT_EXPECT_EQ(test, mcube_alloc_stat(MCUBE_BROKEN_UP), broken_up);
}

/* Containers leave to lower zones what these reserve, as compaction does. */
static void alloc_leaves_the_reserve(struct kunit *test)
{
	unsigned long free, held;
	long saved[MAX_NR_ZONES];
	struct zone *zone;
	bool before, after;

	zone = hold_pages(test, &free, &held);
	before = mcube_container_may_take(zone);
	reserve(zone, free, saved);
	/* A request that only this zone can serve has the reserve. */
	zone->lowmem_reserve[0] = 0;
	after = mcube_container_may_take(zone);
	reserve_restore(zone, saved);
	KUNIT_EXPECT_TRUE(test, before);
	KUNIT_EXPECT_FALSE(test, after);
}

/* A run of compaction that lacks free pages gets the free pages of a container in its way. */
static void alloc_yields_to_compaction(struct kunit *test)
{
	unsigned long free, held, broken_up, start, end;
	struct zone *zone;

	zone = hold_pages(test, &free, &held);
	KUNIT_ASSERT_GT(test, held, 512);
	start = zone->zone_start_pfn;
	end = zone_end_pfn(zone) - 1;
	broken_up = mcube_alloc_stat(MCUBE_BROKEN_UP);

	/* The buddy lists have enough; no container lies between the scanners. */
	mcube_alloc_shrink(zone, 1, start, end);
	mcube_alloc_shrink(zone, free - held / 2, end, end);
	mcube_alloc_shrink(zone, free - held / 2, start, start);
	KUNIT_EXPECT_EQ(test, mcube_alloc_stat(MCUBE_BROKEN_UP), broken_up);
	KUNIT_EXPECT_GT(test, mcube_alloc_nr_free(zone), held / 4 * 3);

	mcube_alloc_shrink(zone, free - held / 2, start, end);
	KUNIT_EXPECT_EQ(test, mcube_alloc_stat(MCUBE_BROKEN_UP), broken_up + 1);
	KUNIT_EXPECT_LT(test, mcube_alloc_nr_free(zone), held);
}

/* A page that was poisoned while it was free in a container is not allocated. */
static void alloc_bulk_checks_pages(struct kunit *test)
{
	bool checks = static_key_enabled(&check_pages_enabled);
	struct alloc_test *t = test->priv;
	struct page *bad;
	struct folio *folio, *next;
	LIST_HEAD(folios);
	unsigned int seen = 0, got, i;
	u32 old;

	if (!IS_ENABLED(CONFIG_MEMORY_FAILURE))
		kunit_skip(test, "no page can be poisoned");
	take_pages(test, 64);
	bad = t->page[63];
	t->nr--;
	old = mcube_hint_save(mcube_hint_make(mcube_dim_value(&mcube_config.map->color,
							      page_to_pfn(bad)), -1) |
			      MCUBE_HINT_FILE);
	if (!checks)
		static_branch_enable(&check_pages_enabled);
	__free_page(bad);
	SetPageHWPoison(bad);
	for (i = 0; i < 128; i++) {
		got = mcube_alloc_folios(GFP_HIGHUSER_MOVABLE, 0, MCUBE_BULK_MAX, &folios);
		if (!got || !mcube_alloc_page_is_free(bad))
			break;
	}
	mcube_hint_restore(old);
	if (!checks)
		static_branch_disable(&check_pages_enabled);
	list_for_each_entry_safe(folio, next, &folios, lru) {
		seen += &folio->page == bad;
		list_del(&folio->lru);
		if (&folio->page != bad)
			folio_put(folio);
	}
	KUNIT_EXPECT_EQ(test, seen, 0);
	KUNIT_EXPECT_FALSE(test, mcube_alloc_page_is_free(bad));
	ClearPageHWPoison(bad);
	if (is_free_buddy_page(bad))
		return;
	if (!seen)
		set_page_refcounted(bad);
	__free_page(bad);
}

static void alloc_toggled_under_load(struct kunit *test)
{
	atomic_t *shared = kunit_kzalloc(test, sizeof(*shared), GFP_KERNEL);
	struct task_struct *task[4];
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, shared);
	for (i = 0; i < ARRAY_SIZE(task); i++)
		task[i] = kthread_run(churn, shared, "mcube-churn/%u", i);
	for (i = 0; i < 50; i++) {
		KUNIT_EXPECT_EQ(test, mcube_alloc_enable(false), 0);
		KUNIT_EXPECT_EQ(test, mcube_alloc_containers(), 0);
		WRITE_ONCE(mcube_config.fill_order, i % MCUBE_NR_FILL_ORDERS);
		KUNIT_EXPECT_EQ(test, mcube_alloc_enable(true), 0);
		fsleep(1000);
	}
	for (i = 0; i < ARRAY_SIZE(task); i++)
		if (!IS_ERR(task[i]))
			kthread_stop(task[i]);
	KUNIT_EXPECT_EQ(test, atomic_read(shared), 0);
	KUNIT_EXPECT_EQ(test, mcube_alloc_enable(false), 0);
	KUNIT_EXPECT_EQ(test, mcube_alloc_containers(), 0);
	KUNIT_EXPECT_EQ(test, mcube_alloc_free_pages(), 0);
}

static struct kunit_case alloc_cases[] = {
	KUNIT_CASE(alloc_serves_and_takes_back),
	KUNIT_CASE(alloc_pages_are_free_pages),
	KUNIT_CASE(alloc_follows_hints),
	KUNIT_CASE(alloc_refuses_stale_hints),
	KUNIT_CASE(alloc_leaves_no_trace),
	KUNIT_CASE(alloc_order_is_checked),
	KUNIT_CASE(alloc_keeps_spares),
#ifdef CONFIG_MCUBE_SRM
	KUNIT_CASE(alloc_keeps_more_while_colors_are_reserved),
#endif
	KUNIT_CASE(alloc_yields_spares),
	KUNIT_CASE(alloc_passes_blocks_without_the_color),
	KUNIT_CASE(alloc_yields_owned),
	KUNIT_CASE(alloc_answers_compaction),
	KUNIT_CASE(alloc_leaves_the_reserve),
	KUNIT_CASE(alloc_yields_to_compaction),
	KUNIT_CASE(alloc_bulk_checks_pages),
	KUNIT_CASE(alloc_takes_pages_back_under_pcp_lock),
#ifdef CONFIG_CONTIG_ALLOC
	KUNIT_CASE(alloc_breaks_up_for_isolation),
#endif
	KUNIT_CASE_SLOW(alloc_toggled_under_load),
	{}
};

static struct kunit_suite alloc_suite = {
	.name = "mcube-alloc",
	.init = alloc_test_init,
	.exit = alloc_test_exit,
	.test_cases = alloc_cases,
};

kunit_test_suite(alloc_suite);
