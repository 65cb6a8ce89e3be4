/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Page-reference traces in memory
 *
 * Copyright (C) 2026 The mcube authors
 *
 * A page of a trace has a dense number: 0 for the page that is referenced first, then
 * upwards in order of first reference.  Simple engines only need this number.  An engine
 * that knows files finds file and index of a page in @page, and the number of a page at
 * a place by replay_find().
 */
#ifndef MCUBE_REPLAY_TRACE_H
#define MCUBE_REPLAY_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Not the number of a page, and not the time of a reference. */
#define REPLAY_NONE	UINT32_MAX

/**
 * struct replay_page - where a page lies
 * @file: number of its file, an index into struct replay_trace.file.
 * @index: its index in the file, in pages.
 */
struct replay_page {
	uint32_t file;
	uint64_t index;
};

/**
 * struct replay_file - a file of a trace
 * @dev: device number as recorded, 0 in traces without files.
 * @ino: inode number as recorded, 0 in traces without files.
 * @pages: its size as recorded, 0 if it is not known.
 */
struct replay_file {
	uint64_t dev;
	uint64_t ino;
	uint64_t pages;
};

/**
 * struct replay_range - pages that were read by a single call
 * @file: number of the file.
 * @nr: number of pages, at least 1.
 * @index: index of the first page.
 */
struct replay_range {
	uint32_t file;
	uint32_t nr;
	uint64_t index;
};

/**
 * struct replay_trace - a trace
 * @nr_ranges: number of ranges.
 * @nr_refs: number of references to pages, the sum of the ranges.
 * @nr_pages: number of distinct pages.
 * @nr_files: number of files.
 * @has_files: the file tells files; else all ids were taken as indices of a single file.
 * @range: the ranges in order of time.
 * @ref: the pages in order of time, as dense numbers.
 * @page: the place of each page.
 * @file: the files, in order of first reference.
 * @hash: open hash from place to page; private to trace.c.
 * @hash_mask: size of @hash less 1, a mask.
 */
struct replay_trace {
	uint32_t nr_ranges;
	uint32_t nr_refs;
	uint32_t nr_pages;
	uint32_t nr_files;
	bool has_files;
	struct replay_range *range;
	uint32_t *ref;
	struct replay_page *page;
	struct replay_file *file;
	uint32_t *hash;
	uint32_t hash_mask;
};

/* Controls that destroy a property of a trace and keep all others. */
enum replay_shuffle {
	REPLAY_AS_IS,
	REPLAY_SHUFFLE_IDS,	/* each page keeps its times, and lies at another place */
	REPLAY_SHUFFLE_ORDER,	/* each page keeps its count, at other times */
};

struct replay_trace *replay_read(const char *path);
struct replay_trace *replay_make(const uint64_t *id, uint32_t nr);
void replay_shuffle(struct replay_trace *t, enum replay_shuffle how, uint64_t seed);
uint32_t replay_find(const struct replay_trace *t, uint32_t file, uint64_t index);
void replay_free(struct replay_trace *t);

#endif /* MCUBE_REPLAY_TRACE_H */
