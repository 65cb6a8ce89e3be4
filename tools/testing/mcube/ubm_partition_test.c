// SPDX-License-Identifier: GPL-2.0
/*
 * Shares of a cache: buckets of periods in double precision, the sizes against a fill
 * page by page, and who holds what.
 */
#include "mcube_test.h"

#include <math.h>

#include "replay/paper/partition.h"

static struct mcube_ubm_loops loops;
static struct mcube_ubm_gain gain;
static struct mcube_ubm_shares shares;

TEST(a_bucket_is_a_quarter_of_an_octave)
{
	unsigned long i;
	u32 before = 0;

	EXPECT_EQ(mcube_ubm_bucket(1), 0);
	EXPECT_EQ(mcube_ubm_bucket(U32_MAX), MCUBE_UBM_BUCKETS - 1);
	for (i = 0; i < 20000; i++) {
		u32 period = 1 + (get_random_u32() >> get_random_u32_below(32));
		u32 bucket = mcube_ubm_bucket(period);
		double gain = mcube_ubm_bucket_gain(bucket) / 4294967296.0;

		ASSERT_LT(bucket, MCUBE_UBM_BUCKETS);
		/* The middle of the bucket is at most an eighth of its start away. */
		if (period >= 8 && period < 1 << 20)
			ASSERT_LT(fabs(gain * period - 1), .126);
	}
	for (i = 1; i < 100000; i++) {
		ASSERT_GE(mcube_ubm_bucket(i), before);
		before = mcube_ubm_bucket(i);
	}
}

TEST(a_period_at_an_edge_stays_in_its_bucket)
{
	unsigned long i;

	EXPECT_EQ(mcube_ubm_bucket_keep(MCUBE_UBM_BUCKETS, 1000), mcube_ubm_bucket(1000));
	EXPECT_EQ(mcube_ubm_bucket_keep(mcube_ubm_bucket(1000), 1030), mcube_ubm_bucket(1000));
	EXPECT_EQ(mcube_ubm_bucket_keep(mcube_ubm_bucket(1000), 2000), mcube_ubm_bucket(2000));
	for (i = 0; i < 20000; i++) {
		u32 period = 1 + (get_random_u32() >> get_random_u32_below(32));
		u32 bucket = get_random_u32_below(MCUBE_UBM_BUCKETS + 1);
		u32 kept = mcube_ubm_bucket_keep(bucket, period);

		ASSERT_LE(abs((int)(kept - mcube_ubm_bucket(period))), 1);
	}
}

static void random_gain(u32 pages)
{
	struct mcube_ubm_point point[MCUBE_UBM_POINTS];
	u64 hits = 0;
	u32 i;

	for (i = 0; i < MCUBE_UBM_POINTS; i++) {
		hits += get_random_u32_below(2) ? get_random_u32_below(30000) : 0;
		point[i] = (struct mcube_ubm_point){ pages * (i + 1) / MCUBE_UBM_POINTS, hits };
	}
	memset(&gain, 0, sizeof(gain));
	mcube_ubm_gain_set(&gain, point, MCUBE_UBM_POINTS, 1000000, 500000, MCUBE_UBM_HISTOGRAM);
}

/* Hits per reference of the other pages, in double precision. */
static double hits_of(u32 pages)
{
	double hits = 0;
	u32 i;

	for (i = 1; i <= pages; i++)
		hits += mcube_ubm_gain_at(&gain, i);
	return hits;
}

/*
 * No other division of the cache has more hits: all sizes of the loops, which get their
 * pages shortest period first.
 */
TEST(no_other_sizes_have_more_hits)
{
	enum { PAGES = 320 };
	unsigned long i;

	for (i = 0; i < 200 * test_scale(); i++) {
		u32 period[8], wanted[8], k, n, left, bucket;
		double best = 0, got = 0;

		memset(&loops, 0, sizeof(loops));
		random_gain(PAGES);
		for (k = 0; k < 8; k++) {
			period[k] = 50 + get_random_u32_below(10000);
			wanted[k] = 1 + get_random_u32_below(100);
			mcube_ubm_loops_add(&loops, mcube_ubm_bucket(period[k]), wanted[k], 0);
		}
		mcube_ubm_shares_compute(&shares, &loops, &gain, PAGES);
		ASSERT_EQ(shares.loop + shares.other, PAGES);
		for (n = 0; n <= PAGES; n++) {
			double hits = hits_of(PAGES - n);

			left = n;
			for (bucket = 0; bucket < MCUBE_UBM_BUCKETS; bucket++) {
				u32 take = min_t(u64, left, loops.wanted[bucket]);

				hits += take * (double)mcube_ubm_bucket_gain(bucket);
				left -= take;
			}
			/* Pages that nobody wants are the others'. */
			if (left)
				break;
			best = fmax(best, hits);
			if (n == shares.loop)
				got = hits;
		}
		ASSERT_GE(got, best * .999999);
	}
}

TEST(loops_share_the_grant_and_keep_what_they_have)
{
	u32 bucket = mcube_ubm_bucket(1000), held[3], i;

	memset(&loops, 0, sizeof(loops));
	memset(&gain, 0, sizeof(gain));
	mcube_ubm_loops_add(&loops, mcube_ubm_bucket(100), 50, 0);
	mcube_ubm_loops_add(&loops, mcube_ubm_bucket(5000), 50, 0);
	for (i = 0; i < 3; i++)
		mcube_ubm_loops_add(&loops, bucket, 100, 0);
	mcube_ubm_shares_compute(&shares, &loops, &gain, 200);
	EXPECT_EQ(shares.cutoff, bucket);
	EXPECT_EQ(shares.grant, 150);
	EXPECT_EQ(shares.loop, 200);
	EXPECT_EQ(shares.other, 0);
	EXPECT_EQ(shares.mg_loop, mcube_ubm_bucket_gain(bucket));
	EXPECT_EQ(mcube_ubm_shares_hold(&shares, &loops, mcube_ubm_bucket(100), 50, 0), 50);
	EXPECT_EQ(mcube_ubm_shares_hold(&shares, &loops, mcube_ubm_bucket(5000), 50, 50), 0);
	for (i = 0; i < 3; i++) {
		held[i] = mcube_ubm_shares_hold(&shares, &loops, bucket, 100, 0);
		mcube_ubm_loops_add(&loops, bucket, 0, held[i]);
	}
	EXPECT_EQ(held[0], 100);
	EXPECT_EQ(held[1], 50);
	EXPECT_EQ(held[2], 0);
	/* Whoever comes next, nobody loses pages. */
	EXPECT_EQ(mcube_ubm_shares_hold(&shares, &loops, bucket, 100, 0), 0);
	EXPECT_EQ(mcube_ubm_shares_hold(&shares, &loops, bucket, 100, 50), 50);
	EXPECT_EQ(mcube_ubm_shares_hold(&shares, &loops, bucket, 100, 100), 100);
	/* With a smaller grant, the loop that comes first gives pages up. */
	shares.grant = 120;
	EXPECT_EQ(mcube_ubm_shares_hold(&shares, &loops, bucket, 100, 100), 70);
	EXPECT_EQ(loops.all, 150);
}

TEST(all_loops_are_held_if_there_is_room)
{
	memset(&loops, 0, sizeof(loops));
	memset(&gain, 0, sizeof(gain));
	mcube_ubm_loops_add(&loops, 40, 60, 0);
	mcube_ubm_loops_add(&loops, 90, 60, 0);
	mcube_ubm_shares_compute(&shares, &loops, &gain, 120);
	EXPECT_EQ(shares.cutoff, MCUBE_UBM_BUCKETS);
	EXPECT_EQ(shares.loop, 120);
	EXPECT_EQ(shares.mg_loop, 0);
	mcube_ubm_loops_remove(&loops, 40, 60, 0);
	mcube_ubm_loops_remove(&loops, 90, 60, 0);
	EXPECT_EQ(loops.wanted[40] + loops.wanted[90], 0);
}
