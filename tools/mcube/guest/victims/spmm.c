// SPDX-License-Identifier: GPL-2.0
/*
 * Sparse matrix (CSR) times four vectors. A round: a product.
 */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "victim.h"

#define LINE		64
#define ROW		16	/* nonzeros in a row of the sparse matrix */
#define VECTORS		4

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
		return false;
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

const struct victim spmm = { "spmm", spmm_setup, spmm_round, once, spmm_right, NULL };
