// SPDX-License-Identifier: GPL-2.0
/*
 * The engines, and how a trace runs through an engine
 *
 * Copyright (C) 2026 The mcube authors
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine.h"

const struct engine *const engines[] = {
	&engine_lru, &engine_clock, &engine_twoq, &engine_arc, &engine_lirs, &engine_opt,
	&engine_classic, &engine_mglru, &engine_ubm_classic, &engine_ubm_mglru,
	&engine_bip_classic, &engine_bip_mglru, &engine_ubm_paper,
	&engine_sa_lru, &engine_sa_lfu, &engine_sa_nrlfu, &engine_sa_s3fifo, NULL
};

const struct engine *engine_find(const char *name)
{
	for (uint32_t i = 0; engines[i]; i++)
		if (!strcmp(engines[i]->name, name))
			return engines[i];
	return NULL;
}

/**
 * engine_run() - run a trace through an engine
 * @e: the engine.
 * @t: the trace.
 * @size: size of the cache in pages, at least 1.
 * @to: where counters of the engine go, or NULL.
 *
 * Return: the number of hits.
 */
uint32_t engine_run(const struct engine *e, const struct replay_trace *t, uint32_t size,
		    struct engine_stat *to)
{
	void *cache = e->create(t, size);
	uint32_t hits = 0, at = 0;

	for (uint32_t i = 0; i < t->nr_ranges; i++) {
		if (e->note)
			e->note(cache, &t->range[i]);
		for (uint32_t n = t->range[i].nr; n; n--)
			hits += e->reference(cache, t->ref[at++]);
	}
	if (to && e->stat)
		e->stat(cache, to);
	e->destroy(cache);
	return hits;
}

void *engine_alloc(size_t nr, size_t size)
{
	void *p = calloc(nr ? nr : 1, size);

	if (!p) {
		fprintf(stderr, "error: no memory for %zu x %zu bytes\n", nr, size);
		exit(1);
	}
	return p;
}
