// SPDX-License-Identifier: GPL-2.0
/*
 * memload: memory-bound threads on the modelled machine
 *
 *	memload [-t THREADS] [-m MIB | -k KIB] [-w PASSES] [-r PASSES] [-s] [-f FILE] PATTERN
 *
 * Thread i runs on CPU i and has MIB or KIB of anonymous memory of its own, with
 * an array for each operand of PATTERN, as in stream and ramspeed:
 *
 *	copy	a[i] = b[i]			read	sum += a[i]
 *	triad	a[i] = b[i] + 3 * c[i]		write	a[i] = i
 *	random	one word of a random line, as often as there are lines
 *
 * All threads fault their arrays in at the same time, page by page and array
 * by array, so that the allocator decides which thread gets which frame.  With -s
 * thread 0 faults in all arrays, one thread's after the other's, as programs do
 * whose set-up is serial.  The threads wait for each other, make the passes of -w,
 * then count the passes of -r with the events of perf's mcube_sim.  The threads open
 * the events before they fault, so that the model runs all along and CPUs take turns
 * in modelled time during the faults.
 *
 * The program prints "EVENT VALUE" lines: cycles of the slowest thread, and for
 * every other event the sum over the threads.  FILE gets the frames: a line per
 * array, in the order of its pages, the arrays of thread 0 first.
 */

#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sim-events.h"

#define PAGE		4096UL
#define LINE		64UL
#define MAX_THREADS	16

struct pattern {
	const char *name;
	unsigned int arrays;
	void (*pass)(uint64_t **a, size_t n, uint64_t *state);
};

struct thread {
	pthread_t id;
	unsigned int cpu;
	int fd[NR_EVENTS];
	uint64_t value[NR_EVENTS];
	uint64_t state;
	uint64_t *array[3];
};

static const struct pattern *pattern;
static size_t words;
static unsigned int nr_threads = 1, passes = 1, warm;
static bool serial;
static struct thread threads[MAX_THREADS];
static pthread_barrier_t barrier;
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

/* Fault the arrays of @nr threads in: page by page, and thread by thread. */
static void fault(struct thread *t, unsigned int nr)
{
	for (; nr; nr--, t++)
		for (size_t off = 0; off < words; off += PAGE / sizeof(uint64_t))
			for (size_t i = 0; i < pattern->arrays; i++)
				t->array[i][off] = off;
}

static void *run(void *arg)
{
	struct thread *t = arg;
	unsigned int arrays = pattern->arrays;
	uint64_t **a = t->array;
	cpu_set_t set;
	size_t i;

	CPU_ZERO(&set);
	CPU_SET(t->cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		die("sched_setaffinity");
	sim_open(t->fd);
	for (i = 0; i < arrays; i++) {
		a[i] = mmap(NULL, words * sizeof(*a[i]), PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (a[i] == MAP_FAILED)
			die("mmap");
		madvise(a[i], words * sizeof(*a[i]), MADV_NOHUGEPAGE);
	}
	pthread_barrier_wait(&barrier);
	if (!serial)
		fault(t, 1);
	else if (t == threads)
		fault(threads, nr_threads);
	pthread_barrier_wait(&barrier);
	for (i = 0; i < warm; i++)
		pattern->pass(a, words, &t->state);
	pthread_barrier_wait(&barrier);
	sim_start(t->fd);
	for (i = 0; i < passes; i++)
		pattern->pass(a, words, &t->state);
	sim_stop(t->fd, t->value);
	/* A thread must not free its pages while other threads are in a pass. */
	pthread_barrier_wait(&barrier);
	return NULL;
}

static void write_frames(const char *path)
{
	int pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	size_t step = PAGE / sizeof(uint64_t);
	FILE *f = fopen(path, "w");
	uint64_t e;

	if (pagemap < 0 || !f)
		die(path);
	for (unsigned int i = 0; i < nr_threads * pattern->arrays; i++) {
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

static long option(const char *text, long max)
{
	char *end;
	long n = strtol(text, &end, 10);

	if (*end || n < 1 || n > max) {
		fprintf(stderr, "memload: '%s' is not within 1..%ld\n", text, max);
		exit(2);
	}
	return n;
}

int main(int argc, char **argv)
{
	const char *frames = NULL;
	size_t bytes = 8UL << 20;
	unsigned int i;
	int c;

	while ((c = getopt(argc, argv, "t:m:k:w:r:sf:")) != -1) {
		if (c == 't')
			nr_threads = option(optarg, MAX_THREADS);
		else if (c == 'm')
			bytes = (size_t)option(optarg, 4096) << 20;
		else if (c == 'k')
			bytes = (size_t)option(optarg, 4096L << 10) << 10;
		else if (c == 'w')
			warm = option(optarg, 1000);
		else if (c == 's')
			serial = true;
		else if (c == 'r')
			passes = option(optarg, 1000);
		else if (c == 'f')
			frames = optarg;
		else
			goto usage;
	}
	for (i = 0; optind < argc && i < sizeof(patterns) / sizeof(patterns[0]); i++)
		if (!strcmp(argv[optind], patterns[i].name))
			pattern = &patterns[i];
	if (!pattern || optind + 1 != argc)
		goto usage;
	if (nr_threads > (unsigned int)sysconf(_SC_NPROCESSORS_ONLN)) {
		fprintf(stderr, "memload: more threads than CPUs\n");
		return 2;
	}
	words = bytes / pattern->arrays / PAGE * PAGE / sizeof(uint64_t);
	sim_find();
	if (pthread_barrier_init(&barrier, NULL, nr_threads))
		die("barrier");
	for (i = 0; i < nr_threads; i++) {
		threads[i].cpu = i;
		threads[i].state = 0x9e3779b97f4a7c15ULL * (i + 1);
		if (pthread_create(&threads[i].id, NULL, run, &threads[i]))
			die("pthread_create");
	}
	for (i = 0; i < nr_threads; i++)
		pthread_join(threads[i].id, NULL);
	if (frames)
		write_frames(frames);
	for (size_t e = 0; e < NR_EVENTS; e++) {
		uint64_t sum = 0, most = 0;

		for (i = 0; i < nr_threads; i++) {
			sum += threads[i].value[e];
			if (threads[i].value[e] > most)
				most = threads[i].value[e];
		}
		printf("%s %llu\n", sim_events[e],
		       (unsigned long long)(e ? sum : most));
	}
	return 0;

usage:
	fprintf(stderr, "usage: memload [-t THREADS] [-m MIB | -k KIB] [-w PASSES] [-r PASSES]\n"
		"               [-s] [-f FILE] PATTERN\n"
		"PATTERN: copy triad read write random\n");
	return 2;
}
