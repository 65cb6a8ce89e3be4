// SPDX-License-Identifier: GPL-2.0
/*
 * The set-associative page cache, from the pure units of the kernel
 *
 * Copyright (C) 2026 The mcube authors
 *
 * Each engine has a policy of drivers/mcube/setcache/policy.c.  The cache has as many whole
 * sets as @size has room for, and at least a group of sets.
 */
#include <stdlib.h>

#include "engine.h"

#include "setcache/policy.h"
#include "setcache/table.h"

struct setcache {
	const struct replay_trace *trace;
	enum setcache_policy policy;
	struct setcache_table table;
	void *segment;
};

static void no_lock(struct setcache_set *set)
{
}

static const struct setcache_locks no_locks = { .lock = no_lock, .unlock = no_lock };

static void *create(const struct replay_trace *trace, uint32_t size,
		    enum setcache_policy policy)
{
	uint32_t nr = size / SETCACHE_WAYS, shift = SETCACHE_GROUP_SHIFT, i;
	struct setcache *c = engine_alloc(1, sizeof(*c));
	struct setcache_layout layout = {
		.stride = sizeof(struct setcache_set), .max_segments = 1,
		.segment = &c->segment,
	};
	struct setcache_set *set;

	c->trace = trace;
	c->policy = policy;
	while (1U << shift < nr)
		shift++;
	layout.segment_shift = shift;
	setcache_table_init(&c->table, &layout, &no_locks, 1);
	set = engine_alloc(1U << shift, sizeof(*set));
	for (i = 0; i < 1U << shift; i++)
		setcache_set_init(&set[i]);
	setcache_table_add_segment(&c->table, set);
	while (c->table.nr < nr)
		setcache_table_grow(&c->table, policy);
	return c;
}

static void *lru_create(const struct replay_trace *t, uint32_t size)
{
	return create(t, size, SETCACHE_LRU);
}

static void *lfu_create(const struct replay_trace *t, uint32_t size)
{
	return create(t, size, SETCACHE_LFU);
}

static void *nrlfu_create(const struct replay_trace *t, uint32_t size)
{
	return create(t, size, SETCACHE_NRLFU);
}

static void *s3fifo_create(const struct replay_trace *t, uint32_t size)
{
	return create(t, size, SETCACHE_S3FIFO);
}

static bool setcache_reference(void *cache, uint32_t page)
{
	const struct replay_page *place;
	struct setcache *c = cache;
	struct setcache_key key;
	struct setcache_set *set;
	unsigned int way;
	int hit;

	place = &c->trace->page[page];
	key = setcache_key(c->table.seed, place->file + 1ULL, place->index);
	set = setcache_table_find(&c->table, &key);
	hit = setcache_set_get(set, &key, c->policy);
	if (hit >= 0) {
		setcache_set_put(set, hit);
		return true;
	}
	if (setcache_set_reserve(set, &key, c->policy, &way) == SETCACHE_RESERVED) {
		setcache_set_publish(set, way);
		setcache_set_put(set, way);
	}
	return false;
}

static void setcache_stat(const void *cache, struct engine_stat *to)
{
	const struct setcache *c = cache;
	uint64_t fills = 0, again = 0;
	uint32_t i;

	for (i = 0; i < c->table.nr; i++) {
		const struct setcache_set *set = setcache_table_set_at(&c->table, i);

		fills += set->fills;
		again += set->again;
	}
	engine_stat(to, "pages", (double)c->table.nr * SETCACHE_WAYS);
	engine_stat(to, "fills", fills);
	engine_stat(to, "ghosts", again);
}

static void setcache_destroy(void *cache)
{
	struct setcache *c = cache;

	free(c->segment);
	free(c);
}

#define ENGINE(policy, text)				\
	const struct engine engine_sa_##policy = {	\
		.name = "sa-" #policy,			\
		.about = "page sets, " text,		\
		.create = policy##_create,		\
		.reference = setcache_reference,	\
		.stat = setcache_stat,			\
		.destroy = setcache_destroy,		\
	}

ENGINE(lru, "LRU in a set");
ENGINE(lfu, "LFU in a set");
ENGINE(nrlfu, "LFU in a set, with history");
ENGINE(s3fifo, "S3-FIFO in a set");
