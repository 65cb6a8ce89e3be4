// SPDX-License-Identifier: GPL-2.0
/*
 * CLOCK: first in, first out, with a second chance for pages that were referenced
 *
 * Copyright (C) 2026 The mcube authors
 *
 * The hand of the clock is at the end of the list.
 */
#include "list.h"

struct clock {
	uint32_t size;
	uint32_t used;
	bool *referenced;
	struct lists list;
};

static void *clock_create(const struct replay_trace *t, uint32_t size)
{
	struct clock *c = engine_alloc(1, sizeof(*c));

	c->size = size;
	c->referenced = engine_alloc(t->nr_pages, sizeof(*c->referenced));
	lists_init(&c->list, t->nr_pages, 1);
	return c;
}

static void evict(struct clock *c)
{
	uint32_t page = list_last(&c->list, 0);

	while (c->referenced[page]) {
		c->referenced[page] = false;
		list_move(&c->list, 0, page);
		page = list_last(&c->list, 0);
	}
	list_del(&c->list, page);
}

static bool clock_reference(void *cache, uint32_t page)
{
	struct clock *c = cache;

	if (list_has(&c->list, page)) {
		c->referenced[page] = true;
		return true;
	}
	if (c->used == c->size)
		evict(c);
	else
		c->used++;
	list_push(&c->list, 0, page);
	return false;
}

static void clock_destroy(void *cache)
{
	struct clock *c = cache;

	lists_free(&c->list);
	free(c->referenced);
	free(c);
}

const struct engine engine_clock = {
	.name = "clock",
	.about = "second chance",
	.create = clock_create,
	.reference = clock_reference,
	.destroy = clock_destroy,
};
