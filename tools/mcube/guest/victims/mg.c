// SPDX-License-Identifier: GPL-2.0
/*
 * Multigrid in three dimensions, as in the NAS benchmark MG. A round: a V-cycle.
 *
 * Three grids, each with half the points of the last grid in a row, for the equation of
 * Poisson with zero at the edges. Relaxation reads six neighbours: two in the row, two a
 * row away, and two a plane away.
 */

#include <math.h>
#include <string.h>

#include "victim.h"

#define GRIDS		3
#define SWEEPS		2

/* A grid of size^3 points; the outermost points are the edge. */
struct grid {
	size_t size;
	double *u, *f, *r;	/* solution, right side, residual */
};

static struct grid grid[GRIDS];

static size_t points_of(size_t size)
{
	return size * size * size;
}

static size_t bytes_of(size_t size)
{
	size_t bytes = 0;

	for (int g = 0; g < GRIDS; g++)
		bytes += 3 * (points_of((size >> g) + 1) * sizeof(double) + 64);
	return bytes;
}

static size_t mg_setup(size_t bytes)
{
	size_t size = 8, at;

	while (bytes_of(size + 4) <= bytes)
		size += 4;
	for (int g = 0; g < GRIDS; g++) {
		struct grid *a = &grid[g];

		a->size = (size >> g) + 1;
		a->u = take(points_of(a->size) * sizeof(double));
		a->f = take(points_of(a->size) * sizeof(double));
		a->r = take(points_of(a->size) * sizeof(double));
	}
	n = points_of(grid[0].size);
	for (size_t x = 1; x < size; x++)
		for (size_t y = 1; y < size; y++)
			for (size_t z = 1; z < size; z++) {
				at = (x * grid[0].size + y) * grid[0].size + z;
				grid[0].f[at] = random_real();
			}
	return n * (2 * SWEEPS * 8 + 9);
}

/* Call a function for each point that is not on the edge. */
#define EACH_POINT(a, at)							\
	for (size_t x_ = 1; x_ + 1 < (a)->size; x_++)				\
		for (size_t y_ = 1; y_ + 1 < (a)->size; y_++)			\
			for (size_t at = (x_ * (a)->size + y_) * (a)->size + 1,	\
			     end_ = at + (a)->size - 2; at < end_; at++)

static double neighbours(const struct grid *a, size_t at)
{
	size_t line = a->size, plane = line * line;

	return a->u[at - 1] + a->u[at + 1] + a->u[at - line] + a->u[at + line] +
	       a->u[at - plane] + a->u[at + plane];
}

static void relax(struct grid *a)
{
	for (int sweep = 0; sweep < SWEEPS; sweep++)
		EACH_POINT(a, at)
			a->u[at] = (neighbours(a, at) + a->f[at]) / 6;
}

static void residual(struct grid *a)
{
	EACH_POINT(a, at)
		a->r[at] = a->f[at] + neighbours(a, at) - 6 * a->u[at];
}

static size_t twice_as_far(const struct grid *fine, const struct grid *coarse, size_t at)
{
	size_t x = at / coarse->size / coarse->size, y = at / coarse->size % coarse->size;

	return (2 * x * fine->size + 2 * y) * fine->size + 2 * (at % coarse->size);
}

/* The right side of the coarse grid: residuals, of points four times as large. */
static void restrict_to(struct grid *coarse, const struct grid *fine)
{
	size_t line = fine->size, plane = line * line;

	memset(coarse->u, 0, points_of(coarse->size) * sizeof(double));
	EACH_POINT(coarse, at) {
		size_t k = twice_as_far(fine, coarse, at);

		coarse->f[at] = 4 * (fine->r[k] / 4 +
			(fine->r[k - 1] + fine->r[k + 1] + fine->r[k - line] +
			 fine->r[k + line] + fine->r[k - plane] + fine->r[k + plane]) / 8);
	}
}

/* Add what the coarse grid found, to the points in between as well, by halves. */
static void prolong(struct grid *fine, const struct grid *coarse)
{
	size_t line = fine->size, plane = line * line;

	EACH_POINT(coarse, at) {
		size_t k = twice_as_far(fine, coarse, at);

		for (int d = -1; d <= 1; d++)
			for (int e = -1; e <= 1; e++)
				for (int f = -1; f <= 1; f++)
					fine->u[k + d * (long)plane + e * (long)line + f] +=
						ldexp(coarse->u[at], -(d * d + e * e + f * f));
	}
}

static void mg_round(long round)
{
	(void)round;
	for (int g = 0; g < GRIDS; g++) {
		relax(&grid[g]);
		if (g + 1 < GRIDS) {
			residual(&grid[g]);
			restrict_to(&grid[g + 1], &grid[g]);
		}
	}
	for (int g = GRIDS - 1; g; g--) {
		prolong(&grid[g - 1], &grid[g]);
		relax(&grid[g - 1]);
	}
}

static long many(void)
{
	return 60;
}

/* The solution fits the right side at each point. */
static bool mg_right(void)
{
	double most = 0;

	residual(&grid[0]);
	EACH_POINT(&grid[0], at)
		most = fmax(most, fabs(grid[0].r[at]));
	return most < 1000 * TINY;
}

const struct victim mg = { "mg", mg_setup, mg_round, many, mg_right, NULL };
