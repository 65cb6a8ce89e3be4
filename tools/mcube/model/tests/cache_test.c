// SPDX-License-Identifier: GPL-2.0
/*
 * Caches: patterns with known misses, and a comparison with a second implementation.
 */
#include "mcube_test.h"
#include "rig.h"

/* Misses of the last of four passes over lines 0, step, 2 * step, ... */
static u64 pass_misses(struct rig *r, u64 lines, u64 step)
{
	u64 before = 0;

	for (int pass = 0; pass < 4; pass++) {
		before = rig_count(r, 0, SIM_LLC_MISSES);
		for (u64 i = 0; i < lines; i++)
			rig_load_line(r, i * step);
	}
	return rig_count(r, 0, SIM_LLC_MISSES) - before;
}

TEST(lru_cliff)
{
	static const struct {
		const char *size, *ways;
		u64 sets, nr;
	} cases[] = {
		{ "64K", "16", 64, 16 }, { "4M", "16", 4096, 16 }, { "32K", "1", 512, 1 },
		{ "36K", "12", 48, 12 },	/* the number of sets is no power of two */
		{ "1216", "19", 1, 19 },	/* a single set */
	};

	for (unsigned int i = 0; i < ARRAY_SIZE(cases); i++) {
		u64 sets = cases[i].sets, ways = cases[i].nr;

		for (u64 n = 2; n <= ways + 2; n++) {
			struct rig *r = rig_make(1, "llc.size", cases[i].size, "llc.ways",
						 cases[i].ways, NULL);

			/* n lines of one set, then n lines of each set */
			EXPECT_EQ(pass_misses(r, n, sets), n > ways ? n : 0);
			model_clear(&r->model);
			EXPECT_EQ(pass_misses(r, n * sets, 1), n > ways ? n * sets : 0);
			rig_free(r);
		}
	}
}

/* The same cliff at the private levels, in the requests that miss there. */
TEST(private_levels)
{
	for (u64 n = 7; n <= 10; n++) {
		struct rig *r = rig_make(1, "l1.size", "32K", "l1.ways", "8", "llc.size", "1M",
					 NULL);
		u64 before, l1;

		pass_misses(r, n, 64);
		before = rig_count(r, 0, SIM_LLC_REFS);
		l1 = rig_count(r, 0, SIM_L1_MISSES);
		pass_misses(r, n, 64);
		EXPECT_EQ(rig_count(r, 0, SIM_LLC_REFS) - before, n > 8 ? 4 * n : 0);
		EXPECT_EQ(rig_count(r, 0, SIM_L1_MISSES) - l1, n > 8 ? 4 * n : 0);
		rig_free(r);
	}
	for (u64 n = 15; n <= 18; n++) {
		struct rig *r = rig_make(1, "l1.size", "4K", "l1.ways", "8", "l2.size", "64K",
					 "l2.ways", "16", "llc.size", "1M", NULL);
		u64 before;

		pass_misses(r, n, 64);
		before = rig_count(r, 0, SIM_L2_MISSES);
		pass_misses(r, n, 64);
		EXPECT_EQ(rig_count(r, 0, SIM_L2_MISSES) - before, n > 16 ? 4 * n : 0);
		EXPECT_EQ(rig_count(r, 0, SIM_L2_MISSES), rig_count(r, 0, SIM_LLC_REFS));
		rig_free(r);
	}
}

/* 64 sets, 16 ways: a stride of 2^k lines uses 64 >> k sets. */
TEST(strides)
{
	for (unsigned int k = 0; k <= 6; k++) {
		u64 holds = (64 >> k) * 16;
		struct rig *r = rig_make(1, NULL);

		EXPECT_EQ(pass_misses(r, holds, 1 << k), 0);
		model_clear(&r->model);
		EXPECT_EQ(pass_misses(r, holds + (64 >> k), 1 << k), holds + (64 >> k));
		model_clear(&r->model);
		/* One line too many: its set always misses, other sets never. */
		EXPECT_EQ(pass_misses(r, holds + 1, 1 << k), 17);
		rig_free(r);
	}
}

TEST(colors_do_not_conflict)
{
	struct rig *r = rig_make(1, "llc.size", "1M", NULL);	/* 16 colors of 16 pages */
	u64 victim, before;

	EXPECT_EQ(r->model.map.colors, 16);
	for (unsigned int polluted = 0; polluted < 16; polluted++) {
		model_clear(&r->model);
		for (int round = 0; round < 2; round++)
			for (u64 page = 0; page < 256; page++)
				for (u64 l = 0; l < 64 && page % 16 == 5; l++)
					rig_load_line(r, page * 64 + l);
		for (u64 page = 256; page < 2048; page++)
			for (u64 l = 0; l < 64 && page % 16 == polluted; l++)
				rig_load_line(r, page * 64 + l);
		before = rig_count(r, 0, SIM_LLC_MISSES);
		for (u64 page = 5; page < 256; page += 16)
			for (u64 l = 0; l < 64; l++)
				rig_load_line(r, page * 64 + l);
		victim = rig_count(r, 0, SIM_LLC_MISSES) - before;
		EXPECT_EQ(victim, polluted == 5 ? 16 * 64 : 0);
	}
	EXPECT_EQ(r->model.header->color[5].refs, 16 * 3 * 1024 + 7 * 1024);
	EXPECT_EQ(r->model.header->color[4].refs, 7 * 1024);
	rig_free(r);
}

/* A second implementation, by the textbook: stamps of use, each way by itself. */
struct reference {
	u64 line[64][16];
	u64 stamp[64][16];
	unsigned int rrpv[64][16];
	bool valid[64][16], dirty[64][16];
};

static int reference_victim(struct reference *f, unsigned int set, unsigned int ways, bool srrip)
{
	int best = 0;

	for (unsigned int w = 0; w < ways; w++)
		if (!f->valid[set][w])
			return w;
	if (!srrip) {
		for (unsigned int w = 1; w < ways; w++)
			if (f->stamp[set][w] < f->stamp[set][best])
				best = w;
		return best;
	}
	for (;;) {
		for (unsigned int w = 0; w < ways; w++)
			if (f->rrpv[set][w] == 3)
				return w;
		for (unsigned int w = 0; w < ways; w++)
			f->rrpv[set][w]++;
	}
}

/* Returns true for a hit; *written is set if a dirty line was evicted. */
static bool reference_access(struct reference *f, unsigned int sets, unsigned int ways, bool srrip,
			     u64 line, bool store, u64 now, bool *written)
{
	unsigned int set = line % sets;
	int w;

	*written = false;
	for (w = 0; w < (int)ways; w++)
		if (f->valid[set][w] && f->line[set][w] == line) {
			f->stamp[set][w] = now;
			f->rrpv[set][w] = 0;
			f->dirty[set][w] |= store;
			return true;
		}
	w = reference_victim(f, set, ways, srrip);
	*written = f->valid[set][w] && f->dirty[set][w];
	f->valid[set][w] = true;
	f->line[set][w] = line;
	f->stamp[set][w] = now;
	f->rrpv[set][w] = 2;
	f->dirty[set][w] = store;
	return false;
}

TEST(replacement_against_brute_force)
{
	static struct reference f;
	unsigned long rounds = 40 * test_scale();

	for (unsigned long round = 0; round < rounds; round++) {
		bool srrip = round & 1, written, got_written;
		unsigned int ways = 1 + get_random_u32_below(16);
		unsigned int sets = 1 + get_random_u32_below(64);
		struct level l = { .ways = ways, .sets = sets,
				   .policy = srrip ? POLICY_SRRIP : POLICY_LRU };
		u64 range = 1 + get_random_u32_below(ways * sets * 3);
		struct cache c;

		memset(&f, 0, sizeof(f));
		ASSERT_TRUE(cache_init(&c, &l));
		for (u64 i = 0; i < 20000; i++) {
			u64 line = get_random_u32_below(range), victim = 0;
			uint64_t *entry;
			bool store = get_random_u32() & 1, hit;
			unsigned int index = cache_index(&c, line);

			hit = reference_access(&f, sets, ways, srrip, line, store, i, &written);
			entry = cache_lookup(&c, index, line);
			ASSERT_EQ(!!entry, hit);
			if (entry && store)
				*entry |= LINE_DIRTY;
			if (!entry)
				victim = cache_fill(&c, index, line << LINE_SHIFT |
						    (store ? LINE_DIRTY : 0));
			got_written = victim & LINE_DIRTY;
			ASSERT_EQ(got_written, written);
			ASSERT_NE(cache_peek(&c, index, line), NULL);
		}
		cache_free(&c);
	}
}

/* Half a set is reused again and again, between scans as long as the set. */
static u64 misses_under_scans(const char *policy)
{
	struct rig *r = rig_make(1, "llc.size", "1K", "llc.policy", policy, NULL);
	u64 misses = 0, before, next = 100;

	for (int i = 0; i < 2; i++)
		for (u64 l = 0; l < 8; l++)
			rig_load_line(r, l);
	for (int round = 0; round < 10; round++) {
		for (int i = 0; i < 16; i++)
			rig_load_line(r, next++);
		before = rig_count(r, 0, SIM_LLC_MISSES);
		for (u64 l = 0; l < 8; l++)
			rig_load_line(r, l);
		misses += rig_count(r, 0, SIM_LLC_MISSES) - before;
	}
	rig_free(r);
	return misses;
}

TEST(srrip_resists_scans)
{
	EXPECT_EQ(misses_under_scans("lru"), 80);
	EXPECT_EQ(misses_under_scans("srrip"), 0);
}

/* In the first level, too, where vcpu_repeat() could skip the lookup of a hit. */
TEST(srrip_in_the_first_level)
{
	struct rig *r = rig_make(1, "l1.size", "256", "l1.ways", "4", "l1.policy", "srrip", NULL);

	rig_load_line(r, 0);
	rig_load_line(r, 0);
	EXPECT_FALSE(vcpu_repeat(&r->model, &r->model.vcpu[0], 1ull << 47, 8, false));
	for (u64 l = 1; l < 5; l++)
		rig_load_line(r, l);
	EXPECT_EQ(rig_count(r, 0, SIM_L1_MISSES), 5);
	rig_load_line(r, 0);
	EXPECT_EQ(rig_count(r, 0, SIM_L1_MISSES), 5);
	rig_free(r);
}

/* Each line that was stored to is written back once, when it is evicted. */
TEST(write_backs)
{
	struct rig *r = rig_make(1, NULL);
	u64 lines = 1024;	/* of the last level */

	for (u64 l = 0; l < lines; l++)
		rig_access(r, 0, l * LINE, true, 0);
	rig_load_line(r, lines);	/* evicts the last dirty line from L1 */
	EXPECT_EQ(rig_count(r, 0, SIM_LLC_WRITEBACKS), 1);
	for (u64 l = lines + 1; l < 2 * lines; l++)
		rig_load_line(r, l);
	EXPECT_EQ(rig_count(r, 0, SIM_LLC_WRITEBACKS), lines);
	for (u64 l = 0; l < lines; l++)
		rig_load_line(r, l);
	EXPECT_EQ(rig_count(r, 0, SIM_LLC_WRITEBACKS), lines);
	EXPECT_EQ(rig_count(r, 0, SIM_STORES), lines);
	EXPECT_EQ(rig_count(r, 0, SIM_DRAM_ACCESSES), 4 * lines);
	rig_free(r);
}

/* A private level writes back to the last level, or to DRAM if the line is not there. */
TEST(write_backs_of_private_levels)
{
	struct rig *r = rig_make(1, "l1.size", "32K", "l1.ways", "8", "llc.size", "1K",
				 "llc.ways", "1", NULL);

	rig_access(r, 0, 0, true, 0);
	for (u64 l = 1; l <= 8; l++)
		rig_load_line(r, l * 64);	/* same set everywhere */
	EXPECT_EQ(rig_count(r, 0, SIM_LLC_WRITEBACKS), 0);
	EXPECT_EQ(rig_count(r, 0, SIM_DRAM_ACCESSES), 10);
	rig_free(r);

	r = rig_make(1, "l1.size", "512", "l1.ways", "8", "llc.size", "1M", NULL);
	rig_access(r, 0, 0, true, 0);
	for (u64 l = 1; l <= 8; l++)
		rig_load_line(r, l);
	EXPECT_EQ(rig_count(r, 0, SIM_DRAM_ACCESSES), 9);
	rig_free(r);

	/* L1 to L2, L2 to DRAM when L2 is full of dirty lines */
	r = rig_make(1, "l2.size", "512", "l2.ways", "8", "llc.size", "64", "llc.ways", "1", NULL);
	for (u64 l = 0; l < 100; l++)
		rig_access(r, 0, l * LINE, true, 0);
	/* The last line is dirty in L1, the 7 before it in L2, and 92 were written. */
	EXPECT_EQ(rig_count(r, 0, SIM_DRAM_ACCESSES) - rig_count(r, 0, SIM_LLC_MISSES), 92);
	rig_free(r);
}

/* 16 pages of 64 lines in sequence. */
static struct rig *stream(const char *kind, const char *degree)
{
	struct rig *r = rig_make(1, "llc.size", "1M", "prefetch.kind", kind, "prefetch.degree",
				 degree, NULL);

	for (u64 l = 0; l < 16 * 64; l++)
		rig_load_line(r, l);
	return r;
}

TEST(prefetcher_on_a_stream)
{
	static const struct {
		const char *kind, *degree;
		u64 misses;	/* per page, to train the prefetcher */
	} cases[] = {
		{ "none", "1", 64 }, { "next", "1", 1 }, { "next", "4", 1 },
		{ "stride", "1", 3 }, { "stride", "4", 3 },
	};

	for (unsigned int i = 0; i < ARRAY_SIZE(cases); i++) {
		struct rig *r = stream(cases[i].kind, cases[i].degree);

		EXPECT_EQ(rig_count(r, 0, SIM_LLC_REFS), 1024);
		EXPECT_EQ(rig_count(r, 0, SIM_LLC_MISSES), 16 * cases[i].misses);
		EXPECT_EQ(rig_count(r, 0, SIM_PREFETCHES), 16 * (64 - cases[i].misses));
		EXPECT_EQ(rig_count(r, 0, SIM_DRAM_ACCESSES), 1024);
		rig_free(r);
	}
}

TEST(prefetcher_follows_strides)
{
	struct rig *r = rig_make(1, "llc.size", "1M", "prefetch.kind", "stride", NULL);

	/* Down the page by three lines, alternating between two pages. */
	for (u64 i = 0; i < 21; i++) {
		rig_load_line(r, 63 - 3 * i);
		rig_load_line(r, 64 + 63 - 3 * i);
	}
	EXPECT_EQ(rig_count(r, 0, SIM_LLC_MISSES), 2 * 3);
	/* Each page is read down to line 3; the last prefetch is of line 0. */
	EXPECT_EQ(rig_count(r, 0, SIM_PREFETCHES), 2 * (21 - 3 + 1));
	rig_free(r);

	r = rig_make(1, "llc.size", "1M", "prefetch.kind", "stride", NULL);
	for (u64 i = 0; i < 1000; i++)
		rig_load_line(r, get_random_u32_below(1 << 20));
	EXPECT_LT(rig_count(r, 0, SIM_PREFETCHES), 10u);
	rig_free(r);
}
