// SPDX-License-Identifier: GPL-2.0
/*
 * Cost of a pair of loads over the distance of their physical addresses: Algorithm 1 of the
 * M3 paper (ASPLOS 2013, section 3.1), by a process.
 *
 *	mcube-probe offsets [-M MIB] [-r REPEAT] [-c CPU] [-m]
 *
 * After a line {"header": ...} it reads lines "START STEP COUNT" of bytes from stdin, and
 * answers each by a line {"offset": bytes, "cycles": median} for each pair that the memory
 * has, and {"result": "offsets"}.  It holds the same memory from one line to the next, so
 * that all distances are from the same address.  With -m time is that of a modelled machine.
 *
 * Differences from the paper: lines are flushed from the caches instead of being mapped
 * uncached, which a process cannot do, and the median of the repetitions is taken.
 */
#define _GNU_SOURCE
#include "probe.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "memory.h"
#include "model_clock.h"
#include "numbers.h"
#include "timing.h"

#define LINE		64
#define REPEAT		100
#define MAX_REPEAT	5000
#define MODEL_REPEAT	8
#define MAX_MIB		1024

/* Memory in the order of physical addresses, from the first unit that counts. */
struct sorted {
	const struct memory *m;
	struct memory_unit *all, *unit;
	size_t n;
};

static bool sort_units(struct sorted *s, const struct memory *m)
{
	size_t n = m->bytes >> m->shift, most = 0, first = 0;

	s->m = m;
	s->all = memory_sort(m);
	if (!s->all)
		return false;
	/* Start where most of the memory follows within as many bytes as it has. */
	for (size_t i = 0, j = 0; i < n; i++) {
		while (j < n && s->all[j].address < s->all[i].address + m->bytes)
			j++;
		if (j - i > most) {
			most = j - i;
			first = i;
		}
	}
	s->unit = s->all + first;
	s->n = n - first;
	return true;
}

/* Median ticks of two loads from DRAM, of which the second waits for the first. */
static uint64_t pair(char *one, char *other, uint64_t *ticks, unsigned int repeat)
{
	for (unsigned int i = 0; i < repeat; i++) {
		uint64_t from, v;

		flush(one);
		flush(other);
		fence();
		from = clock_begin();
		/* The lines hold zeros, which the CPU cannot know. */
		asm volatile("mov (%1), %0" : "=r" (v) : "r" (one) : "memory");
		asm volatile("mov (%1), %0" : "=r" (v) : "r" (other + v) : "memory");
		ticks[i] = clock_end() - from;
	}
	qsort(ticks, repeat, sizeof(*ticks), by_u64);
	return ticks[repeat / 2];
}

static void answer(const struct sorted *s, uint64_t start, uint64_t step, uint64_t count,
		   uint64_t *ticks, unsigned int repeat)
{
	uint64_t end = s->unit[s->n - 1].address + (1ul << s->m->shift) -
		       s->unit[0].address;
	char *one = s->unit[0].at;

	for (uint64_t i = 0; i < count && start + i * step < end; i++) {
		char *other = memory_find(s->m, s->unit, s->n,
					  s->unit[0].address + start + i * step);

		if (other)
			printf("{\"offset\": %llu, \"cycles\": %llu}\n",
			       (unsigned long long)(start + i * step),
			       (unsigned long long)pair(one, other, ticks, repeat));
	}
	printf("{\"result\": \"offsets\"}\n");
	fflush(stdout);
}

static int serve(const struct sorted *s, unsigned int repeat)
{
	const struct memory *m = s->m;
	uint64_t *ticks = calloc(repeat, sizeof(*ticks));
	unsigned long long start, step, count;
	char line[128], more;

	if (!ticks)
		return fail("close other programs", "no memory");
	printf("{\"header\": {\"held_mib\": %zu, \"pages\": \"%s\", \"page_bytes\": %lu, ",
	       m->bytes >> 20, m->how, 1ul << m->shift);
	printf("\"repeat\": %u, \"clock\": \"%s\"}}\n", repeat, clock_source.name);
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		if (sscanf(line, "%llu %llu %llu %c", &start, &step, &count, &more) != 3 ||
		    start % LINE || step % LINE || !step || !count || count > 1u << 24 ||
		    start > 1ull << 46 || step > 1ull << 30) {
			free(ticks);
			return fail("write START STEP COUNT, in multiples of 64 bytes",
				    "no distances: '%.40s'", line);
		}
		answer(s, start, step, count, ticks, repeat);
	}
	free(ticks);
	return 0;
}

static const char *get(struct memory *m, size_t bytes)
{
	const char *bad = memory_get(m, bytes, SHIFT_1G);

	if (bad)
		bad = memory_get(m, bytes, SHIFT_2M);
	if (!bad && !m->physical) {
		memory_put(m);
		bad = "the physical addresses of memory are hidden from this user";
	}
	return bad;
}

/**
 * probe_offsets - the subcommand "offsets"
 * @argc:	as of main(), from the subcommand on
 * @argv:	as of main()
 *
 * Return: the exit status.
 */
int probe_offsets(int argc, char **argv)
{
	long mib = 128, repeat = REPEAT, cpu = -1;
	bool model = false;
	struct sorted s = { 0 };
	struct memory m;
	const char *bad;
	int c, ret;

	while ((c = getopt(argc, argv, "M:r:c:m")) != -1) {
		if (c == 'M')
			mib = atol(optarg);
		else if (c == 'r')
			repeat = atol(optarg);
		else if (c == 'c')
			cpu = atol(optarg);
		else if (c == 'm')
			model = true;
		else
			return fail("see the head of offsets.c", "wrong options of 'offsets'");
	}
	if (optind != argc || mib < 4 || mib > MAX_MIB || repeat < 1 || repeat > MAX_REPEAT)
		return fail("give -M 4 to 1024 and -r 1 to 5000", "wrong options of 'offsets'");
	bad = pin(cpu);
	if (bad)
		return fail("name a CPU that this process may run on", "CPU %ld: %s", cpu, bad);
	bad = get(&m, (size_t)mib << 20);
	if (bad)
		return fail("run it as root, with huge pages in /proc/sys/vm/nr_hugepages", "%s",
			    bad);
	/* memory_get() leaves its own marks; pair() wants zeros. */
	memset(m.base, 0, m.bytes);
	if (!sort_units(&s, &m)) {
		memory_put(&m);
		return fail("close other programs", "no memory");
	}
	if (model) {
		bad = model_clock_init(sched_getcpu());
		if (bad)
			return fail("leave -m out", "%s", bad);
		model_clock_uncached(m.base, m.bytes);
		/* Nothing disturbs the model. */
		repeat = MODEL_REPEAT;
	}
	ret = serve(&s, repeat);
	free(s.all);
	memory_put(&m);
	return ret;
}
