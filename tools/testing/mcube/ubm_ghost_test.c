// SPDX-License-Identifier: GPL-2.0
/*
 * The ghost stack: exact against stack distances by brute force, sampled against exact,
 * while its depth changes, and its memory.
 */
#include "mcube_test.h"

#include "replay/paper/ghost.h"

enum { MOST = 4096 };

static struct mcube_ubm_ghost ghost;

static void *begin(u32 room, u32 pages)
{
	void *memory = malloc(mcube_ubm_ghost_bytes(room));

	mcube_ubm_ghost_init(&ghost, memory, room);
	mcube_ubm_ghost_resize(&ghost, pages);
	return memory;
}

/* Hash of a number, so that pages get different fingerprints. */
static u32 print(u32 page)
{
	return hash_64(page + 1, 32);
}

/* An LRU list in an array, the most recent page first. */
static struct { u32 page[MOST]; u32 nr; } list;

/* Return: depth of the page, MOST if it is not in the list. */
static u32 list_ref(u32 page, u32 size)
{
	u32 i, depth;

	for (i = 0; i < list.nr && list.page[i] != page; i++)
		;
	depth = i < list.nr ? i : MOST;
	if (i == list.nr && list.nr < size)
		list.nr++;
	if (i >= list.nr)
		i = list.nr - 1;
	memmove(list.page + 1, list.page, i * sizeof(u32));
	list.page[0] = page;
	return depth;
}

static void check(struct __test_metadata *_metadata)
{
	u32 r, i, nr = 0, seen = 0, region = 0;
	u16 at;

	for (r = 0; r < MCUBE_UBM_REGIONS; r++)
		nr += ghost.count[r];
	ASSERT_EQ(nr, ghost.nr);
	for (at = ghost.newest, i = 0; at != MCUBE_UBM_GHOSTS; at = ghost.entry[at].older, i++) {
		ASSERT_LE(region, ghost.entry[at].region);
		region = ghost.entry[at].region;
		seen++;
		if (ghost.entry[at].older == MCUBE_UBM_GHOSTS ||
		    ghost.entry[ghost.entry[at].older].region != region)
			ASSERT_EQ(ghost.last[region], at);
	}
	ASSERT_EQ(seen, ghost.nr);
}

TEST(regions_are_stack_distances)
{
	static const u32 size[] = { 1, 7, 31, 32, 33, 64, 100, 256, 300, 511 };
	unsigned long i, s;

	for (s = 0; s < ARRAY_SIZE(size); s++) {
		void *memory = begin(mcube_ubm_ghost_room(size[s]), size[s]);

		ASSERT_EQ(ghost.shift, 0);
		list.nr = 0;
		for (i = 0; i < 20000 * test_scale(); i++) {
			/* Some pages are popular, and the popular pages change. */
			u32 range = size[s] * 2 + 1;
			u32 page = get_random_u32_below(get_random_u32_below(range) + 1) +
				   i / 5000 * size[s] / 2;
			u32 depth = list_ref(page, size[s]);
			unsigned int region = mcube_ubm_ghost_ref(&ghost, print(page));

			if (depth == MOST) {
				ASSERT_EQ(region, MCUBE_UBM_ABSENT);
				continue;
			}
			ASSERT_LT(region, MCUBE_UBM_REGIONS);
			ASSERT_LT(depth, size[s] * (region + 1) / MCUBE_UBM_REGIONS);
			ASSERT_GE(depth, size[s] * region / MCUBE_UBM_REGIONS);
		}
		check(_metadata);
		free(memory);
	}
}

TEST(a_loaded_page_is_no_hit)
{
	void *memory = begin(64, 64);

	EXPECT_FALSE(mcube_ubm_ghost_load(&ghost, print(1)));
	EXPECT_TRUE(mcube_ubm_ghost_load(&ghost, print(1)));
	EXPECT_EQ(mcube_ubm_ghost_ref(&ghost, print(1)), MCUBE_UBM_LOADED);
	EXPECT_EQ(ghost.hits[0], 0);
	EXPECT_EQ(mcube_ubm_ghost_ref(&ghost, print(1)), 0);
	EXPECT_EQ(ghost.hits[0], 1);
	EXPECT_EQ(mcube_ubm_ghost_ref(&ghost, print(2)), MCUBE_UBM_ABSENT);
	EXPECT_TRUE(mcube_ubm_ghost_load(&ghost, print(2)));
	EXPECT_EQ(mcube_ubm_ghost_ref(&ghost, print(2)), 0);
	free(memory);
}

TEST(what_was_counted_is_halved)
{
	void *memory = begin(64, 64);
	int i;

	for (i = 0; i < 9; i++)
		mcube_ubm_ghost_ref(&ghost, print(1));
	ghost.refs = 9;
	mcube_ubm_ghost_age(&ghost);
	EXPECT_EQ(ghost.hits[0], 4);
	EXPECT_EQ(ghost.refs, 4);
	free(memory);
}

/* References of a mix: a few popular pages, and loops that step the curve. */
static u32 mixed(u32 pages, unsigned long i)
{
	if (i % 3)
		return get_random_u32_below(get_random_u32_below(pages) + 1);
	return pages + i / 3 % (pages / 4);
}

/* Hits of the regions up to @last. */
static long sum(const unsigned long *hits, int last)
{
	long all = 0;
	int r;

	for (r = 0; r <= min(last, MCUBE_UBM_REGIONS - 1); r++)
		all += hits[r];
	return all;
}

/*
 * How far the sampled curve lies from the exact curve, in 1/1000 of all references.  The
 * curve may be off by two regions: the loop makes a step in the curve.  What the
 * sample has too many or too few references is put on the shortest list, as in SHARDS:
 * it comes from the most popular pages, and changes no slope.
 */
static unsigned int off_curve(struct __test_metadata *_metadata, u32 pages)
{
	static u32 stamp[1 << 16], tree[1 << 22];
	unsigned long refs = 400000, i, hits[MCUBE_UBM_REGIONS] = { 0 };
	s64 sampled = refs;
	void *memory = begin(mcube_ubm_ghost_room(pages), pages);
	unsigned int r, worst = 0;

	memset(stamp, 0, sizeof(stamp));
	memset(tree, 0, sizeof(tree));
	/* Exact distances: count the pages whose last reference is after a time. */
	for (i = 1; i <= refs; i++) {
		u32 page = mixed(pages, i), depth = 0, at;

		if (stamp[page]) {
			for (at = refs; at; at &= at - 1)
				depth += tree[at];
			for (at = stamp[page]; at; at &= at - 1)
				depth -= tree[at];
			if (depth < pages)
				hits[depth / (pages / MCUBE_UBM_REGIONS)]++;
			for (at = stamp[page]; at <= refs; at += at & -at)
				tree[at]--;
		}
		stamp[page] = i;
		for (at = i; at <= refs; at += at & -at)
			tree[at]++;
		if (mcube_ubm_next_sampled(1, page, page + 1, ghost.shift) == page) {
			mcube_ubm_ghost_ref(&ghost, print(page));
			sampled -= 1 << ghost.shift;
		}
	}
	for (r = 0; r < MCUBE_UBM_REGIONS; r++) {
		sampled += ghost.hits[r];
		worst = max_t(long, worst, max(sum(hits, r - 2) - sampled,
					       sampled - sum(hits, r + 2)) * 1000 / (long)refs);
		EXPECT_EQ(mcube_ubm_ghost_depth(&ghost, r), pages / MCUBE_UBM_REGIONS * (r + 1));
	}
	TH_LOG("%u.%u %% of all references off, beyond two regions", worst / 10, worst % 10);
	EXPECT_GT(sum(hits, MCUBE_UBM_REGIONS), (long)refs / 4);
	free(memory);
	return worst;
}

TEST(a_sample_tells_the_curve)
{
	EXPECT_LT(off_curve(_metadata, 32768), 20);
	EXPECT_EQ(ghost.size, 1024);
}

/* Small caches have a quarter of the entries. */
TEST(a_small_sample_tells_the_curve)
{
	EXPECT_LT(off_curve(_metadata, 4096), 20);
	EXPECT_EQ(ghost.size, 256);
}

static bool sampled(u32 hash, u32 page, unsigned int shift)
{
	return mcube_ubm_next_sampled(hash, page, page + 1, shift) == page;
}

/* Pages are sampled at the rate asked for, in small and in large files. */
TEST(one_in_so_many_pages_is_sampled)
{
	unsigned int shift, small, large;
	u32 i, hash;

	for (shift = 0; shift <= 8; shift++) {
		small = 0;
		large = 0;
		hash = get_random_u32();
		for (i = 0; i < 1 << 16; i++) {
			large += sampled(hash, i, shift);
			small += sampled(get_random_u32(), i & 3, shift);
		}
		if (shift <= MCUBE_UBM_BLOCK_SHIFT)
			EXPECT_EQ(large, 0x10000 >> shift);
		EXPECT_LT(abs((int)(large - (0x10000 >> shift))), 0x10000 >> shift >> 2);
		EXPECT_LT(abs((int)(small - (0x10000 >> shift))), 0x10000 >> shift >> 2);
	}
}

/* To look for the next sampled page is to look at page after page. */
TEST(the_next_sampled_page_is_found)
{
	unsigned long i;

	for (i = 0; i < 20000 * test_scale(); i++) {
		u32 hash = get_random_u32(), shift = get_random_u32_below(12);
		u32 page = get_random_u32() >> get_random_u32_below(32), end, at;

		end = page + min(get_random_u32_below(3000), U32_MAX - page);
		for (at = page; at < end && !sampled(hash, at, shift); at++)
			;
		ASSERT_EQ(mcube_ubm_next_sampled(hash, page, end, shift), at);
	}
}

TEST(the_depth_may_change_at_any_time)
{
	u32 room = mcube_ubm_ghost_room(3000), pages = 3000;
	void *memory = begin(room, pages);
	unsigned long i;

	for (i = 0; i < 200000 * test_scale(); i++) {
		if (!get_random_u32_below(1000)) {
			pages = 1 + get_random_u32_below(get_random_u32_below(40000) + 1);
			mcube_ubm_ghost_resize(&ghost, pages);
			ASSERT_LE(ghost.size, ghost.room);
		}
		if (get_random_u32_below(8))
			mcube_ubm_ghost_ref(&ghost, print(get_random_u32_below(5000)));
		else
			mcube_ubm_ghost_load(&ghost, print(get_random_u32_below(5000)));
		ASSERT_LE(ghost.nr, room);
		if (!(i % 1000))
			check(_metadata);
	}
	/* After enough references the regions have their sizes. */
	mcube_ubm_ghost_resize(&ghost, 1600);
	for (i = 0; i < 200000; i++)
		mcube_ubm_ghost_ref(&ghost, print(get_random_u32_below(5000)));
	for (i = 0; i < MCUBE_UBM_REGIONS; i++)
		EXPECT_EQ(ghost.count[i], ghost.target[i]);
	free(memory);
}

/* Fingerprints of one hash slot do not make look-ups long. */
TEST(a_slot_has_few_entries)
{
	void *memory = begin(2048, 2048);
	u32 i, n = 0;
	u16 at;

	for (i = 0; i < 1000; i++) {
		ASSERT_EQ(mcube_ubm_ghost_ref(&ghost, i << 16 | 5), MCUBE_UBM_ABSENT);
		ASSERT_LT(mcube_ubm_ghost_ref(&ghost, i << 16 | 5), MCUBE_UBM_REGIONS);
	}
	check(_metadata);
	for (at = ghost.slot[5]; at != MCUBE_UBM_GHOSTS; at = ghost.entry[at].next)
		n++;
	EXPECT_EQ(n, 16);
	EXPECT_EQ(ghost.nr, 16);
	/* The other slots have all other entries. */
	for (i = 0; i < 2000; i++)
		mcube_ubm_ghost_ref(&ghost, i);
	EXPECT_EQ(ghost.nr, ghost.size);
	check(_metadata);
	free(memory);
}

TEST(memory_is_bounded)
{
	u64 pages;

	for (pages = 1; pages <= S32_MAX; pages = pages * 3 / 2 + 1) {
		u32 room = mcube_ubm_ghost_room(pages);

		EXPECT_LE(room, MCUBE_UBM_GHOSTS);
		EXPECT_LE(mcube_ubm_ghost_bytes(room), MCUBE_UBM_GHOSTS * 16);
		/* 0.5 % of the cache. */
		if (pages >= 256)
			EXPECT_LE(mcube_ubm_ghost_bytes(room), pages * 4096 / 100);
	}
}
