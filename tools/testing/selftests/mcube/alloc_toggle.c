// SPDX-License-Identifier: GPL-2.0
/*
 * Switching the allocator on and off leaves no trace.
 *
 * While processes fault, unmap, fork and write files, the allocator is switched
 * MCUBE_TOGGLES times (1000 by default), but for no longer than
 * MCUBE_TOGGLE_SECONDS (300): emulated CPUs are slow, and the output has the
 * number.  Then memory must add up:
 *
 *  - exactly: nr_free_pages is the sum of the buddy lists; no page is left in
 *    the allocator, in its counters, or in a pageblock of its type;
 *  - nearly: the pages that no counter of the kernel has (present, but neither
 *    free, nor on a per-CPU list, nor LRU, slab, page table, stack) are as many
 *    as before.  A lost container would add 1024 pages.
 *
 * Every page that a process holds has a tag of its own, so the process notices
 * a page that was handed out twice.
 */

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>

#include "../kselftest_harness.h"
#include "mcube_lib.h"

/* Pages that may differ: vmalloc areas, buffers of drivers and the like. */
#define SLACK	256

FIXTURE(alloc_toggle) {
	struct mcube_saved saved;
	struct mcube_load load[3];
	long most, seconds;
};

FIXTURE_SETUP(alloc_toggle)
{
	const char *why = mcube_unusable();

	mcube_save(&self->saved);
	if (why)
		SKIP(return, "%s", why);
	self->most = mcube_env("MCUBE_TOGGLES", 1000);
	self->seconds = mcube_env("MCUBE_TOGGLE_SECONDS", 300);
	ASSERT_EQ(0, mcube_off());
	/* SRM-buffer refuses colors of L2, unless root gives them. */
	ASSERT_EQ(0, mcube_write(MCUBE_MAP "color_map", MCUBE_TEST_COLORS));
}

FIXTURE_TEARDOWN_PARENT(alloc_toggle)
{
	if (!mcube_unusable())
		mcube_restore(&self->saved);
}

static void settle(struct __test_metadata *_metadata, struct mcube_memory *m)
{
	sync();
	mcube_write("/proc/sys/vm/drop_caches", "3");
	/* Wait until exited tasks and RCU callbacks have freed their pages. */
	usleep(500000);
	ASSERT_TRUE(mcube_memory_settled(m)) {
		TH_LOG("free %ld is not buddy %ld + mcube %ld",
		       m->free, m->buddy, m->mcube);
	}
}

static long toggle(struct __test_metadata *_metadata, long most, long seconds)
{
	const char * const orders[] = { "shuffle", "paper", "even", "auto" };
	double start = mcube_now(), told = start;
	long n;

	for (n = 0; n < most && mcube_now() - start < seconds; n++) {
		/* Change the settings now and then. */
		if (n % 16 == 0) {
			ASSERT_EQ(0, mcube_write(MCUBE_ALLOC "container_order",
						 n % 32 ? "9" : "10"));
			ASSERT_EQ(0, mcube_write_num(MCUBE_ALLOC "cluster_order", n / 16 % 6));
			ASSERT_EQ(0, mcube_write(MCUBE_ALLOC ALLOC_FILL_ORDER,
						 orders[n / 16 % 4]));
		}
		ASSERT_EQ(0, mcube_write(MCUBE_ALLOC "enabled", "1"));
		/*
		 * SRM-buffer is switched off later, or goes off with the
		 * allocator.
		 */
		if (n % 32 < 2 && mcube_exists(MCUBE_SRM "enabled"))
			ASSERT_EQ(0, mcube_write(MCUBE_SRM "enabled", "1"));
		if (n % 8 == 0)
			usleep(20000);
		if (n % 32 == 0 && mcube_exists(MCUBE_SRM "enabled"))
			ASSERT_EQ(0, mcube_write(MCUBE_SRM "enabled", "0"));
		ASSERT_EQ(0, mcube_write(MCUBE_ALLOC "enabled", "0"));
		if (mcube_now() - told > 30) {
			told = mcube_now();
			TH_LOG("%ld of %ld after %.0f s", n, most, told - start);
		}
	}
	TH_LOG("switched on and off %ld times in %.0f s%s", n,
	       mcube_now() - start,
	       n < most ? ": out of time (MCUBE_TOGGLE_SECONDS)" : "");
	return n;
}

static void check(struct __test_metadata *_metadata,
		  const struct mcube_memory *before)
{
	struct mcube_memory after;
	const char *why;

	settle(_metadata, &after);
	mcube_memory_print("before", before);
	mcube_memory_print("after", &after);
	why = mcube_memory_check_off(&after);
	EXPECT_EQ(NULL, why) {
		TH_LOG("%s", why);
	}
	EXPECT_EQ(before->managed, after.managed);
	EXPECT_LE(labs(after.lost - before->lost), SLACK);
}

TEST_F_TIMEOUT(alloc_toggle, idle, 300)
{
	struct mcube_memory before;

	/* The first switches allocate memory that the kernel keeps. */
	ASSERT_LT(0, toggle(_metadata, 3, 60));
	settle(_metadata, &before);
	ASSERT_LT(0, toggle(_metadata, 50, 60));
	check(_metadata, &before);
}

/* Pages are in use when the allocator goes off, and are freed afterwards. */
TEST_F_TIMEOUT(alloc_toggle, pages_outlive_the_allocator, 300)
{
	struct mcube_memory before;
	size_t n, i, round;
	char *p;

	settle(_metadata, &before);
	n = before.free / 4 < 65536 ? before.free / 4 : 65536;
	for (round = 0; round < 4; round++) {
		ASSERT_EQ(0, mcube_on(round % 2 ? "paper" : "shuffle", NULL, NULL));
		p = mcube_map_anon(n);
		ASSERT_NE(NULL, p);
		for (i = 0; i < n; i++)
			p[i * PAGE_SIZE_] = i;
		EXPECT_LT(n / 2 / 1024, mcube_stat("containers"));
		/*
		 * Two thirds of the pages are free then, so that blocks are in
		 * pieces.
		 */
		for (i = 0; i < n; i++)
			if (i % 3)
				madvise(p + i * PAGE_SIZE_, PAGE_SIZE_,
					MADV_DONTNEED);
		EXPECT_LT(n / 4, mcube_stat("free_pages"));
		ASSERT_EQ(0, mcube_off());
		for (i = 0; i < n; i += 3)
			ASSERT_EQ((char)i, p[i * PAGE_SIZE_]);
		munmap(p, n * PAGE_SIZE_);
	}
	check(_metadata, &before);
}

TEST_F_TIMEOUT(alloc_toggle, under_load, 1000)
{
	struct mcube_memory before;
	long done, workers, pages;
	struct mcube_load *l;
	const char *disk;
	bool mounted;
	int i;

	disk = mcube_disk("/tmp/mcube-disk", &mounted) ?: "/tmp";
	workers = get_nprocs() > 3 ? get_nprocs() / 2 : 1;
	ASSERT_LT(0, toggle(_metadata, 3, 60));
	settle(_metadata, &before);
	pages = before.free / 8 / workers;
	pages = pages < 2048 ? pages : 2048;

	ASSERT_EQ(0, mcube_load_start(&self->load[0], workers,
				      MCUBE_ANON | MCUBE_FORK, NULL, pages));
	ASSERT_EQ(0, mcube_load_start(&self->load[1], 1, MCUBE_FILE, "/dev/shm",
				      pages));
	ASSERT_EQ(0, mcube_load_start(&self->load[2], 1, MCUBE_FILE, disk,
				      pages));
	done = toggle(_metadata, self->most, self->seconds);
	for (i = 0; i < 3; i++) {
		l = &self->load[i];
		mcube_load_stop(l);
		TH_LOG("%s: %ld rounds by %d workers, %ld wrong pages",
		       i == 2 ? disk : i ? "/dev/shm" : "anonymous", l->rounds,
		       l->n, l->corrupt);
		EXPECT_EQ(0, l->died);
		EXPECT_EQ(0, l->corrupt);
		EXPECT_LT(0, l->rounds);
	}
	if (mounted)
		umount("/tmp/mcube-disk");
	/* A smaller number would prove nothing. */
	EXPECT_LE(self->most < 10 ? self->most : 10, done);
	EXPECT_LT(0, mcube_stat(STAT_BROKEN_UP));
	check(_metadata, &before);
}

TEST_HARNESS_MAIN
