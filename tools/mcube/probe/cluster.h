/* SPDX-License-Identifier: GPL-2.0 */
/*
 * From latencies of pairs of lines to sets of lines that share a DRAM bank; cluster.c says
 * how.  Pure: no I/O, no allocation.
 */
#ifndef MCUBE_PROBE_CLUSTER_H
#define MCUBE_PROBE_CLUSTER_H

#include <stdbool.h>
#include <stdint.h>

#define CLUSTER_MAX_LINES	4096u
#define CLUSTER_MAX_SETS	512u
#define CLUSTER_NONE		0xffffu

/**
 * struct cluster_split - two modes of a distribution of latencies
 * @why:	why there are no two modes; NULL: there are
 * @threshold:	latency between the modes
 * @low:	median of the lower mode, pairs without a conflict
 * @high:	median of the upper mode, pairs with a conflict
 * @share:	share of pairs in the upper mode
 * @gap:	1 less pairs between the modes, as a share of the upper mode
 * @confidence:	lower bound of the share of pairs that stay in their mode when timed again,
 *		95 %; cluster_confirm() sets it
 */
struct cluster_split {
	const char *why;
	double threshold;
	double low;
	double high;
	double share;
	double gap;
	double confidence;
};

/**
 * struct cluster_lines - lines to be put into sets
 * @conflict:	is the pair of lines in one bank, by timing?
 * @progress:	called now and then with the share of lines done, or NULL
 * @context:	for both
 * @nr:		number of lines
 * @set:	the set of each line, CLUSTER_NONE for none
 * @nr_sets:	number of sets
 * @why:	why the sets are not to be trusted; NULL: they are
 * @within:	share of pairs in one set that conflict when timed again
 * @across:	share of pairs in two sets that do
 * @timed:	pairs that were timed
 */
struct cluster_lines {
	bool (*conflict)(void *context, unsigned int a, unsigned int b);
	void (*progress)(void *context, double share);
	void *context;
	unsigned int nr;
	uint16_t set[CLUSTER_MAX_LINES];
	unsigned int nr_sets;
	const char *why;
	double within;
	double across;
	unsigned int timed;
};

void cluster_split(struct cluster_split *s, double *latency, unsigned int nr);
void cluster_confirm(struct cluster_split *s, const double *low, unsigned int nr_low,
		     const double *high, unsigned int nr_high);
void cluster(struct cluster_lines *l, uint64_t seed);
double cluster_at_least(unsigned int good, unsigned int nr);

#endif
