// SPDX-License-Identifier: GPL-2.0
/*
 * Which pages are held: the rule page by page, whatever the clock and the capacity are, and
 * what becomes of loops and of readers that follow each other.
 */
#include "mcube_test.h"

#include <string.h>

#include "ubm/held.h"

enum { PAGES = 4000, BATCH = 32 };

/**
 * struct cache - held and the rest, oldest page first, as simply as can be
 * @used: a page was used since it came, or since it was pushed.
 * @back: it came back soon, and is held when reclaim comes to it.
 */
struct cache {
	struct mcube_ubm_held h;
	u32 capacity;
	u32 held[PAGES], nr_held;
	u32 rest[PAGES], nr_rest;
	u32 stamp[PAGES];
	bool was[PAGES], used[PAGES], back[PAGES];
	u32 hits;
	u64 seen;	/* hash of all decisions */
};

static struct cache a, b;

static void begin(struct cache *c, u32 capacity, u32 clock)
{
	memset(c, 0, sizeof(*c));
	c->capacity = capacity;
	mcube_ubm_held_init(&c->h, capacity, BATCH, clock);
}

/* Folios leave.  Return: the stamp. */
static u32 left(struct mcube_ubm_held *h, u32 nr)
{
	mcube_ubm_held_passed(h, nr);
	return mcube_ubm_held_stamp(h, h->clock, nr);
}

static u32 drop(u32 *list, u32 *nr, u32 at)
{
	u32 page = list[at];

	memmove(&list[at], &list[at + 1], (--*nr - at) * sizeof(*list));
	return page;
}

static int place(const u32 *list, u32 nr, u32 page)
{
	for (u32 i = 0; i < nr; i++)
		if (list[i] == page)
			return i;
	return -1;
}

static void hold(struct cache *c, u32 page)
{
	c->held[c->nr_held++] = page;
	c->used[page] = false;
	c->back[page] = false;
	mcube_ubm_held_pushed(&c->h, 1);
}

static bool rotate(struct cache *c)
{
	for (u32 i = 0; i < 128 && c->nr_held; i++) {
		if (!c->used[c->held[0]])
			return true;
		c->used[c->held[0]] = false;
		c->held[c->nr_held - 1] = drop(c->held, &c->nr_held, 0);
		c->nr_held++;
		mcube_ubm_held_kept(&c->h, 1);
	}
	return !c->nr_held;
}

static void reclaim(struct __test_metadata *_metadata, struct cache *c)
{
	u32 nr, page, gone = 0, held = 0, could;

	nr = mcube_ubm_held_turn(&c->h, c->nr_held, c->nr_rest, rotate(c));
	c->seen = c->seen * 31 + nr;
	ASSERT_LE(nr, min(c->nr_held, 2U * BATCH));
	ASSERT_LE(c->h.rest, c->capacity);
	while (nr--) {
		page = drop(c->held, &c->nr_held, 0);
		mcube_ubm_held_demoted(&c->h, 1, c->nr_rest);
		memmove(c->rest + 1, c->rest, c->nr_rest++ * sizeof(*c->rest));
		c->rest[0] = page;
	}
	for (could = c->nr_rest; c->nr_rest && gone < BATCH;) {
		page = drop(c->rest, &c->nr_rest, 0);
		if (c->used[page])
			mcube_ubm_held_again(&c->h, 1);
		if (mcube_ubm_held_takes(&c->h, 1, c->nr_rest, c->back[page] ||
					 (c->used[page] && mcube_ubm_held_small(&c->h)))) {
			hold(c, page);
			held++;
			continue;
		}
		c->stamp[page] = left(&c->h, 1);
		c->was[page] = true;
		c->used[page] = false;
		c->back[page] = false;
		gone++;
	}
	/* Reclaim gets on. */
	ASSERT_GT(gone, 0);
	ASSERT_LT(held, could);
}

static void touch(struct __test_metadata *_metadata, struct cache *c, u32 page)
{
	if (place(c->held, c->nr_held, page) >= 0 || place(c->rest, c->nr_rest, page) >= 0) {
		c->used[page] = true;
		c->hits++;
		return;
	}
	if (c->nr_held + c->nr_rest == c->capacity)
		reclaim(_metadata, c);
	if (c->was[page])
		c->back[page] = mcube_ubm_held_back(&c->h, c->stamp[page], 1, c->nr_held,
						    c->nr_rest);
	c->seen = c->seen * 31 + c->back[page];
	c->rest[c->nr_rest++] = page;
}

/* Loops, pages that are often used, followers, and any pages, by turns. */
static u32 any_page(u32 i)
{
	switch (i / 3000 % 4) {
	case 0:
		return i % 300;
	case 1:
		return get_random_u32_below(1 + get_random_u32_below(PAGES));
	case 2:
		return (i & 1 ? i / 2 : i / 2 + 50) % PAGES;
	default:
		return get_random_u32_below(PAGES);
	}
}

TEST(who_came_back_sooner_than_the_tail_is_held)
{
	struct mcube_ubm_held *h = &a.h;
	u32 stamp, i;

	/* A mark for each push: the age of the tail is exact. */
	begin(&a, 64, 1 << 20);
	h->next += 1 << 20;
	for (i = 0; i < 40; i++) {
		mcube_ubm_held_pushed(h, 1);
		left(h, 1);
	}
	stamp = h->clock - 20;
	mcube_ubm_held_turn(h, 40, 10, true);
	EXPECT_EQ(h->age, 40);
	/* (20 + 11) * 5 < 40 * 4 */
	EXPECT_TRUE(mcube_ubm_held_back(h, stamp, 1, 40, 11));
	EXPECT_FALSE(mcube_ubm_held_back(h, stamp, 1, 40, 12));
	/* The push before the last ten. */
	mcube_ubm_held_turn(h, 10, 10, true);
	EXPECT_EQ(h->age, 11);
	EXPECT_FALSE(mcube_ubm_held_back(h, stamp, 1, 10, 0));
	/* The tail was used: nothing is older. */
	mcube_ubm_held_turn(h, 40, 10, false);
	EXPECT_FALSE(mcube_ubm_held_back(h, h->clock, 1, 40, 0));
	/* A page that held gave up was used last before it was the tail. */
	mcube_ubm_held_turn(h, 40, 10, true);
	mcube_ubm_held_demoted(h, 2, 10);
	EXPECT_EQ(left(h, 1), h->clock - 40);
	EXPECT_EQ(left(h, 4), h->clock - 40);
	EXPECT_EQ(left(h, 1), h->clock);
}

TEST(who_left_long_ago_does_not_wait_for_want_of_memory)
{
	begin(&a, 1000, 7);
	EXPECT_TRUE(mcube_ubm_held_recent(&a.h, 0, false));
	EXPECT_TRUE(mcube_ubm_held_recent(&a.h, 1000, false));
	EXPECT_FALSE(mcube_ubm_held_recent(&a.h, 1001, false));
	/* A page that was held left when its stamp was old. */
	a.h.age = 500;
	EXPECT_TRUE(mcube_ubm_held_recent(&a.h, 1500, true));
	EXPECT_FALSE(mcube_ubm_held_recent(&a.h, 1501, true));
	EXPECT_FALSE(mcube_ubm_held_recent(&a.h, 1001, false));
	a.h.age = U32_MAX;
	EXPECT_TRUE(mcube_ubm_held_recent(&a.h, 5000, true));
	EXPECT_FALSE(mcube_ubm_held_recent(&a.h, 5001, true));
}

/* A large folio counts as its pages, also where a mark is for fewer pages than it has. */
TEST(large_folios)
{
	struct mcube_ubm_held *h = &a.h;
	u32 i;

	begin(&a, 6400, 1 << 20);
	h->next += 1 << 20;
	for (i = 0; i < 20; i++) {
		mcube_ubm_held_pushed(h, 512);
		left(h, 512);
	}
	/* Within a folio and a mark. */
	mcube_ubm_held_turn(h, 10 * 512, 100, true);
	EXPECT_GE(h->age, 10 * 512);
	EXPECT_LE(h->age, 12 * 512);
	begin(&a, 64, 1 << 20);
	h->next += 1 << 20;
	for (i = 0; i < 3; i++) {
		mcube_ubm_held_pushed(h, 512);
		left(h, 512);
	}
	mcube_ubm_held_turn(h, 1, 63, true);
	EXPECT_LE(h->age, 512);
	h->may_hold = 511;
	EXPECT_FALSE(mcube_ubm_held_takes(h, 512, 1000, true));
	EXPECT_TRUE(mcube_ubm_held_takes(h, 511, 1000, true));
	EXPECT_FALSE(mcube_ubm_held_takes(h, 1, 1000, true));
}

TEST(the_clock_wraps)
{
	static const u32 by[] = { 1, 1U << 30, 3U << 30, -1, -4000 };
	u32 i, j;

	for (j = 0; j < ARRAY_SIZE(by); j++) {
		begin(&a, 500, 1U << 20);
		begin(&b, 500, by[j]);
		for (i = 0; i < 24000 * test_scale(); i++) {
			u32 page = any_page(i);

			touch(_metadata, &a, page);
			touch(_metadata, &b, page);
			ASSERT_EQ(a.seen, b.seen) TH_LOG("by %u, reference %u", by[j], i);
		}
		EXPECT_EQ(a.hits, b.hits);
	}
}

static u32 any_folio(void)
{
	return get_random_u32() & 1 ? 1 : 1U << get_random_u32_below(10);
}

TEST(any_capacity)
{
	static const u32 capacity[] = { 1, 2, 3, 31, 64, 65, 1000, 1U << 30, U32_MAX };
	u32 i, j, held, rest, nr, stamp, size;
	struct mcube_ubm_held *h = &a.h;

	for (j = 0; j < ARRAY_SIZE(capacity); j++) {
		size = capacity[j];
		mcube_ubm_held_init(h, size, BATCH, get_random_u32());
		for (i = 0, stamp = 0; i < 50000 * test_scale(); i++) {
			held = get_random_u32_below(size);
			rest = get_random_u32_below(size - held);
			switch (get_random_u32_below(9)) {
			case 0:
				stamp = left(h, any_folio());
				break;
			case 1:
				mcube_ubm_held_back(h, get_random_u32() & 1 ? stamp :
						    get_random_u32(), any_folio(), held, rest);
				break;
			case 2:
				mcube_ubm_held_again(h, any_folio());
				break;
			case 3:
				mcube_ubm_held_kept(h, any_folio());
				break;
			case 4:
				mcube_ubm_held_demoted(h, any_folio(), rest);
				break;
			case 5:
				if (get_random_u32_below(1000) || size < 4)
					break;
				size = max(capacity[j] / (1 + get_random_u32_below(4)), 1U);
				mcube_ubm_held_resize(h, size);
				continue;
			case 6:
				/* Time goes by. */
				h->clock += get_random_u32_below(size / 8 + 2);
				break;
			default:
				nr = mcube_ubm_held_turn(h, held, rest, get_random_u32() & 1);
				ASSERT_LE(nr, min(held, 2U * BATCH));
				ASSERT_GE(h->rest, 1);
				if (mcube_ubm_held_takes(h, 1, rest, get_random_u32() & 1))
					ASSERT_GT(rest, 1);
			}
		}
	}
}

TEST(sums_do_not_overflow)
{
	struct mcube_ubm_held *h = &a.h;
	u64 *sum, most = 512ULL * U32_MAX;

	mcube_ubm_held_init(h, U32_MAX, BATCH, 1);
	for (sum = &h->misses; sum <= &h->gaps[MCUBE_UBM_HELD_BINS - 1]; sum++)
		*sum = sum == &h->worth ? 1ULL << 57 : most;
	h->next = h->clock;
	h->next += 2;
	left(h, 2);
	EXPECT_EQ(h->misses, most);
	mcube_ubm_held_turn(h, 1, U32_MAX - 1, true);
	EXPECT_LT(h->misses, most);
	/* Held pages are worth much more than the rest: it shrinks at once. */
	EXPECT_LE(h->rest, U32_MAX / 2);
}

/* A loop that is a little larger than a cache of 500 pages. */
static void loop(struct __test_metadata *_metadata, struct cache *c)
{
	for (u32 i = 0; i < 20 * 600; i++)
		touch(_metadata, c, i % 600);
}

TEST(a_loop_is_held)
{
	begin(&a, 500, 1);
	loop(_metadata, &a);
	/* The first pass misses; LRU has no hit at all. */
	EXPECT_GT(a.hits, 19 * 400);
	EXPECT_LE(a.h.rest, 2 * BATCH);
}

/* Other memory of the cgroup comes and goes: held pages do not give way to others each time. */
TEST(a_few_pages_more_are_not_held)
{
	struct mcube_ubm_held *h = &a.h;
	u32 i, rest;

	begin(&a, 500, 1);
	loop(_metadata, &a);
	rest = h->rest + BATCH / 2;
	mcube_ubm_held_turn(h, 500 - rest, rest, true);
	EXPECT_FALSE(mcube_ubm_held_takes(h, 1, rest, false));
	EXPECT_TRUE(mcube_ubm_held_takes(h, 1, rest, true));
	rest++;
	mcube_ubm_held_turn(h, 500 - rest, rest, true);
	for (i = 0; mcube_ubm_held_takes(h, 1, rest - i, false);)
		i++;
	EXPECT_EQ(i, BATCH / 2 + 1);
	/* Reclaim has taken pages: the rest has those again soon, but reclaim finds few now. */
	EXPECT_EQ(mcube_ubm_held_turn(h, 500 - rest, BATCH / 2, true), 0);
	EXPECT_EQ(mcube_ubm_held_turn(h, 500 - rest, BATCH / 2 - 5, true), 5);
}

TEST(followers_find_what_they_find_on_the_lists)
{
	u32 i, apart;

	for (apart = 10; apart < 240; apart += 30) {
		begin(&a, 500, 1);
		for (i = 0; i < 16000; i++)
			touch(_metadata, &a, (i & 1 ? i / 2 : i / 2 + apart) % PAGES);
		/* Every page is read twice before it leaves, but for the first. */
		EXPECT_GT(a.hits, 7500) TH_LOG("%u pages apart", apart);
	}
}

/* Where LRU is right, a cache that shrinks for a while, or grows, holds nothing for that. */
TEST(the_rest_follows_the_size_of_the_cache)
{
	static const u32 size[] = { 1000, 860, 1000, 2000, 900, 1000 };
	struct mcube_ubm_held *h = &a.h;
	u32 i, k, all = 1000, held = 0, nr;

	mcube_ubm_held_init(h, all, BATCH, 7);
	for (i = 0; i < ARRAY_SIZE(size); i++) {
		all = size[i];
		held = min(held, all);
		if (all > h->capacity * 5 / 4 || all < h->capacity * 3 / 4)
			mcube_ubm_held_resize(h, all);
		/* Half of the pages that reclaim comes to were used again. */
		for (k = 0; k < 8 * all; k += BATCH) {
			nr = mcube_ubm_held_turn(h, held, all - held, true);
			held -= nr;
			mcube_ubm_held_again(h, BATCH / 2);
			while (mcube_ubm_held_takes(h, 1, all - held, false))
				held++;
			mcube_ubm_held_passed(h, BATCH);
		}
		EXPECT_LE(held, all / 10) TH_LOG("%u pages", all);
	}
}

/* Pages that are read ahead stay until they are used, but have an eighth of the cache at most. */
TEST(unused_pages_make_the_rest_longer)
{
	struct mcube_ubm_held *h = &a.h;
	u32 floor;

	begin(&a, 500, 1);
	loop(_metadata, &a);
	floor = h->least;
	ASSERT_LE(h->rest, 2 * BATCH);
	mcube_ubm_held_unused(h, 8);
	EXPECT_EQ(h->least, floor + 8);
	EXPECT_GE(h->rest, h->least);
	mcube_ubm_held_unused(h, 10000);
	EXPECT_EQ(h->least, 500 / 8);
	loop(_metadata, &a);
	EXPECT_EQ(h->least, floor);
}

TEST(garbage_is_given_up)
{
	u32 i, before;

	begin(&a, 500, 1);
	loop(_metadata, &a);
	ASSERT_GT(a.nr_held, 300);
	/* Pages that nobody reads again, then a set that fits. */
	for (i = 0; i < 8 * 500; i++)
		touch(_metadata, &a, 1000 + i % (PAGES - 1000));
	for (i = 0; i < 6000; i++)
		touch(_metadata, &a, 600 + i % 250);
	before = a.hits;
	for (i = 0; i < 1000; i++)
		touch(_metadata, &a, 600 + i % 250);
	EXPECT_EQ(a.hits - before, 1000);
}
