// SPDX-License-Identifier: GPL-2.0
/*
 * Page sets over a device that answers late: blocks that go to another file meanwhile, and a
 * pool that goes on meanwhile.
 */

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "../kselftest_harness.h"
#include "dm_lib.h"
#include "ring_lib.h"
#include "setcache_lib.h"

/* What the read returns, and what nobody may read. */
enum { OLD = 1, NEW, SECRET };

/*
 * A read of a page is on its way when the blocks of the page go to another file, whose owner
 * writes a secret there.  The device reads the blocks then.
 *
 *   file      page in block X, a read waits     page in block Y             the read returns Y
 *   device    ------------------------------------------------------------- reads X
 *   other     page in block Y or X              page in block X: secret
 */
#define PAGE		8U	/* the page that is read */
#define PAGES		16U
#define MANY		1100U	/* a kill of so many takes the cookie of the file */
#define DELAY		5000	/* milliseconds */

/* linux/fs.h does not have it. */
struct move_extent {
	__u32 reserved, donor_fd;
	__u64 orig_start, donor_start, len, moved_len;
};

#define EXT4_IOC_MOVE_EXT	_IOWR('f', 15, struct move_extent)

FIXTURE(setcache_moved) {
	struct setcache_setup setup;
	struct dm_device dm;
	char *buf, *page;	/* for writes, and what a reader got */
	int fd, direct, other, random_fd;
};

FIXTURE_VARIANT(setcache_moved) {
	const char *type, *below;
	bool shared;		/* the two files share blocks, and a direct write gets new ones */
	unsigned int pages;	/* of that write */
};

FIXTURE_VARIANT_ADD(setcache_moved, ext4) {
	.type = "ext4", .below = MCUBE_DISK, .pages = PAGES,
};

FIXTURE_VARIANT_ADD(setcache_moved, xfs) {
	.type = "xfs", .below = MCUBE_DISK_XFS, .shared = true, .pages = PAGES,
};

FIXTURE_VARIANT_ADD(setcache_moved, xfs_many) {
	.type = "xfs", .below = MCUBE_DISK_XFS, .shared = true, .pages = MANY,
};

/* Write pages with stamps from @first on, to the disk if the descriptor is not direct. */
static int write_pages(int fd, char *buf, unsigned int first, unsigned int nr, uint32_t number)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		stamp_fill(buf + i * PAGE_SIZE_, first + i, number);
	return pwrite(fd, buf, nr * PAGE_SIZE_, first * PAGE_SIZE_) == (ssize_t)(nr * PAGE_SIZE_) ?
	       fsync(fd) : -EIO;
}

FIXTURE_SETUP(setcache_moved)
{
	const char *why = setcache_unusable();
	char path[200];

	if (!why && (getenv("MCUBE_DISK_DIR") || getenv("MCUBE_XFS_DIR")))
		why = "file systems of the test are mounted, not over the device mapper";
	why = why ?: dm_begin_file(&self->dm, &self->setup, variant->type, variant->below,
				   variant->pages);
	if (why)
		SKIP(return, "%s", why);
	self->buf = aligned_alloc(PAGE_SIZE_, variant->pages * PAGE_SIZE_);
	ASSERT_NE(NULL, self->buf);
	self->page = mmap(NULL, PAGE_SIZE_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			  -1, 0);
	ASSERT_NE(MAP_FAILED, self->page);
	snprintf(path, sizeof(path), "%s-other", self->setup.file);
	self->fd = open(self->setup.file, O_RDWR | O_CLOEXEC);
	self->random_fd = open(self->setup.file, O_RDONLY | O_CLOEXEC);
	self->direct = open(self->setup.file, O_RDWR | O_DIRECT | O_CLOEXEC);
	self->other = open(path, O_RDWR | O_CREAT | O_TRUNC | O_DIRECT | O_CLOEXEC, 0600);
	ASSERT_LE(0, self->fd);
	ASSERT_LE(0, self->random_fd);
	ASSERT_LE(0, self->direct);
	ASSERT_LE(0, self->other);
	unlink(path);
	ASSERT_EQ(0, posix_fadvise(self->random_fd, 0, 0, POSIX_FADV_RANDOM));
	ASSERT_EQ(0, write_pages(self->direct, self->buf, 0, variant->pages, OLD));
	if (!variant->shared)
		ASSERT_EQ(0, write_pages(self->other, self->buf, 0, PAGES, OLD));
	if (variant->shared && ioctl(self->other, FICLONE, self->fd))
		SKIP(return, "the file system shares no blocks");
	ASSERT_EQ(0, dm_add_pages(&self->dm, self->setup.file, 0, variant->pages));
	ASSERT_EQ(0, mcube_write(MCUBE_SETCACHE "size_mib", "1"));
	ASSERT_EQ(0, mcube_write(MCUBE_SETCACHE "mode", "random"));
	ASSERT_EQ(0, dm_delay_reads(&self->dm, DELAY));
}

FIXTURE_TEARDOWN_PARENT(setcache_moved)
{
	if (*self->dm.path)
		EXPECT_EQ(0, dm_heal(&self->dm));
	EXPECT_EQ(0, setcache_end(&self->setup));
	EXPECT_EQ(0, dm_close(&self->dm));
}

/* The page gets new content, and then the blocks of the other file, which gets its blocks. */
static int move_page(FIXTURE_DATA(setcache_moved) *self)
{
	struct move_extent move = { .donor_fd = self->other };
	int size;

	if (write_pages(self->fd, self->buf, PAGE, 1, NEW) || ioctl(self->fd, FIGETBSZ, &size))
		return -errno;
	move.orig_start = PAGE * PAGE_SIZE_ / size;
	move.donor_start = move.orig_start;
	move.len = PAGE_SIZE_ / size;
	return ioctl(self->fd, EXT4_IOC_MOVE_EXT, &move) ? -errno :
	       move.moved_len == move.len ? 0 : -EIO;
}

/*
 * Let the other file have the blocks, with a secret in them; the reader reads meanwhile.  Neither
 * file system takes the lock that a fill holds.
 */
static void move_blocks(struct __test_metadata *_metadata, FIXTURE_DATA(setcache_moved) *self,
			const FIXTURE_VARIANT(setcache_moved) *variant)
{
	uint64_t old = dm_place(self->fd, PAGE);

	ASSERT_NE(0, old);
	ASSERT_EQ(0, variant->shared ?
		  write_pages(self->direct, self->buf, 0, variant->pages, NEW) :
		  move_page(self));
	EXPECT_EQ(old, dm_place(self->other, PAGE));
	EXPECT_NE(old, dm_place(self->fd, PAGE));
	ASSERT_EQ(0, write_pages(self->other, self->buf, PAGE, 1, SECRET));
	EXPECT_EQ(old, dm_place(self->other, PAGE));
}

static uint32_t number_of(const char *page)
{
	struct stamped s = { .done = OLD, .begun = SECRET };

	return stamp_is_current(&s, PAGE, OLD, page, 0, PAGE_SIZE_) ? *(const uint32_t *)page : 0;
}

TEST_F_TIMEOUT(setcache_moved, no_secret, 120)
{
	long doomed = setcache_stat("doomed"), fills = setcache_stat("fills");
	pid_t pid = fork();

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		/* A page fault in the copy would let it begin again. */
		memset(self->page, 0, PAGE_SIZE_);
		_exit(pread(self->random_fd, self->page, PAGE_SIZE_, PAGE * PAGE_SIZE_) !=
		      PAGE_SIZE_);
	}
	ASSERT_TRUE(setcache_wait_for_fill(pid));
	move_blocks(_metadata, self, variant);
	/* It was under way all the time. */
	ASSERT_TRUE(child_runs(pid));
	EXPECT_TRUE(child_ended_well(pid));
	EXPECT_EQ(NEW, number_of(self->page));
	EXPECT_EQ(1, setcache_stat("doomed") - doomed);
	EXPECT_EQ(0, setcache_stat("fills") - fills);
	EXPECT_EQ(0, setcache_ways_in_use());
}

/* The same by io_uring: the reader comes back, and its page is in no set. */
TEST_F_TIMEOUT(setcache_moved, no_secret_by_io_uring, 120)
{
	long doomed = setcache_stat("doomed"), fills = setcache_stat("fills");
	struct ring ring;

	ASSERT_EQ(NULL, ring_open(&ring));
	memset(self->page, 0, PAGE_SIZE_);
	ring_add(&ring, self->random_fd, self->page, PAGE_SIZE_, PAGE * PAGE_SIZE_);
	ASSERT_EQ(0, ring_submit(&ring, 0));
	ASSERT_EQ(2, setcache_ways_in_use());	/* filled and pinned */
	move_blocks(_metadata, self, variant);
	/* It was under way all the time. */
	ASSERT_LT(0, setcache_ways_in_use());
	ASSERT_EQ(0, ring_complete(&ring));
	ASSERT_EQ(0, ring_submit(&ring, 1));
	EXPECT_EQ(PAGE_SIZE_, ring_take(&ring));
	EXPECT_EQ(NEW, number_of(self->page));
	EXPECT_EQ(1, setcache_stat("doomed") - doomed);
	/* Where the page is not in the page cache, a worker fills it. */
	EXPECT_EQ(variant->shared, setcache_stat("fills") - fills);
	close(ring.fd);
}

/* The device does not answer a few readers; for all others the pool is there. */
#define READERS		3U
#define AT_ONCE		16U		/* pages of a read */
#define FILE_PAGES	256U
#define SIZE_PAGES	(16 * 256)	/* of the pool, 16 MiB */

FIXTURE(setcache_stopped) {
	struct setcache_setup setup;
	struct dm_device dm;
	pid_t reader[READERS];
};

FIXTURE_SETUP(setcache_stopped)
{
	const char *why = setcache_unusable();
	unsigned int i;
	pid_t pid;
	char *buf;
	int fd;

	why = why ?: dm_begin_device(&self->dm, &self->setup, FILE_PAGES);
	if (why)
		SKIP(return, "%s", why);
	buf = aligned_alloc(PAGE_SIZE_, AT_ONCE * PAGE_SIZE_);
	fd = open(self->setup.file, O_RDWR | O_CLOEXEC);
	ASSERT_EQ(0, setcache_write(fd, FILE_PAGES, OLD));
	ASSERT_EQ(0, posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM));
	ASSERT_EQ(0, mcube_write(MCUBE_SETCACHE "size_mib", "16"));
	ASSERT_EQ(0, mcube_write(MCUBE_SETCACHE "mode", "random"));
	ASSERT_EQ(0, dm_hold());
	for (i = 0; i < READERS; i++) {
		/* Processes share @self, and the child sees another number. */
		pid = fork();
		if (!pid) {
			struct stamped s = { .done = OLD, .begun = OLD };
			off_t pos = i * 2 * AT_ONCE * PAGE_SIZE_;
			unsigned int j;

			prctl(PR_SET_PDEATHSIG, SIGKILL);
			if (pread(fd, buf, AT_ONCE * PAGE_SIZE_, pos) != AT_ONCE * PAGE_SIZE_)
				_exit(1);
			for (j = 0; j < AT_ONCE; j++)
				if (!stamp_is_current(&s, pos / PAGE_SIZE_ + j, OLD,
						      buf + j * PAGE_SIZE_, 0, PAGE_SIZE_))
					_exit(1);
			_exit(0);
		}
		self->reader[i] = pid;
		ASSERT_TRUE(setcache_wait_for_fill(pid));
	}
	close(fd);
	free(buf);
	ASSERT_EQ(2 * READERS * AT_ONCE, setcache_ways_in_use());	/* filled and pinned */
}

FIXTURE_TEARDOWN_PARENT(setcache_stopped)
{
	if (*self->dm.path)
		EXPECT_EQ(0, dm_heal(&self->dm));
	EXPECT_EQ(0, dm_close(&self->dm));
	EXPECT_EQ(0, setcache_end(&self->setup));
}

/* A child that writes to a file, as no signal may end what it waits for. */
static pid_t start_write(const char *path, const char *text)
{
	pid_t pid = fork();

	if (!pid)
		_exit(!!mcube_write(path, text));
	return pid;
}

/* Wait for a child, but not for ever.  Its exit status, or -1. */
static int status_soon(pid_t pid)
{
	double end = mcube_deadline(20);
	int status;

	while (mcube_now() < end) {
		if (waitpid(pid, &status, WNOHANG) == pid)
			return status;
		usleep(10000);
	}
	return -1;
}

static int write_soon(const char *path, const char *text)
{
	return status_soon(start_write(path, text));
}

/* Can all sets be looked at, which takes the mutex of the table? */
static bool sets_are_there(void)
{
	pid_t pid = fork();

	if (!pid)
		_exit(setcache_ways_in_use() < 0);
	return !status_soon(pid);
}

/* The device answers: the readers get what they wanted, and the pool gets its size. */
static void expect_sound(struct __test_metadata *_metadata,
			 FIXTURE_DATA(setcache_stopped) *self, long pages)
{
	double end = mcube_deadline(60);
	unsigned int i;

	EXPECT_EQ(0, dm_go_on());
	for (i = 0; i < READERS; i++)
		EXPECT_TRUE(child_ended_well(self->reader[i]));
	while (setcache_stat("pages") != pages && mcube_now() < end)
		usleep(100000);
	EXPECT_EQ(pages, setcache_stat("pages"));
	EXPECT_EQ(0, setcache_ways_in_use());
}

TEST_F_TIMEOUT(setcache_stopped, sizes, 180)
{
	pid_t pid;

	/* A smaller pool, in which most of the pages that are read have no set. */
	EXPECT_EQ(0, write_soon(MCUBE_SETCACHE "size_mib", "1"));
	EXPECT_EQ(256, setcache_stat("pages"));
	EXPECT_TRUE(sets_are_there());
	EXPECT_EQ(0, write_soon("/proc/sys/vm/drop_caches", "1"));
	/* A larger one has to wait for their sets.  That stops nobody, and a signal ends it. */
	pid = start_write(MCUBE_SETCACHE "size_mib", "16");
	usleep(1000000);
	EXPECT_TRUE(child_runs(pid));
	EXPECT_TRUE(sets_are_there());
	EXPECT_EQ(0, kill(pid, SIGTERM));
	EXPECT_EQ(SIGTERM, status_soon(pid));
	EXPECT_EQ(1, mcube_read_num(MCUBE_SETCACHE "size_mib"));
	EXPECT_EQ(256, setcache_stat("pages"));
	expect_sound(_metadata, self, 256);
	EXPECT_EQ(0, mcube_write(MCUBE_SETCACHE "size_mib", "16"));
	EXPECT_EQ(SIZE_PAGES, setcache_stat("pages"));
}

/* The pool loses sets to reclaim, and would grow again after 10 seconds. */
TEST_F_TIMEOUT(setcache_stopped, memory_is_short, 180)
{
	double end = mcube_deadline(60);

	while (setcache_stat("pages") > SIZE_PAGES / 4 && mcube_now() < end)
		EXPECT_EQ(0, write_soon("/proc/sys/vm/drop_caches", "2"));
	EXPECT_GE(SIZE_PAGES / 4, setcache_stat("pages"));
	usleep(15000000);
	/* It is about to grow, and a set is in use. */
	EXPECT_GT(SIZE_PAGES, setcache_stat("pages"));
	EXPECT_TRUE(sets_are_there());
	EXPECT_EQ(0, write_soon("/proc/sys/vm/drop_caches", "3"));
	expect_sound(_metadata, self, SIZE_PAGES);
}

TEST_HARNESS_MAIN
