// SPDX-License-Identifier: GPL-2.0
/*
 * Folios of several pages come from containers and return to them, whole and in
 * parts, and the books of the page allocator stay right.
 *
 * Needs a file system with large folios: MCUBE_XFS_DIR, or xfs on /dev/vdb.
 */

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../kselftest_harness.h"
#include "srm_lib.h"

#define PAGES		2048UL
#define PIECE		16UL

/* A file of so many pages is no stream if it is read again and again. */
#define REUSE		1UL

FIXTURE(srm_large) {
	struct mcube_saved saved;
	struct mcube_dim dim;
	char file[160];
	const char *dir;
	bool mounted;
};

FIXTURE_VARIANT(srm_large) {
	unsigned int order;
};

FIXTURE_VARIANT_ADD(srm_large, order_1) { .order = 1 };
FIXTURE_VARIANT_ADD(srm_large, order_2) { .order = 2 };
FIXTURE_VARIANT_ADD(srm_large, order_3) { .order = 3 };

FIXTURE_SETUP(srm_large)
{
	const char *why = srm_unusable();

	mcube_save(&self->saved);
	if (why)
		SKIP(return, "%s", why);
	self->dir = mcube_xfs(SRM_MOUNT, &self->mounted);
	if (!self->dir)
		SKIP(return, "no xfs on /dev/vdb");
	snprintf(self->file, sizeof(self->file), "%s/mcube-large", self->dir);
	ASSERT_EQ(0, mcube_off());
	ASSERT_EQ(0, mcube_write(MCUBE_MAP "color_map", MCUBE_TEST_COLORS));
	ASSERT_EQ(0, mcube_dim_from(&self->dim, MCUBE_MAP "color_map"));
	ASSERT_EQ(0, mcube_write_num(MCUBE_SRM SRM_GROUP_ORDER, variant->order));
	ASSERT_EQ(0, mcube_write_num(MCUBE_SRM SRM_REUSE, REUSE));
	ASSERT_EQ(0, mcube_on("shuffle", MCUBE_TEST_COLORS, MCUBE_TEST_BANKS));
	ASSERT_EQ(0, mcube_write(MCUBE_SRM "enabled", "1"));
}

FIXTURE_TEARDOWN_PARENT(srm_large)
{
	if (srm_unusable())
		return;
	EXPECT_EQ(0, mcube_write(MCUBE_SRM "enabled", "0"));
	srm_defaults();
	if (self->file[0])
		unlink(self->file);
	if (self->mounted)
		EXPECT_EQ(0, umount(SRM_MOUNT));
	EXPECT_EQ(0, mcube_off());
	mcube_restore(&self->saved);
}

static int read_all(const char *path, size_t pages)
{
	static char buffer[PIECE * PAGE_SIZE_];
	int fd = open(path, O_RDONLY), ret = 0;
	size_t i;

	if (fd < 0)
		return -errno;
	for (i = 0; i < pages && !ret; i += PIECE)
		if (pread(fd, buffer, sizeof(buffer), i * PAGE_SIZE_) !=
		    (ssize_t)sizeof(buffer))
			ret = -EIO;
	close(fd);
	return ret;
}

/* Pages in use that lie in containers. */
static long used_in_containers(void)
{
	struct mcube_memory m;

	mcube_memory_settled(&m);
	return (mcube_stat("containers") << mcube_read_num(MCUBE_ALLOC "container_order")) -
	       m.mcube;
}

/* Aligned rows of 2^order pages of the file that are one block of memory. */
static size_t whole_blocks(struct __test_metadata *_metadata, const char *path,
			   unsigned int order)
{
	int fd = open(path, O_RDONLY);
	size_t i, k, n = 1UL << order, whole = 0;
	uint64_t pfn[PAGES];
	char *p;

	p = mmap(NULL, PAGES * PAGE_SIZE_, PROT_READ, MAP_SHARED | MAP_POPULATE, fd, 0);
	close(fd);
	ASSERT_NE(MAP_FAILED, p) return 0;
	EXPECT_EQ(0, mcube_pfns(p, PAGES, pfn));
	munmap(p, PAGES * PAGE_SIZE_);
	for (i = 0; i < PAGES; i += n) {
		for (k = 1; k < n && pfn[i + k] == pfn[i] + k; k++)
			;
		whole += k == n && pfn[i] % n == 0;
	}
	return whole;
}

TEST_F_TIMEOUT(srm_large, from_containers_and_back, 120)
{
	long before, with, after, missed;
	size_t whole;

	ASSERT_EQ(0, mcube_make_hole(self->file, PAGES));
	srm_forget_files();
	before = used_in_containers();
	missed = srm_stat("missed");
	ASSERT_EQ(0, read_all(self->file, PAGES));
	missed = srm_stat("missed") - missed;
	with = used_in_containers();
	whole = whole_blocks(_metadata, self->file, variant->order);
	srm_forget_files();
	after = used_in_containers();
	TH_LOG("%lu pages, %zu whole blocks, %ld missed; used in containers: %ld, %ld, %ld",
	       PAGES, whole, missed, before, with, after);
	EXPECT_LE(PAGES / 2 >> variant->order, whole);
	EXPECT_LE((long)PAGES / 10 * 9, with - before);
	EXPECT_LE((long)PAGES / 10 * 9, with - after);
	EXPECT_LE(missed, (long)PAGES / 20);
}

/* A write() asks for the folios of its range at once. */
TEST_F_TIMEOUT(srm_large, written, 120)
{
	static char buffer[PIECE * PAGE_SIZE_];
	long before, with;
	size_t whole, i;
	int fd;

	srm_forget_files();
	before = used_in_containers();
	fd = open(self->file, O_RDWR | O_CREAT | O_TRUNC, 0600);
	ASSERT_LE(0, fd);
	for (i = 0; i < PAGES; i += PIECE)
		ASSERT_EQ((ssize_t)sizeof(buffer), write(fd, buffer, sizeof(buffer)));
	close(fd);
	with = used_in_containers();
	whole = whole_blocks(_metadata, self->file, variant->order);
	TH_LOG("%lu pages, %zu whole blocks, %ld in containers", PAGES, whole, with - before);
	EXPECT_LE(PAGES / 2 >> variant->order, whole);
	EXPECT_LE((long)PAGES / 10 * 9, with - before);
}

/* Truncation frees parts of folios, which are split for that. */
TEST_F_TIMEOUT(srm_large, split, 120)
{
	size_t i, n = 1UL << variant->order;
	struct mcube_memory m;
	const char *why;
	long with, after;
	int fd;

	ASSERT_EQ(0, srm_write_file(self->file, PAGES));
	srm_forget_files();
	ASSERT_EQ(0, read_all(self->file, PAGES));
	with = used_in_containers();
	fd = open(self->file, O_RDWR);
	ASSERT_LE(0, fd);
	for (i = 1; i < PAGES; i += n)
		ASSERT_EQ(0, fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
				       i * PAGE_SIZE_, PAGE_SIZE_));
	ASSERT_EQ(0, ftruncate(fd, (PAGES / 2 + 1) * PAGE_SIZE_));
	close(fd);
	srm_forget_files();
	after = used_in_containers();
	TH_LOG("used in containers: %ld, after truncation %ld", with, after);
	EXPECT_LE((long)PAGES / 10 * 9, with - after);
	ASSERT_EQ(0, mcube_write(MCUBE_SRM "enabled", "0"));
	ASSERT_EQ(0, mcube_off());
	EXPECT_TRUE(mcube_memory_settled(&m));
	why = mcube_memory_check_off(&m);
	EXPECT_EQ(NULL, why) TH_LOG("%s", why);
}

/* Streams larger than memory beside programs that fill and free memory. */
TEST_F_TIMEOUT(srm_large, pressure, 300)
{
	struct mcube_load load;
	struct mcube_memory m;
	const char *why;
	size_t pages;
	int i;

	mcube_memory(&m);
	pages = m.free / 4 * 5 / PIECE * PIECE;
	ASSERT_EQ(0, mcube_make_hole(self->file, pages));
	ASSERT_EQ(0, mcube_load_start(&load, 2, MCUBE_ANON | MCUBE_FORK, NULL, m.free / 8));
	for (i = 0; i < 3; i++)
		EXPECT_EQ(0, read_all(self->file, pages));
	mcube_load_stop(&load);
	TH_LOG("%zu pages three times; %ld rounds of load, %ld pages missed, %ld containers",
	       pages, load.rounds, srm_stat("missed"), mcube_stat("containers"));
	EXPECT_EQ(0, load.corrupt);
	EXPECT_EQ(0, load.died);
	ASSERT_EQ(0, mcube_write(MCUBE_SRM "enabled", "0"));
	ASSERT_EQ(0, mcube_off());
	srm_forget_files();
	EXPECT_TRUE(mcube_memory_settled(&m));
	why = mcube_memory_check_off(&m);
	EXPECT_EQ(NULL, why) TH_LOG("%s", why);
}

TEST_HARNESS_MAIN
