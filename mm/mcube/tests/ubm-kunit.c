// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of UBM's pure units
 *
 * Copyright (C) 2026 The mcube authors
 *
 * Runs the essentials of the user-space tests on the units as compiled into the
 * kernel: the table of detected references, ghost stack, gains and sizes against
 * brute force, a loop in a model of a page cache, any references, and which reads
 * the hooks tell of.  The user-space tests run much longer, and compare with double precision.
 */

#include <kunit/test.h>
#include <linux/mcube_ubm.h>
#include <linux/minmax.h>
#include <linux/prandom.h>
#include <linux/slab.h>

#include "../ubm/core.h"

/* Pages of the model, and pages of the file that it reads. */
#define CACHE_PAGES	200
#define FILE_PAGES	1000

struct ubm_test {
	struct mcube_ubm_core *core;
	struct mcube_ubm_verdict verdict;
	struct mcube_ubm_ghost ghost;
	struct mcube_ubm_loops loops;
	struct mcube_ubm_gain gain;
	struct mcube_ubm_shares shares;
	struct mcube_ubm_point point[MCUBE_UBM_POINTS];
	struct rnd_state rnd;
	/* An LRU list in an array, the most recent page first. */
	u32 list[CACHE_PAGES];
	u32 nr_list;
	/* The model: when a page of the file was used; 0 if not in memory. */
	u64 stamp[FILE_PAGES];
	u64 now;
	u32 used;
	void *memory;
};

static int ubm_test_init(struct kunit *test)
{
	struct ubm_test *t = kvzalloc(sizeof(*t), GFP_KERNEL);

	if (!t)
		return -ENOMEM;
	prandom_seed_state(&t->rnd, 1);
	test->priv = t;
	return 0;
}

static void ubm_test_exit(struct kunit *test)
{
	struct ubm_test *t = test->priv;

	if (!t)
		return;
	kvfree(t->core);
	kvfree(t->memory);
	kvfree(t);
}

static u32 below(struct ubm_test *t, u32 ceil)
{
	return (u64)prandom_u32_state(&t->rnd) * ceil >> 32;
}

static void make_core(struct kunit *test, u32 pages, u32 chunk_shift)
{
	struct mcube_ubm_tuning tuning = MCUBE_UBM_TUNING_DEFAULT;
	struct ubm_test *t = test->priv;

	tuning.rules.chunk_shift = chunk_shift;
	tuning.rules.age = 6;
	if (!chunk_shift) {
		tuning.lag = 0;
		tuning.ahead = 0;
	}
	t->core = kvzalloc(mcube_ubm_core_bytes(pages), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, t->core);
	mcube_ubm_core_init(t->core, pages, &tuning);
}

static void note(struct ubm_test *t, u32 file, u32 first, u32 nr, bool eof)
{
	struct mcube_ubm_refs refs = {
		.key = { .ino = file, .dev = 1 }, .first = first, .end = first + nr,
		.prev = MCUBE_UBM_NO_PREV, .eof = eof,
	};

	refs.hash = mcube_ubm_hash(&refs.key);
	mcube_ubm_core_note(t->core, &refs, false, &t->verdict);
}

static void read_in_order(struct ubm_test *t, u32 file, u32 first, u32 end)
{
	for (; first < end; first++)
		note(t, file, first, 1, false);
}

/* The run that a page of a file is in. */
static const struct mcube_ubm_run *run_of(struct ubm_test *t, u32 file, u32 page)
{
	struct mcube_ubm_key key = { .ino = file, .dev = 1 };
	const struct mcube_ubm_file *f;
	const struct mcube_ubm_run *r;
	u32 id;

	f = mcube_ubm_table_find(&t->core->table, &key, mcube_ubm_hash(&key));
	for (id = f ? f->trail.runs : MCUBE_UBM_NONE; id != MCUBE_UBM_NONE;
	     id = r->next) {
		r = &t->core->table.runs.run[id];
		if (r->start <= page && page < r->end)
			return r;
	}
	return NULL;
}

/*
 * What figure 4 of the paper shows: a table of detected references with file, start,
 * end, and period of the loop, infinite for sequential references.  The numbers of
 * the figure were not at hand when this was written.  The example is of the same
 * kind, and follows the paper's rules: consecutive references to a file make an
 * entry; an entry that is referenced again is a loop; its period is the virtual time
 * between; references that are not consecutive make no entry.
 */
static void references_fill_the_table(struct kunit *test)
{
	static const struct {
		u32 file, start, end, class, period;
	} want[] = {
		{ 3, 0, 40, MCUBE_UBM_LOOP, 160 },
		{ 4, 10, 60, MCUBE_UBM_LOOP, 160 },
		{ 5, 80, 110, MCUBE_UBM_SEQ, 0 },
		{ 5, 130, 160, MCUBE_UBM_LOOP, 160 },
		{ 6, 0, 30, MCUBE_UBM_SEQ, 0 },
	};
	struct ubm_test *t = test->priv;
	u32 i, pass;

	make_core(test, 1000, 0);
	read_in_order(t, 5, 80, 110);
	for (pass = 0; pass < 3; pass++) {
		read_in_order(t, 3, 0, 40);
		read_in_order(t, 4, 10, 60);
		read_in_order(t, 5, 130, 160);
		read_in_order(t, 6, pass * 30, pass * 30 + 30);
		/* References of a database: far apart. */
		for (i = 0; i < 10; i++)
			note(t, 7, (i * 7 + pass) % 10 * 1000, 1, false);
	}
	for (i = 0; i < ARRAY_SIZE(want); i++) {
		const struct mcube_ubm_run *r = run_of(t, want[i].file, want[i].start);

		KUNIT_ASSERT_NOT_NULL_MSG(test, r, "entry %u", i);
		KUNIT_EXPECT_EQ_MSG(test, r->start, want[i].start, "entry %u", i);
		KUNIT_EXPECT_EQ_MSG(test, r->end,
				    want[i].file == 6 ? 90 : want[i].end, "entry %u", i);
		KUNIT_EXPECT_EQ_MSG(test, r->class, want[i].class, "entry %u", i);
		KUNIT_EXPECT_EQ_MSG(test, r->period, want[i].period, "entry %u", i);
	}
	KUNIT_EXPECT_NULL(test, run_of(t, 7, 0));
	KUNIT_EXPECT_EQ(test, t->core->table.runs.nr, ARRAY_SIZE(want));
	KUNIT_EXPECT_EQ(test, t->core->now, 30 + 3 * 160);
}

static void streams_are_told_apart(struct kunit *test)
{
	struct ubm_test *t = test->priv;
	u32 i, s, class[3] = { 0 };

	make_core(test, 1000, 0);
	for (i = 0; i < 500; i++) {
		for (s = 0; s < 3; s++) {
			/* The third stream comes back to its start. */
			note(t, 1, s * 100000 + (s < 2 ? i : i % 250), 1, false);
			class[t->verdict.class]++;
		}
		note(t, 1, 1000000 + below(t, 1000000), 1, false);
		class[t->verdict.class]++;
	}
	/* Each stream is found after 8 pages; the loop is a loop in its second pass. */
	KUNIT_EXPECT_EQ(test, class[MCUBE_UBM_LOOP], 250 - 7);
	KUNIT_EXPECT_EQ(test, class[MCUBE_UBM_SEQ], 2 * (500 - 7) + 250 - 7);
	KUNIT_EXPECT_EQ(test, run_of(t, 1, 200000)->period, 1000);
}

static u32 list_ref(struct ubm_test *t, u32 page)
{
	u32 i, depth;

	for (i = 0; i < t->nr_list && t->list[i] != page; i++)
		;
	depth = i < t->nr_list ? i : U32_MAX;
	if (i == t->nr_list && t->nr_list < CACHE_PAGES)
		t->nr_list++;
	i = min(i, t->nr_list - 1);
	memmove(t->list + 1, t->list, i * sizeof(u32));
	t->list[0] = page;
	return depth;
}

static void regions_are_stack_distances(struct kunit *test)
{
	u32 room = mcube_ubm_ghost_room(CACHE_PAGES), i;
	struct ubm_test *t = test->priv;

	t->memory = kvzalloc(mcube_ubm_ghost_bytes(room), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, t->memory);
	mcube_ubm_ghost_init(&t->ghost, t->memory, room);
	mcube_ubm_ghost_resize(&t->ghost, CACHE_PAGES);
	for (i = 0; i < 20000; i++) {
		u32 page = below(t, 1 + below(t, 2 * CACHE_PAGES));
		u32 depth = list_ref(t, page);
		u32 region = mcube_ubm_ghost_ref(&t->ghost, hash_64(page + 1, 32));

		if (depth == U32_MAX) {
			KUNIT_ASSERT_EQ(test, region, MCUBE_UBM_ABSENT);
			continue;
		}
		KUNIT_ASSERT_LT(test, depth, CACHE_PAGES * (region + 1) / MCUBE_UBM_REGIONS);
		KUNIT_ASSERT_GE(test, depth, CACHE_PAGES * region / MCUBE_UBM_REGIONS);
	}
}

/* 10 hits per page up to 100 pages, nothing up to 200, then a step, then nothing. */
static void gains_are_slopes_of_the_hull(struct kunit *test)
{
	static const struct mcube_ubm_point point[] = {
		{ 100, 1000 }, { 200, 1000 }, { 300, 1800 }, { 400, 1800 },
	};
	struct ubm_test *t = test->priv;
	u64 one = (1ULL << MCUBE_UBM_GAIN_SHIFT) / 10000;

	mcube_ubm_gain_set(&t->gain, point, 4, 10000, 10000, MCUBE_UBM_HISTOGRAM);
	KUNIT_EXPECT_EQ(test, t->gain.nr, 3);
	KUNIT_EXPECT_EQ(test, mcube_ubm_gain_at(&t->gain, 100) / one, 10);
	KUNIT_EXPECT_EQ(test, mcube_ubm_gain_at(&t->gain, 101) / one, 4);
	KUNIT_EXPECT_EQ(test, mcube_ubm_gain_at(&t->gain, 300) / one, 4);
	KUNIT_EXPECT_EQ(test, mcube_ubm_gain_at(&t->gain, 301), 0);
	KUNIT_EXPECT_EQ(test, mcube_ubm_gain_keep(&t->gain, 5 * one, 1000), 100);
	KUNIT_EXPECT_EQ(test, mcube_ubm_gain_keep(&t->gain, 3 * one, 1000), 300);
	KUNIT_EXPECT_EQ(test, mcube_ubm_gain_keep(&t->gain, 3 * one, 250), 250);
}

/*
 * miss(n) = 20 / n of 2^20 references, so k = 1.  The gain at n is 20 / n^2, computed
 * here in 2^-32 without rounding.
 */
static void the_model_is_found(struct kunit *test)
{
	struct ubm_test *t = test->priv;
	u32 i, n;

	for (i = 0; i < MCUBE_UBM_POINTS; i++) {
		n = (i + 1) * 100;
		t->point[i] = (struct mcube_ubm_point){ n, (1 << 20) - (20 << 20) / n };
	}
	mcube_ubm_gain_set(&t->gain, t->point, MCUBE_UBM_POINTS, 1 << 20, 1 << 20,
			   MCUBE_UBM_BELADY);
	KUNIT_EXPECT_GT(test, t->gain.power, 65536 * 99 / 100);
	KUNIT_EXPECT_LT(test, t->gain.power, 65536 * 101 / 100);
	for (n = 1600; n <= 6400; n *= 2) {
		u64 want = (20ULL << 32) / n / n, got = mcube_ubm_gain_at(&t->gain, n);

		KUNIT_EXPECT_GE(test, got, want * 97 / 100);
		KUNIT_EXPECT_LE(test, got, want * 103 / 100 + 2);
	}
}

static void shares_meet_where_gains_meet(struct kunit *test)
{
	struct ubm_test *t = test->priv;
	u32 bucket = mcube_ubm_bucket(1000);

	/* 100 pages of others that gain more than the loops, all beyond gain less. */
	t->point[0] = (struct mcube_ubm_point){ 100, 500 };
	t->point[1] = (struct mcube_ubm_point){ 400, 560 };
	mcube_ubm_gain_set(&t->gain, t->point, 2, 1000, 1000, MCUBE_UBM_HISTOGRAM);
	mcube_ubm_loops_add(&t->loops, mcube_ubm_bucket(500), 150, 0);
	mcube_ubm_loops_add(&t->loops, bucket, 200, 0);
	mcube_ubm_loops_add(&t->loops, mcube_ubm_bucket(50000), 200, 0);
	mcube_ubm_shares_compute(&t->shares, &t->loops, &t->gain, 400);
	KUNIT_EXPECT_EQ(test, t->shares.cutoff, bucket);
	KUNIT_EXPECT_EQ(test, t->shares.grant, 150);
	KUNIT_EXPECT_EQ(test, t->shares.loop, 300);
	KUNIT_EXPECT_EQ(test, t->shares.other, 100);
	KUNIT_EXPECT_EQ(test, mcube_ubm_shares_hold(&t->shares, &t->loops, bucket, 200, 0), 150);
	KUNIT_EXPECT_EQ(test, mcube_ubm_shares_hold(&t->shares, &t->loops,
						    mcube_ubm_bucket(500), 150, 0), 150);
}

/* The page of the model that leaves: the oldest page that is not held. */
static void evict(struct ubm_test *t, const struct mcube_ubm_key *key, u32 hash)
{
	u32 page, victim = FILE_PAGES;

	for (page = 0; page < FILE_PAGES; page++) {
		if (t->stamp[page] && !mcube_ubm_core_held(t->core, key, hash, page) &&
		    (victim == FILE_PAGES || t->stamp[page] < t->stamp[victim]))
			victim = page;
	}
	/* If all pages are held, the first page goes. */
	for (page = 0; victim == FILE_PAGES; page++)
		if (t->stamp[page])
			victim = page;
	t->stamp[victim] = 0;
	t->used--;
}

static u32 pass(struct ubm_test *t, u32 pages)
{
	struct mcube_ubm_key key = { .ino = 1, .dev = 1 };
	u32 hash = mcube_ubm_hash(&key), page, p, i, hits = 0;

	for (page = 0; page < pages; page++) {
		if (t->stamp[page]) {
			hits++;
		} else {
			mcube_ubm_core_missed(t->core, hash, page, 1);
			if (t->used == CACHE_PAGES)
				evict(t, &key, hash);
			t->used++;
		}
		t->stamp[page] = ++t->now;
		note(t, 1, page, 1, false);
		for (i = 0; i < t->verdict.nr_propose; i++)
			for (p = t->verdict.propose[i].from; p < t->verdict.propose[i].to; p++)
				if (t->stamp[p])
					t->stamp[p] = 1;
	}
	return hits;
}

/* MRU has l * n / (n - 1) hits in a pass over n pages, l of which it keeps. */
static void a_held_prefix_hits_as_often_as_mru(struct kunit *test)
{
	static const u32 loop[] = { 150, 250, 600, FILE_PAGES };
	struct ubm_test *t = test->priv;
	u32 i, k, hits, held;

	for (i = 0; i < ARRAY_SIZE(loop); i++) {
		make_core(test, CACHE_PAGES, 0);
		memset(t->stamp, 0, sizeof(t->stamp));
		t->now = 1;
		t->used = 0;
		for (k = 0; k < 6; k++)
			hits = pass(t, loop[i]);
		held = t->core->table.runs.loops.all;
		KUNIT_EXPECT_EQ(test, held, min(loop[i], CACHE_PAGES - CACHE_PAGES / 64 - 1));
		KUNIT_EXPECT_GE(test, hits, held);
		KUNIT_EXPECT_LE(test, t->used, CACHE_PAGES);
		kvfree(t->core);
		t->core = NULL;
	}
}

static void the_guard_stands_back_and_comes_again(struct kunit *test)
{
	struct mcube_ubm_guard guard;
	u32 i;

	mcube_ubm_guard_init(&guard);
	mcube_ubm_guard_resize(&guard, 1600, 0);
	for (i = 0; i < 101; i++) {
		KUNIT_ASSERT_FALSE(test, mcube_ubm_guard_step(&guard, 1));
		mcube_ubm_guard_lose(&guard);
	}
	KUNIT_EXPECT_TRUE(test, mcube_ubm_guard_step(&guard, 1));
	KUNIT_EXPECT_TRUE(test, mcube_ubm_guard_on(&guard));
	KUNIT_EXPECT_FALSE(test, mcube_ubm_guard_step(&guard, 1599));
	KUNIT_EXPECT_TRUE(test, mcube_ubm_guard_on(&guard));
	KUNIT_EXPECT_TRUE(test, mcube_ubm_guard_step(&guard, 1));
	KUNIT_EXPECT_FALSE(test, mcube_ubm_guard_on(&guard));
	KUNIT_EXPECT_EQ(test, guard.term, 2 * 1600);
}

static void anything_may_happen(struct kunit *test)
{
	struct ubm_test *t = test->priv;
	u32 i, k, file = 0, at = 0, nr, runs;

	make_core(test, 3000, 4);
	for (i = 0; i < 50000; i++) {
		struct mcube_ubm_key key = { .ino = file, .dev = 1 };

		if (!below(t, 10)) {
			file = below(t, 1 << below(t, 11));
			at = below(t, 2) ? 0 : below(t, 100000);
		}
		nr = 1 + below(t, 1 << below(t, 8));
		mcube_ubm_core_missed(t->core, mcube_ubm_hash(&key), at, nr);
		note(t, file, at, nr, !below(t, 9));
		at += nr;
		for (k = 0; k < t->verdict.nr_propose; k++)
			KUNIT_ASSERT_LT(test, t->verdict.propose[k].from,
					t->verdict.propose[k].to);
		if (!below(t, 500))
			mcube_ubm_core_resize(t->core, below(t, 100000));
	}
	for (i = 0, runs = 0; i < t->core->table.size; i++)
		if (t->core->table.file[i].used)
			runs += t->core->table.file[i].trail.nr;
	KUNIT_EXPECT_EQ(test, runs, t->core->table.runs.nr);
	KUNIT_EXPECT_LE(test, t->core->table.nr, t->core->table.size);
}

/* A reader with a small buffer comes to the last page once in a pass. */
static void the_last_page_counts_once(struct kunit *test)
{
	loff_t size, prev, pos, end;
	u32 times;

	for (size = 1; size < 40 * PAGE_SIZE; size += 777) {
		times = 0;
		for (prev = -1, pos = 0; pos < size; prev = end, pos = end) {
			end = min(pos + 1000, size);
			times += (end - 1) >> PAGE_SHIFT == (size - 1) >> PAGE_SHIFT &&
				 mcube_ubm_leaves(prev, pos, end, size);
		}
		KUNIT_EXPECT_EQ_MSG(test, times, 1, "%lld bytes", size);
		/* The descriptor stays open, and a read gets the whole file. */
		KUNIT_EXPECT_TRUE(test, mcube_ubm_leaves(size, 0, size, size));
	}
	/* A page in the middle is none of a small file. */
	KUNIT_EXPECT_FALSE(test, mcube_ubm_leaves(PAGE_SIZE, PAGE_SIZE, 2 * PAGE_SIZE,
						  3 * PAGE_SIZE));
	KUNIT_EXPECT_FALSE(test, mcube_ubm_leaves(PAGE_SIZE, 0, PAGE_SIZE, 3 * PAGE_SIZE));
}

static struct kunit_case ubm_cases[] = {
	KUNIT_CASE(references_fill_the_table),
	KUNIT_CASE(streams_are_told_apart),
	KUNIT_CASE(regions_are_stack_distances),
	KUNIT_CASE(gains_are_slopes_of_the_hull),
	KUNIT_CASE(the_model_is_found),
	KUNIT_CASE(shares_meet_where_gains_meet),
	KUNIT_CASE(a_held_prefix_hits_as_often_as_mru),
	KUNIT_CASE(the_guard_stands_back_and_comes_again),
	KUNIT_CASE(anything_may_happen),
	KUNIT_CASE(the_last_page_counts_once),
	{}
};

static struct kunit_suite ubm_suite = {
	.name = "mcube-ubm",
	.init = ubm_test_init,
	.exit = ubm_test_exit,
	.test_cases = ubm_cases,
};

kunit_test_suite(ubm_suite);
