// SPDX-License-Identifier: GPL-2.0
/*
 * UBM as in the paper: loops, sequences and other references of files, by marginal gain
 *
 * Copyright (C) 2026 The mcube authors
 *
 * The units in paper/ find loops and sequences, and share the cache out.  Around them:
 *
 *   - References are noted by chunks of 16 pages, as read() gives them, when the trace knows
 *     files.  A trace without files is noted page by page.
 *   - Proposed pages leave next, once they have been read.
 *   - A held page that would leave stays.
 *   - Nothing is noted before the cache is full when the trace knows files.
 *
 * All other pages are in strict LRU order, as in the paper.
 *
 * Source: Kim, Choi, Kim, Noh, Min, Cho and Kim, OSDI 2000.  The kernel decides by gaps instead,
 * see mm/mcube/ubm/held.c.
 */
#include <linux/kernel.h>

#include "list.h"
#include "engine.h"
#include "paper/core.h"

/* Traces with files are noted as in the kernel, other traces page by page. */
static const struct mcube_ubm_tuning by_chunk = MCUBE_UBM_TUNING_DEFAULT;
static const struct mcube_ubm_tuning by_page = {
	.rules = { .gap = 2, .min = 5, .age = 12, .chunk_shift = 0 },
	.lag = 0,
	.ahead = 0,
	.model = MCUBE_UBM_HISTOGRAM,
	.guard = true,
};

/**
 * struct place - a file
 * @key: its identity.
 * @hash: hash of the key.
 * @size: its pages, as recorded, or up to the last page that the trace reads.
 * @prev: page after the last read.
 * @shift: see struct mcube_ubm_verdict.
 */
struct place {
	struct mcube_ubm_key key;
	u32 hash;
	u32 size;
	u32 prev;
	u32 shift;
};

/**
 * struct ubm - a cache
 * @trace: what is replayed.
 * @core: the units of the kernel.
 * @place: the files.
 * @list: the pages, that referenced last first.
 * @size: most pages in memory; @used: pages in memory; @full: they have been @size.
 * @file: file of the present range.
 * @left: pages of the range to come.
 * @verdict: what is proposed after them.
 * @proposed: pages that were to leave next.
 * @rotated: times that a page stayed as it is held.
 */
struct ubm {
	const struct replay_trace *trace;
	struct mcube_ubm_core *core;
	struct place *place;
	struct lists list;
	uint32_t size;
	uint32_t used;
	bool full;
	uint32_t file;
	uint32_t left;
	struct mcube_ubm_verdict verdict;
	uint32_t proposed;
	uint32_t rotated;
};

static bool held(const struct ubm *c, uint32_t page)
{
	const struct replay_page *where = &c->trace->page[page];
	const struct place *p = &c->place[where->file];

	return mcube_ubm_core_held(c->core, &p->key, p->hash, where->index);
}

static void evict(struct ubm *c)
{
	uint32_t tries;

	for (tries = 0; tries < c->size && held(c, list_last(&c->list, 0)); tries++) {
		list_move(&c->list, 0, list_last(&c->list, 0));
		c->rotated++;
	}
	list_del(&c->list, list_last(&c->list, 0));
	c->used--;
}

static void *paper_create(const struct replay_trace *t, uint32_t size)
{
	struct ubm *c = engine_alloc(1, sizeof(*c));

	c->trace = t;
	c->place = engine_alloc(t->nr_files, sizeof(*c->place));
	c->core = engine_alloc(1, mcube_ubm_core_bytes(size));
	mcube_ubm_core_init(c->core, size, t->has_files ? &by_chunk : &by_page);
	c->size = size;
	lists_init(&c->list, t->nr_pages, 1);
	for (uint32_t i = 0; i < t->nr_files; i++) {
		struct place *p = &c->place[i];

		p->key = (struct mcube_ubm_key){ .ino = t->file[i].ino, .dev = t->file[i].dev };
		p->hash = mcube_ubm_hash(&p->key);
		p->prev = MCUBE_UBM_NO_PREV;
		p->size = min_t(uint64_t, t->file[i].pages, U32_MAX);
	}
	for (uint32_t i = 0; i < t->nr_pages; i++) {
		struct place *p = &c->place[t->page[i].file];

		p->size = max(p->size, (u32)t->page[i].index + 1);
	}
	return c;
}

static void paper_note(void *cache, const struct replay_range *range)
{
	struct ubm *c = cache;
	struct place *p = &c->place[range->file];
	u32 chunk_shift = c->core->tuning.rules.chunk_shift, first = range->index;
	u32 end = first + range->nr;
	u32 prev = p->prev, differ = (prev - 1) ^ (end - 1);
	bool eof = c->trace->has_files && end == p->size;

	c->file = range->file;
	c->left = range->nr;
	c->verdict.nr_propose = 0;
	p->prev = end;
	if (c->trace->has_files && !c->full)
		return;
	/* The trace tells no descriptors: a file is opened before it is read from its start. */
	if (!first)
		prev = MCUBE_UBM_NO_PREV;
	/* A read that stays in the chunk of the read before is not noted, but at the end. */
	if (prev != MCUBE_UBM_NO_PREV && !(differ >> chunk_shift) &&
	    !(eof && (differ || first < prev)))
		return;
	if (p->shift && prev != first &&
	    mcube_ubm_next_sampled(p->hash, first, end, p->shift) == end)
		return;
	if (!c->trace->has_files)
		prev = MCUBE_UBM_NO_PREV;
	mcube_ubm_core_note(c->core, &(struct mcube_ubm_refs){
		.key = p->key, .hash = p->hash, .first = first, .end = end, .prev = prev,
		.eof = eof,
	}, false, &c->verdict);
	p->shift = c->verdict.shift;
}

static void propose(struct ubm *c)
{
	for (uint32_t i = 0; i < c->verdict.nr_propose; i++) {
		const struct mcube_ubm_range *range = &c->verdict.propose[i];

		for (u32 index = range->from; index < range->to; index++) {
			uint32_t page = replay_find(c->trace, c->file, index);

			if (page == REPLAY_NONE || !list_has(&c->list, page))
				continue;
			list_del(&c->list, page);
			list_append(&c->list, 0, page);
			c->proposed++;
		}
	}
	c->verdict.nr_propose = 0;
}

static bool paper_reference(void *cache, uint32_t page)
{
	struct ubm *c = cache;
	const struct replay_page *where = &c->trace->page[page];
	bool hit = list_has(&c->list, page);

	if (hit) {
		list_move(&c->list, 0, page);
	} else {
		if (!c->trace->has_files || c->full)
			mcube_ubm_core_missed(c->core, c->place[where->file].hash, where->index, 1);
		if (c->used == c->size)
			evict(c);
		list_push(&c->list, 0, page);
		c->full |= ++c->used == c->size;
	}
	if (!--c->left)
		propose(c);
	return hit;
}

static void paper_stat(const void *cache, struct engine_stat *to)
{
	const struct mcube_ubm_core *core = ((const struct ubm *)cache)->core;

	engine_stat(to, "other", core->refs[MCUBE_UBM_OTHER]);
	engine_stat(to, "sequential", core->refs[MCUBE_UBM_SEQ]);
	engine_stat(to, "loop", core->refs[MCUBE_UBM_LOOP]);
	engine_stat(to, "lru_missed", core->lru_missed);
	engine_stat(to, "guard_trips", core->guard.trips);
	engine_stat(to, "proposed", ((const struct ubm *)cache)->proposed);
	engine_stat(to, "rotated", ((const struct ubm *)cache)->rotated);
}

static void paper_destroy(void *cache)
{
	struct ubm *c = cache;

	lists_free(&c->list);
	free(c->core);
	free(c->place);
	free(c);
}

const struct engine engine_ubm_paper = {
	.name = "ubm-paper",
	.about = "UBM of OSDI 2000: loops, sequences and other references by marginal gain",
	.create = paper_create,
	.note = paper_note,
	.reference = paper_reference,
	.stat = paper_stat,
	.destroy = paper_destroy,
};
