/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Time of a few loads: a pinned CPU, fences, and loads that each wait for the one before.
 *
 * The clock is the time stamp counter, or what clock_source names instead: in a guest
 * whose caches and DRAM are modelled, the model's cycles.
 */
#ifndef MCUBE_PROBE_TIMING_H
#define MCUBE_PROBE_TIMING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * struct clock - where time comes from
 * @name:	for reports
 * @ticks_per_ns: 0 if ticks are cycles of a model
 * @read:	ticks so far, in order with the loads before and after; NULL: the time stamp
 *		counter
 */
struct clock {
	const char *name;
	double ticks_per_ns;
	uint64_t (*read)(void);
};

extern struct clock clock_source;

const char *clock_init(void);
const char *pin(int cpu);

/** clock_scale - Return: ticks for the unit of reports, 1 ns or a cycle of a model */
static inline double clock_scale(void)
{
	return clock_source.ticks_per_ns > 0 ? clock_source.ticks_per_ns : 1;
}

static inline uint64_t tsc_begin(void)
{
	uint32_t low, high;

	asm volatile("mfence\n\tlfence\n\trdtsc\n\tlfence" : "=a" (low), "=d" (high) :: "memory");
	return (uint64_t)high << 32 | low;
}

static inline uint64_t tsc_end(void)
{
	uint32_t low, high, aux;

	asm volatile("rdtscp\n\tlfence" : "=a" (low), "=d" (high), "=c" (aux) :: "memory");
	return (uint64_t)high << 32 | low;
}

static inline uint64_t clock_begin(void)
{
	return clock_source.read ? clock_source.read() : tsc_begin();
}

static inline uint64_t clock_end(void)
{
	return clock_source.read ? clock_source.read() : tsc_end();
}

static inline void flush(const void *p)
{
	asm volatile("clflush (%0)" :: "r" (p) : "memory");
}

static inline void fence(void)
{
	asm volatile("mfence" ::: "memory");
}

/** load_both - load from @a, and then from @b, whose address waits for the first load */
static inline void load_both(uintptr_t a, uintptr_t b)
{
	asm volatile("mov (%0), %0\n\t"
		     "and $0, %0\n\t"
		     "mov (%1, %0), %0" : "+r" (a) : "r" (b) : "memory");
}

/**
 * follow - follow a chain of pointers
 * @p:	the first
 * @n:	how many
 *
 * Return: the pointer arrived at.
 */
static inline void **follow(void **p, size_t n)
{
	while (n--)
		asm volatile("mov (%0), %0" : "+r" (p) :: "memory");
	return p;
}

#endif
