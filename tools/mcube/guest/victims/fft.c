// SPDX-License-Identifier: GPL-2.0
/*
 * Fourier transforms of complex points, there and back. A round: a transform.
 *
 *	fft	of one dimension, radix 2, in place
 *	fft3	of three dimensions: a row at a time is copied to a buffer, transformed, and
 *		copied back. Rows of the second and third dimension have strides of
 *		powers of two, as in the NAS benchmark FT.
 */

#include <complex.h>
#include <math.h>

#include "victim.h"

typedef double complex complex_t;

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

/* Transform @len points in place, or back without the division by @len. */
static void transform(complex_t *points, const complex_t *roots, size_t len, bool back)
{
	for (size_t i = 1, j = 0; i < len; i++) {
		size_t bit = len / 2;

		for (; j & bit; bit /= 2)
			j ^= bit;
		j ^= bit;
		if (i < j) {
			complex_t p = points[i];

			points[i] = points[j];
			points[j] = p;
		}
	}
	for (size_t half = 1; half < len; half *= 2)
		for (size_t from = 0; from < len; from += 2 * half)
			for (size_t i = 0; i < half; i++) {
				complex_t w = roots[i * (len / 2 / half)];
				complex_t *a = &points[from + i];
				complex_t b = times(back ? conj(w) : w, a[half]);

				a[half] = *a - b;
				*a += b;
			}
}

static void fft_round(long round)
{
	bool back = round & 1;

	transform(points, roots, n, back);
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

/* Three dimensions, x first, and the buffer of a row. */
static size_t size[3];
static complex_t *row, *roots_of[3];

static size_t fft3_setup(size_t bytes)
{
	unsigned int bits = log2_of(bytes / sizeof(*points) / 2) + 1;

	/* Roots and buffer take far less than what the rounding leaves. */
	if ((sizeof(*points) << bits) + (bytes >> 3) > bytes)
		bits--;
	n = 1UL << bits;
	points = take(n * sizeof(*points));
	for (int d = 0; d < 3; d++) {
		size[d] = 1UL << (bits + d) / 3;
		roots_of[d] = take(size[d] / 2 * sizeof(*points));
		for (size_t i = 0; i < size[d] / 2; i++)
			roots_of[d][i] = cexp(-2 * M_PI * I * i / size[d]);
	}
	row = take(size[2] * sizeof(*row));
	for (size_t i = 0; i < n; i++)
		points[i] = point_at_first(i);
	return n * (3 * 4 + bits * 4);
}

/* Transform all rows of a dimension, whose points are @stride apart. */
static void rows(int d, size_t stride, bool back)
{
	for (size_t at = 0; at < n; at++) {
		if (at / stride % size[d])
			continue;
		for (size_t i = 0; i < size[d]; i++)
			row[i] = points[at + i * stride];
		transform(row, roots_of[d], size[d], back);
		for (size_t i = 0; i < size[d]; i++)
			points[at + i * stride] = back ? row[i] / size[d] : row[i];
	}
}

static void fft3_round(long round)
{
	bool back = round & 1;

	rows(0, 1, back);
	rows(1, size[0], back);
	rows(2, size[0] * size[1], back);
}

/* There and back, all points are what they were. */
static bool fft3_right(void)
{
	for (size_t i = 0; i < n; i++)
		if (cabs(points[i] - point_at_first(i)) > TINY)
			return false;
	return size[0] * size[1] * size[2] == n;
}

const struct victim fft = { "fft", fft_setup, fft_round, thrice, fft_right, NULL };
const struct victim fft3 = { "fft3", fft3_setup, fft3_round, twice, fft3_right, NULL };
