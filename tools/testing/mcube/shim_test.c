// SPDX-License-Identifier: GPL-2.0
/* The shims behave as the kernel's namesakes where a slip would blind the other tests. */
#include "mcube_test.h"

#include <linux/bitmap.h>
#include <linux/list.h>
#include <linux/prandom.h>

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
		size = test_rand_below(201);
		off = test_rand_below(size + 2);

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
	EXPECT_EQ(order_base_2(5), 3);
	EXPECT_EQ(order_base_2(8), 3);
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

/* lib/random32.c's own check: seeds by this LCG, ten draws to warm up, then this value */
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
