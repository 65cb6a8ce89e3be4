// SPDX-License-Identifier: GPL-2.0
/*
 * Adjacent pages of a file come into sets by one direct read of the file system: how many requests
 * the device gets, the end of the file, holes, a writer that has the lock of the inode, and
 * pages that cannot be read.  The device is one of the device mapper, which counts bios.
 */

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "../kselftest_harness.h"
#include "dm_lib.h"
#include "ring_lib.h"
#include "setcache_lib.h"

#define PAGES		64U
#define READ		16U	/* pages of a read, no more than a fill has */
#define BAD		5U	/* of the pages of a read */
#define REST		100U	/* bytes of the last page */
#define ROUNDS		500U	/* the file gets longer and shorter */

FIXTURE(setcache_direct) {
	struct setcache_setup setup;
	struct dm_device dm;
	char *buf;
	int fd, direct;
};

FIXTURE_VARIANT(setcache_direct) {
	const char *type, *below;
	bool readers_lock;	/* each read takes the lock of the inode */
};

FIXTURE_VARIANT_ADD(setcache_direct, ext4) { .type = "ext4", .below = MCUBE_DISK };

FIXTURE_VARIANT_ADD(setcache_direct, xfs) {
	.type = "xfs", .below = MCUBE_DISK_XFS, .readers_lock = true,
};

FIXTURE_SETUP(setcache_direct)
{
	const char *why = setcache_unusable();

	if (!why && (getenv("MCUBE_DISK_DIR") || getenv("MCUBE_XFS_DIR")))
		why = "file systems of the test are mounted, not over the device mapper";
	why = why ?: dm_begin_file(&self->dm, &self->setup, variant->type, variant->below, PAGES);
	if (why)
		SKIP(return, "%s", why);
	self->buf = aligned_alloc(PAGE_SIZE_, READ * PAGE_SIZE_);
	/* A page fault in the copy would let the fill begin again. */
	memset(self->buf, 0, READ * PAGE_SIZE_);
	self->fd = open(self->setup.file, O_RDWR | O_CLOEXEC);
	self->direct = open(self->setup.file, O_RDWR | O_DIRECT | O_CLOEXEC);
	ASSERT_LE(0, self->fd);
	ASSERT_LE(0, self->direct);
	ASSERT_EQ(0, setcache_write(self->fd, PAGES, 1));
	ASSERT_EQ(0, posix_fadvise(self->fd, 0, 0, POSIX_FADV_RANDOM));
	ASSERT_EQ(0, mcube_write(MCUBE_SETCACHE "size_mib", "1"));
	ASSERT_EQ(0, mcube_write(MCUBE_SETCACHE "mode", "random"));
}

FIXTURE_TEARDOWN_PARENT(setcache_direct)
{
	if (*self->dm.path)
		EXPECT_EQ(0, dm_heal(&self->dm));
	EXPECT_EQ(0, setcache_end(&self->setup));
	EXPECT_EQ(0, dm_close(&self->dm));
}

/* Reads that the device has completed; they count after the reader is woken up. */
static long requests(const struct dm_device *dm)
{
	long now, before = -1;
	char path[64];

	snprintf(path, sizeof(path), "/sys/block/%s/stat", dm->name);
	while ((now = mcube_read_num(path)) != before) {
		before = now;
		usleep(10000);
	}
	return now;
}

/* How many pages are right; words of zeros are, too, if @zero. */
static unsigned int written_pages(const char *buf, unsigned int first, unsigned int nr, bool zero)
{
	struct stamped s = { .begun = 1, .done = 1, .zero = zero };
	unsigned int i;

	for (i = 0; i < nr; i++)
		if (!stamp_is_current(&s, first + i, 1, buf + i * PAGE_SIZE_, 0, PAGE_SIZE_))
			break;
	return i;
}

static unsigned int right_pages(const char *buf, unsigned int first, unsigned int nr)
{
	return written_pages(buf, first, nr, false);
}

/* Read pages; returns how many are right, from the first on, or an error. */
static long right(FIXTURE_DATA(setcache_direct) *self, unsigned int first, unsigned int nr)
{
	ssize_t got = pread(self->fd, self->buf, nr * PAGE_SIZE_, first * PAGE_SIZE_);

	return got < 0 ? -errno : (long)right_pages(self->buf, first, got / PAGE_SIZE_);
}

static bool is_zero(const char *buf, size_t len)
{
	return !len || (!*buf && !memcmp(buf, buf + 1, len - 1));
}

TEST_F(setcache_direct, adjacent_pages_are_a_request)
{
	long before = requests(&self->dm), fills = setcache_stat("fills");

	EXPECT_EQ(READ, right(self, 0, READ));
	EXPECT_EQ(1, requests(&self->dm) - before);
	EXPECT_EQ(READ, setcache_stat("fills") - fills);
	/* In the second part two pages are in sets. */
	EXPECT_EQ(1, right(self, READ + 3, 1));
	EXPECT_EQ(1, right(self, READ + 4, 1));
	before = requests(&self->dm);
	EXPECT_EQ(READ, right(self, READ, READ));
	EXPECT_EQ(2, requests(&self->dm) - before);
	/* All are. */
	before = requests(&self->dm);
	EXPECT_EQ(READ, right(self, 0, READ));
	EXPECT_EQ(READ, right(self, READ, READ));
	EXPECT_EQ(0, requests(&self->dm) - before);
	/* Four pages, and a page, each of them alone. */
	EXPECT_EQ(4, right(self, 2 * READ, 4));
	EXPECT_EQ(1, right(self, 2 * READ + 4, 1));
	EXPECT_EQ(2, requests(&self->dm) - before);
}

TEST_F(setcache_direct, io_uring_sends_a_request)
{
	long before, async = setcache_stat("async");
	struct ring ring;

	ASSERT_EQ(NULL, ring_open(&ring));
	before = requests(&self->dm);
	EXPECT_EQ(READ * PAGE_SIZE_, ring_read(&ring, self->fd, self->buf, READ * PAGE_SIZE_, 0));
	EXPECT_EQ(READ, right_pages(self->buf, 0, READ));
	EXPECT_EQ(1, requests(&self->dm) - before);
	EXPECT_EQ(READ, setcache_stat("async") - async);
	close(ring.fd);
}

TEST_F(setcache_direct, a_bad_page_fails_alone)
{
	long errors = setcache_stat("errors"), fills = setcache_stat("fills");

	ASSERT_EQ(0, dm_add_pages(&self->dm, self->setup.file, BAD, 1));
	ASSERT_EQ(0, dm_set(&self->dm, "flakey", "0 1 1 error_reads"));
	/* The kernel goes on after the good pages, and so tries the bad one twice. */
	EXPECT_EQ(BAD, right(self, 0, READ));
	EXPECT_EQ(2, setcache_stat("errors") - errors);
	EXPECT_EQ(READ - 1, setcache_stat("fills") - fills);
	/* All other pages have come in. */
	fills = setcache_stat("fills");
	EXPECT_EQ(READ - BAD - 1, right(self, BAD + 1, READ - BAD - 1));
	EXPECT_EQ(0, setcache_stat("fills") - fills);
	EXPECT_EQ(-EIO, right(self, BAD, 1));
	ASSERT_EQ(0, dm_heal(&self->dm));
	EXPECT_EQ(READ, right(self, 0, READ));
}

/* The rest of the last page is zeros, whatever the device has there. */
TEST_F(setcache_direct, the_file_ends_in_a_page)
{
	size_t size = BAD * PAGE_SIZE_ + REST;
	uint64_t at;
	int disk;

	ASSERT_EQ(0, ftruncate(self->fd, size));
	ASSERT_EQ(0, fsync(self->fd));
	ASSERT_EQ(0, posix_fadvise(self->fd, 0, 0, POSIX_FADV_DONTNEED));
	at = dm_place(self->fd, BAD);
	ASSERT_NE(0, at);
	/* As a crash of the kernel may leave it.  A device that is mounted cannot be opened. */
	disk = open(variant->below, O_RDWR | O_DIRECT | O_CLOEXEC);
	ASSERT_LE(0, disk);
	stamp_fill(self->buf, BAD, 1);
	ASSERT_EQ(PAGE_SIZE_, pwrite(disk, self->buf, PAGE_SIZE_, at));
	close(disk);
	ASSERT_EQ(size, pread(self->fd, self->buf, READ * PAGE_SIZE_, 0));
	EXPECT_EQ(BAD, right_pages(self->buf, 0, BAD));
	ASSERT_EQ(0, ftruncate(self->fd, READ * PAGE_SIZE_));
	ASSERT_EQ(READ * PAGE_SIZE_, pread(self->fd, self->buf, READ * PAGE_SIZE_, 0));
	EXPECT_EQ(BAD, right_pages(self->buf, 0, BAD));
	EXPECT_TRUE(is_zero(self->buf + size, READ * PAGE_SIZE_ - size));
	/* And again, from sets. */
	ASSERT_EQ(READ * PAGE_SIZE_, pread(self->fd, self->buf, READ * PAGE_SIZE_, 0));
	EXPECT_TRUE(is_zero(self->buf + size, READ * PAGE_SIZE_ - size));
}

/* A child that lets the file end in a page, writes behind that page, and so on. */
static pid_t start_changes(FIXTURE_DATA(setcache_direct) *self)
{
	size_t size = BAD * PAGE_SIZE_ + REST;
	pid_t pid = fork();
	unsigned int i;

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (i = 0; i < ROUNDS; i++) {
		if (ftruncate(self->fd, size))
			_exit(1);
		stamp_fill(self->buf, READ - 1, 1);
		if (i % 2 && ftruncate(self->fd, READ * PAGE_SIZE_))
			_exit(1);
		if (pwrite(i % 4 < 2 ? self->direct : self->fd, self->buf, PAGE_SIZE_,
			   (READ - 1) * PAGE_SIZE_) != PAGE_SIZE_)
			_exit(1);
	}
	_exit(0);
}

/* Reads while the file gets longer and shorter: each byte is that of a file of that length. */
TEST_F_TIMEOUT(setcache_direct, the_end_moves, 120)
{
	ssize_t size = BAD * PAGE_SIZE_ + REST, last = (READ - 1) * PAGE_SIZE_;
	long fills = setcache_stat("fills"), reads = 0;
	bool good = true;
	ssize_t got;
	pid_t pid;

	ASSERT_EQ(0, ftruncate(self->fd, size));
	pid = start_changes(self);
	while (good && child_runs(pid)) {
		got = pread(self->fd, self->buf, READ * PAGE_SIZE_, 0);
		good = got >= size && right_pages(self->buf, 0, BAD) == BAD &&
		       is_zero(self->buf + size, (got < last ? got : last) - size) &&
		       (got < (ssize_t)(READ * PAGE_SIZE_) ||
			written_pages(self->buf + last, READ - 1, 1, true));
		posix_fadvise(self->fd, 0, 0, POSIX_FADV_DONTNEED);
		reads++;
	}
	EXPECT_TRUE(good);
	if (!good)
		child_was_killed(pid);
	EXPECT_LT(0, reads);
	EXPECT_LT(0, setcache_stat("fills") - fills);
}

/* A page without a block reads as zeros, and so does a block that no task has written. */
TEST_F(setcache_direct, holes)
{
	long before;

	/* The pages of sets have other data. */
	EXPECT_EQ(READ, right(self, READ, READ));
	EXPECT_EQ(READ, right(self, 2 * READ, READ));
	ASSERT_EQ(0, fallocate(self->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
			       2 * PAGE_SIZE_, 3 * PAGE_SIZE_));
	ASSERT_EQ(0, fallocate(self->fd, FALLOC_FL_ZERO_RANGE, 8 * PAGE_SIZE_, 2 * PAGE_SIZE_));
	ASSERT_EQ(0, mcube_write(MCUBE_SETCACHE "mode", "off"));
	ASSERT_EQ(0, mcube_write(MCUBE_SETCACHE "mode", "random"));
	before = requests(&self->dm);
	ASSERT_EQ(READ * PAGE_SIZE_, pread(self->fd, self->buf, READ * PAGE_SIZE_, 0));
	EXPECT_EQ(3, requests(&self->dm) - before);
	EXPECT_EQ(2, right_pages(self->buf, 0, 2));
	EXPECT_TRUE(is_zero(self->buf + 2 * PAGE_SIZE_, 3 * PAGE_SIZE_));
	EXPECT_EQ(3, right_pages(self->buf + 5 * PAGE_SIZE_, 5, 3));
	EXPECT_TRUE(is_zero(self->buf + 8 * PAGE_SIZE_, 2 * PAGE_SIZE_));
	EXPECT_EQ(READ - 10, right_pages(self->buf + 10 * PAGE_SIZE_, 10, READ - 10));
}

struct writer {
	pthread_t thread;
	char *source;	/* a page that is missing */
	int fd, faults;
	ssize_t written;
};

static void *write_page(void *arg)
{
	struct writer *w = arg;

	w->written = pwrite(w->fd, w->source, PAGE_SIZE_, (PAGES - 1) * PAGE_SIZE_);
	return NULL;
}

/* A thread that waits for its data in the middle of a write.  NULL, or why there is none. */
static const char *start_writer(struct writer *w)
{
	struct uffdio_register reg = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	struct uffdio_api api = { .api = UFFD_API };
	struct pollfd wait = { .events = POLLIN };

	w->source = mcube_map_anon(1);
	w->faults = syscall(SYS_userfaultfd, O_CLOEXEC);
	if (!w->source || w->faults < 0)
		return "no userfaultfd";
	reg.range.start = (uintptr_t)w->source;
	reg.range.len = PAGE_SIZE_;
	if (ioctl(w->faults, UFFDIO_API, &api) || ioctl(w->faults, UFFDIO_REGISTER, &reg) ||
	    pthread_create(&w->thread, NULL, write_page, w))
		return "userfaultfd takes no pages";
	wait.fd = w->faults;
	return poll(&wait, 1, 10000) == 1 ? NULL : "the writer does not come to its data";
}

static int end_writer(struct writer *w)
{
	struct uffdio_zeropage zero = {
		.range = { .start = (uintptr_t)w->source, .len = PAGE_SIZE_ },
	};

	if (ioctl(w->faults, UFFDIO_ZEROPAGE, &zero) || pthread_join(w->thread, NULL))
		return -errno;
	close(w->faults);
	return w->written == PAGE_SIZE_ ? 0 : -EIO;
}

/* While a writer has the lock of the inode, the fill reads page by page and does not wait. */
TEST_F(setcache_direct, a_writer_has_the_lock)
{
	struct writer w = { .fd = self->fd };
	const char *why = start_writer(&w);
	long before = requests(&self->dm);

	ASSERT_EQ(NULL, why);
	if (!variant->readers_lock) {
		EXPECT_EQ(READ, right(self, 0, READ));
		EXPECT_EQ(READ, requests(&self->dm) - before);
	}
	EXPECT_EQ(0, end_writer(&w));
	before = requests(&self->dm);
	EXPECT_EQ(READ, right(self, READ, READ));
	EXPECT_EQ(1, requests(&self->dm) - before);
}

/* While the file is mapped for writes, the fill reads page by page. */
TEST_F(setcache_direct, the_file_is_mapped)
{
	long before = requests(&self->dm);
	char *map = mmap(NULL, PAGES * PAGE_SIZE_, PROT_READ | PROT_WRITE, MAP_SHARED, self->fd, 0);

	ASSERT_NE(MAP_FAILED, map);
	EXPECT_EQ(READ, right(self, 0, READ));
	EXPECT_EQ(READ, requests(&self->dm) - before);
	munmap(map, PAGES * PAGE_SIZE_);
}

/* ext4 reads a file with journalled data through the page cache, also if asked to read directly. */
TEST_F(setcache_direct, data_are_journalled)
{
	long before, fills = setcache_stat("fills");
	int flags;

	if (variant->readers_lock)
		return;
	ASSERT_EQ(0, mount(NULL, SETCACHE_MOUNT, NULL, MS_REMOUNT | MS_NOATIME, "nodelalloc"));
	ASSERT_EQ(0, ioctl(self->fd, FS_IOC_GETFLAGS, &flags));
	flags |= FS_JOURNAL_DATA_FL;
	ASSERT_EQ(0, ioctl(self->fd, FS_IOC_SETFLAGS, &flags));
	before = requests(&self->dm);
	EXPECT_EQ(READ, right(self, 0, READ));
	EXPECT_EQ(READ, requests(&self->dm) - before);
	EXPECT_EQ(READ, setcache_stat("fills") - fills);
	EXPECT_EQ(READ, right(self, 0, READ));
	EXPECT_EQ(READ, requests(&self->dm) - before);
}

TEST_HARNESS_MAIN
