// SPDX-License-Identifier: GPL-2.0
/*
 * SRM-buffer: colors of cached file pages, read back through pagemap.
 *
 * Long files have segments of one color, short files share the segment of the
 * task that reads them, memory of programs has all colors by bin hopping.  No
 * color is reserved here; for reserved colors see srm_reserve.c.  Needs a
 * directory on a file system with a device: MCUBE_DISK_DIR, or ext4 on /dev/vda.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <linux/mempolicy.h>

#include "../kselftest_harness.h"
#include "srm_lib.h"

#define TL		64UL
#define LONG		(32 * TL)

FIXTURE(srm_segments) {
	struct srm_setup setup;
	unsigned int color[LONG];
};

FIXTURE_SETUP(srm_segments)
{
	const char *why = srm_begin(&self->setup, "mcube-long");

	if (why)
		SKIP(return, "%s", why);
	ASSERT_EQ(0, mcube_write(MCUBE_SRM "mode", SRM_MODE_SEGMENTS));
	ASSERT_EQ(0, mcube_write(MCUBE_SRM "vm_hop", "1"));
	ASSERT_EQ(0, srm_switch_on(&self->setup, TL, "0"));
	ASSERT_EQ(0, srm_write_file(self->setup.file, LONG));
	srm_forget_files();
	ASSERT_EQ(0, srm_restart());
}

FIXTURE_TEARDOWN_PARENT(srm_segments)
{
	EXPECT_EQ(0, srm_end(&self->setup));
}

/* A file that was read, in order, after srm_restart(). */
static void check_segments(struct __test_metadata *_metadata,
			   FIXTURE_DATA(srm_segments) *self, long missed)
{
	ASSERT_EQ(0, srm_file_colors(&self->setup.dim, self->setup.file, LONG, self->color));
	missed = srm_stat("missed") - missed;
	EXPECT_LE(missed, (long)LONG / 100);
	/*
	 * A page that misses its color ends its segment; without such pages all
	 * is exact.
	 */
	if (!missed) {
		EXPECT_EQ(0, srm_strays(self->color, LONG, TL));
		EXPECT_EQ(0, srm_repeats(self->color, LONG, TL));
	}
}

TEST_F_TIMEOUT(srm_segments, long_file_read, 120)
{
	long missed = srm_stat("missed"), pages = srm_stat("file_pages");
	long segments = srm_stat(STAT_SEGMENTS);

	ASSERT_EQ(0, srm_read_file(self->setup.file, LONG));
	EXPECT_LE((long)LONG, srm_stat("file_pages") - pages);
	EXPECT_LE((long)(LONG / TL), srm_stat(STAT_SEGMENTS) - segments);
	check_segments(_metadata, self, missed);
}

/* Readahead allocates several pages at once, and frees those it does not need. */
TEST_F_TIMEOUT(srm_segments, long_file_partly_there, 120)
{
	int fd = open(self->setup.file, O_RDONLY);
	size_t i, there = 0;
	long pages;
	char c;

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM));
	for (i = 3; i < LONG; i += 7, there++)
		ASSERT_EQ(1, pread(fd, &c, 1, i * PAGE_SIZE_));
	close(fd);
	pages = srm_stat("file_pages");
	ASSERT_EQ(0, srm_read_file(self->setup.file, LONG));
	EXPECT_EQ((long)(LONG - there), srm_stat("file_pages") - pages);
}

/* With a memory policy, or without nodes, it allocates page by page. */
TEST_F_TIMEOUT(srm_segments, long_file_read_with_a_memory_policy, 120)
{
	long missed = srm_stat("missed");

	if (syscall(SYS_set_mempolicy, MPOL_LOCAL, NULL, 0))
		SKIP(return, "no memory policies");
	ASSERT_EQ(0, srm_read_file(self->setup.file, LONG));
	check_segments(_metadata, self, missed);
}

TEST_F_TIMEOUT(srm_segments, long_file_mapped, 120)
{
	long missed = srm_stat("missed");
	int fd = open(self->setup.file, O_RDONLY);
	size_t i;
	char *p;

	ASSERT_LE(0, fd);
	p = mmap(NULL, LONG * PAGE_SIZE_, PROT_READ, MAP_SHARED, fd, 0);
	ASSERT_NE(MAP_FAILED, p);
	for (i = 0; i < LONG; i++)
		ASSERT_EQ((char)i, p[i * PAGE_SIZE_]);
	munmap(p, LONG * PAGE_SIZE_);
	close(fd);
	check_segments(_metadata, self, missed);
}

/*
 * A file that is written is short at first, so it uses the task's segment, then
 * its own.
 */
TEST_F_TIMEOUT(srm_segments, long_file_written, 120)
{
	long task = srm_stat("task_pages"), file = srm_stat("file_pages");
	size_t i, changes = 0;

	ASSERT_EQ(0, unlink(self->setup.file));
	ASSERT_EQ(0, srm_write_file(self->setup.file, LONG));
	EXPECT_LE((long)TL, srm_stat("task_pages") - task);
	EXPECT_LE((long)(LONG - TL - 2), srm_stat("file_pages") - file);
	ASSERT_EQ(0, srm_file_colors(&self->setup.dim, self->setup.file, LONG, self->color));
	for (i = 1; i < LONG; i++)
		changes += self->color[i] != self->color[i - 1];
	EXPECT_LE(changes, LONG / TL + 2);
	EXPECT_LE(LONG / TL - 2, changes);
}

/* Pages taken ahead are free again where the file already had a page. */
TEST_F_TIMEOUT(srm_segments, long_file_written_at_once, 120)
{
	long pages = srm_stat("task_pages") + srm_stat("file_pages");
	char *text = malloc(LONG * PAGE_SIZE_);
	size_t i, changes = 0;
	int fd;

	ASSERT_NE(NULL, text);
	memset(text, 'x', LONG * PAGE_SIZE_);
	fd = open(self->setup.file, O_RDWR | O_TRUNC);
	ASSERT_LE(0, fd);
	for (i = 5; i < LONG / 2; i += 9)
		ASSERT_EQ(1, pwrite(fd, text, 1, i * PAGE_SIZE_));
	ASSERT_EQ((ssize_t)(LONG * PAGE_SIZE_), pwrite(fd, text, LONG * PAGE_SIZE_, 0));
	close(fd);
	EXPECT_EQ((long)LONG, srm_stat("task_pages") + srm_stat("file_pages") - pages);
	ASSERT_EQ(0, srm_file_colors(&self->setup.dim, self->setup.file, LONG, self->color));
	for (i = LONG / 2 + 1; i < LONG; i++)
		changes += self->color[i] != self->color[i - 1];
	EXPECT_LE(changes, LONG / 2 / TL + 1);
	free(text);
}

/* A write() reads its source into the page cache: a batch within a batch. */
TEST_F_TIMEOUT(srm_segments, second_half_written_from_the_first, 120)
{
	size_t i, half = LONG / 2 * PAGE_SIZE_;
	int fd = open(self->setup.file, O_RDWR);
	char *p;

	ASSERT_LE(0, fd);
	p = mmap(NULL, 2 * half, PROT_READ, MAP_SHARED, fd, 0);
	ASSERT_NE(MAP_FAILED, p);
	ASSERT_EQ((ssize_t)half, pwrite(fd, p, half, half));
	for (i = 0; i < half; i += PAGE_SIZE_)
		ASSERT_EQ(p[i], p[half + i]);
	munmap(p, 2 * half);
	close(fd);
}

/* 40 files of 4 pages, not cached. */
static void make_short_files(struct __test_metadata *_metadata,
			     FIXTURE_DATA(srm_segments) *self)
{
	char path[192];
	int i;

	for (i = 0; i < 40; i++) {
		snprintf(path, sizeof(path), "%s/mcube-short%d", self->setup.dir, i);
		ASSERT_EQ(0, srm_write_file(path, 4));
	}
	srm_forget_files();
}

static void check_short_files(struct __test_metadata *_metadata,
			      FIXTURE_DATA(srm_segments) *self, size_t segment, int files)
{
	char path[192];
	int i;

	for (i = 0; i < 40; i++) {
		snprintf(path, sizeof(path), "%s/mcube-short%d", self->setup.dir, i);
		if (i < files)
			EXPECT_EQ(0, srm_file_colors(&self->setup.dim, path, 4,
						     self->color + 4 * i));
		unlink(path);
	}
	EXPECT_EQ(0, srm_strays(self->color, 4 * files, segment));
	EXPECT_EQ(0, srm_repeats(self->color, 4 * files, segment));
}

TEST_F_TIMEOUT(srm_segments, short_files_share_the_segment_of_their_reader, 120)
{
	long missed = srm_stat("missed");
	char path[192];
	int i;

	make_short_files(_metadata, self);
	ASSERT_EQ(0, srm_restart());
	for (i = 0; i < 40; i++) {
		snprintf(path, sizeof(path), "%s/mcube-short%d", self->setup.dir, i);
		ASSERT_EQ(0, srm_read_file(path, 4));
	}
	ASSERT_EQ(missed, srm_stat("missed"));
	check_short_files(_metadata, self, TL, 40);
}

TEST_F_TIMEOUT(srm_segments, short_files_read_by_children, 120)
{
	char path[192];
	int i, status;

	make_short_files(_metadata, self);
	ASSERT_EQ(0, srm_restart());
	/* The parent begins the segment, its children inherit it. */
	for (i = 0; i < 12; i++) {
		snprintf(path, sizeof(path), "%s/mcube-short%d", self->setup.dir, i);
		if (!i) {
			ASSERT_EQ(0, srm_read_file(path, 4));
			continue;
		}
		if (!fork())
			_exit(srm_read_file(path, 4) ? 1 : 0);
		ASSERT_LT(0, wait(&status));
		EXPECT_EQ(0, status);
	}
	check_short_files(_metadata, self, TL, 12);
}

#define ROUNDS	20U

/* Rounds from page @first on in which each color comes once. */
static unsigned int full_rounds(const unsigned int *color, size_t first)
{
	unsigned int i, round, n = 0;

	for (round = 0; round < ROUNDS; round++) {
		unsigned int seen = 0;

		for (i = 0; i < SRM_COLORS; i++)
			seen |= 1U << color[first + round * SRM_COLORS + i];
		n += seen == (1U << SRM_COLORS) - 1;
	}
	return n;
}

/* Full rounds in fresh anonymous memory; the task may be anywhere in its round. */
static unsigned int hops(struct __test_metadata *_metadata, FIXTURE_DATA(srm_segments) *self)
{
	const size_t n = (ROUNDS + 1) * SRM_COLORS;
	unsigned int color[(ROUNDS + 1) * SRM_COLORS];
	unsigned int first, most = 0, full;

	ASSERT_EQ(0, srm_memory_colors(&self->setup.dim, n, color)) return 0;
	for (first = 0; first < SRM_COLORS; first++) {
		full = full_rounds(color, first);
		if (full > most)
			most = full;
	}
	return most;
}

TEST_F_TIMEOUT(srm_segments, memory_of_programs_hops, 120)
{
	unsigned int full = hops(_metadata, self);

	TH_LOG("%u of %u rounds have each color once", full, ROUNDS);
	/* A color may have no free frame for a moment. */
	EXPECT_LE(ROUNDS - 2, full);
	ASSERT_EQ(0, mcube_write(MCUBE_SRM "vm_hop", "0"));
	EXPECT_GE(2, hops(_metadata, self));
}

TEST_F_TIMEOUT(srm_segments, stateless_colors_come_back, 120)
{
	unsigned int again[LONG];
	size_t i;

	ASSERT_EQ(0, mcube_write(MCUBE_SRM "mode", "stateless"));
	ASSERT_EQ(0, srm_read_file(self->setup.file, LONG));
	ASSERT_EQ(0, srm_file_colors(&self->setup.dim, self->setup.file, LONG, self->color));
	EXPECT_EQ(0, srm_strays(self->color, LONG, TL));
	for (i = TL; i < LONG; i += TL)
		EXPECT_EQ(self->color[i], (self->color[i - TL] + 1) % SRM_COLORS);
	srm_forget_files();
	ASSERT_EQ(0, srm_read_file(self->setup.file, LONG));
	ASSERT_EQ(0, srm_file_colors(&self->setup.dim, self->setup.file, LONG, again));
	EXPECT_EQ(0, memcmp(self->color, again, sizeof(again)));
}

TEST_F_TIMEOUT(srm_segments, tl_changes_while_a_file_is_read, 120)
{
	int fd = open(self->setup.file, O_RDONLY);
	char page[PAGE_SIZE_];
	size_t i;

	ASSERT_LE(0, fd);
	/* One page at a time, without readahead. */
	ASSERT_EQ(0, posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM));
	for (i = 0; i < 96; i++) {
		if (i == 32)
			ASSERT_EQ(0, mcube_write(MCUBE_SRM "tl", "16"));
		ASSERT_EQ(PAGE_SIZE_, pread(fd, page, sizeof(page), i * PAGE_SIZE_));
	}
	close(fd);
	ASSERT_EQ(0, srm_file_colors(&self->setup.dim, self->setup.file, 96, self->color));
	/* 32 pages of the first segment were left; 16 of them remain. */
	EXPECT_EQ(0, srm_strays(self->color, 48, 48));
	EXPECT_EQ(0, srm_strays(self->color + 48, 48, 16));
	EXPECT_EQ(0, srm_repeats(self->color + 48, 48, 16));
	EXPECT_NE(self->color[47], self->color[48]);
}

TEST_F_TIMEOUT(srm_segments, off_leaves_nothing, 120)
{
	long file, task;

	ASSERT_EQ(0, mcube_write(MCUBE_SRM "enabled", "0"));
	file = srm_stat("file_pages");
	task = srm_stat("task_pages");
	ASSERT_EQ(0, srm_read_file(self->setup.file, LONG));
	EXPECT_EQ(file, srm_stat("file_pages"));
	EXPECT_EQ(task, srm_stat("task_pages"));
	ASSERT_EQ(0, srm_file_colors(&self->setup.dim, self->setup.file, LONG, self->color));
	EXPECT_LE(LONG / 4, srm_strays(self->color, LONG, TL));

	/* SRM-buffer needs the allocator. */
	ASSERT_EQ(0, mcube_write(MCUBE_SRM "enabled", "1"));
	ASSERT_EQ(0, mcube_off());
	EXPECT_EQ(0, mcube_read_num(MCUBE_SRM "enabled"));
	EXPECT_EQ(-ENODEV, mcube_write(MCUBE_SRM "enabled", "1"));
	ASSERT_EQ(0, mcube_write(MCUBE_MAP "color_map", "none"));
	ASSERT_EQ(0, mcube_write(MCUBE_ALLOC "enabled", "1"));
	EXPECT_EQ(-EOPNOTSUPP, mcube_write(MCUBE_SRM "enabled", "1"));
	EXPECT_EQ(0, mcube_read_num(MCUBE_SRM "enabled"));
}

TEST_HARNESS_MAIN
