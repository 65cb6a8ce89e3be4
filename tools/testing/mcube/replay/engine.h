/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What an engine of the trace replay is
 *
 * Copyright (C) 2026 The mcube authors
 *
 * An engine is a cache of @size pages with a replacement policy.  The replay creates an
 * engine for a trace and a size, hands it all references in order, and counts the hits.
 * An engine may look at the places of pages (trace->page), as a kernel knows file and
 * index, and must not look at the order of references ahead.  Only OPT does that.
 *
 *	create(trace, size)
 *	for each range of the trace:
 *		note(engine, range)		if the engine has it
 *		for each page of the range:
 *			reference(engine, page)
 *	stat(engine, ...), destroy(engine)
 */
#ifndef MCUBE_REPLAY_ENGINE_H
#define MCUBE_REPLAY_ENGINE_H

#include "trace.h"

struct engine_stat;

/**
 * struct engine - a replacement policy
 * @name: name on the command line.
 * @about: a line for the help.
 * @create: make a cache of @size pages (at least 1), empty.  Never returns NULL.
 * @note: a call reads these pages next; optional.
 * @reference: a page is referenced.  True if the page was in the cache.
 * @stat: put counters out by engine_stat(); optional.
 * @destroy: free the cache.
 */
struct engine {
	const char *name;
	const char *about;
	void *(*create)(const struct replay_trace *trace, uint32_t size);
	void (*note)(void *cache, const struct replay_range *range);
	bool (*reference)(void *cache, uint32_t page);
	void (*stat)(const void *cache, struct engine_stat *to);
	void (*destroy)(void *cache);
};

/* The engines, each in a file of its name. */
extern const struct engine engine_lru, engine_clock, engine_twoq, engine_arc, engine_lirs,
	engine_opt, engine_classic, engine_mglru, engine_ubm_classic, engine_ubm_mglru,
	engine_bip_classic, engine_bip_mglru, engine_ubm_paper, engine_sa_lru, engine_sa_lfu,
	engine_sa_nrlfu, engine_sa_s3fifo;

/* All engines, up to a NULL; and an engine by name, NULL if there is none. */
extern const struct engine *const engines[];
const struct engine *engine_find(const char *name);

/* A counter of an engine for the output; @name has no spaces. */
void engine_stat(struct engine_stat *to, const char *name, double value);

/* Hits of an engine on a trace. */
uint32_t engine_run(const struct engine *e, const struct replay_trace *t, uint32_t size,
		    struct engine_stat *to);

/* calloc() that does not return NULL. */
void *engine_alloc(size_t nr, size_t size);

#endif /* MCUBE_REPLAY_ENGINE_H */
