// SPDX-License-Identifier: GPL-2.0
/*
 * Lending: when reserved colors are lent, and what a sample of page frames says.
 */
#include "mcube_test.h"

#include "srm/lend.h"

#define AFTER	10U

TEST(lent_until_something_streams)
{
	struct mcube_lend l;
	unsigned int i;

	mcube_lend_init(&l, 500);
	EXPECT_TRUE(mcube_lend_tick(&l, 500, false, AFTER));
	EXPECT_FALSE(mcube_lend_streams(&l, 500 + MCUBE_LEND_STREAM - 1));
	EXPECT_TRUE(mcube_lend_streams(&l, 500 + MCUBE_LEND_STREAM));
	EXPECT_FALSE(mcube_lend_streams(&l, 400));
	EXPECT_TRUE(mcube_lend_tick(&l, 500 + MCUBE_LEND_STREAM - 1, false, AFTER));
	EXPECT_FALSE(mcube_lend_tick(&l, 499 + 2 * MCUBE_LEND_STREAM, false, AFTER));
	for (i = 1; i < AFTER; i++)
		EXPECT_FALSE(mcube_lend_tick(&l, 499 + 2 * MCUBE_LEND_STREAM, false, AFTER));
	EXPECT_TRUE(mcube_lend_tick(&l, 499 + 2 * MCUBE_LEND_STREAM, false, AFTER));
}

/* A stream each few seconds keeps the colors reserved. */
TEST(a_stream_now_and_then)
{
	unsigned long pages = 0;
	struct mcube_lend l;
	unsigned int i;

	mcube_lend_init(&l, pages);
	for (i = 0; i < 100; i++) {
		pages += i % AFTER ? 0 : MCUBE_LEND_STREAM;
		EXPECT_FALSE(mcube_lend_tick(&l, pages, false, AFTER));
	}
}

TEST(slow_readers_are_no_stream)
{
	unsigned long pages = ULONG_MAX - 10 * MCUBE_LEND_STREAM;
	struct mcube_lend l;
	unsigned int i;

	/* Also where the count wraps. */
	mcube_lend_init(&l, pages);
	for (i = 0; i < 100; i++) {
		pages += MCUBE_LEND_STREAM / 2;
		EXPECT_TRUE(mcube_lend_tick(&l, pages, false, AFTER));
	}
}

/* A batch was counted, and most of its pages were not used. */
TEST(pages_are_taken_back)
{
	struct mcube_lend l;

	mcube_lend_init(&l, 100);
	EXPECT_TRUE(mcube_lend_tick(&l, 85, false, AFTER));
	EXPECT_TRUE(mcube_lend_tick(&l, 101, false, AFTER));
}

TEST(never)
{
	struct mcube_lend l;

	mcube_lend_init(&l, 0);
	EXPECT_FALSE(mcube_lend_tick(&l, 0, false, 0));
	EXPECT_TRUE(mcube_lend_tick(&l, 0, false, AFTER));
	EXPECT_FALSE(mcube_lend_tick(&l, 0, true, AFTER));
}

/* One second: does the tick look at frames, and lend? */
static bool second(struct mcube_lend *l, unsigned long pages, unsigned long mapped,
		   bool found, unsigned int *looks)
{
	bool look = mcube_lend_looks(l, pages, mapped, AFTER);

	*looks += look;
	return mcube_lend_tick(l, pages, look && found, AFTER);
}

TEST(an_idle_machine_looks_at_nothing)
{
	unsigned long pages = 0;
	unsigned int i, looks = 0;
	struct mcube_lend l;

	mcube_lend_init(&l, pages);
	for (i = 0; i < 3600; i++)
		EXPECT_TRUE(second(&l, pages, 5000 + i % 100, false, &looks));
	EXPECT_EQ(looks, MCUBE_LEND_LOOKS);
	/* A stream by calls says all: there is no need to look before it ends. */
	for (i = looks = 0; i < 3600; i++)
		EXPECT_FALSE(second(&l, pages += MCUBE_LEND_STREAM, 5000, false, &looks));
	EXPECT_EQ(looks, 0);
	for (i = 1; i < AFTER; i++)
		EXPECT_FALSE(second(&l, pages, 5000, false, &looks));
	EXPECT_EQ(looks, 0);
	for (i = 0; i < 3600; i++)
		EXPECT_TRUE(second(&l, pages, 5000, false, &looks));
	EXPECT_EQ(looks, 1 + MCUBE_LEND_LOOKS);
}

TEST(mapped_pages_that_come_are_looked_at)
{
	unsigned int i, looks = 0;
	struct mcube_lend l;

	mcube_lend_init(&l, 0);
	for (i = 0; i < 100; i++)
		second(&l, 0, 5000, false, &looks);
	/* They come slowly, after others have gone; and the first samples miss them. */
	second(&l, 0, 2000, false, &looks);
	for (i = looks = 0; !looks; i++)
		EXPECT_TRUE(second(&l, 0, 2000 + 100 * i, false, &looks));
	EXPECT_EQ(i, MCUBE_LEND_STREAM / 100 + 2);
	for (i = 1; i < MCUBE_LEND_LOOKS - 1; i++)
		EXPECT_TRUE(second(&l, 0, 4000, false, &looks));
	EXPECT_FALSE(second(&l, 0, 4000, true, &looks));
	/* While they stay, the colors are reserved, at one look for the time of quiet. */
	for (i = looks = 0; i < 100 * AFTER; i++)
		EXPECT_FALSE(second(&l, 0, 4000, true, &looks));
	EXPECT_EQ(looks, 100);
	/* A shorter time does not lend them unseen. */
	for (i = 1; i < AFTER - 1; i++)
		second(&l, 0, 4000, true, &looks);
	EXPECT_TRUE(mcube_lend_looks(&l, 0, 4000, 1));
	EXPECT_FALSE(mcube_lend_tick(&l, 0, true, 1));
	EXPECT_FALSE(mcube_lend_looks(&l, 0, 4000, 0));
}

/*
 * Sample memory of @frames frames, @share sixteenths of which are reserved, at the rates of
 * mapped files given.
 */
static bool sampled(unsigned long frames, unsigned int share, double inside, double outside)
{
	struct mcube_lend_sample s = { };
	unsigned long per = frames / 16384 | 1, i;

	for (i = 0; i < frames; i += per) {
		bool reserved = get_random_u32_below(16) < share;

		s.nr[reserved]++;
		s.mapped[reserved] += get_random_u32() <
			(reserved ? inside : outside) * U32_MAX;
	}
	return mcube_lend_mapped(&s, per);
}

/* Of 1000 ticks. */
static unsigned int times(unsigned long frames, unsigned int share, double inside,
			  double outside)
{
	unsigned int i, n = 0;

	for (i = 0; i < 1000; i++)
		n += sampled(frames, share, inside, outside);
	return n;
}

/* Memory of 512 MiB, 16 GiB and 1 TiB. */
static const unsigned long memories[] = { 1UL << 17, 1UL << 22, 1UL << 28 };

TEST(libraries_are_no_stream)
{
	static const double rates[] = { 0, .001, .01, .1, .5 };
	unsigned int i, k;

	for (i = 0; i < ARRAY_SIZE(memories); i++) {
		for (k = 0; k < ARRAY_SIZE(rates); k++) {
			EXPECT_GE(1, times(memories[i], 1, rates[k], rates[k]));
			EXPECT_GE(1, times(memories[i], 8, rates[k], rates[k]));
		}
	}
}

/* A mapped stream of 24 MiB in memory of 16 GiB, and of a fifth of what is reserved. */
TEST(mapped_streams)
{
	double share = 24. / 1024;
	unsigned int i;

	EXPECT_LE(980, times(1UL << 22, 1, .001 + share, .001));
	for (i = 0; i < ARRAY_SIZE(memories); i++)
		EXPECT_LE(995, times(memories[i], 1, .2, .01));
}
