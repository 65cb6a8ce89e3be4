/* SPDX-License-Identifier: GPL-2.0 */
/*
 * UBM ghost stack: how many hits an LRU list of any length would have.
 *
 * Copyright (C) 2026 The mcube authors
 *
 * Pure: integers only.  See ghost.c for the idea.
 */
#ifndef _MM_MCUBE_UBM_GHOST_H
#define _MM_MCUBE_UBM_GHOST_H

#include <linux/limits.h>
#include <linux/minmax.h>
#include <linux/types.h>

#include "hash.h"

/* Regions of the stack; hits are counted by region. */
#define MCUBE_UBM_REGIONS	32

/* Not a region: the page was loaded and is referenced for the first time since. */
#define MCUBE_UBM_LOADED	MCUBE_UBM_REGIONS
/* Not a region: the page is not on the stack. */
#define MCUBE_UBM_ABSENT	(MCUBE_UBM_REGIONS + 1)

/* Most entries of a stack. */
#define MCUBE_UBM_GHOSTS	32768U

/* Pages are sampled by aligned blocks of 16 pages. */
#define MCUBE_UBM_BLOCK_SHIFT	4

/**
 * mcube_ubm_unsampled() - pages of a block before the next that is looked at
 * @hash: hash of the file.
 * @page: first page in question.
 * @shift: one in 2^@shift pages is sampled.
 *
 * Return: number of pages; if the block ends before, its sampled pages are all before @page.
 */
static inline u32 mcube_ubm_unsampled(u32 hash, u32 page, unsigned int shift)
{
	const u32 place = mcube_ubm_place(hash, page >> MCUBE_UBM_BLOCK_SHIFT);
	const u32 blocks = (1U << shift >> min_t(u32, shift, MCUBE_UBM_BLOCK_SHIFT)) - 1;
	const u32 within = (1U << min_t(u32, shift, MCUBE_UBM_BLOCK_SHIFT)) - 1;

	return place >> MCUBE_UBM_BLOCK_SHIFT & blocks ? U32_MAX : (place - page) & within;
}

/**
 * mcube_ubm_next_sampled() - the next page of a file that is looked at
 * @hash: hash of the file.
 * @page: first page in question.
 * @end: page after the last page in question.
 * @shift: one in 2^@shift pages is sampled.
 *
 * Each block has 16 >> @shift sampled pages, evenly apart, the first at a place that the
 * hash chooses.  If @shift is above 4, the hash also chooses one in 2^(@shift - 4) blocks.
 *
 * Return: the first page from @page on that the ghost stacks look at; @end if there is none.
 */
static inline u32 mcube_ubm_next_sampled(u32 hash, u32 page, u32 end, unsigned int shift)
{
	const u32 last = (1U << MCUBE_UBM_BLOCK_SHIFT) - 1;
	u32 left, skip;

	for (; page < end; page += left) {
		left = min(end - page, last + 1 - (page & last));
		skip = mcube_ubm_unsampled(hash, page, shift);
		if (skip < left)
			return page + skip;
	}
	return end;
}

/**
 * struct mcube_ubm_ghost_entry - a page on the stack
 * @print: fingerprint of the page.
 * @newer: entry before this entry on the stack; MCUBE_UBM_GHOSTS for none.
 * @older: entry after it.
 * @next: next entry of the same hash slot.
 * @region: region of the stack.
 * @loaded: the page came by mcube_ubm_ghost_load() and was not referenced yet.
 */
struct mcube_ubm_ghost_entry {
	u32 print;
	u16 newer;
	u16 older;
	u16 next;
	u8 region;
	bool loaded;
};

/**
 * struct mcube_ubm_ghost - an LRU stack of sampled pages
 * @entry: room for @room entries.
 * @slot: hash slots.
 * @room: number of entries, at most MCUBE_UBM_GHOSTS.
 * @mask: number of slots less 1.
 * @used: entries from @used on were never used.
 * @nr: entries on the stack.
 * @free: first entry that was used and is free.
 * @size: depth of the stack in entries, at most @room.
 * @pages: depth of the stack in pages: those of the entries and those left out.
 * @shift: one in 2^@shift pages is sampled.
 * @puts: references so far while @even was false.
 * @even: all regions but the last are as @target says, and have two entries or more.
 * @newest: top of the stack.
 * @target: entries of each region when the stack is full.
 * @count: entries of each region.
 * @last: oldest entry of each region that has entries.
 * @hits: pages by region: sampled hits times 2^@shift; halved as they age.
 * @refs: references so far to all pages that the curve stands for, in pages;
 *        halved with @hits.
 */
struct mcube_ubm_ghost {
	struct mcube_ubm_ghost_entry *entry;
	u16 *slot;
	u32 room;
	u32 mask;
	u32 used;
	u32 nr;
	u32 size;
	u32 pages;
	unsigned int shift;
	u32 puts;
	bool even;
	u16 newest;
	u16 free;
	u32 target[MCUBE_UBM_REGIONS];
	u32 count[MCUBE_UBM_REGIONS];
	u16 last[MCUBE_UBM_REGIONS];
	u64 hits[MCUBE_UBM_REGIONS];
	u64 refs;
};

unsigned int mcube_ubm_ghost_shift(u32 pages);
u32 mcube_ubm_ghost_room(u32 pages);
size_t mcube_ubm_ghost_bytes(u32 room);
void mcube_ubm_ghost_init(struct mcube_ubm_ghost *ghost, void *memory,
			  u32 room);
void mcube_ubm_ghost_resize(struct mcube_ubm_ghost *ghost, u32 pages);
unsigned int mcube_ubm_ghost_ref(struct mcube_ubm_ghost *ghost, u32 print);
bool mcube_ubm_ghost_load(struct mcube_ubm_ghost *ghost, u32 print);
void mcube_ubm_ghost_age(struct mcube_ubm_ghost *ghost);
u32 mcube_ubm_ghost_depth(const struct mcube_ubm_ghost *ghost,
			  unsigned int region);

#endif /* _MM_MCUBE_UBM_GHOST_H */
