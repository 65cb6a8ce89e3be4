// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of the probe
 *
 * Copyright (C) 2026 The mcube authors
 *
 * They run as the module is loaded: what lines are refused, and that memory is uncached
 * while it is held and cached again as it goes back.
 */

#include <kunit/test.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include <asm/pgtable_types.h>

#include "internal.h"

#define MIB	(4 * PROBE_MIB)

struct probe_test {
	struct probe_memory memory;
	struct probe_pieces pieces;
	unsigned long addr[MIB / PROBE_MIB];
};

static int probe_test_init(struct kunit *test)
{
	struct probe_test *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);

	if (!t)
		return -ENOMEM;
	xa_init(&t->memory.blocks);
	test->priv = t;
	return 0;
}

static int parse(const char *line, struct probe_plan *plan)
{
	char text[160];

	strscpy(text, line);
	return probe_parse(text, plan);
}

static void lines_are_read(struct kunit *test)
{
	struct probe_plan plan;

	KUNIT_ASSERT_EQ(test, parse("", &plan), 0);
	KUNIT_EXPECT_EQ(test, plan.repeat, PROBE_REPEAT);
	KUNIT_EXPECT_EQ(test, plan.base, 0);
	KUNIT_EXPECT_EQ(test, plan.start, PROBE_LINE);
	KUNIT_EXPECT_EQ(test, plan.step, PROBE_LINE);
	KUNIT_EXPECT_LE(test, plan.mib, probe_max_mib(plan.node));
	KUNIT_ASSERT_EQ(test, parse("step=0x1000 mib=8  base=64\tstart=0 count=7 repeat=50 node=0",
				    &plan), 0);
	KUNIT_EXPECT_EQ(test, plan.mib, 8);
	KUNIT_EXPECT_EQ(test, plan.node, 0);
	KUNIT_EXPECT_EQ(test, plan.repeat, 50);
	KUNIT_EXPECT_EQ(test, plan.base, 64);
	KUNIT_EXPECT_EQ(test, plan.start, 0);
	KUNIT_EXPECT_EQ(test, plan.step, 4096);
	KUNIT_EXPECT_EQ(test, plan.count, 7);
}

static void bad_lines_are_refused(struct kunit *test)
{
	static const struct {
		const char *line;
		int error;
	} bad[] = {
		{ "1", -EINVAL }, { "mib", -EINVAL }, { "mib=", -EINVAL }, { "mib=x", -EINVAL },
		{ "mib=-4", -EINVAL }, { "mib=4 mib=4", -EINVAL }, { "size=4", -EINVAL },
		{ "mib=6", -EINVAL }, { "mib=0", -ERANGE }, { "mib=1028", -ERANGE },
		{ "node=1024", -ERANGE }, { "node=4294967296", -ERANGE }, { "repeat=0", -ERANGE },
		{ "repeat=51", -EINVAL }, { "repeat=5050", -ERANGE }, { "step=0", -ERANGE },
		{ "step=32", -ERANGE }, { "step=65", -EINVAL }, { "base=8", -EINVAL },
		{ "start=8", -EINVAL }, { "start=0xffffffffffffffc0", -ERANGE },
		{ "count=0", -ERANGE }, { "count=16777217", -ERANGE },
		{ "count=18446744073709551616", -EINVAL },
	};
	struct probe_plan plan = { .mib = 77 };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bad); i++)
		KUNIT_EXPECT_EQ_MSG(test, parse(bad[i].line, &plan), bad[i].error, "'%s'",
				    bad[i].line);
	KUNIT_EXPECT_EQ(test, plan.mib, 77);
}

/* Pages of a block, of which the direct mapping says the same: that it is cached, or not. */
static unsigned int pages_with(unsigned long addr, enum page_cache_mode mode)
{
	unsigned long i, bits;
	unsigned int n = 0, level;
	pte_t *pte;

	for (i = 0; i < PROBE_PAGES; i++) {
		pte = lookup_address(addr + i * PAGE_SIZE, &level);
		if (!pte)
			continue;
		bits = pte_val(*pte) & (_PAGE_PCD | _PAGE_PWT);
		n += bits == (cachemode2protval(mode) & (_PAGE_PCD | _PAGE_PWT));
	}
	return n;
}

static void memory_is_uncached_while_it_is_held(struct kunit *test)
{
	struct probe_test *t = test->priv;
	unsigned long index;
	unsigned int i = 0;
	void *block;

	KUNIT_ASSERT_EQ(test, probe_hold(&t->memory, numa_mem_id(), MIB, &t->pieces), 0);
	KUNIT_EXPECT_LE(test, 1, t->memory.nr);
	xa_for_each(&t->memory.blocks, index, block) {
		KUNIT_EXPECT_EQ(test, pages_with((unsigned long)block, _PAGE_CACHE_MODE_UC_MINUS),
				PROBE_PAGES);
		KUNIT_EXPECT_EQ(test, index, __pa(block) / PROBE_BYTES);
		if (index >= t->memory.first)
			KUNIT_EXPECT_PTR_EQ(test, block,
					    probe_at(&t->memory, (index - t->memory.first) *
						     PROBE_BYTES));
		t->addr[i++] = (unsigned long)block;
	}
	KUNIT_EXPECT_EQ(test, i, t->memory.nr);
	KUNIT_EXPECT_NOT_NULL(test, probe_at(&t->memory, 0));
	KUNIT_EXPECT_NULL(test, probe_at(&t->memory, (t->memory.last + 1 - t->memory.first) *
					 PROBE_BYTES));
	KUNIT_EXPECT_LT(test, 0, t->memory.cached);
	KUNIT_EXPECT_LT(test, 0, t->memory.uncached);
	probe_drop(&t->memory);
	while (i--)
		KUNIT_EXPECT_EQ(test, pages_with(t->addr[i], _PAGE_CACHE_MODE_WB), PROBE_PAGES);
	KUNIT_EXPECT_EQ(test, t->memory.nr, 0);
	KUNIT_EXPECT_TRUE(test, xa_empty(&t->memory.blocks));
}

static void cost_of_a_pair(struct kunit *test)
{
	struct probe_test *t = test->priv;
	u64 median, mean;
	void *line = kunit_kzalloc(test, 2 * PROBE_LINE, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, line);
	mean = probe_pair(line, line + PROBE_LINE, PROBE_MAX_REPEAT, &t->pieces, &median);
	KUNIT_EXPECT_LT(test, 0, mean);
	KUNIT_EXPECT_LT(test, 0, median);
	/* Sorted: the median is the middle one. */
	KUNIT_EXPECT_EQ(test, median,
			t->pieces.cycles[PROBE_PIECES / 2] * 100 / PROBE_PIECE);
	KUNIT_EXPECT_LE(test, t->pieces.cycles[0], t->pieces.cycles[PROBE_PIECES - 1]);
}

static struct kunit_case probe_cases[] = {
	KUNIT_CASE(lines_are_read),
	KUNIT_CASE(bad_lines_are_refused),
	KUNIT_CASE(memory_is_uncached_while_it_is_held),
	KUNIT_CASE(cost_of_a_pair),
	{}
};

static struct kunit_suite probe_suite = {
	.name = "mcube_probe",
	.init = probe_test_init,
	.test_cases = probe_cases,
};

kunit_test_suite(probe_suite);
