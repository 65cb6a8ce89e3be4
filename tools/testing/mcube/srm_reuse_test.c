// SPDX-License-Identifier: GPL-2.0
/*
 * Reuse: which files count as files in use, and how often that is written down.
 */
#include "mcube_test.h"

#include "srm/reuse.h"

#define LIMIT	256
#define FILES	64

static u32 reuse[FILES];
static u32 clock;

/* As __mcube_srm_read() does; true if the state of the file was written. */
static bool begin(unsigned int file, u32 pages)
{
	u32 old = reuse[file];

	reuse[file] = mcube_reuse_begin(old, clock, LIMIT);
	if (reuse[file] == old)
		return false;
	clock += pages;
	return true;
}

static void forget(u32 at)
{
	memset(reuse, 0, sizeof(reuse));
	clock = at;
}

TEST(one_file_again_and_again)
{
	u32 at;

	/* Also where the stamp wraps. */
	for (at = 0; at < 3; at++) {
		forget(at * (MCUBE_REUSE_STAMP_MASK / 2));
		begin(0, 200);
		EXPECT_FALSE(mcube_reuse_spreads(reuse[0], MCUBE_ADVICE_NONE));
		begin(0, 200);
		EXPECT_FALSE(mcube_reuse_spreads(reuse[0], MCUBE_ADVICE_NONE));
		begin(0, 200);
		EXPECT_TRUE(mcube_reuse_spreads(reuse[0], MCUBE_ADVICE_NONE));
		begin(0, 200);
		EXPECT_TRUE(mcube_reuse_spreads(reuse[0], MCUBE_ADVICE_NONE));
	}
}

TEST(a_working_set_of_a_few_files)
{
	unsigned int i, round;

	forget(0);
	for (round = 0; round < 4; round++)
		for (i = 0; i < 5; i++)
			begin(i, 50);
	for (i = 0; i < 5; i++)
		EXPECT_TRUE(mcube_reuse_spreads(reuse[i], MCUBE_ADVICE_NONE));
}

TEST(many_files_are_a_stream)
{
	unsigned int i, round;

	forget(0);
	for (round = 0; round < 100; round++)
		for (i = 0; i < FILES; i++)
			begin(i, 5);
	for (i = 0; i < FILES; i++)
		EXPECT_FALSE(mcube_reuse_spreads(reuse[i], MCUBE_ADVICE_NONE));
}

/*
 * The compilers of a make -j: each is a task of its own, reads each header once, then a
 * source that no other compiler reads.  Whoever reads, the headers come again soon.
 */
TEST(headers_of_many_compilers)
{
	unsigned int i, job, header;

	forget(0);
	for (job = 0; job < 40; job++) {
		for (header = 0; header < 8; header++)
			begin(header, 16);
		begin(8 + job, 40);
	}
	for (i = 0; i < 8; i++)
		EXPECT_TRUE(mcube_reuse_spreads(reuse[i], MCUBE_ADVICE_NONE));
	for (i = 8; i < 48; i++)
		EXPECT_FALSE(mcube_reuse_spreads(reuse[i], MCUBE_ADVICE_NONE));
}

/* Files that all CPUs read must not be written by each read. */
TEST(files_in_use_are_not_written)
{
	unsigned int i, k, written = 0;

	forget(0);
	for (i = 0; i < 1000; i++)
		for (k = 0; k < 16; k++)
			written += begin(k, 8);
	EXPECT_EQ(written, 16 * MCUBE_REUSE_TIMES_MAX);
	/* With others beside them, once in half a cache. */
	for (i = written = 0; i < 1000; i++) {
		for (k = 0; k < 16; k++)
			written += begin(k, 0);
		clock += 8;
	}
	EXPECT_LE(written, 16 * (1000 * 8 / (LIMIT / 2) + 1));
	/* And they stay in use. */
	for (k = 0; k < 16; k++)
		EXPECT_TRUE(mcube_reuse_spreads(reuse[k], MCUBE_ADVICE_NONE));
}

/* A file that is read at any distance within the limit, for long, is never late. */
TEST(what_is_not_written_is_not_late)
{
	unsigned int gap, i;

	for (gap = 0; gap <= LIMIT; gap++) {
		forget(0);
		for (i = 0; i < 100; i++) {
			begin(0, 0);
			EXPECT_EQ(mcube_reuse_spreads(reuse[0], MCUBE_ADVICE_NONE),
				  i + 1 >= MCUBE_REUSE_ENOUGH);
			clock += gap;
		}
	}
}

/* One late read does not end a working set, two do. */
TEST(late_reads_take_back)
{
	unsigned int i;

	forget(0);
	for (i = 0; i < 10; i++)
		begin(0, 10);
	clock += 2 * LIMIT;
	begin(0, 10);
	EXPECT_TRUE(mcube_reuse_spreads(reuse[0], MCUBE_ADVICE_NONE));
	clock += 2 * LIMIT;
	begin(0, 10);
	EXPECT_FALSE(mcube_reuse_spreads(reuse[0], MCUBE_ADVICE_NONE));
	for (i = 0; i < 10; i++) {
		clock += 2 * LIMIT;
		begin(0, 10);
	}
	begin(0, 10);
	EXPECT_FALSE(mcube_reuse_spreads(reuse[0], MCUBE_ADVICE_NONE));
	begin(0, 10);
	EXPECT_TRUE(mcube_reuse_spreads(reuse[0], MCUBE_ADVICE_NONE));
}

TEST(something_else_in_between)
{
	forget(0);
	begin(0, 100);
	begin(0, 100);
	begin(1, 10000);
	begin(0, 100);
	EXPECT_FALSE(mcube_reuse_spreads(reuse[0], MCUBE_ADVICE_NONE));
	begin(0, 100);
	begin(0, 100);
	EXPECT_TRUE(mcube_reuse_spreads(reuse[0], MCUBE_ADVICE_NONE));
	begin(1, 10000);
	begin(0, 100);
	EXPECT_FALSE(mcube_reuse_spreads(reuse[0], MCUBE_ADVICE_NONE));
}

TEST(advice_stays)
{
	unsigned int i;

	forget(0);
	reuse[0] = mcube_reuse_advise(0, MCUBE_ADVICE_CONFINE);
	for (i = 0; i < 10; i++)
		begin(0, 10);
	EXPECT_EQ(mcube_reuse_advice(reuse[0]), MCUBE_ADVICE_CONFINE);
	EXPECT_FALSE(mcube_reuse_spreads(reuse[0], MCUBE_ADVICE_NONE));
	reuse[0] = mcube_reuse_advise(reuse[0], MCUBE_ADVICE_NONE);
	EXPECT_TRUE(mcube_reuse_spreads(reuse[0], MCUBE_ADVICE_NONE));
	reuse[0] = mcube_reuse_advise(reuse[0], MCUBE_ADVICE_SPREAD);
	for (i = 0; i < 2; i++) {
		clock += 10000;
		begin(0, 10);
	}
	EXPECT_TRUE(mcube_reuse_spreads(reuse[0], MCUBE_ADVICE_NONE));
	reuse[0] = mcube_reuse_advise(reuse[0], MCUBE_ADVICE_NONE);
	EXPECT_FALSE(mcube_reuse_spreads(reuse[0], MCUBE_ADVICE_NONE));
}

/* Advice that comes with a page goes before the state of the file. */
TEST(a_descriptor_decides_for_itself)
{
	static const struct {
		unsigned int file, said;
		bool spreads;
	} rule[] = {
		{ MCUBE_ADVICE_NONE, MCUBE_ADVICE_NONE, false },
		{ MCUBE_ADVICE_NONE, MCUBE_ADVICE_SPREAD, true },
		{ MCUBE_ADVICE_NONE, MCUBE_ADVICE_CONFINE, false },
		{ MCUBE_ADVICE_NONE, MCUBE_ADVICE_EXECUTED, true },
		{ MCUBE_ADVICE_SPREAD, MCUBE_ADVICE_NONE, true },
		{ MCUBE_ADVICE_SPREAD, MCUBE_ADVICE_CONFINE, false },
		{ MCUBE_ADVICE_SPREAD, MCUBE_ADVICE_EXECUTED, true },
		{ MCUBE_ADVICE_CONFINE, MCUBE_ADVICE_NONE, false },
		{ MCUBE_ADVICE_CONFINE, MCUBE_ADVICE_SPREAD, true },
		{ MCUBE_ADVICE_CONFINE, MCUBE_ADVICE_EXECUTED, false },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(rule); i++)
		EXPECT_EQ(mcube_reuse_spreads(mcube_reuse_advise(0, rule[i].file),
					      rule[i].said), rule[i].spreads);
	/* Only a page that hops, or may hop one day, is not confined. */
	for (i = 0; i < ARRAY_SIZE(rule); i++)
		EXPECT_EQ(mcube_reuse_confined(mcube_reuse_advise(0, rule[i].file),
					       rule[i].said),
			  !rule[i].spreads && (rule[i].file || rule[i].said));
	/* A file that is read again and again is no stream, but for one descriptor. */
	forget(0);
	for (i = 0; i < 3; i++)
		begin(0, 10);
	EXPECT_FALSE(mcube_reuse_spreads(reuse[0], MCUBE_ADVICE_CONFINE));
}

TEST(fields_do_not_touch_each_other)
{
	unsigned long i;

	for (i = 0; i < 100000 * test_scale(); i++) {
		u32 old = get_random_u32(), now = get_random_u32();
		u32 new = mcube_reuse_begin(old, now, LIMIT);

		ASSERT_EQ(mcube_reuse_advice(new), mcube_reuse_advice(old));
		if (new == old)
			continue;
		ASSERT_EQ(new & MCUBE_REUSE_STAMP_MASK, now & MCUBE_REUSE_STAMP_MASK);
		ASSERT_LE(mcube_reuse_times(new), mcube_reuse_times(old) + 1);
		ASSERT_LE(1, mcube_reuse_times(new));
	}
}

TEST(a_file_that_has_grown_is_no_longer_in_use)
{
	u32 reuse = 0;
	int i;

	for (i = 0; i < 4; i++)
		reuse = mcube_reuse_begin(reuse, 0, 100);
	EXPECT_TRUE(mcube_reuse_spreads(reuse, MCUBE_ADVICE_NONE));
	reuse = mcube_reuse_forget(reuse);
	EXPECT_FALSE(mcube_reuse_spreads(reuse, MCUBE_ADVICE_NONE));
	for (i = 0; i < 3; i++)
		reuse = mcube_reuse_begin(reuse, 0, 100);
	EXPECT_TRUE(mcube_reuse_spreads(reuse, MCUBE_ADVICE_NONE));
	reuse = mcube_reuse_advise(reuse, MCUBE_ADVICE_SPREAD);
	EXPECT_TRUE(mcube_reuse_spreads(mcube_reuse_forget(reuse), MCUBE_ADVICE_NONE));
}
