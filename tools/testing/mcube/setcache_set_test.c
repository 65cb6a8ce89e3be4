// SPDX-License-Identifier: GPL-2.0
/*
 * A page set against a naive model: an array of keys with states and pins.
 *
 * Mutations tried by hand, and the test that fails: match() that ignores the
 * highest bit of a fingerprint (keys_are_told_apart); take_from_valid() that does not look
 * at pins (pinned_pages_stay), doom() that keeps the fingerprint, publish() that does not
 * look at FILLING (both a_doomed_fill_is_not_published); all three
 * any_calls_agree_with_a_model; move() that leaves the page of the way behind
 * (moved_pages_keep_their_pages).
 */
#include "mcube_test.h"

#include <linux/bitops.h>

#include "setcache/policy.h"
#include "setcache/set.h"

enum { SEED_OF_HASH = 77, COOKIES = 3, PAGES = 20 };

static struct setcache_set set, other;

static struct setcache_key key_of(u64 cookie, u64 index)
{
	return setcache_key(SEED_OF_HASH, cookie, index);
}

/* Each way has a page that says which way it began in. */
static char pages[2 * SETCACHE_WAYS];

static void begin(void)
{
	unsigned int way;

	setcache_set_init(&set);
	setcache_set_init(&other);
	for (way = 0; way < SETCACHE_WAYS; way++) {
		set.entry[way].page = &pages[way];
		other.entry[way].page = &pages[SETCACHE_WAYS + way];
	}
}

/* Fill a page that is not in the set, and drop the pin. */
static unsigned int fill(struct __test_metadata *_metadata, struct setcache_set *s, u64 cookie,
			 u64 index, enum setcache_policy policy)
{
	struct setcache_key key = key_of(cookie, index);
	unsigned int way = SETCACHE_WAYS;

	ASSERT_EQ(setcache_set_reserve(s, &key, policy, &way), SETCACHE_RESERVED);
	ASSERT_LT(way, SETCACHE_WAYS);
	ASSERT_TRUE(setcache_set_publish(s, way));
	setcache_set_put(s, way);
	return way;
}

static bool is_in(struct setcache_set *s, u64 cookie, u64 index)
{
	struct setcache_key key = key_of(cookie, index);
	int way = setcache_set_get(s, &key, SETCACHE_LRU);

	if (way >= 0)
		setcache_set_put(s, way);
	return way >= 0;
}

/* The order has each way once, and ways without a key have no fingerprint. */
static void check(struct __test_metadata *_metadata, const struct setcache_set *s)
{
	u16 resident = setcache_set_resident(s);
	u32 seen = 0;
	unsigned int i;

	for (i = 0; i < SETCACHE_WAYS; i++)
		seen |= 1U << (s->order >> 4 * i & 0xf);
	ASSERT_EQ(seen, SETCACHE_ALL);
	ASSERT_EQ(s->valid & s->filling, 0);
	for (i = 0; i < SETCACHE_WAYS; i++)
		ASSERT_EQ(!!(s->fp[i / 8] >> 8 * (i % 8) & 0xff), resident >> i & 1);
}

TEST(the_lock_fits_into_the_line_of_the_header)
{
	EXPECT_EQ(offsetof(struct setcache_set, entry) % 64, 56);
	EXPECT_EQ(sizeof(struct setcache_entry), 32);
}

/* Fingerprints differ by little, so that carries and borrows would show. */
TEST(keys_are_told_apart)
{
	struct setcache_key key[SETCACHE_WAYS], absent;
	unsigned int way, i, j;

	for (i = 0; i < 256; i++) {
		begin();
		for (j = 0; j < SETCACHE_WAYS; j++) {
			/* Equal cookies and indices, so that only the fingerprint can tell. */
			key[j] = (struct setcache_key){ .cookie = 1, .index = 1,
				.hash = (i + j) % 255 + 1 };
			ASSERT_EQ(setcache_set_reserve(&set, &key[j], SETCACHE_LRU, &way),
				  SETCACHE_RESERVED);
			ASSERT_TRUE(setcache_set_publish(&set, way));
			setcache_set_put(&set, way);
			ASSERT_EQ(set.entry[way].tag, key[j].hash);
		}
		for (j = 0; j < SETCACHE_WAYS; j++) {
			ASSERT_TRUE(setcache_set_may_have(&set, &key[j]));
			way = setcache_set_get(&set, &key[j], SETCACHE_LRU);
			ASSERT_LT(way, SETCACHE_WAYS);
			ASSERT_EQ(set.entry[way].tag, key[j].hash);
			setcache_set_put(&set, way);
		}
		for (j = SETCACHE_WAYS; j < 255; j++) {
			absent = (struct setcache_key){ .cookie = 1, .index = 1,
				.hash = (i + j) % 255 + 1 };
			ASSERT_FALSE(setcache_set_may_have(&set, &absent));
			ASSERT_EQ(setcache_set_get(&set, &absent, SETCACHE_LRU), -1);
		}
	}
}

/* The same fingerprint, another cookie or another index: never a hit. */
TEST(a_fingerprint_is_no_key)
{
	struct setcache_key a = key_of(1, 5), b = a, c = a;
	unsigned int way;

	b.index++;
	c.cookie++;
	begin();
	fill(_metadata, &set, 1, 5, SETCACHE_LRU);
	EXPECT_GE(setcache_set_get(&set, &a, SETCACHE_LRU), 0);
	EXPECT_EQ(setcache_set_get(&set, &b, SETCACHE_LRU), -1);
	EXPECT_EQ(setcache_set_get(&set, &c, SETCACHE_LRU), -1);
	EXPECT_FALSE(setcache_set_kill(&set, &b));
	EXPECT_EQ(setcache_set_reserve(&set, &c, SETCACHE_LRU, &way), SETCACHE_RESERVED);
	/* Pins of the two lookups that failed are gone: only the first one holds a pin. */
	EXPECT_EQ(atomic_read(&set.entry[setcache_set_get(&set, &a, SETCACHE_LRU)].pins), 2);
}

TEST(a_fill_is_seen_by_nobody_before_it_is_published)
{
	struct setcache_key key = key_of(1, 1);
	unsigned int way, second;

	begin();
	ASSERT_EQ(setcache_set_reserve(&set, &key, SETCACHE_LRU, &way), SETCACHE_RESERVED);
	EXPECT_EQ(setcache_set_state(&set, way), SETCACHE_FILLING);
	EXPECT_EQ(setcache_set_get(&set, &key, SETCACHE_LRU), -1);
	EXPECT_TRUE(setcache_set_may_have(&set, &key));
	EXPECT_EQ(setcache_set_reserve(&set, &key, SETCACHE_LRU, &second), SETCACHE_BUSY);
	EXPECT_TRUE(setcache_set_publish(&set, way));
	EXPECT_EQ(setcache_set_state(&set, way), SETCACHE_VALID);
	EXPECT_EQ(setcache_set_reserve(&set, &key, SETCACHE_LRU, &second), SETCACHE_HIT);
	EXPECT_EQ(second, way);
	EXPECT_EQ(setcache_set_get(&set, &key, SETCACHE_LRU), way);
	EXPECT_EQ(atomic_read(&set.entry[way].pins), 3);
}

/* The three ways in which a fill is doomed; false if the set says that nothing was there. */
static bool doom_by(unsigned int how, const struct setcache_key *key, unsigned int way)
{
	struct setcache_range all = { 0, ~0ULL, 0, ~0ULL };

	switch (how) {
	case 0:
		return setcache_set_kill(&set, key);
	case 1:
		return setcache_set_kill_range(&set, &all) == 1;
	default:
		setcache_set_abort(&set, way);
		return true;
	}
}

TEST(a_doomed_fill_is_not_published)
{
	struct setcache_key key = key_of(1, 1);
	unsigned int way, second, how;

	for (how = 0; how < 3; how++) {
		begin();
		ASSERT_EQ(setcache_set_reserve(&set, &key, SETCACHE_LRU, &way),
			  SETCACHE_RESERVED);
		ASSERT_TRUE(doom_by(how, &key, way));
		EXPECT_EQ(setcache_set_state(&set, way), SETCACHE_DOOMED);
		EXPECT_FALSE(setcache_set_may_have(&set, &key));
		/* The key may come in again at once, in another way. */
		ASSERT_EQ(setcache_set_reserve(&set, &key, SETCACHE_LRU, &second),
			  SETCACHE_RESERVED);
		EXPECT_NE(second, way);
		EXPECT_FALSE(setcache_set_publish(&set, way));
		EXPECT_EQ(setcache_set_state(&set, second), SETCACHE_FILLING);
		setcache_set_abort(&set, way);
		EXPECT_EQ(setcache_set_state(&set, second), SETCACHE_FILLING);
		setcache_set_put(&set, way);
		EXPECT_EQ(setcache_set_state(&set, way), SETCACHE_FREE);
		EXPECT_TRUE(setcache_set_publish(&set, second));
		check(_metadata, &set);
	}
}

TEST(pinned_pages_stay)
{
	struct setcache_key key;
	unsigned int i, way, policy;
	int mine;

	for (policy = 0; policy < SETCACHE_NR_POLICIES; policy++) {
		begin();
		for (i = 0; i < SETCACHE_WAYS; i++)
			fill(_metadata, &set, 1, i, policy);
		/* All but one are pinned: any number of other pages takes turns in that way. */
		for (i = 0; i < SETCACHE_WAYS - 1; i++) {
			key = key_of(1, i);
			ASSERT_GE(setcache_set_get(&set, &key, policy), 0);
		}
		for (i = 0; i < 1000; i++)
			fill(_metadata, &set, 2, i, policy);
		for (i = 0; i < SETCACHE_WAYS - 1; i++)
			ASSERT_TRUE(is_in(&set, 1, i));
		key = key_of(2, 999);
		ASSERT_GE(setcache_set_get(&set, &key, policy), 0);
		key = key_of(3, 0);
		EXPECT_EQ(setcache_set_reserve(&set, &key, policy, &way), SETCACHE_FULL);
		EXPECT_FALSE(setcache_set_may_have(&set, &key));
		/* A kill does not wait for readers, and their page stays theirs. */
		key = key_of(1, 0);
		mine = setcache_set_get(&set, &key, policy);
		ASSERT_TRUE(setcache_set_kill(&set, &key));
		EXPECT_EQ(setcache_set_state(&set, mine), SETCACHE_DOOMED);
		EXPECT_EQ(setcache_set_reserve(&set, &key, policy, &way), SETCACHE_FULL);
		setcache_set_put(&set, mine);
		EXPECT_EQ(setcache_set_reserve(&set, &key, policy, &way), SETCACHE_FULL);
		setcache_set_put(&set, mine);
		EXPECT_EQ(setcache_set_reserve(&set, &key, policy, &way), SETCACHE_RESERVED);
		EXPECT_EQ(way, mine);
		check(_metadata, &set);
	}
}

/* The first hit of a page that a reader comes back for is no second reference. */
TEST(an_awaited_page_counts_once)
{
	static const enum setcache_policy policy[] = {
		SETCACHE_LFU, SETCACHE_NRLFU, SETCACHE_S3FIFO,
	};
	struct setcache_key key = key_of(1, 1);
	unsigned int i, way;
	u8 count;

	for (i = 0; i < ARRAY_SIZE(policy); i++) {
		begin();
		way = fill(_metadata, &set, 1, 1, policy[i]);
		setcache_set_await(&set, way);
		count = set.count[way];
		ASSERT_EQ(setcache_set_get(&set, &key, policy[i]), way);
		EXPECT_EQ(set.count[way], count);
		setcache_set_put(&set, way);
		ASSERT_EQ(setcache_set_get(&set, &key, policy[i]), way);
		EXPECT_EQ(set.count[way], count + 1);
		setcache_set_put(&set, way);
	}
}

/* Such a page stays once when it should go, and not twice; one of all pages goes. */
/* Fill a page for a user who has a share; true if it is in the set then. */
static bool fill_for(u8 user, u8 share, u64 index, enum setcache_policy policy)
{
	struct setcache_key key = key_of(10 + user, index);
	unsigned int way;

	key.user = user;
	key.share = share;
	if (setcache_set_reserve(&set, &key, policy, &way) != SETCACHE_RESERVED)
		return false;
	setcache_set_publish(&set, way);
	setcache_set_put(&set, way);
	return true;
}

/* The pages of a user in the set, a bit each. */
static u32 seen_by(u8 user)
{
	u32 seen = 0;
	u64 i;

	for (i = 0; i < 2 * SETCACHE_WAYS; i++)
		seen |= (u32)is_in(&set, 10 + user, i) << i;
	return seen;
}

/* What a user has in a set, and which of his pages goes, is the same whatever others read. */
TEST(users_see_nothing_of_each_other)
{
	const u8 share = SETCACHE_WAYS / 2;
	enum setcache_policy policy;
	unsigned int others, i;
	u32 seen[3];

	for (policy = SETCACHE_LRU; policy <= SETCACHE_S3FIFO; policy++) {
		for (others = 0; others < ARRAY_SIZE(seen); others++) {
			begin();
			for (i = 0; i < SETCACHE_WAYS; i++)
				ASSERT_TRUE(fill_for(0, 0, i, policy));
			/* Another user comes. */
			EXPECT_EQ(setcache_set_trim(&set, 3, share, policy), share);
			for (i = 0; i < 2 * SETCACHE_WAYS; i++) {
				if (!is_in(&set, 10, i))
					ASSERT_TRUE(fill_for(0, share, i, policy));
				if (others && i % others == 0)
					ASSERT_TRUE(fill_for(1, share, 100 + i, policy));
				ASSERT_LE(hweight16(set.of[0] & set.valid), share);
				check(_metadata, &set);
			}
			seen[others] = seen_by(0);
			/* He goes, and so do his pages. */
			setcache_set_trim(&set, 1, 0, policy);
			EXPECT_EQ(seen_by(0), seen[others]);
			EXPECT_EQ(hweight16(set.valid), share);
		}
		EXPECT_EQ(hweight32(seen[0]), share);
		EXPECT_EQ(seen[1], seen[0]);
		EXPECT_EQ(seen[2], seen[0]);
	}
}

/* Pages whose cookie was taken leave their ways, and no other page does. */
TEST(the_dead_make_room)
{
	static struct setcache_dead dead;
	unsigned int i;

	begin();
	for (i = 0; i < SETCACHE_WAYS; i++)
		fill(_metadata, &set, 1 + i % 2, i, SETCACHE_S3FIFO);
	EXPECT_EQ(setcache_set_bury(&set, &dead), 0);
	setcache_dead_add(&dead, 2 + SETCACHE_DEAD);
	EXPECT_EQ(setcache_set_bury(&set, &dead), 0);
	setcache_dead_add(&dead, 2);
	EXPECT_EQ(setcache_set_bury(&set, &dead), SETCACHE_WAYS / 2);
	EXPECT_EQ(setcache_set_bury(&set, &dead), 0);
	for (i = 0; i < SETCACHE_WAYS / 2; i++)
		fill(_metadata, &set, 3, i, SETCACHE_S3FIFO);
	for (i = 0; i < SETCACHE_WAYS; i += 2)
		EXPECT_TRUE(is_in(&set, 1, i));
	check(_metadata, &set);
}

TEST(an_awaited_page_stays_once)
{
	enum setcache_policy policy;
	unsigned int i, way, first;

	for (policy = SETCACHE_LRU; policy <= SETCACHE_S3FIFO; policy++) {
		begin();
		for (i = 0; i < SETCACHE_WAYS; i++)
			fill(_metadata, &set, 1, i, policy);
		/* The page that would go. */
		first = setcache_policy_victim(&set, set.valid, SETCACHE_ALL, policy);
		setcache_set_await(&set, first);
		i = set.entry[first].index;
		EXPECT_NE(fill(_metadata, &set, 2, 0, policy), first);
		EXPECT_EQ(set.entry[first].index, i);
		EXPECT_EQ(set.awaited, 0);
		/* All are awaited: one goes. */
		for (way = 0; way < SETCACHE_WAYS; way++)
			setcache_set_await(&set, way);
		first = set.order >> 4 * (SETCACHE_WAYS - 1);
		way = fill(_metadata, &set, 2, 1, policy);
		if (policy == SETCACHE_LRU)
			EXPECT_EQ(way, first);
		EXPECT_EQ(set.awaited, 0);
		EXPECT_TRUE(is_in(&set, 2, 1));
		check(_metadata, &set);
		/* All others are pinned: the awaited one goes. */
		for (i = 0; i < SETCACHE_WAYS; i++)
			if (i != way)
				atomic_inc(&set.entry[i].pins);
		setcache_set_await(&set, way);
		EXPECT_EQ(fill(_metadata, &set, 2, 2, policy), way);
	}
}

/* A new page of the way is not awaited. */
TEST(a_page_that_went_is_not_awaited)
{
	struct setcache_key key = key_of(1, 1);
	unsigned int way;

	begin();
	way = fill(_metadata, &set, 1, 1, SETCACHE_S3FIFO);
	setcache_set_await(&set, way);
	ASSERT_TRUE(setcache_set_kill(&set, &key));
	EXPECT_EQ(fill(_metadata, &set, 1, 2, SETCACHE_S3FIFO), way);
	EXPECT_EQ(set.awaited, 0);
}

TEST(ranges_are_killed_and_nothing_else)
{
	struct setcache_range range = { 2, 3, 4, 6 };
	unsigned int cookie, index;

	for (cookie = 1; cookie <= 4; cookie++) {
		for (index = 3; index <= 7; index++) {
			begin();
			fill(_metadata, &set, cookie, index, SETCACHE_LRU);
			fill(_metadata, &set, 9, 9, SETCACHE_LRU);
			EXPECT_EQ(setcache_set_kill_range(&set, &range),
				  (cookie == 2 || cookie == 3) && index >= 4 && index <= 6);
			EXPECT_EQ(is_in(&set, cookie, index),
				  !((cookie == 2 || cookie == 3) && index >= 4 && index <= 6));
			EXPECT_TRUE(is_in(&set, 9, 9));
		}
	}
}

/* The page follows its key, and each set has as many pages as before. */
TEST(moved_pages_keep_their_pages)
{
	unsigned int from, i, seen[2 * SETCACHE_WAYS] = { };
	struct setcache_key key = key_of(1, 1);
	void *page;
	int to;

	begin();
	for (i = 0; i < SETCACHE_WAYS; i++)
		fill(_metadata, &other, 2, i, SETCACHE_S3FIFO);
	from = fill(_metadata, &set, 1, 1, SETCACHE_S3FIFO);
	page = set.entry[from].page;
	EXPECT_TRUE(setcache_set_move(&set, from, &other, SETCACHE_S3FIFO));
	EXPECT_FALSE(is_in(&set, 1, 1));
	EXPECT_EQ(setcache_set_state(&set, from), SETCACHE_FREE);
	to = setcache_set_get(&other, &key, SETCACHE_LRU);
	ASSERT_GE(to, 0);
	EXPECT_EQ(other.entry[to].page, page);
	/* A page in use, or one that is being filled, is doomed where it is. */
	EXPECT_FALSE(setcache_set_move(&other, to, &set, SETCACHE_S3FIFO));
	EXPECT_EQ(setcache_set_state(&other, to), SETCACHE_DOOMED);
	EXPECT_EQ(other.entry[to].page, page);
	ASSERT_EQ(setcache_set_reserve(&set, &key, SETCACHE_LRU, &from), SETCACHE_RESERVED);
	EXPECT_FALSE(setcache_set_move(&set, from, &other, SETCACHE_S3FIFO));
	EXPECT_FALSE(setcache_set_publish(&set, from));
	EXPECT_FALSE(setcache_set_may_have(&other, &key));
	for (i = 0; i < SETCACHE_WAYS; i++) {
		seen[(char *)set.entry[i].page - pages]++;
		seen[(char *)other.entry[i].page - pages]++;
	}
	for (i = 0; i < 2 * SETCACHE_WAYS; i++)
		EXPECT_EQ(seen[i], 1);
	check(_metadata, &set);
	check(_metadata, &other);
}

/* The naive model: what a way has, by way. */
struct way {
	enum setcache_state state;
	u64 cookie;
	u64 index;
	int pins;
	bool filler;
};

static struct way model[SETCACHE_WAYS];

static int model_find(u64 cookie, u64 index)
{
	unsigned int way;

	for (way = 0; way < SETCACHE_WAYS; way++)
		if ((model[way].state == SETCACHE_VALID || model[way].state == SETCACHE_FILLING) &&
		    model[way].cookie == cookie && model[way].index == index)
			return way;
	return -1;
}

static bool model_kill(unsigned int way)
{
	if (model[way].state != SETCACHE_VALID && model[way].state != SETCACHE_FILLING)
		return false;
	model[way].state = model[way].pins ? SETCACHE_DOOMED : SETCACHE_FREE;
	return true;
}

static void model_put(unsigned int way)
{
	if (!--model[way].pins && model[way].state == SETCACHE_DOOMED)
		model[way].state = SETCACHE_FREE;
}

static void reserve(struct __test_metadata *_metadata, const struct setcache_key *key,
		    enum setcache_policy policy)
{
	int known = model_find(key->cookie, key->index);
	bool room = false, empty = false;
	unsigned int way, i;

	for (i = 0; i < SETCACHE_WAYS; i++) {
		room |= !model[i].pins;
		empty |= model[i].state == SETCACHE_FREE;
	}
	switch (setcache_set_reserve(&set, key, policy, &way)) {
	case SETCACHE_BUSY:
		ASSERT_GE(known, 0);
		ASSERT_EQ(model[known].state, SETCACHE_FILLING);
		break;
	case SETCACHE_HIT:
		ASSERT_EQ(way, known);
		ASSERT_EQ(model[way].state, SETCACHE_VALID);
		model[way].pins++;
		break;
	case SETCACHE_FULL:
		ASSERT_EQ(known, -1);
		ASSERT_FALSE(room);
		break;
	case SETCACHE_RESERVED:
		ASSERT_EQ(known, -1);
		ASSERT_EQ(model[way].pins, 0);
		/* No page goes while a way is free. */
		ASSERT_EQ(model[way].state, empty ? SETCACHE_FREE : SETCACHE_VALID);
		model[way] = (struct way){ SETCACHE_FILLING, key->cookie, key->index, 1, true };
		break;
	}
}

static void finish_fill(struct __test_metadata *_metadata, unsigned int way, bool good)
{
	bool filling = model[way].state == SETCACHE_FILLING;

	if (good) {
		ASSERT_EQ(setcache_set_publish(&set, way), filling);
		if (filling)
			model[way].state = SETCACHE_VALID;
	} else {
		setcache_set_abort(&set, way);
		if (filling)
			model_kill(way);
	}
	model[way].filler = false;
}

static unsigned int kill_range(const struct setcache_range *r)
{
	unsigned int way, killed = 0;

	for (way = 0; way < SETCACHE_WAYS; way++)
		if (model[way].cookie >= r->cookie_first && model[way].cookie <= r->cookie_last &&
		    model[way].index >= r->index_first && model[way].index <= r->index_last)
			killed += model_kill(way);
	return killed;
}

static void step(struct __test_metadata *_metadata)
{
	struct setcache_key key = key_of(1 + get_random_u32_below(COOKIES),
					 get_random_u32_below(PAGES));
	enum setcache_policy policy = get_random_u32_below(SETCACHE_NR_POLICIES);
	unsigned int way = get_random_u32_below(SETCACHE_WAYS);
	int known = model_find(key.cookie, key.index);
	struct setcache_range range = { key.cookie, key.cookie, key.index, key.index + 3 };

	switch (get_random_u32_below(16)) {
	case 0:
		ASSERT_EQ(setcache_set_kill(&set, &key), known >= 0);
		if (known >= 0)
			model_kill(known);
		break;
	case 1:
		ASSERT_EQ(setcache_set_kill_range(&set, &range), kill_range(&range));
		break;
	case 2 ... 5:
		if (model[way].filler)
			finish_fill(_metadata, way, get_random_u32_below(4));
		break;
	case 6 ... 8:
		reserve(_metadata, &key, policy);
		break;
	case 9 ... 11:
		if (known >= 0 && model[known].state == SETCACHE_VALID) {
			ASSERT_EQ(setcache_set_get(&set, &key, policy), known);
			model[known].pins++;
		} else {
			ASSERT_EQ(setcache_set_get(&set, &key, policy), -1);
		}
		break;
	default:
		/* The pin of a filler stays until the fill is over. */
		if (model[way].pins > model[way].filler) {
			setcache_set_put(&set, way);
			model_put(way);
		}
	}
}

TEST(any_calls_agree_with_a_model)
{
	unsigned long i, rounds = 300000 * test_scale();
	unsigned int way, states[4] = { };

	begin();
	memset(model, 0, sizeof(model));
	for (i = 0; i < rounds; i++) {
		step(_metadata);
		for (way = 0; way < SETCACHE_WAYS; way++) {
			ASSERT_EQ(setcache_set_state(&set, way), model[way].state);
			ASSERT_EQ(atomic_read(&set.entry[way].pins), model[way].pins);
			ASSERT_EQ(set.entry[way].page, &pages[way]);
			states[model[way].state]++;
		}
		check(_metadata, &set);
	}
	/* The run has seen all states often. */
	for (i = 0; i < 4; i++)
		EXPECT_GT(states[i], rounds / 10);
}
