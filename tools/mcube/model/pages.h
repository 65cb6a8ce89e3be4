/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Demand requests and misses of the last level by page frame; pages.c says how the
 * host gets the counts.
 */
#ifndef MCUBE_MODEL_PAGES_H
#define MCUBE_MODEL_PAGES_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define FRAME_SHIFT	12
#define PAGES_MAGIC	0x7365676170756f63ull	/* "coupages" */

/**
 * struct page_count - counts of a page frame since the last mark
 * @refs:	demand requests to the last level
 * @misses:	such requests that missed
 */
struct page_count {
	uint64_t refs;
	uint64_t misses;
};

/**
 * struct pages - counts of all page frames
 * @count:	by frame number; NULL: nothing is counted
 * @frames:	page frames of the guest's RAM
 * @marks:	marks so far
 * @out:	the file
 */
struct pages {
	struct page_count *count;
	uint64_t frames;
	uint32_t marks;
	FILE *out;
};

/**
 * struct pages_block - head of a block in the file
 * @magic:	PAGES_MAGIC
 * @mark:	number of the mark that closed the interval, from 1
 * @records:	number of struct pages_record that follow
 */
struct pages_block {
	uint64_t magic;
	uint64_t mark;
	uint64_t records;
};

/**
 * struct pages_record - a page frame with requests in the interval
 * @frame:	frame number
 * @refs:	demand requests to the last level
 * @misses:	such requests that missed
 */
struct pages_record {
	uint64_t frame;
	uint64_t refs;
	uint64_t misses;
};

bool pages_init(struct pages *p, uint64_t ram_bytes, const char *path);
void pages_free(struct pages *p);
bool pages_mark(struct pages *p);

/**
 * pages_count - count a demand request to the last level
 * @p:		the counts
 * @paddr:	physical address
 * @hit:	the last level has the line
 */
static inline void pages_count(struct pages *p, uint64_t paddr, bool hit)
{
	uint64_t frame = paddr >> FRAME_SHIFT;

	if (frame >= p->frames)
		return;
	p->count[frame].refs++;
	p->count[frame].misses += !hit;
}

#endif
