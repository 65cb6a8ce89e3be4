// SPDX-License-Identifier: GPL-2.0
/*
 * A binary heap of pages
 *
 * Copyright (C) 2026 The mcube authors
 */
#include <stdlib.h>

#include "heap.h"

/**
 * heap_init() - make a heap
 * @h: the heap.
 * @pages: pages are numbered below this.
 * @most: the heap never has more pages.
 */
void heap_init(struct heap *h, uint32_t pages, uint32_t most)
{
	h->nr = 0;
	h->page = engine_alloc(most < pages ? most : pages, sizeof(*h->page));
	h->place = engine_alloc(pages, sizeof(*h->place));
	h->key = engine_alloc(pages, sizeof(*h->key));
	for (uint32_t i = 0; i < pages; i++)
		h->place[i] = REPLAY_NONE;
}

void heap_free(struct heap *h)
{
	free(h->page);
	free(h->place);
	free(h->key);
}

static void set(struct heap *h, uint32_t place, uint32_t page)
{
	h->page[place] = page;
	h->place[page] = place;
}

/* Find the place of a page that is put in at @place, upwards or downwards. */
static void settle(struct heap *h, uint32_t place, uint32_t page)
{
	uint32_t key = h->key[page];

	while (place && h->key[h->page[(place - 1) / 2]] < key) {
		set(h, place, h->page[(place - 1) / 2]);
		place = (place - 1) / 2;
	}
	for (;;) {
		uint32_t child = 2 * place + 1;

		if (child + 1 < h->nr && h->key[h->page[child + 1]] > h->key[h->page[child]])
			child++;
		if (child >= h->nr || h->key[h->page[child]] <= key)
			break;
		set(h, place, h->page[child]);
		place = child;
	}
	set(h, place, page);
}

/**
 * heap_put() - put a page into a heap, or give it another key
 * @h: the heap.
 * @page: the page.
 * @key: its key.
 */
void heap_put(struct heap *h, uint32_t page, uint32_t key)
{
	h->key[page] = key;
	if (!heap_has(h, page))
		set(h, h->nr++, page);
	settle(h, h->place[page], page);
}

/**
 * heap_del() - take a page out of a heap
 * @h: the heap.
 * @page: a page of the heap.
 */
void heap_del(struct heap *h, uint32_t page)
{
	uint32_t place = h->place[page], last = h->page[--h->nr];

	h->place[page] = REPLAY_NONE;
	if (last != page)
		settle(h, place, last);
}
