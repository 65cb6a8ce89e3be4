// SPDX-License-Identifier: GPL-2.0
/*
 * The core beside a model of the page cache: what a loop hits against MRU by brute force,
 * streams that must not push a loop out, the sizes of two loops, and any references.
 */
#include "mcube_test.h"

#include "replay/paper/core.h"

enum { PAGES = 8192, FILES = 600 };

static struct mcube_ubm_core *core;
static struct mcube_ubm_verdict verdict;
static struct mcube_ubm_tuning tuning;

/* The pages in memory: when they were used last; 0 if the page is not there. */
struct cache {
	u64 stamp[FILES][PAGES];
	u32 used, size;
	u64 now;
};

static struct cache cache;
static u32 files, file_pages;

static const struct mcube_ubm_tuning by_page = {
	.rules = { .gap = 4, .min = 8, .age = 6 }, .guard = true,
};

static const struct mcube_ubm_tuning by_chunk = MCUBE_UBM_TUNING_DEFAULT;

static void begin(u32 size, u32 nr_files, const struct mcube_ubm_tuning *t)
{
	tuning = *t;
	core = calloc(1, mcube_ubm_core_bytes(size));
	mcube_ubm_core_init(core, size, t);
	memset(&cache, 0, sizeof(cache));
	cache.size = size;
	/* Stamps of proposed pages are below those of all other pages. */
	cache.now = 1ULL << 32;
	files = nr_files;
	file_pages = 0;
}

static struct mcube_ubm_key key_of(u32 file)
{
	return (struct mcube_ubm_key){ .ino = file + 100, .dev = 8 };
}

static void tell(const struct mcube_ubm_key *key, u32 hash, u32 first, u32 nr, u32 prev, bool eof,
		 bool away)
{
	struct mcube_ubm_refs refs = {
		.key = *key, .hash = hash, .first = first, .end = first + nr, .prev = prev,
		.eof = eof,
	};

	mcube_ubm_core_note(core, &refs, away, &verdict);
}

static void note(const struct mcube_ubm_key *key, u32 hash, u32 first, u32 nr, u32 prev, bool eof)
{
	tell(key, hash, first, nr, prev, eof, false);
}

static bool held(u32 file, u32 page)
{
	struct mcube_ubm_key key = key_of(file);

	return mcube_ubm_core_held(core, &key, mcube_ubm_hash(&key), page);
}

static void evict(void)
{
	u32 file, page, best_file = 0, best = 0;
	u64 least = U64_MAX;

	for (file = 0; file < files; file++) {
		for (page = 0; page < file_pages; page++) {
			u64 stamp = cache.stamp[file][page];

			if (stamp && stamp < least && !held(file, page)) {
				least = stamp;
				best_file = file;
				best = page;
			}
		}
	}
	/* If all pages are held, any page goes. */
	while (least == U64_MAX && !cache.stamp[best_file][best])
		best = (best + 1) % PAGES;
	cache.stamp[best_file][best] = 0;
	cache.used--;
}

/* A call reads pages.  Return: how many were in memory. */
static u32 read_pages(u32 file, u32 first, u32 nr, bool eof)
{
	struct mcube_ubm_key key = key_of(file);
	u32 hash = mcube_ubm_hash(&key), hits = 0, i, p;

	file_pages = max(file_pages, first + nr);
	for (p = first; p < first + nr; p++) {
		if (cache.stamp[file][p]) {
			hits++;
		} else {
			mcube_ubm_core_missed(core, hash, p, 1);
			if (cache.used == cache.size)
				evict();
			cache.used++;
		}
		cache.stamp[file][p] = ++cache.now;
	}
	note(&key, hash, first, nr, MCUBE_UBM_NO_PREV, eof);
	for (i = 0; i < verdict.nr_propose; i++)
		for (p = verdict.propose[i].from; p < verdict.propose[i].to; p++)
			if (cache.stamp[file][p])
				cache.stamp[file][p] = (1ULL << 32) - (cache.now & U32_MAX);
	return hits;
}

/* Read a page.  Return: whether it was in memory. */
static bool ref(u32 file, u32 page)
{
	return read_pages(file, page, 1, false);
}

/* Read a file in order.  Return: hits. */
static u32 pass(u32 file, u32 pages)
{
	u32 page, hits = 0;

	for (page = 0; page < pages; page++)
		hits += ref(file, page);
	return hits;
}

/* Hits of MRU per pass over a loop, by brute force and in the long run. */
static double mru(u32 pages, u32 size)
{
	static u8 in[PAGES];
	u32 last = 0, used = 0, hits = 0, page, round;

	memset(in, 0, sizeof(in));
	for (round = 0; round < 50 + pages; round++) {
		for (page = 0; page < pages; page++) {
			if (in[page]) {
				hits += round >= 50;
			} else {
				if (used == size)
					in[last] = 0;
				else
					used++;
				in[page] = 1;
			}
			last = page;
		}
	}
	return (double)hits / pages;
}

TEST(a_held_prefix_hits_as_often_as_mru)
{
	static const u32 loop[] = { 80, 120, 200, 500, 900 };
	static const u32 size[] = { 64, 100, 150, 300 };
	u32 l, s, i, hits, prefix;

	for (l = 0; l < ARRAY_SIZE(loop); l++) {
		for (s = 0; s < ARRAY_SIZE(size); s++) {
			double best;

			begin(size[s], 1, &by_page);
			for (i = 0; i < 8; i++)
				pass(0, loop[l]);
			hits = pass(0, loop[l]);
			for (i = 0, prefix = 0; i < loop[l]; i++)
				prefix += held(0, i);
			/* Each held page is a hit, and no page more than there is room for. */
			ASSERT_EQ(prefix, core->table.runs.loops.all);
			ASSERT_GE(hits, prefix);
			ASSERT_EQ(prefix, min(loop[l], size[s] - size[s] / 64 - 1));
			/* MRU in as many frames, and a frame for the pages that pass. */
			best = mru(loop[l], prefix + 1);
			TH_LOG("loop of %u in %u pages: %u held, %u hits, MRU %.1f", loop[l],
			       size[s], prefix, hits, best);
			ASSERT_GE(hits + 1 + prefix / (loop[l] - 1.), best);
			free(core);
		}
	}
}

TEST(a_stream_does_not_push_a_loop_out)
{
	u32 i, p, hits = 0, refs = 0, at = 0;

	begin(200, 2, &by_page);
	for (i = 0; i < 30; i++) {
		for (p = 0; p < 100; p++) {
			hits += ref(0, p) && i >= 5;
			refs += i >= 5;
			ref(1, at++ % PAGES);
			ref(1, at++ % PAGES);
		}
	}
	TH_LOG("%u of %u references of the loop hit", hits, refs);
	EXPECT_GE(hits, refs * 98 / 100);
	free(core);
}

/* The domain is made in the midst of a pass; the next pass is the second. */
TEST(a_pass_that_has_begun_counts_as_a_pass)
{
	struct mcube_ubm_key key = key_of(0);
	u32 hash = mcube_ubm_hash(&key), page, i;

	begin(400, 1, &by_chunk);
	for (i = 0; i < 2; i++) {
		for (page = i ? 0 : 512; page < 1024; page += 16) {
			note(&key, hash, page, 16, page ?: MCUBE_UBM_NO_PREV, page == 1008);
			/* The pages that were read before the domain was made lie far behind. */
			if (verdict.nr_propose)
				EXPECT_LE(page, verdict.propose[0].from + 1024);
		}
	}
	ASSERT_NE(verdict.run, NULL);
	EXPECT_EQ(verdict.run->class, MCUBE_UBM_LOOP);
	EXPECT_EQ(verdict.run->start, 0);
	EXPECT_EQ(verdict.run->end, 1024);
	EXPECT_EQ(verdict.run->period, 1024);
	/* The stream itself needs what it read ahead, and what is behind and not proposed. */
	EXPECT_EQ(verdict.run->held, 400 - 400 / 64 - 16 - by_chunk.lag - by_chunk.ahead);
	/* Later a reader may begin anywhere. */
	key = key_of(1);
	hash = mcube_ubm_hash(&key);
	for (page = 512; page < 1024; page += 16)
		note(&key, hash, page, 16, page, false);
	ASSERT_NE(verdict.run, NULL);
	EXPECT_EQ(verdict.run->start, 512);
	free(core);
}

/* Read a file of 8 pages whole.  Return: are its pages proposed? */
static bool small_file(u32 file, bool in_memory)
{
	struct mcube_ubm_key key = key_of(file);
	u32 hash = mcube_ubm_hash(&key);

	if (!in_memory)
		mcube_ubm_core_missed(core, hash, 0, 8);
	note(&key, hash, 0, 8, MCUBE_UBM_NO_PREV, true);
	return verdict.nr_propose;
}

TEST(pages_of_sequences_stay_if_these_return)
{
	u32 i, proposed = 0;

	/* Files that are not read again are proposed. */
	begin(1024, FILES, &by_chunk);
	for (i = 0; i < 64; i++)
		proposed += small_file(i, false);
	EXPECT_EQ(proposed, 64);
	/* Then two of three are read again, a file after 24 others. */
	for (proposed = 0; i < 256; i++) {
		proposed += small_file(i, false);
		if (i % 3)
			small_file(i - 24, true);
	}
	EXPECT_LT(proposed, 100);
	free(core);

	/* Files that were in memory before the domain was made. */
	begin(1024, FILES, &by_chunk);
	for (i = 0, proposed = 0; i < 32; i++)
		proposed += small_file(i, true);
	EXPECT_EQ(proposed, 0);
	free(core);
}

/* Much of a file is read at random, and now and then a page of a long sequence. */
/* Pages of first passes that plain LRU would have had still: these passes are left alone. */
TEST(a_domain_that_lags_takes_no_first_passes)
{
	struct mcube_ubm_key key = key_of(FILES - 1);
	u32 hash = mcube_ubm_hash(&key), i;

	begin(256, FILES, &by_chunk);
	for (i = 0; i < 24; i++)
		small_file(i, false);
	EXPECT_TRUE(small_file(24, false));
	/* Pages that LRU has come in again; the guard itself bears 16 of them. */
	small_file(FILES - 1, false);
	mcube_ubm_core_missed(core, hash, 0, 4);
	EXPECT_TRUE(small_file(25, false));
	mcube_ubm_core_missed(core, hash, 0, 4);
	EXPECT_FALSE(small_file(26, false));
	EXPECT_FALSE(mcube_ubm_guard_on(&core->guard));
	free(core);
}

TEST(runs_of_mixed_files_are_not_proposed)
{
	struct mcube_ubm_key key = key_of(0);
	u32 hash = mcube_ubm_hash(&key), i, page, proposed = 0;
	struct mcube_ubm_tuning unguarded = by_chunk;

	unguarded.guard = false;
	begin(1024, 1, &unguarded);
	for (i = 0; i < 2000; i++) {
		page = i % 4 ? 5000 + get_random_u32_below(3000) : i / 4;
		mcube_ubm_core_missed(core, hash, page, 1);
		note(&key, hash, page, 1, MCUBE_UBM_NO_PREV, false);
		proposed += i > 1000 && verdict.nr_propose;
	}
	EXPECT_EQ(proposed, 0);
	free(core);
}

/* Periods 150 and 600: the short loop is held whole, the long loop has what is left. */
TEST(the_shorter_loop_is_held_first)
{
	u32 i, k, long_at = 0, one = 0, two = 0;

	begin(256, 2, &by_page);
	for (i = 0; i < 60; i++) {
		one = pass(0, 100);
		for (k = 0; k < 50; k++)
			two += ref(1, long_at++ % 400) && i >= 52;
	}
	EXPECT_EQ(one, 100);
	EXPECT_EQ(core->shares.cutoff, mcube_ubm_bucket(1200));
	/* The last 8 rounds are a pass of the long loop: 256 - 5 - 100 pages of it. */
	EXPECT_GE(two, 150);
	EXPECT_LE(two, 156);
	free(core);
}

/* Popular pages that gain more than the loop keep their memory. */
TEST(other_pages_have_their_share)
{
	u32 i, hits = 0, refs = 0;

	begin(200, 2, &by_page);
	for (i = 0; i < 40000; i++) {
		bool hit = ref(1, get_random_u32_below(100) * 7);

		if (i >= 20000) {
			hits += hit;
			refs++;
		}
		if (i % 4 == 0)
			ref(0, i / 4 % 1000);
	}
	TH_LOG("%u of %u references to popular pages hit, %u pages are left to them", hits, refs,
	       core->shares.other);
	EXPECT_GE(core->shares.other, 95);
	EXPECT_GE(hits, refs * 95 / 100);
	free(core);
}

TEST(a_loop_over_many_small_files_is_held_in_part)
{
	u32 round, f, hits = 0;

	begin(1024, FILES, &by_page);
	for (round = 0; round < 8; round++)
		for (f = 0, hits = 0; f < FILES; f++)
			hits += read_pages(f, 0, 4, true);
	/* LRU hits nothing: 2400 pages pass through 1024. */
	TH_LOG("%u of 2400 references hit", hits);
	EXPECT_GE(hits, 700);
	free(core);
}

TEST(random_files_are_noted_by_sample)
{
	struct mcube_ubm_key key = key_of(0);
	u32 hash = mcube_ubm_hash(&key), i, noted = 0, shift = 0;
	u32 capacity = 1 << 18, nr = 40000;

	begin(64, 1, &by_chunk);
	free(core);
	core = calloc(1, mcube_ubm_core_bytes(capacity));
	mcube_ubm_core_init(core, capacity, &by_chunk);
	for (i = 0; i < nr; i++) {
		u32 page = get_random_u32_below(1 << 24);

		if (shift && mcube_ubm_next_sampled(hash, page, page + 1, shift) > page)
			continue;
		note(&key, hash, page, 1, MCUBE_UBM_NO_PREV, false);
		shift = verdict.shift;
		noted++;
	}
	EXPECT_EQ(shift, 6);
	EXPECT_LT(noted, nr / 40);
	/* Time goes on as if all were noted. */
	EXPECT_LT(labs((long)core->now - nr), nr / 8);
	/* A read that goes on from the last read may be a stream. */
	for (i = 0; i < 4; i++)
		note(&key, hash, 1600 + i * 16, 16, 1600 + i * 16, false);
	EXPECT_EQ(verdict.shift, 0);
	EXPECT_EQ(verdict.class, MCUBE_UBM_SEQ);
	free(core);
}

TEST(proposed_pages_lag_behind_the_cursor)
{
	struct mcube_ubm_key key = key_of(0);
	u32 hash = mcube_ubm_hash(&key), i, next = 0;

	core = calloc(1, mcube_ubm_core_bytes(4096));
	mcube_ubm_core_init(core, 4096, &by_chunk);
	for (i = 0; i < 1600; i += 16) {
		mcube_ubm_core_missed(core, hash, i, 16);
		note(&key, hash, i, 16, i ? i : MCUBE_UBM_NO_PREV, i == 1584);
		if (!verdict.nr_propose)
			continue;
		ASSERT_EQ(verdict.nr_propose, 1);
		ASSERT_EQ(verdict.propose[0].from, next);
		next = verdict.propose[0].to;
		ASSERT_EQ(next, i == 1584 ? 1600 : i + 16 - 32);
	}
	EXPECT_EQ(next, 1600);
	/* In the second pass, the loop is held. */
	for (i = 0; i < 1600; i += 16) {
		note(&key, hash, i, 16, i ? i : MCUBE_UBM_NO_PREV, i == 1584);
		EXPECT_EQ(verdict.nr_propose, 0);
	}
	EXPECT_TRUE(mcube_ubm_core_held(core, &key, hash, 1599));
	free(core);
}

/* Read on in a stream.  Return: notes of these pages that proposed something. */
static u32 stream(u32 *at, u32 pages)
{
	struct mcube_ubm_key key = key_of(0);
	u32 hash = mcube_ubm_hash(&key), end = *at + pages, proposed = 0;

	for (; *at < end; *at += 16) {
		mcube_ubm_core_missed(core, hash, *at, 16);
		note(&key, hash, *at, 16, *at ?: MCUBE_UBM_NO_PREV, false);
		proposed += verdict.nr_propose > 0;
	}
	return proposed;
}

/* Moving the pages of a stream costs most, and saves nothing if there are no others. */
TEST(a_stream_alone_is_left_alone)
{
	u32 at = 0, i;

	begin(512, FILES, &by_chunk);
	/* The stream may come back as a loop: a part of it had better stay. */
	EXPECT_LE(4 * 512 / 16 - 4, stream(&at, 4 * 512));
	stream(&at, 512);
	EXPECT_EQ(0, stream(&at, 8 * 512));
	/* Two pages are referenced again; the sample has one of these. */
	for (i = 0; i < 4; i++)
		ref(1, i % 2);
	EXPECT_LE(4 * 512 / 16 - 4, stream(&at, 4 * 512));
	stream(&at, 512);
	EXPECT_EQ(0, stream(&at, 8 * 512));
	/* Pages out of order may be referenced again, too rarely for the sample. */
	for (i = 0; i < 300; i++)
		ref(2, i * 37 % PAGES);
	EXPECT_LE(512 / 16, stream(&at, 512));
	free(core);
}

/* A reader that goes on tells of the first page of a chunk; the pages between count too. */
TEST(a_note_has_the_pages_between)
{
	struct mcube_ubm_key key = key_of(0);
	u32 hash = mcube_ubm_hash(&key);

	begin(512, 1, &by_chunk);
	note(&key, hash, 0, 1, MCUBE_UBM_NO_PREV, false);
	EXPECT_EQ(verdict.from, 0);
	EXPECT_EQ(verdict.refs, 1);
	note(&key, hash, 16, 1, 16, false);
	EXPECT_EQ(verdict.from, 1);
	EXPECT_EQ(verdict.refs, 16);
	note(&key, hash, 100, 4, 17, false);
	EXPECT_EQ(verdict.from, 100);
	EXPECT_EQ(verdict.refs, 4);
	free(core);
}

/* While pages of the file cannot move, nothing is proposed, and nothing is lost. */
TEST(what_cannot_move_is_proposed_later)
{
	struct mcube_ubm_key key = key_of(0);
	u32 hash = mcube_ubm_hash(&key), i, next = 0;

	begin(4096, 1, &by_chunk);
	for (i = 0; i < 1600; i += 16) {
		bool away = i / 16 % 4;

		mcube_ubm_core_missed(core, hash, i, 16);
		tell(&key, hash, i, 16, i ?: MCUBE_UBM_NO_PREV, false, away);
		if (away || i < 64) {
			ASSERT_EQ(verdict.nr_propose, 0);
			continue;
		}
		ASSERT_EQ(verdict.nr_propose, 1);
		ASSERT_EQ(verdict.propose[0].from, next);
		ASSERT_EQ(verdict.propose[0].to, i + 16 - 32);
		/* A folio may have begun with the run. */
		ASSERT_EQ(verdict.propose[0].used, 0);
		next = verdict.propose[0].to;
	}
	EXPECT_EQ(next, 1600 - 48 - 32);
	free(core);
}

TEST(anything_may_happen)
{
	unsigned long i;
	u32 at = 0, file = 0, last = MCUBE_UBM_NO_PREV;

	begin(3000, 1, &by_chunk);
	for (i = 0; i < 200000 * test_scale(); i++) {
		struct mcube_ubm_key key;
		u32 hash, nr = 1 + get_random_u32_below(1 << get_random_u32_below(9));
		u64 held = core->table.runs.loops.all;
		struct mcube_ubm_range *p = verdict.propose;

		if (!get_random_u32_below(10)) {
			file = get_random_u32_below(1 << get_random_u32_below(10));
			at = get_random_u32_below(2) ? 0 : get_random_u32_below(100000);
			last = MCUBE_UBM_NO_PREV;
		}
		key = key_of(file);
		hash = mcube_ubm_hash(&key);
		if (!get_random_u32_below(3))
			mcube_ubm_core_missed(core, hash, at, nr);
		note(&key, hash, at, nr, last, !get_random_u32_below(9));
		at += nr;
		last = at;
		/* Loops never hold more than fits, unless the cache has shrunk. */
		ASSERT_LE(core->table.runs.loops.all, max_t(u64, held, core->capacity));
		ASSERT_LE(verdict.nr_propose, MCUBE_UBM_PROPOSALS);
		for (; p < verdict.propose + verdict.nr_propose; p++) {
			ASSERT_LT(p->from, p->to);
			ASSERT_LE(p->used, p->from);
			ASSERT_LE(p->to, at);
		}
		if (verdict.balanced)
			ASSERT_LE(core->shares.loop + core->shares.other, core->capacity);
		mcube_ubm_core_held(core, &key, hash, get_random_u32_below(100000));
		if (!get_random_u32_below(500))
			mcube_ubm_core_resize(core, get_random_u32_below(100000));
		if (!get_random_u32_below(500)) {
			tuning.model = get_random_u32_below(2);
			tuning.guard = get_random_u32_below(2);
			tuning.rules.chunk_shift = 4 * get_random_u32_below(2);
			mcube_ubm_core_tune(core, &tuning);
		}
	}
	free(core);
}

TEST(memory_is_bounded)
{
	u64 pages;

	for (pages = 1; pages < 1ULL << 36; pages = pages * 3 / 2 + 1) {
		EXPECT_LE(mcube_ubm_core_bytes(pages), 12 << 20);
		/* 3 % of a cache of 4 MiB or more, 1.5 % of a cache of 64 MiB or more. */
		if (pages >= 1024)
			EXPECT_LE(mcube_ubm_core_bytes(pages), pages * 4096 * 3 / 100);
		if (pages >= 16384)
			EXPECT_LE(mcube_ubm_core_bytes(pages), pages * 4096 * 3 / 200);
	}
}
