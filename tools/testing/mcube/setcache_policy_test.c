// SPDX-License-Identifier: GPL-2.0
/*
 * The policies against naive ones, which keep lists with times, and on references that are
 * skewed, scan, or move.
 *
 * Mutations tried by hand, and the test that fails: lfu_victim() that takes the newest of
 * equal counts, a promoted page that keeps its count, ghosts that are not consumed (each
 * policies_agree_with_naive_ones); counts that are not halved (the same, and
 * counts_are_halved); to_front() that loses the way behind the one that moves
 * (the_order_is_that_of_the_touches); a small queue of all ways
 * (a_scan_takes_the_small_queue_only).
 */
#include "mcube_test.h"

#include <linux/log2.h>

#include "setcache/policy.h"
#include "setcache/set.h"

enum { SEED_OF_HASH = 5, PAGES = 60 };

static struct setcache_set set;

/* A reference; true if it is a hit.  A miss fills the page. */
static bool reference(struct __test_metadata *_metadata, struct setcache_set *s, u64 page,
		      enum setcache_policy policy)
{
	struct setcache_key key = setcache_key(SEED_OF_HASH, 1, page);
	int hit = setcache_set_get(s, &key, policy);
	unsigned int way;

	if (hit >= 0) {
		setcache_set_put(s, hit);
		return true;
	}
	ASSERT_EQ(setcache_set_reserve(s, &key, policy, &way), SETCACHE_RESERVED);
	ASSERT_TRUE(setcache_set_publish(s, way));
	setcache_set_put(s, way);
	return false;
}

/* The naive model: for each page what is known, with times instead of orders. */
struct naive {
	bool in;
	bool small;
	bool ghost;
	unsigned int count;
	unsigned long time;	/* when it was referenced or queued last */
	unsigned long left;	/* evictions before its own */
};

static struct naive page[PAGES];
static unsigned long now, evictions;

static void naive_begin(void)
{
	memset(page, 0, sizeof(page));
	now = 0;
	evictions = 0;
	setcache_set_init(&set);
}

static unsigned int nr_in(bool small)
{
	unsigned int i, nr = 0;

	for (i = 0; i < PAGES; i++)
		nr += page[i].in && page[i].small == small;
	return nr;
}

/* The page of a queue, or of both, that entered first. */
static unsigned int first_in(bool small, bool both)
{
	unsigned int i, best = PAGES;

	for (i = 0; i < PAGES; i++)
		if (page[i].in && (both || page[i].small == small) &&
		    (best == PAGES || page[i].time < page[best].time))
			best = i;
	return best;
}

static unsigned int naive_s3fifo(void)
{
	for (;;) {
		bool small = nr_in(true) >= SETCACHE_WAYS / 8;
		unsigned int i = first_in(small, false);

		if (!page[i].count)
			return i;
		page[i].count = small ? 0 : page[i].count - 1;
		page[i].small = false;
		page[i].time = ++now;
	}
}

static unsigned int naive_lfu(void)
{
	unsigned int i, best = PAGES;

	for (i = 0; i < PAGES; i++)
		if (page[i].in && (best == PAGES || page[i].count < page[best].count ||
				   (page[i].count == page[best].count &&
				    page[i].time < page[best].time)))
			best = i;
	return best;
}

static void naive_evict(enum setcache_policy policy)
{
	bool lfu = policy == SETCACHE_LFU || policy == SETCACHE_NRLFU, full = false;
	unsigned int i, victim;

	if (policy == SETCACHE_S3FIFO)
		victim = naive_s3fifo();
	else
		victim = lfu ? naive_lfu() : first_in(false, true);
	for (i = 0; i < PAGES; i++)
		full |= lfu && page[i].in && page[i].count == 255;
	for (i = 0; i < PAGES; i++)
		page[i].count >>= full;
	page[victim].in = false;
	page[victim].ghost = true;
	page[victim].left = evictions++;
}

static bool naive_reference(unsigned int i, enum setcache_policy policy)
{
	struct naive *p = &page[i];
	bool ghost;

	if (p->in) {
		if (policy == SETCACHE_S3FIFO) {
			p->count = min(p->count + 1, 3U);
		} else {
			p->count = policy == SETCACHE_LRU ? 0 : min(p->count + 1, 255U);
			p->time = ++now;
		}
		return true;
	}
	if (nr_in(false) + nr_in(true) == SETCACHE_WAYS)
		naive_evict(policy);
	ghost = p->ghost && evictions - p->left <= SETCACHE_GHOSTS;
	p->in = true;
	p->ghost = false;
	p->small = !ghost;
	p->count = ghost && policy == SETCACHE_NRLFU ? min(p->count + 1, 255U) : 1;
	if (policy == SETCACHE_S3FIFO)
		p->count = 0;
	p->time = ++now;
	return false;
}

/* Pages with low numbers are referenced more often; at times a page many times. */
static unsigned int some_page(void)
{
	unsigned int most = 1 + get_random_u32_below(PAGES);

	return get_random_u32_below(1 + get_random_u32_below(most));
}

TEST(policies_agree_with_naive_ones)
{
	unsigned long i, hits, rounds = 20000 * test_scale();
	unsigned int policy, p, again;

	for (policy = 0; policy < SETCACHE_NR_POLICIES; policy++) {
		naive_begin();
		hits = 0;
		for (i = 0; i < rounds; i++) {
			p = some_page();
			for (again = get_random_u32_below(64) ? 1 : 300; again; again--) {
				bool hit = naive_reference(p, policy);

				hits += hit;
				ASSERT_EQ(reference(_metadata, &set, p, policy), hit)
					TH_LOG("policy %u, reference %lu", policy, i);
			}
		}
		EXPECT_GT(hits, rounds / 4);
		EXPECT_GT(evictions, rounds / 10);
	}
}

TEST(the_order_is_that_of_the_touches)
{
	unsigned int list[SETCACHE_WAYS], i, at, way, round;

	setcache_set_init(&set);
	for (i = 0; i < SETCACHE_WAYS; i++)
		list[i] = i;
	for (round = 0; round < 10000; round++) {
		way = get_random_u32_below(SETCACHE_WAYS);
		for (at = 0; list[at] != way; at++)
			;
		for (; at; at--)
			list[at] = list[at - 1];
		list[0] = way;
		ASSERT_TRUE(setcache_order_touch(&set, way));
		for (i = 0; i < SETCACHE_WAYS; i++)
			ASSERT_EQ(set.order >> 4 * i & 0xf, list[i]);
	}
}

TEST(counts_are_halved)
{
	unsigned int i;

	setcache_set_init(&set);
	for (i = 0; i < 1000; i++)
		reference(_metadata, &set, 0, SETCACHE_LFU);
	for (i = 0; i < 100; i++)
		reference(_metadata, &set, 1, SETCACHE_LFU);
	EXPECT_EQ(set.count[0] + set.count[1], 255 + 100);
	for (i = 2; i < SETCACHE_WAYS + 1; i++)
		reference(_metadata, &set, i, SETCACHE_LFU);
	EXPECT_EQ(set.count[0] + set.count[1], 255 / 2 + 100 / 2);
}

/* Pages that are used once do not push out what is used again and again. */
TEST(a_scan_takes_the_small_queue_only)
{
	unsigned int i, hits[SETCACHE_NR_POLICIES], policy;

	for (policy = 0; policy < SETCACHE_NR_POLICIES; policy++) {
		setcache_set_init(&set);
		for (i = 0; i < 8 * SETCACHE_WAYS; i++)
			reference(_metadata, &set, i % (SETCACHE_WAYS * 3 / 4), policy);
		for (i = 0; i < 1000; i++)
			reference(_metadata, &set, 1000 + i, policy);
		for (i = 0, hits[policy] = 0; i < SETCACHE_WAYS * 3 / 4; i++)
			hits[policy] += reference(_metadata, &set, i, policy);
	}
	EXPECT_EQ(hits[SETCACHE_LRU], 0);
	EXPECT_EQ(hits[SETCACHE_NRLFU], SETCACHE_WAYS * 3 / 4);
	EXPECT_EQ(hits[SETCACHE_S3FIFO], SETCACHE_WAYS * 3 / 4);
}

/*
 * The working set moves.  LFU keeps what was hot, and so the new pages evict each other;
 * S3-FIFO has the new working set after a few turns.
 */
TEST(a_working_set_that_moves_is_followed)
{
	unsigned int i, hits[SETCACHE_NR_POLICIES], policy, nr = SETCACHE_WAYS * 3 / 4;

	for (policy = 0; policy < SETCACHE_NR_POLICIES; policy++) {
		setcache_set_init(&set);
		for (i = 0; i < 200 * nr; i++)
			reference(_metadata, &set, i % nr, policy);
		for (i = 0, hits[policy] = 0; i < 10 * nr; i++)
			hits[policy] += reference(_metadata, &set, 100 + i % nr, policy);
	}
	EXPECT_EQ(hits[SETCACHE_LRU], 9 * nr);
	EXPECT_LT(hits[SETCACHE_LFU], 4 * nr);
	EXPECT_GE(hits[SETCACHE_S3FIFO], 7 * nr);
}

/* A change of the policy needs nothing else: the set works on, and the new policy rules soon. */
TEST(the_policy_may_change_at_any_time)
{
	unsigned long i, rounds = 100000 * test_scale();
	enum setcache_policy policy = SETCACHE_LRU;
	unsigned int j, hits;

	setcache_set_init(&set);
	for (i = 0; i < rounds; i++) {
		if (!get_random_u32_below(50))
			policy = get_random_u32_below(SETCACHE_NR_POLICIES);
		reference(_metadata, &set, some_page(), policy);
		ASSERT_EQ(setcache_set_resident(&set) & ~SETCACHE_ALL, 0);
		if (policy != SETCACHE_LRU || get_random_u32_below(50))
			continue;
		/* Under LRU the pages referenced last are there, whatever was before. */
		for (j = 0; j < SETCACHE_WAYS; j++)
			reference(_metadata, &set, j, policy);
		for (j = 0, hits = 0; j < SETCACHE_WAYS; j++)
			hits += reference(_metadata, &set, j, policy);
		ASSERT_EQ(hits, SETCACHE_WAYS);
	}
}

/* Hits in ten thousandths of references that are skewed as 1/rank. */
static unsigned int skewed_hits(struct __test_metadata *_metadata, enum setcache_policy policy)
{
	enum { SETS = 32, NR = 4096, REFERENCES = 200000 };
	static struct setcache_set sets[SETS];
	unsigned int i, hits = 0, octave, p;
	struct rnd_state rnd;

	prandom_seed_state(&rnd, 1);
	for (i = 0; i < SETS; i++)
		setcache_set_init(&sets[i]);
	for (i = 0; i < REFERENCES; i++) {
		octave = prandom_u32_state(&rnd) % ilog2(NR);
		p = (1U << octave) + prandom_u32_state(&rnd) % (1U << octave);
		hits += reference(_metadata,
				  &sets[setcache_hash(SEED_OF_HASH, 1, p) >> 32 & (SETS - 1)],
				  p, policy);
	}
	return (u64)hits * 10000 / REFERENCES;
}

TEST(frequency_wins_on_skewed_references)
{
	unsigned int lru = skewed_hits(_metadata, SETCACHE_LRU);
	unsigned int lfu = skewed_hits(_metadata, SETCACHE_LFU);
	unsigned int nrlfu = skewed_hits(_metadata, SETCACHE_NRLFU);
	unsigned int s3fifo = skewed_hits(_metadata, SETCACHE_S3FIFO);

	TH_LOG("hits in ten thousand: lru %u, lfu %u, nrlfu %u, s3fifo %u", lru, lfu, nrlfu,
	       s3fifo);
	EXPECT_GT(nrlfu, lfu);
	EXPECT_GT(lfu, lru + 300);
	EXPECT_GT(s3fifo, lru + (nrlfu - lru) * 8 / 10);
}
