/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Options of subcommands that time a cache:
 *
 *	-l LEVEL -b BYTES [-L LINE] [-m MASK,...] [-f] [-c CPU] [-d DRAWS] [-t model]
 */
#ifndef MCUBE_PROBE_OPTIONS_H
#define MCUBE_PROBE_OPTIONS_H

#include <stdbool.h>

#include "color.h"
#include "decide.h"
#include "memory.h"

#define LARGE_CACHE	(4ul << 20)

/**
 * struct options - the options
 * @cache:	the cache in question
 * @mask:	color masks
 * @masks:	how many
 * @draws:	of each rule, MIN_DRAWS to MAX_DRAWS
 * @find:	-f: find masks
 * @cpu:	to run on, -1: the present one
 * @model:	-t model: time is the cycles of a modelled machine
 */
struct options {
	struct cache cache;
	uint64_t mask[MAX_MASKS];
	unsigned int masks;
	unsigned int draws;
	bool find;
	int cpu;
	bool model;
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
