// SPDX-License-Identifier: GPL-2.0
/*
 * Subcommands that time pairs of lines by their physical addresses, which root alone may see
 *
 *	mcube-probe banks [-M MIB] [-k 1G|2M|4K] [-v PAIRS] [-s SEED] [-c CPU] [-t tsc|model]
 *			  [-H MAP]...
 *
 * The DRAM banks of this machine: bank.c on 1 GiB of the largest pages to be had, unless told
 * otherwise.  -H: a map as in map/bank_map that is tried first, 16 at most.
 *
 *	mcube-probe offsets [-M MIB] [-c CPU] [-t tsc|model]
 *
 * Cost of a pair of loads over the distance of their addresses: Algorithm 1 of the M3 paper
 * (ASPLOS 2013, section 3.1), by a process.  After a line {"header": ...} it reads lines "START
 * STEP COUNT" of bytes from stdin, and answers each by a line {"offset": bytes, "cycles": median}
 * for each pair that the memory has, and {"result": "offsets"}.  It holds the same memory from
 * one line to the next, so that all distances are from the same address.  Unlike the paper's,
 * lines are flushed from the caches instead of being mapped uncached, which a process cannot
 * do, and the median of the repetitions is taken.
 *
 * With -t model time is the cycles of a modelled machine, in its guest.
 */
#include <stdio.h>
#include <stdlib.h>

#include "bank.h"
#include "memory.h"
#include "model_clock.h"
#include "numbers.h"
#include "options.h"
#include "probe.h"
#include "timing.h"

#define REPEATS		15u	/* of banks */
#define MODEL_REPEATS	3u
#define MAX_REPEATS	100u	/* of offsets */
#define MODEL_OFFSETS	8u	/* nothing disturbs the model */
#define LINE		64

static struct options o = { .mib = 1024, .pairs = 400, .seed = 1, .cpu = -1 };
static struct memory memory;
static struct memory_unit *units;	/* of the memory, by physical address */
static size_t nr_units;

/* Options, CPU, memory of pages of 1 << @least or more, clock.  Returns 0 or the exit status. */
static int begin(int argc, char **argv, size_t most_mib, unsigned int least)
{
	static const unsigned int shifts[] = { SHIFT_1G, SHIFT_2M, SHIFT_4K };
	const char *bad;

	if (!options_parse(&o, argc, argv) || o.mib > most_mib)
		return fail("see the head of pairs.c", "the options make no sense");
	bad = pin(o.cpu);
	if (bad)
		return fail("name a CPU that this process may run on", "CPU %d: %s", o.cpu, bad);
	bad = "no memory";
	for (unsigned int i = 0; bad && i < 3; i++)
		if (shifts[i] >= least && (!o.shift || o.shift == shifts[i]))
			bad = memory_get(&memory, o.mib << 20, shifts[i]);
	if (bad)
		return fail("ask for less memory, or for smaller pages; /proc/sys/vm/nr_hugepages gives "
			    "huge ones", "%s", bad);
	if (!memory.physical)
		return fail("run it as root", "physical addresses unknown: the kernel hides them from "
			    "this user");
	nr_units = memory.bytes >> memory.shift;
	units = memory_sort(&memory);
	if (!units)
		return fail("free some memory", "no memory");
	bad = options_clock(&o);
	if (bad)
		return fail("leave --clock out", "%s", bad);
	if (o.model)
		model_clock_uncached(memory.base, memory.bytes);
	return 0;
}

static void end(void)
{
	memory_put(&memory);
	free(units);
}

static uint64_t time_pair(const char *a, const char *b)
{
	uint64_t from;

	/* The memory of a model is uncached. */
	if (!clock_source.read) {
		flush(a);
		flush(b);
		fence();
	}
	from = clock_begin();
	load_both((uintptr_t)a, (uintptr_t)b);
	return clock_end() - from;
}

static void pick(void *context, uint64_t random, unsigned int align, struct bank_line *l)
{
	size_t offset = random % memory.bytes >> align << align;

	(void)context;
	l->physical = memory_address(&memory, offset);
	l->handle = (uintptr_t)memory.base + offset;
}

static bool find(void *context, uint64_t physical, struct bank_line *l)
{
	const char *at = memory_find(&memory, units, nr_units, physical);

	(void)context;
	l->physical = physical;
	l->handle = (uintptr_t)at;
	return at;
}

static double once(void *context, const struct bank_line *a, const struct bank_line *b)
{
	(void)context;
	return time_pair((const char *)a->handle, (const char *)b->handle);
}

static void show(void *context, double share)
{
	(void)context;
	progress(share);
}

/** probe_banks - the subcommand "banks": @argc, @argv from it on; Return: exit status */
int probe_banks(int argc, char **argv)
{
	static struct solve_map hypothesis[MAX_MAPS];
	struct bank_memory m = { pick, find, once, show, NULL, REPEATS };
	size_t free_mib = memory_available() >> 20;
	struct bank_report report;

	if (o.mib > free_mib / 2)
		o.mib = free_mib / 2;
	if (begin(argc, argv, 1 << 20, SHIFT_4K))
		return 1;
	for (unsigned int i = 0; i < o.maps; i++) {
		const char *bad = bank_parse(&hypothesis[i], o.map[i]);

		if (bad)
			return fail("write it as map/bank_map does", "%s", bad);
	}
	if (o.model)
		m.repeats = MODEL_REPEATS;
	bank_probe(&report, &m, o.seed, o.pairs, hypothesis, o.maps);
	printf("{\"result\": \"banks\"");
	bank_print(&report, o.model ? "cycles" : "ticks");
	printf(", \"clock\": \"%s\", \"memory\": {\"how\": \"%s\", \"page\": %lu, \"bytes\": %zu}}\n",
	       clock_source.name, memory.how, 1ul << memory.shift, memory.bytes);
	end();
	return 0;
}

/* The unit from which on most of the memory follows within as many bytes as it has. */
static size_t first_unit(void)
{
	size_t most = 0, first = 0;

	for (size_t i = 0, j = 0; i < nr_units; i++) {
		while (j < nr_units && units[j].address < units[i].address + memory.bytes)
			j++;
		if (j - i > most) {
			most = j - i;
			first = i;
		}
	}
	return first;
}

static void answer(uint64_t start, uint64_t step, uint64_t count, unsigned int repeats)
{
	const struct memory_unit *first = units + first_unit(), *last = units + nr_units - 1;
	uint64_t end = last->address + (1ul << memory.shift) - first->address;
	uint64_t ticks[MAX_REPEATS];

	for (uint64_t at = start; count && at < end; at += step, count--) {
		const char *other = memory_find(&memory, first, last + 1 - first,
						first->address + at);

		for (unsigned int i = 0; other && i < repeats; i++)
			ticks[i] = time_pair(first->at, other);
		if (!other)
			continue;
		qsort(ticks, repeats, sizeof(*ticks), by_u64);
		printf("{\"offset\": %llu, \"cycles\": %llu}\n", (unsigned long long)at,
		       (unsigned long long)ticks[repeats / 2]);
	}
	printf("{\"result\": \"offsets\"}\n");
	fflush(stdout);
}

/** probe_offsets - the subcommand "offsets": @argc, @argv from it on; Return: exit status */
int probe_offsets(int argc, char **argv)
{
	unsigned long long start, step, count;
	unsigned int repeats;
	char line[128], more;

	o.mib = 128;
	if (begin(argc, argv, 1024, SHIFT_2M))
		return 1;
	repeats = o.model ? MODEL_OFFSETS : MAX_REPEATS;
	printf("{\"header\": {\"held_mib\": %zu, \"pages\": \"%s\", \"page_bytes\": %lu, "
	       "\"repeat\": %u, \"clock\": \"%s\"}}\n", memory.bytes >> 20, memory.how,
	       1ul << memory.shift, repeats, clock_source.name);
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		if (sscanf(line, "%llu %llu %llu %c", &start, &step, &count, &more) != 3 ||
		    start % LINE || step % LINE || !step || !count || count > 1u << 24 ||
		    start > 1ull << 46 || step > 1ull << 30)
			return fail("write START STEP COUNT, in multiples of 64 bytes",
				    "no distances: '%.40s'", line);
		answer(start, step, count, repeats);
	}
	end();
	return 0;
}
