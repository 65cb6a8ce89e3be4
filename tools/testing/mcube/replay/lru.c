// SPDX-License-Identifier: GPL-2.0
/*
 * LRU: the page that was not referenced for the longest time leaves
 *
 * Copyright (C) 2026 The mcube authors
 */
#include "list.h"
#include "reclaim.h"

struct lru {
	struct reclaim r;
	struct lists list;
};

static struct reclaim *lru_lists(uint32_t nr_pages, uint32_t size)
{
	struct lru *c = engine_alloc(1, sizeof(*c));

	c->r.ops = &reclaim_lru;
	c->r.limit = size;
	lists_init(&c->list, nr_pages, 1);
	return &c->r;
}

static bool lru_has(const struct reclaim *r, uint32_t page)
{
	return list_has(&((const struct lru *)r)->list, page);
}

static void lru_hit(struct reclaim *r, uint32_t page)
{
	list_move(&((struct lru *)r)->list, 0, page);
}

static void evict(struct lru *c)
{
	uint32_t tries, page;

	for (tries = 0; tries < c->r.limit; tries++) {
		page = list_last(&c->list, 0);
		if (!reclaim_keeps(&c->r, page, RECLAIM_PRIORITY, 0))
			break;
		list_move(&c->list, 0, page);
	}
	list_del(&c->list, list_last(&c->list, 0));
	c->r.used--;
}

static void lru_miss(struct reclaim *r, uint32_t page)
{
	struct lru *c = (struct lru *)r;

	if (r->used == r->limit)
		evict(c);
	reclaim_used(r);
	list_push(&c->list, 0, page);
}

static void lru_next(struct reclaim *r, uint32_t page, bool once, bool brief)
{
	struct lru *c = (struct lru *)r;

	list_del(&c->list, page);
	list_append(&c->list, 0, page);
}

static void lru_free(struct reclaim *r)
{
	lists_free(&((struct lru *)r)->list);
	free(r);
}

const struct reclaim_ops reclaim_lru = {
	.create = lru_lists,
	.has = lru_has,
	.hit = lru_hit,
	.miss = lru_miss,
	.next = lru_next,
	.destroy = lru_free,
};

static void *lru_create(const struct replay_trace *t, uint32_t size)
{
	return lru_lists(t->nr_pages, size);
}

const struct engine engine_lru = {
	.name = "lru",
	.about = "least recently used",
	.create = lru_create,
	.reference = reclaim_reference,
	.destroy = reclaim_destroy,
};
