// SPDX-License-Identifier: GPL-2.0
/*
 * mgrid: as 172.mgrid of SPEC CPU2000 and MG of the NAS benchmarks, a multigrid solver
 * for Poisson's equation in three dimensions.
 *
 *	v, u, r fine    residual ... ... ... interpolate, residual, smooth
 *	u, r half           \ restrict          /
 *	u, r quarter           \ restrict   /
 *	...                       smooth
 *
 * A V-cycle goes down from the finest grid, passing on the residual, and comes up
 * again with the correction. Each step is a loop over a grid with a stencil.
 *
 * Kept: the V-cycle and its steps, the arrays (right side v of the finest grid only,
 * solution u and residual r of each grid), the periodic boundary. Left out: edges and
 * corners of the stencils, which then have 7 of up to 27 points; the norm after a
 * cycle; the layers of ghost points, instead of which indices wrap around. The grid is
 * no cube, so that its size can follow that of the cache closely.
 *
 * u and r of all grids have at most 29/32 of the cache, v has half as much less an
 * eighth. v is read twice in a cycle, and everything else more often.
 */
#include "load.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#define LEVELS		8
#define MOST_SIDE	1024

/* A grid: side x side x depth points. */
static struct grid {
	double *u, *r;
	size_t side, depth, points;
} grid[LEVELS];

static double *v;
static unsigned int levels;

static void setup(size_t cache)
{
	/* All grids, u and r, have 8/7 of two finest grids. */
	size_t points = cache * 29 / 32 * 7 / 8 / 2 / sizeof(*v);
	size_t side = (size_t)cbrt(points) & ~3ul, depth = points / (side * side) & ~3ul;

	for (levels = 0; levels < LEVELS; levels++, side /= 2, depth /= 2) {
		struct grid *g = &grid[levels];

		*g = (struct grid){ .side = side, .depth = depth, .points = side * side * depth };
		g->u = take(g->points * sizeof(*g->u), REUSED);
		g->r = take(g->points * sizeof(*g->r), REUSED);
		if (side % 2 || depth % 2 || side <= 4) {
			levels++;
			break;
		}
	}
	v = take(grid->points * sizeof(*v), STREAMED);
	/* As in the original: +1 and -1 at a few points. */
	for (int i = 0; i < 20; i++)
		v[random_below(grid->points)] = i % 2 ? 1 : -1;
}

/* out = base + a * in + b * (the six neighbours of in); base may be out or NULL. */
static void stencil(const struct grid *g, double *out, const double *base, const double *in,
		    double a, double b)
{
	const size_t n = g->side, plane = n * n;
	double line[MOST_SIDE + 2];

	for (size_t z = 0; z < g->depth; z++) {
		const double *here = in + z * plane;
		const double *down = in + (z ? z - 1 : g->depth - 1) * plane;
		const double *up = in + (z + 1 < g->depth ? z + 1 : 0) * plane;

		for (size_t y = 0; y < n; y++) {
			const double *north = here + (y ? y - 1 : n - 1) * n;
			const double *south = here + (y + 1 < n ? y + 1 : 0) * n;
			const double *middle = here + y * n;
			double *to = out + z * plane + y * n;
			const double *from = base ? base + z * plane + y * n : NULL;

			memcpy(line + 1, middle, n * sizeof(*line));
			line[0] = middle[n - 1];
			line[n + 1] = middle[0];
			for (size_t x = 0; x < n; x++) {
				double sum = line[x] + line[x + 2] + north[x] + south[x] +
					down[y * n + x] + up[y * n + x];

				to[x] = (from ? from[x] : 0) + a * line[x + 1] + b * sum;
			}
		}
	}
}

/* Half the points in each direction; each takes the mean of eight. */
static void restrict_to(const struct grid *coarse, const struct grid *fine)
{
	const size_t n = coarse->side, m = fine->side;

	for (size_t z = 0; z < coarse->depth; z++)
		for (size_t y = 0; y < n; y++) {
			const double *a = fine->r + (2 * z * m + 2 * y) * m, *b = a + m * m;
			double *to = coarse->r + (z * n + y) * n;

			for (size_t x = 0; x < n; x++)
				to[x] = (a[2 * x] + a[2 * x + 1] + a[m + 2 * x] + a[m + 2 * x + 1] +
					 b[2 * x] + b[2 * x + 1] + b[m + 2 * x] +
					 b[m + 2 * x + 1]) / 2;
		}
}

static void interpolate(const struct grid *fine, const struct grid *coarse)
{
	const size_t n = coarse->side, m = fine->side;

	for (size_t z = 0; z < fine->depth; z++)
		for (size_t y = 0; y < m; y++) {
			const double *from = coarse->u + (z / 2 * n + y / 2) * n;
			double *to = fine->u + (z * m + y) * m;

			for (size_t x = 0; x < n; x++) {
				to[2 * x] += from[x];
				to[2 * x + 1] += from[x];
			}
		}
}

static void residual(const struct grid *g, const double *base)
{
	stencil(g, g->r, base, g->u, 6, -1);
}

static void smooth(const struct grid *g, bool first)
{
	stencil(g, g->u, first ? NULL : g->u, g->r, 1.0 / 8, 1.0 / 32);
}

static void iterate(unsigned long cycle)
{
	unsigned int k;

	(void)cycle;
	residual(grid, v);
	for (k = 1; k < levels; k++)
		restrict_to(&grid[k], &grid[k - 1]);
	smooth(&grid[levels - 1], true);
	for (k = levels - 1; k--; ) {
		if (k)
			memset(grid[k].u, 0, grid[k].points * sizeof(*grid[k].u));
		interpolate(&grid[k], &grid[k + 1]);
		residual(&grid[k], k ? grid[k].r : v);
		smooth(&grid[k], false);
	}
}

const struct load mgrid = { "mgrid", setup, iterate };
