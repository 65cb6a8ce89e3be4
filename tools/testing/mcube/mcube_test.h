/* SPDX-License-Identifier: GPL-2.0 */
/*
 * kselftest_harness.h for pure units: include this header once in each test program.
 *
 *	TEST(parity_is_linear)
 *	{
 *		unsigned long rounds = 1000 * test_scale();
 *		...
 *		ASSERT_EQ(value(a ^ b), value(a) ^ value(b));
 *	}
 *
 * The harness runs each test in a process of its own, so a sanitizer that ends the
 * process fails only that test.  TEST() adds:
 *
 *  - Random numbers that follow from SEED= of the environment and from the name of the
 *    test, so a test gets the same numbers whether it runs alone or with other tests.
 *  - A time limit that grows with SCALE= of the environment, as random runs do.
 *  - A check for leaks: the process of a test ends by _exit(), which LeakSanitizer does
 *    not see.
 *
 * A function that uses EXPECT_*() or ASSERT_*() and is called by a test needs a parameter
 * named _metadata, which these macros use.
 */
#ifndef MCUBE_TEST_H
#define MCUBE_TEST_H

#include "kselftest_harness.h"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>
#endif

#include <linux/kernel.h>
#include <linux/prandom.h>

static struct rnd_state test_rnd;

static inline unsigned long test_number(const char *variable)
{
	const char *text = getenv(variable);

	return text ? strtoul(text, NULL, 0) : 1;
}

static inline unsigned long test_scale(void)
{
	return max(test_number("SCALE"), 1UL);
}

static inline u32 get_random_u32(void)
{
	return prandom_u32_state(&test_rnd);
}

static inline u64 get_random_u64(void)
{
	u64 high = get_random_u32();

	return high << 32 | get_random_u32();
}

static inline u32 get_random_u32_below(u32 ceil)
{
	return ((u64)get_random_u32() * ceil) >> 32;
}

FIXTURE(unit) {
};

FIXTURE_SETUP(unit)
{
	u64 seed = test_number("SEED") * 0x9e3779b97f4a7c15ULL;
	const char *c;
	int i;

	for (c = _metadata->name; *c; c++)
		seed = (seed ^ (u8)*c) * 0x100000001b3ULL;
	prandom_seed_state(&test_rnd, seed);
	for (i = 0; i < 16; i++)
		get_random_u32();
}

FIXTURE_TEARDOWN(unit)
{
#ifdef __SANITIZE_ADDRESS__
	/* A test that failed may have left its memory behind. */
	if (_metadata->exit_code == KSFT_PASS)
		EXPECT_EQ(__lsan_do_recoverable_leak_check(), 0);
#endif
}

/* The limit ends a test that hangs; on a busy host a sound one has a small share of a CPU. */
#define TEST_PATIENCE	20

#undef TEST
#define TEST(name) \
	TEST_F_TIMEOUT(unit, name, TEST_TIMEOUT_DEFAULT * TEST_PATIENCE * test_scale())

/* As TEST_HARNESS_MAIN, but first prints how to repeat the run: a test may abort. */
int main(int argc, char **argv)
{
	fprintf(stderr, "# SEED=%lu SCALE=%lu\n", test_number("SEED"), test_scale());
	return test_harness_run(argc, argv);
}

#endif /* MCUBE_TEST_H */
