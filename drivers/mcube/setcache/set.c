// SPDX-License-Identifier: GPL-2.0
/*
 * A page set: a small cache with places for a few pages
 *
 * Copyright (C) 2026 The mcube authors
 *
 * A page can be only in the set that its hash names.  So a CPU that looks for a page
 * meets only CPUs that use the same set, and replacement needs no list of all pages:
 *
 *              header: a cache line       way 0    way 1    way 2          ghosts
 *   lock of   +--------------------+    +--------+--------+--------+-     +------+
 *   the       | a byte for each    |    | cookie | cookie |        |      | tags |
 *   caller    | way (fingerprint)  |    | index  | index  |  ...   | ...  | of   |
 *             | order, counts,     |    | page   | page   |        |      | what |
 *             | VALID, FILLING     |    | pins   | pins   |        |      | went |
 *             +--------------------+    +--------+--------+--------+-     +------+
 *
 * States of a way:
 *
 *             reserve             publish
 *     FREE -------------> FILLING ---------> VALID
 *      ^  ^                 |                  |  |
 *      |  |                 | kill, abort      |  | reserve for another page,
 *      |  |  last pin       v                  |  | when there are no pins
 *      |  +-------------- DOOMED <-------------+  +------> FILLING
 *      |                            kill, pins |
 *      +---------------------------------------+ kill, no pins
 *
 * Lock: setcache_set_reserve(), _publish(), _await(), _abort(), _expel(), _kill(),
 * _kill_range(), _bury(), and _move() are called under a lock of the set, which the caller has.
 * There are three
 * functions that need no lock:
 *
 * setcache_set_get()
 *     pins a way first and looks then if the way is VALID and has the key.  A way gets
 *     another key only in setcache_set_reserve(), which takes the way from VALID first
 *     and looks then if there are pins.  Full barriers lie in between on both sides, so
 *     either the reader sees that the way is no longer VALID, or the reservation sees
 *     the pin and takes another way.
 *
 * setcache_set_put()
 *     drops a pin.  DOOMED is a way without a key that has pins; so the last pin frees
 *     the way without further ado.
 *
 * setcache_set_may_have()
 *     tells whether a page is not in the set.  A filler stores the fingerprint and then
 *     looks into the index of the file.  An inserter stores a page in that index
 *     and then looks at the fingerprints.  With a full barrier in between on both sides
 *     at least one of the two sees the other.
 *
 * Users: a page that comes in for a user evicts no page of another user, as the other one
 * could see that.  So while there are several, each has a share of the ways of each set, even
 * of a set that has empty ways.  A set remembers no evicted pages then, as all users share
 * these.
 *
 * Source: Zheng, Burns, Szalay, "A parallel page cache: IOPS and caching for
 * multicore systems", HotStorage 2012.
 *
 * Differences from the paper:
 *
 * - A hit takes no lock, and looks at fingerprints before it looks at keys.
 * - A set remembers pages that it evicted, see policy.c.
 * - FILLING and DOOMED, so that a page that changes while it is read is never VALID.
 * - Sets have 16 ways instead of 8: Documentation/mm/mcube/setcache.rst has figures.
 */

#include <linux/bitops.h>
#include <linux/string.h>

#include "policy.h"
#include "set.h"

#define BYTES(n)	(0x0101010101010101ULL * (n))

/* The fingerprint of a key; never 0. */
static u8 fingerprint(u32 tag)
{
	return (u8)tag ?: 1;
}

/* The highest bit of each byte of @word that equals @fp, and no other bit. */
static u64 match(u64 word, u8 fp)
{
	u64 differ = word ^ BYTES(fp);

	return ~(((differ & BYTES(0x7f)) + BYTES(0x7f)) | differ | BYTES(0x7f));
}

static void set_fingerprint(struct setcache_set *set, unsigned int way, u8 fp)
{
	unsigned int shift = 8 * (way % 8);
	u64 *word = &set->fp[way / 8];

	WRITE_ONCE(*word, (*word & ~(0xffULL << shift)) | (u64)fp << shift);
}

static void set_user(struct setcache_set *set, unsigned int way, unsigned int user)
{
	unsigned int i;

	if (set->of[user] >> way & 1)
		return;
	for (i = 0; i < SETCACHE_USERS; i++)
		set->of[i] &= ~BIT(way);
	set->of[user] |= BIT(way);
}

static bool has_key(const struct setcache_entry *e, const struct setcache_key *key)
{
	return e->cookie == key->cookie && e->index == key->index;
}

/**
 * setcache_set_init() - an empty set
 * @set: the set; the pages of the ways are set to NULL.
 */
void setcache_set_init(struct setcache_set *set)
{
	memset(set, 0, sizeof(*set));
	setcache_order_init(set);
}

/**
 * setcache_set_get() - look a page up and pin it
 * @set: the set.
 * @key: the page.
 * @policy: the policy.
 *
 * Needs no lock.  While setcache_set_move() runs, a page can be missed; then
 * setcache_set_reserve() finds it.
 *
 * Return: the way, which the caller gives back by setcache_set_put(); -1 if the page
 * is not VALID.
 */
int setcache_set_get(struct setcache_set *set, const struct setcache_key *key,
		     enum setcache_policy policy)
{
	u8 fp = fingerprint(key->hash);
	unsigned int i, way;
	u64 hits;

	for (i = 0; i < SETCACHE_WORDS; i++) {
		hits = match(READ_ONCE(set->fp[i]), fp);
		for (; hits; hits &= hits - 1) {
			way = i * 8 + __ffs64(hits) / 8;
			atomic_inc(&set->entry[way].pins);
			/* Pairs with take_from_valid(). */
			smp_mb__after_atomic();
			/* Pairs with set_valid(): the key is complete. */
			if (smp_load_acquire(&set->valid) >> way & 1 &&
			    has_key(&set->entry[way], key)) {
				setcache_policy_hit(set, way, policy);
				return way;
			}
			setcache_set_put(set, way);
		}
	}
	return -1;
}

/**
 * setcache_set_may_have() - can a page be in the set?
 * @set: the set.
 * @key: the page.
 *
 * Needs no lock.  See the head of the file for the barriers that the caller needs.
 *
 * Return: false if the page is neither VALID nor FILLING.
 */
bool setcache_set_may_have(const struct setcache_set *set,
			   const struct setcache_key *key)
{
	u8 fp = fingerprint(key->hash);
	unsigned int i;

	for (i = 0; i < SETCACHE_WORDS; i++)
		if (match(READ_ONCE(set->fp[i]), fp))
			return true;
	return false;
}

/* The way that has the key, FILLING or VALID; -1 if there is none. */
static int find(const struct setcache_set *set, const struct setcache_key *key)
{
	u8 fp = fingerprint(key->hash);
	unsigned int i, way;
	u64 hits;

	for (i = 0; i < SETCACHE_WORDS; i++) {
		for (hits = match(set->fp[i], fp); hits; hits &= hits - 1) {
			way = i * 8 + __ffs64(hits) / 8;
			if (has_key(&set->entry[way], key))
				return way;
		}
	}
	return -1;
}

static void set_valid(struct setcache_set *set, u16 valid)
{
	/*
	 * Pairs with setcache_set_get(): keys and pages come before VALID.  That holds
	 * for the ways that stay VALID too, which other CPUs have published.
	 */
	smp_store_release(&set->valid, valid);
}

/* The way has no key any more; readers may still have pins. */
static void doom(struct setcache_set *set, unsigned int way)
{
	set_valid(set, set->valid & ~BIT(way));
	WRITE_ONCE(set->filling, set->filling & ~BIT(way));
	set->small &= ~BIT(way);
	set_fingerprint(set, way, 0);
	/*
	 * Pairs with setcache_set_get(): not VALID first, then a look at the pins.  Who looks may
	 * hold the lock later, and unlock and lock are no full barrier on all machines (POWER).
	 */
	smp_mb();
}

/**
 * setcache_set_is_free() - has a way neither a key nor a reader?
 * @set: the set.
 * @way: the way.
 *
 * The reads of the last reader are over.
 *
 * Context: the lock of the set; or no CPU can find the set any more, and a full barrier
 * has come since.
 * Return: true if so.
 */
bool setcache_set_is_free(const struct setcache_set *set, unsigned int way)
{
	return !(setcache_set_resident(set) >> way & 1) &&
		!atomic_read_acquire(&set->entry[way].pins);
}

/* Take a way from VALID, unless it has pins. */
static bool take_from_valid(struct setcache_set *set, unsigned int way)
{
	atomic_t *pins = &set->entry[way].pins;

	if (atomic_read(pins))
		return false;
	set_valid(set, set->valid & ~BIT(way));
	/* Pairs with setcache_set_get(): not VALID first, then the pins. */
	smp_mb();
	if (!atomic_read_acquire(pins))
		return true;
	set_valid(set, set->valid | BIT(way));
	return false;
}

/* The reader of the page is about to come: the page stays, but only once. */
static bool stays_once(struct setcache_set *set, unsigned int way)
{
	u16 awaited = READ_ONCE(set->awaited);

	if (!(awaited >> way & 1))
		return false;
	WRITE_ONCE(set->awaited, awaited & ~BIT(way));
	return true;
}

static u16 ways_of(const struct setcache_set *set, unsigned int user)
{
	return set->of[user] & setcache_set_resident(set);
}

/* Ways of users that have more than their share, as they were others' ways before. */
static u16 ways_above(const struct setcache_set *set, unsigned int share)
{
	unsigned int user;
	u16 above = 0;

	for (user = 0; user < SETCACHE_USERS; user++)
		if (hweight16(ways_of(set, user)) > share)
			above |= ways_of(set, user);
	return above;
}

/*
 * A way for a new page of a user, -1 if all that he may have are in use.  With a @share of 0 there
 * is no other user.  The way is neither VALID nor pinned; the caller gives it a key at once, as
 * find() would take the old key for that of a page.
 */
static int make_room(struct setcache_set *set, enum setcache_policy policy, unsigned int user,
		     unsigned int share)
{
	unsigned int empty = SETCACHE_ALL & ~setcache_set_resident(set), way, pass;
	u16 own = ways_of(set, user), scope = SETCACHE_ALL, among;

	if (share && hweight16(own) >= share)
		empty = 0;
	for (; empty; empty &= empty - 1) {
		way = __ffs(empty);
		if (setcache_set_is_free(set, way))
			return way;
	}
	if (share)
		scope = hweight16(own) < share && ways_above(set, share) ?
			ways_above(set, share) : own;
	/* A page that has stayed in the first pass may go in the second one. */
	for (pass = 0; pass < 2; pass++) {
		for (among = set->valid & scope; among; among &= ~BIT(way)) {
			way = setcache_policy_victim(set, among, scope, policy);
			if (stays_once(set, way) || !take_from_valid(set, way))
				continue;
			if (!share)
				setcache_policy_leave(set, way);
			set->small &= ~BIT(way);
			return way;
		}
	}
	return -1;
}

/**
 * setcache_set_reserve() - get a way for a page that is not in the set
 * @set: the set.
 * @key: the page.
 * @policy: the policy.
 * @way: set to the way, if the caller holds a pin.
 *
 * Evicts the page that the policy chooses among those of the user.  The caller holds a
 * pin on the way if the
 * result is %SETCACHE_RESERVED or %SETCACHE_HIT, and gives it back by
 * setcache_set_put().  After %SETCACHE_RESERVED the caller executes smp_mb(), looks if
 * the index of the file has the page, fills the page, and calls setcache_set_publish()
 * or setcache_set_abort().
 *
 * Context: the lock of the set.
 * Return: what was done.
 */
enum setcache_reserved
setcache_set_reserve(struct setcache_set *set, const struct setcache_key *key,
		     enum setcache_policy policy, unsigned int *way)
{
	int mine = find(set, key);
	struct setcache_entry *e;

	if (mine >= 0) {
		if (set->filling >> mine & 1)
			return SETCACHE_BUSY;
		atomic_inc(&set->entry[mine].pins);
		setcache_policy_hit(set, mine, policy);
		*way = mine;
		return SETCACHE_HIT;
	}
	mine = make_room(set, policy, key->user, key->share);
	if (mine < 0)
		return SETCACHE_FULL;
	e = &set->entry[mine];
	atomic_inc(&e->pins);
	e->cookie = key->cookie;
	e->index = key->index;
	e->tag = key->hash;
	set_user(set, mine, key->user);
	WRITE_ONCE(set->filling, set->filling | BIT(mine));
	set_fingerprint(set, mine, fingerprint(e->tag));
	setcache_policy_enter(set, mine, policy);
	*way = mine;
	return SETCACHE_RESERVED;
}

/**
 * setcache_set_publish() - a page has been filled
 * @set: the set.
 * @way: the way from setcache_set_reserve().
 *
 * The caller keeps its pin.  It may give the page to a reader only if it is VALID: where
 * the way was doomed, the page may hold what another file has had in these blocks since.
 *
 * Context: the lock of the set.
 * Return: true if the page is VALID now; false if the way was doomed meanwhile.
 */
bool setcache_set_publish(struct setcache_set *set, unsigned int way)
{
	/* The filler's pin keeps the way from being reserved again. */
	if (!(set->filling >> way & 1))
		return false;
	WRITE_ONCE(set->filling, set->filling & ~BIT(way));
	set_valid(set, set->valid | BIT(way));
	return true;
}

/**
 * setcache_set_await() - a reader comes back for a page
 * @set: the set.
 * @way: the way, VALID.
 *
 * The page was filled for a reader that did not wait.  It stays when its turn to go comes
 * for the first time, and the first hit does not count.
 *
 * Context: the lock of the set.
 */
void setcache_set_await(struct setcache_set *set, unsigned int way)
{
	WRITE_ONCE(set->awaited, READ_ONCE(set->awaited) | BIT(way));
}

/**
 * setcache_set_abort() - a page could not be filled
 * @set: the set.
 * @way: the way from setcache_set_reserve(); the caller keeps its pin.
 *
 * Context: the lock of the set.
 */
void setcache_set_abort(struct setcache_set *set, unsigned int way)
{
	if (set->filling >> way & 1)
		setcache_set_expel(set, way);
}

/**
 * setcache_set_expel() - a way loses its key
 * @set: the set.
 * @way: the way.
 *
 * As setcache_set_kill() for the page of the way, whichever it is.
 *
 * Context: the lock of the set.
 * Return: true if the way was VALID or FILLING.
 */
bool setcache_set_expel(struct setcache_set *set, unsigned int way)
{
	if (!(setcache_set_resident(set) >> way & 1))
		return false;
	doom(set, way);
	return true;
}

/**
 * setcache_set_kill() - a page must not be in the set
 * @set: the set.
 * @key: the page.
 *
 * Readers that have pinned the page go on.  No lookup that starts later finds the page,
 * and a fill that is under way will not be published.
 *
 * Context: the lock of the set.
 * Return: true if the page was VALID or FILLING.
 */
bool setcache_set_kill(struct setcache_set *set, const struct setcache_key *key)
{
	int way = find(set, key);

	if (way < 0)
		return false;
	doom(set, way);
	return true;
}

/**
 * setcache_set_kill_range() - pages must not be in the set
 * @set: the set.
 * @range: the pages.
 *
 * As setcache_set_kill() for each page of the range.
 *
 * Context: the lock of the set.
 * Return: number of pages that were VALID or FILLING.
 */
unsigned int setcache_set_kill_range(struct setcache_set *set,
				     const struct setcache_range *range)
{
	unsigned int left = setcache_set_resident(set), way, killed = 0;
	const struct setcache_entry *e;

	for (; left; left &= left - 1) {
		way = __ffs(left);
		e = &set->entry[way];
		if (e->cookie < range->cookie_first || e->cookie > range->cookie_last ||
		    e->index < range->index_first || e->index > range->index_last)
			continue;
		doom(set, way);
		killed++;
	}
	return killed;
}

/**
 * setcache_set_bury() - pages whose cookie was taken make room
 * @set: the set.
 * @dead: cookies that were taken.
 *
 * Looks at the ways once after a cookie was taken.
 *
 * Context: the lock of the set.
 * Return: number of pages that were VALID.
 */
unsigned int setcache_set_bury(struct setcache_set *set, const struct setcache_dead *dead)
{
	/* Pairs with setcache_dead_add(): the number comes before the cookies. */
	u32 nr = atomic_read_acquire(&dead->nr);
	unsigned int left = set->valid, way, buried = 0;
	u64 cookie;

	if (set->buried == nr)
		return 0;
	set->buried = nr;
	for (; left; left &= left - 1) {
		way = __ffs(left);
		cookie = set->entry[way].cookie;
		if (READ_ONCE(dead->cookie[cookie % SETCACHE_DEAD]) != cookie)
			continue;
		doom(set, way);
		buried++;
	}
	return buried;
}

/**
 * setcache_set_trim() - the users, or their shares, have changed
 * @set: the set.
 * @users: a bit for each user who may have pages.
 * @share: ways that each of them may have; 0 if there is a single one.
 * @policy: the policy, which chooses the pages that go.
 *
 * Forgets the pages that were evicted.
 *
 * Context: the lock of the set.
 * Return: number of pages that were VALID or FILLING.
 */
unsigned int setcache_set_trim(struct setcache_set *set, u8 users, u8 share,
			       enum setcache_policy policy)
{
	unsigned int user, way, most, killed = 0;
	u16 own, among;

	for (user = 0; user < SETCACHE_USERS; user++) {
		most = users >> user & 1 ? share ?: SETCACHE_WAYS : 0;
		for (;;) {
			own = ways_of(set, user);
			if (hweight16(own) <= most)
				break;
			among = own & set->valid;
			way = among ? setcache_policy_victim(set, among, own, policy) :
				      __ffs(own);
			doom(set, way);
			killed++;
		}
	}
	setcache_policy_forget(set);
	return killed;
}

/**
 * setcache_set_move() - a page belongs to another set now
 * @from: the set that has the page.
 * @way: its way, FILLING or VALID.
 * @to: the set that shall have the page.
 * @policy: the policy, which may evict a page from @to.
 *
 * The two ways exchange their pages, so that each set keeps as many.  A page that is
 * pinned or FILLING, or finds no room but that of other users, is doomed instead.  Either way,
 * @from has the
 * key no more.
 *
 * Context: the locks of both sets.
 * Return: true if the page is VALID in @to.
 */
bool setcache_set_move(struct setcache_set *from, unsigned int way,
		       struct setcache_set *to, enum setcache_policy policy)
{
	struct setcache_entry *old = &from->entry[way], *new;
	bool small = from->small >> way & 1;
	unsigned int user = 0;
	int place = -1;
	void *page;

	while (user < SETCACHE_USERS - 1 && !(from->of[user] >> way & 1))
		user++;
	if (from->valid >> way & 1 && take_from_valid(from, way))
		place = make_room(to, policy, user,
				  ways_of(to, user) == setcache_set_resident(to) ?
				  0 : SETCACHE_WAYS);
	doom(from, way);
	if (place < 0)
		return false;
	new = &to->entry[place];
	page = new->page;
	new->page = old->page;
	old->page = page;
	new->cookie = old->cookie;
	new->index = old->index;
	new->tag = old->tag;
	set_user(to, place, user);
	WRITE_ONCE(to->count[place], READ_ONCE(from->count[way]));
	to->small |= small ? BIT(place) : 0;
	WRITE_ONCE(to->awaited, READ_ONCE(to->awaited) & ~BIT(place));
	while (!setcache_order_touch(to, place))
		;
	set_fingerprint(to, place, fingerprint(new->tag));
	set_valid(to, to->valid | BIT(place));
	return true;
}

/**
 * setcache_set_is_idle() - is the set empty, and does nobody use a page?
 * @set: the set, which no CPU can find any more.
 *
 * Return: true if the caller may take the pages from the ways.
 */
bool setcache_set_is_idle(const struct setcache_set *set)
{
	unsigned int way;

	for (way = 0; way < SETCACHE_WAYS; way++)
		if (!setcache_set_is_free(set, way))
			return false;
	return true;
}

/**
 * setcache_set_state() - state of a way
 * @set: the set.
 * @way: the way.
 *
 * Return: the state; a guess without the lock of the set.
 */
enum setcache_state setcache_set_state(const struct setcache_set *set,
				       unsigned int way)
{
	if (READ_ONCE(set->valid) >> way & 1)
		return SETCACHE_VALID;
	if (READ_ONCE(set->filling) >> way & 1)
		return SETCACHE_FILLING;
	return atomic_read(&set->entry[way].pins) ? SETCACHE_DOOMED : SETCACHE_FREE;
}
