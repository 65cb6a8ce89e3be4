/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A page set: a small cache with places for a few pages
 *
 * Copyright (C) 2026 The mcube authors
 *
 * Pure, see layout.h.  See set.c for the idea.
 */
#ifndef _DRIVERS_MCUBE_SETCACHE_SET_H
#define _DRIVERS_MCUBE_SETCACHE_SET_H

#include <linux/types.h>

#include "layout.h"

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
 * @nr: number of sets for which @place holds; 0 before setcache_table_find().
 * @place: number of the set among so many.
 * @user: number of the user for whom the page comes in, less than %SETCACHE_USERS.
 * @share: ways that his pages may have; 0 if there is no other user.
 */
struct setcache_key {
	u64 cookie;
	u64 index;
	u64 hash;
	u32 nr;
	u32 place;
	u8 user;
	u8 share;
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

/* Cookies that are remembered as taken. */
#define SETCACHE_DEAD	1024

/**
 * struct setcache_dead - cookies that were taken lately
 * @nr: how many so far.
 * @cookie: the last one for each remainder; cookies are given in turn.
 *
 * Pages with such a cookie are never found again, and go before any other page.
 */
struct setcache_dead {
	atomic_t nr;
	u64 cookie[SETCACHE_DEAD];
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
void setcache_set_await(struct setcache_set *set, unsigned int way);
void setcache_set_abort(struct setcache_set *set, unsigned int way);
bool setcache_set_expel(struct setcache_set *set, unsigned int way);
bool setcache_set_kill(struct setcache_set *set, const struct setcache_key *key);
unsigned int setcache_set_kill_range(struct setcache_set *set,
				     const struct setcache_range *range);
unsigned int setcache_set_bury(struct setcache_set *set, const struct setcache_dead *dead);
unsigned int setcache_set_trim(struct setcache_set *set, u8 users, u8 share,
			       enum setcache_policy policy);
bool setcache_set_move(struct setcache_set *from, unsigned int way,
		       struct setcache_set *to, enum setcache_policy policy);
bool setcache_set_is_free(const struct setcache_set *set, unsigned int way);
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
 * Return: the key; no table has looked for it so far.
 */
static inline struct setcache_key setcache_key(u64 seed, u64 cookie, u64 index)
{
	return (struct setcache_key){
		.cookie = cookie, .index = index,
		.hash = setcache_hash(seed, cookie, index),
	};
}

/**
 * setcache_dead_add() - a cookie was taken
 * @dead: where to remember it.
 * @cookie: the cookie.
 */
static inline void setcache_dead_add(struct setcache_dead *dead, u64 cookie)
{
	WRITE_ONCE(dead->cookie[cookie % SETCACHE_DEAD], cookie);
	/* Pairs with setcache_set_bury(): the cookie comes before the number. */
	smp_wmb();
	atomic_inc(&dead->nr);
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

#endif /* _DRIVERS_MCUBE_SETCACHE_SET_H */
