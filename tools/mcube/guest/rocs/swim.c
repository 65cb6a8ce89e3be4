// SPDX-License-Identifier: GPL-2.0
/*
 * swim: as 171.swim of SPEC CPU2000, a model of shallow water by finite differences
 * (Sadourny, The Dynamics of Finite-Difference Models of the Shallow-Water Equations,
 * 1975).
 *
 *	u v p ----> cu cv z h ----> unew vnew pnew ----> u v p
 *	     step 1      |    step 2   ^      step 3   (smoothed in time)
 *	                 |   uold vold pold  <---+
 *
 * A time step consists of three loops over the whole grid, each over 7 to 10 of the 13
 * arrays. Step 1 makes mass fluxes, vorticity and height from velocity and pressure;
 * step 2 makes the new fields from these and the old fields; step 3 filters in time.
 *
 * Kept: the arrays, the three loops, which arrays each loop reads and writes, the
 * neighbours that it needs, the copies of the cyclic boundary. Left out: the first step of half
 * length, and the array that only initial values need.
 *
 * Each array has 11 % of the cache. So the seven arrays of step 1 fit, and those of
 * a whole time step do not. The old and the new fields have the longest time between
 * uses.
 */
#include "load.h"

#include <math.h>

static double *u, *v, *p, *cu, *cv, *z, *h;
static double *unew, *vnew, *pnew, *uold, *vold, *pold;
static size_t side, width;	/* points of a side; with the copy of the boundary */

static void setup(size_t cache)
{
	double **reused[] = { &u, &v, &p, &cu, &cv, &z, &h };
	double **streamed[] = { &unew, &vnew, &pnew, &uold, &vold, &pold };
	size_t bytes;

	width = sqrt((double)cache * 11 / 100 / sizeof(*u));
	side = width - 1;
	bytes = width * width * sizeof(*u);
	for (size_t i = 0; i < sizeof(reused) / sizeof(*reused); i++)
		*reused[i] = take(bytes, REUSED);
	for (size_t i = 0; i < sizeof(streamed) / sizeof(*streamed); i++)
		*streamed[i] = take(bytes, STREAMED);
	for (size_t y = 0; y < width; y++)
		for (size_t x = 0; x < width; x++) {
			size_t i = y * width + x;

			u[i] = sin(2 * M_PI * y / side);
			v[i] = sin(2 * M_PI * x / side);
			p[i] = 1000 + cos(2 * M_PI * x / side);
			uold[i] = u[i];
			vold[i] = v[i];
			pold[i] = p[i];
		}
}

/* The last row and column are those before the first row and column. */
static void wrap(double *a)
{
	for (size_t y = 0; y < side; y++)
		a[y * width + side] = a[y * width];
	for (size_t x = 0; x < width; x++)
		a[side * width + x] = a[x];
}

static void fluxes(void)
{
	const size_t s = width;

	for (size_t y = 0; y < side; y++)
		for (size_t i = y * width; i < y * width + side; i++) {
			cu[i] = 0.5 * (p[i + 1] + p[i]) * u[i];
			cv[i] = 0.5 * (p[i + s] + p[i]) * v[i];
			z[i] = (v[i + 1] - v[i] - u[i + s] + u[i]) /
				(p[i] + p[i + 1] + p[i + s + 1] + p[i + s]);
			h[i] = p[i] + 0.25 * (u[i + 1] * u[i + 1] + u[i] * u[i] +
					      v[i + s] * v[i + s] + v[i] * v[i]);
		}
	wrap(cu);
	wrap(cv);
	wrap(z);
	wrap(h);
}

static void new_fields(double dt)
{
	const size_t s = width;

	for (size_t y = 0; y < side; y++)
		for (size_t i = y * width; i < y * width + side; i++) {
			unew[i] = uold[i] + dt *
				((z[i + s] + z[i]) * (cv[i + s] + cv[i]) - (h[i + 1] - h[i]));
			vnew[i] = vold[i] - dt *
				((z[i + 1] + z[i]) * (cu[i + 1] + cu[i]) + (h[i + s] - h[i]));
			pnew[i] = pold[i] - dt *
				(cu[i + 1] - cu[i] + cv[i + s] - cv[i]);
		}
	wrap(unew);
	wrap(vnew);
	wrap(pnew);
}

/* Robert's filter, and the fields move on by a time step. */
static void smooth(double *now, double *old, const double *next)
{
	const double alpha = 0.001;

	*old = *now + alpha * (*next - 2 * *now + *old);
	*now = *next;
}

static void filter(void)
{
	for (size_t i = 0; i < width * width; i++) {
		smooth(&u[i], &uold[i], &unew[i]);
		smooth(&v[i], &vold[i], &vnew[i]);
		smooth(&p[i], &pold[i], &pnew[i]);
	}
}

static void iterate(unsigned long n)
{
	(void)n;
	fluxes();
	new_fields(0.00001);
	filter();
}

const struct load swim = { "swim", setup, iterate };
