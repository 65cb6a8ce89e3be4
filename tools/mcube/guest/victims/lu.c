// SPDX-License-Identifier: GPL-2.0
/*
 * LU decomposition of a dense matrix. A round: a column eliminated.
 */

#include <math.h>

#include "victim.h"

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

/* Elimination of many columns leaves a small matrix, so begin anew. */
static long an_eighth(void)
{
	return n / 8;
}

const struct victim lu = { "lu", lu_setup, lu_round, columns_of_lu, lu_right, an_eighth };
