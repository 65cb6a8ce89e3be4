// SPDX-License-Identifier: GPL-2.0
/*
 * Page sets of drivers/mcube/setcache/, each with a lock
 *
 * Copyright (C) 2026 The mcube authors
 */
#include <linux/kernel.h>

#include <stdlib.h>

#include "setcache/policy.h"
#include "setcache/table.h"
#include "store.h"

struct locked_set {
	pthread_mutex_t lock;
	struct setcache_set set;
} __aligned(64);

static struct setcache_table table;
static void *segment;
static uint64_t *contents;

static void lock(struct setcache_set *set)
{
	pthread_mutex_lock(&container_of(set, struct locked_set, set)->lock);
}

static void unlock(struct setcache_set *set)
{
	pthread_mutex_unlock(&container_of(set, struct locked_set, set)->lock);
}

static const struct setcache_locks locks = { lock, unlock };

static void sets_create(uint32_t pages)
{
	struct setcache_layout layout = {
		.stride = sizeof(struct locked_set), .offset = offsetof(struct locked_set, set),
		.max_segments = 1, .segment = &segment,
	};
	uint32_t nr = pages / SETCACHE_WAYS, i, way;
	struct locked_set *set;

	layout.segment_shift = SETCACHE_GROUP_SHIFT;
	while (1U << layout.segment_shift < nr)
		layout.segment_shift++;
	set = aligned_alloc(64, sizeof(*set) << layout.segment_shift);
	contents = calloc(SETCACHE_WAYS << layout.segment_shift, sizeof(*contents));
	for (i = 0; i < 1U << layout.segment_shift; i++) {
		pthread_mutex_init(&set[i].lock, NULL);
		setcache_set_init(&set[i].set);
		for (way = 0; way < SETCACHE_WAYS; way++)
			set[i].set.entry[way].page = &contents[i * SETCACHE_WAYS + way];
	}
	setcache_table_init(&table, &layout, &locks, 1);
	setcache_table_add_segment(&table, set);
	while (table.nr < nr)
		setcache_table_grow(&table, SETCACHE_S3FIFO);
}

static uint64_t read_and_put(struct setcache_set *set, unsigned int way)
{
	uint64_t value = *(volatile uint64_t *)set->entry[way].page;

	setcache_set_put(set, way);
	return value;
}

static bool sets_reference(uint64_t index, struct thread_stat *stat)
{
	struct setcache_key key = setcache_key(table.seed, 1, index);
	struct setcache_set *set = setcache_table_find(&table, &key);
	int hit = setcache_set_get(set, &key, SETCACHE_S3FIFO);
	pthread_mutex_t *mutex = &container_of(set, struct locked_set, set)->lock;
	enum setcache_reserved what;
	unsigned int way;

	if (hit >= 0)
		return read_and_put(set, hit) == index;
	counted_lock(mutex, stat);
	what = setcache_set_reserve(set, &key, SETCACHE_S3FIFO, &way);
	pthread_mutex_unlock(mutex);
	if (what == SETCACHE_HIT)
		return read_and_put(set, way) == index;
	if (what != SETCACHE_RESERVED)
		return false;
	*(volatile uint64_t *)set->entry[way].page = index;
	counted_lock(mutex, stat);
	setcache_set_publish(set, way);
	pthread_mutex_unlock(mutex);
	read_and_put(set, way);
	return false;
}

const struct store store_sets = {
	.name = "setcache",
	.create = sets_create,
	.reference = sets_reference,
};
