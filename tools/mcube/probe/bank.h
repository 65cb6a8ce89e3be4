/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The DRAM banks of a memory, by timing pairs of lines; bank.c says how, bank_text.c in JSON.
 */
#ifndef MCUBE_PROBE_BANK_H
#define MCUBE_PROBE_BANK_H

#include <stdbool.h>
#include <stdint.h>

#include "cluster.h"
#include "solve.h"

/**
 * struct bank_line - a line of memory that can be timed
 * @physical:	its physical address
 * @handle:	what the memory knows it by
 */
struct bank_line {
	uint64_t physical;
	uintptr_t handle;
};

/**
 * struct bank_memory - memory, and a clock
 * @pick:	a line at an address that is a multiple of 1 << align, by a random number
 * @find:	the line at a physical address, false if this memory lacks it
 * @once:	ticks of a load of a and then of b, both past all caches
 * @progress:	called now and then with the share of the work that is done
 * @context:	for all of them
 * @repeats:	how often a pair is timed at first, less than BANK_REPEATS; more often in noise
 */
struct bank_memory {
	void (*pick)(void *context, uint64_t random, unsigned int align, struct bank_line *l);
	bool (*find)(void *context, uint64_t physical, struct bank_line *l);
	double (*once)(void *context, const struct bank_line *a, const struct bank_line *b);
	void (*progress)(void *context, double share);
	void *context;
	unsigned int repeats;
};

#define BANK_REPEATS	255u

/**
 * struct bank_verified - pairs that were timed to see whether a map holds
 * @same:	pairs in one bank by the map
 * @same_hold:	such pairs that conflict
 * @other:	pairs in two banks that differ in one function
 * @other_hold:	such pairs that do not conflict
 */
struct bank_verified {
	unsigned int same;
	unsigned int same_hold;
	unsigned int other;
	unsigned int other_hold;
};

/**
 * struct bank_report - what was found
 * @why:	why nothing is known; NULL: the map is known
 * @split:	the two modes of the latencies
 * @lines:	lines that were put into sets
 * @sets:	bank sets
 * @within:	pairs of one set that conflict when timed again, a share
 * @across:	pairs of two sets that do
 * @timed:	pairs that were timed
 * @repeats:	how often each, in the end
 * @map:	the functions
 * @pages:	@map is of the first lines of pages alone: those within a page are unknown
 * @page_map:	the functions of the first lines of pages
 * @hypothesis:	@map is the hypothesis, which holds
 * @refuted:	there were hypotheses, and none holds
 * @holds:	share of pairs of a set in one bank of the map, of lines held back
 * @seen:	address bits that differ in this memory
 * @verified:	pairs timed for @map after all
 * @confidence:	lower bound of the share of pairs that @map is right about, 95 %
 * @row_bits:	address bits that choose the row, as far as known
 * @column_bits: address bits that choose neither row nor bank, as far as known
 */
struct bank_report {
	const char *why;
	struct cluster_split split;
	unsigned int lines;
	unsigned int sets;
	double within;
	double across;
	unsigned int timed;
	unsigned int repeats;
	struct solve_map map;
	bool pages;
	struct solve_map page_map;
	bool hypothesis;
	bool refuted;
	double holds;
	uint64_t seen;
	struct bank_verified verified;
	double confidence;
	uint64_t row_bits;
	uint64_t column_bits;
};

void bank_probe(struct bank_report *r, const struct bank_memory *m, uint64_t seed,
		unsigned int pairs, const struct solve_map *hypothesis, unsigned int nr);

const char *bank_parse(struct solve_map *map, const char *text);
void bank_print(const struct bank_report *r, const char *unit);

#endif
