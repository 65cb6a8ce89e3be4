// SPDX-License-Identifier: GPL-2.0
/*
 * The table against a naive one, which keeps for each group a list of its sets, and with
 * pages in the sets while it grows and shrinks.
 *
 * Mutations tried by hand, and the test that fails: setcache_place() with one position too
 * few in groups that have grown, or with the wrong number for odd groups
 * (places_agree_with_a_naive_table); grow that moves pages from the lowest position upwards
 * or omits a position, shrink in the opposite order (no_page_is_where_nobody_looks); a
 * @nr that changes before the locks are taken (all_sets_of_the_group_are_locked).
 */
#include "mcube_test.h"

#include "setcache/policy.h"
#include "setcache/table.h"

enum { SEED_OF_HASH = 99, SHIFT = 6, SEGMENTS = 64, MOST = SEGMENTS << SHIFT };

/* A set as the caller has it, with a lock in front. */
struct locked_set {
	unsigned long locked;
	struct setcache_set set;
};

static struct setcache_table table;
static void *segments[SEGMENTS];
static unsigned int nr_locked, most_locked;
static u32 nr_at_first_lock;

static struct locked_set *of(struct setcache_set *set)
{
	return container_of(set, struct locked_set, set);
}

static void lock(struct setcache_set *set)
{
	if (of(set)->locked++)
		abort();
	if (!nr_locked++)
		nr_at_first_lock = table.nr;
	most_locked = max(most_locked, nr_locked);
}

static void unlock(struct setcache_set *set)
{
	if (of(set)->locked-- != 1)
		abort();
	nr_locked--;
}

static const struct setcache_locks locks = { lock, unlock };

static void *new_segment(void)
{
	struct locked_set *s = calloc(1 << SHIFT, sizeof(*s));
	unsigned int i;

	for (i = 0; i < 1 << SHIFT; i++)
		setcache_set_init(&s[i].set);
	return s;
}

static void begin(void)
{
	const struct setcache_layout layout = {
		.stride = sizeof(struct locked_set), .offset = offsetof(struct locked_set, set),
		.segment_shift = SHIFT, .max_segments = SEGMENTS, .segment = segments,
	};

	setcache_table_init(&table, &layout, &locks, SEED_OF_HASH);
	setcache_table_add_segment(&table, new_segment());
	nr_locked = 0;
	most_locked = 0;
}

static void end(void)
{
	while (table.nr_segments)
		free(segments[--table.nr_segments]);
}

static void grow(struct __test_metadata *_metadata, enum setcache_policy policy)
{
	if (!setcache_table_next(&table))
		ASSERT_TRUE(setcache_table_add_segment(&table, new_segment()));
	ASSERT_TRUE(setcache_table_grow(&table, policy));
}

/* The naive table: the sets of each group, by position. */
static unsigned int list[MOST][2 * SETCACHE_GROUP], length[MOST], groups, grown;

static void naive_begin(void)
{
	groups = 1;
	grown = 0;
	for (length[0] = 0; length[0] < SETCACHE_GROUP; length[0]++)
		list[0][length[0]] = length[0];
}

static void naive_grow(unsigned int number)
{
	unsigned int g;

	list[grown][length[grown]++] = number;
	if (++grown < groups)
		return;
	grown = 0;
	if (length[0] < 2 * SETCACHE_GROUP)
		return;
	/* Each group is two groups from now on. */
	for (g = groups; g--; ) {
		memmove(list[2 * g + 1], list[g] + SETCACHE_GROUP, sizeof(list[g]) / 2);
		memmove(list[2 * g], list[g], sizeof(list[g]) / 2);
		length[2 * g] = SETCACHE_GROUP;
		length[2 * g + 1] = SETCACHE_GROUP;
	}
	groups *= 2;
}

static unsigned int naive_place(u64 hash)
{
	/* The hash as a fraction of 1, times the number of groups. */
	unsigned __int128 x = (unsigned __int128)hash * groups;
	unsigned int g = x >> 64;

	return list[g][(u64)x / 0x100000000ULL * length[g] >> 32];
}

TEST(places_agree_with_a_naive_table)
{
	unsigned int nr, i;
	u64 hash;

	naive_begin();
	for (nr = SETCACHE_GROUP; nr < MOST; nr++) {
		for (i = 0; i < 200 * test_scale(); i++) {
			hash = get_random_u64();
			ASSERT_EQ(setcache_place(hash, nr), naive_place(hash))
				TH_LOG("hash %#llx, %u sets", hash, nr);
		}
		ASSERT_EQ(setcache_place(0, nr), naive_place(0));
		ASSERT_EQ(setcache_place(~0ULL, nr), naive_place(~0ULL));
		naive_grow(nr);
	}
}

/* No set has more than (1 + 1/SETCACHE_GROUP) as much to serve as another. */
TEST(sets_are_balanced)
{
	static const unsigned int sizes[] = { 8, 9, 50, 100, 127, 128, 129, 300 };
	static unsigned int count[300];
	unsigned int i, s, least, most;

	for (s = 0; s < ARRAY_SIZE(sizes); s++) {
		memset(count, 0, sizeof(count));
		for (i = 0; i < 10000 * sizes[s]; i++)
			count[setcache_place(setcache_hash(SEED_OF_HASH, 1 + i % 3, i / 3),
					     sizes[s])]++;
		for (i = 0, least = ~0U, most = 0; i < sizes[s]; i++) {
			least = min(least, count[i]);
			most = max(most, count[i]);
		}
		/* 4 standard deviations of the least and of the most: 8 %. */
		EXPECT_LE(most * 100, least * 108 * (SETCACHE_GROUP + 1) / SETCACHE_GROUP);
	}
}

static struct setcache_set *set_of(u64 page, struct setcache_key *key)
{
	*key = setcache_key(SEED_OF_HASH, 1, page);
	return setcache_table_find(&table, key);
}

static void fill(struct __test_metadata *_metadata, u64 page, enum setcache_policy policy)
{
	struct setcache_key key;
	struct setcache_set *set = set_of(page, &key);
	unsigned int way;

	if (setcache_set_reserve(set, &key, policy, &way) == SETCACHE_RESERVED)
		ASSERT_TRUE(setcache_set_publish(set, way));
	setcache_set_put(set, way);
}

static unsigned int nr_found(u64 pages)
{
	struct setcache_key key;
	unsigned int nr = 0;
	u64 page;
	int way;

	for (page = 0; page < pages; page++) {
		struct setcache_set *set = set_of(page, &key);

		way = setcache_set_get(set, &key, SETCACHE_S3FIFO);
		if (way >= 0)
			setcache_set_put(set, way);
		nr += way >= 0;
	}
	return nr;
}

/* Pages that are in a set, whether or not it is the set where readers look. */
static unsigned int nr_resident(void)
{
	struct setcache_pressure p;
	unsigned int nr = 0, i;

	for (i = 0; i < table.nr_segments << SHIFT; i++) {
		setcache_pressure(setcache_table_set_at(&table, i), &p);
		nr += p.resident;
	}
	return nr;
}

TEST(no_page_is_where_nobody_looks)
{
	enum { FEW = 150, MANY = 500 };
	unsigned int round, pages = 0, had;
	u64 dropped;

	begin();
	for (round = 0; round < 3; round++) {
		while (table.nr < MANY) {
			/* About 6 pages a set, so that most sets have room. */
			for (; pages < 6 * table.nr; pages++)
				fill(_metadata, pages, SETCACHE_S3FIFO);
			had = nr_resident();
			dropped = table.dropped;
			grow(_metadata, SETCACHE_S3FIFO);
			ASSERT_EQ(nr_found(pages), nr_resident());
			ASSERT_EQ(nr_resident() + (table.dropped - dropped), had);
		}
		while (table.nr > FEW) {
			had = nr_resident();
			ASSERT_NE(setcache_table_shrink(&table, SETCACHE_S3FIFO), NULL);
			ASSERT_EQ(nr_found(pages), nr_resident());
			ASSERT_LE(nr_resident(), had);
		}
		/* 3000 pages in 150 sets: what is lost is what has no room. */
		ASSERT_GT(nr_resident(), FEW * SETCACHE_WAYS * 9 / 10);
	}
	/* Sets that have room lose nothing. */
	EXPECT_GT(table.moved, 10 * table.dropped);
	end();
}

/* A reader keeps its page; the page is not found again; nothing is lost for good. */
TEST(pages_in_use_are_left_behind)
{
	enum { PAGES = 256 };
	static struct { struct setcache_set *set; unsigned int way; } pin[PAGES];
	struct setcache_key key;
	unsigned int page, doomed = 0, i;

	begin();
	for (page = 0; page < PAGES; page++) {
		pin[page].set = set_of(page, &key);
		if (setcache_set_reserve(pin[page].set, &key, SETCACHE_LRU, &pin[page].way) !=
		    SETCACHE_RESERVED) {
			pin[page].set = NULL;
			continue;
		}
		/* Half of the pages are still being filled. */
		if (page % 2)
			ASSERT_TRUE(setcache_set_publish(pin[page].set, pin[page].way));
	}
	for (i = 0; i < 100; i++)
		grow(_metadata, SETCACHE_LRU);
	EXPECT_EQ(table.moved, 0);
	for (page = 0; page < PAGES; page++) {
		struct setcache_set *set = set_of(page, &key);
		bool stays = set == pin[page].set;

		if (!pin[page].set)
			continue;
		ASSERT_EQ(setcache_set_may_have(set, &key) &&
			  setcache_set_kill(set, &key), stays);
		if (!(page % 2))
			ASSERT_FALSE(setcache_set_publish(pin[page].set, pin[page].way));
		doomed += !stays;
		ASSERT_EQ(setcache_set_state(pin[page].set, pin[page].way), SETCACHE_DOOMED);
		setcache_set_put(pin[page].set, pin[page].way);
		ASSERT_EQ(setcache_set_state(pin[page].set, pin[page].way), SETCACHE_FREE);
	}
	EXPECT_EQ(table.dropped, doomed);
	EXPECT_GT(doomed, 50);
	EXPECT_EQ(nr_resident(), 0);
	end();
}

TEST(a_set_that_went_is_empty)
{
	struct setcache_key key;
	struct setcache_set *last;
	unsigned int page;
	int way;

	begin();
	while (table.nr < 1 << SHIFT)
		grow(_metadata, SETCACHE_LRU);
	for (page = 0; page < 5000; page++)
		fill(_metadata, page, SETCACHE_LRU);
	while (table.nr > SETCACHE_GROUP) {
		last = setcache_table_shrink(&table, SETCACHE_LRU);
		ASSERT_EQ(last, setcache_table_next(&table));
		ASSERT_TRUE(setcache_set_is_idle(last));
	}
	EXPECT_EQ(setcache_table_shrink(&table, SETCACHE_LRU), NULL);
	/* A page in use stays in the set that went. */
	while (table.nr < 40)
		grow(_metadata, SETCACHE_LRU);
	for (page = 0; ; page++) {
		fill(_metadata, page, SETCACHE_LRU);
		last = set_of(page, &key);
		if (last == setcache_table_set_at(&table, 39))
			break;
	}
	way = setcache_set_get(last, &key, SETCACHE_LRU);
	ASSERT_GE(way, 0);
	ASSERT_EQ(setcache_table_shrink(&table, SETCACHE_LRU), last);
	EXPECT_FALSE(setcache_set_is_idle(last));
	setcache_set_put(last, way);
	EXPECT_TRUE(setcache_set_is_idle(last));
	end();
}

/* Lock, then ask whether the set is the right one: so the change has to come under locks. */
TEST(all_sets_of_the_group_are_locked)
{
	struct setcache_key key;
	struct setcache_set *set;
	unsigned int i, moved;

	begin();
	for (i = 0; i < 200; i++) {
		most_locked = 0;
		moved = table.nr;
		grow(_metadata, SETCACHE_LRU);
		ASSERT_EQ(nr_at_first_lock, moved);
		ASSERT_EQ(nr_locked, 0);
		ASSERT_GT(most_locked, SETCACHE_GROUP);
		ASSERT_LE(most_locked, 2 * SETCACHE_GROUP);
	}
	for (i = 0, moved = 0; i < 1000; i++) {
		set = set_of(i, &key);
		ASSERT_TRUE(setcache_table_is_at(&table, &key, set));
		table.nr++;
		moved += !setcache_table_is_at(&table, &key, set);
		table.nr--;
	}
	/* One group of 16 or so changes, and half of its pages go to the next position. */
	EXPECT_GT(moved, 1000 / 16 / 4);
	EXPECT_LT(moved, 1000 / 16);
	end();
}

TEST(segments_come_and_go)
{
	struct setcache_key key = setcache_key(SEED_OF_HASH, 1, 1);
	void *memory;

	begin();
	EXPECT_EQ(table.nr, SETCACHE_GROUP);
	EXPECT_EQ(setcache_table_take_segment(&table), NULL);
	while (setcache_table_next(&table))
		ASSERT_TRUE(setcache_table_grow(&table, SETCACHE_LRU));
	EXPECT_EQ(table.nr, 1 << SHIFT);
	EXPECT_FALSE(setcache_table_grow(&table, SETCACHE_LRU));
	memory = new_segment();
	EXPECT_TRUE(setcache_table_add_segment(&table, memory));
	EXPECT_TRUE(setcache_table_grow(&table, SETCACHE_LRU));
	EXPECT_EQ(setcache_table_take_segment(&table), NULL);
	ASSERT_NE(setcache_table_shrink(&table, SETCACHE_LRU), NULL);
	EXPECT_EQ(setcache_table_take_segment(&table), memory);
	EXPECT_EQ(setcache_table_take_segment(&table), NULL);
	while (setcache_table_add_segment(&table, memory))
		;
	EXPECT_EQ(table.nr_segments, SEGMENTS);
	table.nr_segments = 1;
	free(memory);
	/* While pages are on their way, a page may be anywhere. */
	EXPECT_FALSE(setcache_table_may_have(&table, &key));
	table.turn++;
	EXPECT_TRUE(setcache_table_may_have(&table, &key));
	end();
}
