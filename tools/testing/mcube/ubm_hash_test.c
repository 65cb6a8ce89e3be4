// SPDX-License-Identifier: GPL-2.0
/*
 * The hashes of UBM together: what the sample leaves of the pages of many files spreads over
 * the ghost stack, and numbers that a user chooses spread over the slots.
 */
#include "mcube_test.h"

#include "replay/paper/core.h"

enum { NUMBERS = 60000, MOST_PAGES = 1 << 24 };

static struct mcube_ubm_core *core;

/* Sampled references, and those of them that plain LRU would have missed. */
static u64 sampled, missed;

static void begin(u64 capacity)
{
	const struct mcube_ubm_tuning tuning = MCUBE_UBM_TUNING_DEFAULT;

	core = calloc(1, mcube_ubm_core_bytes(capacity));
	mcube_ubm_core_init(core, capacity, &tuning);
}

static u32 samples_of(u64 ino, u32 first, u32 pages)
{
	const struct mcube_ubm_key key = { .ino = ino, .dev = 8 };
	u32 hash = mcube_ubm_hash(&key), page = first, end = first + pages, nr = 0;

	for (; (page = mcube_ubm_next_sampled(hash, page, end, core->lru.shift)) < end; page++)
		nr++;
	return nr;
}

/* Read pages of a file.  Without a sampled page nothing would change. */
static bool read_pages(u64 ino, u32 first, u32 pages)
{
	struct mcube_ubm_refs refs = {
		.key = { .ino = ino, .dev = 8 }, .first = first, .end = first + pages,
		.prev = MCUBE_UBM_NO_PREV, .eof = true,
	};
	u32 nr = samples_of(ino, first, pages);
	struct mcube_ubm_verdict verdict;
	u64 before = core->lru_missed;

	if (!nr)
		return false;
	refs.hash = mcube_ubm_hash(&refs.key);
	mcube_ubm_core_note(core, &refs, false, &verdict);
	sampled += nr;
	missed += (core->lru_missed - before) >> core->lru.shift;
	return true;
}

/* What was read once is read again: all but few of it hits. */
static void expect_hits(struct __test_metadata *_metadata, const char *what, u64 nr)
{
	EXPECT_LE(missed * 50, sampled) {
		TH_LOG("%s %llu: %llu of %llu miss, one in 2^%u is sampled", what,
		       (unsigned long long)nr, (unsigned long long)missed,
		       (unsigned long long)sampled, core->lru.shift);
	}
}

/* Files of @pages each fill half of the cache, or as much of it as is read in a moment. */
static void read_twice(struct __test_metadata *_metadata, unsigned int log, u32 pages)
{
	static u32 file[MOST_PAGES];
	u64 all = min(1ULL << (log - 1), (u64)MOST_PAGES);
	u32 i, nr = 0;
	s64 off;

	begin(1ULL << log);
	sampled = 0;
	for (i = 0; i < all / pages; i++)
		if (read_pages(i, 0, pages))
			file[nr++] = i;
	/* The sample stands for all pages.  Chance moves it by its square root. */
	off = (s64)(sampled << core->lru.shift) - i * pages;
	EXPECT_LT((double)off * off, 36.0 * (i * (u64)pages << core->lru.shift) + 1) {
		TH_LOG("cache of 2^%u pages, files of %u: %lld too many", log, pages,
		       (long long)off);
	}
	sampled = 0;
	missed = 0;
	for (i = 0; i < nr; i++)
		read_pages(file[i], 0, pages);
	expect_hits(_metadata, "files of", pages);
	free(core);
}

/* 4 MiB to 1 TiB. */
TEST(small_files_hit_in_a_cache_of_any_size)
{
	static const u32 pages[] = { 1, 2, 3, 4, 7, 8, 12, 16 };
	unsigned int log, i;

	for (log = 10; log <= 28; log += log < 20 ? 2 : 1)
		for (i = 0; i < ARRAY_SIZE(pages); i++)
			read_twice(_metadata, log, pages[i]);
}

/* A loss for each page that LRU had: the guard lets UBM stand back. */
TEST(the_guard_sees_small_files)
{
	struct mcube_ubm_key key = { .dev = 8 };
	u32 i;

	begin(1 << 22);
	for (i = 0; i < 1 << 20; i++)
		read_pages(i, 0, 1);
	for (i = 0; i < 1 << 20; i++) {
		key.ino = i;
		mcube_ubm_core_missed(core, mcube_ubm_hash(&key), 0, 1);
	}
	for (i = 0; !read_pages(i, 0, 1); i++)
		;
	EXPECT_TRUE(mcube_ubm_guard_on(&core->guard)) {
		TH_LOG("lead %d of slack %d", core->guard.lead, core->guard.slack);
	}
	free(core);
}

/* Inode numbers that differ in any row of bits. */
TEST(chosen_inode_numbers_spread_over_the_table)
{
	unsigned int shift;
	u32 i;

	for (shift = 0; shift <= 48; shift++) {
		begin(1 << 20);
		ASSERT_EQ(core->table.size, 65536);
		for (i = 0; i < NUMBERS; i++) {
			struct mcube_ubm_key key = { .ino = (u64)i << shift, .dev = 8 };

			mcube_ubm_table_get(&core->table, &key, mcube_ubm_hash(&key));
		}
		EXPECT_GE(core->table.nr, NUMBERS - 1) {
			TH_LOG("of %u numbers times 2^%u the table knows %u", NUMBERS, shift,
			       core->table.nr);
		}
		free(core);
	}
}

/* The same for pages of a file, and for a page of each of many files. */
TEST(chosen_pages_spread_over_the_ghost)
{
	unsigned int shift, pass;
	u32 i;

	for (shift = 0; shift <= 50; shift++) {
		begin(1 << 16);
		for (pass = 0; pass < 2; pass++) {
			sampled = 0;
			missed = 0;
			for (i = 0; i < 1 << 14; i++)
				read_pages(shift < 18 ? 1 : (u64)i << shift,
					   shift < 18 ? i << shift : 0, 1);
		}
		EXPECT_GT(sampled, 0);
		expect_hits(_metadata, "numbers times two to the", shift);
		free(core);
	}
}
