// SPDX-License-Identifier: GPL-2.0
/*
 * mcube-model-replay: run a trace through the model, without a guest
 *
 *	valgrind --tool=lackey --trace-mem=yes --log-fd=9 PROGRAM 9>&1 >/dev/null |
 *		mcube-model-replay FILE.conf [KEY=VALUE...]
 *
 * Addresses are taken as physical. Data accesses run on one CPU, and instruction
 * fetches on another. So each kind has a first level of its own, and both share the
 * last level. That is the hierarchy of valgrind's cachegrind, which the result is
 * compared with. Prints lines of "NAME COUNT".
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model.h"

struct tally {
	uint64_t accesses;
	uint64_t l1_misses;
	uint64_t llc_misses;
};

static struct model model;
static struct tally tally[2];

static void touch(unsigned int cpu, uint64_t address, unsigned int size, bool store)
{
	struct vcpu *v = &model.vcpu[cpu];
	uint64_t l1 = v->count[SIM_L1_MISSES], llc = v->count[SIM_LLC_MISSES];
	unsigned int shift = model.map.line_shift;
	uint64_t second = (address + size - 1) >> shift << shift;

	model_access(&model, v, address, address, store, 0);
	if (second > address)
		model_access(&model, v, second, second, store, 0);
	/* Serve each request at once: time follows the order of the trace. */
	if (!queue_empty(v))
		model_weave(&model, true);
	tally[cpu].accesses++;
	tally[cpu].l1_misses += v->count[SIM_L1_MISSES] != l1;
	tally[cpu].llc_misses += v->count[SIM_LLC_MISSES] != llc;
}

static uint64_t hexadecimal(const char **s)
{
	uint64_t n = 0;

	for (;; (*s)++) {
		unsigned int c = **s | 0x20;

		if (c >= '0' && c <= '9')
			n = n << 4 | (c - '0');
		else if (c >= 'a' && c <= 'f')
			n = n << 4 | (c - 'a' + 10);
		else
			return n;
	}
}

/*
 * Accesses are "I  addr,size", " L addr,size", " S addr,size", " M addr,size". Other
 * lines are messages. Returns true for an access.
 */
static bool replay_line(const char *s)
{
	char kind = s[0] == ' ' ? s[1] : s[0];
	uint64_t address;
	unsigned int size;

	if (!strchr("ILSM", kind) || !kind || (kind == 'I') != (s[0] == 'I') || s[2] != ' ')
		return false;
	s += 3;
	address = hexadecimal(&s);
	if (*s++ != ',')
		return false;
	size = strtoul(s, NULL, 10);
	if (!size)
		return false;
	touch(kind == 'I', address, size, kind == 'S' || kind == 'M');
	return true;
}

static int fail(const char *what)
{
	fprintf(stderr, "mcube-model-replay: %s\n", what);
	return 1;
}

int main(int argc, char **argv)
{
	static const char * const names[] = { "data", "fetch" };
	struct machine machine;
	uint64_t lines = 0;
	const char *bad;
	char text[256];
	int at = 1;
	void *shared;

	if (argc < 2)
		return fail("usage: mcube-model-replay FILE.conf [KEY=VALUE...] <TRACE");
	bad = machine_arguments(&machine, argv, &at, argc);
	if (*bad)
		return fail(bad);
	if (at < argc)
		return fail("an argument has no '='");
	shared = calloc(1, SIM_SHM_SIZE);
	if (!shared || !model_init(&model, &machine, 2, shared))
		return fail("no memory for the model");
	model_start(&model);
	while (fgets(text, sizeof(text), stdin))
		lines += replay_line(text);
	printf("lines %llu\n", (unsigned long long)lines);
	for (unsigned int i = 0; i < 2; i++)
		printf("%s_accesses %llu\n%s_l1_misses %llu\n%s_llc_misses %llu\n",
		       names[i], (unsigned long long)tally[i].accesses,
		       names[i], (unsigned long long)tally[i].l1_misses,
		       names[i], (unsigned long long)tally[i].llc_misses);
	model_free(&model);
	free(shared);
	return 0;
}
