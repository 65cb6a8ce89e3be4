/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A binary heap of pages
 *
 * Copyright (C) 2026 The mcube authors
 */
#ifndef MCUBE_REPLAY_HEAP_H
#define MCUBE_REPLAY_HEAP_H

#include "engine.h"

/**
 * struct heap - pages, that with the largest key on top
 * @nr: pages in the heap.
 * @page: the pages; page[0] is the top.
 * @place: place of a page in @page, REPLAY_NONE if the page is not in the heap.
 * @key: key of a page in the heap.
 */
struct heap {
	uint32_t nr;
	uint32_t *page;
	uint32_t *place;
	uint32_t *key;
};

void heap_init(struct heap *h, uint32_t pages, uint32_t most);
void heap_free(struct heap *h);
void heap_put(struct heap *h, uint32_t page, uint32_t key);
void heap_del(struct heap *h, uint32_t page);

static inline bool heap_has(const struct heap *h, uint32_t page)
{
	return h->place[page] != REPLAY_NONE;
}

#endif /* MCUBE_REPLAY_HEAP_H */
