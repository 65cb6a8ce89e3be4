// SPDX-License-Identifier: GPL-2.0
/* Clock, CPU and timed chases; timing.h says what they are for. */
#define _GNU_SOURCE
#include "timing.h"

#include <cpuid.h>
#include <errno.h>
#include <sched.h>
#include <string.h>
#include <time.h>

#include "chase.h"

#define CALIBRATE_NS	20000000

struct clock clock_source = { .name = "tsc" };

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC_RAW, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

/**
 * clock_init - see what this CPU can, and how fast its time stamp counter runs
 *
 * Return: NULL, or why nothing can be timed here.
 */
const char *clock_init(void)
{
	unsigned int a, b, c, d;
	uint64_t from, ticks;

	if (!__get_cpuid(0x80000001, &a, &b, &c, &d) || !(d & 1 << 27))
		return "this CPU has no RDTSCP";
	from = now_ns();
	ticks = tsc_begin();
	while (now_ns() - from < CALIBRATE_NS)
		;
	ticks = tsc_end() - ticks;
	clock_source.ticks_per_ns = (double)ticks / (now_ns() - from);
	return NULL;
}

/**
 * pin - run on one CPU from here on
 * @cpu:	its number; -1: the one that runs this now
 *
 * Return: NULL, or why not.
 */
const char *pin(int cpu)
{
	cpu_set_t set;

	if (cpu < 0)
		cpu = sched_getcpu();
	CPU_ZERO(&set);
	if (cpu < 0 || cpu >= CPU_SETSIZE)
		return "there is no such CPU";
	CPU_SET(cpu, &set);
	return sched_setaffinity(0, sizeof(set), &set) ? strerror(errno) : NULL;
}

/**
 * chase_time - follow a ring
 * @c:		the ring
 * @passes:	how often around, after one pass that is not timed
 *
 * Return: ticks for each load.
 */
double chase_time(const struct chase *c, unsigned int passes)
{
	void **p = follow(c->first, c->loads);
	uint64_t from = clock_begin();

	follow(p, c->loads * passes);
	return (double)(clock_end() - from) / (c->loads * passes);
}
