// SPDX-License-Identifier: GPL-2.0
/*
 * From made-up latencies to the bank map: noise costs repeats, not the answer, and memory
 * without banks is refused however often it is timed.
 */
#include "mcube_test.h"

#include "../../mcube/probe/bank.h"

#define REPEATS	15u
#define BYTES	(4u << 20)

static struct bank_report report;

/* Latencies of a memory: those of conflicts, and of what disturbs every third load. */
struct made_up {
	struct solve_map map;
	double conflict;
	double noise;
};

static void pick(void *context, uint64_t random, unsigned int align, struct bank_line *l)
{
	l->physical = random % BYTES >> align << align;
}

static bool find(void *context, uint64_t physical, struct bank_line *l)
{
	l->physical = physical;
	return physical < BYTES;
}

static double once(void *context, const struct bank_line *a, const struct bank_line *b)
{
	const struct made_up *m = context;
	bool bank = solve_value(&m->map, a->physical) == solve_value(&m->map, b->physical);
	double noise = 0;

	/* About normal, and now and then up to eight times as much. */
	for (int i = 0; i < 12; i++)
		noise += m->noise * (get_random_u32() / 4294967296.0 - .5);
	if (!get_random_u32_below(3))
		noise += m->noise * get_random_u32_below(8);
	return 150 + m->conflict * (bank && a->physical >> 16 != b->physical >> 16) + noise;
}

static void progress(void *context, double share)
{
}

static void probe(const struct made_up *m)
{
	struct bank_memory memory = { pick, find, once, progress, (void *)m, REPEATS };

	bank_probe(&report, &memory, get_random_u32(), 200, NULL, 0);
}

TEST(noise_costs_repeats)
{
	static const double noise[] = { 0, 25, 60 };
	struct made_up m = {
		.map = { .nr_masks = 3, .mask = { 0x2040, 0x24000, 0x108000 } }, .conflict = 110 };
	unsigned int before = 0;

	for (unsigned int i = 0; i < ARRAY_SIZE(noise); i++) {
		m.noise = noise[i];
		probe(&m);
		ASSERT_EQ(report.why, NULL) TH_LOG("noise %f: %s", m.noise, report.why);
		ASSERT_EQ(report.map.nr_masks, m.map.nr_masks);
		for (unsigned int k = 0; k < m.map.nr_masks; k++)
			EXPECT_EQ(report.map.mask[k], m.map.mask[k]);
		EXPECT_GE(report.repeats, before);
		before = report.repeats;
		if (!i)
			EXPECT_EQ(report.repeats, REPEATS);
	}
	EXPECT_GT(report.repeats, 2 * REPEATS);
}

/* One bank: more repeats where they differ, none where they do not, and no map. */
TEST(no_repeats_make_a_bank)
{
	struct made_up m = { .conflict = 0, .noise = 30 };

	probe(&m);
	EXPECT_NE(report.why, NULL);
	EXPECT_GT(report.repeats, BANK_REPEATS / 2);
	m.noise = 0;
	probe(&m);
	EXPECT_NE(report.why, NULL);
	EXPECT_EQ(report.repeats, REPEATS);
}
