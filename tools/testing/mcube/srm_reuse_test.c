// SPDX-License-Identifier: GPL-2.0
/*
 * Reuse: which files count as files in use, when tasks read in different ways.
 */
#include "mcube_test.h"

#include "srm/reuse.h"

#define LIMIT	256
#define FILES	64

static u32 reuse[FILES];
static u32 clock;

static void begin(unsigned int file, u32 task, u32 pages)
{
	reuse[file] = mcube_reuse_begin(reuse[file], task, clock, LIMIT);
	clock += pages;
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
		begin(0, 7, 200);
		EXPECT_FALSE(mcube_reuse_spreads(reuse[0], MCUBE_ADVICE_NONE));
		begin(0, 7, 200);
		EXPECT_FALSE(mcube_reuse_spreads(reuse[0], MCUBE_ADVICE_NONE));
		begin(0, 7, 200);
		EXPECT_TRUE(mcube_reuse_spreads(reuse[0], MCUBE_ADVICE_NONE));
		begin(0, 7, 200);
		EXPECT_TRUE(mcube_reuse_spreads(reuse[0], MCUBE_ADVICE_NONE));
	}
}

TEST(a_working_set_of_a_few_files)
{
	unsigned int i, round;

	forget(0);
	for (round = 0; round < 4; round++)
		for (i = 0; i < 5; i++)
			begin(i, 7, 50);
	for (i = 0; i < 5; i++)
		EXPECT_TRUE(mcube_reuse_spreads(reuse[i], MCUBE_ADVICE_NONE));
}

TEST(many_files_are_a_stream)
{
	unsigned int i, round;

	forget(0);
	for (round = 0; round < 100; round++)
		for (i = 0; i < FILES; i++)
			begin(i, 7, 5);
	for (i = 0; i < FILES; i++)
		EXPECT_FALSE(mcube_reuse_spreads(reuse[i], MCUBE_ADVICE_NONE));
}

/* Each grep is a process, and each comes to the file after the same number of pages. */
TEST(several_tasks_do_not_add_up)
{
	unsigned int i, task;

	for (task = 1; task < 100; task++) {
		forget(0);
		for (i = 0; i < 10; i++) {
			clock = 1000;
			begin(0, task + i, 5);
			EXPECT_FALSE(mcube_reuse_spreads(reuse[0], MCUBE_ADVICE_NONE));
		}
	}
}

/* What another task reads once in a while does not end a working set. */
TEST(a_passer_by_does_not_count)
{
	unsigned int i;

	forget(0);
	for (i = 0; i < 4; i++)
		begin(0, 7, 10);
	for (i = 0; i < 10; i++) {
		begin(0, 8 + i, 10);
		EXPECT_TRUE(mcube_reuse_spreads(reuse[0], MCUBE_ADVICE_NONE));
		begin(0, 7, 10);
		begin(0, 7, 10);
	}
	/* When the first task no longer reads, the file is soon another task's. */
	for (i = 0; i < 6; i++)
		begin(0, 100, 10);
	EXPECT_TRUE(mcube_reuse_spreads(reuse[0], MCUBE_ADVICE_NONE));
	EXPECT_EQ(reuse[0] >> MCUBE_REUSE_TASK_SHIFT & MCUBE_REUSE_TASK_MASK, 100);
}

TEST(something_else_in_between)
{
	forget(0);
	begin(0, 7, 100);
	begin(0, 7, 100);
	begin(1, 7, 10000);
	begin(0, 7, 100);
	EXPECT_FALSE(mcube_reuse_spreads(reuse[0], MCUBE_ADVICE_NONE));
	begin(0, 7, 100);
	begin(0, 7, 100);
	EXPECT_TRUE(mcube_reuse_spreads(reuse[0], MCUBE_ADVICE_NONE));
	begin(1, 7, 10000);
	begin(0, 7, 100);
	EXPECT_FALSE(mcube_reuse_spreads(reuse[0], MCUBE_ADVICE_NONE));
}

TEST(advice_stays)
{
	unsigned int i;

	forget(0);
	reuse[0] = mcube_reuse_advise(0, MCUBE_ADVICE_CONFINE);
	for (i = 0; i < 10; i++)
		begin(0, 7, 10);
	EXPECT_EQ(mcube_reuse_advice(reuse[0]), MCUBE_ADVICE_CONFINE);
	EXPECT_FALSE(mcube_reuse_spreads(reuse[0], MCUBE_ADVICE_NONE));
	reuse[0] = mcube_reuse_advise(reuse[0], MCUBE_ADVICE_NONE);
	EXPECT_TRUE(mcube_reuse_spreads(reuse[0], MCUBE_ADVICE_NONE));
	reuse[0] = mcube_reuse_advise(reuse[0], MCUBE_ADVICE_SPREAD);
	clock += 10000;
	begin(0, 7, 10);
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
		begin(0, 7, 10);
	EXPECT_FALSE(mcube_reuse_spreads(reuse[0], MCUBE_ADVICE_CONFINE));
}

TEST(fields_do_not_touch_each_other)
{
	unsigned long i;

	for (i = 0; i < 100000 * test_scale(); i++) {
		u32 old = get_random_u32(), task = get_random_u32(), now = get_random_u32();
		u32 new = mcube_reuse_begin(old, task, now, LIMIT);
		u32 owner = old >> MCUBE_REUSE_TASK_SHIFT & MCUBE_REUSE_TASK_MASK;

		ASSERT_EQ(mcube_reuse_advice(new), mcube_reuse_advice(old));
		if (owner != (task & MCUBE_REUSE_TASK_MASK) && mcube_reuse_times(old)) {
			ASSERT_EQ(mcube_reuse_times(new), mcube_reuse_times(old) - 1);
			new += 1U << MCUBE_REUSE_TIMES_SHIFT;
			ASSERT_EQ(new, old);
			continue;
		}
		ASSERT_EQ(new & MCUBE_REUSE_STAMP_MASK, now & MCUBE_REUSE_STAMP_MASK);
		ASSERT_EQ(new >> MCUBE_REUSE_TASK_SHIFT & MCUBE_REUSE_TASK_MASK,
			  task & MCUBE_REUSE_TASK_MASK);
		ASSERT_LE(mcube_reuse_times(new), mcube_reuse_times(old) + 1);
	}
}

TEST(a_file_that_has_grown_is_no_longer_in_use)
{
	u32 reuse = 0;
	int i;

	for (i = 0; i < 4; i++)
		reuse = mcube_reuse_begin(reuse, 7, 0, 100);
	EXPECT_TRUE(mcube_reuse_spreads(reuse, MCUBE_ADVICE_NONE));
	reuse = mcube_reuse_forget(reuse);
	EXPECT_FALSE(mcube_reuse_spreads(reuse, MCUBE_ADVICE_NONE));
	for (i = 0; i < 2; i++)
		reuse = mcube_reuse_begin(reuse, 7, 0, 100);
	EXPECT_TRUE(mcube_reuse_spreads(reuse, MCUBE_ADVICE_NONE));
	reuse = mcube_reuse_advise(reuse, MCUBE_ADVICE_SPREAD);
	EXPECT_TRUE(mcube_reuse_spreads(mcube_reuse_forget(reuse), MCUBE_ADVICE_NONE));
}
