// SPDX-License-Identifier: GPL-2.0
/*
 * UBM: what the kernel does with its pure units, in an LRU list of pages
 *
 * Copyright (C) 2026 The mcube authors
 *
 * The units are those of the kernel (mm/mcube/ubm/).  Here is what the kernel glue and
 * the lists of the kernel do around them:
 *
 *   - References are noted by chunks, as read() does it, when the trace knows files.
 *     A trace without files is noted page by page.
 *   - Proposed pages go to the end of the LRU list, once they have been read.
 *   - A held page at the end of the list goes to its front instead of leaving.
 *
 *   - Nothing is noted before the cache is full when the trace knows files, as a memory
 *     cgroup has no domain before it reclaims.
 *
 * What the kernel cannot do at once is not modelled: pages that are locked or dirty, the
 * second list, and readahead.
 */
#include <linux/kernel.h>

#include "list.h"
#include "ubm/core.h"

/* Traces with files are noted as in the kernel, other traces page by page. */
static const struct mcube_ubm_tuning by_chunk = MCUBE_UBM_TUNING_DEFAULT;
static const struct mcube_ubm_tuning by_page = {
	.rules = { .gap = 2, .min = 5, .age = 12, .chunk_shift = 0 },
	.lag = 0,
	.model = MCUBE_UBM_HISTOGRAM,
	.guard = true,
};

/**
 * struct place - a file
 * @key: its identity.
 * @hash: hash of the key.
 * @size: pages up to the last page that the trace reads.
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

struct ubm {
	const struct replay_trace *trace;
	struct mcube_ubm_core *core;
	struct place *place;
	uint32_t size;
	uint32_t used;
	struct lists list;
	/* Of the present range: its file, pages to come, and what is proposed after them. */
	uint32_t file;
	uint32_t left;
	struct mcube_ubm_verdict verdict;
	uint32_t held_rotated;
	uint32_t forced;
};

static void *ubm_create(const struct replay_trace *t, uint32_t size)
{
	struct ubm *c = engine_alloc(1, sizeof(*c));

	c->trace = t;
	c->size = size;
	c->place = engine_alloc(t->nr_files, sizeof(*c->place));
	c->core = engine_alloc(1, mcube_ubm_core_bytes(size));
	mcube_ubm_core_init(c->core, size, t->has_files ? &by_chunk : &by_page);
	lists_init(&c->list, t->nr_pages, 1);
	for (uint32_t i = 0; i < t->nr_files; i++) {
		struct place *p = &c->place[i];

		p->key = (struct mcube_ubm_key){ .ino = t->file[i].ino, .dev = t->file[i].dev };
		p->hash = mcube_ubm_hash(&p->key);
		p->prev = MCUBE_UBM_NO_PREV;
	}
	for (uint32_t i = 0; i < t->nr_pages; i++) {
		struct place *p = &c->place[t->page[i].file];

		p->size = max(p->size, (u32)t->page[i].index + 1);
	}
	return c;
}

static void ubm_note(void *cache, const struct replay_range *range)
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
	if (c->trace->has_files && c->used < c->size)
		return;
	/* The trace tells no descriptors: a read elsewhere is by a descriptor that is new. */
	if (prev != first && (prev != first + 1 || prev == p->size))
		prev = MCUBE_UBM_NO_PREV;
	/* As in the kernel, see mcube_ubm_leaves(). */
	if (prev != MCUBE_UBM_NO_PREV && !(differ >> chunk_shift) && !(eof && differ))
		return;
	if (p->shift && prev != first &&
	    !mcube_ubm_sampled(p->hash, first >> chunk_shift, p->shift))
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
		}
	}
	c->verdict.nr_propose = 0;
}

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
		c->held_rotated++;
	}
	c->forced += tries == c->size;
	list_del(&c->list, list_last(&c->list, 0));
}

static bool ubm_reference(void *cache, uint32_t page)
{
	struct ubm *c = cache;
	bool hit = list_has(&c->list, page);

	if (hit) {
		list_move(&c->list, 0, page);
	} else {
		const struct replay_page *where = &c->trace->page[page];

		if (!c->trace->has_files || c->used == c->size)
			mcube_ubm_core_missed(c->core, c->place[where->file].hash,
					      where->index, 1);
		if (c->used == c->size)
			evict(c);
		else
			c->used++;
		list_push(&c->list, 0, page);
	}
	if (!--c->left)
		propose(c);
	return hit;
}

static void ubm_stat(const void *cache, struct engine_stat *to)
{
	const struct mcube_ubm_core *core = ((const struct ubm *)cache)->core;

	engine_stat(to, "other", core->refs[MCUBE_UBM_OTHER]);
	engine_stat(to, "sequential", core->refs[MCUBE_UBM_SEQ]);
	engine_stat(to, "loop", core->refs[MCUBE_UBM_LOOP]);
	engine_stat(to, "lru_missed", core->lru_missed);
	engine_stat(to, "guard_trips", core->guard.trips);
	engine_stat(to, "rotated", ((const struct ubm *)cache)->held_rotated);
	engine_stat(to, "forced", ((const struct ubm *)cache)->forced);
}

static void ubm_destroy(void *cache)
{
	struct ubm *c = cache;

	lists_free(&c->list);
	free(c->core);
	free(c->place);
	free(c);
}

const struct engine engine_ubm = {
	.name = "ubm",
	.about = "UBM as in the kernel: LRU for pages that are in no loop",
	.create = ubm_create,
	.note = ubm_note,
	.reference = ubm_reference,
	.stat = ubm_stat,
	.destroy = ubm_destroy,
};
