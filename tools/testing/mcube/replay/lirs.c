// SPDX-License-Identifier: GPL-2.0
/*
 * LIRS: pages with a short distance between their last two references stay
 *
 * Copyright (C) 2026 The mcube authors
 *
 *	stack S   pages in order of their last reference, down to the LIR page that was
 *	          referenced first; also numbers of HIR pages that left the cache
 *	queue Q   HIR pages in the cache, first in, first out: the victims
 *
 * A HIR page that is referenced while its number is in S was away for less time than the
 * last LIR page, and takes its place.  HIR pages get 1 % of the cache, at least 2 pages.
 * S has no limit, as in the authors' program.
 *
 * Source: Jiang and Zhang, SIGMETRICS 2002.
 */
#include "list.h"

struct lirs {
	uint32_t size;
	uint32_t most_lir;
	uint32_t nr_lir;
	uint32_t nr;		/* pages in the cache */
	bool *lir;
	bool *cached;
	struct lists stack;
	struct lists queue;
};

static void *lirs_create(const struct replay_trace *t, uint32_t size)
{
	struct lirs *c = engine_alloc(1, sizeof(*c));
	uint32_t hir = size / 100 > 2 ? size / 100 : 2;

	c->size = size;
	c->most_lir = size > hir ? size - hir : 0;
	c->lir = engine_alloc(t->nr_pages, sizeof(*c->lir));
	c->cached = engine_alloc(t->nr_pages, sizeof(*c->cached));
	lists_init(&c->stack, t->nr_pages, 1);
	lists_init(&c->queue, t->nr_pages, 1);
	return c;
}

/* The last page of S is a LIR page, always. */
static void prune(struct lirs *c)
{
	uint32_t page;

	while ((page = list_last(&c->stack, 0)) != REPLAY_NONE && !c->lir[page])
		list_del(&c->stack, page);
}

static void push(struct lists *l, uint32_t page)
{
	if (list_has(l, page))
		list_del(l, page);
	list_push(l, 0, page);
}

static void demote_last(struct lirs *c)
{
	uint32_t page = list_last(&c->stack, 0);

	list_del(&c->stack, page);
	c->lir[page] = false;
	c->nr_lir--;
	push(&c->queue, page);
	prune(c);
}

static void promote(struct lirs *c, uint32_t page)
{
	if (list_has(&c->queue, page))
		list_del(&c->queue, page);
	c->lir[page] = true;
	c->nr_lir++;
	push(&c->stack, page);
	if (c->nr_lir > c->most_lir)
		demote_last(c);
}

static void evict(struct lirs *c)
{
	uint32_t page = list_last(&c->queue, 0);

	list_del(&c->queue, page);
	c->cached[page] = false;
	c->nr--;
}

static bool lirs_reference(void *cache, uint32_t page)
{
	struct lirs *c = cache;
	bool hit = c->cached[page];

	if (c->lir[page]) {
		push(&c->stack, page);
		prune(c);
		return true;
	}
	if (!hit) {
		if (c->nr == c->size)
			evict(c);
		c->cached[page] = true;
		c->nr++;
	}
	if (list_has(&c->stack, page) ? c->most_lir : !hit && c->nr_lir < c->most_lir) {
		promote(c, page);
	} else {
		push(&c->stack, page);
		push(&c->queue, page);
		prune(c);
	}
	return hit;
}

static void lirs_destroy(void *cache)
{
	struct lirs *c = cache;

	lists_free(&c->stack);
	lists_free(&c->queue);
	free(c->lir);
	free(c->cached);
	free(c);
}

const struct engine engine_lirs = {
	.name = "lirs",
	.about = "LIRS, SIGMETRICS 2002, 1 % HIR pages",
	.create = lirs_create,
	.reference = lirs_reference,
	.destroy = lirs_destroy,
};
