// SPDX-License-Identifier: GPL-2.0
/*
 * The homes of sets: they follow from the hash, are shared evenly, and no page leaves its
 * home while the table grows and shrinks.
 *
 * Mutations tried by hand, and the test that fails: setcache_home() by segment % nodes at
 * all sizes (the_hash_names_the_home); with one column too few (nodes_share_evenly); move_page()
 * without a look at homes (no_page_leaves_its_home); setcache_bundle() that puts a page before
 * those of the same home (bundles_agree_with_a_naive_sort).
 */
#include "mcube_test.h"

#include "setcache/home.h"
#include "setcache/table.h"

enum { SHIFT = SETCACHE_HOME_SHIFT, SEGMENTS = 1024, MOST = SEGMENTS << SHIFT };

TEST(nodes_share_evenly)
{
	static unsigned int count[64];
	unsigned int nodes, level, first, i, n, columns;

	for (nodes = 1; nodes <= ARRAY_SIZE(count); nodes++) {
		for (level = 0; level < 10; level++) {
			/* The sets that come in while the table doubles. */
			first = SETCACHE_GROUP << level;
			columns = max(first >> SHIFT >> SHIFT, 1U);
			memset(count, 0, sizeof(count));
			for (i = first; i < 2 * first; i++) {
				n = setcache_home(i, nodes);
				ASSERT_LT(n, nodes);
				ASSERT_EQ(n, setcache_home(i & -8U, nodes));
				count[n]++;
			}
			/* Within a segment at a time, or a column at all positions. */
			columns = columns < nodes ? first >> SHIFT : columns;
			for (n = 0; n < nodes; n++)
				ASSERT_LE(abs((int)(count[n] * nodes - first)),
					  (int)(first / columns * nodes))
					TH_LOG("%u nodes, %u sets", nodes, first);
		}
	}
}

/* In the order of the hash, if the number of nodes is a power of two. */
TEST(the_hash_names_the_home)
{
	unsigned int shift, nr, i, place, at_home;

	for (shift = 0; shift <= 4; shift++) {
		for (nr = 8192; nr < 32768; nr += 1 + get_random_u32() % 2000) {
			for (i = 0, at_home = 0; i < 10000; i++) {
				u64 hash = get_random_u64();
				bool same;

				place = setcache_place(hash, nr);
				same = setcache_home(place, 1 << shift) ==
				       (shift ? hash >> (64 - shift) : 0);
				/* Sets that came in when nodes took turns. */
				if (place >= 64U << shift)
					ASSERT_TRUE(same);
				at_home += same;
			}
			ASSERT_GE(at_home, shift < 3 ? 9600 : 8500);
		}
	}
}

TEST(nodes_take_turns)
{
	unsigned int i, nodes;

	for (nodes = 1; nodes <= 8; nodes++) {
		for (i = 0; i < 1000; i++) {
			ASSERT_EQ(setcache_set_node(i, nodes, false), i / 8 % nodes);
			ASSERT_EQ(setcache_page_node(i, nodes, false), i % nodes);
			ASSERT_EQ(setcache_set_node(i, nodes, true), setcache_home(i, nodes));
			ASSERT_EQ(setcache_page_node(i, nodes, true), setcache_home(i, nodes));
		}
	}
}

static struct setcache_table table;
static void *segments[SEGMENTS];

static void no_lock(struct setcache_set *set)
{
}

static const struct setcache_locks locks = { no_lock, no_lock };

/* The pages of a set are numbers that name the home of the set. */
static void add_segment(struct __test_metadata *_metadata)
{
	struct setcache_set *set = calloc(1 << SHIFT, sizeof(*set));
	u32 first = table.nr_segments << SHIFT;
	unsigned int i, way;

	for (i = 0; i < 1 << SHIFT; i++) {
		setcache_set_init(&set[i]);
		for (way = 0; way < SETCACHE_WAYS; way++)
			set[i].entry[way].page =
				(void *)(1UL + setcache_home(first + i, max(table.homes, 1U)));
	}
	ASSERT_TRUE(setcache_table_add_segment(&table, set));
}

static void begin(struct __test_metadata *_metadata, u32 homes)
{
	const struct setcache_layout layout = {
		.stride = sizeof(struct setcache_set), .segment_shift = SHIFT,
		.max_segments = SEGMENTS, .segment = segments, .homes = homes,
	};

	setcache_table_init(&table, &layout, &locks, 99);
	add_segment(_metadata);
}

static void end(void)
{
	while (table.nr_segments)
		free(segments[--table.nr_segments]);
}

static void grow_to(struct __test_metadata *_metadata, u32 nr)
{
	while (table.nr < nr) {
		if (!setcache_table_next(&table))
			add_segment(_metadata);
		ASSERT_TRUE(setcache_table_grow(&table, SETCACHE_S3FIFO));
	}
}

static void shrink_to(u32 nr)
{
	while (table.nr > nr)
		setcache_table_shrink(&table, SETCACHE_S3FIFO);
}

static void fill(struct __test_metadata *_metadata, u64 first, u64 last)
{
	for (; first <= last; first++) {
		struct setcache_key key = setcache_key(table.seed, 1, first);
		struct setcache_set *set = setcache_table_find(&table, &key);
		unsigned int way;

		if (setcache_set_reserve(set, &key, SETCACHE_S3FIFO, &way) == SETCACHE_RESERVED)
			ASSERT_TRUE(setcache_set_publish(set, way));
		setcache_set_put(set, way);
	}
}

static unsigned int nr_away(void)
{
	unsigned int i, way, away = 0;

	for (i = 0; i < table.nr_segments << SHIFT; i++)
		for (way = 0; way < SETCACHE_WAYS; way++)
			away += setcache_table_set_at(&table, i)->entry[way].page !=
				(void *)(1UL + setcache_home(i, max(table.homes, 1U)));
	return away;
}

/* Keys are found where they were, or not at all. */
static unsigned int nr_found(u64 last)
{
	unsigned int nr = 0;
	u64 page;
	int way;

	for (page = 0; page <= last; page++) {
		struct setcache_key key = setcache_key(table.seed, 1, page);
		struct setcache_set *set = setcache_table_find(&table, &key);

		way = setcache_set_get(set, &key, SETCACHE_S3FIFO);
		if (way >= 0)
			setcache_set_put(set, way);
		nr += way >= 0;
	}
	return nr;
}

static unsigned int nr_resident(void)
{
	unsigned int i, nr = 0;

	for (i = 0; i < table.nr_segments << SHIFT; i++)
		nr += hweight16(setcache_set_resident(setcache_table_set_at(&table, i)));
	return nr;
}

TEST(no_page_leaves_its_home)
{
	enum { LARGE = 4096, LARGER = 6000 };
	u64 moved, dropped;
	u32 homes;

	for (homes = 0; homes <= 5; homes++) {
		begin(_metadata, homes);
		fill(_metadata, 0, 99);
		grow_to(_metadata, 500);
		ASSERT_EQ(nr_found(99), nr_resident());
		fill(_metadata, 0, 4999);
		grow_to(_metadata, LARGE);
		fill(_metadata, 0, 29999);
		moved = table.moved;
		dropped = table.dropped;
		grow_to(_metadata, LARGER);
		ASSERT_EQ(nr_found(29999), nr_resident());
		ASSERT_EQ(0, nr_away());
		/* In a large table few sets have homes that the hash does not name. */
		ASSERT_GT(table.moved - moved, 5000);
		ASSERT_LT(table.dropped - dropped, (table.moved - moved) / 5);
		shrink_to(100);
		ASSERT_EQ(nr_found(29999), nr_resident());
		ASSERT_EQ(0, nr_away());
		grow_to(_metadata, 300);
		ASSERT_EQ(0, nr_away());
		end();
	}
}

TEST(bundles_agree_with_a_naive_sort)
{
	unsigned int round, nr, i, h, at;
	u16 home[16];
	u8 order[16];

	for (round = 0; round < 10000 * test_scale(); round++) {
		nr = get_random_u32() % 17;
		for (i = 0; i < nr; i++)
			home[i] = get_random_u32() % 5;
		setcache_bundle(home, nr, order);
		for (h = 0, at = 0; h < 5; h++)
			for (i = 0; i < nr; i++)
				if (home[i] == h)
					ASSERT_EQ(order[at++], i);
		ASSERT_EQ(at, nr);
	}
}
