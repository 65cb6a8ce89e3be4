/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Lists of pages, and which page leaves: what UBM works on in the replay
 *
 * Copyright (C) 2026 The mcube authors
 *
 * The classic lists (classic.c) and MGLRU (mglru.c) are what the kernel has, in a memory cgroup
 * at its limit whose processes read files and do nothing else.
 */
#ifndef MCUBE_REPLAY_RECLAIM_H
#define MCUBE_REPLAY_RECLAIM_H

#include "engine.h"

/* Pages that reclaim in a memory cgroup wants at a time: SWAP_CLUSTER_MAX. */
#define RECLAIM_BATCH		32U
/* A trivial rival: of pages that refault too late, one in so many is taken as active. */
#define RECLAIM_BIMODAL		8U
/* How urgent reclaim is at first: DEF_PRIORITY.  0 is most urgent. */
#define RECLAIM_PRIORITY	12

/**
 * struct reclaim - lists of pages
 * @ops: how they work.
 * @takes: takes a page off the lists, or not.  @again: it was used again since it came;
 *         @leaves: else it leaves; if not, else the lists keep it.  NULL: takes none.
 * @left: is told of each page that leaves; may be NULL.
 * @arg: of @takes and @left.
 * @limit: most pages in memory.
 * @used: pages in memory.
 * @full: @used has been @limit.
 * @small: pages may leave from a generation that counts as young.
 * @bimodal: one in RECLAIM_BIMODAL refaults counts as one that came soon; @late: refaults.
 */
struct reclaim {
	const struct reclaim_ops *ops;
	bool (*takes)(void *arg, uint32_t page, bool again, bool leaves);
	void (*left)(void *arg, uint32_t page);
	void *arg;
	uint32_t limit;
	uint32_t used;
	bool full;
	bool small;
	bool bimodal;
	uint32_t late;
};

/**
 * struct reclaim_ops - a kind of lists
 * @create: empty lists, for a cache of @size pages on average.
 * @has: is a page in memory?
 * @hit: a page in memory is referenced.
 * @miss: a page comes in, and is referenced.
 * @add: a page comes back that @takes took, without a reference.  @first: it is to leave next.
 * @destroy: free the lists.
 */
struct reclaim_ops {
	struct reclaim *(*create)(uint32_t nr_pages, uint32_t size);
	bool (*has)(const struct reclaim *r, uint32_t page);
	void (*hit)(struct reclaim *r, uint32_t page);
	void (*miss)(struct reclaim *r, uint32_t page);
	void (*add)(struct reclaim *r, uint32_t page, bool first);
	void (*destroy)(struct reclaim *r);
};

extern const struct reclaim_ops reclaim_classic, reclaim_mglru;

/* Does @takes take a page that is on no list?  If not, and the page leaves, @left is told. */
static inline bool reclaim_takes(struct reclaim *r, uint32_t page, bool again, bool leaves)
{
	bool takes = r->takes && r->takes(r->arg, page, again, leaves);

	if (takes)
		r->used--;
	else if (leaves && r->left)
		r->left(r->arg, page);
	return takes;
}

/* A page came back too late.  Does it count as one that came soon? */
static inline bool reclaim_lucky(struct reclaim *r)
{
	return r->bimodal && !(++r->late % RECLAIM_BIMODAL);
}

/* A page came in. */
static inline void reclaim_used(struct reclaim *r)
{
	r->used++;
	r->full |= r->used == r->limit;
}

/* struct engine::reference and ::destroy of engines that are nothing but lists. */
static inline bool reclaim_reference(void *cache, uint32_t page)
{
	struct reclaim *r = cache;
	bool hit = r->ops->has(r, page);

	(hit ? r->ops->hit : r->ops->miss)(r, page);
	return hit;
}

static inline void reclaim_destroy(void *cache)
{
	struct reclaim *r = cache;

	r->ops->destroy(r);
}

/* engine_@tag, which is nothing but the lists of a create function; @luck: is it bimodal? */
#define RECLAIM_ENGINE(tag, lists, luck, title, text)						\
static void *tag##_create(const struct replay_trace *t, uint32_t size)				\
{												\
	struct reclaim *r = lists(t->nr_pages, size);						\
												\
	r->bimodal = luck;									\
	return r;										\
}												\
												\
const struct engine engine_##tag = {								\
	.name = title,										\
	.about = text,										\
	.create = tag##_create,									\
	.reference = reclaim_reference,								\
	.destroy = reclaim_destroy,								\
}

#endif /* MCUBE_REPLAY_RECLAIM_H */
