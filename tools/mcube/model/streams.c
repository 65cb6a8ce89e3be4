// SPDX-License-Identifier: GPL-2.0
/*
 * mcube-model-streams: CPUs that read memory in order, by physical address, without a guest
 *
 *	mcube-model-streams [-i INSTRUCTIONS] [-w] FILE.conf [KEY=VALUE...] PAGES START...
 *
 * Each START is the physical address of a CPU's memory. All CPUs begin at one time and read
 * PAGES pages, a load per line, with INSTRUCTIONS (4) for each line. With -w they wait
 * for each other after each page. No allocator has a part in this: the starts alone
 * decide about channels, banks and rows. Prints lines of "NAME COUNT": the cycles of the
 * slowest CPU, and sums over the CPUs.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "model.h"

#define PAGE	4096ull
#define CODE	0x401000

static struct model model;
static uint64_t start[SIM_MAX_CPUS];
static unsigned int ncpus;

static int fail(const char *what)
{
	fprintf(stderr, "mcube-model-streams: %s\n", what);
	return 1;
}

/* A number from 1 on, or up to @most; 0 if the text is none. */
static uint64_t number(const char *text, uint64_t most)
{
	char *end;
	uint64_t n = strtoull(text, &end, 0);

	return *text == '-' || *end || n > most ? 0 : n;
}

/* All CPUs have the data of their last loads, and go on from the same time. */
static void meet(void)
{
	for (unsigned int i = 0; i < ncpus; i++)
		vcpu_instructions(&model, &model.vcpu[i], model.machine.window);
	model_stop(&model);
	model_start(&model);
	for (unsigned int i = 0; i < ncpus; i++)
		model.vcpu[i].idle = false;
}

static void read_page(uint64_t offset, unsigned int instructions)
{
	for (uint64_t at = offset; at < offset + PAGE; at += model.machine.line)
		for (unsigned int i = 0; i < ncpus; i++) {
			struct vcpu *v = &model.vcpu[i];

			vcpu_instructions(&model, v, instructions);
			model_access(&model, v, start[i] + at, start[i] + at, false, CODE);
		}
}

static void report(void)
{
	static const struct {
		const char *name;
		enum sim_event event;
	} sums[] = {
		{ "llc_misses", SIM_LLC_MISSES }, { "dram_accesses", SIM_DRAM_ACCESSES },
		{ "row_hits", SIM_ROW_HITS }, { "row_conflicts", SIM_ROW_CONFLICTS },
	};
	uint64_t slowest = 0;

	for (unsigned int i = 0; i < ncpus; i++)
		if (model.vcpu[i].count[SIM_CYCLES] > slowest)
			slowest = model.vcpu[i].count[SIM_CYCLES];
	printf("cycles %llu\n", (unsigned long long)slowest);
	for (unsigned int e = 0; e < sizeof(sums) / sizeof(sums[0]); e++) {
		uint64_t sum = 0;

		for (unsigned int i = 0; i < ncpus; i++)
			sum += model.vcpu[i].count[sums[e].event];
		printf("%s %llu\n", sums[e].name, (unsigned long long)sum);
	}
}

int main(int argc, char **argv)
{
	uint64_t instructions = 4, pages;
	struct machine machine;
	bool wait = false;
	const char *bad;
	void *shared;
	int c;

	while ((c = getopt(argc, argv, "i:w")) != -1) {
		if (c == 'w')
			wait = true;
		else if (c == 'i')
			instructions = number(optarg, MAX_WINDOW);
		if ((c != 'w' && c != 'i') || !instructions)
			return fail("options are -i 1..4096 and -w");
	}
	if (optind + 3 > argc)
		return fail("usage: mcube-model-streams [-i N] [-w] FILE.conf [KEY=VALUE...] "
			    "PAGES START...");
	bad = machine_arguments(&machine, argv, &optind, argc);
	if (*bad)
		return fail(bad);
	pages = optind < argc ? number(argv[optind++], 1 << 20) : 0;
	if (!pages)
		return fail("PAGES: 1 to 1048576");
	for (; optind < argc; optind++) {
		char *end;

		if (ncpus == SIM_MAX_CPUS)
			return fail("too many starts");
		start[ncpus] = strtoull(argv[optind], &end, 0);
		if (*end || start[ncpus] % PAGE)
			return fail("START: an address that is a multiple of 4096");
		ncpus++;
	}
	if (!ncpus)
		return fail("give a START for each CPU");
	shared = calloc(1, SIM_SHM_SIZE);
	if (!shared || !model_init(&model, &machine, ncpus, shared))
		return fail("no memory for the model");
	model_start(&model);
	for (unsigned int i = 0; i < ncpus; i++)
		model.vcpu[i].idle = false;
	for (uint64_t p = 0; p < pages; p++) {
		read_page(p * PAGE, instructions);
		if (wait || p == pages - 1)
			meet();
	}
	report();
	model_free(&model);
	free(shared);
	return 0;
}
