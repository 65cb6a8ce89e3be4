/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shared code of programs that count instructions.
 *
 * Under QEMU's -icount shift=0 the time stamp counter counts executed
 * instructions exactly: a loop of known length proves it.
 *
 * QEMU counts a rep string instruction once per iteration, hardware counts it
 * once.  The line "rep" says by how much the rep instruction that clears a page
 * counts more than one.
 */
#ifndef _MCUBE_ICOUNT_H
#define _MCUBE_ICOUNT_H

#include <cpuid.h>
#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE		4096UL
#define MAX_ROUNDS	1024

/* Instructions of an operation on all pages, and of undoing it. */
struct round {
	unsigned long make;
	unsigned long undo;
};

static inline void die(const char *what)
{
	fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what,
		strerror(errno));
	exit(1);
}

static inline unsigned long now(void)
{
	unsigned int lo, hi;

	asm volatile("lfence; rdtsc" : "=a"(lo), "=d"(hi) :: "memory");
	return (unsigned long)hi << 32 | lo;
}

/* Two instructions per iteration. */
static inline unsigned long known_loop(unsigned long turns)
{
	unsigned long start = now();

	asm volatile("1: dec %0\n\tjnz 1b" : "+r"(turns) :: "cc");
	return now() - start;
}

/* Enhanced rep movsb and stosb. */
static inline bool has_erms(void)
{
	unsigned int a, b, c, d;

	return __get_cpuid_count(7, 0, &a, &b, &c, &d) && b & 1U << 9;
}

static inline unsigned long stosb_count(char *p, unsigned long n)
{
	unsigned long start = now();

	asm volatile("rep stosb" : "+D"(p), "+c"(n) : "a"(0) : "memory");
	return now() - start;
}

static inline unsigned long stosq_count(char *p, unsigned long n)
{
	unsigned long start = now();

	asm volatile("rep stosq" : "+D"(p), "+c"(n) : "a"(0) : "memory");
	return now() - start;
}

/* Clear a page as the kernel does (arch/x86/lib/clear_page_64.S). */
static inline unsigned long clear_count(char *p)
{
	return has_erms() ? stosb_count(p, PAGE) - stosb_count(p, 0) :
			    stosq_count(p, PAGE / 8) - stosq_count(p, 0);
}

static inline unsigned long movsb_count(char *to, const char *from, unsigned long n)
{
	unsigned long start = now();

	asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(n) :: "memory");
	return now() - start;
}

static inline unsigned long movsq_count(char *to, const char *from, unsigned long n)
{
	unsigned long start = now();

	asm volatile("rep movsq" : "+D"(to), "+S"(from), "+c"(n) :: "memory");
	return now() - start;
}

/*
 * See copy_user_generic(), arch/x86/lib/copy_user_64.S: rep movsq does not copy
 * the first eight bytes.
 */
static inline unsigned long copy_count(char *to, const char *from)
{
	unsigned int a, b, c, d;

	if (has_erms() ||
	    (__get_cpuid_count(7, 0, &a, &b, &c, &d) && d & 1U << 4))
		return movsb_count(to, from, PAGE) - movsb_count(to, from, 0);
	return movsq_count(to, from, PAGE / 8 - 1) - movsq_count(to, from, 0);
}

/* Stay on one CPU, lock the program's memory, and test the counter. */
static inline void icount_begin(void)
{
	static char scratch[PAGE];
	cpu_set_t cpu;
	int i;

	CPU_ZERO(&cpu);
	CPU_SET(0, &cpu);
	sched_setaffinity(0, sizeof(cpu), &cpu);
	if (mlockall(MCL_CURRENT))
		die("mlockall");
	memset(scratch, 1, sizeof(scratch));
	for (i = 0; i < 3; i++)
		printf("loop %lu\n", known_loop(500000));
	for (i = 0; i < 3; i++)
		printf("rep %lu\n", clear_count(scratch));
}

static inline void print_rounds(const char *name, const struct round *r,
				unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		printf("%s %u %lu %lu\n", name, i, r[i].make, r[i].undo);
}

#endif /* _MCUBE_ICOUNT_H */
