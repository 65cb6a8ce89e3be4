/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What measured times say about a color map: pure, so that made-up times can test it.
 *
 * A draw is a set of pages, taken at random by some rule, and the excess of time that a load
 * costs when the pages compete for sets over what it costs when they do not.
 */
#ifndef MCUBE_PROBE_DECIDE_H
#define MCUBE_PROBE_DECIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MAX_DRAWS	64
#define MIN_DRAWS	8
#define MAX_MASKS	16
#define SEARCH_BITS	9	/* address bits 12 to 20: those within a 2 MiB page */
#define SEARCH		(1u << SEARCH_BITS)

enum verdict {
	UNKNOWN,
	HOLDS,
	HOLDS_NOT,
};

/**
 * struct draws - excess of each draw of one rule
 * @nr:	how many
 * @x:	ticks for a load
 */
struct draws {
	unsigned int nr;
	double x[MAX_DRAWS];
};

/**
 * struct evidence - what was measured about a map
 * @fit:	pages spread evenly over all colors, 1.5 times one color's share of the cache
 * @most:	pages spread evenly, 3 quarters of the cache
 * @miss:	pages spread evenly, twice the cache
 * @same:	as many pages as in @fit, of one color
 * @flip:	as many, half of a color and half of the color that differs by one mask
 * @masks:	how many masks, so how many of @flip
 */
struct evidence {
	struct draws fit;
	struct draws most;
	struct draws miss;
	struct draws same;
	struct draws flip[MAX_MASKS];
	unsigned int masks;
};

/**
 * struct decision - what follows
 * @verdict:	of the map
 * @mask:	of each mask: is it part of the set index?
 * @confidence:	least probability that @verdict is right, as far as draws are independent;
 *		0 of UNKNOWN
 * @threshold:	excess from which a draw counts as competing, 0 if there is none
 * @competing:	share of @same that competes
 * @why:	a sentence
 */
struct decision {
	enum verdict verdict;
	enum verdict mask[MAX_MASKS];
	double confidence;
	double threshold;
	double competing;
	const char *why;
};

/**
 * struct index_bits - address bits 12 to 20 as part of a set index
 * @masks:	how many masks, with log2 of the colors that these bits tell apart
 * @mask:	them, bit 0 for address bit 12, each with a bit that no other has
 * @agreement:	share of the differences that agree with @mask
 * @why:	NULL, or why the masks are not known
 */
struct index_bits {
	unsigned int masks;
	unsigned int mask[SEARCH_BITS];
	double agreement;
	const char *why;
};

double quantile(const double *x, size_t n, double q);
double decide_threshold(const struct draws *low, const struct draws *high, const char **why);
double decide_share(const struct draws *d, double threshold);
void decide_map(struct decision *out, const struct evidence *e);
void decide_index(struct index_bits *out, const unsigned char *votes, unsigned int draws);

#endif
