// SPDX-License-Identifier: GPL-2.0
/*
 * Scaling of the page sets beside the kernel's xarray and two-list LRU, in user space
 *
 * Copyright (C) 2026 The mcube authors
 *
 *	scale STORE THREADS PAGES SPAN SECONDS
 *
 * Threads read random pages of SPAN pages of a file, of which PAGES fit into the cache: a
 * hit is likely as PAGES / SPAN.  No data is copied and no device is read, so the figures
 * are of the index and its locks alone.  Prints a JSON object.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store.h"

/* Times of references, by ns / STEP; every SAMPLE-th reference is timed. */
enum { STEP = 10, BUCKETS = 100000, SAMPLE = 16, MOST = 256 };

struct worker {
	pthread_t thread;
	struct thread_stat stat;
	uint64_t seed;
	uint64_t references;
	uint64_t hits;
	uint32_t *time;
};

static const struct store *store;
static uint64_t span;
static bool measuring, stop;
static struct worker worker[MOST];

static uint64_t next(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return z ^ z >> 31;
}

static uint64_t some_page(uint64_t *state)
{
	return (next(state) >> 32) * span >> 32;
}

static void *work(void *data)
{
	struct worker *w = data;
	bool counted = false, hit;
	uint64_t begin = 0, took;

	if (store->enter)
		store->enter();
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		if (!counted && __atomic_load_n(&measuring, __ATOMIC_RELAXED)) {
			counted = true;
			memset(&w->stat, 0, sizeof(w->stat));
			w->references = 0;
			w->hits = 0;
		}
		if (w->references % SAMPLE == 0)
			begin = now_ns();
		hit = store->reference(some_page(&w->seed), &w->stat);
		if (counted && w->references % SAMPLE == 0) {
			took = (now_ns() - begin) / STEP;
			w->time[took < BUCKETS ? took : BUCKETS - 1]++;
		}
		w->references++;
		w->hits += hit;
	}
	if (store->leave)
		store->leave();
	return NULL;
}

static void sleep_for(double seconds)
{
	struct timespec t = { seconds, (seconds - (time_t)seconds) * 1e9 };

	nanosleep(&t, NULL);
}

static uint64_t percentile(unsigned int threads, double share)
{
	uint64_t all = 0, seen = 0;
	unsigned int t, i;

	for (t = 0; t < threads; t++)
		for (i = 0; i < BUCKETS; i++)
			all += worker[t].time[i];
	for (i = 0; i < BUCKETS; i++) {
		for (t = 0; t < threads; t++)
			seen += worker[t].time[i];
		if (seen >= share * all)
			break;
	}
	return (uint64_t)i * STEP;
}

static void number(const char *name, double value)
{
	printf(", \"%s\": %.10g", name, value);
}

int main(int argc, char **argv)
{
	struct thread_stat sum = { 0 };
	uint64_t references = 0, hits = 0, begin, ns;
	unsigned int threads, i;
	double seconds;

	if (argc != 6) {
		fprintf(stderr, "usage: scale setcache|pagecache THREADS PAGES SPAN SECONDS\n");
		return 2;
	}
	store = strcmp(argv[1], store_sets.name) ? &store_pagecache : &store_sets;
	threads = atoi(argv[2]);
	span = strtoull(argv[4], NULL, 0);
	seconds = atof(argv[5]);
	if (!threads || threads > MOST || !span || span > UINT32_MAX ||
	    strcmp(store->name, argv[1])) {
		fprintf(stderr, "error: bad argument\n");
		return 2;
	}
	store->create(strtoul(argv[3], NULL, 0));
	for (i = 0; i < threads; i++) {
		worker[i].seed = i + 1;
		worker[i].time = calloc(BUCKETS, sizeof(*worker[i].time));
		pthread_create(&worker[i].thread, NULL, work, &worker[i]);
	}
	sleep_for(seconds / 2);
	__atomic_store_n(&measuring, true, __ATOMIC_RELAXED);
	begin = now_ns();
	sleep_for(seconds);
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	for (i = 0; i < threads; i++)
		pthread_join(worker[i].thread, NULL);
	ns = now_ns() - begin;
	for (i = 0; i < threads; i++) {
		references += worker[i].references;
		hits += worker[i].hits;
		sum.locks += worker[i].stat.locks;
		sum.waits += worker[i].stat.waits;
		sum.wait_ns += worker[i].stat.wait_ns;
	}
	printf("{\"store\": \"%s\", \"threads\": %u", store->name, threads);
	number("ops_per_s", references * 1e9 / ns);
	number("hit_ratio", (double)hits / references);
	number("p50_ns", percentile(threads, 0.5));
	number("p99_ns", percentile(threads, 0.99));
	number("locks_per_op", (double)sum.locks / references);
	number("waits_per_op", (double)sum.waits / references);
	number("lock_wait_share", (double)sum.wait_ns / threads / ns);
	printf("}\n");
	return 0;
}
