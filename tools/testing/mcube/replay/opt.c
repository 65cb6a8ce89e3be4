// SPDX-License-Identifier: GPL-2.0
/*
 * OPT: the page that is needed last leaves; needs to know the future
 *
 * Copyright (C) 2026 The mcube authors
 *
 * The pages of the cache are in a binary heap.  Its top is the page that is needed last.
 *
 * Source: Belady, IBM Systems Journal 1966.
 */
#include <stdlib.h>

#include "engine.h"

struct opt {
	uint32_t size;
	uint32_t nr;
	uint32_t now;
	uint32_t *after;	/* time of the next reference to the page of a reference */
	uint32_t *next;		/* the same of a page */
	uint32_t *heap;
	uint32_t *place;	/* of a page in the heap, REPLAY_NONE outside */
};

static void *opt_create(const struct replay_trace *t, uint32_t size)
{
	struct opt *c = engine_alloc(1, sizeof(*c));

	c->size = size;
	c->after = engine_alloc(t->nr_refs, sizeof(*c->after));
	c->next = engine_alloc(t->nr_pages, sizeof(*c->next));
	c->place = engine_alloc(t->nr_pages, sizeof(*c->place));
	c->heap = engine_alloc(size < t->nr_pages ? size : t->nr_pages, sizeof(*c->heap));
	for (uint32_t i = 0; i < t->nr_pages; i++) {
		c->next[i] = REPLAY_NONE;
		c->place[i] = REPLAY_NONE;
	}
	for (uint32_t i = t->nr_refs; i--;) {
		c->after[i] = c->next[t->ref[i]];
		c->next[t->ref[i]] = i;
	}
	return c;
}

static void set(struct opt *c, uint32_t place, uint32_t page)
{
	c->heap[place] = page;
	c->place[page] = place;
}

/* Find the place of a page that is put in at @place, upwards or downwards. */
static void settle(struct opt *c, uint32_t place, uint32_t page)
{
	while (place && c->next[c->heap[(place - 1) / 2]] < c->next[page]) {
		set(c, place, c->heap[(place - 1) / 2]);
		place = (place - 1) / 2;
	}
	for (;;) {
		uint32_t child = 2 * place + 1;

		if (child + 1 < c->nr && c->next[c->heap[child + 1]] > c->next[c->heap[child]])
			child++;
		if (child >= c->nr || c->next[c->heap[child]] <= c->next[page])
			break;
		set(c, place, c->heap[child]);
		place = child;
	}
	set(c, place, page);
}

static bool opt_reference(void *cache, uint32_t page)
{
	struct opt *c = cache;
	bool hit = c->place[page] != REPLAY_NONE;

	c->next[page] = c->after[c->now++];
	if (hit) {
		settle(c, c->place[page], page);
	} else if (c->nr == c->size) {
		c->place[c->heap[0]] = REPLAY_NONE;
		settle(c, 0, page);
	} else {
		c->nr++;
		settle(c, c->nr - 1, page);
	}
	return hit;
}

static void opt_destroy(void *cache)
{
	struct opt *c = cache;

	free(c->after);
	free(c->next);
	free(c->place);
	free(c->heap);
	free(c);
}

const struct engine engine_opt = {
	.name = "opt",
	.about = "the best possible, knows the future",
	.create = opt_create,
	.reference = opt_reference,
	.destroy = opt_destroy,
};
