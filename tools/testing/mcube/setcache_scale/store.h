/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What is compared: a store of pages of a file, by index
 *
 * Copyright (C) 2026 The mcube authors
 *
 * Plain C: one store is built with headers of the kernel's tools, the other with those of
 * tools/testing/shared, which do not go together.
 */
#ifndef SETCACHE_SCALE_STORE_H
#define SETCACHE_SCALE_STORE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/**
 * struct thread_stat - what a thread counts
 * @locks: locks taken.
 * @waits: locks that another thread had.
 * @wait_ns: time spent waiting.
 */
struct thread_stat {
	uint64_t locks;
	uint64_t waits;
	uint64_t wait_ns;
};

/**
 * struct store - a page cache
 * @name: its name.
 * @create: make it, empty, with @pages pages; once in a process.
 * @enter: a thread begins; optional.
 * @reference: read a page; true if it was there.  A page that was not is put in.
 * @leave: the thread ends; optional.
 */
struct store {
	const char *name;
	void (*create)(uint32_t pages);
	void (*enter)(void);
	bool (*reference)(uint64_t index, struct thread_stat *stat);
	void (*leave)(void);
};

extern const struct store store_sets, store_pagecache;

static inline uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

/* Take a lock and count whether another thread had it. */
static inline void counted_lock(pthread_mutex_t *lock, struct thread_stat *stat)
{
	uint64_t begin;

	stat->locks++;
	if (!pthread_mutex_trylock(lock))
		return;
	begin = now_ns();
	pthread_mutex_lock(lock);
	stat->waits++;
	stat->wait_ns += now_ns() - begin;
}

#endif /* SETCACHE_SCALE_STORE_H */
