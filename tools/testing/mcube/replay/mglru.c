// SPDX-License-Identifier: GPL-2.0
/*
 * MGLRU, the generations of the kernel
 *
 * Copyright (C) 2026 The mcube authors
 *
 *   pages come in --> second oldest or oldest     each generation is a list; pages leave
 *                                                 from the end of the oldest
 *   used often   -->  one younger, when reclaim comes by: by how often pages come back
 *                     that were used once, twice, four times, or more (tiers)
 *
 * See evict_folios(), should_run_aging() and the PID controller in mm/vmscan.c, and
 * mm/workingset.c.  There is no swap, so that all pages are of files.  Reclaim takes 64
 * pages at a time.
 *
 * Differences from the kernel: pages do not wait in batches of a CPU.
 */
#include <linux/log2.h>

#include "list.h"
#include "reclaim.h"

/* Generations: at least 2, at most 4 at a time, in lists that are used in turns. */
#define LEAST_GENS	2U
#define GENS		4U
#define TIERS		4U
#define SCAN_BATCH	64U			/* MIN_LRU_BATCH */
#define SCAN_MOST	(64U * SCAN_BATCH)	/* MAX_LRU_BATCH */
#define MOST_USES	3U

/**
 * struct page - a page of the trace
 * @seq: its generation, if it is in memory.
 * @referenced: it was used; @workingset: again; @uses: times beyond, up to MOST_USES.
 * @left: oldest generation when it left, and 1 more; 0 if it did not.
 * @refs: refs() when it left.
 */
struct page {
	uint32_t seq;
	uint32_t left;
	uint8_t refs;
	uint8_t uses;
	bool referenced;
	bool workingset;
};

/**
 * struct tier - pages that were used about equally often
 * @evicted: pages that left from the oldest generation.
 * @refaulted: pages of these that came back while it was the oldest.
 * @kept: pages that went to the next generation instead.
 * @mean_refaulted, @mean_total: of the generations before.
 */
struct tier {
	uint64_t evicted, refaulted, kept, mean_refaulted, mean_total;
};

struct mglru {
	struct reclaim r;
	struct lists list;
	struct page *page;
	uint32_t nr[GENS];
	uint32_t oldest;
	uint32_t youngest;
	struct tier tier[TIERS];
};

static struct reclaim *mglru_lists(uint32_t nr_pages, uint32_t size)
{
	struct mglru *c = engine_alloc(1, sizeof(*c));

	c->r.ops = &reclaim_mglru;
	/* Reclaim frees a batch at a time: the mean is @size pages. */
	c->r.limit = size + SCAN_BATCH / 2;
	c->page = engine_alloc(nr_pages, sizeof(*c->page));
	c->youngest = LEAST_GENS + 1;
	lists_init(&c->list, nr_pages, GENS);
	return &c->r;
}

static bool mglru_has(const struct reclaim *r, uint32_t page)
{
	return list_has(&((const struct mglru *)r)->list, page);
}

/* folio_lru_refs() */
static uint32_t refs(const struct page *p)
{
	return p->uses + p->workingset;
}

/* lru_tier_from_refs() */
static uint32_t tier_of(uint32_t nr)
{
	return nr ? ilog2(nr) + 1 : 0;
}

static void forget(struct page *p)
{
	p->referenced = false;
	p->workingset = false;
	p->uses = 0;
}

static void take(struct mglru *c, uint32_t page)
{
	list_del(&c->list, page);
	c->nr[c->page[page].seq % GENS]--;
}

static void put(struct mglru *c, uint32_t page, uint32_t seq, bool last)
{
	(last ? list_append : list_push)(&c->list, seq % GENS, page);
	c->page[page].seq = seq;
	c->nr[seq % GENS]++;
}

/* folio_inc_refs() */
static void mglru_hit(struct reclaim *r, uint32_t page)
{
	struct page *p = &((struct mglru *)r)->page[page];

	if (!p->referenced)
		p->referenced = true;
	else if (!p->workingset)
		p->workingset = true;
	else if (p->uses < MOST_USES)
		p->uses++;
}

/* reset_ctrl_pos() */
static void next_oldest(struct mglru *c)
{
	struct tier *t;

	for (t = c->tier; t < c->tier + TIERS; t++)
		*t = (struct tier){
			.mean_refaulted = (t->mean_refaulted + t->refaulted) / 2,
			.mean_total = (t->mean_total + t->evicted + t->kept) / 2,
		};
	c->oldest++;
}

/* positive_ctrl_err(): do pages of a tier come back no more often than pages used once? */
static bool may_leave(const struct mglru *c, uint32_t tier)
{
	const struct tier *once = &c->tier[0], *t = &c->tier[tier];
	uint64_t back = t->mean_refaulted + t->refaulted;

	return back < SCAN_BATCH ||
	       back * (once->mean_total + once->evicted + SCAN_BATCH) <=
	       (once->mean_refaulted + once->refaulted + 1) *
	       (t->mean_total + t->evicted + t->kept) * 2;
}

/*
 * Where few pages are to stay in the generations, mcube_ubm_one_gen() lets pages leave from
 * one of the two youngest, and reclaim needs no aging.
 */
static bool one_gen(const struct mglru *c)
{
	return c->r.small && c->youngest - c->oldest + 1 == LEAST_GENS &&
	       c->nr[c->oldest % GENS];
}

/* A page that is on no list leaves, or is taken.  Return: 1 if it left. */
static uint32_t evict(struct mglru *c, uint32_t page)
{
	struct page *p = &c->page[page];

	if (reclaim_takes(&c->r, page, refs(p), true)) {
		forget(p);
		return 0;
	}
	c->tier[tier_of(refs(p))].evicted++;
	p->left = c->oldest + 1;
	p->refs = refs(p);
	forget(p);
	return 1;
}

/*
 * scan_folios(): take pages off the oldest generation into @batch, and move pages that are
 * used often to the next.  Return: pages that it looked at; 0 if it does not get on.
 */
static uint32_t isolate(struct mglru *c, uint32_t *batch, uint32_t *nr)
{
	uint32_t page, most = 0, scanned = 0;
	struct page *p;

	/* get_tier_idx() */
	while (most + 1 < TIERS && may_leave(c, most + 1))
		most++;
	if (c->youngest - c->oldest + 1 == LEAST_GENS && !one_gen(c))
		return 0;
	while (c->nr[c->oldest % GENS] && scanned < SCAN_MOST && *nr < SCAN_BATCH) {
		page = list_last(&c->list, c->oldest % GENS);
		p = &c->page[page];
		take(c, page);
		scanned++;
		if (tier_of(refs(p)) > most || refs(p) > MOST_USES) {
			c->tier[tier_of(refs(p))].kept++;
			if (!reclaim_takes(&c->r, page, true, false))
				put(c, page, c->oldest + 1, true);
			forget(p);
			continue;
		}
		if (!p->referenced)
			forget(p);
		p->referenced = false;
		batch[(*nr)++] = page;
	}
	return *nr || scanned == SCAN_MOST ? scanned : 0;
}

/* evict_folios().  Return: pages that reclaim looked at; 0 if it does not get on. */
static uint32_t evict_some(struct mglru *c, uint32_t *gone)
{
	uint32_t batch[SCAN_BATCH], nr = 0, scanned, oldest = c->oldest, i;

	scanned = isolate(c, batch, &nr);
	/* try_to_inc_min_seq() */
	while (c->oldest + LEAST_GENS <= c->youngest && !c->nr[c->oldest % GENS])
		next_oldest(c);
	scanned += oldest != c->oldest;
	if (c->youngest - c->oldest + 1 == LEAST_GENS && !one_gen(c))
		scanned = 0;
	for (i = 0; i < nr; i++)
		*gone += evict(c, batch[i]);
	return scanned;
}

/* should_run_aging() */
static bool is_short_of_old(const struct mglru *c)
{
	uint32_t total = 0, seq;

	if (one_gen(c))
		return false;
	for (seq = c->oldest; seq <= c->youngest; seq++)
		total += c->nr[seq % GENS];
	if (c->oldest + LEAST_GENS != c->youngest)
		return c->oldest + LEAST_GENS > c->youngest;
	return c->nr[c->youngest % GENS] * LEAST_GENS > total ||
	       c->nr[c->oldest % GENS] * (LEAST_GENS + 2) < total;
}

/* try_to_shrink_lruvec() */
static uint32_t shrink(struct mglru *c, int priority)
{
	uint32_t gone = 0, scanned = 0, delta, want;

	do {
		want = (c->r.used - gone) >> priority;
		if (c->oldest + LEAST_GENS > c->youngest && !one_gen(c))
			want = 0;
		if (is_short_of_old(c) && priority != RECLAIM_PRIORITY) {
			c->youngest++;
			break;
		}
		if (!want)
			break;
		delta = evict_some(c, &gone);
		scanned += delta;
	} while (delta && scanned < want);
	return gone;
}

static void reclaim(struct mglru *c)
{
	uint32_t freed = 0;
	int priority;

	while (!freed)
		for (priority = RECLAIM_PRIORITY; priority >= 0 && freed < RECLAIM_BATCH;
		     priority--)
			freed += shrink(c, priority);
	c->r.used -= freed;
}

/* lru_gen_refault() */
static void refault(struct mglru *c, struct page *p)
{
	if (p->left != c->oldest + 1)
		return;
	c->tier[tier_of(p->refs)].refaulted++;
	if (p->refs >= MOST_USES) {
		p->workingset = true;
		p->uses = MOST_USES;
	}
}

/* lru_gen_add_folio() */
static void mglru_put(struct mglru *c, uint32_t page)
{
	put(c, page, c->oldest + LEAST_GENS >= c->youngest ? c->oldest : c->oldest + 1, false);
}

static void mglru_add(struct reclaim *r, uint32_t page, bool first)
{
	struct mglru *c = (struct mglru *)r;

	if (first)
		put(c, page, c->oldest, true);
	else
		mglru_put(c, page);
	r->used++;
}

static void mglru_miss(struct reclaim *r, uint32_t page)
{
	struct mglru *c = (struct mglru *)r;

	if (r->used >= r->limit)
		reclaim(c);
	refault(c, &c->page[page]);
	if (c->page[page].left && reclaim_lucky(r))
		put(c, page, c->youngest, false);
	else
		mglru_put(c, page);
	mglru_hit(r, page);
	reclaim_used(r);
}

static void mglru_free(struct reclaim *r)
{
	struct mglru *c = (struct mglru *)r;

	lists_free(&c->list);
	free(c->page);
	free(c);
}

const struct reclaim_ops reclaim_mglru = {
	.create = mglru_lists,
	.has = mglru_has,
	.hit = mglru_hit,
	.miss = mglru_miss,
	.add = mglru_add,
	.destroy = mglru_free,
};

RECLAIM_ENGINE(mglru, mglru_lists, false, "mglru", "the generations of the kernel");
RECLAIM_ENGINE(bip_mglru, mglru_lists, true, "bip-mglru",
	       "generations, where one refault in eight is put into the youngest");
