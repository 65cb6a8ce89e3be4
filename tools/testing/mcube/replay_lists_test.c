// SPDX-License-Identifier: GPL-2.0
/*
 * The kernel's lists of pages in the trace replay: the classic lists against slow lists that
 * are easy to read, examples of both kinds of lists, and UBM on them.
 */
#include "mcube_test.h"

#include <string.h>

#include "replay/reclaim.h"
#include "replay_array.h"

enum { PAGES = 200, REFS = 4000 };

/* No counter is looked at. */
void engine_stat(struct engine_stat *to, const char *name, double value)
{
}

/* Arrays have the oldest page first. */
static void add(struct array *a, u64 id)
{
	a->id[a->nr++] = id;
}

/* The classic lists, in the words of mm/workingset.c and mm/vmscan.c. */
struct slow {
	struct array inactive, active;
	bool referenced[PAGES], shadow[PAGES];
	u32 eviction[PAGES], nonresident_age, activated, snapshot;
};

static u32 shrink(struct slow *s, int priority, bool force)
{
	bool may_deactivate = force || s->activated != s->snapshot ||
			      s->inactive.nr < s->active.nr;
	u32 inactive = s->inactive.nr >> priority, active = s->active.nr >> priority, gone = 0;
	u32 i;
	u64 id;

	while (inactive || active) {
		for (i = 0; i < 32 && inactive; i++, inactive--) {
			if (!s->inactive.nr)
				continue;
			id = array_take(&s->inactive, 0);
			s->shadow[id] = true;
			s->eviction[id] = s->nonresident_age++;
			s->referenced[id] = false;
			gone++;
		}
		for (i = 0; i < 32 && active; i++, active--)
			if (may_deactivate && s->active.nr)
				add(&s->inactive, array_take(&s->active, 0));
		if (gone >= 32)
			break;
	}
	return gone;
}

static void free_pages(struct slow *s)
{
	u32 gone = 0, force;
	int priority;

	for (force = 0; !gone; force++) {
		for (priority = 12; priority >= 0; priority--) {
			gone += shrink(s, priority, force);
			if (gone >= 32)
				break;
		}
		s->snapshot = s->activated;
	}
}

static u32 slow_classic(const u64 *id, u32 nr, u32 size)
{
	static struct slow s;
	u32 i, hits = 0;

	memset(&s, 0, sizeof(s));
	for (i = 0; i < nr; i++) {
		bool inactive = array_place(&s.inactive, id[i]) >= 0;
		bool active = array_place(&s.active, id[i]) >= 0;

		hits += inactive || active;
		if (!inactive && !active) {
			if (s.inactive.nr + s.active.nr == size + 16)
				free_pages(&s);
			if (s.shadow[id[i]] &&
			    s.nonresident_age - s.eviction[id[i]] <= s.active.nr) {
				s.nonresident_age++;
				s.activated++;
				add(&s.active, id[i]);
			} else {
				add(&s.inactive, id[i]);
			}
			s.referenced[id[i]] = true;
		} else if (!s.referenced[id[i]]) {
			s.referenced[id[i]] = true;
		} else if (inactive) {
			add(&s.active, array_take(&s.inactive, array_place(&s.inactive, id[i])));
			s.referenced[id[i]] = false;
			s.nonresident_age++;
		}
	}
	return hits;
}

/* Loops, pages that are used often, and any pages, by turns. */
static void make_refs(u64 *id, u32 nr)
{
	u32 i = 0, part, start, length, k;

	while (i < nr) {
		part = 1 + get_random_u32_below(300);
		length = 1 + get_random_u32_below(PAGES);
		start = get_random_u32_below(PAGES);
		for (k = 0; k < part && i < nr; k++, i++)
			id[i] = get_random_u32_below(3) ?
				(start + k % length) % PAGES :
				get_random_u32_below(1 + get_random_u32_below(PAGES));
	}
}

TEST(classic_equals_the_slow_lists)
{
	unsigned long round, rounds = 10 * test_scale();
	static u64 id[REFS];
	u32 size;

	for (round = 0; round < rounds; round++) {
		struct replay_trace *t;

		make_refs(id, REFS);
		t = replay_make(id, REFS);
		for (size = 1; size < PAGES; size += 1 + size / 2)
			EXPECT_EQ(slow_classic(id, REFS, size),
				  engine_run(&engine_classic, t, size, NULL))
				TH_LOG("%u pages", size);
		replay_free(t);
	}
}

/* All kinds of lists, with and without UBM, have at most 32 pages more than their size. */
TEST(no_lists_are_better_than_opt)
{
	static const struct engine *const engine[] = {
		&engine_classic, &engine_mglru, &engine_ubm_classic, &engine_ubm_mglru,
	};
	unsigned long round, rounds = 5 * test_scale();
	static u64 id[REFS];
	u32 size, i, best;

	for (round = 0; round < rounds; round++) {
		struct replay_trace *t;

		make_refs(id, REFS);
		t = replay_make(id, REFS);
		for (size = 1; size < PAGES; size += 1 + size / 2) {
			best = engine_run(&engine_opt, t, size + 32, NULL);
			for (i = 0; i < ARRAY_SIZE(engine); i++)
				EXPECT_LE(engine_run(engine[i], t, size, NULL), best)
					TH_LOG("%s, %u pages", engine[i]->name, size);
		}
		replay_free(t);
	}
}

/* Pages 0 to 9 are used @times times in a row; then come @others other pages; and again. */
static u32 hits_of(const struct engine *e, u32 times, u32 others, u32 size)
{
	u32 round, i, k, n = 0, next = 10, hits;
	static u64 id[100000];
	struct replay_trace *t;

	for (round = 0; round < 10; round++) {
		for (i = 0; i < 10; i++)
			for (k = 0; k < times; k++)
				id[n++] = i;
		for (i = 0; i < others; i++)
			id[n++] = next++;
	}
	t = replay_make(id, n);
	hits = engine_run(e, t, size, NULL);
	replay_free(t);
	return hits - 10 * 10 * (times - 1);
}

TEST(pages_that_are_used_twice_survive_a_stream)
{
	/* Each turn has half as many pages as the cache: the ten stay in all turns but one. */
	EXPECT_EQ(hits_of(&engine_lru, 2, 600, 500), 0);
	EXPECT_EQ(hits_of(&engine_classic, 2, 600, 500), 90);
	/* MGLRU learns first that such pages come back, and then keeps them. */
	EXPECT_GT(hits_of(&engine_mglru, 4, 400, 500), 40);
	EXPECT_EQ(hits_of(&engine_classic, 1, 600, 500), 0);
	EXPECT_EQ(hits_of(&engine_mglru, 1, 600, 500), 0);
}

/* Hits in the passes 6 to 15 of a loop of 600 pages, of 10 * @size that are possible. */
static u32 loop_hits(const struct engine *e, u32 size)
{
	u32 hits[2], i, k, n = 0;
	static u64 id[15 * 600];
	struct replay_trace *t;

	for (i = 0; i < 15; i++)
		for (k = 0; k < 600; k++)
			id[n++] = k;
	for (i = 0; i < 2; i++) {
		t = replay_make(id, i ? n : n / 3);
		hits[i] = engine_run(e, t, size, NULL);
		replay_free(t);
	}
	return hits[1] - hits[0];
}

TEST(a_loop_that_does_not_fit_is_held)
{
	EXPECT_EQ(loop_hits(&engine_classic, 400), 0);
	EXPECT_EQ(loop_hits(&engine_mglru, 400), 0);
	EXPECT_GT(loop_hits(&engine_ubm_paper, 400), 3600);
	EXPECT_GT(loop_hits(&engine_ubm_classic, 400), 3400);
	EXPECT_GT(loop_hits(&engine_ubm_mglru, 400), 3400);
}

/* Two readers of all pages in order, the second @apart pages behind the first. */
static u32 follower_hits(const struct engine *e, u32 apart, u32 size)
{
	static u64 id[16000];
	struct replay_trace *t;
	u32 i, n = 0, hits;

	for (i = 0; n < ARRAY_SIZE(id); i++) {
		id[n++] = i;
		if (i >= apart)
			id[n++] = i - apart;
	}
	t = replay_make(id, n);
	hits = engine_run(e, t, size, NULL);
	replay_free(t);
	return hits;
}

TEST(followers_lose_nothing)
{
	u32 apart;

	for (apart = 20; apart < 720; apart += 60) {
		EXPECT_GE(follower_hits(&engine_ubm_classic, apart, 800) * 50,
			  follower_hits(&engine_classic, apart, 800) * 49)
			TH_LOG("%u pages apart", apart);
		EXPECT_GE(follower_hits(&engine_ubm_mglru, apart, 800) * 50,
			  follower_hits(&engine_mglru, apart, 800) * 49)
			TH_LOG("%u pages apart", apart);
	}
}
