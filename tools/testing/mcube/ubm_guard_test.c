// SPDX-License-Identifier: GPL-2.0
/*
 * The guard: when it stands back and for how long, and that losses stay small whatever
 * happens.
 */
#include "mcube_test.h"

#include "replay/paper/guard.h"

static struct mcube_ubm_guard guard;

static void begin(u32 pages, unsigned int shift)
{
	mcube_ubm_guard_init(&guard);
	mcube_ubm_guard_resize(&guard, pages, shift);
}

/* Lose until the guard trips.  Return: pages lost. */
static u32 trip(void)
{
	u32 lost = 0;

	while (!mcube_ubm_guard_step(&guard, 0)) {
		mcube_ubm_guard_lose(&guard);
		lost++;
	}
	return lost;
}

TEST(terms_grow_until_something_is_earned)
{
	u64 term;
	u32 i;

	begin(1600, 0);
	for (i = 0, term = 1600; i < 10; i++, term = min(2 * term, 256 * 1600UL)) {
		EXPECT_EQ(trip(), 101);
		EXPECT_TRUE(mcube_ubm_guard_on(&guard));
		EXPECT_EQ(guard.left, term);
		EXPECT_FALSE(mcube_ubm_guard_step(&guard, term - 1));
		EXPECT_TRUE(mcube_ubm_guard_on(&guard));
		EXPECT_TRUE(mcube_ubm_guard_step(&guard, 1));
		EXPECT_FALSE(mcube_ubm_guard_on(&guard));
	}
	EXPECT_EQ(guard.trips, 10);
	for (i = 0; i < 1000; i++)
		mcube_ubm_guard_gain(&guard);
	EXPECT_FALSE(mcube_ubm_guard_step(&guard, 1));
	/* The lead that is remembered is an eighth of the cache. */
	EXPECT_EQ(trip(), 301);
	EXPECT_EQ(guard.left, 1600);
}

TEST(a_sample_has_its_share_of_the_slack)
{
	begin(1 << 20, 6);
	EXPECT_EQ(trip(), 1025);
	EXPECT_EQ(guard.left, 1 << 20);
	/* In a tiny cache a few pages are no lag. */
	begin(10, 0);
	EXPECT_EQ(trip(), 9);
}

/* Whatever UBM loses while it acts, the loss is below 2 % in the long run. */
TEST(harm_is_bounded)
{
	unsigned long refs = 0, lost = 0;

	begin(1000, 0);
	while (refs < 1000000) {
		/* At worst each reference is a loss. */
		if (!mcube_ubm_guard_on(&guard)) {
			mcube_ubm_guard_lose(&guard);
			lost++;
		}
		mcube_ubm_guard_step(&guard, 1);
		refs++;
	}
	TH_LOG("lost %lu of %lu references", lost, refs);
	EXPECT_LT(lost, refs / 50);
	EXPECT_GT(guard.trips, 1);
}
