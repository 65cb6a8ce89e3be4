// SPDX-License-Identifier: GPL-2.0
/*
 * mcube-model-banks: find the banks of a described machine again, without a guest
 *
 *	mcube-model-banks [-k PAGE] [-s SEED] [-j JITTER] [-o OUTLIERS] [-r] [-e]
 *			  FILE.conf [KEY=VALUE...]
 *
 * tools/mcube/probe/bank.c times pairs of lines of a memory whose rows, banks and buses are
 * those of dram.c, to which only the description is told. Memory: 1 GiB from 0 on, or as
 * much in scattered pages of PAGE bytes. Noise: JITTER cycles of standard deviation,
 * OUTLIERS percent of loads that take up to ten times as long, -r a refresh each 7.8 us.
 * -e: what conflicts depends on lines and not on banks, so that nothing can be found.
 * Prints the line of JSON that 'mcube-probe banks' prints. All times are simulated.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../probe/bank.h"
#include "../probe/numbers.h"
#include "model.h"

#define REFRESH_US	7.8
#define REFRESH_NS	350
#define BYTES		(1ull << 30)

/**
 * struct simulated - memory and clock
 * @map:	of the machine
 * @dram:	its memory
 * @now:	modelled time
 * @page:	bytes of a scattered page, 0: memory is one piece
 * @jitter:	standard deviation
 * @outliers:	percent
 * @refresh:	refresh takes time
 * @lines:	latencies depend on lines alone
 * @rng:	state
 */
struct simulated {
	struct address_map map;
	struct dram dram;
	uint64_t now;
	uint64_t page;
	double jitter;
	unsigned int outliers;
	bool refresh;
	bool lines;
	uint64_t rng;
};

static struct simulated sim;
static struct machine machine;

static uint64_t next(struct simulated *s)
{
	return xorshift64s(&s->rng) >> 11;
}

static double share(struct simulated *s)
{
	return next(s) / 9007199254740992.0;
}

/* Frame @n of the scattered pages: 16 times as much memory, one frame in 16 at random. */
static uint64_t frame(uint64_t n)
{
	return n * 16 + (n * 0x9e3779b97f4a7c15ull >> 60) % 16;
}

static void pick(void *context, uint64_t random, unsigned int align, struct bank_line *l)
{
	struct simulated *s = context;
	uint64_t offset = random % BYTES >> align << align;

	l->physical = s->page ? frame(offset / s->page) * s->page + offset % s->page : offset;
	l->handle = 0;
}

static bool find(void *context, uint64_t physical, struct bank_line *l)
{
	struct simulated *s = context;
	uint64_t n;

	l->physical = physical;
	if (!s->page)
		return physical < BYTES;
	n = physical / s->page / 16;
	return n < BYTES / s->page && frame(n) == physical / s->page;
}

static uint64_t load(struct simulated *s, uint64_t address)
{
	struct dram_done done;

	dram_submit(&s->dram, address, s->now, 0, true, 0, 0);
	dram_serve(&s->dram, &done);
	return done.time - s->now;
}

static double once(void *context, const struct bank_line *a, const struct bank_line *b)
{
	const struct bank_line *line[2] = { a, b };
	struct simulated *s = context;
	uint64_t from = s->now;
	double noise = 0;

	for (unsigned int i = 0; i < 2; i++) {
		uint64_t period = REFRESH_US * machine.mhz, phase = s->now % period;

		if (s->refresh && phase < REFRESH_NS * machine.mhz / 1000)
			s->now += REFRESH_NS * machine.mhz / 1000 - phase;
		if (s->lines)
			s->now += 150 + (line[i]->physical * 0x9e3779b97f4a7c15ull >> 62 ? 0 : 80);
		else
			s->now += load(s, line[i]->physical);
		/* The sum of twelve is as good as normal. */
		for (unsigned int k = 0; k < 12 && s->jitter > 0; k++)
			noise += (share(s) - .5) * s->jitter;
		if (next(s) % 100 < s->outliers)
			noise += share(s) * 10 * (s->now - from);
	}
	from = s->now - from;
	s->now += 100 + next(s) % 100;
	return from + noise;
}

static void progress(void *context, double done)
{
	(void)context;
	(void)done;
}

static int fail(const char *what)
{
	fprintf(stderr, "mcube-model-banks: %s\n", what);
	return 2;
}

int main(int argc, char **argv)
{
	struct bank_memory memory = { pick, find, once, progress, &sim, 15 };
	struct bank_report report;
	uint64_t seed = 1;
	const char *bad;
	int c;

	while ((c = getopt(argc, argv, "k:s:j:o:re")) != -1) {
		if (c == 'k')
			sim.page = strtoull(optarg, NULL, 0);
		else if (c == 's')
			seed = strtoull(optarg, NULL, 0);
		else if (c == 'j')
			sim.jitter = strtod(optarg, NULL);
		else if (c == 'o')
			sim.outliers = strtoul(optarg, NULL, 0);
		else if (c == 'r')
			sim.refresh = true;
		else if (c == 'e')
			sim.lines = true;
		else
			return fail("see the head of tools/mcube/model/banks.c for the options");
	}
	if (optind == argc || BYTES < sim.page)
		return fail("give a machine description, and pages that are smaller than memory");
	bad = machine_arguments(&machine, argv, &optind, argc);
	if (*bad)
		return fail(bad);
	if (optind < argc)
		return fail("KEY=VALUE was expected");
	address_init(&sim.map, &machine);
	dram_init(&sim.dram, &sim.map);
	sim.rng = seed * 0x632be59bd9b4e019ull | 1;
	bank_probe(&report, &memory, seed, 400, NULL, 0);
	printf("{\"result\": \"banks\"");
	bank_print(&report, "cycles");
	printf(", \"simulated_seconds\": %.4f}\n", sim.now / (machine.mhz * 1e6));
	return 0;
}
