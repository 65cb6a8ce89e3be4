// SPDX-License-Identifier: GPL-2.0
/*
 * The solver of 'mcube map probe': exact or refused, whatever the bank sets are.
 *
 * A test makes a map, labels random addresses by it, spoils the labels, and compares what
 * the solver says with the map on addresses that the solver never saw. A refusal is right
 * anywhere; where it says so, the test wants an answer.
 */
#include "mcube_test.h"

#include "../../mcube/probe/solve.h"

#define ADDRESSES	4000

static struct solve_work work;
static struct solve_result result;
static struct solve_sample sample[SOLVE_MAX_SAMPLES];

/* How a test makes addresses and spoils labels. */
struct spoil {
	unsigned int low;		/* lowest and highest bit of an address */
	unsigned int high;
	unsigned int wrong;		/* percent of labels at random */
	unsigned int merged;		/* percent of labels that are label / 2 */
	bool missing[SOLVE_MAX_LABELS];	/* sets without addresses */
};

static u64 random_address(const struct spoil *s)
{
	return (get_random_u64() & ((1ull << (s->high + 1)) - 1)) >> s->low << s->low;
}

static void fill(const struct solve_map *map, const struct spoil *s, unsigned int nr)
{
	unsigned int banks = solve_banks(map);

	for (unsigned int i = 0; i < nr; i++) {
		do {
			sample[i].address = random_address(s);
			sample[i].label = solve_value(map, sample[i].address);
		} while (s->missing[sample[i].label]);
		if (get_random_u32_below(100) < s->merged)
			sample[i].label /= 2;
		if (get_random_u32_below(100) < s->wrong)
			sample[i].label = get_random_u32_below(banks);
	}
}

/* Addresses of present sets that map and answer see differently. */
static unsigned int differences(const struct solve_map *map, const struct solve_map *got,
				const struct spoil *s)
{
	u64 before[64];
	unsigned int n = 0, nr = 0;

	for (unsigned int i = 0; i < ADDRESSES; i++) {
		u64 a = random_address(s);

		if (s->missing[solve_value(map, a)])
			continue;
		for (unsigned int k = 0; k < 64 && k < nr; k++)
			n += (solve_value(map, a) == solve_value(map, before[k])) !=
				(solve_value(got, a) == solve_value(got, before[k]));
		before[nr++ % 64] = a;
	}
	return n;
}

static u64 random_mask(const struct spoil *s)
{
	unsigned int weight = 1 + get_random_u32_below(6);
	u64 mask = 0;

	while (weight--)
		mask |= 1ull << (s->low + get_random_u32_below(s->high - s->low + 1));
	return mask;
}

static void random_masks(struct solve_map *map, const struct spoil *s, unsigned int nr)
{
	u64 basis[SOLVE_MAX_MASKS + 1];

	*map = (struct solve_map){ };
	while (map->nr_masks < nr) {
		u64 mask = random_mask(s);

		if (solve_span(basis, map->nr_masks, mask) > map->nr_masks)
			map->mask[map->nr_masks++] = mask;
	}
}

static struct spoil random_spoil(void)
{
	unsigned int low = SOLVE_LINE_SHIFT + get_random_u32_below(8);

	return (struct spoil){ .low = low, .high = low + 9 + get_random_u32_below(7),
			       .wrong = get_random_u32_below(21) };
}

static unsigned int enough(const struct solve_map *map)
{
	return 1200 + 4 * solve_banks(map);
}

TEST(masks_are_found)
{
	unsigned long rounds = 25 * test_scale();

	for (unsigned long round = 0; round < rounds; round++) {
		struct spoil s = random_spoil();
		struct solve_map map;

		random_masks(&map, &s, 1 + get_random_u32_below(7));
		fill(&map, &s, enough(&map));
		solve(&result, &work, sample, enough(&map), SOLVE_OFFSET | SOLVE_MODULUS);
		ASSERT_EQ(result.why, NULL)
			TH_LOG("%u masks, bits %u to %u, %u %% wrong: %s (%u found, %f, %f)",
			       map.nr_masks, s.low, s.high, s.wrong, result.why,
			       result.map.nr_masks, result.holds, result.whole);
		ASSERT_EQ(result.map.nr_masks, map.nr_masks);
		ASSERT_EQ(differences(&map, &result.map, &s), 0);
		ASSERT_EQ(result.seen, (2ull << s.high) - (1ull << s.low));
	}
}

TEST(the_lightest_masks_are_given)
{
	struct spoil s = { .low = 12, .high = 25 };
	struct solve_map map = { .nr_masks = 3, .mask = { 0x6000, 0x3000, 0x44000 } };

	fill(&map, &s, 1200);
	solve(&result, &work, sample, 1200, 0);
	ASSERT_EQ(result.why, NULL);
	EXPECT_EQ(result.map.mask[0], 0x3000);
	EXPECT_EQ(result.map.mask[1], 0x5000);
	EXPECT_EQ(result.map.mask[2], 0x41000);
}

/* Sets that no address is in, and functions that say what others say. */
TEST(missing_and_doubled)
{
	unsigned long rounds = 25 * test_scale();
	unsigned int answers = 0;

	for (unsigned long round = 0; round < rounds; round++) {
		struct spoil s = random_spoil();
		struct solve_map map;
		unsigned int nr = 2 + get_random_u32_below(4);

		random_masks(&map, &s, nr);
		for (unsigned int i = 1; i < 1u << nr; i++)
			s.missing[i] = !get_random_u32_below(4);
		/* Doubled: the label has a bit twice, and so has gaps. */
		for (unsigned int i = 0; i < 2 && round % 2; i++)
			map.mask[map.nr_masks++] = map.mask[i];
		for (unsigned int i = 1u << nr; i < 4u << nr && round % 2; i++)
			s.missing[i] = s.missing[i % (1u << nr)];
		fill(&map, &s, enough(&map));
		solve(&result, &work, sample, enough(&map), SOLVE_OFFSET | SOLVE_MODULUS);
		if (result.why)
			continue;
		answers++;
		ASSERT_EQ(differences(&map, &result.map, &s), 0);
	}
	EXPECT_GT(answers, rounds / 4);
}

/* A rank that some memory does not have: banks that no XOR tells apart. */
TEST(uneven_ranks)
{
	unsigned long rounds = 25 * test_scale();

	for (unsigned long round = 0; round < rounds; round++) {
		struct spoil s = random_spoil();
		struct solve_map map;
		unsigned int nr;

		s.wrong = 0;
		random_masks(&map, &s, 3);
		nr = enough(&map);
		fill(&map, &s, nr);
		for (unsigned int i = 0; i < nr; i++)
			if (sample[i].label < 2 + 2 * (round % 2))
				sample[i].label &= ~1u;
		solve(&result, &work, sample, nr, SOLVE_OFFSET | SOLVE_MODULUS);
		ASSERT_NE(result.why, NULL)
			TH_LOG("bits %u to %u, %u functions hold for %f, %f", s.low, s.high,
			       result.map.nr_masks, result.holds, result.whole);
	}
}

TEST(merged_sets)
{
	unsigned long rounds = 20 * test_scale();

	for (unsigned long round = 0; round < rounds; round++) {
		struct spoil s = random_spoil();
		struct solve_map map;

		s.merged = get_random_u32_below(60);
		random_masks(&map, &s, 2 + get_random_u32_below(4));
		fill(&map, &s, enough(&map));
		solve(&result, &work, sample, enough(&map), SOLVE_OFFSET | SOLVE_MODULUS);
		if (!result.why)
			ASSERT_EQ(differences(&map, &result.map, &s), 0);
	}
}

TEST(labels_at_random)
{
	unsigned long rounds = 20 * test_scale();

	for (unsigned long round = 0; round < rounds; round++) {
		struct spoil s = random_spoil();
		unsigned int nr = get_random_u32_below(SOLVE_MAX_SAMPLES + 1);
		unsigned int labels = 1 + get_random_u32_below(200);

		for (unsigned int i = 0; i < nr; i++)
			sample[i] = (struct solve_sample){ random_address(&s),
				get_random_u32_below(8) ? get_random_u32_below(labels) :
				get_random_u32() };
		solve(&result, &work, sample, nr, SOLVE_MODULUS);
		ASSERT_NE(result.why, NULL);
	}
}

TEST(an_offset_is_found)
{
	static const u64 offsets[] = { 48 << 20, 272 << 20, 784 << 20 };

	for (unsigned int i = 0; i < 3; i++) {
		struct spoil s = { .low = 16, .high = 29, .wrong = 10 };
		struct solve_map map = { .nr_masks = 4, .mask = {
			1 << 16 | 1 << 24 | 1 << 27, 1 << 17 | 1 << 25 | 1 << 28,
			1 << 18 | 1 << 26 | 1 << 29, 1 << 19 | 1 << 28 } };

		map.offset = offsets[i];
		fill(&map, &s, enough(&map));
		solve(&result, &work, sample, enough(&map), SOLVE_OFFSET | SOLVE_MODULUS);
		ASSERT_EQ(result.why, NULL);
		EXPECT_EQ(differences(&map, &result.map, &s), 0);
		/* Without the search there is no answer, rather than a wrong one. */
		solve(&result, &work, sample, enough(&map), SOLVE_MODULUS);
		EXPECT_NE(result.why, NULL);
	}
}

/* The machine of the M3 paper: (line % 3), (pfn / 3) % 8, (pfn / 768) % 4. */
static const struct solve_map paper = {
	.modulus = 3, .modulus_shift = 6, .nr_quotients = 5,
	.quotient = { 1 << 12, 1 << 13, 1 << 14, 1 << 20, 1 << 21 },
};

TEST(three_channels)
{
	struct solve_map pages;

	for (unsigned int low = 8; low <= 12; low += 2) {
		struct spoil s = { .low = low, .high = 24, .wrong = 15 };

		fill(&paper, &s, 1600);
		solve(&result, &work, sample, 1600, SOLVE_MODULUS);
		ASSERT_EQ(result.why, NULL);
		EXPECT_EQ(solve_banks(&result.map), 96);
		EXPECT_EQ(differences(&paper, &result.map, &s), 0);
		solve_as(&result, &work, sample, 1600, &paper);
		ASSERT_EQ(result.why, NULL);
		EXPECT_EQ(differences(&paper, &result.map, &s), 0);
		solve(&result, &work, sample, 1600, SOLVE_OFFSET);
		EXPECT_NE(result.why, NULL);
	}
	ASSERT_TRUE(solve_pages(&paper, &pages));
	ASSERT_EQ(pages.nr_tables, 3);
	EXPECT_EQ(solve_banks(&pages), 96);
	for (u64 pfn = 0; pfn < 100000; pfn++) {
		ASSERT_EQ(solve_component(&pages, 0, pfn << 12), pfn / 3 % 8);
		ASSERT_EQ(solve_component(&pages, 1, pfn << 12), pfn / 768 % 4);
		ASSERT_EQ(solve_component(&pages, 2, pfn << 12), pfn % 3);
	}
}

TEST(three_channels_with_masks)
{
	struct spoil s = { .low = 12, .high = 25, .wrong = 10 };
	struct solve_map map = { .modulus = 3, .modulus_shift = 12, .nr_masks = 4,
		.mask = { 0x44000, 0x88000, 0x110000, 0x20000 } }, pages;

	fill(&map, &s, 1500);
	solve(&result, &work, sample, 1500, SOLVE_OFFSET | SOLVE_MODULUS);
	ASSERT_EQ(result.why, NULL);
	EXPECT_EQ(solve_banks(&result.map), 48);
	EXPECT_EQ(differences(&map, &result.map, &s), 0);
	ASSERT_TRUE(solve_pages(&result.map, &pages));
	EXPECT_EQ(differences(&map, &pages, &s), 0);
}

TEST(what_pages_cannot_say)
{
	struct solve_map map = { .nr_masks = 3, .mask = { 0x40, 0x2080, 0x6000 } }, pages;

	/* A mask within the page says nothing of pages; the others lose their low bits. */
	ASSERT_TRUE(solve_pages(&map, &pages));
	EXPECT_EQ(pages.nr_masks, 2);
	EXPECT_EQ(pages.mask[0], 0x2000);
	EXPECT_EQ(pages.mask[1], 0x6000);
	map.offset = 1 << 28;
	EXPECT_FALSE(solve_pages(&map, &pages));
	map = (struct solve_map){ .modulus = 3, .nr_quotients = 1, .quotient = { 0x80001000 } };
	EXPECT_FALSE(solve_pages(&map, &pages));
}
