// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of the bins
 *
 * Copyright (C) 2026 The mcube authors
 *
 * Tests the code as compiled into the kernel, on made-up struct pages: the
 * paper's example, a short random sequence against a brute-force model, and the
 * spread of the first frames of fresh containers.  The user-space test runs
 * thousands of times as long.
 */

#include <kunit/test.h>
#include <linux/prandom.h>
#include <linux/slab.h>

#include "../alloc/bins.h"

#define FRAMES	MCUBE_MAX_PAGES

struct bins_test {
	struct mcube_bins b;
	struct mcube_fill fill;
	struct rnd_state rnd;
	bool free[FRAMES];
	u8 seen[FRAMES];
	struct page frames[FRAMES];
};

static int bins_test_init(struct kunit *test)
{
	struct bins_test *t = kvzalloc(sizeof(*t), GFP_KERNEL);

	if (!t)
		return -ENOMEM;
	prandom_seed_state(&t->rnd, 1);
	test->priv = t;
	return 0;
}

static void bins_test_exit(struct kunit *test)
{
	kvfree(test->priv);
}

static u32 below(struct bins_test *t, u32 n)
{
	return prandom_u32_state(&t->rnd) % n;
}

/* Garbage in the struct pages must not matter. */
static struct mcube_bins *fresh(struct bins_test *t, unsigned int order)
{
	unsigned int i;

	for (i = 0; i < FRAMES; i++) {
		t->frames[i].private = prandom_u32_state(&t->rnd);
		t->frames[i].index = below(t, 2 * FRAMES);
		t->free[i] = false;
	}
	mcube_bins_init(&t->b, t->frames, order);
	return &t->b;
}

static void fill(struct bins_test *t, enum mcube_fill_order fill_order)
{
	u64 key = prandom_u32_state(&t->rnd);

	mcube_fill_build(&t->fill, t->b.order, fill_order,
			 key << 32 | prandom_u32_state(&t->rnd));
	/* The paper's order has no key. */
	key = prandom_u32_state(&t->rnd);
	key = key << 32 | prandom_u32_state(&t->rnd);
	mcube_bins_fill(&t->b, &t->fill, fill_order == MCUBE_FILL_PAPER ? 0 : key);
}

/* Eight frames: five are taken, freed in some order, and taken again. */
static void figure_8b(struct kunit *test, const u8 *freed, const u8 *again)
{
	static const u8 first[] = { 7, 3, 5, 1, 6 };
	struct mcube_bins *b = fresh(test->priv, 3);
	unsigned int i;

	fill(test->priv, MCUBE_FILL_PAPER);
	for (i = 0; i < 5; i++)
		KUNIT_EXPECT_EQ(test, mcube_bins_take(b), (int)first[i]);
	for (i = 0; i < 5; i++)
		mcube_bins_put(b, freed[i]);
	for (i = 0; i < 5; i++)
		KUNIT_EXPECT_EQ(test, mcube_bins_take(b), (int)again[i]);
}

static void figure_8b_walk_through(struct kunit *test)
{
	static const u8 freed[] = { 7, 3, 5, 1, 6 };
	static const u8 again[] = { 6, 1, 5, 3, 7 };

	figure_8b(test, freed, again);
}

/*
 * The paper prints 6, 3, 1, 5, 7 for this order, against its own rules.  The
 * printed order comes out when 5 and 6 change places.
 */
static void figure_8b_third_claim(struct kunit *test)
{
	static const u8 freed[] = { 6, 7, 1, 3, 5 };
	static const u8 again[] = { 5, 3, 1, 7, 6 };
	static const u8 swapped[] = { 5, 7, 1, 3, 6 };
	static const u8 printed[] = { 6, 3, 1, 5, 7 };

	figure_8b(test, freed, again);
	figure_8b(test, swapped, printed);
}

/* Lists, levels, bitmap, count agree; a free group has one representative. */
static bool consistent(struct bins_test *t)
{
	const struct mcube_bins *b = &t->b;
	unsigned int level, off, i, n = 1U << b->order, nr_free = 0;
	struct page *page;

	memset(t->seen, 0, sizeof(t->seen));
	for (level = 0; level <= b->order; level++) {
		if (!!(b->nonempty & BIT(level)) == list_empty(&b->bin[level]))
			return false;
		list_for_each_entry(page, &b->bin[level], lru)
			if (page->private != level ||
			    t->seen[page - b->base]++)
				return false;
	}
	for (off = 0; off < n; off++) {
		if (t->seen[off] != t->free[off] ||
		    test_bit(off, b->free) != t->free[off])
			return false;
		nr_free += t->free[off];
	}
	if (b->nr_free != nr_free)
		return false;
	for (level = 0; level <= b->order; level++) {
		for (off = 0; off < n; off += 1U << level) {
			unsigned int reps = 0, all = 0;

			for (i = off; i < off + (1U << level); i++) {
				all += t->free[i];
				reps += t->free[i] &&
					b->base[i].private >= level;
			}
			if (reps != (all == 1U << level))
				return false;
		}
	}
	return true;
}

static void bins_against_brute_force(struct kunit *test)
{
	struct bins_test *t = test->priv;
	unsigned int order, i, x;
	int off;

	for (order = 0; order <= MCUBE_MAX_ORDER; order += 2) {
		struct mcube_bins *b = fresh(t, order);
		unsigned int n = 1U << order;

		for (i = 0; i < 2000; i++) {
			x = below(t, n);
			/* Swings between nearly full and nearly empty. */
			if (below(t, 100) < (i / 500 % 2 ? 30 : 80)) {
				if (!t->free[x])
					mcube_bins_put(b, x);
				t->free[x] = true;
				off = -1;
			} else if (below(t, 2)) {
				off = mcube_bins_take(b);
			} else {
				off = t->free[x] ? (int)x : -1;
				if (t->free[x])
					mcube_bins_remove(b, x);
			}
			if (off >= 0) {
				KUNIT_ASSERT_TRUE(test, t->free[off]);
				t->free[off] = false;
				/* The owner of the frame writes to its struct page. */
				b->base[off].index = below(t, 2 * n);
				b->base[off].private = below(t, 2 * n);
			}
			if (i % 16 == 0)
				KUNIT_ASSERT_TRUE(test, consistent(t));
		}
	}
}

/*
 * Groups of four frames, each with one frame of a selection of eight, from
 * frames in bins and from unbinned frames.
 */
static void take_and_put_groups(struct kunit *test, bool unbinned)
{
	struct bins_test *t = test->priv;
	struct mcube_bins *b = fresh(t, MCUBE_MAX_ORDER);
	DECLARE_BITMAP(sel, MCUBE_MAX_PAGES);
	unsigned int i, n = FRAMES / 8;
	u16 off;

	if (unbinned)
		mcube_bins_fill_unbinned(b);
	else
		fill(t, MCUBE_FILL_SHUFFLE);
	memset(t->free, true, sizeof(t->free));
	bitmap_zero(sel, FRAMES);
	for (i = 5; i < FRAMES; i += 8)
		__set_bit(i, sel);
	for (i = 0; i < n; i++) {
		KUNIT_ASSERT_TRUE(test, mcube_bins_has_group(b, sel, 2));
		KUNIT_ASSERT_EQ(test, mcube_bins_take_groups(b, sel, 2, &off, 1), 1);
		KUNIT_ASSERT_EQ(test, off & 7, 4);
		KUNIT_ASSERT_TRUE(test, t->free[off]);
		memset(t->free + off, false, 4);
	}
	KUNIT_EXPECT_EQ(test, mcube_bins_take_groups(b, sel, 2, &off, 1), 0);
	KUNIT_EXPECT_EQ(test, b->nr_free, FRAMES / 2);
	KUNIT_EXPECT_EQ(test, mcube_bins_top(b), 2);
	if (!unbinned)
		KUNIT_EXPECT_TRUE(test, consistent(t));
	for (i = 4; i < FRAMES; i += 8) {
		mcube_bins_put_group(b, i, 2);
		memset(t->free + i, true, 4);
	}
	KUNIT_EXPECT_TRUE(test, mcube_bins_full(b));
	KUNIT_EXPECT_EQ(test, mcube_bins_top(b), MCUBE_MAX_ORDER);
	if (!unbinned)
		KUNIT_EXPECT_TRUE(test, consistent(t));
}

static void groups_of_binned_frames(struct kunit *test)
{
	take_and_put_groups(test, false);
}

static void groups_of_unbinned_frames(struct kunit *test)
{
	take_and_put_groups(test, true);
}

/* The color is bits 12 to 16 of the address: the low five of the offset. */
static void colors_of_fresh_containers(struct kunit *test,
				       enum mcube_fill_order fill_order,
				       unsigned int *colors)
{
	struct bins_test *t = test->priv;
	unsigned int round, i;

	*colors = 0;
	for (round = 0; round < 64; round++) {
		struct mcube_bins *b = fresh(t, MCUBE_MAX_ORDER);
		u32 seen = 0;

		fill(t, fill_order);
		KUNIT_ASSERT_TRUE(test, mcube_bins_full(b));
		for (i = 0; i < 32; i++)
			seen |= BIT(mcube_bins_take(b) & 31);
		*colors += hweight32(seen);
	}
}

static void fill_orders_spread_colors(struct kunit *test)
{
	unsigned int colors;

	colors_of_fresh_containers(test, MCUBE_FILL_SHUFFLE, &colors);
	kunit_info(test, "shuffle: 32 frames, %u.%02u colors of 32",
		   colors / 64, colors * 100 / 64 % 100);
	KUNIT_EXPECT_GE(test, colors, 64 * 19);
	/* The paper's order is the worst possible: one color. */
	colors_of_fresh_containers(test, MCUBE_FILL_PAPER, &colors);
	KUNIT_EXPECT_EQ(test, colors, 64);
}

/* Of 32 frames in even order, each color comes once; also when a container returns. */
static void even_order_hands_out_colors(struct kunit *test)
{
	static const u64 color[] = { 0x1000, 0x2000, 0x4000, 0x8000, 0x10000 };
	static const u64 bank[] = { 0x24000, 0x48000, 0x90000, 0x2000 };
	struct bins_test *t = test->priv;
	struct mcube_map map;
	const char *why;
	unsigned int round, i;

	KUNIT_ASSERT_EQ(test, 0, mcube_dim_init(&map.color, color, ARRAY_SIZE(color), &why));
	KUNIT_ASSERT_EQ(test, 0, mcube_dim_init(&map.bank, bank, ARRAY_SIZE(bank), &why));
	for (round = 0; round < 64; round++) {
		struct mcube_bins *b = fresh(t, MCUBE_MAX_ORDER);
		u64 key = (u64)prandom_u32_state(&t->rnd) << 32 | prandom_u32_state(&t->rnd);
		u32 seen = 0;

		mcube_even_build(&t->fill, MCUBE_MAX_ORDER, round % (MCUBE_CLUSTER_MAX + 1),
				 &map, round);
		mcube_bins_fill(b, &t->fill, key);
		if (round % 2) {
			while (mcube_bins_take(b) >= 0)
				;
			for (i = 0; i < FRAMES; i++)
				mcube_bins_put(b, i);
			mcube_bins_sort(b, &t->fill, key);
		}
		for (i = 0; i < FRAMES; i++) {
			seen |= BIT(mcube_bins_take(b) & 31);
			if (i % 32 < 31)
				continue;
			KUNIT_EXPECT_EQ(test, seen, ~0U);
			seen = 0;
		}
	}
}

/* Eight neighbours leave one after the other; what is freed leaves with them. */
static void clusters_stay_together(struct kunit *test)
{
	struct bins_test *t = test->priv;
	struct mcube_bins *b = fresh(t, MCUBE_MAX_ORDER);
	unsigned int i, off, first = 0;

	mcube_fill_build(&t->fill, MCUBE_MAX_ORDER, MCUBE_FILL_SHUFFLE, 1);
	t->fill.cluster = 3;
	mcube_bins_fill(b, &t->fill, prandom_u32_state(&t->rnd));
	for (i = 0; i < FRAMES; i++) {
		off = mcube_bins_take(b);
		if (!(i % 8))
			first = off;
		KUNIT_ASSERT_EQ(test, off, first + i % 8);
		KUNIT_ASSERT_EQ(test, first % 8, 0);
	}
	for (i = 16; i < 24; i += 3)
		mcube_bins_put(b, i);
	mcube_bins_put(b, 100);
	KUNIT_EXPECT_EQ(test, mcube_bins_take(b), 100);
	KUNIT_EXPECT_EQ(test, mcube_bins_take(b), 16);
	KUNIT_EXPECT_EQ(test, mcube_bins_take(b), 19);
	KUNIT_EXPECT_EQ(test, mcube_bins_take(b), 22);
	KUNIT_EXPECT_EQ(test, mcube_bins_take(b), -1);
}

/* A Skylake with two channels: large clusters.  No map: single pages. */
static void auto_follows_the_map(struct kunit *test)
{
	static const u64 color[] = { 0x1000, 0x2000, 0x4000, 0x8000, 0x10000 };
	static const u64 bank[] = { 0x4080, 0x88000, 0x110000, 0x220000, 0x440000, 0xc3300 };
	struct mcube_fill_choice choice;
	struct mcube_map map;
	const char *why;

	KUNIT_ASSERT_EQ(test, 0, mcube_dim_init(&map.color, color, ARRAY_SIZE(color), &why));
	KUNIT_ASSERT_EQ(test, 0, mcube_dim_init(&map.bank, bank, ARRAY_SIZE(bank), &why));
	mcube_fill_choose(&choice, &map, MCUBE_MAX_ORDER);
	KUNIT_EXPECT_EQ(test, choice.fill_order, MCUBE_FILL_EVEN);
	KUNIT_EXPECT_EQ(test, choice.cluster, MCUBE_CLUSTER_MAX);
	KUNIT_EXPECT_EQ(test, choice.colors, 32);

	KUNIT_ASSERT_EQ(test, 0, mcube_dim_init(&map.color, NULL, 0, &why));
	KUNIT_ASSERT_EQ(test, 0, mcube_dim_init(&map.bank, NULL, 0, &why));
	mcube_fill_choose(&choice, &map, MCUBE_MAX_ORDER);
	KUNIT_EXPECT_EQ(test, choice.fill_order, MCUBE_FILL_SHUFFLE);
	KUNIT_EXPECT_EQ(test, choice.cluster, 0);
}

static struct kunit_case bins_cases[] = {
	KUNIT_CASE(figure_8b_walk_through),
	KUNIT_CASE(figure_8b_third_claim),
	KUNIT_CASE(bins_against_brute_force),
	KUNIT_CASE(groups_of_binned_frames),
	KUNIT_CASE(groups_of_unbinned_frames),
	KUNIT_CASE(fill_orders_spread_colors),
	KUNIT_CASE(even_order_hands_out_colors),
	KUNIT_CASE(clusters_stay_together),
	KUNIT_CASE(auto_follows_the_map),
	{}
};

static struct kunit_suite bins_suite = {
	.name = "mcube-bins",
	.init = bins_test_init,
	.exit = bins_test_exit,
	.test_cases = bins_cases,
};

kunit_test_suite(bins_suite);
