// SPDX-License-Identifier: GPL-2.0
/*
 * SRM-buffer and files that are read again and again: those that fit in the
 * cache get all colors, others stay where they are; and what a program says by
 * posix_fadvise().  Needs the disk that srm.c needs.
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
#define RESCAN		16UL
#define SMALL		128UL	/* of SRM_COLORS * RESCAN = 256 that fit */
#define LARGE		512UL
#define FILES		12
#define SHORT		32UL	/* FILES * SHORT do not fit */

FIXTURE(rescan) {
	struct mcube_saved saved;
	struct mcube_dim dim;
	char dir[128], file[160];
	bool mounted;
	unsigned int color[LARGE];
};

FIXTURE_SETUP(rescan)
{
	const char *why = srm_unusable(), *dir;

	mcube_save(&self->saved);
	if (why)
		SKIP(return, "%s", why);
	dir = mcube_disk(SRM_MOUNT, &self->mounted);
	if (!dir)
		SKIP(return, "no ext4 on " MCUBE_DISK);
	snprintf(self->dir, sizeof(self->dir), "%s", dir);
	snprintf(self->file, sizeof(self->file), "%s/mcube-rescan", dir);
	ASSERT_EQ(0, mcube_off());
	ASSERT_EQ(0, mcube_write_num(MCUBE_SRM "tl", TL));
	ASSERT_EQ(0, mcube_write_num(MCUBE_SRM "rescan", RESCAN));
	ASSERT_EQ(0, mcube_write(MCUBE_SRM "reserve", "0"));
	ASSERT_EQ(0, mcube_on("shuffle", MCUBE_TEST_COLORS, MCUBE_TEST_BANKS));
	ASSERT_EQ(0, mcube_dim_from(&self->dim, MCUBE_MAP "color_map"));
	ASSERT_EQ(0, mcube_write(MCUBE_SRM "enabled", "1"));
}

FIXTURE_TEARDOWN_PARENT(rescan)
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

static void make(struct __test_metadata *_metadata, FIXTURE_DATA(rescan) *self,
		 size_t pages)
{
	ASSERT_EQ(0, srm_write_file(self->file, pages));
	srm_forget_files();
	ASSERT_EQ(0, srm_restart());
}

/* Pages of the rarest and of the most frequent color. */
static void spread_of(struct __test_metadata *_metadata, FIXTURE_DATA(rescan) *self,
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

static void expect_spread(struct __test_metadata *_metadata, FIXTURE_DATA(rescan) *self,
			  size_t pages)
{
	unsigned int least, most;

	spread_of(_metadata, self, self->file, pages, &least, &most);
	TH_LOG("%zu pages, %u to %u of each color", pages, least, most);
	EXPECT_LE(pages / SRM_COLORS / 2, least);
	EXPECT_GE(pages / SRM_COLORS * 2, most);
}

static void expect_runs(struct __test_metadata *_metadata, FIXTURE_DATA(rescan) *self,
			size_t pages)
{
	ASSERT_EQ(0, srm_file_colors(&self->dim, self->file, pages, self->color));
	EXPECT_EQ(0, srm_strays(self->color, pages, TL));
}

TEST_F_TIMEOUT(rescan, small_file_gets_all_colors, 120)
{
	long spread = srm_stat("spread");
	int i;

	make(_metadata, self, SMALL);
	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, srm_read_file(self->file, SMALL));
	EXPECT_EQ(spread, srm_stat("spread"));
	expect_runs(_metadata, self, SMALL);
	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, srm_read_file(self->file, SMALL));
	spread = srm_stat("spread") - spread;
	EXPECT_LE((long)SMALL * 9 / 10, spread);
	EXPECT_GE((long)SMALL, spread);
	expect_spread(_metadata, self, SMALL);
	/* And when it comes back; its inode has stayed. */
	sync();
	ASSERT_EQ(0, mcube_write("/proc/sys/vm/drop_caches", "1"));
	ASSERT_EQ(0, srm_read_file(self->file, SMALL));
	expect_spread(_metadata, self, SMALL);
}

TEST_F_TIMEOUT(rescan, large_file_stays_a_stream, 120)
{
	long spread = srm_stat("spread");
	int i;

	make(_metadata, self, LARGE);
	for (i = 0; i < 5; i++)
		ASSERT_EQ(0, srm_read_file(self->file, LARGE));
	EXPECT_EQ(spread, srm_stat("spread"));
	expect_runs(_metadata, self, LARGE);
}

TEST_F_TIMEOUT(rescan, many_files_stay_a_stream, 120)
{
	long spread = srm_stat("spread");
	char path[192];
	int i, round;

	for (i = 0; i < FILES; i++) {
		snprintf(path, sizeof(path), "%s/mcube-rescan%d", self->dir, i);
		ASSERT_EQ(0, srm_write_file(path, SHORT));
	}
	srm_forget_files();
	for (round = 0; round < 5; round++)
		for (i = 0; i < FILES; i++) {
			snprintf(path, sizeof(path), "%s/mcube-rescan%d", self->dir, i);
			ASSERT_EQ(0, srm_read_file(path, SHORT));
		}
	EXPECT_EQ(spread, srm_stat("spread"));
	for (i = 0; i < FILES; i++) {
		snprintf(path, sizeof(path), "%s/mcube-rescan%d", self->dir, i);
		unlink(path);
	}
}

TEST_F_TIMEOUT(rescan, by_other_tasks_it_counts_anew, 120)
{
	long spread = srm_stat("spread");
	int i, status;

	make(_metadata, self, SMALL);
	for (i = 0; i < 6; i++) {
		if (!fork())
			_exit(srm_read_file(self->file, SMALL) ? 1 : 0);
		ASSERT_LT(0, wait(&status));
		EXPECT_EQ(0, status);
	}
	EXPECT_EQ(spread, srm_stat("spread"));
	expect_runs(_metadata, self, SMALL);
}

TEST_F_TIMEOUT(rescan, what_is_spread_is_not_moved_again, 120)
{
	long spread;
	int i, status;

	make(_metadata, self, SMALL);
	for (i = 0; i < 4; i++)
		ASSERT_EQ(0, srm_read_file(self->file, SMALL));
	spread = srm_stat("spread");
	if (!fork()) {
		for (i = 0; i < 5; i++)
			if (srm_read_file(self->file, SMALL))
				_exit(1);
		_exit(0);
	}
	ASSERT_LT(0, wait(&status));
	EXPECT_EQ(0, status);
	/* Two neighbours have one color by chance here and there. */
	EXPECT_GE(spread + (long)SMALL / 10, srm_stat("spread"));
	expect_spread(_metadata, self, SMALL);
}

TEST_F_TIMEOUT(rescan, never_if_told_so, 120)
{
	long spread = srm_stat("spread");
	int i;

	make(_metadata, self, SMALL);
	ASSERT_EQ(0, mcube_write(MCUBE_SRM "rescan", "0"));
	for (i = 0; i < 5; i++)
		ASSERT_EQ(0, srm_read_file(self->file, SMALL));
	EXPECT_EQ(spread, srm_stat("spread"));
	expect_runs(_metadata, self, SMALL);
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

TEST_F_TIMEOUT(rescan, programs_know_better, 120)
{
	long spread = srm_stat("spread");
	int i;

	/* Used once, they say: however often it is read. */
	make(_metadata, self, SMALL);
	ASSERT_EQ(0, advise(self->file, POSIX_FADV_NOREUSE));
	for (i = 0; i < 5; i++)
		ASSERT_EQ(0, srm_read_file(self->file, SMALL));
	EXPECT_EQ(spread, srm_stat("spread"));
	expect_runs(_metadata, self, SMALL);

	/* All of it is needed: at once, and a large file too. */
	make(_metadata, self, LARGE);
	ASSERT_EQ(0, advise(self->file, POSIX_FADV_WILLNEED));
	ASSERT_EQ(0, srm_read_file(self->file, LARGE));
	expect_spread(_metadata, self, LARGE);

	/* NORMAL takes it back. */
	sync();
	ASSERT_EQ(0, mcube_write("/proc/sys/vm/drop_caches", "1"));
	ASSERT_EQ(0, advise(self->file, POSIX_FADV_NORMAL));
	ASSERT_EQ(0, srm_restart());
	ASSERT_EQ(0, srm_read_file(self->file, LARGE));
	expect_runs(_metadata, self, LARGE);
}

/* Memory of another file's inode says nothing of a new one. */
TEST_F_TIMEOUT(rescan, advice_goes_with_the_file, 120)
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
		expect_runs(_metadata, self, SMALL);
		ASSERT_EQ(0, unlink(self->file));
	}
}

TEST_HARNESS_MAIN
