// SPDX-License-Identifier: GPL-2.0
/*
 * SRM-buffer: reserved colors are lent to memory while nothing streams.
 *
 * One of the 16 colors is reserved, and a second without a stream is enough to lend it.
 */

#include <fcntl.h>
#include <sys/mman.h>

#include "../kselftest_harness.h"
#include "srm_lib.h"

#define TL		256UL
#define RESERVED	0U
#define MEMORY		(64UL * SRM_COLORS)
/* Pages of memory in the reserved color, while it is lent: a 16th, and some fewer. */
#define LENT		(MEMORY / SRM_COLORS * 3 / 4)
/* Page tables are not movable, and a page or two may come another way. */
#define STRAYS		4UL
#define ROUNDS		6

FIXTURE(srm_lend) {
	struct srm_setup setup;
	unsigned int color[SRM_PAGES_MAX];
	uint64_t pfn[SRM_PAGES_MAX];
	char *memory;
};

FIXTURE_SETUP(srm_lend)
{
	const char *why = srm_begin(&self->setup, "mcube-lend");

	if (why)
		SKIP(return, "%s", why);
	ASSERT_EQ(0, srm_write_file(self->setup.file, SRM_PAGES_MAX));
	srm_forget_files();
	ASSERT_EQ(0, mcube_write(MCUBE_SRM "lend", "1"));
	ASSERT_EQ(0, srm_switch_on(&self->setup, TL, "1"));
}

FIXTURE_TEARDOWN_PARENT(srm_lend)
{
	EXPECT_EQ(0, srm_end(&self->setup));
}

static bool becomes(const char *stat, long value)
{
	int i;

	for (i = 0; i < 600 && srm_stat(stat) != value; i++)
		usleep(50000);
	return srm_stat(stat) == value;
}

/* Pages of the memory that have the reserved color; -1 if that cannot be read. */
static long reserved(FIXTURE_DATA(srm_lend) *self)
{
	long n = 0;
	size_t i;

	if (mcube_pfns(self->memory, MEMORY, self->pfn))
		return -1;
	for (i = 0; i < MEMORY; i++)
		n += mcube_value(&self->setup.dim, self->pfn[i]) == RESERVED;
	return n;
}

static void touch(FIXTURE_DATA(srm_lend) *self)
{
	size_t i;

	self->memory = mcube_map_anon(MEMORY);
	for (i = 0; self->memory && i < MEMORY; i++)
		*(size_t *)(self->memory + i * PAGE_SIZE_) = i;
}

static bool is_intact(FIXTURE_DATA(srm_lend) *self)
{
	size_t i;

	for (i = 0; i < MEMORY; i++)
		if (*(size_t *)(self->memory + i * PAGE_SIZE_) != i)
			return false;
	return true;
}

/* Memory has all colors until a file streams, and none of it stays in the reserved color. */
TEST_F_TIMEOUT(srm_lend, a_stream_ends_it, 120)
{
	long vacated = srm_stat("vacated"), i;

	EXPECT_EQ(1, srm_stat("lent"));
	touch(self);
	ASSERT_NE(NULL, self->memory);
	EXPECT_LE((long)LENT, reserved(self));
	/* The move takes its time, in which nothing must be lent again. */
	ASSERT_EQ(0, mcube_write(MCUBE_SRM "lend", "3600"));
	ASSERT_EQ(0, srm_read_file(self->setup.file, SRM_PAGES_MAX));
	EXPECT_TRUE(becomes("lent", 0));
	for (i = 0; i < 600 && reserved(self) > (long)STRAYS; i++)
		usleep(50000);
	EXPECT_GE((long)STRAYS, reserved(self));
	EXPECT_LE((long)(LENT - STRAYS), srm_stat("vacated") - vacated);
	EXPECT_TRUE(is_intact(self));
	/* The stream has its color. */
	ASSERT_EQ(0, srm_file_colors(&self->setup.dim, self->setup.file, TL, self->color));
	EXPECT_EQ(RESERVED, self->color[0]);
	EXPECT_EQ(0, srm_strays(self->color, TL, TL));
	/* When nothing streams any more, new memory has all colors again. */
	ASSERT_EQ(0, mcube_write(MCUBE_SRM "lend", "1"));
	EXPECT_TRUE(becomes("lent", 1));
	munmap(self->memory, MEMORY * PAGE_SIZE_);
	touch(self);
	EXPECT_LE((long)LENT, reserved(self));
}

/*
 * Memory that is taken right after a stream lies outside of its color: nobody waits for the
 * tick, which comes once a second.  The work item may be late now and then.
 */
TEST_F_TIMEOUT(srm_lend, it_ends_before_the_tick, 240)
{
	int round, soon = 0;

	for (round = 0; round < ROUNDS; round++) {
		ASSERT_TRUE(becomes("lent", 1));
		srm_forget_files();
		ASSERT_EQ(0, srm_read_file(self->setup.file, SRM_PAGES_MAX));
		touch(self);
		ASSERT_NE(NULL, self->memory);
		soon += reserved(self) <= (long)STRAYS;
		munmap(self->memory, MEMORY * PAGE_SIZE_);
	}
	TH_LOG("in %d of %d rounds", soon, ROUNDS);
	EXPECT_LE(ROUNDS - 2, soon);
}

/*
 * Also a file that is cached, and read by one reader after the other.  The reader may be
 * held up for some seconds.
 */
TEST_F_TIMEOUT(srm_lend, cached_streams, 120)
{
	int i;

	ASSERT_EQ(0, mcube_write(MCUBE_SRM "lend", "8"));
	ASSERT_EQ(0, srm_read_file(self->setup.file, SRM_PAGES_MAX));
	EXPECT_TRUE(becomes("lent", 0));
	for (i = 0; i < 100; i++) {
		ASSERT_EQ(0, srm_read_file(self->setup.file, SRM_PAGES_MAX));
		usleep(100000);
		EXPECT_EQ(0, srm_stat("lent"));
	}
	EXPECT_TRUE(becomes("lent", 1));
}

/* A mapped file is read without a call. */
TEST_F_TIMEOUT(srm_lend, mapped_streams, 120)
{
	int fd = open(self->setup.file, O_RDONLY), i;
	volatile char sum = 0;
	size_t k;
	char *p;

	ASSERT_LE(0, fd);
	p = mmap(NULL, SRM_PAGES_MAX * PAGE_SIZE_, PROT_READ, MAP_SHARED, fd, 0);
	ASSERT_NE(MAP_FAILED, p);
	for (k = 0; k < SRM_PAGES_MAX; k++)
		sum += p[k * PAGE_SIZE_];
	EXPECT_TRUE(becomes("lent", 0));
	for (i = 0; i < 40; i++) {
		usleep(100000);
		EXPECT_EQ(0, srm_stat("lent"));
	}
	munmap(p, SRM_PAGES_MAX * PAGE_SIZE_);
	close(fd);
	EXPECT_TRUE(becomes("lent", 1));
}

/* Frames have not been looked at for three seconds. */
static bool looks_at_nothing(void)
{
	long sampled = srm_stat("sampled");
	int i;

	for (i = 0; i < 60; i++) {
		sleep(3);
		if (srm_stat("sampled") == sampled)
			return true;
		sampled = srm_stat("sampled");
	}
	return false;
}

/*
 * While nothing streams and nothing is mapped, frames are left alone.  A file that was cached
 * long before is found when it is mapped.
 */
TEST_F_TIMEOUT(srm_lend, idle_memory_is_left_alone, 240)
{
	int fd = open(self->setup.file, O_RDONLY);
	long sampled;
	char *p;

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, srm_read_file(self->setup.file, SRM_PAGES_MAX));
	EXPECT_TRUE(becomes("lent", 0));
	EXPECT_TRUE(becomes("lent", 1));
	EXPECT_TRUE(looks_at_nothing());
	sampled = srm_stat("sampled");
	ASSERT_LT(0, sampled);
	p = mmap(NULL, SRM_PAGES_MAX * PAGE_SIZE_, PROT_READ, MAP_SHARED | MAP_POPULATE, fd, 0);
	ASSERT_NE(MAP_FAILED, p);
	EXPECT_TRUE(becomes("lent", 0));
	EXPECT_LT(sampled, srm_stat("sampled"));
	munmap(p, SRM_PAGES_MAX * PAGE_SIZE_);
	close(fd);
	EXPECT_TRUE(becomes("lent", 1));
	EXPECT_TRUE(looks_at_nothing());
}

TEST_F_TIMEOUT(srm_lend, never, 120)
{
	EXPECT_EQ(1, srm_stat("lent"));
	ASSERT_EQ(0, mcube_write(MCUBE_SRM "lend", "0"));
	EXPECT_TRUE(becomes("lent", 0));
	touch(self);
	EXPECT_GE((long)STRAYS, reserved(self));
	munmap(self->memory, MEMORY * PAGE_SIZE_);
	ASSERT_EQ(0, srm_restart());
	EXPECT_EQ(0, srm_stat("lent"));
}

/* Memory that does not hop has all colors; there is nothing to lend. */
TEST_F_TIMEOUT(srm_lend, nothing_to_lend, 120)
{
	ASSERT_EQ(0, mcube_write(MCUBE_SRM "vm_hop", "0"));
	EXPECT_TRUE(becomes("lent", 0));
	ASSERT_EQ(0, mcube_write(MCUBE_SRM "vm_hop", "1"));
	EXPECT_TRUE(becomes("lent", 1));
	ASSERT_EQ(0, mcube_write(MCUBE_SRM "enabled", "0"));
	EXPECT_EQ(0, srm_stat("lent"));
	ASSERT_EQ(0, mcube_write(MCUBE_SRM "reserve", "0"));
	ASSERT_EQ(0, mcube_write(MCUBE_SRM "enabled", "1"));
	EXPECT_EQ(0, srm_stat("lent"));
}

TEST_HARNESS_MAIN
