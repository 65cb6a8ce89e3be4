// SPDX-License-Identifier: GPL-2.0
/*
 * tools/include and the shims behave as the kernel does, where a difference would hide
 * errors from the other tests; and an error in a pure unit ends the process.
 */
#include "mcube_test.h"

#include <linux/bitmap.h>
#include <linux/bug.h>
#include <linux/list.h>
#include <linux/log2.h>
#include <linux/math64.h>
#include <linux/mm_types.h>

TEST(find_bits_match_a_scan)
{
	DECLARE_BITMAP(a, 200);
	DECLARE_BITMAP(b, 200);
	unsigned int size, off, i, round;

	for (round = 0; round < 2000; round++) {
		for (i = 0; i < ARRAY_SIZE(a); i++) {
			a[i] = get_random_u64() & get_random_u64() & get_random_u64();
			b[i] = get_random_u64();
		}
		size = get_random_u32_below(201);
		off = get_random_u32_below(size + 2);

		for (i = off; i < size && !test_bit(i, a); i++)
			;
		EXPECT_EQ(find_next_bit(a, size, off), min(i, size));
		for (i = off; i < size && test_bit(i, b); i++)
			;
		EXPECT_EQ(find_next_zero_bit(b, size, off), min(i, size));
		for (i = off; i < size && !(test_bit(i, a) && test_bit(i, b)); i++)
			;
		EXPECT_EQ(find_next_and_bit(a, b, size, off), min(i, size));
	}
}

TEST(single_bits)
{
	int i;

	EXPECT_EQ(fls(0), 0);
	EXPECT_EQ(fls64(0), 0);
	for (i = 0; i < 64; i++) {
		EXPECT_EQ(fls64(BIT_ULL(i)), i + 1);
		EXPECT_EQ(__ffs(BIT(i)), i);
		EXPECT_EQ(__fls(BIT(i) | 1), i);
		EXPECT_EQ(hweight64(GENMASK_ULL(i, 0)), i + 1);
	}
	EXPECT_EQ(roundup_pow_of_two(5), 8);
}

TEST(lists)
{
	struct page p[4], *q, *n;
	LIST_HEAD(x);
	LIST_HEAD(y);
	int i;

	for (i = 0; i < 4; i++) {
		p[i].index = i;
		list_add(&p[i].lru, &x);
	}
	i = 3;
	list_for_each_entry(q, &x, lru)
		EXPECT_EQ(q->index, i--);
	list_move_tail(&p[3].lru, &y);
	list_splice_tail_init(&x, &y);
	EXPECT_TRUE(list_empty(&x));
	i = 3;
	list_for_each_entry_safe(q, n, &y, lru) {
		EXPECT_EQ(q->index, i--);
		list_del(&q->lru);
	}
	EXPECT_TRUE(list_empty(&y));
}

TEST(bitmap_set_and_clear)
{
	DECLARE_BITMAP(map, 200);
	unsigned int start, nr, i, round;

	for (round = 0; round < 2000; round++) {
		bool set = round & 1;

		start = get_random_u32_below(201);
		nr = get_random_u32_below(201 - start);
		if (set) {
			bitmap_zero(map, 200);
			bitmap_set(map, start, nr);
		} else {
			bitmap_fill(map, 200);
			bitmap_clear(map, start, nr);
		}
		for (i = 0; i < 200; i++) {
			ASSERT_EQ(!!test_bit(i, map),
				  (i >= start && i < start + nr) == set);
		}
	}
}

TEST(division)
{
	u64 n = 10000000000ULL;
	u32 rest;

	EXPECT_EQ(div_u64_rem(n + 2, 3, &rest), n / 3 + 1);
	EXPECT_EQ(rest, 0);
	EXPECT_EQ(do_div(n, 3), 1);
	EXPECT_EQ(n, 3333333333ULL);
}

/* The check of lib/random32.c itself: seeds by this LCG, ten draws, then this value. */
TEST(prandom_is_the_kernels)
{
	struct rnd_state s;
	u32 i;

	s.s1 = 69069U;
	s.s2 = 69069U * s.s1;
	s.s3 = 69069U * s.s2;
	s.s4 = 69069U * s.s3;
	for (i = 0; i < 10; i++)
		prandom_u32_state(&s);
	EXPECT_EQ(prandom_u32_state(&s), 3484351685U);
}

static struct page listed[2];
static struct list_head head;

static void warn(void)
{
	WARN_ON_ONCE(listed[0].index == 0);
}

static void add_twice(void)
{
	list_add(&listed[0].lru, &head);
}

static void delete_twice(void)
{
	list_del(&listed[0].lru);
	list_del(&listed[0].lru);
}

static void delete_unlisted(void)
{
	listed[1].lru = listed[0].lru;
	list_del(&listed[1].lru);
}

static void write_beyond(void)
{
	volatile unsigned int i = ARRAY_SIZE(listed);

	listed[i].index = 0;
}

/* Does the function end the process, and not by returning? */
static bool ends_the_process(void (*fn)(void))
{
	pid_t child = fork();
	int status = 0;

	if (!child) {
		if (!freopen("/dev/null", "w", stderr))
			_exit(0);
		fn();
		_exit(0);
	}
	return child > 0 && waitpid(child, &status, 0) == child && status;
}

TEST(errors_end_the_process)
{
	INIT_LIST_HEAD(&head);
	list_add(&listed[0].lru, &head);
	EXPECT_TRUE(ends_the_process(warn));
	EXPECT_TRUE(ends_the_process(add_twice));
	EXPECT_TRUE(ends_the_process(delete_twice));
	EXPECT_TRUE(ends_the_process(delete_unlisted));
	EXPECT_TRUE(ends_the_process(write_beyond));
}
