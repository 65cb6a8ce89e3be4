// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of SRM-buffer
 *
 * Copyright (C) 2026 The mcube authors
 *
 * Tests segments and the color selector as compiled into the kernel (the
 * user-space tests run much longer).  Then tests the running system with the
 * mcube allocator on: the counts of free frames by color, which a walk over all
 * containers confirms, the search of the buddy lists, hopping, the per-CPU lists
 * of freed frames, batches of tasks that fork, and readahead that grows.
 */

#include <kunit/test.h>
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/file.h>
#include <linux/gfp.h>
#include <linux/kthread.h>
#include <linux/list.h>
#include <linux/mcube_alloc.h>
#include <linux/mcube_srm.h>
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/sched.h>
#include <linux/sched/task.h>
#include <linux/shmem_fs.h>
#include <linux/slab.h>
#include <linux/sort.h>

#include "../../internal.h"
#include "../alloc/color_stat.h"
#include "../alloc/internal.h"
#include "../alloc/policy.h"
#include "../srm/segment.h"
#include "srm-fixture.h"

#define PAGES	3000

struct srm_test {
	struct mcube_color_selector selector;
	struct srm_fixture fixture;
	struct page *page[PAGES];
	unsigned int nr;
};

static void free_pages_of(struct srm_test *t)
{
	while (t->nr)
		__free_page(t->page[--t->nr]);
}

static int srm_test_init(struct kunit *test)
{
	struct srm_test *t = kvzalloc(sizeof(*t), GFP_KERNEL);

	if (!t)
		return -ENOMEM;
	test->priv = t;
	return srm_fixture_init(&t->fixture);
}

static void srm_test_exit(struct kunit *test)
{
	struct srm_test *t = test->priv;

	if (!t)
		return;
	free_pages_of(t);
	srm_fixture_exit(&t->fixture);
	kvfree(t);
}

static void segments_pack_and_unpack(struct kunit *test)
{
	u32 segment = mcube_segment_make(0x3ff, 255, MCUBE_SEGMENT_MAX);

	KUNIT_EXPECT_EQ(test, mcube_segment_left(segment, 0x3ff), MCUBE_SEGMENT_MAX);
	KUNIT_EXPECT_EQ(test, mcube_segment_left(segment, 0xfff), MCUBE_SEGMENT_MAX);
	KUNIT_EXPECT_EQ(test, mcube_segment_color(segment), 255);
	KUNIT_EXPECT_EQ(test, mcube_segment_left(segment, 0), 0);
	KUNIT_EXPECT_EQ(test, mcube_segment_left(0, 0), 0);
}

static void selector_takes_the_oldest_that_has_enough(struct kunit *test)
{
	struct srm_test *t = test->priv;
	unsigned long free[4] = { 300, 10, 256, 900 };
	unsigned int i;

	mcube_color_selector_init(&t->selector, 4, 0);
	KUNIT_EXPECT_EQ(test, mcube_color_selector_select(&t->selector, free, 256), 0);
	KUNIT_EXPECT_EQ(test, mcube_color_selector_select(&t->selector, free, 256), 2);
	KUNIT_EXPECT_EQ(test, mcube_color_selector_select(&t->selector, free, 256), 3);
	KUNIT_EXPECT_EQ(test, mcube_color_selector_select(&t->selector, free, 256), 0);
	memset(free, 0, sizeof(free));
	free[1] = 1;
	KUNIT_EXPECT_EQ(test, mcube_color_selector_select(&t->selector, free, 256), 1);
	for (i = 0; i < 4; i++)
		free[i] = MCUBE_PLENTY;
	for (i = 0; i < 8; i++)
		KUNIT_EXPECT_EQ(test, mcube_color_selector_select(&t->selector, free, 256),
				((const u8[]){ 2, 3, 0, 1 })[i % 4]);
}

static int walked[COLORS], counted[COLORS];
static bool uncounted;

static void walk(struct mcube_container *c)
{
	unsigned long flags;
	unsigned int i;

	spin_lock_irqsave(&c->lock, flags);
	if (c->active) {
		uncounted |= !c->counted;
		for_each_set_bit(i, c->bins.free, 1U << c->bins.order)
			walked[mcube_dim_value(&mcube_config.map->color,
					       page_to_pfn(c->bins.base) + i)]++;
	}
	spin_unlock_irqrestore(&c->lock, flags);
}

static void read_counts(void)
{
	struct mcube_zone *mz;
	struct zone *zone;
	int i;

	memset(counted, 0, sizeof(counted));
	guard(rcu)();
	for_each_populated_zone(zone) {
		mz = rcu_dereference(zone->mcube);
		for (i = 0; mz && i < COLORS; i++)
			counted[i] += mcube_color_stat_exact(mz, i);
	}
}

/* Frames are allocated and freed meanwhile: one of many tries must match. */
static void counts_are_right(struct kunit *test)
{
	int i, try;

	for (try = 0; try < 100; try++) {
		memset(walked, 0, sizeof(walked));
		uncounted = false;
		mcube_policy_lock();
		mcube_lookup_each(walk);
		mcube_policy_unlock();
		read_counts();
		if (!memcmp(walked, counted, sizeof(walked)))
			break;
		fsleep(2000);
	}
	KUNIT_EXPECT_FALSE(test, uncounted);
	for (i = 0; i < COLORS; i++)
		KUNIT_EXPECT_EQ(test, walked[i], counted[i]);
}

static void take_pages(struct kunit *test, unsigned int nr)
{
	struct srm_test *t = test->priv;

	while (t->nr < nr) {
		struct page *page = alloc_page(GFP_HIGHUSER_MOVABLE);

		KUNIT_ASSERT_NOT_NULL(test, page);
		t->page[t->nr++] = page;
	}
}

static void free_frames_are_counted_by_color(struct kunit *test)
{
	struct srm_test *t = test->priv;
	unsigned int i;
	u32 hint;

	/* Containers from before the policy is on, and containers taken after. */
	take_pages(test, PAGES / 2);
	KUNIT_ASSERT_EQ(test, mcube_srm_enable(true), 0);
	counts_are_right(test);
	take_pages(test, PAGES);
	counts_are_right(test);
	hint = mcube_hint_save(mcube_hint_make(5, -1));
	for (i = 0; i < 100; i++)
		__free_page(t->page[--t->nr]);
	take_pages(test, PAGES);
	mcube_hint_restore(hint);
	counts_are_right(test);
	free_pages_of(t);
	counts_are_right(test);

	KUNIT_ASSERT_EQ(test, mcube_srm_enable(false), 0);
	read_counts();
	for (i = 0; i < COLORS; i++)
		KUNIT_EXPECT_EQ(test, counted[i], 0);
	/* Count again, after containers have changed while the policy was off. */
	take_pages(test, PAGES);
	KUNIT_ASSERT_EQ(test, mcube_srm_enable(true), 0);
	counts_are_right(test);
}

/* Make the allocator take containers, empty them and release them all the time. */
static int churn(void *unused)
{
	struct page *page, *next;
	unsigned int i;
	LIST_HEAD(pages);

	while (!kthread_should_stop()) {
		for (i = 0; i < 2 * PAGES; i++) {
			page = alloc_page(GFP_HIGHUSER_MOVABLE | __GFP_NOWARN);
			if (!page)
				break;
			list_add(&page->lru, &pages);
		}
		list_for_each_entry_safe(page, next, &pages, lru)
			__free_page(page);
		INIT_LIST_HEAD(&pages);
		cond_resched();
	}
	return 0;
}

static void nothing_is_counted_twice_under_load(struct kunit *test)
{
	struct task_struct *task[2];
	unsigned int i, color;

	for (i = 0; i < ARRAY_SIZE(task); i++)
		task[i] = kthread_run(churn, NULL, "mcube-churn/%u", i);
	for (i = 0; i < 30; i++) {
		KUNIT_EXPECT_EQ(test, mcube_srm_enable(true), 0);
		fsleep(2000);
		KUNIT_EXPECT_EQ(test, mcube_srm_enable(false), 0);
		read_counts();
		for (color = 0; color < COLORS; color++)
			KUNIT_EXPECT_EQ(test, counted[color], 0);
	}
	KUNIT_EXPECT_EQ(test, mcube_srm_enable(true), 0);
	for (i = 0; i < ARRAY_SIZE(task); i++)
		if (!IS_ERR(task[i]))
			kthread_stop(task[i]);
	counts_are_right(test);
}

static int at(const void *a, const void *b)
{
	unsigned long x = *(const unsigned long *)a, y = *(const unsigned long *)b;

	return x < y ? -1 : x > y;
}

static struct zone *some_zone(struct kunit *test)
{
	struct page *page = alloc_page(GFP_HIGHUSER_MOVABLE);
	struct zone *zone;

	KUNIT_ASSERT_NOT_NULL(test, page);
	zone = page_zone(page);
	__free_page(page);
	return zone;
}

/* Blocks of an order found in the buddy lists are right and distinct. */
static void search_blocks(struct kunit *test, unsigned int order, unsigned int step)
{
	struct zone *zone = some_zone(test);
	static unsigned long pfn[256];
	unsigned int i, n = 0, color;
	unsigned long flags;

	for (i = 0; i < ARRAY_SIZE(pfn); i++) {
		u32 hint = mcube_hint_make(i * step % COLORS, -1) | MCUBE_HINT_FILE;
		struct page *page = mcube_buddy_search(zone, order, MIGRATE_MOVABLE, hint);

		if (!page)
			continue;
		pfn[n++] = page_to_pfn(page);
		color = mcube_dim_value(&mcube_config.map->color, pfn[n - 1]);
		KUNIT_EXPECT_TRUE(test, IS_ALIGNED(pfn[n - 1], 1UL << order));
		KUNIT_EXPECT_EQ(test, color >> order, i * step % COLORS >> order);
		KUNIT_EXPECT_EQ(test, page_count(page), 0);
		KUNIT_EXPECT_FALSE(test, PageBuddy(page));
	}
	/* At boot there is plenty of free memory. */
	KUNIT_EXPECT_EQ(test, n, ARRAY_SIZE(pfn));
	sort(pfn, n, sizeof(pfn[0]), at, NULL);
	for (i = 1; i < n; i++)
		KUNIT_EXPECT_GE(test, pfn[i], pfn[i - 1] + (1UL << order));
	spin_lock_irqsave(&zone->lock, flags);
	while (n--)
		__putback_isolated_page(pfn_to_page(pfn[n]), order, MIGRATE_MOVABLE);
	spin_unlock_irqrestore(&zone->lock, flags);
}

static void blocks_are_found_by_group(struct kunit *test)
{
	unsigned int order;

	for (order = 0; order <= 3; order++) {
		KUNIT_ASSERT_EQ(test, mcube_srm_enable(false), 0);
		KUNIT_ASSERT_EQ(test, mcube_srm_set_group_order(order), 0);
		KUNIT_ASSERT_EQ(test, mcube_srm_enable(true), 0);
		search_blocks(test, order, 1);
		search_blocks(test, order, 7);
		/* All blocks of one color group. */
		search_blocks(test, order, COLORS);
	}
	KUNIT_ASSERT_EQ(test, mcube_srm_enable(false), 0);
	KUNIT_EXPECT_EQ(test, mcube_srm_set_group_order(MCUBE_GROUP_ORDER_AUTO), 0);
}

static void srm_stops_with_the_allocator(struct kunit *test)
{
	KUNIT_ASSERT_EQ(test, mcube_srm_enable(true), 0);
	KUNIT_EXPECT_TRUE(test, mcube_srm_enabled());
	KUNIT_ASSERT_EQ(test, mcube_alloc_enable(false), 0);
	KUNIT_EXPECT_FALSE(test, mcube_srm_enabled());
	KUNIT_EXPECT_EQ(test, mcube_srm_enable(true), -ENODEV);
	KUNIT_EXPECT_EQ(test, mcube_srm_enable(false), 0);
}

static unsigned int color_of(const struct page *page)
{
	return mcube_dim_value(&mcube_config.map->color, page_to_pfn(page));
}

#define NR_PCP	8

/*
 * The CPU that freed frames gets them back, the last frame first.  An interrupt
 * may allocate meanwhile, hence the margin.
 */
static void freed_frames_come_back_first(struct kunit *test)
{
	struct srm_test *t = test->priv;
	struct page *was[NR_PCP];
	unsigned int i, same = 0;
	u32 hint, inner;

	KUNIT_ASSERT_EQ(test, mcube_srm_enable(true), 0);
	migrate_disable();
	hint = mcube_hint_save(mcube_hint_make(5, -1));
	take_pages(test, NR_PCP);
	memcpy(was, t->page, sizeof(was));
	free_pages_of(t);
	/* Each color has a list of its own. */
	inner = mcube_hint_save(mcube_hint_make(6, -1));
	take_pages(test, NR_PCP);
	free_pages_of(t);
	mcube_hint_restore(inner);
	take_pages(test, NR_PCP);
	mcube_hint_restore(hint);
	migrate_enable();
	for (i = 0; i < NR_PCP; i++)
		same += t->page[i] == was[i];
	KUNIT_EXPECT_GE(test, same, NR_PCP - 2);
	counts_are_right(test);
}

/* A frame that another request took meanwhile is not allocated a second time. */
static void freed_frames_may_be_taken_by_others(struct kunit *test)
{
	struct srm_test *t = test->priv;
	unsigned int i;
	u32 hint;

	KUNIT_ASSERT_EQ(test, mcube_srm_enable(true), 0);
	migrate_disable();
	take_pages(test, PAGES);
	while (t->nr > PAGES / 2)
		__free_page(t->page[--t->nr]);
	/* A request for a bank takes frames that the per-CPU list still names. */
	hint = mcube_hint_save(mcube_hint_make(5, 0));
	take_pages(test, PAGES / 2 + NR_PCP);
	mcube_hint_restore(hint);
	take_pages(test, PAGES);
	migrate_enable();
	/* Each page was allocated only once. */
	for (i = 0; i < PAGES; i++)
		set_page_private(t->page[i], i);
	for (i = 0; i < PAGES; i++) {
		KUNIT_EXPECT_EQ(test, page_private(t->page[i]), i);
		set_page_private(t->page[i], 0);
	}
	counts_are_right(test);
}

struct child {
	struct completion done;
	bool batch;
};

static int look_for_batch(void *arg)
{
	struct child *child = arg;

	child->batch = current->mcube_srm_batch;
	complete(&child->done);
	kthread_exit(0);
}

/* A batch lies on the stack of the task that allocates. */
static void children_have_no_batch(struct kunit *test)
{
	struct child child = { .batch = true };
	struct mcube_srm_batch batch;
	struct address_space mapping;

	KUNIT_ASSERT_EQ(test, mcube_srm_enable(true), 0);
	init_completion(&child.done);
	{
		CLASS(mcube_srm_batch, scope)(&batch, &mapping, 1);

		KUNIT_EXPECT_PTR_EQ(test, current->mcube_srm_batch, scope);
		KUNIT_ASSERT_GT(test, kernel_thread(look_for_batch, &child,
						    "mcube-child", SIGCHLD), 0);
		wait_for_completion(&child.done);
	}
	KUNIT_EXPECT_FALSE(test, child.batch);
	KUNIT_EXPECT_NULL(test, current->mcube_srm_batch);
}

static unsigned long pages_placed(void)
{
	return mcube_srm_stat(MCUBE_SRM_FILE) + mcube_srm_stat(MCUBE_SRM_TASK);
}

#define EXPANDED	8U

/* File systems that compress make a readahead larger before they begin it. */
static void pages_of_a_larger_readahead_are_placed(struct kunit *test)
{
	struct file *file = shmem_kernel_file_setup("mcube-kunit", PAGE_SIZE, 0);
	unsigned long placed;
	struct folio *folio;

	KUNIT_ASSERT_FALSE(test, IS_ERR(file));
	if (!mcube_srm_enable(true)) {
		DEFINE_READAHEAD(ractl, file, &file->f_ra, file->f_mapping,
				 EXPANDED / 2);

		placed = pages_placed();
		/* Half of the pages come before the readahead, half after. */
		readahead_expand(&ractl, 0, EXPANDED * PAGE_SIZE);
		KUNIT_EXPECT_EQ(test, readahead_count(&ractl), EXPANDED);
		KUNIT_EXPECT_EQ(test, pages_placed() - placed, EXPANDED);
		while ((folio = readahead_folio(&ractl)))
			folio_unlock(folio);
		truncate_inode_pages(file->f_mapping, 0);
	}
	fput(file);
}

#define ROW	32UL

/* Does a file get pages ahead?  -1 if it gets no page at all. */
static int gets_pages_ahead(struct address_space *mapping)
{
	struct mcube_srm_batch batch;
	struct folio *folio;
	int ahead;

	CLASS(mcube_srm_batch, scope)(&batch, mapping, ROW - 1);
	folio = mapping_alloc_folio(mapping, NULL, mapping_gfp_mask(mapping), 0, 0);
	ahead = !list_empty(&scope->folios);
	if (!folio)
		return -1;
	folio_put(folio);
	return ahead;
}

/* Thousands of tasks may be preempted while they hold a batch. */
static void batches_have_a_limit_together(struct kunit *test)
{
	struct file *file = shmem_kernel_file_setup("mcube-kunit", ROW * PAGE_SIZE, 0);
	s64 before = percpu_counter_sum(&mcube_srm_ahead), more;

	KUNIT_ASSERT_FALSE(test, IS_ERR(file));
	KUNIT_EXPECT_EQ(test, mcube_srm_enable(true), 0);
	KUNIT_EXPECT_EQ(test, gets_pages_ahead(file->f_mapping), 1);
	/* What the batch had is forgotten; other tasks may have batches too. */
	KUNIT_EXPECT_LT(test, abs(percpu_counter_sum(&mcube_srm_ahead) - before),
			num_online_cpus() * ROW);
	more = 2 * mcube_srm_ahead_max();
	percpu_counter_add_batch(&mcube_srm_ahead, more, 1);
	KUNIT_EXPECT_EQ(test, gets_pages_ahead(file->f_mapping), 0);
	percpu_counter_add_batch(&mcube_srm_ahead, -more, 1);
	KUNIT_EXPECT_EQ(test, gets_pages_ahead(file->f_mapping), 1);
	fput(file);
}

/* A color of a group is exhausted: the next page tries another color of the group. */
static void a_miss_goes_on_with_another_color(struct kunit *test)
{
	struct file *file = shmem_kernel_file_setup("mcube-kunit", ROW * PAGE_SIZE, 0);
	unsigned int group[2], color[2], i;
	struct mcube_srm_choice c = { 0 };

	KUNIT_ASSERT_FALSE(test, IS_ERR(file));
	KUNIT_EXPECT_EQ(test, mcube_srm_set_group_order(1) ?: mcube_srm_set_reserve(2) ?:
			      mcube_srm_enable(true), 0);
	for (i = 0; i < 2; i++) {
		KUNIT_EXPECT_TRUE(test, mcube_srm_choose(&c, file->f_mapping, i, 0));
		group[i] = c.group;
		color[i] = mcube_hint_color(c.hint);
		mcube_srm_chosen(&c, 1, false);
	}
	KUNIT_EXPECT_EQ(test, group[0], group[1]);
	KUNIT_EXPECT_NE(test, color[0], color[1]);
	fput(file);
}

/* The last batch of a segment is not needed whole: its pages are the segment's again. */
static void unused_pages_return_to_their_segment(struct kunit *test)
{
	u32 segment = mcube_segment_make(7, 3, 0), missed = 0;

	mcube_srm_unused(&segment, 7, 3, 5);
	KUNIT_EXPECT_EQ(test, segment, mcube_segment_make(7, 3, 5));
	mcube_srm_unused(&segment, 7, 2, 5);
	mcube_srm_unused(&segment, 8, 3, 5);
	KUNIT_EXPECT_EQ(test, segment, mcube_segment_make(7, 3, 5));
	mcube_srm_unused(&missed, 0, 0, 5);
	KUNIT_EXPECT_EQ(test, missed, 0);
}

#define BLOCKS	5UL

/* Requests for two nodes take turns, and the search of each node goes on. */
static void each_node_is_searched_in_turn(struct kunit *test)
{
	unsigned long block = mcube_container_pages(), i, at, start[2];
	/* Two numbers that are no nodes here. */
	int n, nid[2] = { MAX_NUMNODES - 2, MAX_NUMNODES - 1 };

	KUNIT_ASSERT_FALSE(test, node_online(nid[0]) || node_online(nid[1]));
	for (i = 0; i < 2 * BLOCKS; i++) {
		for (n = 0; n < 2; n++) {
			start[n] = (n + 1) * BLOCKS * block;
			at = mcube_srm_reclaim_next(nid[n], start[n],
						    start[n] + BLOCKS * block);
			KUNIT_EXPECT_EQ(test, at, start[n] + i % BLOCKS * block);
		}
	}
}

/* Are all frames of a block in a container, and all free or all in use? */
static bool block_is(const struct page *page, unsigned int order, bool free)
{
	unsigned long pfn = page_to_pfn(page), end = pfn + (1UL << order);
	struct mcube_container *c;

	guard(rcu)();
	c = mcube_lookup(pfn);
	if (!c || !c->active)
		return false;
	for (; pfn < end; pfn++)
		if (test_bit(pfn & ((1UL << mcube_config.order) - 1),
			     c->bins.free) != free)
			return false;
	return true;
}

#define NR_LARGE	48

/* Folios of several pages by the bulk; a folio is aligned and of one group. */
static void take_folios(struct kunit *test, unsigned int order,
			unsigned int color, struct page **page)
{
	struct folio *folio, *next;
	LIST_HEAD(folios);
	unsigned int n = 0;
	u32 hint;

	hint = mcube_hint_save(mcube_hint_make(color, -1) | MCUBE_HINT_FILE);
	while (n < NR_LARGE) {
		unsigned int got = mcube_alloc_folios(GFP_HIGHUSER_MOVABLE,
						      order, NR_LARGE - n,
						      &folios);

		KUNIT_EXPECT_NE(test, got, 0);
		if (!got)
			break;
		list_for_each_entry_safe(folio, next, &folios, lru) {
			list_del(&folio->lru);
			page[n++] = &folio->page;
		}
	}
	KUNIT_EXPECT_TRUE(test, mcube_hint_restore(hint) & MCUBE_HINT_SERVED);
	KUNIT_EXPECT_EQ(test, n, NR_LARGE);
	for (n = 0; n < NR_LARGE && page[n]; n++) {
		KUNIT_EXPECT_TRUE(test, IS_ALIGNED(page_to_pfn(page[n]), 1UL << order));
		KUNIT_EXPECT_EQ(test, color_of(page[n]) >> order, color >> order);
		KUNIT_EXPECT_EQ(test, folio_order(page_folio(page[n])), order);
		KUNIT_EXPECT_EQ(test, page_count(page[n]), 1);
		KUNIT_EXPECT_TRUE(test, block_is(page[n], order, false));
	}
}

/* Orders above 3 do not pass the per-CPU lists. */
static void folios_leave_and_return_whole(struct kunit *test)
{
	static struct page *page[NR_LARGE];
	unsigned int order, i, whole;

	KUNIT_ASSERT_EQ(test, mcube_srm_enable(true), 0);
	for (order = 1; order <= MCUBE_LARGE_MAX; order++) {
		memset(page, 0, sizeof(page));
		take_folios(test, order, 5, page);
		counts_are_right(test);
		for (i = whole = 0; i < NR_LARGE && page[i]; i++)
			__free_pages(page[i], order);
		/* Others may take a frame at once, a whole folio hardly. */
		for (i = 0; i < NR_LARGE && page[i]; i++)
			whole += block_is(page[i], order, true);
		KUNIT_EXPECT_GE(test, whole, NR_LARGE - 4);
		counts_are_right(test);
	}
}

/* A block that was split is freed page by page, and is whole again. */
static void parts_of_a_block_become_whole(struct kunit *test)
{
	static struct page *page[NR_LARGE];
	unsigned int i, k, n = 0, whole = 0;
	u32 hint;

	KUNIT_ASSERT_EQ(test, mcube_srm_enable(true), 0);
	hint = mcube_hint_save(mcube_hint_make(5, -1) | MCUBE_HINT_FILE);
	while (n < NR_LARGE) {
		page[n] = alloc_pages(GFP_HIGHUSER_MOVABLE, 2);
		if (!page[n])
			break;
		KUNIT_EXPECT_EQ(test, color_of(page[n]) >> 2, 1);
		n++;
	}
	mcube_hint_restore(hint);
	for (i = 0; i < n; i++) {
		whole += block_is(page[i], 2, false);
		split_page(page[i], 2);
		__free_page(page[i] + 2);
	}
	KUNIT_EXPECT_GE(test, whole, NR_LARGE - 4);
	counts_are_right(test);
	for (i = whole = 0; i < n; i++)
		for (k = 0; k < 4; k++)
			if (k != 2)
				__free_page(page[i] + k);
	for (i = 0; i < n; i++)
		whole += block_is(page[i], 2, true);
	KUNIT_EXPECT_GE(test, whole, NR_LARGE - 8);
	counts_are_right(test);
}

static struct kunit_case srm_cases[] = {
	KUNIT_CASE(segments_pack_and_unpack),
	KUNIT_CASE(selector_takes_the_oldest_that_has_enough),
	KUNIT_CASE(free_frames_are_counted_by_color),
	KUNIT_CASE_SLOW(nothing_is_counted_twice_under_load),
	KUNIT_CASE(blocks_are_found_by_group),
	KUNIT_CASE(srm_stops_with_the_allocator),
	KUNIT_CASE(freed_frames_come_back_first),
	KUNIT_CASE(freed_frames_may_be_taken_by_others),
	KUNIT_CASE(each_node_is_searched_in_turn),
	KUNIT_CASE(children_have_no_batch),
	KUNIT_CASE(batches_have_a_limit_together),
	KUNIT_CASE(a_miss_goes_on_with_another_color),
	KUNIT_CASE(unused_pages_return_to_their_segment),
	KUNIT_CASE(pages_of_a_larger_readahead_are_placed),
	KUNIT_CASE(folios_leave_and_return_whole),
	KUNIT_CASE(parts_of_a_block_become_whole),
	{}
};

static struct kunit_suite srm_suite = {
	.name = "mcube-srm",
	.init = srm_test_init,
	.exit = srm_test_exit,
	.test_cases = srm_cases,
};

kunit_test_suite(srm_suite);
