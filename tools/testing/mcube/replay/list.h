/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Doubly linked lists of pages
 *
 * Copyright (C) 2026 The mcube authors
 *
 * Lists that share struct lists share its arrays, so a page is on at most one of them.
 * A list is known by a small number.  Its head lies behind the pages in the arrays.
 */
#ifndef MCUBE_REPLAY_LIST_H
#define MCUBE_REPLAY_LIST_H

#include <stdlib.h>

#include "engine.h"

/**
 * struct lists - some lists of pages
 * @pages: pages are numbered below this.
 * @next: towards the last page; REPLAY_NONE if the page is on no list.
 * @prev: towards the first page.
 */
struct lists {
	uint32_t pages;
	uint32_t *next;
	uint32_t *prev;
};

static inline void lists_init(struct lists *l, uint32_t pages, uint32_t nr_lists)
{
	l->pages = pages;
	l->next = engine_alloc((size_t)pages + nr_lists, sizeof(*l->next));
	l->prev = engine_alloc((size_t)pages + nr_lists, sizeof(*l->prev));
	for (uint32_t i = 0; i < pages + nr_lists; i++) {
		l->next[i] = i < pages ? REPLAY_NONE : i;
		l->prev[i] = l->next[i];
	}
}

static inline void lists_free(struct lists *l)
{
	free(l->next);
	free(l->prev);
}

static inline bool list_has(const struct lists *l, uint32_t page)
{
	return l->next[page] != REPLAY_NONE;
}

/* The first page of a list, REPLAY_NONE if the list is empty. */
static inline uint32_t list_first(const struct lists *l, uint32_t list)
{
	uint32_t page = l->next[l->pages + list];

	return page < l->pages ? page : REPLAY_NONE;
}

static inline uint32_t list_last(const struct lists *l, uint32_t list)
{
	uint32_t page = l->prev[l->pages + list];

	return page < l->pages ? page : REPLAY_NONE;
}

static inline void list_del(struct lists *l, uint32_t page)
{
	l->next[l->prev[page]] = l->next[page];
	l->prev[l->next[page]] = l->prev[page];
	l->next[page] = REPLAY_NONE;
}

static inline void list_link(struct lists *l, uint32_t prev, uint32_t page, uint32_t next)
{
	l->next[prev] = page;
	l->prev[page] = prev;
	l->next[page] = next;
	l->prev[next] = page;
}

/* The page becomes the first of a list; it must be on no list. */
static inline void list_push(struct lists *l, uint32_t list, uint32_t page)
{
	list_link(l, l->pages + list, page, l->next[l->pages + list]);
}

/* The page becomes the last of a list; it must be on no list. */
static inline void list_append(struct lists *l, uint32_t list, uint32_t page)
{
	list_link(l, l->prev[l->pages + list], page, l->pages + list);
}

/* The page becomes the first of a list, from any list. */
static inline void list_move(struct lists *l, uint32_t list, uint32_t page)
{
	list_del(l, page);
	list_push(l, list, page);
}

#endif /* MCUBE_REPLAY_LIST_H */
