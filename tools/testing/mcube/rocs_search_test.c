// SPDX-License-Identifier: GPL-2.0
/*
 * Both searches against the best point of all, on scores with one summit, and the sampling
 * period and the phases on made-up programs.
 */
#include "mcube_test.h"

#include "rocs/period.h"
#include "rocs/phase.h"
#include "rocs/search.h"

static struct rocs_search search;

/* A score that rises up to @top and falls behind it. */
struct program {
	u32 pages;
	u32 top;
	u64 base;
	u64 rise;	/* from 0 to @top */
	u64 fall;	/* from @top to @pages */
};

static u64 score(const struct program *p, u32 index)
{
	if (index <= p->top)
		return p->base + (p->top ? p->rise * index / p->top : 0);
	return p->base + p->rise - p->fall * (index - p->top) / (p->pages - p->top);
}

static u32 run(struct __test_metadata *_metadata, const struct program *p,
	       enum rocs_search_kind kind, u32 step)
{
	u64 moved = 0;
	u32 last = 0;
	bool more = true;

	rocs_search_begin(&search, kind, p->pages, step);
	ASSERT_EQ(search.index, 0);
	while (more) {
		ASSERT_LT(search.nr, ROCS_SEARCH_POINTS);
		more = rocs_search_measured(&search, score(p, search.index));
		ASSERT_LE(search.index, p->pages);
		moved += max(search.index, last) - min(search.index, last);
		last = search.index;
	}
	EXPECT_EQ(search.moved, moved);
	return search.index;
}

static struct program random_program(void)
{
	u32 pages = 1 + get_random_u32_below(20000);
	u32 top = get_random_u32_below(pages + 1);
	u64 base = 1000000 + get_random_u32_below(1000000);

	return (struct program){
		.pages = pages, .top = top, .base = base,
		.rise = top ? base / 4 + get_random_u32_below(base) : 0,
		.fall = get_random_u32_below(base),
	};
}

TEST(linear_search_measures_all_multiples_of_the_step)
{
	struct program p = { .pages = 1000, .top = 300, .base = 1000, .rise = 500, .fall = 900 };
	unsigned int i;

	EXPECT_EQ(run(_metadata, &p, ROCS_SEARCH_LINEAR, 100), 300);
	ASSERT_EQ(search.nr, 11);
	for (i = 0; i < search.nr; i++)
		EXPECT_EQ(search.point[i].index, 100 * i);
	/* The step does not divide the stack: the last point is the whole stack. */
	p.pages = 1050;
	run(_metadata, &p, ROCS_SEARCH_LINEAR, 100);
	ASSERT_EQ(search.nr, 12);
	EXPECT_EQ(search.point[11].index, 1050);
	/* A step too small for the points is enlarged. */
	run(_metadata, &p, ROCS_SEARCH_LINEAR, 1);
	EXPECT_EQ(search.step, 17);
	EXPECT_EQ(search.point[search.nr - 1].index, 1050);
}

TEST(linear_search_ends_within_a_step_of_the_summit)
{
	unsigned long i;

	for (i = 0; i < 2000 * test_scale(); i++) {
		struct program p = random_program();
		u32 got = run(_metadata, &p, ROCS_SEARCH_LINEAR, p.pages / 32);
		u32 apart = max(got, p.top) - min(got, p.top);

		ASSERT_LE(apart, search.step);
	}
}

TEST(coarse_search_is_as_good_with_fewer_points)
{
	unsigned long i, linear = 0, coarse = 0;

	for (i = 0; i < 2000 * test_scale(); i++) {
		struct program p = random_program();
		u64 best, got;

		best = score(&p, run(_metadata, &p, ROCS_SEARCH_LINEAR, p.pages / 64));
		linear += search.measured;
		got = score(&p, run(_metadata, &p, ROCS_SEARCH_COARSE, p.pages / 64));
		coarse += search.measured;
		/* A step beside the summit, where the slope is steepest, and noise. */
		ASSERT_GE(got + best / 20, best);
	}
	TH_LOG("measurements of a search: %lu linear, %lu coarse", linear / i, coarse / i);
	EXPECT_LT(3 * coarse, linear);
}

TEST(nothing_to_gain_ends_at_nothing)
{
	struct program p = { .pages = 5000, .base = 1000000 };
	unsigned int kind;

	for (kind = ROCS_SEARCH_LINEAR; kind <= ROCS_SEARCH_COARSE; kind++) {
		p.fall = 0;
		EXPECT_EQ(run(_metadata, &p, kind, 100), 0);
		p.fall = 500000;
		EXPECT_EQ(run(_metadata, &p, kind, 100), 0);
		/* A gain that is smaller than the noise is none. */
		p.fall = 0;
		p.top = 2500;
		p.rise = 3000;
		EXPECT_EQ(run(_metadata, &p, kind, 100), 0);
		p.rise = 0;
		p.top = 0;
	}
}

TEST(small_stacks_are_searched)
{
	unsigned int kind, pages, top;

	for (kind = ROCS_SEARCH_LINEAR; kind <= ROCS_SEARCH_COARSE; kind++) {
		for (pages = 1; pages < 20; pages++) {
			for (top = 0; top <= pages; top++) {
				struct program p = {
					.pages = pages, .top = top, .base = 1000,
					.rise = top ? 900 : 0, .fall = 800,
				};

				ASSERT_EQ(run(_metadata, &p, kind, 1), top);
			}
		}
	}
}

TEST(a_noisy_baseline_does_not_matter_much)
{
	unsigned long i, worst = 0;

	for (i = 0; i < 1000 * test_scale(); i++) {
		struct program p = random_program();
		u64 best, got;
		bool more = true;

		rocs_search_begin(&search, ROCS_SEARCH_COARSE, p.pages, p.pages / 64);
		while (more) {
			u64 s = score(&p, search.index);

			more = rocs_search_measured(&search, s - s / 200 +
						    get_random_u32_below(s / 100 + 1));
		}
		best = score(&p, p.top);
		got = score(&p, search.index);
		worst = max(worst, (best - got) * 1000 / best);
	}
	TH_LOG("worst search: %lu per mille below the best", worst);
	EXPECT_LT(worst, 60);
}

/*
 * A window that something disturbs is slower.  It must neither hide the summit nor send the
 * search to another part of the stack, but for the rare case that it meets the same point twice.
 */
TEST(a_disturbed_window_does_not_mislead)
{
	unsigned long i, misled = 0, points = 0, count = 1000 * test_scale();

	for (i = 0; i < count; i++) {
		struct program p = random_program();
		bool more = true;

		rocs_search_begin(&search, ROCS_SEARCH_COARSE, p.pages, p.pages / 32);
		while (more) {
			u64 s = score(&p, search.index);

			/* The baseline tells the gain, not the point. */
			if (search.index && !get_random_u32_below(10))
				s -= s / 10 + get_random_u32_below(s / 5);
			more = rocs_search_measured(&search, s);
		}
		misled += score(&p, search.index) * 100 < score(&p, p.top) * 93;
		points += search.measured;
	}
	TH_LOG("%lu of %lu searches misled, %lu measurements each", misled, count,
	       points / count);
	EXPECT_LT(misled * 100, count);
}

/* One window is faster than all other windows; its point is measured again, and is not held. */
TEST(a_lucky_window_is_not_held)
{
	struct program p = { .pages = 1024, .top = 768, .base = 1000000, .rise = 200000 };
	bool more = true, lucky = false;

	rocs_search_begin(&search, ROCS_SEARCH_COARSE, p.pages, 32);
	while (more) {
		u64 s = score(&p, search.index);

		if (search.index == 256 && !lucky) {
			lucky = true;
			s += s / 5;
		}
		more = rocs_search_measured(&search, s);
	}
	EXPECT_TRUE(lucky);
	EXPECT_EQ(search.index, 768);
}

/* How fast the machine is in each window, in 1/1024. */
static u32 speed[256];

static void slow_down(u32 from, u32 end, u32 percent)
{
	for (; from < min_t(u32, end, ARRAY_SIZE(speed)); from++)
		speed[from] -= speed[from] * percent / 100;
}

static void slow_down_somewhat(u32 from, u32 end)
{
	slow_down(from, end, 5 + get_random_u32_below(31));
}

static void begin_steady(void)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(speed); i++)
		speed[i] = 1024;
}

/*
 * Each measurement has a window before it, in which the pages settle.  Return: how much of
 * the gain of the best point the search found, in percent.
 */
static int share_found(const struct program *p, u32 steps)
{
	u32 window = 1;
	u64 measured;

	rocs_search_begin(&search, ROCS_SEARCH_COARSE, p->pages, p->pages / steps);
	do {
		measured = score(p, search.index) * speed[window] / 1024;
		window = min_t(u32, window + 2, ARRAY_SIZE(speed) - 1);
	} while (rocs_search_measured(&search, measured));
	return ((s64)score(p, search.index) - (s64)p->base) * 100 / (s64)p->rise;
}

/*
 * A stream of 768 pages, and 129 pages that are used again.  For some windows, or from some
 * window on, or up to it, all is slower: whenever that is, most of the stream is found.
 */
TEST(a_lasting_disturbance_does_not_mislead)
{
	struct program p = {
		.pages = 897, .top = 768, .base = 1000000, .rise = 300000, .fall = 200000,
	};
	unsigned int steps, percent, begin, length, misled = 0, count = 0;

	for (steps = 16; steps <= 64; steps *= 2) {
		for (percent = 5; percent <= 35; percent += 5) {
			for (begin = 0; begin <= 60; begin++) {
				for (length = 2; length <= 22; length++) {
					u32 end = length <= 20 ? begin + length : ~0U;

					begin_steady();
					if (length == 21)
						slow_down(0, begin, percent);
					else
						slow_down(begin, end, percent);
					misled += share_found(&p, steps) < 50;
					count++;
				}
			}
		}
	}
	TH_LOG("%u of %u searches found less than half of the gain", misled, count);
	EXPECT_EQ(misled, 0);
}

/* Programs of all kinds: bursts that come again, and a machine that gets slower or faster. */
TEST(an_unsteady_machine_rarely_misleads)
{
	static const char * const kinds[] = { "bursts", "two steps", "slower", "faster" };
	unsigned long i, refused, misled, measured, count = 2000 * test_scale();
	u32 kind, w;
	int share;

	for (kind = 0; kind < ARRAY_SIZE(kinds); kind++) {
		refused = 0;
		misled = 0;
		measured = 0;
		for (i = 0; i < count; i++) {
			struct program p = random_program();
			u32 drift = 20 + get_random_u32_below(80);

			if (p.rise < p.base / 4)
				continue;
			begin_steady();
			for (w = 0; w < 60 && kind == 0; w += 22 + get_random_u32_below(40))
				slow_down_somewhat(w, w + 2 + get_random_u32_below(19));
			if (kind == 1) {
				slow_down_somewhat(0, get_random_u32_below(36));
				slow_down_somewhat(get_random_u32_below(36), ~0U);
			}
			for (w = 0; w < ARRAY_SIZE(speed) && kind >= 2; w++) {
				u32 t = kind == 2 ? w : ARRAY_SIZE(speed) - w;

				speed[w] = 1024 * 10000 / (10000 + drift * t);
			}
			share = share_found(&p, 32);
			refused += share < 50 && !search.index;
			misled += share < 50 && search.index;
			measured += search.measured;
		}
		TH_LOG("%s: %lu of %lu searches misled, %lu in vain, %lu measurements each",
		       kinds[kind], misled, count, refused, measured / count);
		EXPECT_LT(misled * 400, count);
		EXPECT_LT(refused * 20, count);
	}
}

TEST(a_phase_is_found_and_an_odd_window_is_not)
{
	struct rocs_phase p = { };
	unsigned int i, found = 0;

	for (i = 0; i < 100; i++)
		found += rocs_phase_window(&p, 100000 + get_random_u32_below(10000), 25, 3);
	EXPECT_EQ(found, 0);
	/* Two odd windows, then as before. */
	EXPECT_FALSE(rocs_phase_window(&p, 500000, 25, 3));
	EXPECT_FALSE(rocs_phase_window(&p, 500000, 25, 3));
	EXPECT_FALSE(rocs_phase_window(&p, 105000, 25, 3));
	/* The third in a row is a phase, and is what is usual then. */
	EXPECT_FALSE(rocs_phase_window(&p, 500000, 25, 3));
	EXPECT_FALSE(rocs_phase_window(&p, 500000, 25, 3));
	EXPECT_TRUE(rocs_phase_window(&p, 500000, 25, 3));
	EXPECT_FALSE(rocs_phase_window(&p, 500000, 25, 3));
	/* Down to nothing, and up from nothing. */
	EXPECT_TRUE(rocs_phase_window(&p, 0, 25, 1));
	EXPECT_FALSE(rocs_phase_window(&p, 0, 25, 1));
	EXPECT_TRUE(rocs_phase_window(&p, 1, 25, 1));
}

TEST(a_slow_drift_is_not_a_phase)
{
	struct rocs_phase p = { };
	unsigned int i, found = 0;

	for (i = 0; i < 200; i++)
		found += rocs_phase_window(&p, 100000 + 1000 * i, 25, 1);
	EXPECT_EQ(found, 0);
}

TEST(the_period_meets_the_budget)
{
	unsigned long i;

	for (i = 0; i < 300 * test_scale(); i++) {
		u32 events = 1 + get_random_u32_below(100);	/* per 1000 cycles */
		u32 cost = 500 + get_random_u32_below(20000);
		u64 cycles = 1000000000, samples = 0, spent;
		u32 period = ROCS_PERIOD_MIN << get_random_u32_below(16);
		unsigned int round;

		for (round = 0; round < 40; round++) {
			samples = cycles * events / 1000 / period;
			period = rocs_period_next(period, samples, cycles, cost, 30);
			ASSERT_GE(period, ROCS_PERIOD_MIN);
			ASSERT_LE(period, ROCS_PERIOD_MAX);
			ASSERT_EQ(period % ROCS_PERIOD_MIN, 0);
		}
		spent = samples * cost * 1000 / cycles;
		ASSERT_LE(spent, 30);
		ASSERT_LE(samples, cycles / ROCS_PERIOD_APART + cycles / ROCS_PERIOD_APART / 20);
		/*
		 * The budget is used, unless samples would be too close or too many events.
		 * A period is rounded up by less than ROCS_PERIOD_MIN.
		 */
		if (period > ROCS_PERIOD_MIN && cost * 1000ULL / 30 > ROCS_PERIOD_APART)
			ASSERT_GE(spent, 27 * (period - ROCS_PERIOD_MIN) / period);
	}
}

/* Looks and rests in turn: the looks take the share that the budget says, or a tenth. */
TEST(looks_keep_the_budget)
{
	u32 permille;

	for (permille = 1; permille <= 1000; permille++) {
		u64 spent = 1000 + get_random_u32_below(1000000);
		u64 rest = rocs_period_rest(spent, permille);
		u32 share = permille < 100 ? permille : 100;

		ASSERT_LE(spent * 1000, share * (spent + rest + 1));
		ASSERT_GE(spent * 1000, share * (spent + rest));
	}
	EXPECT_EQ(rocs_period_rest(~0ULL, 1), 10000000000ULL);
	EXPECT_EQ(rocs_period_rest(0, 1), 0);
}

/* From its first window on, whatever share of the instructions the events are. */
TEST(a_profile_keeps_the_budget)
{
	const u64 cycles = 1000000000;
	unsigned long i;

	for (i = 0; i < 300 * test_scale(); i++) {
		u64 instructions = cycles / 10 * (1 + get_random_u32_below(40));
		u64 events = instructions / (1 + get_random_u32_below(1000));
		u32 cost = 1000 + get_random_u32_below(20000);
		u32 period = rocs_period_first(instructions, cycles, cost, 30);
		u64 sum = 0, samples;
		unsigned int window;

		for (window = 0; window < 8; window++) {
			samples = events / period;
			ASSERT_LE(samples * cost * 1000 / cycles, 30);
			sum += samples;
			period = rocs_period_next(period, samples, cycles, cost, 30);
		}
		/* Half of the windows or more use the budget. */
		if (period > 8 * ROCS_PERIOD_MIN && cost * 1000ULL / 30 > ROCS_PERIOD_APART)
			ASSERT_GE(sum * cost * 1000 / cycles, 8 * 30 / 2);
	}
}

TEST(a_period_without_samples_gets_shorter)
{
	EXPECT_EQ(rocs_period_next(1024, 0, 1000000000, 4000, 30), 64);
	EXPECT_EQ(rocs_period_next(1000, 0, 1000000000, 4000, 30), 64);
	EXPECT_EQ(rocs_period_next(ROCS_PERIOD_MIN, 0, 1000000000, 4000, 30), ROCS_PERIOD_MIN);
	EXPECT_EQ(rocs_period_next(1024, 750000, 1000000000, 4000, 30), 102400);
	EXPECT_EQ(rocs_period_next(ROCS_PERIOD_MAX, 1000000, 1000000000, 4000, 30),
		  ROCS_PERIOD_MAX);
}
