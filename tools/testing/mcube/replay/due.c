// SPDX-License-Identifier: GPL-2.0
/*
 * UBM with a ranking by due time, by the references of single pages
 *
 * Copyright (C) 2026 The mcube authors
 *
 * A page that was referenced again has a period, the mean time between its references.  It
 * is due a period after its last reference.  The victim is the page that is expected last:
 *
 *	        probation: first in, first out, 1 % of the cache
 *	          |                 |                    |
 *	 first reference,    first reference,      period known
 *	 cache was full      room was free               |
 *	          |                 |                    v
 *	          |                 |      late         DUE    time to go: until it is due
 *	          |                 |    +------------- that of the latest due time is the victim
 *	          v                 v    v
 *	         NEW               OTHER    time to go: 9/10 of the age
 *	 newest first: a victim    that of the oldest reference is the victim
 *	 before all others
 *
 * These are the partitions of UBM.  NEW has what may be sequential.  DUE has the loops: the
 * victim is the page that was just passed in the loop with the longest period.  OTHER has all
 * other pages in the order of LRU.  A page that comes late is expected after about as much time
 * again as it has been away (Lindy's rule).  The factor 9/10 is below 1, so that a loop that is
 * late keeps the pages ahead of its cursor, not those behind.
 *
 * What is kept of a page in the cache, and of some pages that left it: last reference, mean
 * period, and the last two gaps, 8 bytes when the times are packed.
 *
 * Source: Kim et al., OSDI 2000 (UBM); due times are this project's.
 *
 * Differences from the paper:
 *
 * - There are no sequences: the place of a page is not looked at, so the engine does the same if
 *   ids are renumbered at random.  Periods of neighbours were tried and did not help, because
 *   pages that the cursor of a loop comes to next are ranked well by their own periods already.
 * - References soon after each other count as a single reference.  Their gap says nothing about
 *   the time to the next reference.
 * - Harm is bounded.  Plain LRU of the same size runs beside, on numbers of pages only.  When its
 *   hits are ahead, victims are those of LRU for a while, and for twice as long the next time.
 *
 * The kernel does not use this engine: its folios lie on the LRU lists of mm, not in an order
 * by due time, and neither struct folio nor the shadow entry of a page that was evicted has
 * room for periods.  The engine says how much a ranking by page could add to runs.
 */
#include <stdlib.h>

#include "heap.h"
#include "list.h"

/* Shares are in 1/256. */
#define SHARE(x)	((uint32_t)((x) * 256 + 0.5))

/**
 * struct due_config - parameters
 * @probation: share of the cache for pages that were just referenced.
 * @same: gaps up to this multiple of the probation count as a single reference.
 * @old_period: weight of the old period in the mean.
 * @other: share of the age that counts as time to go in OTHER.
 * @ghosts: pages that are remembered after they left, for each page of the cache.
 * @slack: LRU takes over when it is ahead by this share of the cache, in hits.
 * @credit: most hits that count as ahead of LRU, as share of the cache.
 * @first_term: length of the first term of LRU, in references for each page of the cache.
 * @longest_term: length of the longest term of LRU.
 */
static const struct due_config {
	uint32_t probation;
	uint32_t same;
	uint32_t old_period;
	uint32_t other;
	uint32_t ghosts;
	uint32_t slack;
	uint32_t credit;
	uint32_t first_term;
	uint32_t longest_term;
} config = {
	.probation = SHARE(0.01),
	.same = 2,
	.old_period = SHARE(0.6),
	.other = SHARE(0.9),
	.ghosts = 4,
	.slack = SHARE(0.05),
	.credit = SHARE(0.125),
	.first_term = 8,
	.longest_term = 512,
};

enum { PROBATION, NEW, NR_LISTS };

/**
 * struct due_page - what is known of a page
 * @known: the page was referenced, and is in the cache or remembered.
 * @filled: the cache was full at the first reference.
 * @proving: the page is on probation.
 * @mean: mean period, 0: referenced once.  Periods are logarithms, see packed().
 * @gap: the last two gaps, the last one first.
 * @last: time of the last reference.
 */
struct due_page {
	bool known;
	bool filled;
	bool proving;
	uint16_t mean;
	uint16_t gap[2];
	uint32_t last;
};

/**
 * struct due - a cache
 * @size: its size in pages.
 * @used: pages in it.
 * @probation: most pages on the list PROBATION.
 * @on_probation: pages there.
 * @now: time, in references.
 * @page: what is known of each page.
 * @list: pages on probation, and new pages.
 * @far: pages that are due later, the last of them on top.
 * @near: the same pages, the first of them on top.
 * @other: the other pages, that of the oldest reference on top.
 * @order: all pages of the cache in order of last reference.
 * @ghost: pages that are remembered.
 * @ghost_place: place of a page in @ghost, REPLAY_NONE outside.
 * @nr_ghosts: pages in @ghost.
 * @random: state of the random numbers that choose ghosts to forget.
 * @lru: plain LRU of the same size.
 * @lru_used: pages in it.
 * @lead: hits ahead of plain LRU, negative: behind it.
 * @term: length of the next term of LRU.
 * @until: end of the present term, 0: there is none.
 * @lru_refs: references during terms, for the report.
 */
struct due {
	uint32_t size;
	uint32_t used;
	uint32_t probation;
	uint32_t on_probation;
	uint32_t now;
	struct due_page *page;
	struct lists list;
	struct heap far;
	struct heap near;
	struct heap other;
	struct lists order;
	uint32_t *ghost;
	uint32_t *ghost_place;
	uint32_t nr_ghosts;
	uint32_t random;
	struct lists lru;
	uint32_t lru_used;
	int64_t lead;
	uint64_t term;
	uint64_t until;
	uint64_t lru_refs;
};

/* A time of at least 1 as logarithm: 8 bits behind the point, linear between powers of 2. */
static uint16_t packed(uint32_t time)
{
	uint32_t power = 31 - __builtin_clz(time);

	return power << 8 | ((((uint64_t)time << 8) >> power) & 255);
}

static uint32_t unpacked(uint16_t log)
{
	return ((uint64_t)(256 | (log & 255)) << (log >> 8)) >> 8;
}

static void *due_create(const struct replay_trace *t, uint32_t size)
{
	struct due *c = engine_alloc(1, sizeof(*c));

	c->size = size;
	c->probation = (uint64_t)size * config.probation >> 8;
	if (c->probation < 2)
		c->probation = 2;
	c->term = (uint64_t)config.first_term * size;
	c->random = 1;
	c->page = engine_alloc(t->nr_pages, sizeof(*c->page));
	c->ghost = engine_alloc((size_t)config.ghosts * size, sizeof(*c->ghost));
	c->ghost_place = engine_alloc(t->nr_pages, sizeof(*c->ghost_place));
	for (uint32_t i = 0; i < t->nr_pages; i++)
		c->ghost_place[i] = REPLAY_NONE;
	lists_init(&c->list, t->nr_pages, NR_LISTS);
	lists_init(&c->order, t->nr_pages, 1);
	lists_init(&c->lru, t->nr_pages, 1);
	heap_init(&c->far, t->nr_pages, size);
	heap_init(&c->near, t->nr_pages, size);
	heap_init(&c->other, t->nr_pages, size);
	return c;
}

/* When is a page due?  0 if it has no period, or is late. */
static uint32_t due_time(const struct due *c, const struct due_page *p)
{
	uint16_t longest = p->gap[0] > p->gap[1] ? p->gap[0] : p->gap[1];
	uint32_t age = c->now - p->last;

	if (!p->mean)
		return 0;
	if (unpacked(p->mean) > age)
		return p->last + unpacked(p->mean);
	if (unpacked(longest) > age)
		return p->last + unpacked(longest);
	return 0;
}

/* Put a page where it belongs after its probation, or after it became due. */
static void place(struct due *c, uint32_t page)
{
	const struct due_page *p = &c->page[page];
	uint32_t due = due_time(c, p);

	if (due) {
		heap_put(&c->far, page, due);
		heap_put(&c->near, page, ~due);
	} else if (p->mean || !p->filled) {
		heap_put(&c->other, page, ~p->last);
	} else {
		list_push(&c->list, NEW, page);
	}
}

/* Take a page of the cache from where it is. */
static void displace(struct due *c, uint32_t page)
{
	if (heap_has(&c->far, page)) {
		heap_del(&c->far, page);
		heap_del(&c->near, page);
	} else if (heap_has(&c->other, page)) {
		heap_del(&c->other, page);
	} else {
		list_del(&c->list, page);
		c->on_probation -= c->page[page].proving;
		c->page[page].proving = false;
	}
}

/* Pages that became due and did not come. */
static void expire(struct due *c)
{
	while (c->near.nr && ~c->near.key[c->near.page[0]] <= c->now) {
		uint32_t page = c->near.page[0];

		displace(c, page);
		place(c, page);
	}
}

static uint32_t victim(const struct due *c)
{
	uint32_t page = list_first(&c->list, NEW);
	uint64_t time = 0;

	if (c->until)
		return list_last(&c->order, 0);
	if (page != REPLAY_NONE)
		return page;
	if (c->other.nr) {
		page = c->other.page[0];
		time = (uint64_t)(c->now - c->page[page].last) * config.other >> 8;
	}
	if (c->far.nr && (page == REPLAY_NONE || c->far.key[c->far.page[0]] - c->now > time))
		page = c->far.page[0];
	return page == REPLAY_NONE ? list_last(&c->list, PROBATION) : page;
}

/* Forget a page that left the cache. */
static void forget(struct due *c, uint32_t page)
{
	uint32_t last = c->ghost[--c->nr_ghosts];

	c->ghost[c->ghost_place[page]] = last;
	c->ghost_place[last] = c->ghost_place[page];
	c->ghost_place[page] = REPLAY_NONE;
}

/*
 * Remember a page that leaves the cache.  Those to forget are random: a loop that is longer
 * than the oldest ghost would never find a ghost otherwise.
 */
static void remember(struct due *c, uint32_t page)
{
	if (c->nr_ghosts == config.ghosts * c->size) {
		uint32_t old;

		c->random = c->random * 1664525 + 1013904223;
		old = c->ghost[(uint64_t)c->random * c->nr_ghosts >> 32];
		forget(c, old);
		c->page[old].known = false;
	}
	c->ghost[c->nr_ghosts] = page;
	c->ghost_place[page] = c->nr_ghosts++;
}

static void evict(struct due *c)
{
	uint32_t page = victim(c);

	displace(c, page);
	list_del(&c->order, page);
	remember(c, page);
	c->used--;
}

/* Plain LRU beside: would it have had a hit? */
static bool lru_hit(struct due *c, uint32_t page)
{
	bool hit = list_has(&c->lru, page);

	if (hit)
		list_del(&c->lru, page);
	else if (c->lru_used == c->size)
		list_del(&c->lru, list_last(&c->lru, 0));
	else
		c->lru_used++;
	list_push(&c->lru, 0, page);
	return hit;
}

/* Compare with plain LRU, and begin or end a term of LRU. */
static void guard(struct due *c, uint32_t page, bool hit)
{
	int64_t credit = (uint64_t)config.credit * c->size >> 8;
	int64_t slack = (uint64_t)config.slack * c->size >> 8;

	c->lead += hit - lru_hit(c, page);
	if (c->lead >= credit) {
		c->lead = credit;
		if (!c->until)
			c->term = (uint64_t)config.first_term * c->size;
	}
	if (c->until) {
		c->lru_refs++;
		if (c->now >= c->until) {
			c->until = 0;
			c->lead = 0;
		}
	} else if (c->lead < -(slack > 8 ? slack : 8)) {
		c->until = c->now + c->term;
		if (c->term < (uint64_t)config.longest_term * c->size)
			c->term *= 2;
	}
}

/* A page is referenced: what does that say about its period? */
static void learn(struct due *c, struct due_page *p)
{
	uint32_t gap = c->now - p->last;
	uint32_t old = config.old_period;
	uint16_t log;

	if (!p->known) {
		*p = (struct due_page){ .known = true, .filled = c->used == c->size };
	} else if (gap > config.same * c->probation) {
		log = packed(gap);
		p->mean = p->mean ? (p->mean * old + log * (256 - old) + 128) >> 8 : log;
		p->gap[1] = p->gap[0];
		p->gap[0] = log;
	}
	p->last = c->now;
}

static bool due_reference(void *cache, uint32_t page)
{
	struct due *c = cache;
	bool hit = list_has(&c->order, page);

	c->now++;
	expire(c);
	guard(c, page, hit);
	learn(c, &c->page[page]);
	if (hit) {
		displace(c, page);
		list_del(&c->order, page);
	} else {
		if (c->ghost_place[page] != REPLAY_NONE)
			forget(c, page);
		if (c->used == c->size)
			evict(c);
		c->used++;
	}
	list_push(&c->order, 0, page);
	list_push(&c->list, PROBATION, page);
	c->page[page].proving = true;
	if (++c->on_probation > c->probation) {
		uint32_t proved = list_last(&c->list, PROBATION);

		displace(c, proved);
		place(c, proved);
	}
	return hit;
}

static void due_stat(const void *cache, struct engine_stat *to)
{
	const struct due *c = cache;

	engine_stat(to, "lru_share", c->now ? (double)c->lru_refs / c->now : 0);
}

static void due_destroy(void *cache)
{
	struct due *c = cache;

	free(c->page);
	free(c->ghost);
	free(c->ghost_place);
	lists_free(&c->list);
	lists_free(&c->order);
	lists_free(&c->lru);
	heap_free(&c->far);
	heap_free(&c->near);
	heap_free(&c->other);
	free(c);
}

const struct engine engine_due = {
	.name = "ubm-due",
	.about = "UBM by due times of single pages",
	.create = due_create,
	.reference = due_reference,
	.stat = due_stat,
	.destroy = due_destroy,
};
