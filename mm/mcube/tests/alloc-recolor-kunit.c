// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of moving the pages of a process (recolor.c, recolor_mm.c)
 *
 * Copyright (C) 2026 The mcube authors
 *
 * A made-up policy on the running system reserves some colors.  Pages of user
 * memory that the test maps move into these colors and out again with their
 * content, and pages that must stay are refused.
 */

#include <kunit/test.h>
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/mmap_lock.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "../alloc/internal.h"
#include "../alloc/policy.h"
#include "../alloc/recolor.h"
#include "alloc-fixture.h"

#define RESERVED	2U
#define PAGES		MCUBE_RECOLOR_BATCH

struct recolor_test {
	struct alloc_fixture fixture;
	unsigned long addr[PAGES];
	unsigned int next;
	struct mcube_recolor_result result;
};

static struct mcube_policy policy;

static int prepare(const struct mcube_map *map)
{
	return 0;
}

static void start(const struct mcube_map *map)
{
	mcube_reserve_request(&policy, RESERVED);
	mcube_reserve_hop(&policy, true);
}

static void stop(void)
{
}

static struct mcube_policy policy = {
	.name = "recolor",
	.prepare = prepare,
	.start = start,
	.stop = stop,
};

static int recolor_test_init(struct kunit *test)
{
	struct recolor_test *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);

	if (!t)
		return -ENOMEM;
	test->priv = t;
	return alloc_fixture_init(&t->fixture) ?: mcube_policy_enable(&policy);
}

static void recolor_test_exit(struct kunit *test)
{
	struct recolor_test *t = test->priv;

	if (!t)
		return;
	mcube_alloc_enable(false);
	alloc_fixture_exit(&t->fixture);
}

static u32 __user *at(const struct recolor_test *t, unsigned int i)
{
	return (u32 __user *)t->addr[i];
}

/* Map @len bytes of user memory; the addresses of the first pages follow. */
static void map_memory(struct kunit *test, unsigned long len)
{
	struct recolor_test *t = test->priv;
	unsigned long start = kunit_vm_mmap(test, NULL, 0, len, PROT_READ | PROT_WRITE,
					    MAP_ANONYMOUS | MAP_PRIVATE, 0);
	unsigned int i;

	KUNIT_ASSERT_NE(test, start, 0);
	KUNIT_ASSERT_FALSE(test, IS_ERR_VALUE(start));
	for (i = 0; i < PAGES; i++)
		t->addr[i] = start + i * PAGE_SIZE;
}

static void write_pages(struct kunit *test)
{
	struct recolor_test *t = test->priv;
	unsigned int i;

	for (i = 0; i < PAGES; i++)
		KUNIT_ASSERT_EQ(test, put_user(0x5a0000 + i, at(t, i)), 0);
}

/* The frames of all pages; how many of them have a reserved color? */
static unsigned int look(struct kunit *test, unsigned long *pfn)
{
	struct recolor_test *t = test->priv;
	unsigned int i, polluting = 0;
	struct page *page;
	u32 value;

	for (i = 0; i < PAGES; i++) {
		KUNIT_ASSERT_EQ(test, get_user(value, at(t, i)), 0);
		KUNIT_EXPECT_EQ(test, value, 0x5a0000 + i);
		KUNIT_ASSERT_EQ(test, get_user_pages_fast(t->addr[i], 1, 0, &page), 1);
		pfn[i] = page_to_pfn(page);
		put_page(page);
		polluting += mcube_dim_value(&mcube_config.map->color, pfn[i]) < RESERVED;
	}
	return polluting;
}

static int move(struct kunit *test, unsigned int nr, enum mcube_recolor_to to, bool split)
{
	struct recolor_test *t = test->priv;

	memset(&t->result, 0, sizeof(t->result));
	return mcube_recolor_mm(current->mm, t->addr, nr, to, split, &t->next, &t->result);
}

static void result_is(struct kunit *test, unsigned int moved, unsigned int there,
		      unsigned int refused)
{
	struct recolor_test *t = test->priv;

	KUNIT_EXPECT_EQ(test, t->result.moved, moved);
	KUNIT_EXPECT_EQ(test, t->result.there, there);
	KUNIT_EXPECT_EQ(test, t->result.refused, refused);
}

static void pages_move_in_and_out(struct kunit *test)
{
	static unsigned long was[PAGES], now[PAGES];
	struct recolor_test *t = test->priv;
	unsigned int i, before, changed;

	map_memory(test, PAGES * PAGE_SIZE);
	/* New pages wait in the batch of a CPU for their LRU list. */
	migrate_disable();
	write_pages(test);
	before = look(test, was);
	KUNIT_EXPECT_EQ(test, move(test, PAGES, MCUBE_RECOLOR_POLLUTE, false), 0);
	migrate_enable();
	result_is(test, PAGES - before, before, 0);
	KUNIT_EXPECT_EQ(test, look(test, now), PAGES);
	for (i = changed = 0; i < PAGES; i++)
		changed += was[i] != now[i];
	KUNIT_EXPECT_EQ(test, changed, t->result.moved);

	KUNIT_EXPECT_EQ(test, move(test, PAGES, MCUBE_RECOLOR_POLLUTE, false), 0);
	result_is(test, 0, PAGES, 0);

	KUNIT_EXPECT_EQ(test, move(test, PAGES / 2, MCUBE_RECOLOR_SPREAD, false), 0);
	result_is(test, PAGES / 2, 0, 0);
	KUNIT_EXPECT_EQ(test, look(test, now), PAGES / 2);
	KUNIT_EXPECT_EQ(test, move(test, PAGES, MCUBE_RECOLOR_SPREAD, false), 0);
	result_is(test, PAGES / 2, PAGES / 2, 0);
	KUNIT_EXPECT_EQ(test, look(test, now), 0);
}

static void pages_that_must_stay_are_refused(struct kunit *test)
{
	static unsigned long was[PAGES], now[PAGES];
	struct recolor_test *t = test->priv;
	struct page *pinned;
	unsigned long start;

	map_memory(test, PAGES * PAGE_SIZE);
	/* An address without a page, and an address without a mapping. */
	KUNIT_EXPECT_EQ(test, move(test, 1, MCUBE_RECOLOR_POLLUTE, true), 0);
	result_is(test, 0, 0, 1);
	start = t->addr[0];
	t->addr[0] = ~0UL & PAGE_MASK;
	KUNIT_EXPECT_EQ(test, move(test, 1, MCUBE_RECOLOR_POLLUTE, true), 0);
	result_is(test, 0, 0, 1);
	t->addr[0] = start;

	migrate_disable();
	write_pages(test);
	KUNIT_EXPECT_EQ(test, move(test, PAGES, MCUBE_RECOLOR_SPREAD, false), 0);
	migrate_enable();
	KUNIT_EXPECT_EQ(test, look(test, was), 0);
	KUNIT_ASSERT_EQ(test, pin_user_pages_fast(t->addr[3], 1, FOLL_WRITE, &pinned), 1);
	KUNIT_EXPECT_EQ(test, move(test, PAGES, MCUBE_RECOLOR_POLLUTE, true), 0);
	result_is(test, PAGES - 1, 0, 1);
	unpin_user_page(pinned);
	KUNIT_EXPECT_EQ(test, look(test, now), PAGES - 1);
	KUNIT_EXPECT_EQ(test, now[3], was[3]);
}

/* Without a policy no color is reserved, and without the allocator no map is in use. */
static void nothing_moves_without_a_policy(struct kunit *test)
{
	struct recolor_test *t = test->priv;

	map_memory(test, PAGES * PAGE_SIZE);
	write_pages(test);
	KUNIT_ASSERT_EQ(test, mcube_alloc_enable(false), 0);
	KUNIT_EXPECT_EQ(test, move(test, PAGES, MCUBE_RECOLOR_SPREAD, true), 0);
	result_is(test, 0, PAGES, 0);
	KUNIT_EXPECT_EQ(test, move(test, PAGES, MCUBE_RECOLOR_POLLUTE, true), 0);
	result_is(test, 0, 0, PAGES);
	KUNIT_EXPECT_EQ(test, t->result.split, 0);
}

static void nothing_waits_for_the_mmap_lock(struct kunit *test)
{
	struct recolor_test *t = test->priv;

	map_memory(test, PAGES * PAGE_SIZE);
	write_pages(test);
	mmap_write_lock(current->mm);
	KUNIT_EXPECT_EQ(test, move(test, PAGES, MCUBE_RECOLOR_POLLUTE, false), -EAGAIN);
	KUNIT_EXPECT_EQ(test, move(test, PAGES, MCUBE_RECOLOR_POLLUTE, true), -EAGAIN);
	mmap_write_unlock(current->mm);
	result_is(test, 0, 0, 0);
	KUNIT_EXPECT_EQ(test, t->result.split, 0);
}

/* Is the first page part of a large folio? */
static bool is_large(struct kunit *test)
{
	struct recolor_test *t = test->priv;
	struct page *page;
	bool large;

	KUNIT_ASSERT_EQ(test, get_user_pages_fast(t->addr[0], 1, 0, &page), 1);
	large = folio_test_large(page_folio(page));
	put_page(page);
	return large;
}

static void large_folios_are_split_on_request(struct kunit *test)
{
	static unsigned long now[PAGES];
	struct recolor_test *t = test->priv;
	unsigned int i, before;

	if (!IS_ENABLED(CONFIG_TRANSPARENT_HUGEPAGE) || !IS_ENABLED(CONFIG_ADVISE_SYSCALLS))
		kunit_skip(test, "no large folios");
	map_memory(test, 2 * HPAGE_PMD_SIZE);
	t->addr[0] = ALIGN(t->addr[0], HPAGE_PMD_SIZE);
	for (i = 1; i < PAGES; i++)
		t->addr[i] = t->addr[0] + i * PAGE_SIZE;
	KUNIT_ASSERT_EQ(test, do_madvise(current->mm, t->addr[0], HPAGE_PMD_SIZE,
					 MADV_HUGEPAGE), 0);
	migrate_disable();
	write_pages(test);
	if (!is_large(test)) {
		migrate_enable();
		kunit_skip(test, "no block of 2 MiB is free");
	}
	before = look(test, now);
	KUNIT_EXPECT_EQ(test, move(test, PAGES, MCUBE_RECOLOR_POLLUTE, false), 0);
	result_is(test, 0, before, PAGES - before);
	KUNIT_EXPECT_EQ(test, t->result.split, 0);
	KUNIT_EXPECT_TRUE(test, is_large(test));
	KUNIT_EXPECT_EQ(test, move(test, PAGES, MCUBE_RECOLOR_POLLUTE, true), 0);
	migrate_enable();
	result_is(test, PAGES - before, before, 0);
	KUNIT_EXPECT_EQ(test, t->result.split, 1);
	KUNIT_EXPECT_FALSE(test, is_large(test));
	KUNIT_EXPECT_EQ(test, look(test, now), PAGES);
}

static void a_budget_is_for_a_second(struct kunit *test)
{
	DEFINE_MCUBE_RECOLOR_BUDGET(mine);
	DEFINE_MCUBE_RECOLOR_BUDGET(other);

	KUNIT_EXPECT_EQ(test, mcube_recolor_grant(&mine, 100, 60), 60);
	KUNIT_EXPECT_EQ(test, mcube_recolor_grant(&mine, 100, 60), 40);
	KUNIT_EXPECT_EQ(test, mcube_recolor_grant(&mine, 100, 60), 0);
	KUNIT_EXPECT_EQ(test, mcube_recolor_grant(&mine, 50, 60), 0);
	KUNIT_EXPECT_EQ(test, mcube_recolor_grant(&mine, 110, 60), 10);
	KUNIT_EXPECT_EQ(test, mcube_recolor_grant(&other, 100, 60), 60);
	/* As if the second were over. */
	mine.start -= HZ;
	KUNIT_EXPECT_EQ(test, mcube_recolor_grant(&mine, 100, 60), 60);
}

static struct kunit_case recolor_cases[] = {
	KUNIT_CASE(pages_move_in_and_out),
	KUNIT_CASE(pages_that_must_stay_are_refused),
	KUNIT_CASE(nothing_moves_without_a_policy),
	KUNIT_CASE(nothing_waits_for_the_mmap_lock),
	KUNIT_CASE(large_folios_are_split_on_request),
	KUNIT_CASE(a_budget_is_for_a_second),
	{}
};

static struct kunit_suite recolor_suite = {
	.name = "mcube-recolor",
	.init = recolor_test_init,
	.exit = recolor_test_exit,
	.test_cases = recolor_cases,
};

kunit_test_suite(recolor_suite);
