/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A page set: a small cache with places for a few pages
 *
 * Copyright (C) 2026 The mcube authors
 *
 * Pure: words and atomic counters only, no lock and no struct page.  See set.c for
 * the idea, for what the caller locks, and for what needs no lock.
 */
#ifndef _DRIVERS_MCUBE_SETCACHE_SET_H
#define _DRIVERS_MCUBE_SETCACHE_SET_H

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

/**
 * enum setcache_state - state of a way
 * @SETCACHE_FREE: no page, no pin.
 * @SETCACHE_FILLING: reserved for a key; the filler holds a pin and reads the page.
 * @SETCACHE_VALID: the page of the key.
 * @SETCACHE_DOOMED: no key any more, and pins that have to go before the way is free.
 */
enum setcache_state {
	SETCACHE_FREE,
	SETCACHE_FILLING,
	SETCACHE_VALID,
	SETCACHE_DOOMED,
};

/**
 * struct setcache_key - name of a page
 * @cookie: names a file; a cookie is never used for a second file.
 * @index: index of the page in the file.
 * @hash: setcache_hash() of the two.
 */
struct setcache_key {
	u64 cookie;
	u64 index;
	u64 hash;
};

/**
 * struct setcache_range - names of pages
 * @cookie_first: first cookie.
 * @cookie_last: last cookie.
 * @index_first: first index, in each of the files.
 * @index_last: last index, in each of the files.
 */
struct setcache_range {
	u64 cookie_first;
	u64 cookie_last;
	u64 index_first;
	u64 index_last;
};

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
 * @ghost_next: the ghost that is overwritten next.
 * @fills: reservations so far.
 * @again: reservations for pages that were among the ghosts: hits that a larger set
 *         would have had.
 * @count: references of the page since it came in, as far as the policy counts.
 * @entry: the ways.
 * @ghost_tag: pages evicted lately, by 16 bits of their hash; 0 if there is none.
 * @ghost_count: what @count was when the page was evicted.
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
	u8 ghost_next;
	u32 fills;
	u32 again;
	u8 count[SETCACHE_WAYS];
	struct setcache_entry entry[SETCACHE_WAYS];
	u16 ghost_tag[SETCACHE_GHOSTS];
	u8 ghost_count[SETCACHE_GHOSTS];
};

/**
 * enum setcache_reserved - result of setcache_set_reserve()
 * @SETCACHE_RESERVED: the way is FILLING; the caller fills it, holding a pin.
 * @SETCACHE_HIT: the page came in meanwhile; the caller holds a pin.
 * @SETCACHE_BUSY: the page is being filled by another caller.
 * @SETCACHE_FULL: all ways are pinned or FILLING.
 */
enum setcache_reserved {
	SETCACHE_RESERVED,
	SETCACHE_HIT,
	SETCACHE_BUSY,
	SETCACHE_FULL,
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

void setcache_set_init(struct setcache_set *set);
int setcache_set_get(struct setcache_set *set, const struct setcache_key *key,
		     enum setcache_policy policy);
bool setcache_set_may_have(const struct setcache_set *set,
			   const struct setcache_key *key);
enum setcache_reserved
setcache_set_reserve(struct setcache_set *set, const struct setcache_key *key,
		     enum setcache_policy policy, unsigned int *way);
bool setcache_set_publish(struct setcache_set *set, unsigned int way);
void setcache_set_abort(struct setcache_set *set, unsigned int way);
bool setcache_set_kill(struct setcache_set *set, const struct setcache_key *key);
unsigned int setcache_set_kill_range(struct setcache_set *set,
				     const struct setcache_range *range);
bool setcache_set_move(struct setcache_set *from, unsigned int way,
		       struct setcache_set *to, enum setcache_policy policy);
bool setcache_set_is_idle(const struct setcache_set *set);
enum setcache_state setcache_set_state(const struct setcache_set *set,
				       unsigned int way);

/**
 * setcache_hash() - hash of a key
 * @seed: secret of the table: a user cannot choose pages that share a set.
 * @cookie: see struct setcache_key.
 * @index: see struct setcache_key.
 *
 * The upper bits choose the set, the low bits are fingerprint and tag.
 *
 * Return: 64 bits, of which each depends on all bits of the arguments.
 */
static inline u64 setcache_hash(u64 seed, u64 cookie, u64 index)
{
	u64 h = (cookie ^ seed) * 0x9e3779b97f4a7c15ULL;

	/* The finalizer of MurmurHash3 (Appleby), with the index added in between. */
	h ^= h >> 32;
	h += index;
	h *= 0xff51afd7ed558ccdULL;
	h ^= h >> 33;
	h *= 0xc4ceb9fe1a85ec53ULL;
	return h ^ h >> 33;
}

/**
 * setcache_key() - make a key
 * @seed: see setcache_hash().
 * @cookie: see struct setcache_key.
 * @index: see struct setcache_key.
 *
 * Return: the key.
 */
static inline struct setcache_key setcache_key(u64 seed, u64 cookie, u64 index)
{
	return (struct setcache_key){
		.cookie = cookie, .index = index,
		.hash = setcache_hash(seed, cookie, index),
	};
}

/**
 * setcache_set_put() - drop a pin
 * @set: the set.
 * @way: the way that setcache_set_get() or setcache_set_reserve() gave.
 *
 * Needs no lock.  Reads of the page come before the pin is dropped.
 */
static inline void setcache_set_put(struct setcache_set *set, unsigned int way)
{
	atomic_fetch_sub_release(1, &set->entry[way].pins);
}

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

#endif /* _DRIVERS_MCUBE_SETCACHE_SET_H */
