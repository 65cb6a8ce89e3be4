// SPDX-License-Identifier: GPL-2.0
/*
 * memload: memory-bound threads on the modelled machine
 *
 *	memload [-t THREADS] [-m MIB | -k KIB] [-w PASSES] [-r PASSES] [-s | -l | -p] [-f FILE]
 *		PATTERN
 *
 * Thread i runs on CPU i and has MIB or KIB of anonymous memory of its own, with
 * an array for each operand of PATTERN, as in stream and ramspeed:
 *
 *	copy	a[i] = b[i]			read	sum += a[i]
 *	triad	a[i] = b[i] + 3 * c[i]		write	a[i] = i
 *	random	one word of a random line, as often as there are lines
 *
 * All threads fault their arrays in at the same time, page by page and array
 * by array, so that the allocator decides which thread gets which frame.  Or the set-up is
 * serial:
 *
 *	-s	thread 0 faults in all arrays, one thread's after the other's
 *	-l	thread 0 faults in all first arrays, then all second arrays, as a program that
 *		initializes one large array after the other: with arrays of a power of two, all
 *		threads and operands are powers of two apart
 *	-p	a process faults in all arrays like -s and forks the workers, which get frames
 *		of their own for what they write, all at the same time
 *
 * The threads wait for each other, make the passes of -w, then count the passes of -r with
 * the events of perf's mcube_sim (team.h).
 *
 * The program prints "EVENT VALUE" lines: cycles of the slowest thread, and for
 * every other event the sum over the threads.  FILE gets the frames: a line per
 * array, in the order of its pages, the arrays of thread 0 first.
 */

#define _GNU_SOURCE
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "team.h"

#define PAGE		4096UL
#define LINE		64UL

struct pattern {
	const char *name;
	unsigned int arrays;
	void (*pass)(uint64_t **a, size_t n, uint64_t *state);
};

struct thread {
	uint64_t state;
	uint64_t *array[3];
};

static const struct pattern *pattern;
static size_t words;
static bool serial, in_line;
static struct thread threads[TEAM_MOST];
static volatile uint64_t sink;

static void copy(uint64_t **a, size_t n, uint64_t *state)
{
	volatile uint64_t *to = a[0], *from = a[1];

	(void)state;
	for (size_t i = 0; i < n; i++)
		to[i] = from[i];
}

static void triad(uint64_t **a, size_t n, uint64_t *state)
{
	volatile uint64_t *to = a[0], *b = a[1], *c = a[2];

	(void)state;
	for (size_t i = 0; i < n; i++)
		to[i] = b[i] + 3 * c[i];
}

static void read_all(uint64_t **a, size_t n, uint64_t *state)
{
	volatile uint64_t *from = a[0];
	uint64_t sum = 0;

	(void)state;
	for (size_t i = 0; i < n; i++)
		sum += from[i];
	sink = sum;
}

static void write_all(uint64_t **a, size_t n, uint64_t *state)
{
	volatile uint64_t *to = a[0];

	(void)state;
	for (size_t i = 0; i < n; i++)
		to[i] = i;
}

static void random_lines(uint64_t **a, size_t n, uint64_t *state)
{
	volatile uint64_t *from = a[0];
	size_t lines = n * sizeof(*from) / LINE;
	uint64_t x = *state, sum = 0;

	for (size_t i = 0; i < lines; i++) {
		/* xorshift64 */
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		sum += from[(x >> 11) % lines * (LINE / sizeof(*from))];
	}
	*state = x;
	sink = sum;
}

static const struct pattern patterns[] = {
	{ "copy", 2, copy },
	{ "triad", 3, triad },
	{ "read", 1, read_all },
	{ "write", 1, write_all },
	{ "random", 1, random_lines },
};

static void fault_page(struct thread *t, unsigned int array, size_t off)
{
	t->array[array][off] = off;
}

/* Fault the arrays of @nr threads in: page by page, and thread by thread. */
static void fault(struct thread *t, unsigned int nr)
{
	for (; nr; nr--, t++)
		for (size_t off = 0; off < words; off += PAGE / sizeof(uint64_t))
			for (unsigned int i = 0; i < pattern->arrays; i++)
				fault_page(t, i, off);
}

/* Fault the arrays of all threads in, array by array. */
static void fault_in_line(void)
{
	for (unsigned int i = 0; i < pattern->arrays; i++)
		for (struct thread *t = threads; t < threads + team->nr; t++)
			for (size_t off = 0; off < words; off += PAGE / sizeof(uint64_t))
				fault_page(t, i, off);
}

static void map_arrays(struct thread *t)
{
	for (unsigned int i = 0; i < pattern->arrays; i++) {
		t->array[i] = mmap(NULL, words * sizeof(uint64_t), PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (t->array[i] == MAP_FAILED)
			die("mmap");
		madvise(t->array[i], words * sizeof(uint64_t), MADV_NOHUGEPAGE);
	}
}

/* The memory of all processes. */
static void setup(void)
{
	for (unsigned int i = 0; i < team->nr; i++)
		map_arrays(&threads[i]);
	fault(threads, team->nr);
}

static void prepare(unsigned int me)
{
	threads[me].state = 0x9e3779b97f4a7c15ULL * (me + 1);
	if (team->processes)
		return;
	map_arrays(&threads[me]);
	team_wait();
	if (!serial && !in_line)
		fault(&threads[me], 1);
	else if (!me && in_line)
		fault_in_line();
	else if (!me)
		fault(threads, team->nr);
}

static void pass(unsigned int me)
{
	pattern->pass(threads[me].array, words, &threads[me].state);
}

static void write_frames(const char *path)
{
	int pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	size_t step = PAGE / sizeof(uint64_t);
	FILE *f = fopen(path, "w");
	uint64_t e;

	if (pagemap < 0 || !f)
		die(path);
	for (unsigned int i = 0; i < team->nr * pattern->arrays; i++) {
		uint64_t *a = threads[i / pattern->arrays].array[i % pattern->arrays];

		for (size_t off = 0; off < words; off += step) {
			if (pread(pagemap, &e, sizeof(e),
				  (uintptr_t)(a + off) / PAGE * sizeof(e)) != sizeof(e))
				die("pagemap");
			fprintf(f, "%llx ", (unsigned long long)(e & ((1ULL << 55) - 1)));
		}
		fprintf(f, "\n");
	}
	if (fclose(f))
		die(path);
	close(pagemap);
}

int main(int argc, char **argv)
{
	struct team work = { .nr = 1, .passes = 1, .prepare = prepare, .pass = pass };
	const char *frames = NULL;
	size_t bytes = 8UL << 20;
	unsigned int i;
	int c;

	while ((c = getopt(argc, argv, "t:m:k:w:r:slpf:")) != -1) {
		if (c == 't')
			work.nr = team_number(optarg, TEAM_MOST);
		else if (c == 'm')
			bytes = (size_t)team_number(optarg, 4096) << 20;
		else if (c == 'k')
			bytes = (size_t)team_number(optarg, 4096L << 10) << 10;
		else if (c == 'w')
			work.warm = team_number(optarg, 1000);
		else if (c == 's')
			serial = true;
		else if (c == 'l')
			in_line = true;
		else if (c == 'p')
			work.processes = true;
		else if (c == 'r')
			work.passes = team_number(optarg, 1000);
		else if (c == 'f')
			frames = optarg;
		else
			goto usage;
	}
	for (i = 0; optind < argc && i < sizeof(patterns) / sizeof(patterns[0]); i++)
		if (!strcmp(argv[optind], patterns[i].name))
			pattern = &patterns[i];
	if (!pattern || optind + 1 != argc || serial + in_line + work.processes > 1 ||
	    (work.processes && frames))
		goto usage;
	if (work.processes)
		work.setup = setup;
	words = bytes / pattern->arrays / PAGE * PAGE / sizeof(uint64_t);
	team_run(&work);
	if (frames)
		write_frames(frames);
	team_print();
	return 0;

usage:
	fprintf(stderr, "usage: memload [-t THREADS] [-m MIB | -k KIB] [-w PASSES] [-r PASSES]\n"
		"               [-s | -l | -p] [-f FILE, not with -p] PATTERN\n"
		"PATTERN: copy triad read write random\n");
	return 2;
}
