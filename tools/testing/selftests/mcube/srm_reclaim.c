// SPDX-License-Identifier: GPL-2.0
/*
 * SRM-buffer when the page cache fills memory: the color of the next segment has
 * free frames, reclaimed from pages that were used once; pages that are used
 * again stay.  With the classic LRU lists and with MGLRU.  Needs the disk that
 * srm_segments.c needs.
 *
 * Each case fills a node, and expects a small machine that has just been booted.
 * Files are holes, so the device has no part.  Watermarks are low: above high
 * watermarks a color has frames enough even in full memory, and SRM-buffer need
 * not reclaim any.  Readers stay on one CPU, and pages on its node: a segment has
 * a color of one node, and ends when the page allocator goes to another node at a
 * watermark.  At low watermarks it would do so all the time.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "../kselftest_harness.h"
#include "srm_lib.h"

#define PAGES(mib)	((mib) * (MIB / PAGE_SIZE_))
#define MORE		PAGES(32UL)
#define TIMES		4			/* as much as MORE */
#define KEPT		PAGES(4UL)
#define CHUNK		(16 * PAGE_SIZE_)
#define CGROUP		MCUBE_CGROUPS "/mcube-selftest"
#define INNER		CGROUP "/inner"

FIXTURE(srm_reclaim) {
	struct mcube_saved saved;
	char dir[128], fill[160], more[160], kept[160];
	char lru_gen[32];
	long min_free;
	size_t fill_pages;
	bool mounted;
};

FIXTURE_VARIANT(srm_reclaim) {
	const char *lru_gen;
};

FIXTURE_VARIANT_ADD(srm_reclaim, classic) {
	.lru_gen = "n",
};

FIXTURE_VARIANT_ADD(srm_reclaim, mglru) {
	.lru_gen = "y",
};

/* Read @pages pages, a whole number of chunks, from page @from on. */
static int stream_part(const char *path, size_t from, size_t pages)
{
	off_t at = from * PAGE_SIZE_, end = at + pages * PAGE_SIZE_;
	int fd = open(path, O_RDONLY);
	static char chunk[CHUNK];
	ssize_t got = CHUNK;

	if (fd < 0)
		return -errno;
	for (; at < end && got == CHUNK; at += got)
		got = pread(fd, chunk, CHUNK, at);
	close(fd);
	return got == CHUNK ? 0 : -EIO;
}

FIXTURE_SETUP(srm_reclaim)
{
	const char *why = srm_unusable(), *dir;
	int nodes = mcube_max_node() + 1;
	long free;

	mcube_save(&self->saved);
	self->min_free = mcube_read_num(MCUBE_MIN_FREE);
	if (why)
		SKIP(return, "%s", why);
	if (mcube_read(MCUBE_LRU_GEN, self->lru_gen, sizeof(self->lru_gen)) < 0)
		SKIP(return, "no CONFIG_LRU_GEN");
	dir = mcube_disk(SRM_MOUNT, &self->mounted);
	if (!dir)
		SKIP(return, "no ext4 on " MCUBE_DISK);
	snprintf(self->dir, sizeof(self->dir), "%s", dir);
	snprintf(self->fill, sizeof(self->fill), "%s/mcube-fill", dir);
	snprintf(self->more, sizeof(self->more), "%s/mcube-more", dir);
	snprintf(self->kept, sizeof(self->kept), "%s/mcube-kept", dir);
	why = srm_stay_on_node();
	if (why)
		SKIP(return, "%s", why);
	ASSERT_EQ(0, mcube_off());
	ASSERT_EQ(0, mcube_write(MCUBE_LRU_GEN, variant->lru_gen));
	srm_forget_files();
	ASSERT_EQ(0, mcube_write_num(MCUBE_MIN_FREE, 8192 * nodes));
	free = srm_free_pages();
	ASSERT_LT((long)MORE, free);
	ASSERT_EQ(0, mcube_on("shuffle", MCUBE_TEST_COLORS, MCUBE_TEST_BANKS));
	ASSERT_EQ(0, mcube_write(MCUBE_SRM SRM_REUSE, "0"));
	ASSERT_EQ(0, mcube_write(MCUBE_SRM "enabled", "1"));
	self->fill_pages = free / 64 * 80;
	ASSERT_EQ(0, mcube_make_hole(self->fill, self->fill_pages));
	ASSERT_EQ(0, mcube_make_hole(self->more, MORE * TIMES));
	ASSERT_EQ(0, mcube_make_hole(self->kept, KEPT));
}

FIXTURE_TEARDOWN_PARENT(srm_reclaim)
{
	if (srm_unusable())
		return;
	EXPECT_EQ(0, mcube_write(MCUBE_SRM "enabled", "0"));
	srm_defaults();
	unlink(self->fill);
	unlink(self->more);
	unlink(self->kept);
	rmdir(INNER);
	rmdir(CGROUP);
	srm_leave_node();
	if (self->mounted)
		EXPECT_EQ(0, umount(SRM_MOUNT));
	if (self->lru_gen[0])
		EXPECT_EQ(0, mcube_write(MCUBE_LRU_GEN,
					 strcmp(self->lru_gen, "0x0000") ? "y" : "n"));
	EXPECT_EQ(0, mcube_off());
	mcube_write_num(MCUBE_MIN_FREE, self->min_free);
	mcube_restore(&self->saved);
}

/*
 * The first pages may still get frames that were free in pieces when memory filled
 * up, and miss their color more often.  Pages of later rounds must not miss so
 * often.
 */
TEST_F_TIMEOUT(srm_reclaim, segments_keep_their_color, 300)
{
	long reclaimed, missed, pages;
	int i = 0;

	ASSERT_EQ(0, stream_part(self->fill, 0, self->fill_pages));
	do {
		reclaimed = srm_stat(STAT_RECLAIMED);
		missed = srm_stat("missed");
		pages = srm_stat("file_pages");
		ASSERT_EQ(0, stream_part(self->more, i * MORE, MORE));
		reclaimed = srm_stat(STAT_RECLAIMED) - reclaimed;
		missed = srm_stat("missed") - missed;
		pages = srm_stat("file_pages") - pages;
		TH_LOG("%ld pages placed, %ld missed, %ld evicted for them; %ld containers",
		       pages, missed, reclaimed, mcube_stat("containers"));
		/* After the first round some pages were read ahead before. */
		EXPECT_LE((long)(i ? MORE * 15 / 16 : MORE), pages);
		/* No more pages are evicted than segments ask for. */
		EXPECT_GE((long)MORE * 5 / 4, reclaimed);
	} while (++i < TIMES && (!reclaimed || missed > pages / 20));
	EXPECT_LT(0, reclaimed);
	EXPECT_GE(pages / 20, missed);
}

TEST_F_TIMEOUT(srm_reclaim, switched_off, 300)
{
	long reclaimed;

	ASSERT_EQ(0, mcube_write(MCUBE_SRM SRM_RECLAIM, "0"));
	ASSERT_EQ(0, stream_part(self->fill, 0, self->fill_pages));
	reclaimed = srm_stat(STAT_RECLAIMED);
	ASSERT_EQ(0, stream_part(self->more, 0, MORE));
	EXPECT_EQ(reclaimed, srm_stat(STAT_RECLAIMED));
}

TEST_F_TIMEOUT(srm_reclaim, memory_to_spare, 300)
{
	long reclaimed = srm_stat(STAT_RECLAIMED);

	ASSERT_EQ(0, stream_part(self->kept, 0, KEPT));
	EXPECT_EQ(reclaimed, srm_stat(STAT_RECLAIMED));
}

/* Pages of a mapping that are in memory. */
static size_t resident(char *p, size_t pages)
{
	unsigned char *there = malloc(pages);
	size_t i, n = 0;

	if (there && !mincore(p, pages * PAGE_SIZE_, there))
		for (i = 0; i < pages; i++)
			n += there[i] & 1;
	free(there);
	return n;
}

static char *map_kept(FIXTURE_DATA(srm_reclaim) *self)
{
	int fd = open(self->kept, O_RDONLY);
	char *p;

	if (fd < 0)
		return MAP_FAILED;
	p = mmap(NULL, KEPT * PAGE_SIZE_, PROT_READ, MAP_SHARED, fd, 0);
	close(fd);
	return p;
}

/* A cgroup in a cgroup.  Return: NULL, or why there is none. */
static const char *make_group(void)
{
	if (mcube_make_cgroup(CGROUP, "+memory") || mcube_make_cgroup(INNER, "+memory") ||
	    mcube_write(CGROUP "/cgroup.subtree_control", "+memory"))
		return "no cgroup2 on /sys/fs/cgroup";
	if (mcube_max_node() && mcube_write(CGROUP "/cpuset.mems", "0"))
		return "no cpuset controller";
	return NULL;
}

/* Read a file some times in the inner cgroup.  0, or that did not work. */
static int read_in_group(const char *path, int times)
{
	int status;

	if (!fork()) {
		status = mcube_write(INNER "/cgroup.procs", "0");
		while (!status && times--)
			status = stream_part(path, 0, KEPT);
		_exit(status ? 1 : 0);
	}
	return wait(&status) < 0 ? -1 : status;
}

/* Pages of the inner cgroup that the kernel has reclaimed, SRM-buffer not. */
static long pages_stolen(void)
{
	long now = -1, before;
	int i;

	/*
	 * The counters of a cgroup are added up every two seconds, and later while
	 * CPUs are idle.
	 */
	for (i = 0; i < 10; i++) {
		before = now;
		sleep(3);
		now = mcube_field(INNER "/memory.stat", "pgsteal");
		if (now == before)
			break;
	}
	return now;
}

/*
 * Let reclaim work in the new cgroup once.  With generations the first pages of a
 * cgroup are in the second generation, and no reclaim looks at them before the
 * first generation, which is empty, has been reclaimed.
 */
static int age_group(const char *path)
{
	int ret = read_in_group(path, 1);

	/* Fails if fewer pages than that can be reclaimed. */
	mcube_write(INNER "/memory.reclaim", "4M");
	return ret;
}

/*
 * The outer cgroup limits the protection of the inner cgroup.
 */
static int promise(const char *min)
{
	return mcube_write(CGROUP "/memory.min", min) ?:
	       mcube_write(INNER "/memory.min", min);
}

/*
 * Stream through memory twice, so that SRM-buffer looks at each block for each
 * color: it reclaims pages, but not those of @kept.
 */
static void expect_kept(struct __test_metadata *_metadata, FIXTURE_DATA(srm_reclaim) *self,
			const char *min, int times, bool used)
{
	const int rounds = self->fill_pages * 2 / MORE;
	const char *why = make_group();
	long reclaimed, stolen;
	size_t left;
	int i, n;
	char *p;

	if (why)
		SKIP(return, "%s", why);
	/* Nothing is evicted from a reserved color, so there must be none. */
	ASSERT_EQ(0, mcube_write(MCUBE_SRM "enabled", "0"));
	ASSERT_EQ(0, mcube_write(MCUBE_SRM "reserve", "0"));
	ASSERT_EQ(0, mcube_write(MCUBE_SRM "enabled", "1"));
	ASSERT_EQ(0, mcube_make_hole(self->more, MORE * rounds));
	ASSERT_EQ(0, age_group(self->more));
	stolen = pages_stolen();
	ASSERT_EQ(0, promise(min));
	ASSERT_EQ(0, read_in_group(self->kept, times));
	p = map_kept(self);
	ASSERT_NE(MAP_FAILED, p);
	ASSERT_EQ(KEPT, resident(p, KEPT));
	ASSERT_EQ(0, stream_part(self->fill, 0, self->fill_pages));
	reclaimed = srm_stat(STAT_RECLAIMED);
	for (i = 0; i < rounds; i++) {
		/*
		 * Twice: MGLRU spares a page that was used again once.  If nobody
		 * uses the page until it is the oldest again, reclaim takes it for
		 * a page used once.
		 */
		for (n = 0; used && n < 2; n++)
			ASSERT_EQ(0, stream_part(self->kept, 0, KEPT));
		ASSERT_EQ(0, stream_part(self->more, i * MORE, MORE));
	}
	left = resident(p, KEPT);
	munmap(p, KEPT * PAGE_SIZE_);
	EXPECT_LT(reclaimed, srm_stat(STAT_RECLAIMED));
	/*
	 * The kernel may reclaim some of these pages on a full node, and counts
	 * them; SRM-buffer may not.
	 */
	stolen = pages_stolen() - stolen;
	TH_LOG("%zu of %lu pages left, %ld reclaimed", left, KEPT, stolen);
	/* No reclaim at all takes what memory.min promises. */
	if (!used)
		EXPECT_EQ(0, stolen);
	EXPECT_LE(KEPT * 95 / 100, left + stolen);
}

TEST_F_TIMEOUT(srm_reclaim, pages_used_again_stay, 300)
{
	expect_kept(_metadata, self, "0", 4, true);
}

/* Pages used once, but by a cgroup that memory.min protects. */
TEST_F_TIMEOUT(srm_reclaim, promised_pages_stay, 300)
{
	expect_kept(_metadata, self, "64M", 1, false);
}

TEST_HARNESS_MAIN
