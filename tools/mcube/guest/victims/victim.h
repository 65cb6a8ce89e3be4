/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a victim consists of.
 */
#ifndef VICTIMS_VICTIM_H
#define VICTIMS_VICTIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TINY		(1.0 / (1 << 30))	/* error allowed, for numbers around 1 */

/**
 * struct victim - a numerical kernel
 * @name: name on the command line.
 * @setup: takes and fills memory, at most so many bytes; returns roughly the accesses of a
 *         round.
 * @round: does the n-th round, from 0.
 * @checked_rounds: number of rounds after which @right tells if the result is right.
 * @right: is it?
 * @cycle: after so many rounds @round begins at 0 again; NULL for never.
 */
struct victim {
	const char *name;
	size_t (*setup)(size_t bytes);
	void (*round)(long n);
	long (*checked_rounds)(void);
	bool (*right)(void);
	long (*cycle)(void);
};

extern const struct victim sort, fft, spmm, lu, rank, mg, fft3;

/* Elements, points or rows of the victim. */
extern size_t n;

void *take(size_t bytes);
uint64_t random_number(void);
double random_real(void);
unsigned int log2_of(size_t x);

/* Numbers of rounds, for @checked_rounds. */
long once(void);
long twice(void);

#endif
