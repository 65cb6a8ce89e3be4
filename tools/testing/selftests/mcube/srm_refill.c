// SPDX-License-Identifier: GPL-2.0
/*
 * SRM-buffer when the page cache fills memory: the color that runs get next has
 * free frames, out of pages that were used once, and what is used again stays.
 * With the classic LRU lists and with MGLRU.  Needs the disk that srm.c needs.
 *
 * Files are holes, so that the device has no part.  What is not needed of memory
 * is set aside in the hugetlb pool.  Watermarks are low: above high ones a color
 * has frames enough even in full memory, and nothing needs to be evicted for it.
 * Readers stay on one CPU, and pages on its node: a run is dealt by what one node
 * has, and ends when the page allocator goes to another at a watermark.  With low
 * ones it would do so all the time.
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

#define LRU_GEN		"/sys/kernel/mm/lru_gen/enabled"
#define PAGES(mib)	((mib) * (MIB / PAGE_SIZE_))
#define PLAYGROUND	128UL			/* MiB of a node that are left free */
#define MORE		PAGES(32UL)
#define TIMES		4			/* that much */
#define KEPT		PAGES(4UL)
#define CHUNK		(16 * PAGE_SIZE_)
#define CGROUP		MCUBE_CGROUPS "/mcube-selftest"

FIXTURE(refill) {
	struct mcube_saved saved;
	char dir[128], fill[160], more[160], kept[160];
	char lru_gen[32];
	long pool, min_free;
	size_t fill_pages;
	bool mounted;
};

FIXTURE_VARIANT(refill) {
	const char *lru_gen;
};

FIXTURE_VARIANT_ADD(refill, classic) {
	.lru_gen = "n",
};

FIXTURE_VARIANT_ADD(refill, mglru) {
	.lru_gen = "y",
};

static int make_hole(const char *path, size_t pages)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600), ret;

	if (fd < 0)
		return -errno;
	ret = ftruncate(fd, pages * PAGE_SIZE_) ? -errno : 0;
	close(fd);
	return ret;
}

/* Read @pages from page @from on, a whole number of chunks. */
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

FIXTURE_SETUP(refill)
{
	const char *why = srm_unusable(), *dir;
	int nodes = mcube_max_node() + 1;
	long free;

	mcube_save(&self->saved);
	self->pool = mcube_read_num(MCUBE_POOL);
	self->min_free = mcube_read_num(MCUBE_MIN_FREE);
	if (why)
		SKIP(return, "%s", why);
	if (mcube_read(LRU_GEN, self->lru_gen, sizeof(self->lru_gen)) < 0)
		SKIP(return, "no CONFIG_LRU_GEN");
	if (self->pool < 0)
		SKIP(return, "no CONFIG_HUGETLBFS");
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
	ASSERT_EQ(0, mcube_write(LRU_GEN, variant->lru_gen));
	srm_forget_files();
	ASSERT_EQ(0, mcube_write_num(MCUBE_MIN_FREE, 8192 * nodes));
	mcube_set_aside(PLAYGROUND * nodes);
	free = srm_free_pages();
	ASSERT_LT((long)MORE, free);
	/* As large as a huge page: what the pool gives back can be the store's. */
	ASSERT_EQ(0, mcube_write(MCUBE_ALLOC "container_order", "9"));
	ASSERT_EQ(0, mcube_on("shuffle", MCUBE_TEST_COLORS, MCUBE_TEST_BANKS));
	ASSERT_EQ(0, mcube_write(MCUBE_SRM "rescan", "0"));
	ASSERT_EQ(0, mcube_write(MCUBE_SRM "enabled", "1"));
	/* The pool may have found too few blocks. */
	self->fill_pages = free / 64 * 80;
	ASSERT_EQ(0, make_hole(self->fill, self->fill_pages));
	ASSERT_EQ(0, make_hole(self->more, MORE * TIMES));
	ASSERT_EQ(0, make_hole(self->kept, KEPT));
}

FIXTURE_TEARDOWN_PARENT(refill)
{
	if (srm_unusable())
		return;
	EXPECT_EQ(0, mcube_write(MCUBE_SRM "enabled", "0"));
	srm_defaults();
	unlink(self->fill);
	unlink(self->more);
	unlink(self->kept);
	rmdir(CGROUP);
	srm_leave_node();
	if (self->mounted)
		EXPECT_EQ(0, umount(SRM_MOUNT));
	if (self->lru_gen[0])
		EXPECT_EQ(0, mcube_write(LRU_GEN, strcmp(self->lru_gen, "0x0000") ? "y" : "n"));
	EXPECT_EQ(0, mcube_off());
	mcube_write_num(MCUBE_MIN_FREE, self->min_free);
	if (self->pool >= 0)
		mcube_write_num(MCUBE_POOL, self->pool);
	mcube_restore(&self->saved);
}

/*
 * The first pages may still find what was free in pieces when memory filled up, and
 * miss their color more often: it has to settle.
 */
TEST_F_TIMEOUT(refill, runs_keep_their_color, 300)
{
	long refilled, missed, pages;
	int i = 0;

	ASSERT_EQ(0, stream_part(self->fill, 0, self->fill_pages));
	do {
		refilled = srm_stat("refilled");
		missed = srm_stat("missed");
		pages = srm_stat("file_pages");
		ASSERT_EQ(0, stream_part(self->more, i * MORE, MORE));
		refilled = srm_stat("refilled") - refilled;
		missed = srm_stat("missed") - missed;
		pages = srm_stat("file_pages") - pages;
		TH_LOG("%ld pages placed, %ld missed, %ld evicted for them; %ld containers",
		       pages, missed, refilled, mcube_stat("containers"));
		/* Later ones were partly read ahead. */
		EXPECT_LE((long)(i ? MORE * 15 / 16 : MORE), pages);
		/* Never more than was asked for: what a run takes. */
		EXPECT_GE((long)MORE * 5 / 4, refilled);
	} while (++i < TIMES && (!refilled || missed > pages / 20));
	EXPECT_LT(0, refilled);
	EXPECT_GE(pages / 20, missed);
}

TEST_F_TIMEOUT(refill, switched_off, 300)
{
	long refilled;

	ASSERT_EQ(0, mcube_write(MCUBE_SRM "refill", "0"));
	ASSERT_EQ(0, stream_part(self->fill, 0, self->fill_pages));
	refilled = srm_stat("refilled");
	ASSERT_EQ(0, stream_part(self->more, 0, MORE));
	EXPECT_EQ(refilled, srm_stat("refilled"));
}

TEST_F_TIMEOUT(refill, memory_to_spare, 300)
{
	long refilled = srm_stat("refilled");

	ASSERT_EQ(0, stream_part(self->kept, 0, KEPT));
	EXPECT_EQ(refilled, srm_stat("refilled"));
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

static char *map_kept(FIXTURE_DATA(refill) *self)
{
	int fd = open(self->kept, O_RDONLY);
	char *p;

	if (fd < 0)
		return MAP_FAILED;
	p = mmap(NULL, KEPT * PAGE_SIZE_, PROT_READ, MAP_SHARED, fd, 0);
	close(fd);
	return p;
}

/* A group that is promised @low.  Return: why there can be none, or NULL. */
static const char *make_group(const char *low)
{
	if (mcube_make_cgroup(CGROUP, "+memory"))
		return "no cgroup2 on /sys/fs/cgroup";
	if (mcube_write(CGROUP "/memory.low", low))
		return "no memory controller";
	if (mcube_max_node() && mcube_write(CGROUP "/cpuset.mems", "0"))
		return "no cpuset controller";
	return NULL;
}

/* Read @kept some times in that group.  Return: the reader's status, or < 0. */
static int read_in_group(const char *kept, int times)
{
	int status;

	if (!fork()) {
		status = mcube_write(CGROUP "/cgroup.procs", "0");
		while (!status && times--)
			status = stream_part(kept, 0, KEPT);
		_exit(status ? 1 : 0);
	}
	return wait(&status) < 0 ? -1 : status;
}

/* Stream through memory, for which refill evicts, but not of @kept's pages. */
static void expect_kept(struct __test_metadata *_metadata, FIXTURE_DATA(refill) *self,
			const char *low, int times, bool used)
{
	const char *why = make_group(low);
	long refilled, stolen;
	size_t left;
	int i, n;
	char *p;

	if (why)
		SKIP(return, "%s", why);
	ASSERT_EQ(0, read_in_group(self->kept, times));
	p = map_kept(self);
	ASSERT_NE(MAP_FAILED, p);
	ASSERT_EQ(KEPT, resident(p, KEPT));
	ASSERT_EQ(0, stream_part(self->fill, 0, self->fill_pages));
	refilled = srm_stat("refilled");
	for (i = 0; i < TIMES; i++) {
		/*
		 * Twice: what MGLRU has spared and nobody has used since until it
		 * was the oldest again is for reclaim as used once as any other.
		 */
		for (n = 0; used && n < 2; n++)
			ASSERT_EQ(0, stream_part(self->kept, 0, KEPT));
		ASSERT_EQ(0, stream_part(self->more, i * MORE, MORE));
	}
	left = resident(p, KEPT);
	munmap(p, KEPT * PAGE_SIZE_);
	EXPECT_LT(refilled, srm_stat("refilled"));
	/*
	 * Reclaim may take some on a node that is full, and counts them; refill may
	 * not.  A group's counters are added up every two seconds.
	 */
	sleep(3);
	stolen = mcube_field(CGROUP "/memory.stat", "pgsteal");
	TH_LOG("%zu of %lu pages left, %ld reclaimed", left, KEPT, stolen);
	EXPECT_LE(KEPT * 95 / 100, left + stolen);
}

TEST_F_TIMEOUT(refill, what_is_used_again_stays, 300)
{
	expect_kept(_metadata, self, "0", 4, true);
}

/* Once used, but by a group that has been promised it. */
TEST_F_TIMEOUT(refill, what_is_promised_stays, 300)
{
	expect_kept(_metadata, self, "64M", 1, false);
}

TEST_HARNESS_MAIN
