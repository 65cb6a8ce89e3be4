// SPDX-License-Identifier: GPL-2.0
/*
 * The packed state of segments, and how colors are selected for new segments: examples,
 * a brute-force model, and a small page cache that recycles its colors.
 */
#include "mcube_test.h"

#include "srm/segment.h"

static struct mcube_color_selector selector;

TEST(segment_state_packs_and_unpacks)
{
	unsigned long i;

	for (i = 0; i < 100000 * test_scale(); i++) {
		u32 epoch = get_random_u32();
		unsigned int color = get_random_u32_below(MCUBE_MAX_VALUES);
		unsigned int left = get_random_u32_below(MCUBE_SEGMENT_MAX + 1);
		u32 segment = mcube_segment_make(epoch, color, left);

		ASSERT_EQ(mcube_segment_color(segment), color);
		ASSERT_EQ(mcube_segment_left(segment, epoch), left);
		/* In another epoch the segment has no pages left. */
		ASSERT_EQ(mcube_segment_left(segment, epoch + 1), 0);
	}
	EXPECT_EQ(mcube_segment_left(0, 0), 0);
	EXPECT_EQ(mcube_segment_left(0, 1U << MCUBE_SEGMENT_EPOCH_BITS), 0);
}

TEST(stateless_segments_have_their_length)
{
	unsigned int length, color, next;
	u64 i;

	for (length = MCUBE_SEGMENT_MIN; length <= 512; length = length * 3 + 1) {
		for (i = 0; i + 1 < 64 * length; i++) {
			color = mcube_segment_stateless(17, i, length, 16);
			next = mcube_segment_stateless(17, i + 1, length, 16);
			ASSERT_EQ(next, (i + 1) % length ? color : (color + 1) % 16);
		}
	}
	/* Beyond 32 bits of index, and where the sum wraps. */
	EXPECT_LT(mcube_segment_stateless(~0U, ~0ULL, 1, 256), 256);
}

TEST(with_plenty_of_each_the_oldest_is_selected)
{
	unsigned long free[64];
	unsigned int i;

	for (i = 0; i < 64; i++)
		free[i] = MCUBE_PLENTY;
	mcube_color_selector_init(&selector, 64, 0);
	for (i = 0; i < 640; i++)
		EXPECT_EQ(mcube_color_selector_select(&selector, free, 256), i % 64);
}

TEST(the_oldest_that_has_enough_is_selected)
{
	unsigned long free[4] = { 300, 10, 256, 900 };

	mcube_color_selector_init(&selector, 4, 0);
	/* Color 1 has too few.  The colors that have enough take turns, however many they have. */
	EXPECT_EQ(mcube_color_selector_select(&selector, free, 256), 0);
	EXPECT_EQ(mcube_color_selector_select(&selector, free, 256), 2);
	EXPECT_EQ(mcube_color_selector_select(&selector, free, 256), 3);
	EXPECT_EQ(mcube_color_selector_select(&selector, free, 256), 0);
	free[1] = 256;
	EXPECT_EQ(mcube_color_selector_select(&selector, free, 256), 1);
}

TEST(if_none_has_enough_the_richest_is_selected)
{
	unsigned long free[4] = { 3, 10, 9, 10 };

	mcube_color_selector_init(&selector, 4, 0);
	EXPECT_EQ(mcube_color_selector_select(&selector, free, 256), 1);
	EXPECT_EQ(mcube_color_selector_select(&selector, free, 256), 3);
	EXPECT_EQ(mcube_color_selector_select(&selector, free, 256), 1);
	free[1] = 0;
	free[3] = 0;
	EXPECT_EQ(mcube_color_selector_select(&selector, free, 256), 2);
}

TEST(reserved_colors_come_first_while_they_have_enough)
{
	unsigned long free[6] = { 300, 256, 900, 900, 900, 900 };
	unsigned int c;

	mcube_color_selector_init(&selector, 6, 2);
	EXPECT_EQ(mcube_color_selector_oldest(&selector), 2);
	EXPECT_EQ(mcube_color_selector_select(&selector, free, 256), 0);
	EXPECT_EQ(mcube_color_selector_select(&selector, free, 256), 1);
	EXPECT_EQ(mcube_color_selector_select(&selector, free, 256), 0);
	free[0] = 255;
	EXPECT_EQ(mcube_color_selector_select(&selector, free, 256), 1);
	free[1] = 255;
	EXPECT_EQ(mcube_color_selector_select(&selector, free, 256), 2);
	EXPECT_EQ(mcube_color_selector_oldest(&selector), 3);
	EXPECT_EQ(mcube_color_selector_select(&selector, free, 256), 3);
	/* No color has enough: the richest is selected, reserved or not. */
	for (c = 2; c < 6; c++)
		free[c] = 254;
	EXPECT_EQ(mcube_color_selector_select(&selector, free, 256), 0);
	free[4] = 256;
	EXPECT_EQ(mcube_color_selector_select(&selector, free, 256), 4);
}

/* The oldest color that has enough, the lowest of equally old colors; @nr if none has. */
static unsigned int oldest_with(const unsigned long *free, unsigned long enough,
				const u64 *age, unsigned int from,
				unsigned int to, unsigned int nr)
{
	unsigned int c, want = nr;

	for (c = from; c < to; c++)
		if (free[c] >= enough && (want == nr || age[c] < age[want]))
			want = c;
	return want;
}

TEST(selections_match_brute_force)
{
	static u64 age[MCUBE_MAX_VALUES];
	static unsigned long free[MCUBE_MAX_VALUES];
	unsigned long i, enough;
	unsigned int c, nr = 1, reserved = 0, want, got;

	for (i = 0; i < 20000 * test_scale(); i++) {
		if (i % 1000 == 0) {
			nr = 1 + get_random_u32_below(MCUBE_MAX_VALUES);
			reserved = get_random_u32_below(nr);
			mcube_color_selector_init(&selector, nr, reserved);
			memset(age, 0, sizeof(age));
		} else if (i % 1000 == 500) {
			/* The ages stay, of whatever side a color is now. */
			reserved = get_random_u32_below(nr);
			mcube_color_selector_reserve(&selector, reserved);
		}
		enough = get_random_u32_below(40);
		for (c = 0; c < nr; c++)
			free[c] = get_random_u32_below(50);
		want = oldest_with(free, enough, age, 0, reserved, nr);
		if (want == nr)
			want = oldest_with(free, enough, age, reserved, nr, nr);
		if (want == nr)
			for (c = 0; c < nr; c++)
				if (want == nr || free[c] > free[want] ||
				    (free[c] == free[want] && age[c] < age[want]))
					want = c;
		got = mcube_color_selector_select(&selector, free, enough);
		ASSERT_EQ(got, want);
		age[got] = i + 1;
		/* The color that is next if all have enough. */
		for (want = reserved, c = want + 1; c < nr; c++)
			if (age[c] < age[want])
				want = c;
		ASSERT_EQ(mcube_color_selector_oldest(&selector), want);
	}
}

/*
 * A full page cache evicts its oldest pages while fewer than SLACK frames are free.
 * These pages are segments of one color.  So nearly every page of a stream can have
 * the color of its segment, although few frames are free.
 */
TEST(a_full_cache_recycles_whole_segments)
{
	enum { COLORS = 16, PAGES = 16384, SLACK = 512, LENGTH = 256 };
	static unsigned int fifo[PAGES];
	unsigned long free[COLORS], i, had = 0, total = 20000 * test_scale();
	unsigned int c, head = 0, used = 0, left = 0, color = 0;

	mcube_color_selector_init(&selector, COLORS, 0);
	for (c = 0; c < COLORS; c++)
		free[c] = PAGES / COLORS;
	for (i = 0; i < PAGES + total; i++) {
		while (PAGES - used < SLACK) {
			free[fifo[(head - used) % PAGES]]++;
			used--;
		}
		if (!left) {
			color = mcube_color_selector_select(&selector, free, LENGTH);
			left = LENGTH;
		}
		left--;
		c = color;
		if (free[c]) {
			had += i >= PAGES;
		} else {
			/* Any page will do: take the next color that has one. */
			while (!free[c])
				c = (c + 1) % COLORS;
			left = 0;
		}
		free[c]--;
		fifo[head++ % PAGES] = c;
		used++;
	}
	TH_LOG("%lu of %lu pages had the color of their segment", had, total);
	EXPECT_GT(had, total * 95 / 100);
}
