// SPDX-License-Identifier: GPL-2.0
/*
 * ARC: recency and frequency in balance
 *
 * Copyright (C) 2026 The mcube authors
 *
 *	T1  pages that were referenced once        B1  numbers of pages that left T1
 *	T2  pages that were referenced again       B2  numbers of pages that left T2
 *
 * A hit in B1 says that T1 should be larger, a hit in B2 that T1 should be smaller.
 *
 * Source: Megiddo and Modha, FAST 2003.
 */
#include "list.h"

enum { T1, T2, B1, B2, NR_LISTS };

struct arc {
	uint32_t size;
	double target;		/* of T1 */
	uint32_t nr[NR_LISTS];
	uint8_t *where;		/* the list of a page that is on a list */
	struct lists list;
};

static void *arc_create(const struct replay_trace *t, uint32_t size)
{
	struct arc *c = engine_alloc(1, sizeof(*c));

	c->size = size;
	c->where = engine_alloc(t->nr_pages, sizeof(*c->where));
	lists_init(&c->list, t->nr_pages, NR_LISTS);
	return c;
}

static void take(struct arc *c, uint32_t page)
{
	list_del(&c->list, page);
	c->nr[c->where[page]]--;
}

static void put(struct arc *c, uint8_t list, uint32_t page)
{
	list_push(&c->list, list, page);
	c->where[page] = list;
	c->nr[list]++;
}

/* A page of T1 or T2 leaves the cache; its number goes to B1 or B2. */
static void replace(struct arc *c, bool hit_in_b2)
{
	uint8_t from = T2;
	uint32_t page;

	if (c->nr[T1] && (c->nr[T1] > c->target || (hit_in_b2 && c->nr[T1] == c->target)))
		from = T1;
	if (!c->nr[from])
		from = T1 + T2 - from;
	page = list_last(&c->list, from);
	take(c, page);
	put(c, from == T1 ? B1 : B2, page);
}

static void adapt(struct arc *c, uint8_t ghost)
{
	double other = c->nr[B1 + B2 - ghost], mine = c->nr[ghost];
	double step = other > mine ? other / mine : 1;

	c->target += ghost == B1 ? step : -step;
	if (c->target > c->size)
		c->target = c->size;
	if (c->target < 0)
		c->target = 0;
}

/* Room for a page of which nothing is known. */
static void make_room(struct arc *c)
{
	uint32_t once = c->nr[T1] + c->nr[B1];
	uint32_t all = once + c->nr[T2] + c->nr[B2];

	if (once == c->size) {
		if (c->nr[T1] < c->size) {
			take(c, list_last(&c->list, B1));
			replace(c, false);
		} else {
			take(c, list_last(&c->list, T1));
		}
	} else if (all >= c->size) {
		if (all == 2 * c->size)
			take(c, list_last(&c->list, B2));
		replace(c, false);
	}
}

static bool arc_reference(void *cache, uint32_t page)
{
	struct arc *c = cache;
	uint8_t from;

	if (!list_has(&c->list, page)) {
		make_room(c);
		put(c, T1, page);
		return false;
	}
	from = c->where[page];
	if (from == B1 || from == B2) {
		adapt(c, from);
		replace(c, from == B2);
	}
	take(c, page);
	put(c, T2, page);
	return from == T1 || from == T2;
}

static void arc_destroy(void *cache)
{
	struct arc *c = cache;

	lists_free(&c->list);
	free(c->where);
	free(c);
}

const struct engine engine_arc = {
	.name = "arc",
	.about = "ARC, FAST 2003",
	.create = arc_create,
	.reference = arc_reference,
	.destroy = arc_destroy,
};
