// SPDX-License-Identifier: GPL-2.0
/*
 * The bins: the paper's example, a brute-force model, and how evenly colors and banks are
 * spread among the frames that are taken.
 */
#include "mcube_test.h"

#include "alloc/bins.h"
#include "bins_check.h"

#define FRAMES		MCUBE_MAX_PAGES

/* The struct pages of the frames.  They start as garbage, which must not matter. */
static struct page frames[2][FRAMES];
static struct mcube_bins bins[2];

static struct mcube_bins *fresh(unsigned int which, unsigned int order)
{
	unsigned int i;

	for (i = 0; i < FRAMES; i++) {
		frames[which][i].private = get_random_u64();
		frames[which][i].index = get_random_u32_below(2 * FRAMES);
	}
	mcube_bins_init(&bins[which], frames[which], order);
	return &bins[which];
}

/* Fill a fresh container by a template of its own. */
static void fill(struct mcube_bins *b, enum mcube_fill_order fill_order, u64 key)
{
	static struct mcube_fill f;

	mcube_fill_build(&f, b->order, fill_order, get_random_u64());
	mcube_bins_fill(b, &f, key);
}

static void put_all(struct mcube_bins *b, const u8 *order, unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		mcube_bins_put(b, order[i]);
}

static void check_takes(struct __test_metadata *_metadata, struct mcube_bins *b,
			const u8 *expect, unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		EXPECT_EQ(mcube_bins_take(b), expect[i]);
}

/* Figure 8(b): eight frames, five taken, freed in some order, five taken. */
static struct mcube_bins *figure_8b(struct __test_metadata *_metadata,
				    const u8 *freed)
{
	static const u8 first[] = { 7, 3, 5, 1, 6 };
	struct mcube_bins *b = fresh(0, 3);

	fill(b, MCUBE_FILL_PAPER, 0);
	check_takes(_metadata, b, first, 5);
	put_all(b, freed, 5);
	return b;
}

TEST(figure_8b_walk_through)
{
	static const u8 freed[] = { 7, 3, 5, 1, 6 };
	static const u8 again[] = { 6, 1, 5, 3, 7 };

	check_takes(_metadata, figure_8b(_metadata, freed), again, 5);
}

TEST(figure_8b_third_claim_as_the_rules_have_it)
{
	static const u8 freed[] = { 6, 7, 1, 3, 5 };
	static const u8 again[] = { 5, 3, 1, 7, 6 };

	check_takes(_metadata, figure_8b(_metadata, freed), again, 5);
}

TEST(figure_8b_third_claim_with_its_erratum)
{
	static const u8 freed[] = { 5, 7, 1, 3, 6 };
	static const u8 printed[] = { 6, 3, 1, 5, 7 };

	check_takes(_metadata, figure_8b(_metadata, freed), printed, 5);
}

TEST(fresh_container_in_paper_order)
{
	static const u16 first[] = { 1023, 511, 767, 255, 895, 639, 383, 127 };
	struct mcube_bins *b = fresh(0, 10);
	unsigned int i;

	fill(b, MCUBE_FILL_PAPER, 0);
	for (i = 0; i < ARRAY_SIZE(first); i++)
		EXPECT_EQ(mcube_bins_take(b), first[i]);
}

static void check(struct __test_metadata *_metadata, const struct mcube_bins *b,
		  const bool *free)
{
	unsigned int off, nr_free = 0;

	check_bins(_metadata, b, free);
	for (off = 0; off < 1U << b->order; off++)
		nr_free += free[off];
	ASSERT_EQ(b->nr_free, nr_free);
}

enum op { PUT, TAKE, REMOVE, TAKE_FROM };

/* Level of the largest free group around a free frame. */
static unsigned int level_at(const bool *free, unsigned int order, unsigned int off)
{
	unsigned int level, first, i;

	for (level = 0; level < order; level++) {
		first = off & ~((2U << level) - 1);
		for (i = first; i < first + (2U << level); i++)
			if (!free[i])
				return level;
	}
	return order;
}

/* Are all frames of a group free, or all in use? */
static bool group_is(const bool *free, unsigned int first, unsigned int n, bool what)
{
	while (n--)
		if (free[first + n] != what)
			return false;
	return true;
}

/* Free a random group, or take a group that has a frame of a selection. */
static void step_group(struct __test_metadata *_metadata, struct mcube_bins *b,
		       bool *free, bool put)
{
	unsigned int frames = 1U << b->order, order = get_random_u32_below(6), n, i;
	unsigned int x = get_random_u32_below(16), k, got, wanted;
	DECLARE_BITMAP(sel, FRAMES);
	bool any = false, binned = !b->unbinned;
	u16 first[5];

	if (order > b->order)
		return;
	n = 1U << order;
	if (put) {
		i = get_random_u32_below(frames) & ~(n - 1);
		/* Frames that are freed into a container without free frames stay unbinned. */
		if (!group_is(free, i, n, false) || !b->nr_free)
			return;
		memset(free + i, true, n);
		ASSERT_EQ(mcube_bins_put_group(b, i, order), level_at(free, b->order, i));
		return;
	}
	bitmap_zero(sel, FRAMES);
	for (i = x; i < frames; i += 16) {
		__set_bit(i, sel);
		any |= group_is(free, i & ~(n - 1), n, true);
	}
	ASSERT_EQ(mcube_bins_has_group(b, sel, order), any);
	wanted = 1 + get_random_u32_below(5);
	got = mcube_bins_take_groups(b, sel, order, first, wanted);
	ASSERT_EQ(got > 0, any);
	for (k = 0; k < got; k++) {
		ASSERT_EQ(first[k] & (n - 1), 0);
		ASSERT_TRUE(group_is(free, first[k], n, true));
		ASSERT_LT(find_next_bit(sel, first[k] + n, first[k]), first[k] + n);
		memset(free + first[k], false, n);
		for (i = first[k]; binned && i < first[k] + n; i++) {
			b->base[i].index = get_random_u32_below(2 * frames);
			b->base[i].private = get_random_u32_below(2 * frames);
		}
	}
	/* No group is left behind. */
	for (i = x; got < wanted && i < frames; i += 16)
		ASSERT_FALSE(group_is(free, i & ~(n - 1), n, true));
}

/* One random operation. */
static void step(struct __test_metadata *_metadata, struct mcube_bins *b,
		 bool *free, unsigned int bias)
{
	unsigned int n = 1U << b->order, x = get_random_u32_below(n);
	enum op op = get_random_u32_below(100) < bias ? PUT :
		     TAKE + get_random_u32_below(3);
	DECLARE_BITMAP(sel, FRAMES);
	int off, top = mcube_bins_top(b);
	bool any = false;
	unsigned int i;

	if (get_random_u32_below(4) == 0) {
		step_group(_metadata, b, free, op == PUT);
		return;
	}
	switch (op) {
	case PUT:
		if (free[x])
			return;
		mcube_bins_put(b, x);
		free[x] = true;
		return;
	case TAKE:
		off = mcube_bins_take(b);
		if (off < 0) {
			ASSERT_EQ(top, -1);
			return;
		}
		ASSERT_EQ(b->base[off].private, top);
		break;
	case REMOVE:
		if (!free[x])
			return;
		mcube_bins_remove(b, x);
		off = x;
		break;
	case TAKE_FROM:
		bitmap_zero(sel, FRAMES);
		for (i = x % 16; i < n; i += 16) {
			__set_bit(i, sel);
			any |= free[i];
		}
		off = mcube_bins_take_from(b, sel, get_random_u32_below(2) ?
					   sel : NULL);
		ASSERT_EQ(off >= 0, any);
		if (off < 0)
			return;
		ASSERT_TRUE(test_bit(off, sel));
		break;
	}
	/* No frame is handed out twice.  The owner of the frame overwrites its words. */
	ASSERT_TRUE(free[off]);
	free[off] = false;
	b->base[off].index = get_random_u32_below(2 * n);
	b->base[off].private = get_random_u32_below(2 * n);
}

TEST(invariant_under_random_operations_small)
{
	unsigned long i, steps = 1000 * test_scale();
	unsigned int order, round;
	bool free[FRAMES];

	for (order = 0; order <= 7; order++) {
		for (round = 0; round < 10; round++) {
			struct mcube_bins *b = fresh(0, order);

			memset(free, 0, sizeof(free));
			for (i = 0; i < steps; i++) {
				step(_metadata, b, free, 20 + 8 * round);
				check(_metadata, b, free);
			}
		}
	}
}

TEST(invariant_under_millions_of_operations)
{
	struct mcube_bins *b = fresh(0, MCUBE_MAX_ORDER);
	unsigned long i, n = 4000000 * test_scale();
	bool free[FRAMES] = { };

	for (i = 0; i < n; i++) {
		/* Alternate between nearly empty and nearly full. */
		step(_metadata, b, free, i / 5000 % 2 ? 35 : 75);
		if (i % 4096 == 0)
			check(_metadata, b, free);
	}
	TH_LOG("%lu operations", n);
}

TEST(removal_chain_demotes_half_a_time)
{
	struct mcube_bins *b = fresh(0, MCUBE_MAX_ORDER);
	unsigned int i, off, moved = 0, round, rounds = 50;
	unsigned long before[FRAMES];
	u16 order[FRAMES];

	for (round = 0; round < rounds; round++) {
		fill(b, MCUBE_FILL_SHUFFLE, get_random_u64());
		for (i = 0; i < FRAMES; i++)
			order[i] = i;
		for (i = FRAMES - 1; i; i--) {
			off = get_random_u32_below(i + 1);
			swap(order[i], order[off]);
		}
		for (i = 0; i < FRAMES; i++) {
			for (off = 0; off < FRAMES; off++)
				before[off] = frames[0][off].private;
			mcube_bins_remove(b, order[i]);
			for (off = 0; off < FRAMES; off++)
				if (off != order[i] &&
				    before[off] != frames[0][off].private) {
					ASSERT_LT(frames[0][off].private,
						  before[off]);
					moved++;
				}
		}
		EXPECT_EQ(mcube_bins_top(b), -1);
	}
	TH_LOG("%lu demotions per 1000 removals", moved * 1000 / (rounds * FRAMES));
	EXPECT_LE(moved, rounds * FRAMES * 6 / 10);
	EXPECT_GE(moved, rounds * FRAMES * 4 / 10);
}

TEST(drain_gives_maximal_aligned_groups)
{
	unsigned int round, i, order, level;
	bool free[FRAMES], group[FRAMES];

	for (round = 0; round < 200; round++) {
		struct mcube_bins *b = fresh(0, MCUBE_MAX_ORDER);
		unsigned int share = get_random_u32_below(101);
		int off;

		memset(group, 0, sizeof(group));
		for (i = 0; i < FRAMES; i++) {
			free[i] = get_random_u32_below(100) < share;
			if (free[i])
				mcube_bins_put(b, i);
		}
		while ((off = mcube_bins_drain_group(b, &order)) >= 0) {
			ASSERT_EQ(off & ((1 << order) - 1), 0);
			for (i = off; i < off + (1U << order); i++) {
				ASSERT_TRUE(free[i] && !group[i]);
				ASSERT_EQ(frames[0][i].private, 0);
				group[i] = true;
			}
			if (order == MCUBE_MAX_ORDER)
				continue;
			/* Maximal: the buddy group is not wholly free. */
			level = (off ^ (1U << order)) & ~((1U << order) - 1);
			for (i = level; i < level + (1U << order); i++)
				if (!free[i])
					break;
			ASSERT_LT(i, level + (1U << order));
		}
		ASSERT_FALSE(memcmp(free, group, sizeof(free)));
		ASSERT_EQ(b->nr_free, 0);
	}
}

/*
 * Spread.  The color is physical bits 12..16.  The bank is the XOR map of a client
 * CPU: bits 14^17, 15^18, 16^19 and 13, whose partner, bit 6, is inside the page.
 */
static unsigned int color_of(unsigned int off)
{
	return off & 31;
}

static unsigned int bank_of(unsigned int off)
{
	return ((off >> 2 ^ off >> 5) & 1) | ((off >> 3 ^ off >> 6) & 1) << 1 |
	       ((off >> 4 ^ off >> 7) & 1) << 2 | (off >> 1 & 1) << 3;
}

struct spread {
	unsigned long colors, banks, meetings;
};

/*
 * Take the first 32 frames of many containers, and step two CPUs in lockstep.  All
 * containers share a template, as in a running kernel, and differ by their keys.
 */
static struct spread measure(enum mcube_fill_order fill_order, unsigned int containers)
{
	struct mcube_fill *f = malloc(sizeof(*f));
	struct spread s = { };
	unsigned int n, i;

	mcube_fill_build(f, MCUBE_MAX_ORDER, fill_order, get_random_u64());

	for (n = 0; n < containers; n++) {
		struct mcube_bins *a = fresh(0, MCUBE_MAX_ORDER);
		struct mcube_bins *b = fresh(1, MCUBE_MAX_ORDER);
		u64 colors = 0, banks = 0;

		mcube_bins_fill(a, f, fill_order == MCUBE_FILL_PAPER ?
				0 : get_random_u64());
		mcube_bins_fill(b, f, fill_order == MCUBE_FILL_PAPER ?
				0 : get_random_u64());
		for (i = 0; i < FRAMES; i++) {
			unsigned int x = mcube_bins_take(a);
			unsigned int y = mcube_bins_take(b);

			if (i < 32) {
				colors |= BIT_ULL(color_of(x));
				banks |= BIT_ULL(bank_of(x));
			}
			s.meetings += bank_of(x) == bank_of(y);
		}
		s.colors += hweight64(colors);
		s.banks += hweight64(banks);
	}
	free(f);
	return s;
}

TEST(shuffle_spreads_colors_and_banks)
{
	const unsigned int n = 1000 * test_scale();
	struct spread s = measure(MCUBE_FILL_SHUFFLE, n);

	TH_LOG("first 32 frames: %lu.%02lu of 32 colors, %lu.%02lu of 16 banks",
	       s.colors / n, s.colors * 100 / n % 100,
	       s.banks / n, s.banks * 100 / n % 100);
	TH_LOG("lockstep: same bank in %lu.%02lu %% of steps",
	       s.meetings * 100 / n / FRAMES, s.meetings * 10000 / n / FRAMES % 100);
	EXPECT_GE(s.colors, 20 * n);
	EXPECT_GE(s.banks, 13 * n);
	EXPECT_LE(s.meetings * 100, 8 * n * FRAMES);
}

TEST(paper_order_is_adversarial_on_xor_maps)
{
	const unsigned int n = 10;
	struct spread s = measure(MCUBE_FILL_PAPER, n);

	TH_LOG("first 32 frames: %lu of 32 colors, %lu of 16 banks",
	       s.colors / n, s.banks / n);
	TH_LOG("lockstep: same bank in %lu %% of steps",
	       s.meetings * 100 / n / FRAMES);
	EXPECT_EQ(s.colors, n);			/* one color */
	EXPECT_EQ(s.meetings, n * FRAMES);	/* always the same bank */
}

/*
 * Filling by template gives the same bins as freeing frame by frame, and the
 * invariant holds with any key.
 */
TEST(fill_is_put_for_all_frames)
{
	struct mcube_fill *f = malloc(sizeof(*f));
	static bool all[FRAMES];
	unsigned int order, round, i;

	memset(all, true, sizeof(all));
	for (order = 0; order <= MCUBE_MAX_ORDER; order++) {
		for (round = 0; round < 20; round++) {
			struct mcube_bins *a = fresh(0, order);
			struct mcube_bins *b = fresh(1, order);

			mcube_fill_build(f, order, round & 1, get_random_u64());
			mcube_bins_fill(a, f, get_random_u64());
			check(_metadata, a, all);

			a = fresh(0, order);
			mcube_bins_fill(a, f, 0);
			for (i = 0; i < 1U << order; i++) {
				ASSERT_EQ(mcube_bins_put(b, f->off[i]),
					  f->level[i]);
			}
			for (i = 0; i < 1U << order; i++) {
				ASSERT_EQ(mcube_bins_take(a),
					  mcube_bins_take(b));
			}
		}
	}
	free(f);
}

TEST(shuffle_is_a_permutation)
{
	unsigned int order, round;

	for (order = 0; order <= MCUBE_MAX_ORDER; order++) {
		for (round = 0; round < 100; round++) {
			struct mcube_bins *b = fresh(0, order);
			int off, n = 0;

			fill(b, MCUBE_FILL_SHUFFLE, get_random_u64());
			ASSERT_TRUE(mcube_bins_full(b));
			ASSERT_EQ(mcube_bins_top(b), order);
			while ((off = mcube_bins_take(b)) >= 0) {
				ASSERT_LT(off, 1 << order);
				n++;
			}
			ASSERT_EQ(n, 1 << order);
		}
	}
}

/* Find the level of the largest free group, frame by frame. */
static int brute_top(const bool *free, unsigned int order)
{
	int level;

	for (level = order; level >= 0; level--) {
		unsigned int off, i;

		for (off = 0; off < 1U << order; off += 1U << level) {
			for (i = off; i < off + (1U << level) && free[i]; i++)
				;
			if (i == off + (1U << level))
				return level;
		}
	}
	return -1;
}

/* Check that unbinned frames are in the bitmap and in no bin. */
static void check_unbinned(struct __test_metadata *_metadata,
			   const struct mcube_bins *b, const bool *free)
{
	unsigned int off, level, nr_free = 0;

	for (off = 0; off < 1U << b->order; off++) {
		nr_free += free[off];
		ASSERT_EQ(!!test_bit(off, b->free), free[off]);
	}
	for (level = 0; level <= b->order; level++)
		EXPECT_TRUE(list_empty(&b->bin[level]));
	ASSERT_EQ(b->nr_free, nr_free);
	ASSERT_EQ(b->nonempty, 0);
	ASSERT_EQ(mcube_bins_top(b), brute_top(free, b->order));
}

/* One random operation on unbinned frames. */
static void step_unbinned(struct __test_metadata *_metadata, struct mcube_bins *b,
			  bool *free)
{
	unsigned int n = 1U << b->order, x = get_random_u32_below(n), i;
	DECLARE_BITMAP(sel, FRAMES);
	bool any = false;
	int off;

	if (get_random_u32_below(3) == 0) {
		step_group(_metadata, b, free, get_random_u32_below(2));
		return;
	}
	if (!free[x] && get_random_u32_below(2)) {
		mcube_bins_put(b, x);
		free[x] = true;
		return;
	}
	if (free[x] && get_random_u32_below(2)) {
		mcube_bins_remove(b, x);
		free[x] = false;
		return;
	}
	bitmap_zero(sel, FRAMES);
	for (i = x % 16; i < n; i += 16) {
		__set_bit(i, sel);
		any |= free[i];
	}
	off = mcube_bins_take_from(b, sel, NULL);
	ASSERT_EQ(off >= 0, any);
	if (off < 0)
		return;
	ASSERT_TRUE(free[off] && test_bit(off, sel));
	free[off] = false;
}

/* Only hints take unbinned frames.  These can be sorted into the bins at any moment. */
TEST(unbinned_frames_and_their_way_into_the_bins)
{
	struct mcube_fill *f = malloc(sizeof(*f));
	static struct page before[FRAMES];
	unsigned int order, round, i, steps;
	bool free_frames[FRAMES];
	struct mcube_bins *b;

	for (order = 0; order <= MCUBE_MAX_ORDER; order++) {
		mcube_fill_build(f, order, order & 1, get_random_u64());
		for (round = 0; round < 20; round++) {
			b = fresh(0, order);
			memset(free_frames, 0, sizeof(free_frames));
			memset(free_frames, true, 1U << order);
			mcube_bins_fill_unbinned(b);
			memcpy(before, frames[0], sizeof(before));
			steps = round ? get_random_u32_below(2 << order) : 0;
			for (i = 0; i < steps && b->unbinned; i++) {
				EXPECT_EQ(mcube_bins_take(b), -1);
				step_unbinned(_metadata, b, free_frames);
				check_unbinned(_metadata, b, free_frames);
			}
			/* Unbinned frames are never written to. */
			EXPECT_FALSE(memcmp(before, frames[0], sizeof(before)));
			mcube_bins_sort(b, f, get_random_u64());
			ASSERT_EQ(b->unbinned, 0);
			check(_metadata, b, free_frames);
			for (i = 0; i < 200; i++) {
				step(_metadata, b, free_frames, 50);
				check(_metadata, b, free_frames);
			}
		}
	}
	free(f);
}

/* A container that folios have used up does without bins when they return. */
TEST(groups_return_unbinned_to_a_used_up_container)
{
	struct mcube_fill *f = malloc(sizeof(*f));
	struct mcube_bins *b = fresh(0, MCUBE_MAX_ORDER);
	bool free_frames[FRAMES] = { };
	unsigned int i;

	mcube_fill_build(f, MCUBE_MAX_ORDER, MCUBE_FILL_SHUFFLE, get_random_u64());
	mcube_bins_fill(b, f, 0);
	while (mcube_bins_take(b) >= 0)
		;
	for (i = 0; i < FRAMES; i += 8) {
		mcube_bins_put_group(b, i, 2);
		memset(free_frames + i, true, 4);
		check_unbinned(_metadata, b, free_frames);
	}
	for (i = 4; i < FRAMES; i += 12) {
		if (free_frames[i])
			continue;
		mcube_bins_put(b, i);
		free_frames[i] = true;
		check_unbinned(_metadata, b, free_frames);
	}
	mcube_bins_sort(b, f, 0);
	check(_metadata, b, free_frames);
	free(f);
}

TEST(unbinned_frames_sorted_are_a_fresh_container)
{
	struct mcube_fill *f = malloc(sizeof(*f));
	struct mcube_bins *a = fresh(0, MCUBE_MAX_ORDER);
	struct mcube_bins *b = fresh(1, MCUBE_MAX_ORDER);
	u64 key = get_random_u64();
	unsigned int i;

	mcube_fill_build(f, MCUBE_MAX_ORDER, MCUBE_FILL_SHUFFLE, key);
	mcube_bins_fill(a, f, key);
	mcube_bins_fill_unbinned(b);
	mcube_bins_sort(b, f, key);
	for (i = 0; i < FRAMES; i++) {
		ASSERT_EQ(mcube_bins_take(a),
			  mcube_bins_take(b));
	}
	free(f);
}

TEST(drain_of_unbinned_frames)
{
	struct mcube_bins *b = fresh(0, MCUBE_MAX_ORDER);
	unsigned int order, frames_out = 0;

	mcube_bins_fill_unbinned(b);
	mcube_bins_remove(b, 0);
	while (mcube_bins_drain_group(b, &order) >= 0)
		frames_out += 1U << order;
	EXPECT_EQ(frames_out, FRAMES - 1);
	EXPECT_EQ(b->nr_free, 0);
	EXPECT_EQ(mcube_bins_top(b), -1);

	mcube_bins_init(b, frames[0], MCUBE_MAX_ORDER);
	mcube_bins_fill_unbinned(b);
	EXPECT_EQ(mcube_bins_drain_group(b, &order), 0);
	EXPECT_EQ(order, MCUBE_MAX_ORDER);
	EXPECT_EQ(mcube_bins_drain_group(b, &order), -1);
}
