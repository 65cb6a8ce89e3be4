// SPDX-License-Identifier: GPL-2.0
/*
 * mcube-probe in a guest of a modelled machine; guest.h says how.  As a program:
 *
 *	guest MACHINE BACKING SHIFT KNOWN NOISE SEED OPTIONS [KEY VALUE]...
 *
 * prints the last line of the probe's subcommand "color" with these OPTIONS, one word.
 */
#include "guest.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../probe/chase.h"
#include "../../probe/memory.h"
#include "../../probe/model_clock.h"
#include "../../probe/probe.h"
#include "../../probe/timing.h"
#include "rig.h"

#define GUEST	(2ull << 30)

struct clock clock_source = { .name = "model" };

static struct rig *rig;
static unsigned int page_shift;		/* of the probe's memory */
static bool frames_known;
static unsigned int noise;		/* percent of the timings that something disturbs */
static const struct memory *memory;

const char *pin(int cpu)
{
	return cpu < 0 ? NULL : "no such CPU";
}

const char *model_clock_init(int cpu)
{
	return cpu < 0 ? "no such CPU" : NULL;
}

size_t memory_available(void)
{
	return GUEST;
}

const char *memory_get(struct memory *m, size_t bytes, unsigned int shift)
{
	size_t units, frames, at;

	if (shift != page_shift)
		return "no such pages";
	memset(m, 0, sizeof(*m));
	m->shift = shift;
	m->bytes = (bytes + (1ul << shift) - 1) >> shift << shift;
	m->base = aligned_alloc(4096, m->bytes);
	units = m->bytes >> shift;
	frames = GUEST >> shift;
	m->unit = calloc(units, sizeof(*m->unit));
	m->mapped = calloc(units, sizeof(*m->unit));
	m->physical = frames_known;
	m->how = "made up";
	/* The probe may not look at what it is not to know, so the true frames lie elsewhere. */
	at = random_below(frames);
	for (size_t i = 0; i < units; i++) {
		((uint64_t *)m->mapped)[i] = (uint64_t)at << shift;
		if (m->physical)
			m->unit[i] = (uint64_t)at << shift;
		/* Runs of frames, and jumps: frames of a program after hours of use. */
		at = (at + (random_below(4) ? 1 : 12345)) % frames;
	}
	memory = m;
	return NULL;
}

void memory_put(struct memory *m)
{
	free(m->base);
	free(m->unit);
	free(m->mapped);
}

double chase_time(const struct chase *c, unsigned int passes)
{
	void **p = c->first;
	uint64_t from = 0, cycles;

	for (size_t i = 0; i < c->loads * (passes + 1); i++) {
		size_t offset = (char *)p - memory->base;
		uint64_t unit = ((uint64_t *)memory->mapped)[offset >> memory->shift];

		if (i == c->loads)
			from = rig_count(rig, 0, SIM_CYCLES);
		rig_access(rig, 0, unit | (offset & ((1ul << memory->shift) - 1)), false, 1);
		p = *p;
	}
	cycles = rig_count(rig, 0, SIM_CYCLES) - from;
	if (random_below(100) < noise)
		cycles += cycles * random_below(300) / 100;
	return (double)cycles / (c->loads * passes);
}

int fail(const char *next, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("; %s\n", next);
	return 1;
}

void progress(double share)
{
}

/* Run the probe with a command line in one text; its last line. */
static const char *probe(const char *command)
{
	static char line[8192];
	char text[512], *argv[32] = { "color" };
	int argc = 1, saved = dup(1);
	FILE *out = tmpfile();

	snprintf(text, sizeof(text), "%s", command);
	for (char *w = strtok(text, " "); w; w = strtok(NULL, " "))
		argv[argc++] = w;
	fflush(stdout);
	dup2(fileno(out), 1);
	optind = 0;
	probe_color(argc, argv);
	fflush(stdout);
	dup2(saved, 1);
	close(saved);
	rewind(out);
	line[0] = 0;
	while (fgets(line, sizeof(line), out))
		;
	fclose(out);
	return line;
}

const char *guest_probe(const struct guest *g, const char *machine, const char * const keys[6],
			const char *command)
{
	const char *line;

	rig = rig_load_with(1, machine, "backing", g->backing, "backing.seed", "3",
			    keys[0], keys[1], keys[2], keys[3], keys[4], keys[5], NULL);
	page_shift = g->shift;
	frames_known = g->known;
	noise = g->noise;
	line = probe(command);
	rig_free(rig);
	return line;
}

#ifdef GUEST_PROGRAM
int main(int argc, char **argv)
{
	const char *keys[6] = { NULL };
	struct guest g;

	if (argc < 8 || argc > 14)
		return 2;
	g = (struct guest){ argv[2], atoi(argv[3]), atoi(argv[4]), atoi(argv[5]) };
	for (int i = 8; i < argc; i++)
		keys[i - 8] = argv[i];
	random_seed(atoi(argv[6]));
	fputs(guest_probe(&g, argv[1], keys, argv[7]), stdout);
	return 0;
}
#endif
