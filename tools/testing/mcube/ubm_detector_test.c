// SPDX-License-Identifier: GPL-2.0
/*
 * The detector: examples, what holds after any references, and precision and recall
 * against ground truth on generated mixes.
 */
#include "mcube_test.h"

#include "replay/paper/core.h"

enum { RUNS = 512 };

static struct mcube_ubm_run room[RUNS];
static struct mcube_ubm_runs runs;
static struct mcube_ubm_trail trail;
static struct mcube_ubm_touched touched;
static u32 now;

static const struct mcube_ubm_rules by_page = { .gap = 4, .min = 8, .age = 6 };
static const struct mcube_ubm_tuning tuning = MCUBE_UBM_TUNING_DEFAULT;
static const struct mcube_ubm_rules by_chunk = { .gap = 4, .min = 8, .age = 6, .chunk_shift = 4 };

static void begin(const struct mcube_ubm_rules *rules, u32 nr)
{
	now = 0;
	mcube_ubm_runs_init(&runs, room, nr, rules);
	mcube_ubm_trail_init(&trail);
}

static enum mcube_ubm_class note(u32 first, u32 nr, u32 prev, bool eof)
{
	mcube_ubm_detect(&runs, &trail, first, nr, prev, eof, now, &touched);
	now += touched.refs;
	return touched.class;
}

/* Read pages one by one.  Return: class of the last reference. */
static enum mcube_ubm_class pages(u32 from, u32 to)
{
	enum mcube_ubm_class class = MCUBE_UBM_OTHER;

	for (; from < to; from++)
		class = note(from, 1, MCUBE_UBM_NO_PREV, false);
	return class;
}

static const struct mcube_ubm_run *run_of(u32 page)
{
	u32 id;

	for (id = trail.runs; id != MCUBE_UBM_NONE; id = runs.run[id].next)
		if (runs.run[id].start <= page && page < runs.run[id].end)
			return &runs.run[id];
	return NULL;
}

/* All that must hold, whatever was noted. */
static void check(struct __test_metadata *_metadata)
{
	u64 wanted = 0, held = 0, all = 0;
	u32 id, other, nr = 0, b;

	for (id = trail.runs; id != MCUBE_UBM_NONE; id = runs.run[id].next) {
		const struct mcube_ubm_run *r = &runs.run[id];

		ASSERT_LT(id, runs.size);
		ASSERT_LT(r->start, r->end);
		ASSERT_LE(r->start, r->cursor);
		ASSERT_LE(r->cursor, r->end);
		ASSERT_LE(r->reach, r->end - r->start);
		ASSERT_LE(r->held, r->reach);
		ASSERT_EQ(r->class == MCUBE_UBM_LOOP, r->bucket < MCUBE_UBM_BUCKETS);
		ASSERT_LE((s32)(r->last - now), 0);
		for (other = r->next; other != MCUBE_UBM_NONE; other = runs.run[other].next)
			ASSERT_TRUE(runs.run[other].end <= r->start ||
				    runs.run[other].start >= r->end);
		if (r->bucket < MCUBE_UBM_BUCKETS) {
			wanted += r->reach;
			held += r->held;
		}
		nr++;
	}
	ASSERT_EQ(nr, trail.nr);
	ASSERT_EQ(nr, runs.nr);
	ASSERT_LE(nr, MCUBE_UBM_FILE_RUNS);
	for (b = 0; b < MCUBE_UBM_BUCKETS; b++) {
		all += runs.loops.held[b];
		wanted -= runs.loops.wanted[b];
		held -= runs.loops.held[b];
	}
	ASSERT_EQ(wanted, 0);
	ASSERT_EQ(held, 0);
	ASSERT_EQ(all, runs.loops.all);
}

TEST(a_file_read_once_is_sequential)
{
	begin(&by_page, RUNS);
	EXPECT_EQ(pages(0, 7), MCUBE_UBM_OTHER);
	EXPECT_EQ(pages(7, 8), MCUBE_UBM_SEQ);
	EXPECT_EQ(touched.changed, 1);
	EXPECT_EQ(pages(8, 1000), MCUBE_UBM_SEQ);
	EXPECT_EQ(touched.changed, 0);
	EXPECT_EQ(trail.nr, 1);
	EXPECT_EQ(run_of(0)->end, 1000);
	EXPECT_EQ(run_of(0)->passes, 1);
	check(_metadata);
}

TEST(a_file_read_again_is_a_loop)
{
	const struct mcube_ubm_run *r;

	begin(&by_page, RUNS);
	pages(0, 100);
	now += 900;
	EXPECT_EQ(pages(0, 7), MCUBE_UBM_OTHER);
	EXPECT_EQ(pages(7, 100), MCUBE_UBM_LOOP);
	r = run_of(0);
	EXPECT_EQ(r->class, MCUBE_UBM_LOOP);
	EXPECT_EQ(r->period, 1000);
	EXPECT_EQ(r->reach, 100);
	EXPECT_EQ(runs.loops.wanted[mcube_ubm_bucket(1000)], 100);
	now += 700;
	pages(0, 100);
	/* A quarter of the way from 1000 to 800. */
	EXPECT_EQ(run_of(0)->period, 950);
	EXPECT_EQ(run_of(0)->passes, 3);
	EXPECT_EQ(trail.nr, 1);
	check(_metadata);
}

TEST(only_what_was_passed_twice_is_wanted)
{
	begin(&by_page, RUNS);
	pages(0, 1000);
	pages(0, 50);
	EXPECT_EQ(run_of(0)->reach, 50);
	/* The pass ended there; the next pass finds a run of 50 pages, and what is left. */
	pages(0, 50);
	EXPECT_EQ(run_of(0)->end, 50);
	EXPECT_EQ(run_of(50)->end, 1000);
	EXPECT_EQ(run_of(50)->reach, 0);
	check(_metadata);
}

TEST(a_loop_within_a_run_splits_it)
{
	u32 i;

	begin(&by_page, RUNS);
	pages(0, 1000);
	for (i = 0; i < 4; i++) {
		now += 500;
		pages(300, 400);
	}
	EXPECT_EQ(run_of(0)->end, 300);
	EXPECT_EQ(run_of(0)->class, MCUBE_UBM_SEQ);
	EXPECT_EQ(run_of(300)->end, 400);
	EXPECT_EQ(run_of(300)->class, MCUBE_UBM_LOOP);
	/* From 1200 (page 300 at 300, again at 1500), a quarter of the way to 600 twice. */
	EXPECT_GT(run_of(300)->period, 600);
	EXPECT_LT(run_of(300)->period, 1000);
	check(_metadata);
}

/* Parts of a loop come together again when a single stream passes both. */
TEST(parts_of_a_loop_are_joined)
{
	u32 i;

	begin(&by_page, RUNS);
	pages(0, 1000);
	pages(500, 1000);
	pages(500, 1000);
	EXPECT_EQ(trail.nr, 2);
	for (i = 0; i < 12; i++)
		pages(0, 1000);
	EXPECT_EQ(trail.nr, 1);
	EXPECT_EQ(run_of(0)->end, 1000);
	check(_metadata);
}

TEST(streams_of_a_file_are_told_apart)
{
	u32 i, s, seq = 0;

	begin(&by_page, RUNS);
	for (i = 0; i < 500; i++)
		for (s = 0; s < MCUBE_UBM_CURSORS; s++)
			seq += note(s * 10000 + i, 1, MCUBE_UBM_NO_PREV, false) == MCUBE_UBM_SEQ;
	EXPECT_EQ(seq, MCUBE_UBM_CURSORS * (500 - 7));
	EXPECT_EQ(trail.nr, MCUBE_UBM_CURSORS);
	check(_metadata);
}

/* A program that looks at the header does not disturb a stream in the middle. */
/* Cursors of passes that are runs by now are given up first. */
TEST(passes_leave_cursors_to_others)
{
	u32 pass, i;

	begin(&by_chunk, RUNS);
	for (pass = 0; pass < 2 * MCUBE_UBM_CURSORS; pass++)
		for (i = 0; i < 128; i += 16)
			note(i, 1, i ?: MCUBE_UBM_NO_PREV, false);
	EXPECT_EQ(run_of(0)->passes, pass);
	/* Readers of a mapping, whose descriptors are not known, in turns. */
	for (i = 0; i < 16; i++) {
		note(1000 + i, 1, MCUBE_UBM_NO_PREV, false);
		note(5000 + i, 1, MCUBE_UBM_NO_PREV, false);
	}
	EXPECT_NE(run_of(1000), NULL);
	EXPECT_NE(run_of(5000), NULL);
	check(_metadata);
}

TEST(a_look_at_the_header_begins_no_pass)
{
	u32 i, loop = 0;

	begin(&by_page, RUNS);
	pages(0, 500);
	for (i = 0; i < 500; i++) {
		loop += note(i, 1, MCUBE_UBM_NO_PREV, false) == MCUBE_UBM_LOOP;
		if (i % 10 == 9)
			note(0, 1, MCUBE_UBM_NO_PREV, false);
	}
	EXPECT_EQ(loop, 500 - 7);
	EXPECT_EQ(run_of(0)->passes, 2);
	EXPECT_EQ(run_of(0)->end, 500);
	check(_metadata);
}

TEST(small_gaps_are_jumped)
{
	u32 i, page = 0;

	begin(&by_page, RUNS);
	for (i = 0; i < 300; i++) {
		note(page, 1, MCUBE_UBM_NO_PREV, false);
		page += 1 + get_random_u32_below(5);
	}
	EXPECT_EQ(trail.nr, 1);
	EXPECT_EQ(touched.class, MCUBE_UBM_SEQ);
	begin(&by_page, RUNS);
	for (i = 0; i < 300; i++)
		note(i * 6, 1, MCUBE_UBM_NO_PREV, false);
	EXPECT_EQ(trail.nr, 0);
	EXPECT_EQ(trail.random, U8_MAX);
}

TEST(a_small_file_read_whole_is_a_run)
{
	u32 i;

	begin(&by_page, RUNS);
	note(0, 3, MCUBE_UBM_NO_PREV, true);
	EXPECT_EQ(touched.class, MCUBE_UBM_SEQ);
	for (i = 0; i < 3; i++) {
		now += 997;
		EXPECT_EQ(note(0, 3, MCUBE_UBM_NO_PREV, true), MCUBE_UBM_LOOP);
	}
	EXPECT_EQ(trail.nr, 1);
	EXPECT_EQ(run_of(0)->period, 1000);
	/* Read again at once: no pass. */
	note(0, 3, MCUBE_UBM_NO_PREV, true);
	EXPECT_EQ(run_of(0)->period, 1000);
	check(_metadata);
	/* Twelve pages in two calls, of which only the end is noted. */
	begin(&by_chunk, RUNS);
	note(0, 1, MCUBE_UBM_NO_PREV, false);
	EXPECT_EQ(note(4, 2, 4, true), MCUBE_UBM_SEQ);
	EXPECT_EQ(touched.refs, 5);
	now += 100;
	note(0, 1, MCUBE_UBM_NO_PREV, false);
	EXPECT_EQ(note(4, 2, 4, true), MCUBE_UBM_LOOP);
	check(_metadata);
}

/* A reader of single pages is noted at the first page of each chunk, see core.h. */
TEST(notes_by_chunk_count_all_pages)
{
	u32 pass, i;

	begin(&by_chunk, RUNS);
	for (pass = 1; pass <= 3; pass++) {
		note(0, 1, MCUBE_UBM_NO_PREV, false);
		for (i = 16; i < 160; i += 16)
			note(i, 1, i, false);
		note(159, 1, 159, true);
		EXPECT_EQ(now, 160 * pass);
		EXPECT_EQ(run_of(0)->end, 160);
	}
	EXPECT_EQ(trail.nr, 1);
	EXPECT_EQ(run_of(0)->period, 160);
	EXPECT_EQ(run_of(0)->reach, 160);
	check(_metadata);
}

TEST(a_large_read_may_pass_several_runs)
{
	begin(&by_page, RUNS);
	pages(100, 200);
	pages(300, 400);
	now += 1000;
	note(100, 10, MCUBE_UBM_NO_PREV, false);
	note(110, 340, 110, false);
	EXPECT_EQ(touched.refs, 340);
	EXPECT_EQ(run_of(100)->class, MCUBE_UBM_LOOP);
	EXPECT_EQ(run_of(100)->reach, 100);
	EXPECT_EQ(run_of(200)->class, MCUBE_UBM_SEQ);
	EXPECT_EQ(run_of(300)->class, MCUBE_UBM_LOOP);
	EXPECT_EQ(run_of(300)->reach, 100);
	EXPECT_EQ(run_of(400)->class, MCUBE_UBM_SEQ);
	EXPECT_EQ(run_of(400)->end, 450);
	check(_metadata);
}

TEST(a_loop_that_is_late_loses_rank_and_dies)
{
	u32 bucket, i;

	begin(&by_page, RUNS);
	for (i = 0; i < 5; i++)
		pages(0, 100);
	bucket = run_of(0)->bucket;
	EXPECT_EQ(bucket, mcube_ubm_bucket(100));
	now += 90;
	mcube_ubm_trail_age(&runs, &trail, now);
	EXPECT_EQ(run_of(0)->bucket, bucket);
	now += 110;
	mcube_ubm_trail_age(&runs, &trail, now);
	EXPECT_EQ(run_of(0)->bucket, bucket + 4);
	check(_metadata);
	now += 110;
	mcube_ubm_run_hold(&runs, &runs.run[trail.runs], 70);
	mcube_ubm_trail_age(&runs, &trail, now);
	EXPECT_EQ(run_of(0)->class, MCUBE_UBM_OTHER);
	EXPECT_EQ(run_of(0)->held, 0);
	EXPECT_EQ(runs.loops.all, 0);
	check(_metadata);
	/* It comes back with the period that it has now. */
	pages(0, 100);
	EXPECT_EQ(run_of(0)->class, MCUBE_UBM_LOOP);
	EXPECT_EQ(run_of(0)->period, 410);
	now += 1U << 30;
	mcube_ubm_trail_age(&runs, &trail, now + 1);
	EXPECT_EQ(trail.nr, 0);
}

TEST(the_clock_may_wrap)
{
	u32 i;

	begin(&by_page, RUNS);
	now = U32_MAX - 1500;
	for (i = 0; i < 10; i++)
		pages(0, 300);
	EXPECT_LT(now, 1U << 20);
	EXPECT_EQ(run_of(0)->period, 300);
	EXPECT_EQ(run_of(0)->passes, 10);
	check(_metadata);
}

TEST(anything_may_be_noted)
{
	unsigned long i;
	u32 at = 0, id, nr, last = MCUBE_UBM_NO_PREV;

	begin(&by_page, 40);
	for (i = 0; i < 300000 * test_scale(); i++) {
		bool eof = !get_random_u32_below(50);

		if (!get_random_u32_below(20))
			at = get_random_u32_below(1 << get_random_u32_below(12));
		if (!get_random_u32_below(5000))
			at = U32_MAX - 1 - get_random_u32_below(100);
		nr = 1 + (get_random_u32_below(4) ? 0 : get_random_u32_below(300));
		runs.rules = i / 1000 % 2 ? by_page : by_chunk;
		note(at, nr, get_random_u32_below(4) ? last : MCUBE_UBM_NO_PREV, eof);
		ASSERT_LE(touched.nr, MCUBE_UBM_STEPS);
		ASSERT_GE(touched.refs, min(nr, U32_MAX - at));
		at = min(at, U32_MAX - 1 - nr) + nr;
		last = at;
		if (!get_random_u32_below(100))
			mcube_ubm_trail_age(&runs, &trail, now);
		if (trail.nr && !get_random_u32_below(10)) {
			id = trail.runs;
			mcube_ubm_run_hold(&runs, &runs.run[id],
					   get_random_u32_below(runs.run[id].reach + 1));
		}
		if (!(i % 16))
			check(_metadata);
		if (!get_random_u32_below(20000))
			mcube_ubm_trail_forget(&runs, &trail);
	}
	mcube_ubm_trail_forget(&runs, &trail);
	check(_metadata);
	EXPECT_EQ(runs.nr, 0);
}

/* A file with all runs that it may have: the run that is split makes room for no part. */
TEST(a_run_makes_no_room_for_its_own_part)
{
	u32 i;

	begin(&by_page, RUNS);
	for (i = 0; i < MCUBE_UBM_FILE_RUNS; i++)
		pages(i * 1000, i * 1000 + 100);
	ASSERT_EQ(trail.nr, MCUBE_UBM_FILE_RUNS);
	pages(40, 60);
	check(_metadata);
	EXPECT_EQ(run_of(0)->end, 40);
	EXPECT_EQ(run_of(40)->end, 100);
	EXPECT_EQ(run_of(40)->class, MCUBE_UBM_LOOP);
	EXPECT_EQ(run_of(1000), NULL);
}

TEST(held_pages_are_those_of_the_prefix)
{
	u32 i;

	begin(&by_page, RUNS);
	pages(100, 300);
	pages(100, 300);
	mcube_ubm_run_hold(&runs, &runs.run[trail.runs], 50);
	EXPECT_EQ(mcube_ubm_trail_held(&runs, &trail), 50);
	for (i = 0; i < 400; i++)
		EXPECT_EQ(mcube_ubm_trail_holds(&runs, &trail, i), i >= 100 && i < 150);
}

/**
 * struct stream - a program of a mix
 * @kind: how it reads.
 * @start: first page.
 * @length: pages.
 * @at: page that it reads next.
 * @pass: number of its pass.
 * @wait: references of other programs until it goes on.
 * @prev: page after the page that it read last, MCUBE_UBM_NO_PREV at first.
 * @unsaid: references of each class that no note has stood for yet.
 */
struct stream {
	enum mcube_ubm_class kind;
	u32 start, length, at, pass, wait, prev, unsaid[3];
};

/* Correct, by class: references of this class, said to be, and both. */
struct score {
	unsigned long truth[3], said[3], both[3];
};

/* The next page of a program, and what its reference is in truth. */
static u32 step(struct stream *s, enum mcube_ubm_class *truth, u32 jitter)
{
	u32 page;

	*truth = s->kind;
	if (s->kind == MCUBE_UBM_OTHER)
		return s->start + get_random_u32_below(s->length);
	if (s->kind == MCUBE_UBM_LOOP && !s->pass)
		*truth = MCUBE_UBM_SEQ;
	page = s->start + s->at;
	/* Now and then a loop leaves out a few pages, and its period varies. */
	s->at += 1 + (s->kind == MCUBE_UBM_LOOP && !get_random_u32_below(20) ?
		      get_random_u32_below(jitter + 1) : 0);
	if (s->at >= s->length) {
		s->at = 0;
		s->pass++;
		s->wait = get_random_u32_below(s->length / 4 + 1);
		/* A sequential reader goes on to pages that were never read. */
		if (s->kind == MCUBE_UBM_SEQ)
			s->start += 1 << 20;
	}
	return page;
}

/*
 * A program has read a page.  It is noted as the hooks in the page cache do it: only
 * where the program leaves its chunk, see mcube_ubm_leaves().
 */
static void read_page(struct score *score, struct stream *s, u32 page,
		      enum mcube_ubm_class truth)
{
	enum mcube_ubm_class said;
	u32 prev = s->prev, c;

	s->prev = page + 1;
	s->unsaid[truth]++;
	if (!((prev - 1) >> runs.rules.chunk_shift ^ page >> runs.rules.chunk_shift))
		return;
	said = note(page, 1, runs.rules.chunk_shift ? prev : MCUBE_UBM_NO_PREV, false);
	for (c = 0; c < 3; c++) {
		score->truth[c] += s->unsaid[c];
		score->said[said] += s->unsaid[c];
		if (said == c)
			score->both[c] += s->unsaid[c];
		s->unsaid[c] = 0;
	}
}

/* A mix in a file, with programs that take turns at random. */
static void run_mix(const struct mcube_ubm_rules *rules, struct score *score, u32 nr_seq,
		    u32 nr_loop, u32 nr_random, u32 jitter)
{
	u32 nr = nr_seq + nr_loop + nr_random, i, k, burst = 0;
	struct stream stream[16];

	begin(rules, RUNS);
	for (i = 0; i < nr; i++)
		stream[i] = (struct stream){
			.kind = i < nr_seq ? MCUBE_UBM_SEQ :
				i < nr_seq + nr_loop ? MCUBE_UBM_LOOP : MCUBE_UBM_OTHER,
			.start = i << 26,
			.prev = MCUBE_UBM_NO_PREV,
			.length = i < nr_seq + nr_loop ? 400 + get_random_u32_below(1600) : 100000,
		};
	for (i = 0, k = 0; i < 40000; i++) {
		enum mcube_ubm_class truth;
		u32 page;

		if (!burst--) {
			k = get_random_u32_below(nr);
			burst = get_random_u32_below(8);
		}
		if (stream[k].wait) {
			stream[k].wait--;
			burst = 0;
			continue;
		}
		page = step(&stream[k], &truth, jitter);
		read_page(score, &stream[k], page, truth);
		if (!(i % 100))
			mcube_ubm_trail_age(&runs, &trail, now);
	}
}

static const char *const name[] = { "other", "sequential", "loop" };

/* Many mixes; what the detector says must be right for 95 % of the references. */
static void judge_mixes(struct __test_metadata *_metadata,
			const struct mcube_ubm_rules *rules, unsigned long nr,
			u32 nr_seq, u32 nr_loop, u32 nr_random, u32 jitter)
{
	struct score s = { 0 };
	int c;

	for (nr *= test_scale(); nr; nr--)
		run_mix(rules, &s, nr_seq, nr_loop, nr_random, jitter);
	for (c = 0; c < 3; c++) {
		if (!s.truth[c])
			continue;
		TH_LOG("%s: precision %.3f recall %.3f", name[c],
		       (double)s.both[c] / s.said[c], (double)s.both[c] / s.truth[c]);
		EXPECT_GT((double)s.both[c] / s.said[c], .95);
		EXPECT_GT((double)s.both[c] / s.truth[c], .95);
	}
}

TEST(interleaved_sequential_readers_are_detected)
{
	judge_mixes(_metadata, &by_page, 3, 4, 0, 0, 0);
}

TEST(loops_with_jitter_are_detected)
{
	judge_mixes(_metadata, &by_page, 3, 0, 4, 0, 4);
}

TEST(random_readers_are_detected)
{
	judge_mixes(_metadata, &by_page, 3, 0, 0, 3, 0);
}

TEST(mixes_are_told_apart)
{
	judge_mixes(_metadata, &by_page, 5, 2, 3, 2, 4);
}

/* The same by the kernel's own rules, where a note stands for a chunk. */
TEST(kernel_detects_interleaved_sequential_readers)
{
	judge_mixes(_metadata, &tuning.rules, 3, 4, 0, 0, 0);
}

TEST(kernel_detects_loops_with_jitter)
{
	judge_mixes(_metadata, &tuning.rules, 3, 0, 4, 0, 4);
}

TEST(kernel_detects_random_readers)
{
	judge_mixes(_metadata, &tuning.rules, 3, 0, 0, 3, 0);
}

TEST(kernel_tells_mixes_apart)
{
	judge_mixes(_metadata, &tuning.rules, 5, 2, 3, 2, 4);
}
