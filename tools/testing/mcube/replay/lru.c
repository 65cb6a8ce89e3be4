// SPDX-License-Identifier: GPL-2.0
/*
 * LRU: the page that was not referenced for the longest time leaves
 *
 * Copyright (C) 2026 The mcube authors
 */
#include "list.h"
#include "engine.h"

struct lru {
	struct lists list;
	uint32_t size;
	uint32_t used;
};

static void *lru_create(const struct replay_trace *t, uint32_t size)
{
	struct lru *c = engine_alloc(1, sizeof(*c));

	c->size = size;
	lists_init(&c->list, t->nr_pages, 1);
	return c;
}

static bool lru_reference(void *cache, uint32_t page)
{
	struct lru *c = cache;

	if (list_has(&c->list, page)) {
		list_move(&c->list, 0, page);
		return true;
	}
	if (c->used == c->size)
		list_del(&c->list, list_last(&c->list, 0));
	else
		c->used++;
	list_push(&c->list, 0, page);
	return false;
}

static void lru_destroy(void *cache)
{
	struct lru *c = cache;

	lists_free(&c->list);
	free(c);
}

const struct engine engine_lru = {
	.name = "lru",
	.about = "least recently used",
	.create = lru_create,
	.reference = lru_reference,
	.destroy = lru_destroy,
};
