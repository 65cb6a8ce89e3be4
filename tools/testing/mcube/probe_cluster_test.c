// SPDX-License-Identifier: GPL-2.0
/*
 * Latencies and bank sets of 'mcube map probe': two modes or a refusal, sets or a refusal.
 */
#include "mcube_test.h"

#include <math.h>

#include "../../mcube/probe/cluster.h"

#define PAIRS	8192

static double latency[PAIRS];
static struct cluster_lines lines;

/* About normal: mean 0, standard deviation 1. */
static double normal(void)
{
	double sum = -6;

	for (int i = 0; i < 12; i++)
		sum += get_random_u32() / 4294967296.0;
	return sum;
}

TEST(two_modes_are_told_from_one)
{
	for (unsigned int banks = 2; banks <= 256; banks *= 2) {
		struct cluster_split s;
		unsigned int high = 0;

		for (unsigned int i = 0; i < PAIRS; i++) {
			bool conflict = !get_random_u32_below(banks);

			high += conflict;
			latency[i] = 300 + 100 * conflict + 8 * normal();
		}
		cluster_split(&s, latency, PAIRS);
		ASSERT_EQ(s.why, NULL) TH_LOG("%u banks: %s", banks, s.why);
		EXPECT_GT(s.threshold, 325);
		EXPECT_LT(s.threshold, 390);
		EXPECT_EQ((unsigned int)(s.share * PAIRS + .5), high);
	}
}

/* One mode, wide or with a tail; and a second mode that is not there the second time. */
TEST(noise_is_refused)
{
	double low[100], high[100];
	const double tiny = .000000001;
	struct cluster_split s;

	for (unsigned int kind = 0; kind < 4; kind++) {
		for (unsigned int i = 0; i < PAIRS; i++) {
			double x = get_random_u32() / 4294967296.0;

			latency[i] = kind == 0 ? 300 : kind == 1 ? 300 + 20 * normal() :
				kind == 2 ? 300 + 300 * x : 300 - 40 * log(x + tiny);
		}
		cluster_split(&s, latency, PAIRS);
		EXPECT_NE(s.why, NULL) TH_LOG("kind %u: gap %f, share %f", kind, s.gap, s.share);
	}
	for (unsigned int i = 0; i < PAIRS; i++)
		latency[i] = i % 32 ? 300 : 400;
	for (unsigned int i = 0; i < 100; i++) {
		low[i] = 300;
		high[i] = i % 2 ? 300 : 400;
	}
	cluster_split(&s, latency, PAIRS);
	ASSERT_EQ(s.why, NULL);
	cluster_confirm(&s, low, 100, low, 0);
	EXPECT_EQ(s.confidence, 0);
	cluster_split(&s, latency, PAIRS);
	cluster_confirm(&s, low, 100, high, 100);
	EXPECT_NE(s.why, NULL);
}

static unsigned int banks, wrong;
static bool by_line;

static bool conflict(void *context, unsigned int a, unsigned int b)
{
	if (get_random_u32_below(1000) < wrong)
		return get_random_u32() & 1;
	return by_line ? a % 2 && b % 2 : a % banks == b % banks;
}

TEST(sets_are_banks)
{
	for (banks = 2; banks <= 256; banks *= 4) {
		for (wrong = 0; wrong <= 20; wrong += 10) {
			unsigned int right = 0;

			lines = (struct cluster_lines){ .conflict = conflict, .nr = 2048 };
			cluster(&lines, 1);
			ASSERT_EQ(lines.why, NULL) TH_LOG("%u banks: %s", banks, lines.why);
			for (unsigned int i = banks; i < lines.nr; i++)
				right += lines.set[i] == lines.set[i - banks];
			EXPECT_GE(right, (lines.nr - banks) * (100 - 2 * wrong) / 100);
			EXPECT_LT(lines.timed, lines.nr * (banks * 3 / 4 + 3));
		}
	}
}

/* Slow lines rather than conflicting pairs; conflicts at random. */
TEST(what_is_no_bank_is_refused)
{
	wrong = 0;
	by_line = true;
	lines = (struct cluster_lines){ .conflict = conflict, .nr = 1024 };
	cluster(&lines, 1);
	EXPECT_NE(lines.why, NULL);
	by_line = false;
	banks = 16;
	wrong = 1000;
	lines = (struct cluster_lines){ .conflict = conflict, .nr = 1024 };
	cluster(&lines, 1);
	EXPECT_NE(lines.why, NULL);
}

TEST(bounds_of_shares)
{
	EXPECT_EQ(cluster_at_least(0, 0), 0);
	EXPECT_GT(cluster_at_least(400, 400), .99);
	EXPECT_LT(cluster_at_least(400, 400), 1);
	EXPECT_LT(cluster_at_least(50, 100), .5);
}
