// SPDX-License-Identifier: GPL-2.0
/*
 * mcube-probe banks: the DRAM banks of this machine
 *
 *	mcube-probe banks [-m MIB] [-k 1G|2M|4K] [-v PAIRS] [-s SEED] [-c CPU] [-t tsc|model]
 *			  [-H MAP]...
 *
 * bank.c on memory of this machine: 1 GiB of the largest pages to be had, unless told
 * otherwise. It needs physical addresses, so root. -t model: the cycles of a modelled
 * machine, in its guest. -H: a map as in map/bank_map that is tried first, 16 at most.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bank_text.h"
#include "memory.h"
#include "model_clock.h"
#include "probe.h"
#include "timing.h"

#define REPEATS		15u
#define MODEL_REPEATS	3u
#define PAIRS		400u
#define MOST_HYPOTHESES	16u

static struct memory memory;

/* The options. */
static struct {
	size_t mib;
	unsigned int shift;
	unsigned int pairs;
	uint64_t seed;
	int cpu;
	bool model;
	struct solve_map hypothesis[MOST_HYPOTHESES];
	unsigned int nr;
	const char *bad;
} options = { .mib = 1024, .pairs = PAIRS, .seed = 1, .cpu = -1 };

/* Of the memory, by physical address. */
static struct memory_unit *units;

static void pick(void *context, uint64_t random, unsigned int align, struct bank_line *l)
{
	size_t offset = random % memory.bytes >> align << align;

	(void)context;
	l->physical = memory_address(&memory, offset);
	l->handle = (uintptr_t)memory.base + offset;
}

static bool find(void *context, uint64_t physical, struct bank_line *l)
{
	const char *at = memory_find(&memory, units, memory.bytes >> memory.shift, physical);

	(void)context;
	l->physical = physical;
	l->handle = (uintptr_t)at;
	return at;
}

/* Load *@a, and then *@b, whose address waits for the first load. */
static inline void load_both(uintptr_t a, uintptr_t b)
{
	asm volatile("mov (%0), %0\n\t"
		     "and $0, %0\n\t"
		     "mov (%1, %0), %0" : "+r" (a) : "r" (b) : "memory");
}

static double once(void *context, const struct bank_line *a, const struct bank_line *b)
{
	uint64_t from, to;

	(void)context;
	if (!clock_source.read) {
		flush((const void *)a->handle);
		flush((const void *)b->handle);
		fence();
	}
	from = clock_begin();
	load_both(a->handle, b->handle);
	to = clock_end();
	return to - from;
}

static void show(void *context, double share)
{
	(void)context;
	progress(share);
}

/* Buffers to try, from the best on. Returns why none was had. */
static const char *get(size_t bytes, unsigned int shift)
{
	static const unsigned int shifts[] = { SHIFT_1G, SHIFT_2M, SHIFT_4K };
	const char *bad = "no memory";

	for (unsigned int i = 0; i < 3; i++) {
		if (shift && shifts[i] != shift)
			continue;
		bad = memory_get(&memory, bytes, shifts[i]);
		if (!bad)
			return NULL;
	}
	return bad;
}

/* Returns false if the options make no sense; options.bad says what of a map does not. */
static bool parse(int argc, char **argv)
{
	int c;

	while ((c = getopt(argc, argv, "m:k:v:s:c:t:H:")) != -1) {
		uint64_t n = optarg ? strtoull(optarg, NULL, 0) : 0;

		if (c == 'm') {
			options.mib = n;
		} else if (c == 'k') {
			options.shift = !strcmp(optarg, "1G") ? SHIFT_1G :
				!strcmp(optarg, "2M") ? SHIFT_2M :
				!strcmp(optarg, "4K") ? SHIFT_4K : 1;
		} else if (c == 'v') {
			options.pairs = n;
		} else if (c == 's') {
			options.seed = n;
		} else if (c == 'c') {
			options.cpu = n;
		} else if (c == 't') {
			options.model = !strcmp(optarg, "model");
		} else if (c == 'H' && options.nr < MOST_HYPOTHESES) {
			options.bad = bank_parse(&options.hypothesis[options.nr++], optarg);
			if (options.bad)
				return false;
		} else {
			return false;
		}
	}
	return optind == argc && options.mib >= 16 && options.mib <= 1 << 20 &&
	       options.shift != 1 && options.pairs >= 50 && options.pairs <= 100000;
}

/**
 * probe_banks - the subcommand banks
 * @argc:	as of main(), from the subcommand on
 * @argv:	as of main()
 *
 * Return: exit status.
 */
int probe_banks(int argc, char **argv)
{
	struct bank_memory m = { pick, find, once, show, NULL, REPEATS };
	size_t free_mib = memory_available() >> 20;
	struct bank_report report;
	const char *bad;

	if (options.mib > free_mib / 2)
		options.mib = free_mib / 2;
	if (!parse(argc, argv))
		return fail(options.bad ? "write it as map/bank_map does" :
			    "give -m 16 or more, -k 1G, 2M or 4K, -v 50 to 100000",
			    "%s", options.bad ?: "the options make no sense");
	bad = pin(options.cpu);
	if (bad)
		return fail("choose another CPU", "%s", bad);
	bad = get(options.mib << 20, options.shift);
	if (bad)
		return fail("ask for less memory, or for smaller pages", "%s", bad);
	if (!memory.physical)
		return fail("run it as root", "physical addresses unknown: the kernel hides them from "
			    "this user");
	units = memory_sort(&memory);
	if (!units)
		return fail("free some memory", "no memory");
	if (options.model) {
		bad = model_clock_init(sched_getcpu());
		if (bad)
			return fail("leave --clock out", "%s", bad);
		model_clock_uncached(memory.base, memory.bytes);
		m.repeats = MODEL_REPEATS;
	}
	bank_probe(&report, &m, options.seed, options.pairs, options.hypothesis, options.nr);
	printf("{\"result\": \"banks\"");
	bank_print(&report, options.model ? "cycles" : "ticks");
	printf(", \"clock\": \"%s\", \"memory\": {\"how\": \"%s\", \"page\": %lu, \"bytes\": %zu}}\n",
	       clock_source.name, memory.how, 1ul << memory.shift, memory.bytes);
	memory_put(&memory);
	free(units);
	return 0;
}
