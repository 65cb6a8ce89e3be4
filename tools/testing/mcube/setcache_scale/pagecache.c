// SPDX-License-Identifier: GPL-2.0
/*
 * The page cache of a file as the kernel has it: lib/xarray.c and two LRU lists
 *
 * Copyright (C) 2026 The mcube authors
 *
 * The order of steps is that of mm/filemap.c, mm/swap.c and mm/vmscan.c in Linux 6.12:
 * a hit loads the entry under RCU, takes a reference if the count is not 0, and looks
 * again; a second reference activates the page, in a batch per thread.  A miss adds the
 * page to the index under its lock and to the LRU in a batch.  A thread that finds no free
 * page reclaims a batch from the inactive list.  Left out: memory cgroups, flags, rotation,
 * workingset shadows.
 */
#include <linux/list.h>
#include <linux/radix-tree.h>
#include <linux/rcupdate.h>
#include <linux/xarray.h>

#include <stdlib.h>
#include <string.h>

#include "store.h"

#define BATCH	31
#define RECLAIM	32

struct page {
	struct list_head lru;
	uint64_t index;
	uint64_t content;
	int count;
	bool referenced;
	bool active;
	bool on_list;
};

struct batch {
	unsigned int nr;
	struct page *page[BATCH];
};

static DEFINE_XARRAY(index_of_file);
static pthread_mutex_t lru_lock = PTHREAD_MUTEX_INITIALIZER;
static LIST_HEAD(inactive);
static LIST_HEAD(active);
static unsigned long nr_inactive, nr_active;
static pthread_mutex_t free_lock = PTHREAD_MUTEX_INITIALIZER;
static LIST_HEAD(free_pages);
static _Thread_local struct batch adding, activating;
static _Thread_local struct batch mine;

static void pagecache_create(uint32_t pages)
{
	struct page *page = calloc(pages, sizeof(*page));
	uint32_t i;

	radix_tree_init();
	for (i = 0; i < pages; i++)
		list_add(&page[i].lru, &free_pages);
}

static void put(struct page *page)
{
	__atomic_fetch_sub(&page->count, 1, __ATOMIC_RELEASE);
}

/* All pages of a batch onto the list that they belong to; the batch had a reference. */
static void drain(struct batch *b, struct thread_stat *stat)
{
	unsigned int i;

	counted_lock(&lru_lock, stat);
	for (i = 0; i < b->nr; i++) {
		struct page *page = b->page[i];
		bool activate = b == &activating;

		if (page->on_list && activate && !page->active) {
			list_move(&page->lru, &active);
			page->active = true;
			nr_inactive--;
			nr_active++;
		} else if (!page->on_list && !activate) {
			list_add(&page->lru, &inactive);
			page->on_list = true;
			page->active = false;
			nr_inactive++;
		}
	}
	pthread_mutex_unlock(&lru_lock);
	for (i = 0; i < b->nr; i++)
		put(b->page[i]);
	b->nr = 0;
}

static void batch_add(struct batch *b, struct page *page, struct thread_stat *stat)
{
	__atomic_fetch_add(&page->count, 1, __ATOMIC_RELAXED);
	b->page[b->nr++] = page;
	if (b->nr == BATCH)
		drain(b, stat);
}

static void mark_accessed(struct page *page, struct thread_stat *stat)
{
	if (!__atomic_load_n(&page->referenced, __ATOMIC_RELAXED)) {
		__atomic_store_n(&page->referenced, true, __ATOMIC_RELAXED);
	} else if (!__atomic_load_n(&page->active, __ATOMIC_RELAXED)) {
		__atomic_store_n(&page->referenced, false, __ATOMIC_RELAXED);
		batch_add(&activating, page, stat);
	}
}

/* Take a page out of the index, unless it is in use. */
static bool remove_page(struct page *page, struct thread_stat *stat)
{
	int one = 1;

	counted_lock(&index_of_file.xa_lock, stat);
	if (!__atomic_compare_exchange_n(&page->count, &one, 0, false, __ATOMIC_SEQ_CST,
					 __ATOMIC_SEQ_CST)) {
		pthread_mutex_unlock(&index_of_file.xa_lock);
		return false;
	}
	__xa_erase(&index_of_file, page->index);
	pthread_mutex_unlock(&index_of_file.xa_lock);
	return true;
}

/* Isolate a batch from the tail of the inactive list; balance the lists before. */
static unsigned int isolate(struct page **page, struct thread_stat *stat)
{
	unsigned int nr = 0, i;

	counted_lock(&lru_lock, stat);
	for (i = 0; i < RECLAIM && nr_active > nr_inactive; i++) {
		struct page *p = list_entry(active.prev, struct page, lru);

		list_move(&p->lru, &inactive);
		p->active = false;
		nr_active--;
		nr_inactive++;
	}
	while (nr < RECLAIM && nr_inactive) {
		page[nr] = list_entry(inactive.prev, struct page, lru);
		list_del(&page[nr]->lru);
		page[nr++]->on_list = false;
		nr_inactive--;
	}
	pthread_mutex_unlock(&lru_lock);
	return nr;
}

static void reclaim(struct thread_stat *stat)
{
	struct page *page[RECLAIM];
	unsigned int nr = isolate(page, stat), i, kept = 0;

	for (i = 0; i < nr; i++) {
		if (mine.nr < BATCH && remove_page(page[i], stat))
			mine.page[mine.nr++] = page[i];
		else
			page[kept++] = page[i];
	}
	counted_lock(&lru_lock, stat);
	for (i = 0; i < kept; i++) {
		list_add(&page[i]->lru, &inactive);
		page[i]->on_list = true;
		nr_inactive++;
	}
	pthread_mutex_unlock(&lru_lock);
}

static struct page *new_page(struct thread_stat *stat)
{
	if (!mine.nr) {
		counted_lock(&free_lock, stat);
		while (mine.nr < BATCH && !list_empty(&free_pages)) {
			mine.page[mine.nr] = list_entry(free_pages.next, struct page, lru);
			list_del(&mine.page[mine.nr++]->lru);
		}
		pthread_mutex_unlock(&free_lock);
	}
	while (!mine.nr) {
		/* Pages in the batches of this thread cannot be reclaimed. */
		drain(&adding, stat);
		drain(&activating, stat);
		reclaim(stat);
	}
	return mine.page[--mine.nr];
}

static struct page *get_page(uint64_t index)
{
	struct page *page;
	int count;

	for (;;) {
		page = xa_load(&index_of_file, index);
		if (!page)
			return NULL;
		count = __atomic_load_n(&page->count, __ATOMIC_RELAXED);
		while (count && !__atomic_compare_exchange_n(&page->count, &count, count + 1,
							     false, __ATOMIC_SEQ_CST,
							     __ATOMIC_RELAXED))
			;
		if (!count)
			continue;
		if (xa_load(&index_of_file, index) == page)
			return page;
		put(page);
	}
}

static bool pagecache_reference(uint64_t index, struct thread_stat *stat)
{
	struct page *page, *other;
	bool good;

	rcu_read_lock();
	page = get_page(index);
	rcu_read_unlock();
	if (page) {
		good = *(volatile uint64_t *)&page->content == index;
		mark_accessed(page, stat);
		put(page);
		return good;
	}
	page = new_page(stat);
	page->index = index;
	page->content = index;
	page->referenced = false;
	page->active = false;
	counted_lock(&index_of_file.xa_lock, stat);
	other = __xa_cmpxchg(&index_of_file, index, NULL, page, GFP_KERNEL);
	if (!other)
		__atomic_store_n(&page->count, 1, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&index_of_file.xa_lock);
	if (other)
		mine.page[mine.nr++] = page;
	else
		batch_add(&adding, page, stat);
	return false;
}

static void pagecache_leave(void)
{
	struct thread_stat none = { 0 };

	drain(&adding, &none);
	drain(&activating, &none);
	counted_lock(&free_lock, &none);
	while (mine.nr)
		list_add(&mine.page[--mine.nr]->lru, &free_pages);
	pthread_mutex_unlock(&free_lock);
	rcu_unregister_thread();
}

const struct store store_pagecache = {
	.name = "pagecache",
	.create = pagecache_create,
	.enter = rcu_register_thread,
	.reference = pagecache_reference,
	.leave = pagecache_leave,
};
