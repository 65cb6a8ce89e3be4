// SPDX-License-Identifier: GPL-2.0
/*
 * Which pages are held: the rule page by page, whatever the clock and the capacity are, and
 * what becomes of loops and of readers that follow each other.
 */
#include "mcube_test.h"

#include <string.h>

#include "replay/held.h"

enum { PAGES = 4000, BATCH = 32 };

/**
 * struct cache - held and the rest, oldest page first, as simply as can be
 * @used: a page was used since it came, or since it was pushed.
 */
struct cache {
	struct mcube_ubm_held h;
	u32 capacity;
	u32 held[PAGES], nr_held;
	u32 rest[PAGES], nr_rest;
	u32 stamp[PAGES];
	bool was[PAGES], used[PAGES], demoted[PAGES];
	u32 hits;
	u64 seen;	/* hash of all decisions */
};

static struct cache a, b;

static void begin(struct cache *c, u32 capacity)
{
	memset(c, 0, sizeof(*c));
	c->capacity = capacity;
	mcube_ubm_held_init(&c->h, capacity, BATCH);
}

/* Let the clock begin at another time. */
static void shift(struct mcube_ubm_held *h, u32 by)
{
	h->clock += by;
	h->started += by;
	h->turned += by;
	h->hold += by;
	h->next += by;
	for (u32 i = 0; i < MCUBE_UBM_HELD_MARKS; i++)
		h->mark[i] += by;
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
	c->demoted[page] = false;
	mcube_ubm_held_pushed(&c->h);
}

static bool rotate(struct cache *c)
{
	for (u32 i = 0; i < 128 && c->nr_held; i++) {
		if (!c->used[c->held[0]])
			return true;
		c->used[c->held[0]] = false;
		c->held[c->nr_held - 1] = drop(c->held, &c->nr_held, 0);
		c->nr_held++;
		mcube_ubm_held_kept(&c->h);
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
		c->demoted[page] = true;
		mcube_ubm_held_demoted(&c->h, c->nr_rest);
		c->rest[c->nr_rest++] = page;
	}
	for (could = c->nr_rest; c->nr_rest && gone < BATCH;) {
		page = drop(c->rest, &c->nr_rest, 0);
		if (c->used[page])
			mcube_ubm_held_again(&c->h);
		if (mcube_ubm_held_takes(&c->h, c->nr_rest, c->used[page] &&
					 mcube_ubm_held_small(&c->h))) {
			hold(c, page);
			held++;
			continue;
		}
		c->stamp[page] = mcube_ubm_held_left(&c->h, c->demoted[page]);
		c->was[page] = true;
		c->used[page] = false;
		c->demoted[page] = false;
		gone++;
	}
	/* Reclaim gets on. */
	ASSERT_GT(gone, 0);
	ASSERT_LT(held, could);
}

static void touch(struct __test_metadata *_metadata, struct cache *c, u32 page)
{
	bool back = false;

	if (place(c->held, c->nr_held, page) >= 0 || place(c->rest, c->nr_rest, page) >= 0) {
		c->used[page] = true;
		c->hits++;
		return;
	}
	if (c->nr_held + c->nr_rest == c->capacity)
		reclaim(_metadata, c);
	mcube_ubm_held_missed(&c->h);
	if (c->was[page])
		back = mcube_ubm_held_back(&c->h, c->stamp[page], c->nr_held, c->nr_rest);
	c->seen = c->seen * 31 + back;
	if (back)
		hold(c, page);
	else
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
	begin(&a, 64);
	h->next += 1 << 20;
	for (i = 0; i < 40; i++) {
		mcube_ubm_held_pushed(h);
		mcube_ubm_held_left(h, false);
	}
	stamp = h->clock - 20;
	mcube_ubm_held_turn(h, 40, 10, true);
	EXPECT_EQ(h->age, 40);
	/* (20 + 11) * 5 < 40 * 4 */
	EXPECT_TRUE(mcube_ubm_held_back(h, stamp, 40, 11));
	EXPECT_FALSE(mcube_ubm_held_back(h, stamp, 40, 12));
	/* The push before the last ten. */
	mcube_ubm_held_turn(h, 10, 10, true);
	EXPECT_EQ(h->age, 11);
	EXPECT_FALSE(mcube_ubm_held_back(h, stamp, 10, 0));
	/* The tail was used: nothing is older. */
	mcube_ubm_held_turn(h, 40, 10, false);
	EXPECT_FALSE(mcube_ubm_held_back(h, h->clock, 40, 0));
	/* A page that held gave up was used last before it was the tail. */
	mcube_ubm_held_turn(h, 40, 10, true);
	EXPECT_EQ(mcube_ubm_held_left(h, true), h->clock - 40);
	EXPECT_EQ(mcube_ubm_held_left(h, false), h->clock);
}

TEST(the_clock_wraps)
{
	static const u32 by[] = { 1, 1U << 30, 3U << 30, -(1U << 30) - 1, -(1U << 30) - 4000 };
	u32 i, j;

	for (j = 0; j < ARRAY_SIZE(by); j++) {
		begin(&a, 500);
		begin(&b, 500);
		shift(&b.h, by[j]);
		for (i = 0; i < 24000 * test_scale(); i++) {
			u32 page = any_page(i);

			touch(_metadata, &a, page);
			touch(_metadata, &b, page);
			ASSERT_EQ(a.seen, b.seen) TH_LOG("by %u, reference %u", by[j], i);
		}
		EXPECT_EQ(a.hits, b.hits);
	}
}

TEST(any_capacity)
{
	static const u32 capacity[] = { 1, 2, 3, 31, 64, 65, 1000, 1U << 30, U32_MAX };
	u32 i, j, held, rest, nr, stamp, size;
	struct mcube_ubm_held *h = &a.h;

	for (j = 0; j < ARRAY_SIZE(capacity); j++) {
		size = capacity[j];
		mcube_ubm_held_init(h, size, BATCH);
		for (i = 0, stamp = 0; i < 50000 * test_scale(); i++) {
			held = get_random_u32_below(size);
			rest = get_random_u32_below(size - held);
			switch (get_random_u32_below(10)) {
			case 0:
				stamp = mcube_ubm_held_left(h, get_random_u32() & 1);
				break;
			case 1:
				mcube_ubm_held_back(h, get_random_u32() & 1 ? stamp :
						    get_random_u32(), held, rest);
				break;
			case 2:
				mcube_ubm_held_again(h);
				break;
			case 3:
				mcube_ubm_held_kept(h);
				break;
			case 4:
				mcube_ubm_held_demoted(h, rest);
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
			case 7:
				mcube_ubm_held_missed(h);
				break;
			default:
				nr = mcube_ubm_held_turn(h, held, rest, get_random_u32() & 1);
				ASSERT_LE(nr, min(held, 2U * BATCH));
				ASSERT_GE(h->rest, 1);
				if (mcube_ubm_held_takes(h, rest, get_random_u32() & 1))
					ASSERT_GT(rest, 1);
			}
		}
	}
}

TEST(sums_do_not_overflow)
{
	struct mcube_ubm_held *h = &a.h;
	u64 *sum, most = 512ULL * U32_MAX;

	mcube_ubm_held_init(h, U32_MAX, BATCH);
	for (sum = &h->misses; sum <= &h->gaps[MCUBE_UBM_HELD_BINS - 1]; sum++)
		*sum = sum == &h->worth ? 1ULL << 57 : most;
	h->next = h->clock;
	mcube_ubm_held_missed(h);
	EXPECT_EQ(h->misses, most);
	mcube_ubm_held_turn(h, 1, U32_MAX - 1, true);
	EXPECT_LT(h->misses, most);
	/* Held pages are worth much more than the rest: it shrinks at once. */
	EXPECT_LE(h->rest, U32_MAX / 2);
}

TEST(a_loop_is_held)
{
	u32 i;

	begin(&a, 500);
	for (i = 0; i < 20 * 600; i++)
		touch(_metadata, &a, i % 600);
	/* The first pass misses; LRU has no hit at all. */
	EXPECT_GT(a.hits, 19 * 400);
	EXPECT_LE(a.h.rest, 2 * BATCH);
}

TEST(followers_find_what_they_find_on_the_lists)
{
	u32 i, apart;

	for (apart = 10; apart < 240; apart += 30) {
		begin(&a, 500);
		for (i = 0; i < 16000; i++)
			touch(_metadata, &a, (i & 1 ? i / 2 : i / 2 + apart) % PAGES);
		/* Every page is read twice before it leaves, but for the first. */
		EXPECT_GT(a.hits, 7500) TH_LOG("%u pages apart", apart);
	}
}

TEST(garbage_is_given_up)
{
	u32 i, before;

	begin(&a, 500);
	for (i = 0; i < 20 * 600; i++)
		touch(_metadata, &a, i % 600);
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
