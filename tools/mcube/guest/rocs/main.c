// SPDX-License-Identifier: GPL-2.0
/*
 * rocsload: programs whose memory is partly reused and partly streamed
 *
 *	rocsload [OPTION...] art|swim|mgrid|cg|twolf|vpr|mcf|phases
 *
 *	--kib K		size of the last-level cache, from which all sizes follow (1024)
 *	--cpu N		run on CPU N, and count all that happens on this CPU
 *	--rounds N	end after N iterations (default: run until SIGTERM)
 *	--report N	print the modelled machine's counters after each N iterations
 *	--check		at the end, do the same work in fresh memory, and compare
 *	--oracle	give the streamed arrays one color when they are set up
 *	--phase N	iterations in a phase of "phases" (200)
 *	--thp		let the kernel use huge pages
 *
 * The loads have the memory behaviour of the programs that ROCS was measured with
 * (Soares, Tam, Stumm, MICRO 2008), each in a file of its own, whose first comment says
 * what the real program does and what is kept. None is the program or a part of it.
 *
 * Lines of the output:
 *	array ADDRESS PAGES					one for each array
 *	start PID
 *	ITERATION cycles instructions llc_refs llc_misses	with --report; differences
 *	end ITERATIONS CHECKSUM
 *
 * The checksum is over all arrays. It depends on load, size and number of iterations
 * alone, so a page that migration lost or mixed up shows as another checksum.
 */

#define _GNU_SOURCE
#include <getopt.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../sim-events.h"
#include "load.h"

#define HINT		"/sys/kernel/debug/mcube/hint"
#define PAGE		4096ul
#define MOST_ARRAYS	32
#define MOST_KIB	(1 << 20)

static const struct load * const loads[] = {
	&art, &swim, &mgrid, &cg, &twolf, &vpr, &mcf, &phases,
};

static struct {
	char *start;
	size_t bytes;
} array[MOST_ARRAYS];

/* Counters of a line of the report, in the order of sim_events[]. */
static const unsigned int reported[] = { 0, 1, 3, 4 };

static unsigned int nr_arrays;
static bool oracle, huge;
static uint64_t seed;
static volatile sig_atomic_t stop;

uint64_t random_number(void)
{
	/* xorshift64 */
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

static void hint(const char *text)
{
	FILE *f = fopen(HINT, "w");

	if (!f || fputs(text, f) < 0 || fclose(f))
		die(HINT);
}

void *take(size_t bytes, enum use use)
{
	bool place = oracle && use == STREAMED;
	char *p;

	bytes = (bytes + PAGE - 1) / PAGE * PAGE;
	p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED || nr_arrays == MOST_ARRAYS)
		die("mmap");
	madvise(p, bytes, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
	if (place)
		hint("color=0");
	memset(p, 0, bytes);
	if (place)
		hint("none");
	array[nr_arrays].start = p;
	array[nr_arrays++].bytes = bytes;
	return p;
}

static void set_up(const struct load *load, size_t cache)
{
	seed = 0x9e3779b97f4a7c15ull;
	nr_arrays = 0;
	load->setup(cache);
}

/* FNV-1a by words. */
static uint64_t checksum(void)
{
	uint64_t sum = 0xcbf29ce484222325ull;

	for (unsigned int i = 0; i < nr_arrays; i++) {
		const uint64_t *word = (const uint64_t *)array[i].start;

		for (size_t n = 0; n < array[i].bytes / sizeof(*word); n++)
			sum = (sum ^ word[n]) * 0x100000001b3ull;
	}
	return sum;
}

static void report(const int *fd, unsigned long iteration, bool print)
{
	static uint64_t last[NR_EVENTS];
	uint64_t now[NR_EVENTS];

	for (size_t i = 0; i < NR_EVENTS; i++)
		if (read(fd[i], &now[i], sizeof(now[i])) != sizeof(now[i]))
			die("read of an event");
	if (print) {
		printf("%lu", iteration);
		for (size_t i = 0; i < sizeof(reported) / sizeof(*reported); i++)
			printf(" %llu", (unsigned long long)(now[reported[i]] -
							     last[reported[i]]));
		printf("\n");
		fflush(stdout);
	}
	memcpy(last, now, sizeof(last));
}

static void on_signal(int signal)
{
	(void)signal;
	stop = 1;
}

static long number(const char *text, long least, long most)
{
	char *end;
	long value = strtol(text, &end, 10);

	if (*end || end == text || value < least || value > most) {
		fprintf(stderr, "rocsload: '%s' is not within %ld..%ld\n", text, least, most);
		exit(2);
	}
	return value;
}

static void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		die("sched_setaffinity");
}

static int usage(void)
{
	fprintf(stderr, "Usage: rocsload [--kib K] [--cpu N] [--rounds N] [--report N] [--check]\n"
		"\t[--oracle] [--phase N] [--thp] NAME\nNAME:");
	for (size_t i = 0; i < sizeof(loads) / sizeof(*loads); i++)
		fprintf(stderr, " %s", loads[i]->name);
	fprintf(stderr, "\n");
	return 2;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "kib", 1, NULL, 'k' }, { "cpu", 1, NULL, 'c' }, { "rounds", 1, NULL, 'r' },
		{ "report", 1, NULL, 'p' }, { "check", 0, NULL, 'v' },
		{ "oracle", 0, NULL, 'o' }, { "phase", 1, NULL, 'f' }, { "thp", 0, NULL, 't' },
		{ },
	};
	long kib = 1024, rounds = 0, every = 0, done;
	const struct load *load = NULL;
	int fd[NR_EVENTS], cpu = -1, c;
	bool check = false;
	uint64_t sum;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (c) {
		case 'k':
			kib = number(optarg, 256, MOST_KIB);
			break;
		case 'c':
			cpu = number(optarg, 0, CPU_SETSIZE - 1);
			break;
		case 'r':
			rounds = number(optarg, 1, INT32_MAX);
			break;
		case 'p':
			every = number(optarg, 1, INT32_MAX);
			break;
		case 'f':
			phase_iterations = number(optarg, 1, INT32_MAX);
			break;
		case 'v':
			check = true;
			break;
		case 'o':
			oracle = true;
			break;
		case 't':
			huge = true;
			break;
		default:
			return usage();
		}
	}
	for (size_t i = 0; optind < argc && i < sizeof(loads) / sizeof(*loads); i++)
		if (!strcmp(argv[optind], loads[i]->name))
			load = loads[i];
	if (!load || optind + 1 != argc)
		return usage();
	signal(SIGTERM, on_signal);
	signal(SIGINT, on_signal);
	if (cpu >= 0)
		pin(cpu);
	set_up(load, (size_t)kib << 10);
	for (unsigned int i = 0; i < nr_arrays; i++)
		printf("array %p %zu\n", array[i].start, array[i].bytes / PAGE);
	printf("start %d\n", getpid());
	fflush(stdout);
	if (every) {
		sim_find();
		sim_open_on(fd, cpu);
		sim_start(fd);
		report(fd, 0, false);
	}
	for (done = 0; !stop && (!rounds || done < rounds); ) {
		load->iterate(done++);
		if (every && done % every == 0)
			report(fd, done, true);
	}
	for (size_t i = 0; every && i < NR_EVENTS; i++)
		close(fd[i]);
	sum = checksum();
	printf("end %ld %016llx\n", done, (unsigned long long)sum);
	fflush(stdout);
	if (!check)
		return 0;
	oracle = false;
	set_up(load, (size_t)kib << 10);
	for (long i = 0; i < done; i++)
		load->iterate(i);
	if (checksum() != sum) {
		fprintf(stderr, "rocsload: %s: the same work again gave another result\n",
			load->name);
		return 1;
	}
	return 0;
}
