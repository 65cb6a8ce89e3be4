// SPDX-License-Identifier: GPL-2.0
/*
 * cg: as CG of the NAS benchmarks, conjugate gradients with a sparse matrix.
 *
 *	q = A p		A: values and columns, row by row	streamed
 *			p: gathered by column			reused
 *	x += a p, r -= a q, p = r + b p				reused, swept
 *
 * Kept: the solver, compressed rows, a symmetric positive definite matrix, random
 * places of the nonzeros, low columns more often. Left out: the outer loop over the shift; a solve
 * starts anew after STEPS steps.
 *
 * The vector p has 7/8 of the cache, the matrix many times the cache. x, r and q are
 * used once in a step of the solver, with the whole matrix in between, so their place
 * in the cache does not matter. A step takes long, so an iteration is a block of rows.
 */
#include "load.h"

#define STEPS	25	/* of the solver, as in the original */
#define BLOCKS	8	/* iterations in a step */
#define ROW	4	/* nonzeros */
#define NEAR	1	/* of these beside the diagonal */

static double *values;
static uint32_t *columns;
static double *p, *q, *r, *x, rr, pq;
static size_t rows;

static uint32_t far_column(void)
{
	double y = random_real();

	return y * (1 + y) / 2 * rows;
}

static void start(void)
{
	rr = 0;
	for (size_t i = 0; i < rows; i++) {
		x[i] = 0;
		r[i] = 1;
		p[i] = 1;
		rr += r[i] * r[i];
	}
}

static void setup(size_t cache)
{
	rows = cache * 7 / 8 / sizeof(*p) / BLOCKS * BLOCKS;
	p = take(rows * sizeof(*p), REUSED);
	q = take(rows * sizeof(*q), STREAMED);
	r = take(rows * sizeof(*r), STREAMED);
	x = take(rows * sizeof(*x), STREAMED);
	values = take(rows * ROW * sizeof(*values), STREAMED);
	columns = take(rows * ROW * sizeof(*columns), STREAMED);
	for (size_t i = 0; i < rows; i++) {
		double *value = values + i * ROW;
		uint32_t *column = columns + i * ROW;

		/* The diagonal dominates. */
		value[0] = ROW;
		column[0] = i;
		for (unsigned int k = 1; k < ROW; k++) {
			value[k] = random_real() - 0.5;
			column[k] = k > NEAR ? far_column() : (i + random_below(64)) % rows;
		}
	}
	start();
}

static void multiply(size_t from, size_t to)
{
	for (size_t i = from; i < to; i++) {
		double sum = 0;

		for (size_t k = i * ROW; k < (i + 1) * ROW; k++)
			sum += values[k] * p[columns[k]];
		q[i] = sum;
		pq += p[i] * sum;
	}
}

static void update(void)
{
	double alpha = rr / pq, old = rr, beta;

	rr = 0;
	for (size_t i = 0; i < rows; i++) {
		x[i] += alpha * p[i];
		r[i] -= alpha * q[i];
		rr += r[i] * r[i];
	}
	beta = rr / old;
	for (size_t i = 0; i < rows; i++)
		p[i] = r[i] + beta * p[i];
}

static void iterate(unsigned long n)
{
	size_t block = n % BLOCKS;

	if (!block)
		pq = 0;
	multiply(rows / BLOCKS * block, rows / BLOCKS * (block + 1));
	if (block < BLOCKS - 1)
		return;
	if (n / BLOCKS % STEPS == STEPS - 1)
		start();
	else
		update();
}

const struct load cg = { "cg", setup, iterate };
