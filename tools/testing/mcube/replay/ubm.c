// SPDX-License-Identifier: GPL-2.0
/*
 * UBM as in the kernel: mm/mcube/ubm/held.c on the lists of the kernel
 *
 * Copyright (C) 2026 The mcube authors
 *
 * Held pages lie on a list of their own, which is the active list in the kernel.  The rest lies
 * on the inactive list, or in the generations of MGLRU, with tiers as they are.  What is done
 * with the lists is what mm/mcube/ubm/turn.c does.
 */
#include "list.h"
#include "reclaim.h"
#include "ubm/held.h"

/* Bits of a page. */
enum { REFERENCED = 1, CANDIDATE = 2, AGAIN = 4 };

/* Pages at the tail of held that are looked at before one leaves it. */
#define LOOK	128U

/* Far from 0, which says that a page has not left. */
#define CLOCK	(1U << 28)

struct gap {
	struct mcube_ubm_held h;
	struct reclaim *rest;
	struct lists held;
	uint32_t nr_held;
	uint32_t all;		/* limit of both lists */
	uint8_t *flags;
	uint32_t *stamp;	/* 0: the page has not left */
	bool classic;
	uint32_t demoted;
};

static void hold(struct gap *c, uint32_t page)
{
	c->flags[page] = 0;
	list_push(&c->held, 0, page);
	c->nr_held++;
	c->rest->limit = c->all - c->nr_held;
	mcube_ubm_held_pushed(&c->h, 1);
}

static bool takes(void *arg, uint32_t page, bool again, bool leaves)
{
	struct gap *c = arg;

	if (c->classic && !leaves) {
		c->flags[page] |= AGAIN;
		c->rest->ops->add(c->rest, page, false);
		return true;
	}
	again |= c->flags[page] & AGAIN;
	if (again)
		mcube_ubm_held_again(&c->h, 1);
	if (c->classic ? !mcube_ubm_held_small(&c->h) : leaves)
		again = false;
	again |= c->flags[page] & CANDIDATE;
	if (!mcube_ubm_held_takes(&c->h, 1, c->rest->used, again))
		return false;
	hold(c, page);
	return true;
}

static void left(void *arg, uint32_t page)
{
	struct gap *c = arg;

	mcube_ubm_held_passed(&c->h, 1);
	c->stamp[page] = mcube_ubm_held_stamp(&c->h, c->h.clock, 1);
	c->flags[page] = 0;
}

/* Move tails that were used to the head.  Return: the tail was not used. */
static bool rotate(struct gap *c)
{
	uint32_t page, look;

	for (look = LOOK; look && c->nr_held; look--) {
		page = list_last(&c->held, 0);
		if (!(c->flags[page] & REFERENCED))
			return true;
		c->flags[page] = 0;
		list_move(&c->held, 0, page);
		mcube_ubm_held_kept(&c->h, 1);
	}
	return !c->nr_held;
}

static void turn(struct gap *c)
{
	bool idle = rotate(c);
	uint32_t nr = mcube_ubm_held_turn(&c->h, c->nr_held, c->rest->used, idle);
	uint32_t page, i;

	c->rest->small = mcube_ubm_held_small(&c->h);
	for (i = 0; i < nr && (!i || rotate(c)); i++) {
		page = list_last(&c->held, 0);
		list_del(&c->held, page);
		c->flags[page] = 0;
		c->nr_held--;
		c->rest->limit = c->all - c->nr_held;
		mcube_ubm_held_demoted(&c->h, 1, c->rest->used);
		c->rest->ops->add(c->rest, page, true);
		c->demoted++;
	}
}

static bool gap_reference(void *cache, uint32_t page)
{
	struct gap *c = cache;
	struct reclaim *rest = c->rest;

	if (list_has(&c->held, page)) {
		c->flags[page] |= REFERENCED;
		return true;
	}
	if (rest->ops->has(rest, page)) {
		rest->ops->hit(rest, page);
		return true;
	}
	if (rest->used == rest->limit)
		turn(c);
	rest->ops->miss(rest, page);
	if (c->stamp[page] &&
	    mcube_ubm_held_back(&c->h, c->stamp[page], 1, c->nr_held, rest->used - 1))
		c->flags[page] |= CANDIDATE;
	return false;
}

static struct gap *create(const struct replay_trace *t, uint32_t size,
			  const struct reclaim_ops *ops)
{
	struct gap *c = engine_alloc(1, sizeof(*c));

	c->classic = ops == &reclaim_classic;
	c->rest = ops->create(t->nr_pages, size);
	c->rest->takes = takes;
	c->rest->left = left;
	c->rest->arg = c;
	/* A small rest frees the least that reclaim wants, on MGLRU too: the mean is @size. */
	c->all = size + RECLAIM_BATCH / 2;
	c->rest->limit = c->all;
	c->flags = engine_alloc(t->nr_pages, sizeof(*c->flags));
	c->stamp = engine_alloc(t->nr_pages, sizeof(*c->stamp));
	lists_init(&c->held, t->nr_pages, 1);
	mcube_ubm_held_init(&c->h, size, RECLAIM_BATCH, CLOCK);
	return c;
}

static void *gap_classic_create(const struct replay_trace *t, uint32_t size)
{
	return create(t, size, &reclaim_classic);
}

static void *gap_mglru_create(const struct replay_trace *t, uint32_t size)
{
	return create(t, size, &reclaim_mglru);
}

static void gap_stat(const void *cache, struct engine_stat *to)
{
	const struct gap *c = cache;

	engine_stat(to, "held", c->nr_held);
	engine_stat(to, "rest", c->rest->used);
	engine_stat(to, "rest_wanted", c->h.rest);
	engine_stat(to, "demoted", c->demoted);
}

static void gap_destroy(void *cache)
{
	struct gap *c = cache;

	c->rest->ops->destroy(c->rest);
	lists_free(&c->held);
	free(c->flags);
	free(c->stamp);
	free(c);
}

const struct engine engine_ubm_classic = {
	.name = "ubm-classic",
	.about = "UBM as in the kernel, on the classic lists",
	.create = gap_classic_create,
	.reference = gap_reference,
	.stat = gap_stat,
	.destroy = gap_destroy,
};

const struct engine engine_ubm_mglru = {
	.name = "ubm-mglru",
	.about = "UBM as in the kernel, on the generations of MGLRU",
	.create = gap_mglru_create,
	.reference = gap_reference,
	.stat = gap_stat,
	.destroy = gap_destroy,
};
