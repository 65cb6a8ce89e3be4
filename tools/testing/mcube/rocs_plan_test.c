// SPDX-License-Identifier: GPL-2.0
/*
 * The plan of a process, on made-up programs whose speed depends on the number of pages in
 * the partition.
 */
#include "mcube_test.h"

#include "rocs/plan.h"

enum { STACK = 1000, WINDOW = 1000000000 };

static const struct rocs_plan_config config = {
	.search = ROCS_SEARCH_COARSE, .steps = 32, .settle = 1, .profile = 4,
	.min_rate = 25, .phase_percent = 30, .phase_confirm = 2,
};

/*
 * A program gains @gain percent with @top pages in the partition, less with fewer pages, and
 * loses with more pages.  @misses are those of 1000 instructions if it has no partition.
 */
struct program {
	u32 top;
	int gain;
	u32 misses;
	u32 rate;	/* misses among 100 accesses */
};

static int gain_at(const struct program *p, u32 mapped)
{
	if (mapped <= p->top)
		return p->top ? p->gain * (int)mapped / (int)p->top : 0;
	return p->gain - 60 * (int)(mapped - p->top) / STACK;
}

static struct rocs_window window(const struct program *p, u32 mapped)
{
	int gain = gain_at(p, mapped);
	u64 instructions = WINDOW / 100 * (100 + gain);
	u64 misses = instructions / 1000 * p->misses / 100 * (100 - gain / 2);

	return (struct rocs_window){
		.cycles = WINDOW, .instructions = instructions,
		.refs = misses * 100 / p->rate, .misses = misses,
	};
}

/* Run a program for some windows; each state keeps to what it promises. */
static void run(struct __test_metadata *_metadata, struct rocs_plan *plan,
		const struct program *p, unsigned int windows)
{
	struct rocs_window w;

	while (windows--) {
		w = window(p, plan->mapped);
		rocs_plan_window(plan, &config, &w,
				 rocs_plan_needs_stack(plan) ? STACK : 0);
		ASSERT_LE(plan->mapped, STACK);
		if (plan->state == ROCS_WATCH || plan->state == ROCS_PROFILE)
			ASSERT_EQ(plan->mapped, 0);
	}
}

/* The plan holds the best point, as nearly as the steps of the search allow. */
static void expect_held(struct __test_metadata *_metadata, const struct rocs_plan *plan,
			const struct program *p, u32 searches)
{
	EXPECT_EQ(plan->state, ROCS_HOLD);
	EXPECT_GE(plan->mapped, p->top - STACK / config.steps);
	EXPECT_LE(plan->mapped, p->top + STACK / config.steps);
	EXPECT_EQ(plan->searches, searches);
}

static const struct program polluter = { .top = 400, .gain = 40, .misses = 20, .rate = 60 };
static const struct program other = { .top = 100, .gain = 10, .misses = 60, .rate = 80 };
static const struct program in_vain = { .misses = 20, .rate = 60 };
static const struct program in_cache = { .top = 400, .gain = 40, .misses = 2, .rate = 20 };
static const struct program more_in_cache = { .misses = 9, .rate = 20 };

TEST(a_polluter_is_profiled_searched_and_held)
{
	struct rocs_plan plan;
	struct rocs_window w = window(&polluter, 0);
	unsigned int i;

	rocs_plan_init(&plan);
	EXPECT_EQ(plan.state, ROCS_WATCH);
	run(_metadata, &plan, &polluter, 1);
	for (i = 0; i < config.profile; i++) {
		EXPECT_EQ(plan.state, ROCS_PROFILE);
		EXPECT_EQ(rocs_plan_needs_stack(&plan), i == config.profile - 1);
		run(_metadata, &plan, &polluter, 1);
	}
	EXPECT_EQ(plan.state, ROCS_SEARCH);
	/* The baseline comes first. */
	EXPECT_EQ(plan.mapped, 0);
	run(_metadata, &plan, &polluter, 60);
	expect_held(_metadata, &plan, &polluter, 1);
	EXPECT_EQ(plan.search.point[0].score, rocs_plan_score(&w));
	EXPECT_GE(plan.gain, 1024 * 36 / 100);
	EXPECT_LE(plan.gain, 1024 * 40 / 100);
	/* The plan stays there. */
	run(_metadata, &plan, &polluter, 10000);
	EXPECT_EQ(plan.state, ROCS_HOLD);
	EXPECT_EQ(plan.searches, 1);
	EXPECT_EQ(plan.rollbacks, 0);
	EXPECT_EQ(plan.phases, 0);
}

TEST(a_program_that_seldom_misses_is_left_alone)
{
	struct rocs_plan plan;

	rocs_plan_init(&plan);
	run(_metadata, &plan, &in_cache, 1000);
	EXPECT_EQ(plan.state, ROCS_WATCH);
	EXPECT_EQ(plan.searches, 0);
	/* An idle program has no accesses, and no instructions. */
	rocs_plan_window(&plan, &config, &(struct rocs_window){ }, 0);
	EXPECT_EQ(plan.mapped, 0);
}

TEST(searches_in_vain_become_rare)
{
	struct rocs_plan plan;
	u32 early;

	rocs_plan_init(&plan);
	run(_metadata, &plan, &in_vain, 1000);
	early = plan.searches;
	EXPECT_GE(early, 3);
	run(_metadata, &plan, &in_vain, 9000);
	EXPECT_LE(plan.searches - early, 9000 / 512 + 1);
	EXPECT_GT(plan.searches, early);
	EXPECT_EQ(plan.gain, 0);
}

TEST(a_new_phase_is_searched_anew)
{
	struct rocs_plan plan;

	rocs_plan_init(&plan);
	run(_metadata, &plan, &polluter, 100);
	EXPECT_EQ(plan.state, ROCS_HOLD);
	run(_metadata, &plan, &other, config.phase_confirm);
	EXPECT_EQ(plan.state, ROCS_WATCH);
	EXPECT_EQ(plan.mapped, 0);
	run(_metadata, &plan, &other, 60);
	expect_held(_metadata, &plan, &other, 2);
	EXPECT_EQ(plan.rollbacks, 0);
	EXPECT_EQ(plan.phases, 1);
}

TEST(each_new_phase_counts)
{
	struct rocs_plan plan;
	unsigned int i;

	rocs_plan_init(&plan);
	/* A single unusual window is none. */
	run(_metadata, &plan, &polluter, 100);
	run(_metadata, &plan, &other, config.phase_confirm - 1);
	run(_metadata, &plan, &polluter, 100);
	EXPECT_EQ(plan.phases, 0);
	EXPECT_EQ(plan.searches, 1);
	for (i = 1; i <= 4; i++) {
		run(_metadata, &plan, i % 2 ? &other : &polluter, 100);
		EXPECT_EQ(plan.phases, i);
		expect_held(_metadata, &plan, i % 2 ? &other : &polluter, 1 + i);
	}
	/* A program that is only watched has phases too. */
	rocs_plan_init(&plan);
	run(_metadata, &plan, &in_cache, 100);
	EXPECT_EQ(plan.phases, 0);
	run(_metadata, &plan, &more_in_cache, 100);
	EXPECT_EQ(plan.phases, 1);
	EXPECT_EQ(plan.state, ROCS_WATCH);
}

TEST(an_abandoned_profile_waits_longer_each_time)
{
	struct rocs_plan plan;
	u32 wait = 0;
	int i;

	rocs_plan_init(&plan);
	for (i = 0; i < 12; i++) {
		while (plan.state != ROCS_PROFILE)
			run(_metadata, &plan, &polluter, 1);
		rocs_plan_abandon(&plan);
		EXPECT_EQ(plan.state, ROCS_WATCH);
		EXPECT_EQ(plan.mapped, 0);
		EXPECT_FALSE(rocs_plan_needs_stack(&plan));
		EXPECT_GE(plan.left, wait);
		EXPECT_GT(plan.left, 0);
		wait = plan.left;
	}
	EXPECT_EQ(wait, 512);
	EXPECT_EQ(plan.searches, 0);
	EXPECT_EQ(plan.rollbacks, 0);
	/* Then the plan goes on as if nothing had been. */
	run(_metadata, &plan, &polluter, wait + 100);
	expect_held(_metadata, &plan, &polluter, 1);
}

/* A profile that cannot begin now begins after the next window. */
TEST(a_postponed_profile_begins_later)
{
	struct rocs_plan plan;
	int i;

	rocs_plan_init(&plan);
	for (i = 0; i < 12; i++) {
		run(_metadata, &plan, &polluter, 1);
		EXPECT_EQ(plan.state, ROCS_PROFILE);
		rocs_plan_postpone(&plan);
		EXPECT_EQ(plan.state, ROCS_WATCH);
	}
	run(_metadata, &plan, &polluter, 60);
	expect_held(_metadata, &plan, &polluter, 1);
}

TEST(a_new_phase_ends_the_wait)
{
	struct rocs_plan plan;

	rocs_plan_init(&plan);
	run(_metadata, &plan, &in_vain, 5000);
	while (plan.state != ROCS_WATCH || plan.left < 400)
		run(_metadata, &plan, &in_vain, 1);
	run(_metadata, &plan, &in_vain, 10);
	run(_metadata, &plan, &other, 60);
	EXPECT_EQ(plan.state, ROCS_HOLD);
}

/* A program that is held gets slower, with as many misses per instruction as before. */
static void get_slower(struct __test_metadata *_metadata, struct rocs_plan *plan, u32 percent)
{
	struct rocs_window w;
	unsigned int i;

	rocs_plan_init(plan);
	run(_metadata, plan, &polluter, 100);
	EXPECT_EQ(plan->state, ROCS_HOLD);
	for (i = 0; i < config.phase_confirm; i++) {
		EXPECT_EQ(plan->state, ROCS_HOLD);
		w = window(&polluter, plan->mapped);
		w.cycles = w.cycles * (100 + percent) / 100;
		rocs_plan_window(plan, &config, &w, 0);
	}
}

/* Of a gain of 40 percent, a quarter has to be left: 140 / 110. */
TEST(a_gain_that_shrinks_is_held)
{
	struct rocs_plan plan;

	get_slower(_metadata, &plan, 20);
	EXPECT_EQ(plan.state, ROCS_HOLD);
	EXPECT_EQ(plan.rollbacks, 0);
}

TEST(a_gain_that_is_nearly_lost_is_rolled_back)
{
	struct rocs_plan plan;

	get_slower(_metadata, &plan, 32);
	EXPECT_EQ(plan.state, ROCS_WATCH);
	EXPECT_EQ(plan.rollbacks, 1);
}

TEST(a_gain_that_becomes_a_loss_is_rolled_back)
{
	struct rocs_plan plan;

	get_slower(_metadata, &plan, 100);
	EXPECT_EQ(plan.state, ROCS_WATCH);
	EXPECT_EQ(plan.mapped, 0);
	EXPECT_EQ(plan.rollbacks, 1);
	EXPECT_GT(plan.left, 0);
}

TEST(scores_of_a_program_that_nearly_always_waits_differ)
{
	struct rocs_window slow = { .cycles = WINDOW, .instructions = 1000 };
	struct rocs_window slower = { .cycles = WINDOW, .instructions = 900 };

	EXPECT_GT(rocs_plan_score(&slow) * 91 / 100, rocs_plan_score(&slower));
	EXPECT_LT(rocs_plan_score(&slow) * 89 / 100, rocs_plan_score(&slower));
}

TEST(a_profile_without_pages_ends_in_a_wait)
{
	struct rocs_plan plan;
	struct rocs_window w = window(&polluter, 0);
	unsigned int i;

	rocs_plan_init(&plan);
	for (i = 0; i < 1 + config.profile; i++)
		rocs_plan_window(&plan, &config, &w, 0);
	EXPECT_EQ(plan.state, ROCS_WATCH);
	EXPECT_GT(plan.left, 0);
}

TEST(any_windows_leave_the_plan_sane)
{
	struct rocs_plan_config c = config;
	struct rocs_plan plan;
	unsigned long i;

	rocs_plan_init(&plan);
	for (i = 0; i < 100000 * test_scale(); i++) {
		struct rocs_window w = {
			.cycles = get_random_u64() >> 22 >> get_random_u32_below(42),
			.instructions = get_random_u64() >> 22 >> get_random_u32_below(42),
		};

		w.refs = w.instructions >> get_random_u32_below(8);
		w.misses = w.refs >> get_random_u32_below(4);
		c.search = get_random_u32_below(2);
		c.steps = 1 + get_random_u32_below(ROCS_SEARCH_POINTS - 1);
		rocs_plan_window(&plan, &c, &w, get_random_u32_below(100));
		ASSERT_LE(plan.mapped, 100);
		ASSERT_LE(plan.left, 512);
	}
	EXPECT_GT(plan.searches, 10);
}
