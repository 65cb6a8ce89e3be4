// SPDX-License-Identifier: GPL-2.0
/*
 * main() of every *_test: runs the registered tests and speaks KTAP.
 *
 * A test fails by an EXPECT or ASSERT, or by a warning raised in the code under test;
 * the sanitizers end the whole program.  Only the first failures of a test are printed,
 * as a random test that goes wrong tends to go wrong everywhere.
 */
#include "mcube_test.h"

#include <getopt.h>
#include <time.h>

#define MAX_SHOWN 10

static struct test *first, **last = &first;
static unsigned int failures;
static const char *skipped;
static unsigned long scale = 1;
static struct rnd_state rnd;

unsigned int shim_warnings;

void shim_warn(const char *file, int line, const char *what)
{
	if (shim_warnings++ < MAX_SHOWN)
		printf("# %s:%d: WARN_ON(%s)\n", file, line, what);
}

static u32 tausworthe(u32 s, int a, int b, u32 c, int d)
{
	return ((s & c) << d) ^ (((s << a) ^ s) >> b);
}

u32 prandom_u32_state(struct rnd_state *state)
{
	state->s1 = tausworthe(state->s1, 6, 13, 4294967294U, 18);
	state->s2 = tausworthe(state->s2, 2, 27, 4294967288U, 2);
	state->s3 = tausworthe(state->s3, 13, 21, 4294967280U, 7);
	state->s4 = tausworthe(state->s4, 3, 12, 4294967168U, 13);
	return state->s1 ^ state->s2 ^ state->s3 ^ state->s4;
}

static u32 at_least(u32 x, u32 m)
{
	return x < m ? x + m : x;
}

void prandom_seed_state(struct rnd_state *state, u64 seed)
{
	u32 i = ((seed >> 32) ^ (seed << 10) ^ seed) & 0xffffffffUL;

	state->s1 = at_least(i, 2U);
	state->s2 = at_least(i, 8U);
	state->s3 = at_least(i, 16U);
	state->s4 = at_least(i, 128U);
}

u32 get_random_u32(void)
{
	return prandom_u32_state(&rnd);
}

u64 get_random_u64(void)
{
	u64 high = get_random_u32();

	return high << 32 | get_random_u32();
}

void test_register(struct test *t)
{
	*last = t;
	last = &t->next;
}

static void note(const char *fmt, va_list ap)
{
	vprintf(fmt, ap);
	putchar('\n');
}

void test_note(const char *fmt, ...)
{
	va_list ap;

	printf("# ");
	va_start(ap, fmt);
	note(fmt, ap);
	va_end(ap);
}

void test_fail(const char *file, int line, const char *fmt, ...)
{
	va_list ap;

	if (failures++ >= MAX_SHOWN)
		return;
	printf("# %s:%d: ", file, line);
	va_start(ap, fmt);
	note(fmt, ap);
	va_end(ap);
}

void test_skip(const char *why)
{
	skipped = why;
}

unsigned long test_scale(void)
{
	return scale;
}

bool test_failed(void)
{
	return failures;
}

static void seed_for(const char *name, u64 seed)
{
	int i;

	seed *= 0x9e3779b97f4a7c15ULL;
	for (; *name; name++)
		seed = (seed ^ (u8)*name) * 0x100000001b3ULL;
	prandom_seed_state(&rnd, seed);
	for (i = 0; i < 16; i++)
		get_random_u32();
}

static bool run(const struct test *t, unsigned int nr, u64 seed)
{
	struct timespec a, b;

	failures = 0;
	shim_warnings = 0;
	skipped = NULL;
	seed_for(t->name, seed);
	clock_gettime(CLOCK_MONOTONIC, &a);
	t->fn();
	clock_gettime(CLOCK_MONOTONIC, &b);
	failures += shim_warnings;

	printf("%sok %u %s%s%s", failures ? "not " : "", nr, t->name,
	       skipped && !failures ? " # SKIP " : "", skipped && !failures ? skipped : "");
	if (failures)
		printf(" # %u failures, seed %llu", failures, (unsigned long long)seed);
	putchar('\n');
	if (b.tv_sec - a.tv_sec >= 2)
		printf("# %s took %ld s\n", t->name, (long)(b.tv_sec - a.tv_sec));
	fflush(stdout);
	return !failures;
}

static void __noreturn help(const char *me, int rc)
{
	printf("usage: %s [--list] [--seed=N] [--scale=N] [NAME...]\n"
	       "Runs the tests whose name contains one of NAME (all without), KTAP on stdout.\n"
	       "  --seed=N   start of the random numbers (default 1)\n"
	       "  --scale=N  random tests run N times as long (default 1)\n", me);
	exit(rc);
}

static bool wanted(const struct test *t, char **names)
{
	if (!*names)
		return true;
	for (; *names; names++)
		if (strstr(t->name, *names))
			return true;
	return false;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "list", no_argument, NULL, 'l' },
		{ "seed", required_argument, NULL, 's' },
		{ "scale", required_argument, NULL, 'x' },
		{ "help", no_argument, NULL, 'h' },
		{ }
	};
	unsigned int nr = 0, bad = 0;
	const struct test *t;
	bool list = false;
	u64 seed = 1;
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (c) {
		case 'l':
			list = true;
			break;
		case 's':
			seed = strtoull(optarg, NULL, 0);
			break;
		case 'x':
			scale = strtoul(optarg, NULL, 0);
			if (!scale)
				help(argv[0], 2);
			break;
		default:
			help(argv[0], c == 'h' ? 0 : 2);
		}
	}
	for (t = first; t; t = t->next)
		nr += wanted(t, argv + optind);
	if (!list)
		printf("KTAP version 1\n1..%u\n", nr);
	nr = 0;
	for (t = first; t; t = t->next) {
		if (!wanted(t, argv + optind))
			continue;
		if (list)
			puts(t->name);
		else
			bad += !run(t, ++nr, seed);
	}
	return bad || (!nr && !list);
}
