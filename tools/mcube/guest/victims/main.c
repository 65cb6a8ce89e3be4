// SPDX-License-Identifier: GPL-2.0
/*
 * victims: numerical kernels that use their memory again and again
 *
 *	victims [-k KIB] [-a MILLIONS] NAME	count rounds on the modelled machine
 *	victims -c [-k KIB] NAME		compute, check the result, count nothing
 *
 *	sort	merge sort of random integers, bottom up	a round: a sort
 *	fft	radix 2, complex, in place, there and back	a transform
 *	spmm	sparse matrix (CSR) times four vectors		a product
 *	lu	LU decomposition of a dense matrix		a column eliminated
 *	rank	integer sort by counting			ranks of all keys
 *	mg	multigrid in three dimensions			a V-cycle
 *	fft3	transform of three dimensions			a transform
 *
 * Each kernel takes KIB of anonymous memory in single pages, 768 by default, as
 * nearly as its sizes allow.  The program sets the memory up and reads it once
 * with the model running.  Only the rounds after that count: a line that misses
 * in them was evicted by another program or did not fit.  The number of rounds
 * makes roughly MILLIONS of accesses, 4 by default.  The program prints
 * "EVENT VALUE" lines.
 */

#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../sim-events.h"
#include "victim.h"

#define LINE		64
#define MILLION		(1 << 20)

static const struct victim * const victims[] = {
	&sort, &fft, &spmm, &lu, &rank, &mg, &fft3,
};

static char *arena;
static size_t arena_size, arena_used;
static volatile uint64_t sink;

size_t n;

void *take(size_t bytes)
{
	void *p = arena + arena_used;

	arena_used += (bytes + LINE - 1) / LINE * LINE;
	if (arena_used > arena_size) {
		fprintf(stderr, "victims: too little memory\n");
		exit(2);
	}
	return p;
}

uint64_t random_number(void)
{
	static uint64_t x = 0x9e3779b97f4a7c15ULL;

	/* xorshift64 */
	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return x;
}

double random_real(void)
{
	return (double)(random_number() >> 11) / (1ULL << 53) - 0.5;
}

unsigned int log2_of(size_t x)
{
	return 63 - __builtin_clzll(x);
}

long once(void)
{
	return 1;
}

long twice(void)
{
	return 2;
}

static void warm(void)
{
	for (size_t i = 0; i < arena_used; i += LINE)
		sink += *(volatile uint64_t *)(arena + i);
}

static long option(const char *text)
{
	char *end;
	long value = strtol(text, &end, 10);

	if (*end || value < 1 || value > 1 << 20) {
		fprintf(stderr, "victims: '%s' is not within 1..%d\n", text, 1 << 20);
		exit(2);
	}
	return value;
}

int main(int argc, char **argv)
{
	const struct victim *victim = NULL;
	uint64_t count[NR_EVENTS];
	long rounds, cycle, i, most = 4;
	bool check = false;
	int fd[NR_EVENTS];
	size_t work;
	int c;

	arena_size = 768 << 10;
	while ((c = getopt(argc, argv, "ck:a:")) != -1) {
		if (c == 'k')
			arena_size = (size_t)option(optarg) << 10;
		else if (c == 'a')
			most = option(optarg);
		else if (c == 'c')
			check = true;
		else
			goto usage;
	}
	for (i = 0; optind < argc && i < (long)(sizeof(victims) / sizeof(victims[0])); i++)
		if (!strcmp(argv[optind], victims[i]->name))
			victim = victims[i];
	if (!victim || optind + 1 != argc || arena_size < 32 << 10)
		goto usage;
	arena = mmap(NULL, arena_size, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (arena == MAP_FAILED)
		die("mmap");
	madvise(arena, arena_size, MADV_NOHUGEPAGE);
	work = victim->setup(arena_size);
	if (check)
		rounds = victim->checked_rounds();
	else
		rounds = most * MILLION / (long)work;
	if (rounds < 1)
		rounds = 1;
	cycle = victim->cycle && !check ? victim->cycle() : rounds;
	if (!check) {
		sim_find();
		sim_open(fd);
		warm();
		sim_start(fd);
	}
	for (i = 0; i < rounds; i++)
		victim->round(i % cycle);
	if (check) {
		bool right = victim->right();

		printf("%s: %zu elements, %ld rounds: %s\n", victim->name, n, rounds,
		       right ? "right" : "wrong");
		return !right;
	}
	sim_stop(fd, count);
	for (size_t e = 0; e < NR_EVENTS; e++)
		printf("%s %llu\n", sim_events[e], (unsigned long long)count[e]);
	return 0;

usage:
	fprintf(stderr, "usage: victims [-c] [-k KIB] [-a MILLIONS] "
		"sort|fft|spmm|lu|rank|mg|fft3\nKIB: at least 32\n");
	return 2;
}
