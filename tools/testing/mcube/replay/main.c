// SPDX-License-Identifier: GPL-2.0
/*
 * Replay of page-reference traces through replacement policies
 *
 * Copyright (C) 2026 The mcube authors
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine.h"
#include "paper/hash.h"

#define MOST	64

/**
 * struct request - the command line
 * @engine: engines to run.
 * @nr_engines: how many.
 * @size: sizes of the cache in pages; those below 0 are shares, in percent.
 * @nr_sizes: how many.
 * @shuffle: the control.
 * @seed: its random numbers.
 * @json: write JSON.
 * @path: file of the trace.
 */
struct request {
	const struct engine *engine[MOST];
	uint32_t nr_engines;
	double size[MOST];
	uint32_t nr_sizes;
	enum replay_shuffle shuffle;
	uint64_t seed;
	bool json;
	const char *path;
};

/**
 * struct engine_stat - where the counters of an engine go
 * @json: as members of an object.
 * @nr: counters so far.
 */
struct engine_stat {
	bool json;
	uint32_t nr;
};

void engine_stat(struct engine_stat *to, const char *name, double value)
{
	printf(to->json ? "%s\"%s\": %.10g" : "%s%s=%.10g",
	       !to->nr++ ? "" : to->json ? ", " : " ", name, value);
}

static void help(void)
{
	printf("usage: replay [--engines LIST] [--sizes LIST] [--shuffle ids|order] [--seed N]\n"
	       "              [--secret N] [--json] FILE\n"
	       "\n"
	       "Replays a trace of page references through replacement policies and prints\n"
	       "their hits.\n"
	       "\n"
	       "FILE is a trace of 'mcube record', or a public trace with a decimal id per\n"
	       "line, whose ids are taken as page indices of a single file; text or gzip'd.\n"
	       "\n"
	       "  --engines LIST   policies, separated by commas (default: all)\n"
	       "  --sizes LIST     sizes of the cache in pages, or in percent of the distinct\n"
	       "                   pages of the trace (default: 5%%,10%%,20%%,40%%,70%%)\n"
	       "  --shuffle ids    control: each page gets the place of a random page\n"
	       "  --shuffle order  control: the references come in random order\n"
	       "  --seed N         seed of the control (default: 1)\n"
	       "  --secret N       of UBM's hash; the kernel draws it at random (default: 0)\n"
	       "  --json           print an object with trace and rows\n"
	       "\n"
	       "engines:\n");
	for (uint32_t i = 0; engines[i]; i++)
		printf("  %-16s %s\n", engines[i]->name, engines[i]->about);
}

static void bad(const char *what, const char *value)
{
	fprintf(stderr, "error: %s: '%s'\nwhat to do: see replay --help\n", what, value);
	exit(2);
}

static void parse_engines(struct request *r, char *list)
{
	r->nr_engines = 0;
	for (char *name = strtok(list, ","); name; name = strtok(NULL, ",")) {
		const struct engine *e = engine_find(name);

		if (!e || r->nr_engines == MOST)
			bad(e ? "too many engines" : "there is no such engine", name);
		r->engine[r->nr_engines++] = e;
	}
	if (!r->nr_engines)
		bad("there is no engine in", list);
}

static void parse_sizes(struct request *r, char *list)
{
	r->nr_sizes = 0;
	for (char *item = strtok(list, ","); item; item = strtok(NULL, ",")) {
		char *end;
		double size = strtod(item, &end);
		bool share = *end == '%';

		if (end == item || end[share] || !(size > 0) || size > UINT32_MAX ||
		    (share ? size > 100 : size != (uint32_t)size))
			bad("neither a number of pages nor a percentage", item);
		if (r->nr_sizes == MOST)
			bad("too many sizes", item);
		r->size[r->nr_sizes++] = share ? -size : size;
	}
	if (!r->nr_sizes)
		bad("there is no size in", list);
}

static uint64_t parse_number(const char *text)
{
	uint64_t value;
	char *end;

	errno = 0;
	value = strtoull(text, &end, 0);
	if (errno || *end || end == text)
		bad("not a number", text);
	return value;
}

static void parse(struct request *r, int argc, char **argv)
{
	static const struct option options[] = {
		{ "engines", required_argument, NULL, 'e' },
		{ "sizes", required_argument, NULL, 's' },
		{ "shuffle", required_argument, NULL, 'c' },
		{ "seed", required_argument, NULL, 'r' },
		{ "secret", required_argument, NULL, 'x' },
		{ "json", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },
		{ }
	};
	int c;

	while ((c = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		switch (c) {
		case 'e':
			parse_engines(r, optarg);
			break;
		case 's':
			parse_sizes(r, optarg);
			break;
		case 'c':
			if (strcmp(optarg, "ids") && strcmp(optarg, "order"))
				bad("what to shuffle is neither ids nor order", optarg);
			r->shuffle = *optarg == 'i' ? REPLAY_SHUFFLE_IDS : REPLAY_SHUFFLE_ORDER;
			break;
		case 'r':
			r->seed = parse_number(optarg);
			break;
		case 'x':
			mcube_ubm_secret.key[0] = parse_number(optarg);
			break;
		case 'j':
			r->json = true;
			break;
		case 'h':
			help();
			exit(0);
		default:
			exit(2);
		}
	}
	if (optind + 1 != argc)
		bad("one trace is needed, not", optind < argc ? argv[optind + 1] : "none");
	r->path = argv[optind];
}

static void json_string(const char *s)
{
	putchar('"');
	for (; *s; s++) {
		if ((unsigned char)*s < ' ')
			printf("\\u%04x", *s);
		else
			printf(*s == '"' || *s == '\\' ? "\\%c" : "%c", *s);
	}
	putchar('"');
}

static uint32_t pages_of(double size, const struct replay_trace *t)
{
	if (size > 0)
		return size;
	size = -size / 100 * t->nr_pages;
	return size < 1 ? 1 : size;
}

static void run(const struct request *r, const struct replay_trace *t, const char *separator)
{
	for (uint32_t s = 0; s < r->nr_sizes; s++) {
		uint32_t size = pages_of(r->size[s], t);

		for (uint32_t e = 0; e < r->nr_engines; e++) {
			const char *name = r->engine[e]->name;
			struct engine_stat stat = { .json = r->json };

			if (r->json)
				printf("%s{\"engine\": \"%s\", \"size\": %" PRIu32 ", \"stats\": {",
				       separator, name, size);
			else
				printf("%-10s %9" PRIu32 " ", name, size);
			if (r->json) {
				uint32_t hits = engine_run(r->engine[e], t, size, &stat);

				printf("}, \"hits\": %" PRIu32 ", \"hit_ratio\": %.6f}", hits,
				       (double)hits / t->nr_refs);
			} else {
				uint32_t hits = engine_run(r->engine[e], t, size, NULL);

				printf("%10" PRIu32 " %8.2f%%\n", hits, 100.0 * hits / t->nr_refs);
			}
			separator = ",\n  ";
		}
	}
}

int main(int argc, char **argv)
{
	struct request r = { .seed = 1 };
	char shares[] = "5%,10%,20%,40%,70%";
	struct replay_trace *t;

	parse_sizes(&r, shares);
	while (engines[r.nr_engines] && r.nr_engines < MOST) {
		r.engine[r.nr_engines] = engines[r.nr_engines];
		r.nr_engines++;
	}
	parse(&r, argc, argv);
	t = replay_read(r.path);
	replay_shuffle(t, r.shuffle, r.seed);
	if (r.json) {
		printf("{\"trace\": ");
		json_string(r.path);
		printf(", \"references\": %" PRIu32 ", \"pages\": %" PRIu32 ", \"files\": %" PRIu32
		       ",\n \"has_files\": %s, \"rows\": [\n  ", t->nr_refs, t->nr_pages,
		       t->nr_files, t->has_files ? "true" : "false");
		run(&r, t, "");
		printf("]}\n");
	} else {
		printf("%" PRIu32 " references, %" PRIu32 " pages, %" PRIu32 " files\n",
		       t->nr_refs, t->nr_pages, t->nr_files);
		printf("%-10s %9s %10s %9s\n", "engine", "size", "hits", "hit ratio");
		run(&r, t, "");
	}
	replay_free(t);
	return 0;
}
