// SPDX-License-Identifier: GPL-2.0
/*
 * shapes: parallel programs that set their memory up by one thread
 *
 *	shapes [-t THREADS] [-m MIB] [-r PASSES] NAME	count passes on the modelled machine
 *	shapes -c [-t THREADS] [-m MIB] [-r PASSES] NAME	count nothing
 *
 *	streamcluster	distances of points to a candidate center	a pass: 2 candidates
 *	canneal		swaps of elements of a netlist			a pass: a temperature
 *	fluidanimate	forces between near particles			a pass: a time step
 *
 * The loads have the memory behaviour of the programs of PARSEC (Bienia, Kumar, Singh,
 * Li: The PARSEC Benchmark Suite, PACT 2008) that M3 was measured with, each in a file
 * of its own. None is the program or a part of it. Facesim, the fourth of these programs,
 * is left out: its memory follows from the mesh of a face, which is an input file.
 *
 * Thread 0 takes and fills the memory of all threads, MIB altogether, as the programs read
 * their input before they start threads. Then the threads share the passes (../team.h).
 *
 * Differences from PARSEC, in all loads:
 *
 *  - 24 MiB of memory by default instead of some hundred. That is three times the cache of
 *    the modelled machines, and more would take the simulation longer.
 *  - A few passes instead of some hundred, for the same reason.
 *  - No input files. The input comes from random numbers with fixed seeds.
 *  - A thread that waits for others spins. PARSEC's threads go to sleep after a while.
 *    The counters belong to threads, and a thread that sleeps counts no cycles; so the
 *    cycles of the slowest thread would not be the time of all.
 *
 * The program prints "EVENT VALUE" lines: cycles of the slowest thread, and for
 * every other event the sum over the threads. With -c it prints that the result is
 * right, and a checksum if the result does not depend on the number of threads. In both
 * cases it checks the result, and fails with a message if the result is wrong.
 */

#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../team.h"
#include "shape.h"

#define PAGE	4096ul

_Static_assert(MOST_THREADS <= TEAM_MOST, "each thread has counters");

static const struct shape * const shapes[] = { &streamcluster, &canneal, &fluidanimate };

static const struct shape *shape;
static size_t bytes = 24ul << 20;

unsigned int nr_threads;

void *take(size_t size)
{
	char *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		die("mmap");
	madvise(p, size, MADV_NOHUGEPAGE);
	for (size_t off = 0; off < size; off += PAGE)
		*(volatile char *)(p + off) = 0;
	return p;
}

void meet(void)
{
	team_meet();
}

uint64_t mix(uint64_t sum, const void *data, size_t nr)
{
	const unsigned char *byte = data;

	/* FNV-1a, with its basis at 0. */
	while (nr--)
		sum = (sum ^ *byte++) * 0x100000001b3ull;
	return sum;
}

static void prepare(unsigned int me)
{
	if (!me)
		shape->setup(bytes);
}

static int explain(FILE *out)
{
	fprintf(out, "usage: shapes [-c] [-t THREADS] [-m MIB] [-r PASSES] NAME\n"
		"-c: check the result and count nothing\nNAME:");
	for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++)
		fprintf(out, " %s", shapes[i]->name);
	fprintf(out, "\n");
	return out == stdout ? 0 : 2;
}

int main(int argc, char **argv)
{
	struct team work = { .nr = 1, .passes = 1, .prepare = prepare };
	const char *wrong;
	int c;

	while ((c = getopt(argc, argv, "ct:m:r:h")) != -1) {
		if (c == 'c')
			work.blind = true;
		else if (c == 't')
			work.nr = team_number(optarg, MOST_THREADS);
		else if (c == 'm')
			bytes = (size_t)team_number(optarg, 1024) << 20;
		else if (c == 'r')
			work.passes = team_number(optarg, 1000);
		else
			return explain(c == 'h' ? stdout : stderr);
	}
	for (size_t i = 0; optind < argc && i < sizeof(shapes) / sizeof(*shapes); i++)
		if (!strcmp(argv[optind], shapes[i]->name))
			shape = shapes[i];
	if (!shape || optind + 1 != argc)
		return explain(stderr);
	nr_threads = work.nr;
	work.pass = shape->pass;
	team_run(&work);
	wrong = shape->wrong();
	if (wrong) {
		fprintf(stderr, "shapes: %s: the result is wrong: %s\n", shape->name, wrong);
		return 1;
	}
	if (!work.blind)
		team_print();
	else if (shape->checksum)
		printf("%s: right, checksum %016llx\n", shape->name,
		       (unsigned long long)shape->checksum());
	else
		printf("%s: right\n", shape->name);
	return 0;
}
