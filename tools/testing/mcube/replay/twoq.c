// SPDX-License-Identifier: GPL-2.0
/*
 * 2Q: pages prove themselves in a short queue
 *
 * Copyright (C) 2026 The mcube authors
 *
 *	new page -> A1in (first in, first out, 1/4 of the cache)
 *	                 -> A1out (numbers of pages only, 1/2 of the cache)
 *	                          -> Am (LRU), if the page is referenced from there
 *
 * Source: Johnson and Shasha, VLDB 1994, the full version with the sizes that the paper
 * recommends.
 */
#include "list.h"

enum { IN, OUT, MAIN, NR_LISTS };

struct twoq {
	uint32_t size;
	uint32_t most[NR_LISTS];
	uint32_t nr[NR_LISTS];
	uint8_t *where;		/* the list of a page that is on a list */
	struct lists list;
};

static void *twoq_create(const struct replay_trace *t, uint32_t size)
{
	struct twoq *c = engine_alloc(1, sizeof(*c));

	c->size = size;
	c->most[IN] = size / 4 ? size / 4 : 1;
	c->most[OUT] = size / 2 ? size / 2 : 1;
	c->where = engine_alloc(t->nr_pages, sizeof(*c->where));
	lists_init(&c->list, t->nr_pages, NR_LISTS);
	return c;
}

static void put(struct twoq *c, uint8_t list, uint32_t page)
{
	if (list_has(&c->list, page)) {
		c->nr[c->where[page]]--;
		list_del(&c->list, page);
	}
	list_push(&c->list, list, page);
	c->where[page] = list;
	c->nr[list]++;
}

static void drop_last(struct twoq *c, uint8_t list)
{
	list_del(&c->list, list_last(&c->list, list));
	c->nr[list]--;
}

static void make_room(struct twoq *c)
{
	if (c->nr[IN] + c->nr[MAIN] < c->size)
		return;
	if (c->nr[IN] > c->most[IN] || !c->nr[MAIN]) {
		put(c, OUT, list_last(&c->list, IN));
		if (c->nr[OUT] > c->most[OUT])
			drop_last(c, OUT);
	} else {
		drop_last(c, MAIN);
	}
}

static bool twoq_reference(void *cache, uint32_t page)
{
	struct twoq *c = cache;
	uint8_t to = IN;

	if (list_has(&c->list, page)) {
		if (c->where[page] == MAIN)
			put(c, MAIN, page);
		if (c->where[page] != OUT)
			return true;
		/* The page must not fall off the end of A1out now. */
		list_del(&c->list, page);
		c->nr[OUT]--;
		to = MAIN;
	}
	make_room(c);
	put(c, to, page);
	return false;
}

static void twoq_destroy(void *cache)
{
	struct twoq *c = cache;

	lists_free(&c->list);
	free(c->where);
	free(c);
}

const struct engine engine_twoq = {
	.name = "2q",
	.about = "2Q, VLDB 1994, queues of 1/4 and 1/2 of the cache",
	.create = twoq_create,
	.reference = twoq_reference,
	.destroy = twoq_destroy,
};
