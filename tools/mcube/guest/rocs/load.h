/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a load of rocsload consists of.
 *
 * main.c calls setup(), which takes and fills all arrays, and then iterate() again and
 * again. An iteration is the load's unit of work. The state after n iterations depends
 * on n and on the size of the cache alone, so the arrays of two runs can be compared.
 */
#ifndef ROCS_LOAD_H
#define ROCS_LOAD_H

#include <stddef.h>
#include <stdint.h>

#define LINE		64u

/**
 * enum use - how a load uses an array, by the design of the load
 * @REUSED:	again and again; all such arrays together fit in the cache
 * @STREAMED:	the time between two uses is too long for any cache
 *
 * With --oracle main.c lets the streamed arrays share one color, which is the placement
 * that ROCS looks for. Without that option the distinction has no effect.
 */
enum use {
	REUSED,
	STREAMED,
};

/**
 * struct load - a load
 * @name:	name on the command line
 * @setup:	takes and fills the arrays, for a last-level cache of so many bytes
 * @iterate:	does the n-th unit of work, from 0
 */
struct load {
	const char *name;
	void (*setup)(size_t cache);
	void (*iterate)(unsigned long n);
};

/* An array of its own pages, filled with zeros. */
void *take(size_t bytes, enum use use);

/* A number from a fixed sequence that begins anew before each setup(). */
uint64_t random_number(void);

/* As random_number(), below a limit. */
static inline uint32_t random_below(uint32_t limit)
{
	return (random_number() >> 32) * limit >> 32;
}

/* As random_number(), from 0 to less than 1. */
static inline double random_real(void)
{
	return (double)(random_number() >> 11) / (1ull << 53);
}

/* The number of iterations in a phase, for the load "phases". */
extern unsigned long phase_iterations;

extern const struct load art, swim, mgrid, cg, twolf, vpr, mcf, phases;

#endif
