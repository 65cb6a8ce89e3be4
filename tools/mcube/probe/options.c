// SPDX-License-Identifier: GPL-2.0
/* Options of the subcommands; options.h says which. */
#define _GNU_SOURCE
#include "options.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "model_clock.h"
#include "timing.h"

static bool number(const char *text, uint64_t *out)
{
	char *end;

	*out = strtoull(text, &end, 0);
	return *text && *text != '-' && !*end;
}

/**
 * options_parse - read the options of a subcommand
 * @o:		the options, with defaults
 * @argc:	as of main(), from the subcommand on
 * @argv:	as of main()
 *
 * Return: false if they make no sense.
 */
bool options_parse(struct options *o, int argc, char **argv)
{
	uint64_t n = 0;
	int c;

	while ((c = getopt(argc, argv, "l:b:L:m:c:d:ft:M:k:v:s:H:")) != -1) {
		if (c == '?' || (c == 'H' && o->maps == MAX_MAPS))
			return false;
		if (c == 'f') {
			o->find = true;
			continue;
		}
		if (c == 't') {
			o->model = !strcmp(optarg, "model");
			if (!o->model && strcmp(optarg, "tsc"))
				return false;
			continue;
		}
		if (c == 'k') {
			o->shift = !strcmp(optarg, "1G") ? SHIFT_1G :
				!strcmp(optarg, "2M") ? SHIFT_2M :
				!strcmp(optarg, "4K") ? SHIFT_4K : 0;
			if (!o->shift)
				return false;
			continue;
		}
		if (c == 'H') {
			o->map[o->maps++] = optarg;
			continue;
		}
		if (c == 'm') {
			for (char *w = strtok(optarg, ","); w; w = strtok(NULL, ",")) {
				if (o->masks == SEARCH_BITS || !number(w, &n) || n < PAGE)
					return false;
				o->mask[o->masks++] = n;
			}
			continue;
		}
		if (!number(optarg, &n))
			return false;
		if (c == 'l')
			o->cache.level = n;
		else if (c == 'b')
			o->cache.bytes = n;
		else if (c == 'L')
			o->cache.line = n;
		else if (c == 'c')
			o->cpu = n;
		else if (c == 'd')
			o->draws = n;
		else if (c == 'M')
			o->mib = n;
		else if (c == 'v')
			o->pairs = n;
		else
			o->seed = n;
	}
	if (!o->cache.level)
		return optind == argc && o->mib >= 4 && o->pairs >= 50 && o->pairs <= 100000;
	return optind == argc && o->cache.bytes >= 1 << 16 && o->cache.bytes <= 4ul << 30 &&
	       (o->cache.line == 32 || o->cache.line == 64 || o->cache.line == 128) &&
	       o->draws >= MIN_DRAWS && o->draws <= MAX_DRAWS;
}

/**
 * options_clock - take time from where the options say; late, as a model is slow while it is on
 * @o:	the options
 *
 * Return: NULL, or why not.
 */
const char *options_clock(const struct options *o)
{
	return o->model ? model_clock_init(sched_getcpu()) : NULL;
}

/**
 * options_print - members of a JSON object: the cache, the clock, the memory
 * @o:	the options
 * @m:	the memory
 */
void options_print(const struct options *o, const struct memory *m)
{
	printf(", \"level\": %u, \"unit\": \"%s\", \"clock\": \"%s\", \"memory\": {\"how\": \"%s\", "
	       "\"page\": %lu, \"bytes\": %zu, \"physical\": %s}", o->cache.level,
	       clock_source.ticks_per_ns > 0 ? "ns" : "cycles", clock_source.name, m->how,
	       1ul << m->shift, m->bytes, m->physical ? "true" : "false");
}

/**
 * options_quantiles - a member of a JSON object: the .2, .5 and .8 quantiles of some numbers
 * @name:	of the member
 * @x:		the numbers
 * @n:		how many, from 1 to MAX_DRAWS
 * @unit:	to divide them by
 */
void options_quantiles(const char *name, const double *x, unsigned int n, double unit)
{
	printf(", \"%s\": [%.4g, %.4g, %.4g]", name, quantile(x, n, .2) / unit,
	       quantile(x, n, .5) / unit, quantile(x, n, .8) / unit);
}
