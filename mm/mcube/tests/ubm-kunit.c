// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of UBM's decisions
 *
 * Copyright (C) 2026 The mcube authors
 *
 * Runs the essentials of the user-space tests on the unit as compiled into the kernel: a page that
 * came back soon is held, a loop is held, readers that follow each other lose nothing, and any
 * numbers.  The user-space tests run much longer.
 */

#include <kunit/test.h>
#include <linux/minmax.h>
#include <linux/prandom.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "../ubm/held.h"

#define CACHE_PAGES	500
#define FILE_PAGES	4000
#define BATCH		32

/* Held and the rest of a model, each an array with the oldest page first. */
struct ubm_test {
	struct mcube_ubm_held h;
	struct rnd_state rnd;
	u32 held[CACHE_PAGES], nr_held;
	u32 rest[CACHE_PAGES], nr_rest;
	u32 stamp[FILE_PAGES];
	/* In memory, has left once, used since it was pushed, came back soon. */
	bool in[FILE_PAGES], was[FILE_PAGES], used[FILE_PAGES], back[FILE_PAGES];
	u32 hits;
};

static int ubm_test_init(struct kunit *test)
{
	struct ubm_test *t = kvzalloc(sizeof(*t), GFP_KERNEL);

	if (!t)
		return -ENOMEM;
	prandom_seed_state(&t->rnd, 1);
	mcube_ubm_held_init(&t->h, CACHE_PAGES, BATCH, -CACHE_PAGES);
	test->priv = t;
	return 0;
}

static void ubm_test_exit(struct kunit *test)
{
	kvfree(test->priv);
}

/* Folios leave.  Return: the stamp. */
static u32 left(struct mcube_ubm_held *h, u32 nr)
{
	mcube_ubm_held_passed(h, nr);
	return mcube_ubm_held_stamp(h, h->clock, nr);
}

static u32 first(u32 *list, u32 *nr)
{
	u32 page = list[0];

	memmove(list, list + 1, --*nr * sizeof(*list));
	return page;
}

static void hold(struct ubm_test *t, u32 page)
{
	t->held[t->nr_held++] = page;
	t->used[page] = false;
	t->back[page] = false;
}

static bool rotate(struct ubm_test *t)
{
	while (t->nr_held && t->used[t->held[0]]) {
		hold(t, first(t->held, &t->nr_held));
		mcube_ubm_held_kept(&t->h, 1);
	}
	return true;
}

static void leave(struct ubm_test *t, u32 page)
{
	t->stamp[page] = left(&t->h, 1);
	t->in[page] = false;
	t->was[page] = true;
	t->used[page] = false;
	t->back[page] = false;
}

static void reclaim(struct ubm_test *t)
{
	u32 nr = mcube_ubm_held_turn(&t->h, t->nr_held, t->nr_rest, rotate(t)), page, gone = nr;
	bool again;

	while (nr--) {
		page = first(t->held, &t->nr_held);
		mcube_ubm_held_demoted(&t->h, 1, t->nr_rest);
		leave(t, page);
	}
	while (gone < BATCH && t->nr_rest) {
		page = first(t->rest, &t->nr_rest);
		if (t->used[page])
			mcube_ubm_held_again(&t->h, 1);
		again = t->back[page] || (t->used[page] && mcube_ubm_held_small(&t->h));
		if (!mcube_ubm_held_takes(&t->h, 1, t->nr_rest, again)) {
			leave(t, page);
			gone++;
			continue;
		}
		hold(t, page);
		mcube_ubm_held_pushed(&t->h, 1);
	}
}

static void touch(struct ubm_test *t, u32 page)
{
	if (t->in[page]) {
		t->used[page] = true;
		t->hits++;
		return;
	}
	if (t->nr_held + t->nr_rest == CACHE_PAGES)
		reclaim(t);
	if (t->was[page])
		t->back[page] = mcube_ubm_held_back(&t->h, t->stamp[page], 1, t->nr_held,
						    t->nr_rest);
	t->in[page] = true;
	t->rest[t->nr_rest++] = page;
}

static void who_came_back_sooner_than_the_tail_is_held(struct kunit *test)
{
	struct ubm_test *t = test->priv;
	struct mcube_ubm_held *h = &t->h;
	u32 i, stamp;

	/* Within a mark, CACHE_PAGES / MCUBE_UBM_HELD_STEPS pushes, the age is exact. */
	for (i = 0; i < 200; i++) {
		mcube_ubm_held_pushed(h, 1);
		left(h, 1);
	}
	h->next = h->clock + 1000;
	mcube_ubm_held_turn(h, 100, 10, true);
	KUNIT_EXPECT_GE(test, h->age, 100U);
	KUNIT_EXPECT_LE(test, h->age, 110U);
	stamp = h->clock - 60;
	KUNIT_EXPECT_TRUE(test, mcube_ubm_held_back(h, stamp, 1, 100, 10));
	KUNIT_EXPECT_FALSE(test, mcube_ubm_held_back(h, stamp, 1, 100, 40));
}

static void a_loop_is_held(struct kunit *test)
{
	struct ubm_test *t = test->priv;
	u32 i;

	for (i = 0; i < 20 * 600; i++)
		touch(t, i % 600);
	/* LRU has no hit at all. */
	KUNIT_EXPECT_GT(test, t->hits, 19U * 400);
	KUNIT_EXPECT_LE(test, t->h.rest, 2U * BATCH);
}

static void followers_lose_nothing(struct kunit *test)
{
	struct ubm_test *t = test->priv;
	u32 i;

	for (i = 0; i < 16000; i++)
		touch(t, (i & 1 ? i / 2 : i / 2 + 100) % FILE_PAGES);
	KUNIT_EXPECT_GT(test, t->hits, 7500U);
}

static void any_numbers(struct kunit *test)
{
	struct ubm_test *t = test->priv;
	struct mcube_ubm_held *h = &t->h;
	u32 i, nr, held, rest, stamp = 0;

	for (i = 0; i < 50000; i++) {
		held = prandom_u32_state(&t->rnd) >> (i % 32);
		rest = min(prandom_u32_state(&t->rnd) >> (i % 31), U32_MAX - held);
		nr = 1U << i % 10;
		switch (prandom_u32_state(&t->rnd) % 8) {
		case 0:
			stamp = left(h, nr);
			break;
		case 1:
			mcube_ubm_held_back(h, i & 1 ? stamp : held, nr, held, rest);
			break;
		case 2:
			mcube_ubm_held_kept(h, nr);
			break;
		case 3:
			mcube_ubm_held_demoted(h, nr, rest);
			break;
		case 4:
			if (!(i % 100))
				mcube_ubm_held_resize(h, max(held, 1U));
			break;
		default:
			nr = mcube_ubm_held_turn(h, held, rest, i & 1);
			KUNIT_ASSERT_LE(test, nr, min(held, 2U * BATCH));
			KUNIT_ASSERT_GE(test, h->rest, 1U);
		}
	}
}

static struct kunit_case ubm_cases[] = {
	KUNIT_CASE(who_came_back_sooner_than_the_tail_is_held),
	KUNIT_CASE(a_loop_is_held),
	KUNIT_CASE(followers_lose_nothing),
	KUNIT_CASE(any_numbers),
	{ }
};

static struct kunit_suite ubm_suite = {
	.name = "mcube-ubm",
	.init = ubm_test_init,
	.exit = ubm_test_exit,
	.test_cases = ubm_cases,
};

kunit_test_suite(ubm_suite);

MODULE_DESCRIPTION("KUnit tests of UBM");
MODULE_LICENSE("GPL");
