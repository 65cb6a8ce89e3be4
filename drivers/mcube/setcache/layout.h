/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Layout of a page set: what its lookups, its policies and its table share
 *
 * Copyright (C) 2026 The mcube authors
 *
 * Pure: words and atomic counters only, no lock and no struct page.  See set.c for
 * the idea, for what the caller locks, and for what needs no lock.
 */
#ifndef _DRIVERS_MCUBE_SETCACHE_LAYOUT_H
#define _DRIVERS_MCUBE_SETCACHE_LAYOUT_H

#include <linux/atomic.h>
#include <linux/bits.h>
#include <linux/compiler.h>
#include <linux/types.h>

/*
 * Places (ways) of a set: 8, as in the paper, or 16.  8 fingerprints are matched in a
 * word.  See the table "Ways" in Documentation/mm/mcube/setcache.rst for the reason.
 */
#ifndef SETCACHE_WAYS
#define SETCACHE_WAYS	16U
#endif
#define SETCACHE_WORDS	(SETCACHE_WAYS / 8)
#define SETCACHE_ALL	((1U << SETCACHE_WAYS) - 1)

/* Pages that a set remembers after their eviction. */
#define SETCACHE_GHOSTS	SETCACHE_WAYS

/* Users whose pages are kept apart, at a time. */
#define SETCACHE_USERS	4

/**
 * struct setcache_entry - a way
 * @cookie: see struct setcache_key; written while the way is neither VALID nor pinned.
 * @index: as @cookie.
 * @page: the caller's, for example a folio.  It stays with the way while keys come
 *        and go; only setcache_set_move() takes the page to another set.
 * @pins: readers that use @page, and the filler.
 * @tag: low half of the hash of the key.
 *
 * Two entries fill a cache line, so that a hit needs the line of the header and a
 * line with key, pins and page.
 */
struct setcache_entry {
	u64 cookie;
	u64 index;
	void *page;
	atomic_t pins;
	u32 tag;
};

/**
 * struct setcache_set - a page set
 * @fp: a byte for each way, 0 for a way that is neither FILLING nor VALID.
 * @order: the ways, 4 bits each, the newest in the lowest bits.
 * @valid: bit w is set while way w is VALID.
 * @filling: bit w is set while way w is FILLING.
 * @small: bit w is set while way w is in the small queue; S3-FIFO only.
 * @awaited: bit w is set from when way w was filled for a reader that comes back, until
 *           a hit, or until the page should go.  Without a lock a bit may be lost, or
 *           come back; then a page goes earlier or later, or a reference does not count.
 * @fills: reservations so far.
 * @again: reservations for pages that were among the ghosts: hits that a larger set
 *         would have had.
 * @count: references of the page since it came in, as far as the policy counts.
 * @entry: the ways.
 * @of: for each user, the ways that his pages came into last.
 * @ghost_tag: pages evicted lately, by 16 bits of their hash, 4 in a word; 0 if there is none.
 * @buried: cookies that had been taken when the set last lost pages of such cookies.
 * @ghost_count: what @count was when the page was evicted.
 * @ghost_next: the ghost that is overwritten next.
 *
 * The header, up to @count, has 56 bytes: 8 bytes of its cache line are left for the
 * lock that the caller puts in front.
 */
struct setcache_set {
	u64 fp[SETCACHE_WORDS];
	u64 order;
	u16 valid;
	u16 filling;
	u16 small;
	u16 awaited;
	u32 fills;
	u32 again;
	u8 count[SETCACHE_WAYS];
	struct setcache_entry entry[SETCACHE_WAYS];
	u16 of[SETCACHE_USERS];
	u64 ghost_tag[SETCACHE_GHOSTS / 4];
	u32 buried;
	u8 ghost_count[SETCACHE_GHOSTS];
	u8 ghost_next;
};

/**
 * enum setcache_policy - kind of replacement, see policy.c
 * @SETCACHE_LRU: the page whose last reference is oldest goes.
 * @SETCACHE_LFU: the page with fewest references since it came in goes.
 * @SETCACHE_NRLFU: as LFU, and a page that comes back has its count again.
 * @SETCACHE_S3FIFO: a small and a main queue.
 * @SETCACHE_NR_POLICIES: number of policies.
 *
 * The caller gives the policy with each call, and may give another one at any time:
 * all policies use the same words of the header.
 */
enum setcache_policy {
	SETCACHE_LRU,
	SETCACHE_LFU,
	SETCACHE_NRLFU,
	SETCACHE_S3FIFO,
	SETCACHE_NR_POLICIES,
};

/**
 * setcache_set_resident() - ways that have a key
 * @set: the set.
 *
 * Return: a bit for each way that is FILLING or VALID.
 */
static inline u16 setcache_set_resident(const struct setcache_set *set)
{
	return READ_ONCE(set->valid) | READ_ONCE(set->filling);
}

#endif /* _DRIVERS_MCUBE_SETCACHE_LAYOUT_H */
