// SPDX-License-Identifier: GPL-2.0
/*
 * UBM: what the kernel does with its pure units, on lists of pages
 *
 * Copyright (C) 2026 The mcube authors
 *
 * The units are those of the kernel (mm/mcube/ubm/).  Here is what the kernel glue and
 * the lists of the kernel do around them:
 *
 *   - References are noted by chunks, as read() does it, when the trace knows files.
 *     A trace without files is noted page by page.
 *   - Proposed pages leave next, once they have been read.
 *   - A held page that would leave stays, for as long as mm/mcube/ubm/reclaim.c lets it.
 *   - Nothing is noted before the cache is full when the trace knows files, as a memory
 *     cgroup has no domain before it reclaims.
 *
 * The lists are strict LRU, as in the papers, or those of the kernel, see reclaim.h.  What the
 * kernel cannot do at once is not modelled: pages that are locked or dirty, and readahead.
 */
#include <linux/kernel.h>

#include "reclaim.h"
#include "ubm/core.h"

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
 * @lists: the pages.
 * @file: file of the present range.
 * @left: pages of the range to come.
 * @verdict: what is proposed after them.
 * @proposed: pages that were to leave next.
 * @rotated: times that a page stayed as it is held.
 * @kept: of these, since a held loop was last read.
 * @row: of these, since reclaim came by a page that is not held.
 */
struct ubm {
	const struct replay_trace *trace;
	struct mcube_ubm_core *core;
	struct place *place;
	struct reclaim *lists;
	uint32_t file;
	uint32_t left;
	struct mcube_ubm_verdict verdict;
	uint32_t proposed;
	uint32_t rotated;
	uint32_t kept;
	uint32_t row;
};

static bool held(const struct ubm *c, uint32_t page)
{
	const struct replay_page *where = &c->trace->page[page];
	const struct place *p = &c->place[where->file];

	return mcube_ubm_core_held(c->core, &p->key, p->hash, where->index);
}

static bool keeps(void *arg, uint32_t page, int priority, uint32_t freed)
{
	struct ubm *c = arg;

	if (!held(c, page))
		return false;
	c->rotated++;
	return true;
}

/* See has_others() and stays() in mm/mcube/ubm/reclaim.c. */
static bool kernel_keeps(void *arg, uint32_t page, int priority, uint32_t freed)
{
	struct ubm *c = arg;
	u64 all = c->core->table.runs.loops.all;
	u32 capacity = c->core->capacity;

	if (!held(c, page)) {
		c->row = 0;
		return false;
	}
	if (priority < MCUBE_UBM_KEPT_FROM &&
	    !mcube_ubm_kept_urgently(capacity, all, c->row, priority, freed))
		return false;
	if (mcube_ubm_kept_enough(capacity, all, c->kept))
		return false;
	c->kept++;
	c->row++;
	c->rotated++;
	return true;
}

static void *create(const struct replay_trace *t, uint32_t size,
		    const struct reclaim_ops *ops)
{
	struct ubm *c = engine_alloc(1, sizeof(*c));

	c->trace = t;
	c->place = engine_alloc(t->nr_files, sizeof(*c->place));
	c->core = engine_alloc(1, mcube_ubm_core_bytes(size));
	mcube_ubm_core_init(c->core, size, t->has_files ? &by_chunk : &by_page);
	c->lists = ops->create(t->nr_pages, size);
	c->lists->keeps = ops == &reclaim_lru ? keeps : kernel_keeps;
	c->lists->arg = c;
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
	if (c->trace->has_files && !c->lists->full)
		return;
	/* The trace tells no descriptors: a file is opened before it is read from its start. */
	if (!first)
		prev = MCUBE_UBM_NO_PREV;
	/* As in the kernel, see mcube_ubm_leaves(). */
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
	if (c->verdict.run && c->verdict.run->held)
		c->kept = 0;
}

static void propose(struct ubm *c)
{
	for (uint32_t i = 0; i < c->verdict.nr_propose; i++) {
		const struct mcube_ubm_range *range = &c->verdict.propose[i];

		for (u32 index = range->from; index < range->to; index++) {
			uint32_t page = replay_find(c->trace, c->file, index);

			if (page == REPLAY_NONE || !c->lists->ops->has(c->lists, page))
				continue;
			c->lists->ops->next(c->lists, page, range->once, range->brief);
			c->proposed++;
		}
	}
	c->verdict.nr_propose = 0;
}

static bool ubm_reference(void *cache, uint32_t page)
{
	struct ubm *c = cache;
	const struct replay_page *where = &c->trace->page[page];
	bool hit = c->lists->ops->has(c->lists, page);

	if (!hit && (!c->trace->has_files || c->lists->full))
		mcube_ubm_core_missed(c->core, c->place[where->file].hash, where->index, 1);
	reclaim_reference(c->lists, page);
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
	engine_stat(to, "proposed", ((const struct ubm *)cache)->proposed);
	engine_stat(to, "rotated", ((const struct ubm *)cache)->rotated);
}

static void ubm_destroy(void *cache)
{
	struct ubm *c = cache;

	c->lists->ops->destroy(c->lists);
	free(c->core);
	free(c->place);
	free(c);
}

static void *ubm_create(const struct replay_trace *t, uint32_t size)
{
	return create(t, size, &reclaim_lru);
}

static void *ubm_classic_create(const struct replay_trace *t, uint32_t size)
{
	return create(t, size, &reclaim_classic);
}

static void *ubm_mglru_create(const struct replay_trace *t, uint32_t size)
{
	return create(t, size, &reclaim_mglru);
}

const struct engine engine_ubm = {
	.name = "ubm",
	.about = "UBM as in the kernel, with strict LRU for pages that are in no loop",
	.create = ubm_create,
	.note = ubm_note,
	.reference = ubm_reference,
	.stat = ubm_stat,
	.destroy = ubm_destroy,
};

const struct engine engine_ubm_classic = {
	.name = "ubm-classic",
	.about = "UBM on the classic lists of the kernel",
	.create = ubm_classic_create,
	.note = ubm_note,
	.reference = ubm_reference,
	.stat = ubm_stat,
	.destroy = ubm_destroy,
};

const struct engine engine_ubm_mglru = {
	.name = "ubm-mglru",
	.about = "UBM on the generations of the kernel",
	.create = ubm_mglru_create,
	.note = ubm_note,
	.reference = ubm_reference,
	.stat = ubm_stat,
	.destroy = ubm_destroy,
};
