// SPDX-License-Identifier: GPL-2.0
/*
 * Guest memory that is backed by frames of the host in shuffled order.
 */
#include "mcube_test.h"
#include "rig.h"

#include <string.h>

#define GUEST	(3ull << 30)

TEST(frames_are_shuffled_whole)
{
	for (unsigned int shift = 12; shift <= 30; shift++) {
		u64 moved = 0, size = 1ull << shift;
		struct backing b;

		ASSERT_TRUE(backing_init(&b, size, shift));
		for (u64 a = 0; a < BACKING_HOST; a += size) {
			u64 inside = get_random_u64() & (size - 1), h = backing_host(&b, a);

			ASSERT_LT(h, BACKING_HOST);
			ASSERT_EQ(h % size, 0);
			ASSERT_EQ(backing_host(&b, a + inside), h + inside);
			ASSERT_EQ(backing_guest(&b, h + inside), a + inside);
			moved += h != a;
		}
		if (shift < 24)
			EXPECT_GT(moved, BACKING_HOST / size * 9 / 10);
		EXPECT_EQ(backing_host(&b, BACKING_HOST + 64), BACKING_HOST + 64);
		backing_free(&b);
	}
}

TEST(the_seed_decides)
{
	struct backing a, same, other;

	ASSERT_TRUE(backing_init(&a, 2 << 20, 1));
	ASSERT_TRUE(backing_init(&same, 2 << 20, 1));
	ASSERT_TRUE(backing_init(&other, 2 << 20, 2));
	EXPECT_EQ(memcmp(a.host, same.host, a.frames * sizeof(*a.host)), 0);
	EXPECT_NE(memcmp(a.host, other.host, a.frames * sizeof(*a.host)), 0);
	backing_free(&a);
	backing_free(&same);
	backing_free(&other);
}

/* Banks are those of the host's addresses, samples name the guest's. */
TEST(dram_sees_the_host_and_the_guest_itself)
{
	struct rig *r = rig_make(1, "backing", "2M", "backing.seed", "7", "dram.banks",
				 "0x2000 0x200000 0x400000", NULL);
	struct sim_cpu *cpu = (void *)((char *)r->shared + SIM_CPU_OFFSET);
	struct sim_sample *ring = (void *)((char *)r->shared + SIM_RING_OFFSET);
	u64 expected[8] = { };

	cpu->sampler[0] = (struct sim_sampler){ .period = 1, .left = 1,
						.event = SIM_LLC_MISSES };
	model_sync(&r->model);
	for (u64 i = 0; i < 1000; i++) {
		u64 address = get_random_u64() % GUEST & ~63ull;
		u64 host = backing_host(&r->model.backing, address);

		rig_access(r, 0, address, false, 0);
		expected[(host >> 13 & 1) | (host >> 21 & 1) << 1 | (host >> 22 & 1) << 2]++;
		model_sync(&r->model);
		ASSERT_EQ(cpu->head, i + 1);
		ASSERT_EQ(ring[i].paddr, address);
		cpu->tail = cpu->head;
	}
	for (unsigned int i = 0; i < 8; i++)
		EXPECT_EQ(r->model.header->bank[i].refs, expected[i]);
	rig_free(r);
}
