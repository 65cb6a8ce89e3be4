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
 *
 * Each kernel takes KIB of anonymous memory in single pages, 768 by default, as
 * nearly as its sizes allow.  The program sets the memory up and reads it once
 * with the model running.  Only the rounds after that count: a line that misses
 * in them was evicted by another program or did not fit.  The number of rounds
 * makes roughly MILLIONS of accesses, 4 by default.  The program prints
 * "EVENT VALUE" lines.
 */

#define _GNU_SOURCE
#include <complex.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sim-events.h"

#define LINE		64
#define MILLION		(1 << 20)
#define ROW		16	/* nonzeros in a row of the sparse matrix */
#define VECTORS		4
#define TINY		(1.0 / (1 << 30))	/* error allowed, for numbers around 1 */

typedef double complex complex_t;

struct victim {
	const char *name;
	/* Takes and fills memory; returns roughly the accesses of a round. */
	size_t (*setup)(size_t bytes);
	void (*round)(long n);
	/* Number of rounds after which right() tells if the result is right. */
	long (*checked_rounds)(void);
	bool (*right)(void);
};

static char *arena;
static size_t arena_size, arena_used;
static size_t n;	/* elements, points, rows */
static volatile uint64_t sink;

static void *take(size_t bytes)
{
	void *p = arena + arena_used;

	arena_used += (bytes + LINE - 1) / LINE * LINE;
	if (arena_used > arena_size) {
		fprintf(stderr, "victims: too little memory\n");
		exit(2);
	}
	return p;
}

static uint64_t random_number(void)
{
	static uint64_t x = 0x9e3779b97f4a7c15ULL;

	/* xorshift64 */
	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return x;
}

static double random_real(void)
{
	return (double)(random_number() >> 11) / (1ULL << 53) - 0.5;
}

static unsigned int log2_of(size_t x)
{
	return 63 - __builtin_clzll(x);
}

/* sort */

static uint64_t *keys, *spare, key_sum;

static size_t sort_setup(size_t bytes)
{
	n = bytes / 2 / sizeof(*keys);
	keys = take(n * sizeof(*keys));
	spare = take(n * sizeof(*spare));
	return n * (3 * (log2_of(n) + 1) + 1);
}

static void merge(const uint64_t *a, size_t na, const uint64_t *b, size_t nb,
		  uint64_t *to)
{
	while (na && nb) {
		if (*b < *a) {
			*to++ = *b++;
			nb--;
		} else {
			*to++ = *a++;
			na--;
		}
	}
	memcpy(to, na ? a : b, (na + nb) * sizeof(*to));
}

static void sort_round(long round)
{
	(void)round;
	key_sum = 0;
	for (size_t i = 0; i < n; i++)
		key_sum += keys[i] = random_number();
	for (size_t width = 1; width < n; width *= 2) {
		uint64_t *old = keys;

		for (size_t i = 0; i < n; i += 2 * width) {
			size_t left = width < n - i ? width : n - i;
			size_t right = width < n - i - left ? width : n - i - left;

			merge(keys + i, left, keys + i + left, right, spare + i);
		}
		keys = spare;
		spare = old;
	}
}

static bool sort_right(void)
{
	uint64_t sum = keys[0];

	for (size_t i = 1; i < n; i++) {
		if (keys[i - 1] > keys[i])
			return false;
		sum += keys[i];
	}
	return sum == key_sum;
}

static long once(void)
{
	return 1;
}

/* fft */

static complex_t *points, *roots;

static complex_t point_at_first(size_t i)
{
	/* Two waves, whose transform is known. */
	return cexp(2 * M_PI * I * 3 * i / n) + 0.5 * cexp(2 * M_PI * I * 17 * i / n);
}

static size_t fft_setup(size_t bytes)
{
	n = 1UL << log2_of(bytes / (sizeof(*points) + sizeof(*roots) / 2));
	points = take(n * sizeof(*points));
	roots = take(n / 2 * sizeof(*roots));
	for (size_t i = 0; i < n / 2; i++)
		roots[i] = cexp(-2 * M_PI * I * i / n);
	for (size_t i = 0; i < n; i++)
		points[i] = point_at_first(i);
	return n / 2 * log2_of(n) * 8;
}

/* The product without the checks for infinities that the C standard demands. */
static complex_t times(complex_t a, complex_t b)
{
	return creal(a) * creal(b) - cimag(a) * cimag(b) +
	       I * (creal(a) * cimag(b) + cimag(a) * creal(b));
}

static void fft_round(long round)
{
	bool back = round & 1;

	for (size_t i = 1, j = 0; i < n; i++) {
		size_t bit = n / 2;

		for (; j & bit; bit /= 2)
			j ^= bit;
		j ^= bit;
		if (i < j) {
			complex_t p = points[i];

			points[i] = points[j];
			points[j] = p;
		}
	}
	for (size_t half = 1; half < n; half *= 2)
		for (size_t from = 0; from < n; from += 2 * half)
			for (size_t i = 0; i < half; i++) {
				complex_t w = roots[i * (n / 2 / half)];
				complex_t *a = &points[from + i];
				complex_t b = times(back ? conj(w) : w, a[half]);

				a[half] = *a - b;
				*a += b;
			}
	if (back)
		for (size_t i = 0; i < n; i++)
			points[i] /= n;
}

static bool fft_right(void)
{
	/* After a transform, its inverse, and another transform. */
	for (size_t i = 0; i < n; i++) {
		double want = i == 3 ? 1 : i == 17 ? 0.5 : 0;

		if (cabs(points[i] / n - want) > TINY)
			return false;
	}
	return true;
}

static long thrice(void)
{
	return 3;
}

/* spmm */

static double *values, *vectors, *product;
static uint32_t *columns, *starts;

static size_t spmm_setup(size_t bytes)
{
	size_t row = ROW * (sizeof(*values) + sizeof(*columns)) +
		     sizeof(*starts) + 2 * VECTORS * sizeof(*vectors);

	n = (bytes - 6 * LINE) / row;
	values = take(n * ROW * sizeof(*values));
	columns = take(n * ROW * sizeof(*columns));
	starts = take((n + 1) * sizeof(*starts));
	vectors = take(n * VECTORS * sizeof(*vectors));
	product = take(n * VECTORS * sizeof(*product));
	for (size_t i = 0; i <= n; i++)
		starts[i] = i * ROW;
	for (size_t i = 0; i < n * ROW; i++) {
		values[i] = random_real();
		columns[i] = random_number() % n;
	}
	for (size_t i = 0; i < n * VECTORS; i++)
		vectors[i] = random_real();
	return n * ROW * (2 + VECTORS);
}

static void spmm_round(long round)
{
	(void)round;
	for (size_t row = 0; row < n; row++) {
		double sum[VECTORS] = { 0 };

		for (uint32_t i = starts[row]; i < starts[row + 1]; i++)
			for (size_t v = 0; v < VECTORS; v++)
				sum[v] += values[i] * vectors[columns[i] * VECTORS + v];
		memcpy(product + row * VECTORS, sum, sizeof(sum));
	}
}

static bool spmm_right(void)
{
	/* Another order of the same sums: (1 ... 1) A v, by sums of columns. */
	double *column = calloc(n, sizeof(*column));
	bool right = true;

	if (!column)
		die("calloc");
	for (size_t i = 0; i < n * ROW; i++)
		column[columns[i]] += values[i];
	for (size_t v = 0; v < VECTORS; v++) {
		double a = 0, b = 0;

		for (size_t i = 0; i < n; i++) {
			a += column[i] * vectors[i * VECTORS + v];
			b += product[i * VECTORS + v];
		}
		right &= fabs(a - b) < TINY * n;
	}
	free(column);
	return right;
}

/* lu */

static double *matrix;

static size_t lu_setup(size_t bytes)
{
	uint64_t key;

	n = sqrt((double)bytes / sizeof(*matrix));
	matrix = take(n * n * sizeof(*matrix));
	/* The diagonal dominates, so no pivot search is needed. */
	for (size_t i = 0; i < n * n; i++) {
		key = i * 0x9e3779b97f4a7c15ULL;
		matrix[i] = (double)(key >> 40) / (1 << 24) + (i / n == i % n ? n : 0);
	}
	return n * n * 2;
}

static void lu_round(long k)
{
	double *pivot = matrix + k * n;

	for (size_t i = k + 1; i < n; i++) {
		double *row = matrix + i * n, factor = row[k] / pivot[k];

		row[k] = factor;
		for (size_t j = k + 1; j < n; j++)
			row[j] -= factor * pivot[j];
	}
}

static bool lu_right(void)
{
	for (int sample = 0; sample < 1000; sample++) {
		size_t i = random_number() % n, j = random_number() % n;
		uint64_t key = (i * n + j) * 0x9e3779b97f4a7c15ULL;
		double want = (double)(key >> 40) / (1 << 24) + (i == j ? n : 0);
		double sum = i <= j ? matrix[i * n + j] : 0;

		for (size_t k = 0; k < i && k <= j; k++)
			sum += matrix[i * n + k] * matrix[k * n + j];
		if (fabs(sum - want) > TINY * n)
			return false;
	}
	return true;
}

static long columns_of_lu(void)
{
	return n - 1;
}

static const struct victim victims[] = {
	{ "sort", sort_setup, sort_round, once, sort_right },
	{ "fft", fft_setup, fft_round, thrice, fft_right },
	{ "spmm", spmm_setup, spmm_round, once, spmm_right },
	{ "lu", lu_setup, lu_round, columns_of_lu, lu_right },
};

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
		if (!strcmp(argv[optind], victims[i].name))
			victim = &victims[i];
	if (!victim || optind + 1 != argc || arena_size < 8 << 10)
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
	cycle = rounds;
	/* Elimination of many columns leaves a small matrix, so begin anew. */
	if (victim->round == lu_round && !check)
		cycle = n / 8;
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
	fprintf(stderr, "usage: victims [-c] [-k KIB] [-a MILLIONS] sort|fft|spmm|lu\n"
		"KIB: at least 8\n");
	return 2;
}
