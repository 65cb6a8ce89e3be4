// SPDX-License-Identifier: GPL-2.0
/*
 * SRM-buffer and files that are read again and again: a file that fits in the
 * cache is recolored to all colors, a larger file keeps its segments; and advice
 * by posix_fadvise().  Needs the disk that srm_segments.c needs.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "../kselftest_harness.h"
#include "srm_lib.h"

#define TL		64UL
#define REUSE		16UL
#define SMALL		128UL	/* SRM_COLORS * REUSE = 256 pages fit */
#define LARGE		512UL
#define FILES		12
#define SHORT		32UL	/* FILES * SHORT do not fit */

FIXTURE(srm_reuse) {
	struct mcube_saved saved;
	struct mcube_dim dim;
	char dir[128], file[160];
	bool mounted;
	unsigned int color[LARGE];
};

FIXTURE_SETUP(srm_reuse)
{
	const char *why = srm_unusable(), *dir;

	mcube_save(&self->saved);
	if (why)
		SKIP(return, "%s", why);
	dir = mcube_disk(SRM_MOUNT, &self->mounted);
	if (!dir)
		SKIP(return, "no ext4 on " MCUBE_DISK);
	snprintf(self->dir, sizeof(self->dir), "%s", dir);
	snprintf(self->file, sizeof(self->file), "%s/mcube-reuse", dir);
	ASSERT_EQ(0, mcube_off());
	ASSERT_EQ(0, mcube_write_num(MCUBE_SRM "tl", TL));
	ASSERT_EQ(0, mcube_write_num(MCUBE_SRM SRM_REUSE, REUSE));
	ASSERT_EQ(0, mcube_write(MCUBE_SRM "reserve", "0"));
	ASSERT_EQ(0, mcube_on("shuffle", MCUBE_TEST_COLORS, MCUBE_TEST_BANKS));
	ASSERT_EQ(0, mcube_dim_from(&self->dim, MCUBE_MAP "color_map"));
	ASSERT_EQ(0, mcube_write(MCUBE_SRM "enabled", "1"));
}

FIXTURE_TEARDOWN_PARENT(srm_reuse)
{
	if (srm_unusable())
		return;
	EXPECT_EQ(0, mcube_write(MCUBE_SRM "enabled", "0"));
	srm_defaults();
	unlink(self->file);
	if (self->mounted)
		EXPECT_EQ(0, umount(SRM_MOUNT));
	EXPECT_EQ(0, mcube_off());
	mcube_restore(&self->saved);
}

static void make(struct __test_metadata *_metadata, FIXTURE_DATA(srm_reuse) *self,
		 size_t pages)
{
	ASSERT_EQ(0, srm_write_file(self->file, pages));
	srm_forget_files();
	ASSERT_EQ(0, srm_restart());
}

/* Pages of the rarest and of the most frequent color. */
static void count_colors(struct __test_metadata *_metadata, FIXTURE_DATA(srm_reuse) *self,
			 const char *path, size_t pages, unsigned int *least,
			 unsigned int *most)
{
	unsigned int n[SRM_COLORS] = { 0 };
	size_t i;

	ASSERT_EQ(0, srm_file_colors(&self->dim, path, pages, self->color));
	for (i = 0; i < pages; i++)
		n[self->color[i]]++;
	for (*least = *most = n[0], i = 1; i < SRM_COLORS; i++) {
		*least = n[i] < *least ? n[i] : *least;
		*most = n[i] > *most ? n[i] : *most;
	}
}

static void expect_all_colors(struct __test_metadata *_metadata, FIXTURE_DATA(srm_reuse) *self,
			      size_t pages)
{
	unsigned int least, most;

	count_colors(_metadata, self, self->file, pages, &least, &most);
	TH_LOG("%zu pages, %u to %u of each color", pages, least, most);
	EXPECT_LE(pages / SRM_COLORS / 2, least);
	EXPECT_GE(pages / SRM_COLORS * 2, most);
}

static void expect_segments(struct __test_metadata *_metadata, FIXTURE_DATA(srm_reuse) *self,
			    size_t pages)
{
	ASSERT_EQ(0, srm_file_colors(&self->dim, self->file, pages, self->color));
	EXPECT_EQ(0, srm_strays(self->color, pages, TL));
}

TEST_F_TIMEOUT(srm_reuse, small_file_gets_all_colors, 120)
{
	long recolored = srm_stat(STAT_RECOLORED);
	int i;

	make(_metadata, self, SMALL);
	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, srm_read_file(self->file, SMALL));
	EXPECT_EQ(recolored, srm_stat(STAT_RECOLORED));
	expect_segments(_metadata, self, SMALL);
	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, srm_read_file(self->file, SMALL));
	recolored = srm_stat(STAT_RECOLORED) - recolored;
	EXPECT_LE((long)SMALL * 9 / 10, recolored);
	EXPECT_GE((long)SMALL, recolored);
	expect_all_colors(_metadata, self, SMALL);
	/*
	 * The pages also hop when they are read in again, as the inode has
	 * stayed.
	 */
	sync();
	ASSERT_EQ(0, mcube_write("/proc/sys/vm/drop_caches", "1"));
	ASSERT_EQ(0, srm_read_file(self->file, SMALL));
	expect_all_colors(_metadata, self, SMALL);
}

TEST_F_TIMEOUT(srm_reuse, large_file_stays_a_stream, 120)
{
	long recolored = srm_stat(STAT_RECOLORED);
	int i;

	make(_metadata, self, LARGE);
	for (i = 0; i < 5; i++)
		ASSERT_EQ(0, srm_read_file(self->file, LARGE));
	EXPECT_EQ(recolored, srm_stat(STAT_RECOLORED));
	expect_segments(_metadata, self, LARGE);
}

TEST_F_TIMEOUT(srm_reuse, many_files_stay_a_stream, 120)
{
	long recolored = srm_stat(STAT_RECOLORED);
	char path[192];
	int i, round;

	for (i = 0; i < FILES; i++) {
		snprintf(path, sizeof(path), "%s/mcube-reuse%d", self->dir, i);
		ASSERT_EQ(0, srm_write_file(path, SHORT));
	}
	srm_forget_files();
	for (round = 0; round < 5; round++)
		for (i = 0; i < FILES; i++) {
			snprintf(path, sizeof(path), "%s/mcube-reuse%d", self->dir, i);
			ASSERT_EQ(0, srm_read_file(path, SHORT));
		}
	EXPECT_EQ(recolored, srm_stat(STAT_RECOLORED));
	for (i = 0; i < FILES; i++) {
		snprintf(path, sizeof(path), "%s/mcube-reuse%d", self->dir, i);
		unlink(path);
	}
}

TEST_F_TIMEOUT(srm_reuse, other_tasks_count_anew, 120)
{
	long recolored = srm_stat(STAT_RECOLORED);
	int i, status;

	make(_metadata, self, SMALL);
	for (i = 0; i < 6; i++) {
		if (!fork())
			_exit(srm_read_file(self->file, SMALL) ? 1 : 0);
		ASSERT_LT(0, wait(&status));
		EXPECT_EQ(0, status);
	}
	EXPECT_EQ(recolored, srm_stat(STAT_RECOLORED));
	expect_segments(_metadata, self, SMALL);
}

TEST_F_TIMEOUT(srm_reuse, recolored_pages_are_not_moved_again, 120)
{
	long recolored;
	int i, status;

	make(_metadata, self, SMALL);
	for (i = 0; i < 4; i++)
		ASSERT_EQ(0, srm_read_file(self->file, SMALL));
	recolored = srm_stat(STAT_RECOLORED);
	if (!fork()) {
		for (i = 0; i < 5; i++)
			if (srm_read_file(self->file, SMALL))
				_exit(1);
		_exit(0);
	}
	ASSERT_LT(0, wait(&status));
	EXPECT_EQ(0, status);
	/* By chance two neighbours have the same color here and there. */
	EXPECT_GE(recolored + (long)SMALL / 10, srm_stat(STAT_RECOLORED));
	expect_all_colors(_metadata, self, SMALL);
}

TEST_F_TIMEOUT(srm_reuse, never_if_switched_off, 120)
{
	long recolored = srm_stat(STAT_RECOLORED);
	int i;

	make(_metadata, self, SMALL);
	ASSERT_EQ(0, mcube_write(MCUBE_SRM SRM_REUSE, "0"));
	for (i = 0; i < 5; i++)
		ASSERT_EQ(0, srm_read_file(self->file, SMALL));
	EXPECT_EQ(recolored, srm_stat(STAT_RECOLORED));
	expect_segments(_metadata, self, SMALL);
}

static int advise(const char *path, int advice)
{
	int fd = open(path, O_RDONLY), ret;

	if (fd < 0)
		return -errno;
	ret = posix_fadvise(fd, 0, 0, advice);
	close(fd);
	return ret;
}

TEST_F_TIMEOUT(srm_reuse, advice_of_programs, 120)
{
	long recolored = srm_stat(STAT_RECOLORED);
	int i;

	/*
	 * The program says that the file is used once: no number of reads
	 * counts.
	 */
	make(_metadata, self, SMALL);
	ASSERT_EQ(0, advise(self->file, POSIX_FADV_NOREUSE));
	for (i = 0; i < 5; i++)
		ASSERT_EQ(0, srm_read_file(self->file, SMALL));
	EXPECT_EQ(recolored, srm_stat(STAT_RECOLORED));
	expect_segments(_metadata, self, SMALL);

	/*
	 * The program says that it needs the whole file: the pages hop at the
	 * first read, of a large file too.
	 */
	make(_metadata, self, LARGE);
	ASSERT_EQ(0, advise(self->file, POSIX_FADV_WILLNEED));
	ASSERT_EQ(0, srm_read_file(self->file, LARGE));
	expect_all_colors(_metadata, self, LARGE);

	/* POSIX_FADV_NORMAL takes the advice back. */
	sync();
	ASSERT_EQ(0, mcube_write("/proc/sys/vm/drop_caches", "1"));
	ASSERT_EQ(0, advise(self->file, POSIX_FADV_NORMAL));
	ASSERT_EQ(0, srm_restart());
	ASSERT_EQ(0, srm_read_file(self->file, LARGE));
	expect_segments(_metadata, self, LARGE);
}

/* A new inode has no advice, even if the inode before it in its memory had. */
TEST_F_TIMEOUT(srm_reuse, advice_goes_with_the_file, 120)
{
	int i;

	for (i = 0; i < 20; i++) {
		make(_metadata, self, SMALL);
		ASSERT_EQ(0, advise(self->file, POSIX_FADV_WILLNEED));
		ASSERT_EQ(0, unlink(self->file));
	}
	for (i = 0; i < 20; i++) {
		make(_metadata, self, SMALL);
		ASSERT_EQ(0, srm_read_file(self->file, SMALL));
		expect_segments(_metadata, self, SMALL);
		ASSERT_EQ(0, unlink(self->file));
	}
}

TEST_HARNESS_MAIN
