// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of ROCS
 *
 * Copyright (C) 2026 The mcube authors
 *
 * Tests the pure files as compiled into the kernel (the user-space tests run much
 * longer), descriptions of events, and the rings of samples.  The suite is a part of
 * the module, as no other module can link to these functions.  It runs when the module
 * is loaded, with the policy off.
 */

#include <kunit/test.h>
#include <linux/irqflags.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/perf_event.h>
#include <linux/ptrace.h>
#include <linux/random.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include <asm/cpu_device_id.h>
#include <asm/intel-family.h>

#include "internal.h"
#include "period.h"

#define PAGES		200U
#define SLOTS		512U
#define SAMPLES		20000U

struct rocs_test {
	struct rocs_page slot[SLOTS];
	struct rocs_entry stack[PAGES];
	u32 hits[PAGES];
	u32 misses[PAGES];
	char text[PAGE_SIZE] __aligned(PAGE_SIZE);
};

static int rocs_test_init(struct kunit *test)
{
	struct rocs_test *t = kvzalloc(sizeof(*t), GFP_KERNEL);

	test->priv = t;
	return t ? 0 : -ENOMEM;
}

static void rocs_test_exit(struct kunit *test)
{
	kvfree(test->priv);
}

/* Page i misses in i of PAGES samples. */
static void profile_counts_each_sample(struct kunit *test)
{
	struct rocs_test *t = test->priv;
	struct rocs_profile p;
	u32 i, page, nr, last = U32_MAX;
	bool miss;

	rocs_profile_init(&p, t->slot, SLOTS);
	for (i = 0; i < SAMPLES; i++) {
		page = get_random_u32_below(PAGES);
		miss = get_random_u32_below(PAGES) < page;
		rocs_profile_add(&p, page + (1ULL << 35), miss);
		t->misses[page] += miss;
		t->hits[page] += !miss;
	}
	KUNIT_EXPECT_EQ(test, p.hits + p.misses, SAMPLES);
	KUNIT_EXPECT_EQ(test, p.dropped, 0);
	nr = rocs_profile_stack(&p, t->stack, PAGES, 0);
	KUNIT_EXPECT_EQ(test, nr, p.nr);
	for (i = 0; i < nr; i++) {
		page = t->stack[i].page - (1ULL << 35);
		KUNIT_ASSERT_LT(test, page, PAGES);
		KUNIT_EXPECT_EQ(test, t->stack[i].samples, t->hits[page] + t->misses[page]);
		KUNIT_EXPECT_LE(test, t->stack[i].rate, last);
		last = t->stack[i].rate;
	}
}

/* A score that rises to @top and falls behind it, by more than a search ignores. */
static u64 score_at(u32 index, u32 top)
{
	return 100000000 + 1000000 * (u64)min(index, top) - 100000 * (u64)(max(index, top) - top);
}

static u32 apart(u32 a, u32 b)
{
	return max(a, b) - min(a, b);
}

/* Both searches find the summit of a score, as nearly as the step allows. */
static void searches_find_the_summit(struct kunit *test)
{
	const u32 pages = 640, step = 10;
	struct rocs_search *s = kunit_kzalloc(test, sizeof(*s), GFP_KERNEL);
	enum rocs_search_kind kind;
	u32 top;

	KUNIT_ASSERT_NOT_NULL(test, s);
	for (kind = ROCS_SEARCH_LINEAR; kind <= ROCS_SEARCH_COARSE; kind++) {
		for (top = 0; top <= pages; top += 20) {
			rocs_search_begin(s, kind, pages, step);
			while (rocs_search_measured(s, score_at(s->index, top)))
				KUNIT_ASSERT_LT(test, s->nr, ROCS_SEARCH_POINTS);
			KUNIT_EXPECT_LE(test, apart(s->index, top), 2 * step);
		}
	}
}

/* Watched, profiled, searched, held; then slower than before, and watched again. */
static void plan_goes_its_way(struct kunit *test)
{
	const struct rocs_plan_config config = {
		.search = ROCS_SEARCH_COARSE, .steps = 32, .settle = 1, .profile = 4,
		.min_rate = 25, .phase_percent = 30, .phase_confirm = 2,
	};
	struct rocs_plan *p = kunit_kzalloc(test, sizeof(*p), GFP_KERNEL);
	struct rocs_window w = { .cycles = 1000000000 };
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, p);
	rocs_plan_init(p);
	for (i = 0; i < 100; i++) {
		w.instructions = score_at(p->mapped, 300);
		w.misses = w.instructions / 100;
		w.refs = w.instructions / 50;
		rocs_plan_window(p, &config, &w, rocs_plan_needs_stack(p) ? 640 : 0);
	}
	KUNIT_EXPECT_EQ(test, p->state, ROCS_HOLD);
	KUNIT_EXPECT_EQ(test, p->searches, 1);
	KUNIT_EXPECT_LE(test, apart(p->mapped, 300), 40);
	w.cycles *= 10;
	for (i = 0; i < config.phase_confirm; i++)
		rocs_plan_window(p, &config, &w, 0);
	KUNIT_EXPECT_EQ(test, p->state, ROCS_WATCH);
	KUNIT_EXPECT_EQ(test, p->mapped, 0);
	KUNIT_EXPECT_EQ(test, p->rollbacks, 1);
}

static void period_follows_the_budget(struct kunit *test)
{
	/* 10^9 cycles, a hundredth for samples of 1000 cycles: 10000 samples. */
	KUNIT_EXPECT_EQ(test, rocs_period_next(320, 10000, 1000000000, 1000, 10), 320);
	KUNIT_EXPECT_EQ(test, rocs_period_next(320, 15000, 1000000000, 1000, 10), 480);
	KUNIT_EXPECT_EQ(test, rocs_period_next(640, 0, 1000000000, 1000, 10), 64);
	KUNIT_EXPECT_EQ(test, rocs_period_next(ROCS_PERIOD_MIN, 0, 1000000000, 1000, 10),
			ROCS_PERIOD_MIN);
	KUNIT_EXPECT_EQ(test, rocs_period_next(ROCS_PERIOD_MAX, U32_MAX, 1, 1, 1),
			ROCS_PERIOD_MAX);
}

static void events_read_back(struct kunit *test)
{
	static const char * const bad[] = {
		"", "1", "config=1", "type", "type=", "type=x", "type=1 precise=4",
		"type=4294967296", "none type=1", "type=1,config=1", "type=1 width=1",
	};
	struct rocs_test *t = test->priv;
	struct rocs_event_desc desc, back;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(bad); i++)
		KUNIT_EXPECT_LT_MSG(test, rocs_event_parse(bad[i], &desc), 0, "%s", bad[i]);
	KUNIT_ASSERT_EQ(test, rocs_event_parse("precise=2  type=4 config=0x20d1 config2=7",
					       &desc), 0);
	KUNIT_EXPECT_TRUE(test, desc.used);
	KUNIT_EXPECT_EQ(test, desc.type, PERF_TYPE_RAW);
	KUNIT_EXPECT_EQ(test, desc.config[0], 0x20d1);
	KUNIT_EXPECT_EQ(test, desc.config[1], 0);
	KUNIT_EXPECT_EQ(test, desc.config[2], 7);
	KUNIT_EXPECT_EQ(test, desc.precise, 2);
	rocs_event_show(t->text, &desc);
	KUNIT_ASSERT_EQ(test, rocs_event_parse(t->text, &back), 0);
	KUNIT_EXPECT_MEMEQ(test, &desc, &back, sizeof(desc));
	KUNIT_EXPECT_EQ(test, rocs_event_parse("none", &desc), 0);
	KUNIT_EXPECT_FALSE(test, desc.used);
}

/* Data sources as Intel, AMD and the modelled PMU give them. */
static void sources_tell_hits(struct kunit *test)
{
	static const struct {
		u64 source;
		int hit;
	} cases[] = {
		{ PERF_MEM_S(LVL, L3) | PERF_MEM_S(LVL, HIT) | PERF_MEM_S(LVLNUM, L3), 1 },
		/* AMD: the last level of the core's own complex. */
		{ PERF_MEM_S(LVL, L3) | PERF_MEM_S(LVL, REM_CCE1) | PERF_MEM_S(LVL, HIT), 1 },
		{ PERF_MEM_S(LVL, L3) | PERF_MEM_S(LVL, MISS), 0 },
		{ PERF_MEM_S(LVL, LOC_RAM) | PERF_MEM_S(LVL, HIT), 0 },
		{ PERF_MEM_S(LVLNUM, RAM), 0 },
		{ PERF_MEM_S(LVLNUM, PMEM), 0 },
		{ PERF_MEM_S(LVLNUM, CXL), 0 },
		/* Another socket, its cache or its memory. */
		{ PERF_MEM_S(LVL, REM_CCE2) | PERF_MEM_S(LVL, HIT), 0 },
		{ PERF_MEM_S(LVLNUM, L3) | PERF_MEM_S(REMOTE, REMOTE), 0 },
		{ PERF_MEM_S(LVL, REM_RAM1) | PERF_MEM_S(LVL, HIT), 0 },
		/* Levels before the last one. */
		{ PERF_MEM_S(LVL, L1) | PERF_MEM_S(LVL, HIT), -1 },
		{ PERF_MEM_S(LVL, L2) | PERF_MEM_S(LVL, HIT), -1 },
		{ PERF_MEM_S(LVL, LFB) | PERF_MEM_S(LVL, HIT), -1 },
		{ PERF_MEM_S(OP, STORE) | PERF_MEM_S(LVL, NA), -1 },
		{ PERF_MEM_S(OP, LOAD) | PERF_MEM_S(LVL, NA), 7 },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++)
		KUNIT_EXPECT_EQ_MSG(test, rocs_event_hit(cases[i].source, 7), cases[i].hit,
				    "case %u", i);
}

/* Code in kernel mode, in a guest, and addresses that are none of the process. */
static void samples_of_others_do_not_count(struct kunit *test)
{
	struct pt_regs user = { .cs = __USER_CS }, kernel = { .cs = __KERNEL_CS };

	KUNIT_EXPECT_TRUE(test, rocs_event_of_process(&user, PAGE_SIZE));
	KUNIT_EXPECT_FALSE(test, rocs_event_of_process(&kernel, PAGE_SIZE));
	KUNIT_EXPECT_FALSE(test, rocs_event_of_process(&user, 0));
	KUNIT_EXPECT_FALSE(test, rocs_event_of_process(&user, TASK_SIZE_MAX));
	current->flags |= PF_VCPU;
	KUNIT_EXPECT_FALSE(test, rocs_event_of_process(&user, PAGE_SIZE));
	current->flags &= ~PF_VCPU;
}

/* resctrl saves and restores the register of these models, and tells nobody. */
static void prefetchers_of_resctrl_are_left_alone(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, rocs_prefetch_contended(INTEL_BROADWELL_X),
			IS_ENABLED(CONFIG_X86_CPU_RESCTRL));
	KUNIT_EXPECT_FALSE(test, rocs_prefetch_contended(INTEL_SKYLAKE_X));
}

/* Push samples for the last target, if it is none; @nr at once, as the ring has room. */
static unsigned long push_and_drain(struct kunit *test, unsigned int nr)
{
	unsigned long dropped, flags;

	guard(mutex)(&rocs_lock);
	KUNIT_ASSERT_NULL(test, rocs_targets[ROCS_TARGETS_MAX - 1]);
	dropped = rocs_stat[ROCS_STAT_DROPPED];
	local_irq_save(flags);
	while (nr--)
		rocs_sample_push(ROCS_TARGETS_MAX - 1, PAGE_SIZE, true);
	local_irq_restore(flags);
	rocs_sample_drain();
	return rocs_stat[ROCS_STAT_DROPPED] - dropped;
}

/* A full ring drops what has no room, and is empty after it was drained. */
static void rings_drop_what_has_no_room(struct kunit *test)
{
	const unsigned int room = 4096 - push_and_drain(test, 4096);
	unsigned int i;

	KUNIT_EXPECT_GE(test, room, 64);
	for (i = 0; i < 100; i++) {
		KUNIT_EXPECT_EQ(test, push_and_drain(test, room), 0);
		KUNIT_EXPECT_EQ(test, push_and_drain(test, room / 3), 0);
		KUNIT_EXPECT_EQ(test, push_and_drain(test, room + 5), 5);
	}
}

static struct kunit_case rocs_cases[] = {
	KUNIT_CASE(profile_counts_each_sample),
	KUNIT_CASE(searches_find_the_summit),
	KUNIT_CASE(plan_goes_its_way),
	KUNIT_CASE(period_follows_the_budget),
	KUNIT_CASE(events_read_back),
	KUNIT_CASE(sources_tell_hits),
	KUNIT_CASE(samples_of_others_do_not_count),
	KUNIT_CASE(prefetchers_of_resctrl_are_left_alone),
	KUNIT_CASE(rings_drop_what_has_no_room),
	{ }
};

static struct kunit_suite rocs_suite = {
	.name = "mcube_rocs",
	.init = rocs_test_init,
	.exit = rocs_test_exit,
	.test_cases = rocs_cases,
};

kunit_test_suite(rocs_suite);
