/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a load of shapes consists of.
 *
 * main.c lets thread 0 call setup(), and then all threads call pass() at the same time,
 * again and again. A pass is the load's unit of work, which the threads share.
 */
#ifndef SHAPE_H
#define SHAPE_H

#include <stddef.h>
#include <stdint.h>

#define LINE		64u
#define MOST_THREADS	16

/**
 * struct shape - a load
 * @name:	name on the command line
 * @setup:	takes and fills about so many bytes
 * @pass:	does the part of a thread; gets the number of the thread
 * @wrong:	says what is wrong with the result after one pass or more, or NULL
 * @checksum:	of the result, which does not depend on the number of threads; NULL if
 *		the load has no such result
 */
struct shape {
	const char *name;
	void (*setup)(size_t bytes);
	void (*pass)(unsigned int me);
	const char *(*wrong)(void);
	uint64_t (*checksum)(void);
};

extern unsigned int nr_threads;

/* An array of its own pages, filled with zeros from its start to its end. */
void *take(size_t bytes);

/* Wait for all threads. */
void meet(void);

/* Mix bytes into a checksum that begins with 0. */
uint64_t mix(uint64_t sum, const void *bytes, size_t nr);

/* The block of a thread: its first element, or with the number after its own, its end. */
static inline size_t block(size_t elements, unsigned int thread)
{
	return elements * thread / nr_threads;
}

/* xorshift64 */
static inline uint64_t random_number(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* A random number below a limit. */
static inline uint32_t random_below(uint64_t *state, uint32_t limit)
{
	return (random_number(state) >> 32) * limit >> 32;
}

/* A random number from 0 to less than 1. */
static inline float random_real(uint64_t *state)
{
	return (float)(random_number(state) >> 40) / (1 << 24);
}

extern const struct shape streamcluster, canneal, fluidanimate;

#endif
