// SPDX-License-Identifier: GPL-2.0
/*
 * OPT: the page that is needed last leaves; needs to know the future
 *
 * Copyright (C) 2026 The mcube authors
 *
 * Source: Belady, IBM Systems Journal 1966.
 */
#include <stdlib.h>

#include "heap.h"

struct opt {
	uint32_t size;
	uint32_t now;
	uint32_t *after;	/* time of the next reference to the page of a reference */
	struct heap needed;	/* pages of the cache by time of next reference */
};

static void *opt_create(const struct replay_trace *t, uint32_t size)
{
	struct opt *c = engine_alloc(1, sizeof(*c));
	uint32_t *next = engine_alloc(t->nr_pages, sizeof(*next));

	c->size = size;
	c->after = engine_alloc(t->nr_refs, sizeof(*c->after));
	heap_init(&c->needed, t->nr_pages, size);
	for (uint32_t i = 0; i < t->nr_pages; i++)
		next[i] = REPLAY_NONE;
	for (uint32_t i = t->nr_refs; i--;) {
		c->after[i] = next[t->ref[i]];
		next[t->ref[i]] = i;
	}
	free(next);
	return c;
}

static bool opt_reference(void *cache, uint32_t page)
{
	struct opt *c = cache;
	bool hit = heap_has(&c->needed, page);

	if (!hit && c->needed.nr == c->size)
		heap_del(&c->needed, c->needed.page[0]);
	heap_put(&c->needed, page, c->after[c->now++]);
	return hit;
}

static void opt_destroy(void *cache)
{
	struct opt *c = cache;

	heap_free(&c->needed);
	free(c->after);
	free(c);
}

const struct engine engine_opt = {
	.name = "opt",
	.about = "the best possible, knows the future",
	.create = opt_create,
	.reference = opt_reference,
	.destroy = opt_destroy,
};
