// SPDX-License-Identifier: GPL-2.0
/*
 * Verdicts on made-up times: a map that does not hold is never said to hold, whatever noise
 * does; and masks of a set index from votes of which some are wrong.
 */
#include "mcube_test.h"

#include "../../mcube/probe/decide.h"

/* Ticks that competing adds, and a rule's draws: @competing percent of them compete. */
struct kind {
	double hit, miss;
	unsigned int jitter;	/* percent of the time, of every draw */
	unsigned int outliers;	/* percent of the draws, which take up to four times as long */
};

static void draw(struct draws *d, unsigned int nr, unsigned int competing, const struct kind *k)
{
	d->nr = nr;
	for (unsigned int i = 0; i < nr; i++) {
		double x = get_random_u32_below(100) < competing ? k->miss : k->hit;

		x += x * ((double)get_random_u32_below(2000) / 1000 - 1) * k->jitter / 100;
		if (get_random_u32_below(100) < k->outliers)
			x *= 1 + get_random_u32_below(3000) / 1000.;
		d->x[i] = x;
	}
}

static void make(struct evidence *e, unsigned int nr, unsigned int masks, const struct kind *k)
{
	memset(e, 0, sizeof(*e));
	e->masks = masks;
	draw(&e->fit, nr, 0, k);
	draw(&e->most, nr, 0, k);
	draw(&e->miss, nr, 100, k);
	draw(&e->same, nr, 100, k);
	for (unsigned int i = 0; i < masks; i++)
		draw(&e->flip[i], nr, 0, k);
}

static const struct kind quiet = { 3, 40, 10, 0 };

TEST(a_true_map_holds)
{
	struct decision d;
	struct evidence e;

	for (unsigned int masks = 1; masks <= 8; masks++) {
		make(&e, 16, masks, &quiet);
		decide_map(&d, &e);
		ASSERT_EQ(d.verdict, HOLDS);
		EXPECT_GT(d.confidence, .999);
		EXPECT_LT(d.confidence, 1);
		for (unsigned int i = 0; i < masks; i++)
			EXPECT_EQ(d.mask[i], HOLDS);
	}
	/* A tenth of the draws disturbed: still known. */
	e.same.x[3] = 2;
	e.flip[2].x[5] = 90;
	decide_map(&d, &e);
	EXPECT_EQ(d.verdict, HOLDS);
}

TEST(what_does_not_hold)
{
	struct decision d;
	struct evidence e;

	make(&e, 16, 5, &quiet);
	draw(&e.same, 16, 0, &quiet);
	decide_map(&d, &e);
	EXPECT_EQ(d.verdict, HOLDS_NOT);
	EXPECT_GT(d.confidence, .999);
	make(&e, 16, 5, &quiet);
	draw(&e.flip[3], 16, 100, &quiet);
	decide_map(&d, &e);
	EXPECT_EQ(d.verdict, HOLDS_NOT);
	EXPECT_EQ(d.mask[3], HOLDS_NOT);
	EXPECT_EQ(d.mask[2], HOLDS);
	/* The same in a cache that is smaller than described says nothing about the mask. */
	draw(&e.most, 16, 100, &quiet);
	decide_map(&d, &e);
	EXPECT_EQ(d.verdict, UNKNOWN);
	EXPECT_EQ(d.confidence, 0);
}

TEST(what_cannot_be_known)
{
	static const struct kind flat = { 40, 40, 5, 0 }, wild = { 30, 40, 80, 30 };
	struct decision d;
	struct evidence e;

	make(&e, 16, 5, &flat);
	decide_map(&d, &e);
	EXPECT_EQ(d.verdict, UNKNOWN);
	for (unsigned int round = 0; round < 200 * test_scale(); round++) {
		make(&e, 16, 5, &wild);
		decide_map(&d, &e);
		EXPECT_EQ(d.verdict, UNKNOWN);
	}
	make(&e, 16, 5, &quiet);
	draw(&e.same, 16, 0, &quiet);
	for (unsigned int i = 0; i < 8; i++)
		e.same.x[i] = 40;
	decide_map(&d, &e);
	EXPECT_EQ(d.verdict, UNKNOWN);
	EXPECT_NE(d.why, NULL);
	make(&e, MIN_DRAWS - 1, 5, &quiet);
	decide_map(&d, &e);
	EXPECT_EQ(d.verdict, UNKNOWN);
	make(&e, 16, 0, &quiet);
	decide_map(&d, &e);
	EXPECT_EQ(d.verdict, UNKNOWN);
}

/* Any spread, any noise, maps that are wrong in any of the ways that maps are wrong. */
TEST(noise_makes_no_map_hold)
{
	unsigned int held = 0, not = 0, rounds = 20000 * test_scale();
	struct decision d;
	struct evidence e;

	for (unsigned int round = 0; round < rounds; round++) {
		struct kind k = {
			1 + get_random_u32_below(20), 2 + get_random_u32_below(100),
			get_random_u32_below(60), get_random_u32_below(50),
		};
		unsigned int nr = MIN_DRAWS + get_random_u32_below(25);
		unsigned int masks = 1 + get_random_u32_below(8);

		make(&e, nr, masks, &k);
		/* Two true colors in one: a seventh of the draws competes by chance. */
		if (get_random_u32_below(2))
			draw(&e.same, nr, get_random_u32_below(20), &k);
		else
			draw(&e.flip[get_random_u32_below(masks)], nr,
			     80 + get_random_u32_below(21), &k);
		decide_map(&d, &e);
		held += d.verdict == HOLDS;
		not += d.verdict == HOLDS_NOT;
		ASSERT_GE(d.confidence, 0);
		ASSERT_LE(d.confidence, 1);
	}
	EXPECT_EQ(held, 0);
	EXPECT_GT(not, rounds / 10);
}

static bool parity(unsigned int x)
{
	return __builtin_parity(x);
}

/* Votes of a random index, and which differences keep the set; returns log2 of its colors. */
static unsigned int random_index(unsigned char *votes, bool *keeps, unsigned int wrong)
{
	unsigned int masks = 1 + get_random_u32_below(SEARCH_BITS), rank = 0;
	unsigned int mask[SEARCH_BITS], seen[SEARCH] = { 0 };

	for (unsigned int i = 0; i < masks; i++)
		mask[i] = 1 + get_random_u32_below(SEARCH - 1);
	for (unsigned int d = 0; d < SEARCH; d++) {
		unsigned int value = 0;

		for (unsigned int i = 0; i < masks; i++)
			value |= parity(mask[i] & d) << i;
		rank += !seen[value]++;
		keeps[d] = !value;
		votes[d] = value ? 0 : 3;
		if (d && get_random_u32_below(1000) < wrong)
			votes[d] = 3 - votes[d];
	}
	return __builtin_ctz(rank);
}

TEST(masks_follow_from_votes)
{
	unsigned int refused = 0, rounds = 300 * test_scale(), rank;
	unsigned char votes[SEARCH];
	struct index_bits out;
	bool keeps[SEARCH];

	for (unsigned int round = 0; round < rounds; round++) {
		bool noisy = round % 2;

		rank = random_index(votes, keeps, noisy ? 4 : 0);
		decide_index(&out, votes, 3);
		if (out.why) {
			ASSERT_TRUE(noisy);
			refused++;
			continue;
		}
		/* With one color for each value, a single wrong vote is closed; draws tell it. */
		if (noisy && rank == SEARCH_BITS)
			continue;
		ASSERT_EQ(out.masks, rank);
		for (unsigned int d = 0; d < SEARCH; d++) {
			bool found = true;

			for (unsigned int i = 0; i < out.masks; i++)
				found &= !parity(out.mask[i] & d);
			ASSERT_EQ(found, keeps[d]);
		}
	}
	EXPECT_LT(refused, rounds / 2);
}

TEST(votes_without_masks_are_refused)
{
	unsigned char votes[SEARCH];
	struct index_bits out;

	for (unsigned int round = 0; round < 200 * test_scale(); round++) {
		for (unsigned int d = 0; d < SEARCH; d++)
			votes[d] = get_random_u32_below(2) ? 3 : 0;
		votes[0] = 3;
		decide_index(&out, votes, 3);
		ASSERT_NE(out.why, NULL);
		ASSERT_EQ(out.masks, 0);
		for (unsigned int d = 0; d < SEARCH; d++)
			votes[d] = get_random_u32_below(4);
		decide_index(&out, votes, 3);
		ASSERT_NE(out.why, NULL);
	}
	memset(votes, 0, sizeof(votes));
	decide_index(&out, votes, 3);
	EXPECT_NE(out.why, NULL);
	memset(votes, 3, sizeof(votes));
	decide_index(&out, votes, 3);
	EXPECT_EQ(out.why, NULL);
	EXPECT_EQ(out.masks, 0);
}
