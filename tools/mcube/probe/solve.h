/* SPDX-License-Identifier: GPL-2.0 */
/*
 * From addresses that are known to share a bank, or not, to the functions that choose the
 * bank; solve.c says how.  Pure: no I/O, no allocation.
 */
#ifndef MCUBE_PROBE_SOLVE_H
#define MCUBE_PROBE_SOLVE_H

#include <stdbool.h>
#include <stdint.h>

#define SOLVE_LINE_SHIFT	6		/* lower address bits choose no bank */
#define SOLVE_MAX_SAMPLES	4096u
#define SOLVE_MAX_LABELS	1024u
#define SOLVE_NO_LABEL		0xffffu
#define SOLVE_MAX_MASKS		10u
#define SOLVE_MAX_BITS		30u		/* address bits that vary */
#define SOLVE_MAX_TABLES	4u
#define SOLVE_MAX_ENTRIES	256u		/* of all tables */
#define SOLVE_WORDS		16u		/* of 64 pairs each */
#define SOLVE_PAIRS		(SOLVE_WORDS * 64)
#define SOLVE_LEAST_PAIRS	512u

/**
 * struct solve_table - numbers that successive granules of memory have in turn
 * @shift:	log2 of the bytes of a granule
 * @len:	period in granules
 * @first:	place of the first entry in the entries of the map
 */
struct solve_table {
	unsigned int shift;
	unsigned int len;
	unsigned int first;
};

/**
 * struct solve_map - functions that choose the bank of a physical address
 * @nr_masks:	XOR masks of address + @offset
 * @mask:	the parity under each is a bit of the bank
 * @offset:	bytes that the controller adds to an address first
 * @modulus:	3: address >> @modulus_shift modulo 3 chooses, too; 0: nothing of the kind
 * @modulus_shift: log2 of the bytes of a turn
 * @nr_quotients: XOR masks of address / @modulus
 * @quotient:	as @mask
 * @nr_tables:	tables, for maps that were given as text
 * @table:	the tables
 * @entry:	their entries
 */
struct solve_map {
	unsigned int nr_masks;
	uint64_t mask[SOLVE_MAX_MASKS];
	uint64_t offset;
	unsigned int modulus;
	unsigned int modulus_shift;
	unsigned int nr_quotients;
	uint64_t quotient[SOLVE_MAX_MASKS];
	unsigned int nr_tables;
	struct solve_table table[SOLVE_MAX_TABLES];
	uint8_t entry[SOLVE_MAX_ENTRIES];
};

/**
 * struct solve_sample - an address and the bank set that timing put it into
 * @address:	physical address
 * @label:	number of the set, SOLVE_NO_LABEL for none
 */
struct solve_sample {
	uint64_t address;
	uint16_t label;
};

/**
 * struct solve_result - what came out
 * @map:	the functions, if @why is NULL
 * @why:	why there is no answer; NULL: there is one
 * @seen:	address bits that varied over the samples; of others nothing is known
 * @holds:	share of pairs in one set that the map has in one bank; samples held back
 * @whole:	share of pairs in one bank by the map that are in one set; samples held back
 * @pairs:	pairs in one set that were held back
 */
struct solve_result {
	struct solve_map map;
	const char *why;
	uint64_t seen;
	double holds;
	double whole;
	unsigned int pairs;
};

/**
 * struct solve_work - memory that solve() needs, of no meaning to the caller
 */
struct solve_work {
	uint64_t column[64][SOLVE_WORDS];
	uint64_t random[64][SOLVE_WORDS];
	uint16_t order[SOLVE_MAX_SAMPLES];
	uint16_t pair[SOLVE_PAIRS][2];
	uint16_t start[SOLVE_MAX_LABELS + 1];
	uint8_t held[SOLVE_MAX_SAMPLES];
	unsigned int nr_pairs;
	unsigned int nr;
	uint64_t rng;
};

/* What solve() looks for. */
#define SOLVE_OFFSET	1u		/* a physical offset, too */
#define SOLVE_MODULUS	2u		/* three channels, too */

/** solve_top - Return: number of the highest bit of a mask that is not 0 */
static inline unsigned int solve_top(uint64_t mask)
{
	return 63 - __builtin_clzll(mask);
}

void solve(struct solve_result *r, struct solve_work *w, const struct solve_sample *sample,
	   unsigned int nr, unsigned int what);
void solve_as(struct solve_result *r, struct solve_work *w, const struct solve_sample *sample,
	      unsigned int nr, const struct solve_map *like);

unsigned int solve_components(const struct solve_map *map);
unsigned int solve_component(const struct solve_map *map, unsigned int i, uint64_t address);
unsigned int solve_radix(const struct solve_map *map, unsigned int i);
unsigned int solve_banks(const struct solve_map *map);
unsigned int solve_value(const struct solve_map *map, uint64_t address);
uint64_t solve_rest(const uint64_t *basis, unsigned int nr, uint64_t mask);
unsigned int solve_span(uint64_t *basis, unsigned int nr, uint64_t mask);
bool solve_adds(const struct solve_map *whole, const struct solve_map *map, unsigned int i,
		unsigned int least, unsigned int most);
bool solve_pages(const struct solve_map *map, struct solve_map *pages);

#endif
