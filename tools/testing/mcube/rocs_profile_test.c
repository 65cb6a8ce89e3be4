// SPDX-License-Identifier: GPL-2.0
/*
 * The page profile against a table that is indexed by page, the miss-rate stack against a
 * definition of its order, and the sampled order against the true order.
 */
#include "mcube_test.h"

#include <linux/limits.h>

#include "rocs/profile.h"

enum { SLOTS = 1024, PAGES = 700 };

static struct rocs_page slot[2 * SLOTS], slot2[4 * SLOTS];
static struct rocs_entry stack[4 * SLOTS];
static struct rocs_profile profile;

/* Page numbers that are far apart, close together, and at both ends of the range. */
static u64 page_number(unsigned int i)
{
	switch (i % 3) {
	case 0:
		return i;
	case 1:
		return (u64)i << 40;
	default:
		return ~0ULL - i;
	}
}

TEST(samples_are_counted_by_page)
{
	static u32 hits[PAGES], misses[PAGES];
	unsigned long n, total = 100000 * test_scale();
	unsigned int i, used = 0, found;
	bool miss;

	memset(hits, 0, sizeof(hits));
	memset(misses, 0, sizeof(misses));
	rocs_profile_init(&profile, slot, SLOTS);
	for (n = 0; n < total; n++) {
		i = get_random_u32_below(PAGES);
		miss = get_random_u32_below(PAGES) < i;
		rocs_profile_add(&profile, page_number(i), miss);
		hits[i] += !miss;
		misses[i] += miss;
	}
	ASSERT_EQ(profile.hits + profile.misses, total);
	ASSERT_EQ(profile.dropped, 0);
	for (i = 0; i < PAGES; i++)
		used += hits[i] + misses[i] > 0;
	ASSERT_EQ(profile.nr, used);
	found = rocs_profile_stack(&profile, stack, SLOTS, 0);
	ASSERT_EQ(found, used);
	while (found--) {
		for (i = 0; page_number(i) != stack[found].page; i++)
			ASSERT_LT(i, PAGES);
		ASSERT_EQ(stack[found].samples, hits[i] + misses[i]);
		/* Each page is there once: its counts are used up. */
		ASSERT_NE(hits[i] + misses[i], 0);
		hits[i] = 0;
		misses[i] = 0;
	}
}

TEST(pages_beyond_the_bound_are_counted)
{
	unsigned int i;

	rocs_profile_init(&profile, slot, SLOTS);
	for (i = 0; i < SLOTS; i++) {
		ASSERT_EQ(rocs_profile_full(&profile), i >= SLOTS / 4 * 3);
		rocs_profile_add(&profile, page_number(i), i % 2);
	}
	EXPECT_EQ(profile.nr, SLOTS / 4 * 3);
	EXPECT_EQ(profile.dropped, SLOTS / 4);
	EXPECT_EQ(profile.hits + profile.misses, SLOTS / 4 * 3);
	/* Pages that have a slot go on. */
	rocs_profile_add(&profile, page_number(0), true);
	EXPECT_EQ(profile.dropped, SLOTS / 4);
}

TEST(a_larger_profile_takes_over_the_samples)
{
	struct rocs_profile larger;
	unsigned int i, nr;

	rocs_profile_init(&profile, slot, SLOTS);
	for (i = 0; i < SLOTS; i++)
		rocs_profile_add(&profile, page_number(i), i % 3 == 0);
	rocs_profile_init(&larger, slot2, 4 * SLOTS);
	rocs_profile_move(&larger, &profile);
	memset(slot, 0xff, sizeof(slot));
	EXPECT_EQ(larger.hits, profile.hits);
	EXPECT_EQ(larger.misses, profile.misses);
	EXPECT_EQ(larger.dropped, profile.dropped);
	nr = rocs_profile_stack(&larger, stack, ARRAY_SIZE(stack), 0);
	EXPECT_EQ(nr, SLOTS / 4 * 3);
	for (i = 0; i < nr; i++)
		EXPECT_EQ(stack[i].samples, 1);
}

TEST(the_stack_is_sorted_and_cut_off)
{
	unsigned int i, nr, all, below = 0;
	u32 cut = ROCS_RATE_ONE / 4;

	rocs_profile_init(&profile, slot, SLOTS);
	for (i = 0; i < 50000; i++) {
		u32 page = get_random_u32_below(PAGES);

		rocs_profile_add(&profile, page, get_random_u32_below(PAGES) < page);
	}
	all = rocs_profile_stack(&profile, stack, SLOTS, 0);
	for (i = 1; i < all; i++) {
		ASSERT_GE(stack[i - 1].rate, stack[i].rate);
		if (stack[i - 1].rate != stack[i].rate)
			continue;
		ASSERT_GE(stack[i - 1].samples, stack[i].samples);
		if (stack[i - 1].samples == stack[i].samples)
			ASSERT_LT(stack[i - 1].page, stack[i].page);
	}
	for (i = 0; i < all; i++)
		below += stack[i].rate < cut;
	ASSERT_GT(below, 0);
	nr = rocs_profile_stack(&profile, stack, SLOTS, cut);
	EXPECT_EQ(nr, all - below);
	EXPECT_GE(stack[nr - 1].rate, cut);
}

TEST(a_page_with_few_samples_is_near_the_rate_of_the_process)
{
	unsigned int i, nr;

	rocs_profile_init(&profile, slot, SLOTS);
	for (i = 0; i < 1000; i++) {
		rocs_profile_add(&profile, 1, i % 10 != 0);
		rocs_profile_add(&profile, 2, i % 10 == 0);
	}
	EXPECT_EQ(rocs_profile_rate(&profile), ROCS_RATE_ONE / 2);
	/* One miss does not put page 3 above page 1, nor one hit page 4 below page 2. */
	rocs_profile_add(&profile, 3, true);
	rocs_profile_add(&profile, 4, false);
	nr = rocs_profile_stack(&profile, stack, SLOTS, 0);
	ASSERT_EQ(nr, 4);
	EXPECT_EQ(stack[0].page, 1);
	EXPECT_EQ(stack[1].page, 3);
	EXPECT_EQ(stack[2].page, 4);
	EXPECT_EQ(stack[3].page, 2);
	/* No sample at all: nothing to divide by. */
	rocs_profile_init(&profile, slot, SLOTS);
	EXPECT_EQ(rocs_profile_rate(&profile), 0);
	EXPECT_EQ(rocs_profile_stack(&profile, stack, SLOTS, 0), 0);
}

TEST(counts_stop_at_their_end)
{
	unsigned int i;

	rocs_profile_init(&profile, slot, 4);
	rocs_profile_add(&profile, 5, true);
	for (i = 0; i < 4; i++)
		slot[i].misses = slot[i].misses ? U32_MAX : 0;
	rocs_profile_add(&profile, 5, true);
	ASSERT_EQ(rocs_profile_stack(&profile, stack, 4, 0), 1);
	EXPECT_EQ(stack[0].samples, U32_MAX);
	EXPECT_EQ(profile.nr, 1);
}

/* Spearman's rank correlation of the stack with the true order: page 0 misses most. */
static double rank_correlation(unsigned int nr)
{
	double sum = 0, d;
	unsigned int i;

	for (i = 0; i < nr; i++) {
		d = (double)stack[i].page - i;
		sum += d * d;
	}
	return 1 - 6 * sum / ((double)nr * ((double)nr * nr - 1));
}

TEST(samples_find_the_true_order)
{
	unsigned int page, nr;
	unsigned long n;
	double r;

	rocs_profile_init(&profile, slot, SLOTS);
	for (n = 0; n < 100UL * PAGES; n++) {
		page = get_random_u32_below(PAGES);
		rocs_profile_add(&profile, page, get_random_u32_below(PAGES) >= page);
	}
	nr = rocs_profile_stack(&profile, stack, SLOTS, 0);
	ASSERT_EQ(nr, PAGES);
	r = rank_correlation(nr);
	TH_LOG("rank correlation %f", r);
	EXPECT_GT(r, 0.95);
}
