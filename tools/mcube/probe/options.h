/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Options of the subcommands; each takes those that its file names.
 */
#ifndef MCUBE_PROBE_OPTIONS_H
#define MCUBE_PROBE_OPTIONS_H

#include <stdbool.h>

#include "color.h"
#include "decide.h"
#include "memory.h"

#define LARGE_CACHE	(4ul << 20)
#define MAX_MAPS	16

/**
 * struct options - the options
 * @cache:	the cache in question; level 0: none
 * @mask:	color masks
 * @masks:	how many
 * @draws:	of each rule, MIN_DRAWS to MAX_DRAWS
 * @find:	-f: find masks
 * @cpu:	to run on, -1: the present one
 * @model:	-t model: time is the cycles of a modelled machine
 * @mib:	-M: memory to time
 * @shift:	-k: of its pages, 0: any
 * @pairs:	-v: pairs to verify a map with
 * @seed:	-s: of the choice of lines
 * @map:	-H: maps to try first
 * @maps:	how many
 */
struct options {
	struct cache cache;
	uint64_t mask[MAX_MASKS];
	unsigned int masks;
	unsigned int draws;
	bool find;
	int cpu;
	bool model;
	size_t mib;
	unsigned int shift;
	unsigned int pairs;
	uint64_t seed;
	const char *map[MAX_MAPS];
	unsigned int maps;
};

bool options_parse(struct options *o, int argc, char **argv);
const char *options_clock(const struct options *o);
void options_print(const struct options *o, const struct memory *m);

void options_quantiles(const char *name, const double *x, unsigned int n, double unit);

/** options_large - Return: is the cache of @o so large that it takes long to fill? */
static inline bool options_large(const struct options *o)
{
	return o->cache.bytes > LARGE_CACHE;
}

#endif
