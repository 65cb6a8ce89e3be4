// SPDX-License-Identifier: GPL-2.0
/*
 * Marginal gains: the concave hull against brute force, fixed point against double
 * precision, and the model of Belady.
 */
#include "mcube_test.h"

#include <math.h>

#include "replay/paper/gain.h"

static struct mcube_ubm_gain gain;
static struct mcube_ubm_point point[MCUBE_UBM_POINTS];

static const double one = 4294967296.0;

/* The hull at @pages by brute force: the best chord over @pages. */
static double hull(const struct mcube_ubm_point *p, u32 nr, double pages)
{
	double best = 0, x, y, v;
	u32 i, j;

	for (i = 0; i <= nr; i++) {
		x = i ? p[i - 1].pages : 0;
		y = i ? p[i - 1].hits : 0;
		for (j = i; j <= nr && x <= pages; j++) {
			double to = j ? p[j - 1].pages : 0, end = j ? p[j - 1].hits : 0;

			if (to < pages)
				continue;
			v = to > x ? y + (end - y) * (pages - x) / (to - x) : y;
			best = fmax(best, v);
		}
	}
	return best;
}

static u32 random_curve(u32 refs)
{
	u32 nr = 1 + get_random_u32_below(MCUBE_UBM_POINTS), i, pages = 0;
	u64 hits = 0;

	for (i = 0; i < nr; i++) {
		pages += 1 + get_random_u32_below(1 << get_random_u32_below(16));
		if (get_random_u32_below(2))
			hits += get_random_u32_below(refs / MCUBE_UBM_POINTS);
		point[i] = (struct mcube_ubm_point){ pages, hits };
	}
	return nr;
}

/* A cache of 8 TiB counts 2^34 references: gains are those of the same curve with 2^30. */
TEST(counts_of_large_caches_do_not_overflow)
{
	enum mcube_ubm_model model;
	u32 i, nr = 16;

	for (model = MCUBE_UBM_HISTOGRAM; model <= MCUBE_UBM_BELADY; model++) {
		struct mcube_ubm_gain small = { 0 };

		memset(&gain, 0, sizeof(gain));
		for (i = 0; i < nr; i++)
			point[i] = (struct mcube_ubm_point){
				(i + 1) << 27, (1 << 30) - (1 << 30) / (i + 2)
			};
		mcube_ubm_gain_set(&small, point, nr, 1 << 30, 1 << 30, model);
		for (i = 0; i < nr; i++)
			point[i].hits <<= 4;
		mcube_ubm_gain_set(&gain, point, nr, 1ULL << 34, 1ULL << 34, model);
		ASSERT_EQ(gain.nr, small.nr);
		EXPECT_EQ(gain.power, small.power);
		EXPECT_EQ(gain.miss, small.miss);
		for (i = 0; i < gain.nr; i++)
			EXPECT_EQ(gain.slope[i], small.slope[i]);
	}
	EXPECT_NE(gain.power, 0);
}

TEST(slopes_are_those_of_the_hull)
{
	unsigned long i;

	for (i = 0; i < 2000 * test_scale(); i++) {
		u32 refs = 1000 + get_random_u32_below(1 << 30), nr = random_curve(refs), n, k;
		double want, got;
		u64 before = U64_MAX;

		memset(&gain, 0, sizeof(gain));
		mcube_ubm_gain_set(&gain, point, nr, refs, refs, MCUBE_UBM_HISTOGRAM);
		for (k = 0; k < gain.nr; k++) {
			ASSERT_LE(gain.slope[k], before);
			before = gain.slope[k];
		}
		for (k = 0; k < 20; k++) {
			n = 1 + get_random_u32_below(point[nr - 1].pages);
			want = (hull(point, nr, n) - hull(point, nr, n - 1)) / refs * one;
			got = mcube_ubm_gain_at(&gain, n);
			ASSERT_LE(fabs(want - got), 2 + want / 100000);
		}
		ASSERT_EQ(mcube_ubm_gain_at(&gain, point[nr - 1].pages + 1), 0);
	}
}

TEST(pages_are_kept_while_they_are_worth_it)
{
	unsigned long i;

	for (i = 0; i < 5000 * test_scale(); i++) {
		u32 refs = 1000 + get_random_u32_below(1 << 20), nr = random_curve(refs);
		u32 most = 1 + get_random_u32_below(2 * point[nr - 1].pages), keep;
		u64 worth = 1 + get_random_u32() / (1 + get_random_u32_below(100000));

		memset(&gain, 0, sizeof(gain));
		mcube_ubm_gain_set(&gain, point, nr, refs, refs, i & 1);
		keep = mcube_ubm_gain_keep(&gain, worth, most);
		ASSERT_LE(keep, most);
		if (keep)
			ASSERT_GE(mcube_ubm_gain_at(&gain, keep), worth);
		if (keep < most)
			ASSERT_LT(mcube_ubm_gain_at(&gain, keep + 1), worth);
	}
}

TEST(nothing_is_gained_where_nothing_is_known)
{
	memset(&gain, 0, sizeof(gain));
	EXPECT_EQ(mcube_ubm_gain_at(&gain, 100), 0);
	EXPECT_EQ(mcube_ubm_gain_keep(&gain, 1, 100), 0);
	point[0] = (struct mcube_ubm_point){ 100, 0 };
	mcube_ubm_gain_set(&gain, point, 1, 0, 0, MCUBE_UBM_BELADY);
	EXPECT_EQ(mcube_ubm_gain_at(&gain, 100), 0);
	mcube_ubm_gain_set(&gain, point, 1, 1000, 1000, MCUBE_UBM_BELADY);
	EXPECT_EQ(mcube_ubm_gain_at(&gain, 100), 0);
}

/* A curve hit(n) = 1 - c * n^-k, of references that are @share of all. */
static void belady(double c, double k, u32 pages, u32 refs)
{
	u32 i;

	for (i = 0; i < MCUBE_UBM_POINTS; i++) {
		u32 n = (u64)pages * (i + 1) / MCUBE_UBM_POINTS;

		point[i] = (struct mcube_ubm_point){ n, refs * fmax(0, 1 - c * pow(n, -k)) };
	}
}

TEST(the_model_is_found_and_computed_as_in_double_precision)
{
	unsigned long i;

	for (i = 0; i < 1000 * test_scale(); i++) {
		u32 pages = 200 + get_random_u32_below(1 << 22), n;
		double k = .1 + get_random_u32_below(2000) / 1000.0, want, got;
		double c = (.2 + get_random_u32_below(400) / 1000.0) * pow(pages / 2, k);
		u32 other = 1 << 28, refs = other + get_random_u32_below(1 << 28);

		belady(c, k, pages, other);
		memset(&gain, 0, sizeof(gain));
		mcube_ubm_gain_set(&gain, point, MCUBE_UBM_POINTS, refs, other, MCUBE_UBM_BELADY);
		ASSERT_NE(gain.power, 0);
		ASSERT_LT(fabs(gain.power / 65536.0 - k), .02 * k + .002);
		n = pages / 2 + get_random_u32_below(pages);
		want = k * c * pow(n, -k - 1) * other / refs * one;
		got = mcube_ubm_gain_at(&gain, n);
		ASSERT_LE(fabs(want - got), 2 + want * .03);
	}
}

/* Half the size has as many hits: the slope between is noise, and the hull is used. */
TEST(the_model_is_not_used_where_hit_ratios_are_close)
{
	u32 i;

	for (i = 0; i < MCUBE_UBM_POINTS; i++)
		point[i] = (struct mcube_ubm_point){ (i + 1) * 10, 500000 + i };
	memset(&gain, 0, sizeof(gain));
	mcube_ubm_gain_set(&gain, point, MCUBE_UBM_POINTS, 1000000, 1000000, MCUBE_UBM_BELADY);
	EXPECT_EQ(gain.power, 0);
	EXPECT_GT(gain.nr, 0);
	/* Beyond its bounds k is cut: all hits come between half and whole size. */
	for (i = 0; i < MCUBE_UBM_POINTS; i++)
		point[i].hits = i < MCUBE_UBM_POINTS / 2 ? 0 : 999000;
	mcube_ubm_gain_set(&gain, point, MCUBE_UBM_POINTS, 1000000, 1000000, MCUBE_UBM_BELADY);
	EXPECT_EQ(gain.power, 4 << 16);
}

TEST(the_model_is_smoothed)
{
	u32 first, second;

	memset(&gain, 0, sizeof(gain));
	belady(10, .5, 1000, 1 << 20);
	mcube_ubm_gain_set(&gain, point, MCUBE_UBM_POINTS, 1 << 20, 1 << 20, MCUBE_UBM_BELADY);
	first = gain.power;
	belady(100, 1, 1000, 1 << 20);
	mcube_ubm_gain_set(&gain, point, MCUBE_UBM_POINTS, 1 << 20, 1 << 20, MCUBE_UBM_BELADY);
	second = gain.power;
	EXPECT_LT(fabs(first / 65536.0 - .5), .02);
	EXPECT_LT(fabs(second / 65536.0 - .625), .02);
}
