// SPDX-License-Identifier: GPL-2.0
/*
 * The classic lists of the kernel: an active and an inactive list
 *
 * Copyright (C) 2026 The mcube authors
 *
 *   first read ---> inactive -----------------> leaves, with the time
 *                    |    ^   oldest page first
 *        second read |    | more active than inactive pages,
 *                    v    | or pages have come back soon
 *                    active <--- comes back soon
 *
 * Time is counted in pages that left or became active.  A page comes back soon if since
 * it left no more time has passed than the active list has pages.  See mm/workingset.c,
 * and shrink_lruvec() in mm/vmscan.c: reclaim wants 32 pages at a time, begins with 1/4096
 * of each list, and doubles the part until it has them.
 *
 * Differences from the kernel:
 *
 *  - The kernel's counts of a memory cgroup, by which reclaim decides, are up to two
 *    seconds old.  Here they are exact, as the replay has no clock.
 *  - Pages do not wait in batches of a CPU: reclaim empties these before it looks.
 */
#include <linux/minmax.h>

#include "list.h"
#include "reclaim.h"

enum { INACTIVE, ACTIVE, LISTS };

/* Bits of a page. */
enum { REFERENCED = 1, IS_ACTIVE = 2 };

struct classic {
	struct reclaim r;
	struct lists list;
	uint32_t nr[LISTS];
	uint8_t *flags;
	/* When a page left, and 1 more; 0 if it did not. */
	uint32_t *left;
	uint32_t time;
	/* Pages that have come back soon, and how many there were in the last reclaim. */
	uint32_t soon;
	uint32_t soon_before;
};

static struct reclaim *classic_lists(uint32_t nr_pages, uint32_t size)
{
	struct classic *c = engine_alloc(1, sizeof(*c));

	c->r.ops = &reclaim_classic;
	/* Reclaim frees a batch at a time: the mean is @size pages. */
	c->r.limit = size + RECLAIM_BATCH / 2;
	c->flags = engine_alloc(nr_pages, sizeof(*c->flags));
	c->left = engine_alloc(nr_pages, sizeof(*c->left));
	lists_init(&c->list, nr_pages, LISTS);
	return &c->r;
}

static bool classic_has(const struct reclaim *r, uint32_t page)
{
	return list_has(&((const struct classic *)r)->list, page);
}

static void take(struct classic *c, uint32_t page)
{
	list_del(&c->list, page);
	c->nr[c->flags[page] & IS_ACTIVE ? ACTIVE : INACTIVE]--;
}

static void put(struct classic *c, uint32_t page, uint32_t to)
{
	if (to == ACTIVE)
		c->flags[page] |= IS_ACTIVE;
	else
		c->flags[page] &= ~IS_ACTIVE;
	list_push(&c->list, to, page);
	c->nr[to]++;
}

/* folio_mark_accessed() */
static void classic_hit(struct reclaim *r, uint32_t page)
{
	struct classic *c = (struct classic *)r;

	if (!(c->flags[page] & REFERENCED)) {
		c->flags[page] |= REFERENCED;
	} else if (!(c->flags[page] & IS_ACTIVE)) {
		take(c, page);
		c->flags[page] &= ~REFERENCED;
		if (!reclaim_takes(r, page, true, false)) {
			put(c, page, ACTIVE);
			c->time++;
		}
	}
}

/* shrink_inactive_list().  Return: pages that left. */
static uint32_t shrink_inactive(struct classic *c, uint32_t nr)
{
	uint32_t page, gone = 0;

	for (; nr && c->nr[INACTIVE]; nr--) {
		page = list_last(&c->list, INACTIVE);
		take(c, page);
		if (reclaim_takes(&c->r, page, false, true)) {
			c->flags[page] = 0;
			continue;
		}
		c->left[page] = ++c->time;
		c->flags[page] = 0;
		gone++;
	}
	return gone;
}

/* shrink_active_list() */
static void shrink_active(struct classic *c, uint32_t nr)
{
	uint32_t page;

	for (; nr && c->nr[ACTIVE]; nr--) {
		page = list_last(&c->list, ACTIVE);
		take(c, page);
		put(c, page, INACTIVE);
	}
}

/* shrink_lruvec() */
static uint32_t shrink(struct classic *c, int priority, bool force)
{
	bool deactivate = force || c->soon != c->soon_before || c->nr[INACTIVE] < c->nr[ACTIVE];
	uint32_t nr[LISTS] = { c->nr[INACTIVE] >> priority, c->nr[ACTIVE] >> priority };
	uint32_t gone = 0, part;

	while ((nr[INACTIVE] || nr[ACTIVE]) && gone < RECLAIM_BATCH) {
		part = min(nr[INACTIVE], RECLAIM_BATCH);
		nr[INACTIVE] -= part;
		gone += shrink_inactive(c, part);
		part = min(nr[ACTIVE], RECLAIM_BATCH);
		nr[ACTIVE] -= part;
		if (deactivate)
			shrink_active(c, part);
	}
	return gone;
}

/* do_try_to_free_pages() */
static void reclaim(struct classic *c)
{
	uint32_t freed = 0;
	int priority;
	bool force;

	for (force = false; !freed; force = true) {
		for (priority = RECLAIM_PRIORITY; priority >= 0 && freed < RECLAIM_BATCH;
		     priority--)
			freed += shrink(c, priority, force);
		c->soon_before = c->soon;
	}
	c->r.used -= freed;
}

static void classic_miss(struct reclaim *r, uint32_t page)
{
	struct classic *c = (struct classic *)r;
	uint32_t to = INACTIVE;

	if (r->used >= r->limit)
		reclaim(c);
	/* workingset_refault() */
	if (c->left[page] && c->time - (c->left[page] - 1) <= c->nr[ACTIVE]) {
		to = ACTIVE;
		c->time++;
		c->soon++;
	} else if (c->left[page] && reclaim_lucky(r)) {
		to = ACTIVE;
	}
	put(c, page, to);
	c->flags[page] |= REFERENCED;
	reclaim_used(r);
}

static void classic_add(struct reclaim *r, uint32_t page, bool first)
{
	struct classic *c = (struct classic *)r;

	(first ? list_append : list_push)(&c->list, INACTIVE, page);
	c->nr[INACTIVE]++;
	c->flags[page] &= ~IS_ACTIVE;
	r->used++;
}

static void classic_free(struct reclaim *r)
{
	struct classic *c = (struct classic *)r;

	lists_free(&c->list);
	free(c->flags);
	free(c->left);
	free(c);
}

const struct reclaim_ops reclaim_classic = {
	.create = classic_lists,
	.has = classic_has,
	.hit = classic_hit,
	.miss = classic_miss,
	.add = classic_add,
	.destroy = classic_free,
};

RECLAIM_ENGINE(classic, classic_lists, false, "classic",
	       "the classic lists of the kernel, active and inactive");
RECLAIM_ENGINE(bip_classic, classic_lists, true, "bip-classic",
	       "classic lists, where one late refault in eight becomes active");
